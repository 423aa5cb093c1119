/* SPDX-License-Identifier: MIT */
/*
 * summary.h - what a recording has: how often each event came, which functions took the time, which
 * tasks waited longest for a CPU
 *
 * Included by the command. It reads the recording once, as records.h does.
 */
#ifndef TRACEFUSE_EXPORT_SUMMARY_H
#define TRACEFUSE_EXPORT_SUMMARY_H

#include "export/records.h"
#include "layout/layout.h"

enum { SUMMARY_FUNCTIONS = 3, SUMMARY_WAITS = 3 };

struct summary_event {
	const struct event *event;
	uint64_t	records;
};

struct summary_function {
	char		name[512];	/* as in the source */
	uint64_t	calls, self;	/* ns without the calls below it */
};

/* From sched_waking to the sched_switch to the task. */
struct summary_wait {
	uint64_t	ns;
	uint64_t	time;		/* when it ended */
	int32_t		pid;
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
	struct summary_wait waits[SUMMARY_WAITS];	/* the longest first; 0 ns: none */
};

/* 0 or -errno, as export_records_write(). */
int export_summary_make(struct source *src, struct model *m, struct export_summary *out);
void export_summary_free(struct export_summary *s);

#endif
