/* SPDX-License-Identifier: MIT */
/*
 * exec.h - what becomes of a program that is executed: whether it can be traced, or the agent would
 * break it
 *
 * Called on the way to exec, so also in children of vfork() and in signal
 * handlers: nothing is allocated, files are read by system calls.
 */
#ifndef TRACEFUSE_AGENT_PROVIDERS_PROCESS_EXEC_H
#define TRACEFUSE_AGENT_PROVIDERS_PROCESS_EXEC_H

#include <stdbool.h>
#include <stddef.h>
#include "layout/layout.h"

/*
 * UNTRACED_REASONS: it can be traced. Of a script that is said of its interpreter. What cannot be
 * told is yes. sanitizer_first: a sanitizer's library is loaded first, as it has to be.
 */
enum untraced exec_look(const char *path, bool sanitizer_first);
/* The same for the file that execvp() finds in `dirs` ($PATH, NULL: not set). */
enum untraced exec_file_look(const char *file, const char *dirs, bool sanitizer_first);

/*
 * The dynamic linker finds the library that LD_PRELOAD names in `word`: no other root and no mount
 * hides it, and this user may read it. A name without a directory is the dynamic linker's to find:
 * true.
 */
bool exec_preloads(const char *word, size_t len);

/* Preloading would make it fail, or write to its standard error. */
static inline bool exec_breaks(enum untraced why)
{
	return why == UNTRACED_LIBC || why == UNTRACED_SANITIZER || why == UNTRACED_ROOT;
}

#endif
