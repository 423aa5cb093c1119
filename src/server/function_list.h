/* SPDX-License-Identifier: MIT */
/*
 * function_list.h - the functions of a session that has a recording: a list in a file
 *
 * A recording does not tell which functions its kernel could trace. With the list
 * of that kernel, available_filter_functions or available_filter_functions_addrs,
 * the files that choose functions are there and answer as they did.
 */
#ifndef TRACEFUSE_SERVER_FUNCTION_LIST_H
#define TRACEFUSE_SERVER_FUNCTION_LIST_H

struct model;

/* The saved text that keeps the file's name for a new server (R4). */
#define FUNCTION_LIST_SAVED "#functions"

/*
 * Before the first command. 0; -EINVAL: it is no such list; the error of open() or read(); -ENOMEM
 */
int function_list_load(struct model *m, const char *file);

#endif
