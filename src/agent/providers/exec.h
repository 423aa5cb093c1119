/* SPDX-License-Identifier: MIT */
/*
 * exec.h - what becomes of a program that is executed: whether it can be traced, or the agent would break it
 *
 * Called on the way to exec, so also in children of vfork() and in signal
 * handlers: nothing is allocated, files are read by system calls.
 */
#ifndef TRACEFUSE_AGENT_PROVIDERS_EXEC_H
#define TRACEFUSE_AGENT_PROVIDERS_EXEC_H

#include <stdbool.h>
#include "session/layout.h"

/*
 * UNTRACED_REASONS: it can be traced. Of a script that is said of its interpreter. What cannot be told is yes.
 * sanitizer_first: a sanitizer's library is loaded first, as it has to be.
 */
enum untraced exec_look(const char *path, bool sanitizer_first);
/* The same for the file that execvp() finds in `dirs` ($PATH, NULL: not set). */
enum untraced exec_file_look(const char *file, const char *dirs, bool sanitizer_first);

/* Preloading would make it fail. */
static inline bool exec_breaks(enum untraced why)
{
	return why == UNTRACED_LIBC || why == UNTRACED_SANITIZER;
}

#endif
