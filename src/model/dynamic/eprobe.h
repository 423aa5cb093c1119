/* SPDX-License-Identifier: MIT */
/*
 * eprobe.h - event probes: an event made of fields of another one
 *
 *     e:GROUP/NAME SYSTEM.EVENT pid=$next_pid:s32 comm=$next_comm:string if next_prio < 100
 *          -> eprobe with its arguments          eprobe_parse.c, eprobe_fetch.c, eprobe_type.c
 *          -> an event of system GROUP           eprobe.c
 *          -> while that is armed in an instance, a hidden trigger of SYSTEM:EVENT
 *             there; its code fills the record
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
	/* How many the kernel has room for in one argument */
	EPROBE_STEPS		= 15,
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
	const char	*field;		/* the type that the format shows: "u32" */
	const char	*conversion;	/* its conversion in the print fmt: "0x%x" */
	uint8_t		size;
	bool		is_signed;
	enum eprobe_print print;
};

/* NULL: no such type. type NULL: the default, x64. A bit field "bW@O/N" has the type uN. */
const struct eprobe_type *eprobe_type_find(const char *type);

/* How a value is found: the first step fetches a value, each further one follows a pointer. */
enum eprobe_op {
	EPROBE_NONE,
	EPROBE_FIELD,		/* value of a field; for a text, its address */
	EPROBE_COMM,		/* address of the task's name */
	EPROBE_IMMEDIATE,	/* value */
	EPROBE_TEXT,		/* address of a text */
	/* Address of the symbol `text`: a step of its own before EPROBE_IMMEDIATE */
	EPROBE_NAME,
	EPROBE_DEREF,		/* value at the address (value + offset) */
	EPROBE_USER_DEREF,
};

struct eprobe_step {
	enum eprobe_op		op;
	int64_t			offset;
	uint64_t		value;
	/* A field of the base event, which stays while it has probes */
	const struct field	*field;
	char			*text;
};

struct eprobe_arg {
	char			*name;
	char			*text;		/* the text behind "=" */
	const struct eprobe_type *type;
	unsigned int		count;		/* elements of an array; 0: no array */
	unsigned int		offset;		/* offset in the record */
	unsigned int		bit_offset, bit_width;	/* for a bit field; width 0: none */
	struct eprobe_step	steps[EPROBE_STEPS];
	unsigned int		nr_steps;
};

struct eprobe {
	struct dynamic_event	dyn;
	struct event		*event;		/* GROUP:NAME */
	struct event		*base;		/* SYSTEM:EVENT */
	char			*group, *name;
	char			*cond;		/* text of the filter; NULL: none */
	struct eprobe_arg	*args;
	unsigned int		nr_args;
	unsigned int		size;		/* of the record, without the bytes of texts */
};

/* The probe that made an event; NULL: none. */
struct eprobe *eprobe_of_event(const struct event *e);

/* ---- eprobe_parse.c ---- */

/* A command split into words, and the word that is parsed: for error_log. */
struct eprobe_log {
	struct model	*model;
	char *const	*words;
	unsigned int	nr_words;
	unsigned int	at;
};

/* Logs an error at `offset` bytes in the word that is parsed. Returns `err`. */
int eprobe_wrong(const struct eprobe_log *log, int err, size_t offset, const char *text);

/*
 * Makes a new probe, without an event, of the words. -ECANCELED: they are no command of an event
 * probe. Errors are logged.
 */
int eprobe_parse(struct model *m, char *const *words, unsigned int nr_words, struct eprobe **out);
void eprobe_free(struct eprobe *p);

/* ---- eprobe_fetch.c ---- */

/*
 * Parses the expression of an argument: fills type, count, steps and the bit field. `offset` is
 * where the expression begins in the word log->at.
 */
int eprobe_parse_fetch(const struct eprobe *p, struct eprobe_arg *arg, const struct eprobe_log *log,
		       size_t offset);

/* ---- eprobe_arm.c ---- */

/*
 * Attaches the probe's trigger where its event is armed, and detaches it elsewhere. event_publish()
 * of that event calls it first.
 */
int eprobe_sync(struct eprobe *p);
/*
 * The same for all probes, before model_restore() publishes: the plans of the base events need
 * these triggers from the start.
 */
int eprobe_sync_all(struct model *m);

/* ---- eprobe_compile.c ---- */

/* Writes the trigger's code, for one instance, into the config region. 0, -ENOMEM, -E2BIG */
int eprobe_compile(const struct eprobe *p, const struct instance *inst, config_ref *out,
		   size_t *size);

#endif
