/* SPDX-License-Identifier: MIT */
/*
 * records.h - the records of a recording in another tool's form
 *
 *     chrome      JSON of trace events, for chrome://tracing, ui.perfetto.dev and speedscope
 *     perfetto    protobuf: ftrace events by CPU, calls of functions as slices of their threads
 *     folded      one line for each stack, "task;outer;inner NUMBER", for flame graphs
 *
 * Included by the command. The recording is read once more, record by record, and each record is
 * written at once: memory is taken only for tasks, for calls that are open, and for stacks that
 * differ (folded).
 */
#ifndef TRACEFUSE_EXPORT_RECORDS_H
#define TRACEFUSE_EXPORT_RECORDS_H

#include <stdint.h>
#include <stdio.h>

#include "export/trace_dat.h"

struct event;
struct export_form;
struct export_summary;
struct field;
struct model;
struct source;

/* A number of an event that is shown as a curve. */
struct export_counter {
	const char	*name;		/* "SYSTEM:EVENT.FIELD" */
	struct event	*event;
	const struct field *field;
};

struct export_records {
	struct source	*source;
	struct model	*model;		/* source_import() has been called for it */
	const struct export_form *form;
	const struct export_counter *counters;
	unsigned int	nr_counters;
	struct export_summary *summary;	/* summary.h; NULL: none */
	void		(*step)(void *arg);	/* called now and then; NULL: nothing */
	void		*step_arg;
};

/* What cannot be seen in the result itself. */
struct export_sums {
	uint64_t	records;
	uint64_t	calls;		/* of functions */
	uint64_t	stacks;		/* in `folded` */
	uint64_t	unknown;	/* records whose event has no format */
	uint64_t	unended;	/* calls whose end is not in the recording */
	uint64_t	unbegun;	/* calls whose beginning is not */
	uint64_t	too_deep;	/* records of calls below the deepest that is followed */
	uint64_t	cut;		/* stacks of `folded` that found no room as they are */
	uint64_t	back;		/* records of an earlier time than one before them */
};

/* NULL: there is no form of that name. */
const struct export_form *export_form_find(const char *name);
/* Whether a counter can be shown in it. */
bool export_form_counts(const struct export_form *form);

/*
 * Finds the event and the field of a counter, whose name is set. 0; -ENOENT: no such event;
 * -EINVAL: no such field, or it is no number.
 */
int export_counter_find(struct model *m, struct export_counter *c);

/*
 * Writes to `out`, from its present position on. 0; -EPROTO: the recording is damaged
 * (source_damage()); -errno: `out` cannot be written; -ENOMEM.
 */
int export_records_write(const struct export_records *what, FILE *out, struct export_sums *sums);

#endif
