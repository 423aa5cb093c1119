/* SPDX-License-Identifier: MIT */
/*
 * function_list.h - the functions of a session that has a recording: a list in a file
 *
 * A recording does not say which functions its kernel could trace. With that kernel's list,
 * available_filter_functions or available_filter_functions_addrs, a session has the files that
 * choose functions, and they answer as the kernel did.
 */
#ifndef TRACEFUSE_SERVER_FUNCTION_LIST_H
#define TRACEFUSE_SERVER_FUNCTION_LIST_H

struct model;

/* The saved text with the file's name, for a new server (R4). */
#define FUNCTION_LIST_SAVED "#functions"

/*
 * Called before the first command. 0; -EINVAL: the file is no such list; the error of open() or
 * read(); -ENOMEM
 */
int function_list_load(struct model *m, const char *file);

#endif
