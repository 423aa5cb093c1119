/* SPDX-License-Identifier: MIT */
/*
 * synth.h - synthetic events: made by triggers out of other events' fields and variables
 *
 *     "wakeup_latency u64 lat; pid_t pid; char comm[]"      synthetic_events, s: of dynamic_events
 *          -> synth_event with its fields
 *          -> an event of system synthetic (model.h) with format, enable, filter, trigger, hist
 *
 * The record is the kernel's: 8 bytes of common fields, then 8 bytes a number,
 * 256 bytes a fixed text, and for what varies in length a __data_loc in 8
 * bytes whose bytes lie behind all of these.
 */
#ifndef TRACEFUSE_MODEL_SYNTH_H
#define TRACEFUSE_MODEL_SYNTH_H

#include "model/model.h"

enum { SYNTH_FIELDS_MAX = 64 };

struct synth_field {
	char		*type;		/* canonical: "u64", "char[16]", "char[]", "unsigned long[]": compared with arguments */
	char		*name;
	unsigned int	size;		/* of a number 1, 2, 4, 8; of a fixed text N; 0: varies in length */
	unsigned int	offset;		/* in the record */
	bool		is_signed;
	bool		is_string;
	bool		is_dynamic;	/* char x[], unsigned long[] x: __data_loc at offset */
	bool		is_stack;
};

struct synth_event {
	struct list_head node;		/* in model->synth_events, newest first as the kernel lists them */
	char		*name;
	struct event	*event;		/* synthetic:NAME */
	struct synth_field *fields;
	unsigned int	nr_fields;
	unsigned int	record_size;	/* without what varies in length */
	unsigned int	refs;		/* actions that make it: it cannot be removed (-EBUSY) */
	uint64_t	object;		/* R4 */
};

/* NULL: no such synthetic event. */
struct synth_event *synth_find(struct model *m, const char *name);
void synth_get(struct synth_event *s);
void synth_put(struct synth_event *s);

#endif
