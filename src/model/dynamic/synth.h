/* SPDX-License-Identifier: MIT */
/*
 * synth.h - synthetic events: triggers make them of fields and variables of other events
 *
 *     "wakeup_latency u64 lat; pid_t pid; char comm[]"      synthetic_events, s: of dynamic_events
 *          -> synth_event with its fields
 *          -> an event of system synthetic (model.h) with format, enable, filter, trigger, hist
 *
 * The record is the kernel's: 8 bytes of common fields, then 8 bytes for a number, 256 bytes for a
 * fixed text, and 8 bytes with a __data_loc for a value of variable length. Its bytes follow all of
 * these.
 */
#ifndef TRACEFUSE_MODEL_DYNAMIC_SYNTH_H
#define TRACEFUSE_MODEL_DYNAMIC_SYNTH_H

#include "model/dynamic/events.h"

enum { SYNTH_FIELDS_MAX = 64 };

struct synth_field {
	/*
	 * Canonical: "u64", "char[16]", "char[]", "unsigned long[]". Arguments are compared with it
	 */
	char		*type;
	char		*name;
	/* For a number: 1, 2, 4, 8; for a fixed text: N; 0: the length varies */
	unsigned int	size;
	unsigned int	offset;		/* in the record */
	bool		is_signed;
	bool		is_string;
	bool		is_dynamic;	/* char x[], unsigned long[] x: a __data_loc at offset */
	bool		is_stack;
};

struct synth_event {
	struct dynamic_event dyn;	/* in model->dynamic_events, oldest first */
	char		*name;
	struct event	*event;		/* synthetic:NAME */
	struct synth_field *fields;
	unsigned int	nr_fields;
	unsigned int	record_size;	/* without values of variable length */
	/* How many actions make it: then it cannot be removed (-EBUSY) */
	unsigned int	refs;
};

/* NULL: no such synthetic event. */
struct synth_event *synth_find(struct model *m, const char *name);
/* An action makes the event; or it no longer does. */
void synth_get(struct synth_event *s);
void synth_put(struct synth_event *s);

/* Carries out a line of the file synthetic_events: NAME FIELDS, !NAME. */
int synth_command(struct model *m, const char *line);
/* Prints the file synthetic_events. */
void synth_print(struct model *m, FILE *out);

/*
 * The conversion that prints a value of a type: "%llu" and so on. `type` may begin with __data_loc.
 */
const char *synth_conversion(const char *type);

/* ---- synth_parse.c ---- */

/* An error in a definition: for error_log. */
struct synth_error {
	const char	*text;
	/*
	 * The caret goes under the first place where the command has these bytes; NULL: position 0.
	 * The caller frees it
	 */
	char		*at;
};

/*
 * Parses FIELD[;FIELD]... of a definition and computes offsets. `long_size`: of the traced machine.
 * 0, -ENOMEM; -EINVAL and *error.
 */
int synth_parse_fields(const char *text, unsigned int long_size, struct synth_field **fields,
		       unsigned int *nr, struct synth_error *error);
void synth_fields_free(struct synth_field *fields, unsigned int nr);

#endif
