/* SPDX-License-Identifier: MIT */
/*
 * callers.h - libc's functions that look at who called them see the true caller (callers.c)
 *
 * Included by the C files of src/agent.
 */
#ifndef TRACEFUSE_AGENT_SITES_CALLERS_H
#define TRACEFUSE_AGENT_SITES_CALLERS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * A DSO that is mapped: its dynamic section, its load bias, its path. Only what
 * nobody runs in yet, or where there is one thread, may be told, more than once. Under sites_lock().
 */
void callers_dso(const void *ld, uintptr_t bias, const char *path);
/* There are DSOs that could not be told of in time. */
void callers_missed(void);
/* Whether all of them do. Else functions that may jump there are not to be hooked (sites_jumping()). */
bool callers_shown(void);
/* It is not mapped any more. */
void callers_forget(const void *ld);

/* callers.S: where the entries of these functions lead. */
void callers_check(void);
/* What that calls where *slot is no return address but graph_returned or graph_returned_late: puts the true one there. */
void callers_restore(uintptr_t *slot);

#endif
