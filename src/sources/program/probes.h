/* SPDX-License-Identifier: MIT */
/*
 * probes.h - private to the source of running programs: probes at places in their files
 *
 *     event is armed, or no longer -> model_probes_stale()
 *     end of the command -> program_probes_update(): points of such events
 *                             -> their files' code is read (scan/code.h); the command waits
 *                             -> table in the config region -> command raised
 *                        -> words.c waits for the answers -> program_probes_settled()
 *
 * A place that cannot be probed is in error_log, once while its event is armed, and in doctor's
 * list as long as it is.
 */
#ifndef TRACEFUSE_SOURCES_PROGRAM_PROBES_H
#define TRACEFUSE_SOURCES_PROGRAM_PROBES_H

#include "sources/program/programs_state.h"

struct usdt;

int program_probes_create(struct programs *p);
void program_probes_destroy(struct programs *p);
/* After program_sites_begin(): the armed events of a restored session get their points. */
void program_probes_begin(struct programs *p);
/*
 * Publishes the points of all events that are armed now, if that may have changed. Returns whether
 * programs have to be told.
 */
bool program_probes_update(struct programs *p);
/*
 * At the end of a command, after the update. Points of events that it has armed may wait until
 * their files are read. Returns what the command waits for: a number for program_probes_pending();
 * 0: nothing.
 */
uint64_t program_probes_asked(struct programs *p);
/* Whether a file that this command waits for is still to be read. */
bool program_probes_pending(const struct programs *p, uint64_t waiter);
/* Whether any file is. */
bool program_probes_reading(const struct programs *p);
/* Whether the process has mapped a file whose code is being read. */
bool program_probes_unread(const struct programs *p, pid_t pid);
/* Whether a running process has a file with points, and has no task that plants them. */
bool program_probes_wait(struct programs *p);
/* Whether there are points. */
bool program_probes_any(const struct programs *p);
/* Whether a process has a file in which probes are enabled. */
bool program_probes_want(const struct programs *p, pid_t pid);
/* Whether points were planned since the last call. */
bool program_probes_fresh(struct programs *p);
/* All programs have obeyed all commands up to now. */
void program_probes_settled(struct programs *p);
/*
 * A process begins: events of its USDT probes are made. Returns whether it has some, as far as that
 * is known now. program: attach_request.program
 */
bool program_probes_ready(struct programs *p, const struct attach_peer *peer, uint64_t program);
/* Whether it is still looked for them in the files of the process. 0: of any */
bool program_probes_looks(const struct programs *p, pid_t pid);
/* Takes what was found in such files. */
void program_probes_tend(struct programs *p);
/* The files that have probes or notes of USDT. */
struct list_head *probes_files(struct programs *p);
/* What programs have answered is looked at: their refusals go to error_log. */
void program_probes_answered(struct programs *p);
/* Notes what could not be planted in a process that has ended. */
void program_probes_ended(struct programs *p, const struct attach_answer *a);
/*
 * For doctor: "probes PID planted N refused N[ late]" for each process that has some, and
 * "probe-refused SYSTEM:EVENT[ in process PID:] REASON[ (at one of its N places)]"; "probes-none
 * PID[ never]" for a process that has a file with probes, and no task that plants, or cannot have
 * one
 */
void program_probes_print(struct programs *p, FILE *out);

#endif
