/* SPDX-License-Identifier: MIT */
/*
 * hist.h - histogram triggers: what `hist:...` means
 *
 *     text -> hist_attrs (parse.c)          the parts between the colons
 *          -> hist_data (create.c, field.c) fields, sort keys, limits, errors
 *          -> program (compile.c)           runs at the hit (plane/fold.c)
 *     map  -> text of `hist` (show.c)
 *
 *     hist_data
 *       fields[]:  | vals (hitcount first) and variables | keys |
 *                  0                                   n_vals     n_fields
 *
 * References to variables and actions have no place here yet: hist_attrs keeps
 * the text of actions, and a command that has one is refused.
 *
 * `hist_debug` prints this structure as it is. One hist_data may belong to
 * several triggers: those of one name.
 */
#ifndef TRACEFUSE_MODEL_HIST_HIST_H
#define TRACEFUSE_MODEL_HIST_HIST_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include "model/event_file.h"
#include "model/trigger.h"
#include "plane/map.h"
#include "plane/program.h"

enum {
	HIST_VALS_MAX		= 3,	/* hitcount included */
	HIST_KEYS_MAX		= 3,
	HIST_SORT_KEYS_MAX	= 2,
	HIST_VARS_MAX		= 16,
	HIST_FIELDS_MAX		= HIST_VALS_MAX + HIST_KEYS_MAX + HIST_VARS_MAX,
	HIST_ACTIONS_MAX	= 8,
	HIST_BITS_DEFAULT	= 11,
	HIST_BITS_MIN		= 7,
	HIST_BITS_MAX		= 17,
	HIST_STRING_MAX		= 256,	/* room of a dynamic string in a key */
	HIST_STACK_DEPTH	= 16,
	HIST_KEY_SIZE_MAX	= HIST_STRING_MAX + HIST_STACK_DEPTH * 8,
	HIST_COMM_VARS		= 2,	/* map variables that hold the task's name for .execname */
};

enum hist_flags {
	HIST_HITCOUNT	= 1 << 0,
	HIST_KEY	= 1 << 1,
	HIST_STRING	= 1 << 2,
	HIST_HEX	= 1 << 3,
	HIST_SYM	= 1 << 4,
	HIST_SYM_OFFSET	= 1 << 5,
	HIST_EXECNAME	= 1 << 6,
	HIST_SYSCALL	= 1 << 7,
	HIST_STACKTRACE	= 1 << 8,
	HIST_LOG2	= 1 << 9,
	HIST_TIMESTAMP	= 1 << 10,
	HIST_USECS	= 1 << 11,
	HIST_VAR	= 1 << 12,
	HIST_EXPR	= 1 << 13,
	HIST_VAR_REF	= 1 << 14,
	HIST_CPU	= 1 << 15,
	HIST_ALIAS	= 1 << 16,
	HIST_BUCKET	= 1 << 17,
	HIST_CONST	= 1 << 18,
	HIST_PERCENT	= 1 << 19,
	HIST_GRAPH	= 1 << 20,
};

enum hist_operator {
	HIST_OP_NONE, HIST_OP_PLUS, HIST_OP_MINUS, HIST_OP_UNARY_MINUS, HIST_OP_DIV, HIST_OP_MULT,
};

struct hist_data;

struct hist_var {
	char		*name;		/* NULL: no variable */
	unsigned int	idx;		/* into the elt's variables */
	struct hist_data *hist_data;	/* whose variable it is */
};

struct hist_field {
	const struct field *field;	/* of the event; NULL for what is made up */
	unsigned int	flags;		/* enum hist_flags */
	unsigned int	size;		/* of a key: rounded up to 8 */
	unsigned int	offset;		/* of a key: in the compound key */
	bool		is_signed;
	char		*type;
	uint64_t	buckets;
	uint64_t	constant;
	struct hist_field *operands[2];
	enum hist_operator operator;	/* of an expression */
	struct hist_var	var;
	unsigned int	var_ref_idx;
	char		*system, *event_name, *name;	/* of a reference or an expression */
	struct hist_data *hist_data;
};

