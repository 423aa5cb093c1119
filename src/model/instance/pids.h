/* SPDX-License-Identifier: MIT */
/*
 * pids.h - set_event_pid, set_event_notrace_pid, set_ftrace_pid and set_ftrace_notrace_pid of an
 * instance
 *
 * Pids that a task can have lie in the shared bitmap (struct pid_set), where
 * hits look them up and new tasks are added (event-fork, function-fork). The
 * kernel also takes numbers up to 2^30 that no task can have; these are only
 * kept for reading back.
 *
 * With the option a task leaves at its end. Threads of programs say so
 * themselves; all others are looked for (pids_sweep()). Who had ended before,
 * or never was, stays, as in the kernel.
 */
#ifndef TRACEFUSE_MODEL_INSTANCE_PIDS_H
#define TRACEFUSE_MODEL_INSTANCE_PIDS_H

#include <sys/types.h>
#include "model/model.h"

enum pids_kind { PIDS_TRACE, PIDS_NOTRACE, PIDS_FUNCTION, PIDS_NO_FUNCTION, PIDS_KINDS };

/*
 * One write(2): adds the numbers in text[0 .. len). Returns the bytes that were
 * taken, -EINVAL (not a number, nothing is changed), -EPERM (beyond 2^30), -ENOMEM.
 */
ssize_t pids_write(struct instance *inst, enum pids_kind kind, const char *text, size_t len);
/* Opened with O_TRUNC; or the instance goes away. */
void pids_clear(struct instance *inst, enum pids_kind kind);
/*
 * The session was restored: sets that have not been taken over are about to be freed, and are
 * forgotten.
 */
void pids_restored(struct instance *inst);
void pids_print(struct instance *inst, enum pids_kind kind, FILE *out);
/* Of events. */
bool pids_any(const struct instance *inst);

/*
 * event-fork or function-fork (an enum trace_option) was switched: events that follow tasks are
 * armed or not. Of running programs those that end from now on leave the sets (model.task_lives).
 */
int pids_follow_changed(struct instance *inst, int option);
/*
 * In all instances: the tasks that have ended since leave. Done before a set is printed, and now
 * and then.
 */
void pids_sweep(struct model *m);

#endif
