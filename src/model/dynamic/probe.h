/* SPDX-License-Identifier: MIT */
/*
 * probe.h - what all probes share: names, arguments with their types, the event of their records
 *
 *     e:GROUP/NAME SYSTEM.EVENT ARGUMENTS      eprobe.h: fields of another event
 *     p:GROUP/NAME PLACE ARGUMENTS             place.h: a place in code (kprobes, uprobes)
 *     r:GROUP/NAME PLACE ARGUMENTS
 *
 *     NAME=EXPRESSION:TYPE -> probe_arg        probe_parse.c, probe_fetch.c, probe_type.c
 *     probe -> the event's format              probe.c
 *
 * The record is the kernel's: 8 bytes of common fields, the addresses of a place, then the
 * arguments without gaps, then the bytes of the texts.
 */
#ifndef TRACEFUSE_MODEL_DYNAMIC_PROBE_H
#define TRACEFUSE_MODEL_DYNAMIC_PROBE_H

#include "model/dynamic/events.h"
#include "model/event/file.h"
#include "model/symbols.h"

enum {
	PROBE_ARGS_MAX		= 128,
	/* How many the kernel has room for in one argument */
	PROBE_STEPS		= 15,
	PROBE_COMMON		= 8,	/* bytes of a record's common fields */
	PROBE_ARGS_SIZE_MAX	= 3072,
	PROBE_NAME_ROOM		= 64,	/* bytes of a group or an event with its 0 */
};

enum probe_print {
	PROBE_UNSIGNED,
	PROBE_SIGNED,
	PROBE_HEX,
	PROBE_CHAR,
	PROBE_STRING,
	PROBE_SYMBOL
};

/* A type of an argument. */
struct probe_type {
	const char	*name;		/* "x32" */
	const char	*field;		/* the type that the format shows: "u32" */
	const char	*conversion;	/* its conversion in the print fmt: "0x%x" */
	uint8_t		size;
	bool		is_signed;
	enum probe_print print;
};

/* What a probe is: it decides which arguments there are. */
enum probe_flags {
	PROBE_OF_EVENT	= 1 << 0,	/* e: */
	PROBE_OF_FILE	= 1 << 1,	/* uprobe: symbols are the program's */
	PROBE_RETURN	= 1 << 2,	/* at a function's return */
	PROBE_ENTRY	= 1 << 3,	/* at the entry of a function that a symbol names */
};

/*
 * NULL: no such type. type NULL: the default, x64. A bit field "bW@O/N" has the type uN. A uprobe
 * has no symbol and no symstr, as in the kernel: what it has is usymbol and usymstr, as a text of
 * the program is a ustring.
 */
const struct probe_type *probe_type_find(const char *type, unsigned int flags);

/* How a value is found: the first step fetches a value, each further one follows a pointer. */
enum probe_op {
	PROBE_NONE,
	PROBE_FIELD,		/* value of a field; for a text, its address */
	PROBE_REGISTER,		/* value: enum probe_register */
	PROBE_STACK_POINTER,
	PROBE_STACK,		/* word number `value` of the stack */
	PROBE_RETVAL,
	PROBE_ARGUMENT,		/* argument number `value` of the function, from 0 on */
	PROBE_ENTRY_ARGUMENT,	/* the same, as it was at the entry, for a probe of the return */
	PROBE_COMM,		/* address of the task's name */
	PROBE_IMMEDIATE,	/* value */
	PROBE_TEXT,		/* address of a text */
	PROBE_FILE_OFFSET,	/* address of the file's byte `value` */
	/* Address of the symbol `text`: a step of its own before PROBE_IMMEDIATE */
	PROBE_NAME,
	PROBE_DEREF,		/* value at the address (value + offset) */
	PROBE_USER_DEREF,
};

/* The registers by their names in arguments, in the order of probe_register_names[]. */
enum probe_register {
	PROBE_R15, PROBE_R14, PROBE_R13, PROBE_R12, PROBE_R11, PROBE_R10, PROBE_R9, PROBE_R8,
	PROBE_BX, PROBE_CX, PROBE_DX, PROBE_SI, PROBE_DI, PROBE_BP, PROBE_AX,
	PROBE_DS, PROBE_ES, PROBE_FS, PROBE_GS, PROBE_ORIG_AX,
	PROBE_IP, PROBE_CS, PROBE_FLAGS, PROBE_SP, PROBE_SS,
	PROBE_REGISTERS
};

