/* SPDX-License-Identifier: MIT */
/*
 * exec.h - whether a program that is executed can be traced, and whether the agent would break it
 *
 * Called on the way to exec, so also in children of vfork() and in signal
 * handlers: nothing is allocated, files are read by system calls.
 */
#ifndef TRACEFUSE_AGENT_PROVIDERS_PROCESS_EXEC_H
#define TRACEFUSE_AGENT_PROVIDERS_PROCESS_EXEC_H

#include <stdbool.h>
#include <stddef.h>
#include "layout/layout.h"

/* The program has entered a sandbox. */
void exec_environment_leave(void);

/*
 * Why the program cannot be traced; UNTRACED_REASONS: it can, or that is not known. For a script it
 * is about its interpreter. sanitizer_first: a sanitizer's library is loaded first, as it has to
 * be.
 */
enum untraced exec_look(const char *path, bool sanitizer_first);
/* The same for the file that execvp() finds in `dirs` ($PATH, NULL: not set). */
enum untraced exec_file_look(const char *file, const char *dirs, bool sanitizer_first);

/*
 * Whether the dynamic linker will find the library that LD_PRELOAD names in `word`: no other root
 * and no mount hides it, and this user may read it. True for a name without a directory, which the
 * dynamic linker searches.
 */
bool exec_preloads(const char *word, size_t len);

/* Preloading would make the program fail, or write to its standard error. */
static inline bool exec_breaks(enum untraced why)
{
	return why == UNTRACED_LIBC || why == UNTRACED_SANITIZER || why == UNTRACED_ROOT;
}

#endif
