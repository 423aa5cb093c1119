/* SPDX-License-Identifier: MIT */
/*
 * live.h - the running kernel as a source of events
 *
 *     tracefs/instances/tracefuse-PID-START-NS      ours alone, removed at the end
 *        per_cpu/cpuN/trace_pipe_raw  -- pages -->  cpu.c: one cursor a CPU
 *                                                     |  merged by time
 *                                                     v
 *                                                   run.c: hit() with time, CPU, comm, stack
 *                                                     |  if triggers run merged with programs'
 *                                                   merge.c: staged hits, hit_merged()
 *        events/.../enable, filter    <-- arm.c --  plans of the session (struct kernel_hooks)
 *     tracefs/instances/tracefuse-PID-START-NS-calls   while functions of the kernel are traced
 *        current_tracer, set_ftrace_filter  <-- tracer.c --  ops of the session
 *        per_cpu/cpuN/trace_pipe_raw  -- pages -->  further cursors -->  calls.c: hit()
 *
 * An event is enabled in the kernel while the session has a plan for it, and no longer. A thread
 * reads the pages twice as often as they can get full, at least each 10 ms. Before a file of the
 * session is read, and before a command, what the kernel has recorded so far is taken in.
 *
 * L1  Who reads pages or makes hits holds live->lock: the thread, or the server at a barrier. The
 *     server takes it under the control lock; the thread never takes the control lock.
 * L2  Pages have the time stamps of the kernel's clock: its x86-tsc where the session's own clock
 *     is the counter, too, so that both compare; else mono, compared with the session's clock at
 *     each reading.
 * L3  Records pass in the order of their times. A round reads up to a moment, the horizon: records
 *     behind it wait for the next round, because an earlier one may still come from another CPU. A
 *     record that was begun before the horizon and came after the reading is passed late, and
 *     counted.
 * L4  Rings are read under the control lock. So the server runs merged triggers (R28), and the
 *     thread only stages hits for them.
 */
#ifndef TRACEFUSE_SOURCES_LIVE_LIVE_H
#define TRACEFUSE_SOURCES_LIVE_LIVE_H

#include <stdio.h>
#include <sys/types.h>

#include "layout/layout.h"

enum { LIVE_LENT = 3 };		/* descriptors that a borrowed instance needs */

struct live;
struct model;

/*
 * Makes the instance, adds the kernel's events to the model and begins to read, under the control
 * lock. -errno: `why` has a sentence that says what is missing (-EACCES, -ENODEV ...).
 */
int live_create(struct model *m, struct live **out, char *why, size_t size);
/*
 * As root: makes an instance that a server with these ids may use. A server that is forked off this
 * process has it in live_create(), if it keeps the descriptors. The instance goes when all
 * processes have closed them. -errno: `why` has a sentence.
 */
int live_lend(uid_t uid, gid_t gid, int fds[LIVE_LENT], char *why, size_t size);
/* Reads what there is, and removes the instance. Before the model goes; NULL is none. */
void live_destroy(struct live *l);

/*
 * Runs merged triggers whose time has come (R28), and once a second sets again what another process
 * has changed in the instance. Returns after how many ms to call it again. Under the control lock.
 */
int live_tick(struct live *l);

/*
 * For WIRE_INFO, lines "kernel KEY NUMBER", and sentences of losses (cli/run/summary.c). Under the
 * control lock.
 */
void live_print(struct live *l, FILE *out);
/* Of a session that had the kernel's events, and may have them no more. */
void live_print_gone(struct model *m, FILE *out);
/* R4: `book` is what the last server had in model->live_book. Before live_create(). */
void live_book_restore(struct model *m, config_ref book);

#endif