extern const char *const probe_register_names[PROBE_REGISTERS];

struct probe_step {
	enum probe_op		op;
	int64_t			offset;
	uint64_t		value;
	/* A field of the base event, which stays while it has probes */
	const struct field	*field;
	char			*text;
};

struct probe_arg {
	char			*name;
	char			*text;		/* the text behind "=" */
	const struct probe_type *type;
	unsigned int		count;		/* elements of an array; 0: no array */
	unsigned int		offset;		/* offset in the record */
	unsigned int		bit_offset, bit_width;	/* for a bit field; width 0: none */
	struct probe_step	steps[PROBE_STEPS];
	unsigned int		nr_steps;
};

struct probe {
	struct dynamic_event	dyn;		/* dyn.event: GROUP:NAME */
	unsigned int		flags;		/* enum probe_flags */
	char			*group, *name;
	struct event		*base;		/* of an event probe: SYSTEM:EVENT; else NULL */
	struct probe_arg	*args;
	unsigned int		nr_args;
	unsigned int		head;		/* bytes of the record before the arguments */
	unsigned int		size;		/* of the record, without the bytes of texts */
};

static inline struct probe *probe_of(const struct dynamic_event *d)
{
	return list_entry(d, struct probe, dyn);
}

static inline bool probe_arg_is_string(const struct probe_arg *arg)
{
	return arg->type->print == PROBE_STRING;
}

/* ---- probe.c ---- */

/* Frees what the probe has, but not its memory. */
void probe_clear(struct probe *p);
/* Parts of dynamic_kind: the arguments of the event's format. `i` counts the arguments. */
void probe_format_field(const struct probe *p, unsigned int i, FILE *out);
void probe_format_text(const struct probe *p, unsigned int i, FILE *out);
void probe_format_arguments(const struct probe *p, unsigned int i, FILE *out);
/* Prints " NAME=EXPRESSION ..." */
void probe_print_args(const struct probe *p, FILE *out);
/* The event of a recording that has the probe's names and format; NULL: there is none. */
struct event *probe_find_recorded(const struct probe *p, struct model *m, const char *body);
/* A format does not say how long an array is; the field of a kernel does. 0, -ENOMEM */
int probe_describe_fields(struct probe *p);
/* Whether some instance has the event enabled. */
bool probe_is_enabled(const struct dynamic_event *d);
/* The words of "-:NAME PLACE NAME=EXPRESSION ..." behind the place are the first arguments. */
bool probe_matches(const struct probe *p, const char *system, const char *event);
bool probe_matches_args(const struct probe *p, char *const *words, unsigned int nr_words);

/* ---- probe_parse.c ---- */

/* A command split into words, and the word that is parsed: for error_log. */
struct probe_log {
	struct model	*model;
	const char	*subsystem;	/* "event_probe" */
	char *const	*words;
	unsigned int	nr_words;
	unsigned int	at;
};

/* Logs an error at `offset` bytes in the word that is parsed. Returns `err`. */
int probe_wrong(const struct probe_log *log, int err, size_t offset, const char *text);
/* Joins words by blanks. The caller frees; NULL: no memory. */
char *probe_join_words(char *const *words, unsigned int nr);

/* GROUP/NAME or GROUP.NAME; each is NULL if it is missing. */
struct probe_names {
	char	*group, *name;
};

/* `offset`: where the text begins in its word. Frees nothing on an error: probe_names_free(). */
int probe_parse_names(const struct probe_log *log, const char *text, size_t offset,
		      struct probe_names *out);
void probe_names_free(struct probe_names *n);

/*
 * Parses the words from `first` to before `end` as the probe's arguments. `texts` has the words
 * where they differ from those of the command (NULL: nowhere). 0 or -errno; errors are logged.
 */
int probe_parse_args(struct probe *p, struct probe_log *log, unsigned int first, unsigned int end,
		     char *const *texts);

/* ---- probe_fetch.c ---- */

/*
 * Parses the expression of an argument: fills type, count, steps and the bit field. `offset` is
 * where the expression begins in the word log->at.
 */
int probe_parse_fetch(const struct probe *p, struct probe_arg *arg, const struct probe_log *log,
		      size_t offset);
/*
 * Looks up the symbols of an argument. -ENOENT: there is none of that name. A restored session has
 * no symbols yet, and the symbols existed when the command was given: then it does nothing.
 */
int probe_look_up_symbols(struct model *m, struct probe_arg *arg);

#endif
