/* SPDX-License-Identifier: MIT */
/*
 * summary.h - what a recording has: how often each event came, which functions took the time, which
 * waits were the longest
 *
 * Included by the command. It reads the recording once, as records.h does.
 */
#ifndef TRACEFUSE_EXPORT_SUMMARY_H
#define TRACEFUSE_EXPORT_SUMMARY_H

#include "export/records.h"
#include "layout/layout.h"

enum { SUMMARY_FUNCTIONS = 3, SUMMARY_WAITS = 3 };

enum summary_kind {
	SUMMARY_CPU,	/* from sched_waking to the sched_switch to the task */
	SUMMARY_LOCK,	/* from contention_begin to contention_end, of mutexes and their like */
	SUMMARY_CALL,	/* from sys_enter_X to sys_exit_X */
	SUMMARY_KINDS
};

/* The names of system calls' events begin so. */
#define EXPORT_ENTER	"sys_enter_"
#define EXPORT_EXIT	"sys_exit_"


struct summary_event {
	struct event	*event;
	uint64_t	records;
	uint64_t	since;		/* time of the first one */
};

struct summary_function {
	char		name[512];	/* as in the source */
	uint64_t	calls, self;	/* ns without the calls below it */
};

struct summary_wait {
	uint64_t	ns;
	uint64_t	time;		/* when it ended */
	int32_t		pid;
	const struct event *event;	/* that ended it */
	char		comm[LAYOUT_COMM_LEN + 1];
};

struct export_summary {
	struct export_sums sums;
	uint64_t	first, last;	/* times of records */
	/* The most frequent first; export_summary_free() */
	struct summary_event *events;
	unsigned int	nr_events;
	struct summary_function functions[SUMMARY_FUNCTIONS];	/* the longest first; "": none */
	uint64_t	self;		/* of all functions */
	uint64_t	stacks, stacks_cut;	/* recorded; of them, those that end early */
	/* The longest first; 0 ns: none */
	struct summary_wait waits[SUMMARY_KINDS][SUMMARY_WAITS];
};

/* what: of `source`, `model` and `step`. 0 or -errno, as export_records_write(). */
int export_summary_make(const struct export_records *what, struct export_summary *out);
void export_summary_free(struct export_summary *s);

#endif