struct hist_sort_key {
	unsigned int	field_idx;	/* counted without variables */
	bool		descending;
};

/* The parts of the command. */
struct hist_attrs {
	char		*keys, *vals, *sort, *name, *clock;
	bool		pause, cont, clear, no_hitcount, ts_in_usecs;
	unsigned int	map_bits;	/* 0: not given */
	char		*assignments[HIST_VARS_MAX];
	unsigned int	n_assignments;
	char		*var_names[HIST_VARS_MAX], *var_exprs[HIST_VARS_MAX];	/* of the assignments */
	unsigned int	n_vars;
	char		*actions[HIST_ACTIONS_MAX];
	unsigned int	n_actions;
};

struct hist_data {
	struct hist_attrs attrs;
	struct event	*event;		/* whose fields it has; of a name the one that had it first */
	struct hist_field *fields[HIST_FIELDS_MAX];
	unsigned int	n_vals, n_keys, n_fields, n_vars;
	unsigned int	key_size;
	struct hist_sort_key sort_keys[HIST_SORT_KEYS_MAX];
	unsigned int	n_sort_keys;
	bool		enable_timestamps;
	unsigned int	map_bits;

	struct map_shape shape;
	data_ref	map_ref;
	size_t		map_size;
	config_ref	cell;		/* struct hist_cell */
	config_ref	program;
	size_t		program_size;
	unsigned int	refs;		/* triggers that have it: more than one with name= */
	uint64_t	id;		/* what hist_debug prints as hist_data */
};

/* Where errors of a command go: "hist:SYSTEM:EVENT", the command with its "hist:". */
struct hist_command_text {
	struct event_file *file;
	char		*text;		/* "hist:keys=..." */
};

/* ---- parse.c ---- */

/* Logs an error; the caret goes under the first place in the command where `at` stands ("" or NULL: its start). */
void hist_error(const struct hist_command_text *cmd, const char *error, const char *at);
/* Takes the text apart at its colons. `params` is changed. 0, -EINVAL, -ENOMEM. */
int hist_attrs_parse(const struct hist_command_text *cmd, char *params, struct hist_attrs *out);
void hist_attrs_free(struct hist_attrs *attrs);

/* ---- field.c ---- */

/* One field with its modifiers, or a number. NULL with *err set. */
struct hist_field *hist_field_parse(struct hist_data *hd, const struct hist_command_text *cmd, char *text,
				    unsigned int flags, int *err);
struct hist_field *hist_field_create(struct hist_data *hd, const struct field *field, unsigned int flags);
void hist_field_free(struct hist_field *f);
const char *hist_field_name(const struct hist_field *f);
/* "hex", "log2" ...; NULL: none. */
const char *hist_field_modifier(const struct hist_field *f);

/* ---- expr.c ---- */

/* The same with operators. */
struct hist_field *hist_expr_parse(struct hist_data *hd, const struct hist_command_text *cmd, const char *text,
				   unsigned int flags, int *err);

/* ---- create.c ---- */

int hist_data_create(struct event_file *f, const struct hist_command_text *cmd, char *params,
		     struct hist_data **out);
void hist_data_destroy(struct hist_data *hd);

/* ---- compile.c ---- */

/* Makes the map, or adopts the one that a dead server's cell names, and writes the program. 0, -ENOMEM, -EPROTO */
int hist_compile(struct hist_data *hd, config_ref adopted_cell);
/* A new, empty map for `clear`; the old one is retired. */
int hist_renew_map(struct hist_data *hd);

/* ---- print.c ---- */

void hist_trigger_print(struct trigger *t, FILE *out);

/* ---- show.c, debug.c ---- */

/* The files `hist` and `hist_debug` of an event. 0, -ENOMEM */
int hist_print(struct event_file *f, FILE *out);
int hist_debug_print(struct event_file *f, FILE *out);

/* ---- syscalls.c ---- */

const char *hist_syscall_name(uint64_t nr);	/* "sys_read"; NULL: unknown */

static inline struct hist_data *hist_of(const struct trigger *t)
{
	return t->priv;
}

#endif
