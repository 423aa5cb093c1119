/* SPDX-License-Identifier: MIT */
/* libraries.h - the libraries that a program needs, as its own dynamic linker finds them */
#ifndef TRACEFUSE_CLI_RUN_LIBRARIES_H
#define TRACEFUSE_CLI_RUN_LIBRARIES_H

/*
 * Calls fn() for each library with its name as the program has it, and its path, until fn() returns
 * another value than 0. Returns that value, 0, or -errno. Runs no code of the program.
 */
int run_libraries(const char *program,
		  int (*fn)(void *arg, const char *name, const char *path), void *arg);

#endif
