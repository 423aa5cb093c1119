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
#ifndef TRACEFUSE_MODEL_DYNAMIC_SYNTH_H
#define TRACEFUSE_MODEL_DYNAMIC_SYNTH_H

#include "model/dynamic/events.h"

enum { SYNTH_FIELDS_MAX = 64 };

struct synth_field {
	/* canonical: "u64", "char[16]", "char[]", "unsigned long[]": compared with arguments */
	char		*type;
	char		*name;
	/* of a number 1, 2, 4, 8; of a fixed text N; 0: varies in length */
	unsigned int	size;
	unsigned int	offset;		/* in the record */
	bool		is_signed;
	bool		is_string;
	bool		is_dynamic;	/* char x[], unsigned long[] x: __data_loc at offset */
	bool		is_stack;
};

struct synth_event {
	struct dynamic_event dyn;	/* in model->dynamic_events, oldest first */
	char		*name;
	struct event	*event;		/* synthetic:NAME */
	struct synth_field *fields;
	unsigned int	nr_fields;
	unsigned int	record_size;	/* without what varies in length */
	unsigned int	refs;		/* actions that make it: it cannot be removed (-EBUSY) */
};

/* NULL: no such synthetic event. */
struct synth_event *synth_find(struct model *m, const char *name);
/* An action makes it, or does no more. */
void synth_get(struct synth_event *s);
void synth_put(struct synth_event *s);

/* A line of the file synthetic_events: NAME FIELDS, !NAME. */
int synth_command(struct model *m, const char *line);
/* The file synthetic_events. */
void synth_print(struct model *m, FILE *out);

/* How a value of a type prints: "%llu" and so on. `type` may begin with __data_loc. */
const char *synth_conversion(const char *type);

/* ---- synth_parse.c ---- */

/* What is wrong with a definition: for error_log. */
struct synth_error {
	const char	*text;
	/* the caret stands where the command has these bytes first; NULL: at 0. The caller frees */
	char		*at;
};

/* FIELD[;FIELD]... of a definition, with offsets. 0, -ENOMEM, -EINVAL and *error. */
int synth_parse_fields(const char *text, struct synth_field **fields, unsigned int *nr,
		       struct synth_error *error);
void synth_fields_free(struct synth_field *fields, unsigned int nr);

#endif
