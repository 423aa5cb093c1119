/* SPDX-License-Identifier: MIT */
/*
 * eprobe.h - event probes: an event made of fields of another one
 *
 *     e:GROUP/NAME SYSTEM.EVENT pid=$next_pid:s32 comm=$next_comm:string if next_prio < 100
 *          -> eprobe with its arguments          eprobe_parse.c, eprobe_fetch.c, eprobe_type.c
 *          -> an event of system GROUP           eprobe.c
 *          -> while that is armed in an instance, a trigger of SYSTEM:EVENT
 *             there, which nobody sees, with code that fills the record
 *             and makes the hit                  eprobe_arm.c, eprobe_compile.c
 *
 * The record is the kernel's: 8 bytes of common fields, then the arguments
 * without gaps, then the bytes of the texts.
 */
#ifndef TRACEFUSE_MODEL_DYNAMIC_EPROBE_H
#define TRACEFUSE_MODEL_DYNAMIC_EPROBE_H

#include "model/dynamic/events.h"
#include "model/event/file.h"
#include "model/symbols.h"

enum {
	EPROBE_ARGS_MAX		= 128,
	EPROBE_STEPS		= 15,		/* the kernel's room for one argument */
	EPROBE_RECORD_HEAD	= 8,
	EPROBE_ARGS_SIZE_MAX	= 3072,
};

enum eprobe_print {
	EPROBE_UNSIGNED,
	EPROBE_SIGNED,
	EPROBE_HEX,
	EPROBE_CHAR,
	EPROBE_STRING,
	EPROBE_SYMBOL
};

/* A type of an argument. */
struct eprobe_type {
	const char	*name;		/* "x32" */
	const char	*field;		/* as which it stands in the format: "u32" */
	const char	*conversion;	/* in the print fmt: "0x%x" */
	uint8_t		size;
	bool		is_signed;
	enum eprobe_print print;
};

/* NULL: no such type. type NULL: the default, x64. A bit field "bW@O/N" is uN. */
const struct eprobe_type *eprobe_type_find(const char *type);

/* How a value is come by: the first step fetches, each further one follows a pointer. */
enum eprobe_op {
	EPROBE_NONE,
	EPROBE_FIELD,		/* field; of a text its address */
	EPROBE_COMM,		/* address of the task's name */
	EPROBE_IMMEDIATE,	/* value */
	EPROBE_TEXT,		/* address of text */
	/* address of the symbol `text`: a step of its own before EPROBE_IMMEDIATE */
	EPROBE_NAME,
	EPROBE_DEREF,		/* what is at the value + offset */
	EPROBE_USER_DEREF,
};

struct eprobe_step {
	enum eprobe_op		op;
	int64_t			offset;
	uint64_t		value;
	/* of the base event, which stays while it has probes */
	const struct field	*field;
	char			*text;
};

struct eprobe_arg {
	char			*name;
	char			*text;		/* as written behind "=" */
	const struct eprobe_type *type;
	unsigned int		count;		/* of an array; 0: none */
	unsigned int		offset;		/* in the record */
	unsigned int		bit_offset, bit_width;	/* of a bit field; width 0: none */
	struct eprobe_step	steps[EPROBE_STEPS];
	unsigned int		nr_steps;
};

struct eprobe {
	struct dynamic_event	dyn;
	struct event		*event;		/* GROUP:NAME */
	struct event		*base;		/* SYSTEM:EVENT */
	char			*group, *name;
	char			*cond;		/* filter text, NULL */
	struct eprobe_arg	*args;
	unsigned int		nr_args;
	unsigned int		size;		/* of the record without the bytes of texts */
};

/* The probe that made an event; NULL: none. */
struct eprobe *eprobe_of_event(const struct event *e);

/* ---- eprobe_parse.c ---- */

/* A command in its words, and the word that is looked at: for error_log. */
struct eprobe_log {
	struct model	*model;
	char *const	*words;
	unsigned int	nr_words;
	unsigned int	at;
};

/* Logs an error `offset` bytes into the word that is looked at. Returns `err`. */
int eprobe_wrong(const struct eprobe_log *log, int err, size_t offset, const char *text);

/*
 * Takes words apart into a new probe without an event. -ECANCELED: no command
 * of an event probe. What is wrong is logged.
 */
int eprobe_parse(struct model *m, char *const *words, unsigned int nr_words, struct eprobe **out);
void eprobe_free(struct eprobe *p);

/* ---- eprobe_fetch.c ---- */

/*
 * The expression of an argument: fills type, count, steps and what a bit field
 * is. `offset` is where it begins in its word. log->at is that word.
 */
int eprobe_parse_fetch(const struct eprobe *p, struct eprobe_arg *arg, const struct eprobe_log *log,
		       size_t offset);

/* ---- eprobe_arm.c ---- */

/*
 * Puts the probe's trigger where its event is armed and takes it from where it
 * is not; event_publish() of that event calls it first.
 */
int eprobe_sync(struct eprobe *p);
/*
 * The same for all, before model_restore() publishes: the base events' plans are to have these
 * triggers from the start.
 */
int eprobe_sync_all(struct model *m);

/* ---- eprobe_compile.c ---- */

/* The code of the trigger into the config region, for one instance. 0, -ENOMEM, -E2BIG */
int eprobe_compile(const struct eprobe *p, const struct instance *inst, config_ref *out,
		   size_t *size);

#endif
