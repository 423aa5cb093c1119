/* SPDX-License-Identifier: MIT */
/* libraries.h - the libraries that a program needs, as its own dynamic linker finds them */
#ifndef TRACEFUSE_CLI_RUN_LIBRARIES_H
#define TRACEFUSE_CLI_RUN_LIBRARIES_H

#include <stdbool.h>

/*
 * Calls fn() for each library with its name as the program has it, and its path, until fn() returns
 * another value than 0. Returns that value, 0, or -errno. Runs no code of the program.
 */
int run_libraries(const char *program,
		  int (*fn)(void *arg, const char *name, const char *path), void *arg);

/*
 * The library that this machine's dynamic linker finds by a name such as libc.so.6. path: PATH_MAX
 * bytes. Runs no code of the library.
 */
bool run_library_find(const char *name, char *path);

#endif
