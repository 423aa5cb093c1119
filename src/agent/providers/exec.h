/* SPDX-License-Identifier: MIT */
/*
 * exec.h - whether a program would be broken by having the agent preloaded
 *
 * Called on the way to exec, so also in children of vfork() and in signal
 * handlers: nothing is allocated, files are read by system calls.
 */
#ifndef TRACEFUSE_AGENT_PROVIDERS_EXEC_H
#define TRACEFUSE_AGENT_PROVIDERS_EXEC_H

#include <stdbool.h>

/*
 * True: the file uses another C library, is for another machine, or has a
 * sanitizer's library, which has to be loaded first (sanitizer_first: it is).
 * For a script its interpreter is looked at. What cannot be told is no.
 */
bool exec_breaks(const char *path, bool sanitizer_first);
/* The same for the file that execvp() finds in `dirs` ($PATH, NULL: not set). */
bool exec_file_breaks(const char *file, const char *dirs, bool sanitizer_first);

#endif
