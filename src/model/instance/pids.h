/* SPDX-License-Identifier: MIT */
/*
 * pids.h - set_event_pid, set_event_notrace_pid, set_ftrace_pid and set_ftrace_notrace_pid of an
 * instance
 *
 * Pids that a task can have are in the shared bitmap (struct pid_set). There hits look them up and
 * add new tasks (event-fork, function-fork). The kernel also accepts numbers up to 2^30 that no
 * task can have; these are only stored to be printed.
 *
 * With the option a task leaves the set at its end. Threads of programs do that themselves;
 * pids_sweep() searches all others. As in the kernel, a number stays whose task had ended before,
 * or never existed.
 */
#ifndef TRACEFUSE_MODEL_INSTANCE_PIDS_H
#define TRACEFUSE_MODEL_INSTANCE_PIDS_H

#include <sys/types.h>
#include "model/model.h"

enum pids_kind { PIDS_TRACE, PIDS_NOTRACE, PIDS_FUNCTION, PIDS_NO_FUNCTION, PIDS_KINDS };

/*
 * One write(2): adds the numbers in text[0 .. len). Returns how many bytes were read, -EINVAL (not
 * a number; nothing is changed), -EPERM (beyond 2^30), -ENOMEM.
 */
ssize_t pids_write(struct instance *inst, enum pids_kind kind, const char *text, size_t len);
/* The file was opened with O_TRUNC, or the instance is removed. */
void pids_clear(struct instance *inst, enum pids_kind kind);
/*
 * The session is restored: sets that were not taken over are about to be freed, and are forgotten.
 */
void pids_restored(struct instance *inst);
void pids_print(struct instance *inst, enum pids_kind kind, FILE *out);
/* Whether a set of events is not empty. */
bool pids_any(const struct instance *inst);
/* The same for set_ftrace_pid and set_ftrace_notrace_pid. */
bool pids_any_function(const struct instance *inst);

/*
 * event-fork or function-fork (an enum trace_option) was switched: events that follow tasks are
 * armed or disarmed. In running programs, tasks that end from now on leave the sets
 * (model.task_lives).
 */
int pids_follow_changed(struct instance *inst, int option);
/*
 * In all instances, removes the tasks that have ended since. Called before a set is printed, and
 * now and then.
 */
void pids_sweep(struct model *m);

#endif
