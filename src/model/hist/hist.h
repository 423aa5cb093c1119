/* SPDX-License-Identifier: MIT */
/*
 * hist.h - histogram triggers: what `hist:...` means
 *
 *     text -> hist_attrs (parse.c)          the parts between the colons
 *          -> hist_data (create.c)          fields (field.c, expr.c), sort keys, limits, errors
 *               var_refs (var.c)            variables of this and other hists
 *               actions (action_parse.c,    onmatch, onmax, onchange; their variables (field_var.c)
 *                        action.c)
 *          -> code (compile.c)              runs at the hit (plane/action/fold.c)
 *     map  -> text of `hist` (show.c)       made in map.c
 *
 *     hist_data
 *       fields[]:      | vals (hitcount first) and variables | keys |
 *                      0                                   n_vals     n_fields
 *       var_refs[]:    the variables that a hit reads, by number: operands of expressions,
 *                      tracked variables, arguments of events
 *       field_vars[]:  variables made for arguments that are fields of this event
 *       save_vars[]:   the same for save()
 *       hidden[]:      hists made on another event for arguments that are its fields
 *       actions[]:     handler, action, arguments as numbers of var_refs[]
 *
 * `hist_debug` prints this structure. One hist_data may belong to several triggers: those of one
 * name.
 */
#ifndef TRACEFUSE_MODEL_HIST_HIST_H
#define TRACEFUSE_MODEL_HIST_HIST_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include "model/event/file.h"
#include "model/trigger/trigger.h"
#include "plane/map/map.h"
#include "plane/code.h"

enum {
	HIST_VALS_MAX		= 3,	/* with hitcount */
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
	HIST_DEPTH_MAX		= CODE_STACK_DEEPEST,	/* of .depth= */
	HIST_KEY_SIZE_MAX	= HIST_STRING_MAX + HIST_STACK_DEPTH * 8,
	/* What .depth= adds to the room for keys */
	HIST_STACK_MORE		= (CODE_STACK_DEEPEST + 1 - HIST_STACK_DEPTH) * 8,
	HIST_KEY_ROOM		= HIST_KEY_SIZE_MAX + HIST_STACK_MORE,
	/* How many map variables the task's name for .execname takes */
	HIST_COMM_VARS		= 2,
	HIST_PARAMS_MAX		= 64,	/* arguments of an action, or field variables */
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
	/* These are not in Linux 6.12 */
	HIST_EXP	= 1 << 21,
	HIST_MIN	= 1 << 22,
	HIST_MAX	= 1 << 23,
	HIST_AVG	= 1 << 24,
	HIST_DEPTH	= 1 << 25,	/* with HIST_STACKTRACE */
	/* A value that is kept instead of the sum */
	HIST_EXTREME	= HIST_MIN | HIST_MAX,
	HIST_NO_SUM	= HIST_EXTREME | HIST_AVG,
	/* The value of an entry stands for several values of the event */
	HIST_RANGES	= HIST_LOG2 | HIST_BUCKET | HIST_EXP,
	/* For hist_field_parse(), with HIST_VAR: a reference remains a reference */
	HIST_FIELD_OF_ACTION = 1u << 31,
};

enum hist_operator {
	HIST_OP_NONE, HIST_OP_PLUS, HIST_OP_MINUS, HIST_OP_UNARY_MINUS, HIST_OP_DIV, HIST_OP_MULT,
};

/* What the value of a field or a variable is. A text or a stack lies in a block of the elt. */
enum hist_content { HIST_NUMBER, HIST_TEXT, HIST_STACK };

struct hist_data;
struct synth_event;

struct hist_var {
	char		*name;		/* NULL: it is not a variable */
	unsigned int	idx;		/* its number among the elt's variables */
	struct hist_data *hist_data;	/* the hist that has the variable */
};

struct hist_field {
	const struct field *field;	/* of the event; NULL for a generated one */
	unsigned int	flags;		/* enum hist_flags */
	unsigned int	size;		/* for a key: rounded up to 8 */
	unsigned int	offset;		/* for a key: its place in the compound key */
	bool		is_signed;
	char		*type;
	uint64_t	buckets;
	unsigned int	scale;		/* with HIST_EXP */
	unsigned int	depth;		/* with HIST_DEPTH: functions */
	uint64_t	constant;
	struct hist_field *operands[2];
	enum hist_operator operator;	/* for an expression */
	struct hist_var	var;
	enum hist_content content;
	/* For a variable that is a text or a stack, and for a reference to one */
	unsigned int	block;
	/* An expression that divides by `constant`; its operand may be a reference */
	bool		divides_by_constant;
	/* An expression uses this reference: each setting is read once */
	bool		read_once;
	unsigned int	var_ref_idx;	/* For a reference or an alias: its place in var_refs[] */
	/* As the reference was written; NULL: only by its name */
	char		*system, *event_name;
	char		*name;		/* for a reference or an expression */
	char		*full_name;	/* "system.event.$name" */
	struct hist_data *hist_data;
};

/* A variable that was made of a field, for an action. */
struct hist_field_var {
	struct hist_field *var, *val;
};

enum hist_handler { HIST_ONMATCH = 1, HIST_ONMAX, HIST_ONCHANGE };
enum hist_action_kind { HIST_SAVE = 1, HIST_TRACE, HIST_SNAPSHOT };

struct hist_action {
	enum hist_handler handler;
	enum hist_action_kind kind;
	char		*name;		/* "save", "snapshot", "trace", or the synthetic event's */
	char		*params[HIST_PARAMS_MAX];
	unsigned int	n_params;
	/* HIST_TRACE: the arguments, as numbers in var_refs[] */
	unsigned int	var_ref_idx[HIST_PARAMS_MAX];
	struct synth_event *synth;
	bool		use_trace_keyword;	/* trace(EVENT,...) rather than EVENT(...) */
	char		*synth_name;		/* in that case its first argument */
	struct {
		char	*system, *event;
	} match;				/* HIST_ONMATCH */
	struct {
		char	*var_str;		/* "$lat" */
		struct hist_field *var_ref;	/* the variable that is tracked */
		struct hist_field *track_var;	/* __max, __change */
		/* In each elt: the tracked value and, with save(), the values saved with it */
		unsigned int block;
		/* In the map: value, key and task of the newest snapshot */
		unsigned int snapshot_block;
	} track;				/* HIST_ONMAX, HIST_ONCHANGE */
};

struct hist_sort_key {
	unsigned int	field_idx;	/* its number, without counting variables */
	bool		descending;
};

/* The parts of the command. */
struct hist_attrs {
	char		*keys, *vals, *sort, *name, *clock;
	char		*percents;	/* of pct= */
	bool		pause, cont, clear, no_hitcount, ts_in_usecs;
	unsigned int	map_bits;	/* 0: not given */
	char		*assignments[HIST_VARS_MAX];
	unsigned int	n_assignments;
	/* Those of the assignments */
	char		*var_names[HIST_VARS_MAX], *var_exprs[HIST_VARS_MAX];
	unsigned int	n_vars;
	char		*actions[HIST_ACTIONS_MAX];
	unsigned int	n_actions;
};

struct hist_data {
	struct hist_attrs attrs;
	/* Its fields are used; for a name, the event of the first trigger */
	struct event	*event;
	struct instance	*instance;
	struct hist_field *fields[HIST_FIELDS_MAX];
	unsigned int	n_vals, n_keys, n_fields, n_vars;
	unsigned int	key_size, key_room;	/* the most that key_size may be */
	struct hist_sort_key sort_keys[HIST_SORT_KEYS_MAX];
	unsigned int	n_sort_keys;
	bool		enable_timestamps;
	bool		removes;	/* made by a command with "!": its variables may exist */
	unsigned int	map_bits;

	struct hist_field *var_refs[HIST_VARS_MAX];
	unsigned int	n_var_refs;
	struct hist_action *actions[HIST_ACTIONS_MAX];
	unsigned int	n_actions;
	struct hist_field_var *field_vars[HIST_PARAMS_MAX];
	unsigned int	n_field_vars;
	struct hist_field_var *save_vars[HIST_PARAMS_MAX];
	unsigned int	n_save_vars;
	struct hist_data *hidden[HIST_PARAMS_MAX];
	unsigned int	n_hidden;
	bool		is_hidden;	/* it is in some hist's hidden[] */
	/* In instance->hist_vars, newest first; in no list: it has no variables or references */
	struct list_head vars_node;

	struct map_shape shape;
	data_ref	map_ref;
	size_t		map_size;
	config_ref	cell;		/* struct hist_cell */
	config_ref	code;
	size_t		code_size;
	/* How many numbers of variables were given, those for save() and __max included */
	unsigned int	n_map_vars;
	unsigned int	refs;		/* how many triggers have it: more than one with name= */
	/* R28: a number while merge.c computes; and whether its variables were cleared then */
	unsigned int	merge_node;
	bool		merge_cleared;
};

/* A command, and where its errors go: "hist:SYSTEM:EVENT", and the command with its "hist:". */
struct hist_command_text {
	struct event_file *file;
	/* "hist:keys=..."; for a hidden hist, the command that needs it */
	char		*text;
	/* As written, for the next server (R4); for a hidden hist, its own command */
	const char	*command;
};

/* ---- parse.c ---- */

/*
 * Logs an error. The caret goes under the first place where the command has `at` ("" or NULL: its
 * start).
 */
void hist_error(const struct hist_command_text *cmd, const char *error, const char *at);
/*
 * A field that is an array is no value. The kernel answers ENOMEM, but logs the error. Until the
 * command ends, this number keeps it apart from exhausted memory, which logs none.
 */
enum { HIST_NO_VALUE = -EMSGSIZE };

/*
 * The same for an operation that failed with `err`. If memory was exhausted, no error is logged for
 * the command.
 */
void hist_say(int err, const struct hist_command_text *cmd, const char *error, const char *at);
/* The same; returns -EINVAL, for the caller to return. */
int hist_refuse(const struct hist_command_text *cmd, const char *error, const char *at);
/* --hist-legacy: forgets the error of the last command. */
void hist_legacy_error_clear(struct event_file *f);
/* Splits the text at its colons. `params` is changed. 0, -EINVAL, -ENOMEM. */
int hist_attrs_parse(const struct hist_command_text *cmd, char *params, struct hist_attrs *out);
void hist_attrs_free(struct hist_attrs *attrs);
void hist_attrs_free_vars(struct hist_attrs *attrs);

/* ---- field.c ---- */

/* Parses one field with its modifiers, or a number. NULL: *err is set. */
struct hist_field *hist_field_parse(struct hist_data *hd, const struct hist_command_text *cmd,
				    char *text, unsigned int flags, int *err);
struct hist_field *hist_field_create(struct hist_data *hd, const struct field *field,
				     unsigned int flags);
/* Does not free a reference: var_refs[] owns it. */
void hist_field_free(struct hist_field *f);
void hist_ref_free(struct hist_field *ref);
const char *hist_field_name(const struct hist_field *f);
/* The same for texts that the kernel does not have: the hitcount has its name in ranges, too. */
const char *hist_field_label(const struct hist_field *f);
/* "hex", "log2" ...; NULL: none. */
const char *hist_field_modifier(const struct hist_field *f);
/* HIST_MIN, HIST_MAX or HIST_AVG of that text; 0: it is none of them. */
unsigned int hist_field_no_sum(const char *modifier);
/*
 * Of a value with HIST_EXTREME: the greatest v ^ mask is kept, v ^ mask is 0 for what any other
 * value replaces.
 */
uint64_t hist_extreme_mask(const struct hist_field *f);
/* Prints a field as expressions and the keys of hidden hists name it: "$x", "a.log2", "5". */
void hist_operand_print(const struct hist_field *f, FILE *out);

/* ---- expr.c ---- */

/*
 * The same with operators. Both cut the text in place; its first piece stays readable (see expr.c).
 */
struct hist_field *hist_expr_parse(struct hist_data *hd, const struct hist_command_text *cmd,
				   char *text, unsigned int flags, int *err);

/* ---- create.c ---- */

/* Makes all but the actions' variables and the map. `removes`: for a "!" command. */
int hist_data_create(struct event_file *f, const struct hist_command_text *cmd, char *params,
		     bool removes, struct hist_data **out);
void hist_data_destroy(struct hist_data *hd);

/* ---- var.c ---- */

/* The variable of that name that this hist defines; NULL: none. */
struct hist_field *hist_find_own_var(const struct hist_data *hd, const char *name);
/* The same, or that of another hist of the event. */
struct hist_field *hist_find_var(const struct hist_data *hd, const char *name);
/* Finds a variable for `$name` or `system.event.$name`. Logs an error if it is not unique. */
struct hist_field *hist_find_event_var(struct hist_data *hd, const struct hist_command_text *cmd,
				       const char *system, const char *event, const char *name);
/* The reference to a variable, made if there is none yet. NULL: out of memory, or too many. */
struct hist_field *hist_ref_create(struct hist_data *hd, struct hist_field *var, const char *system,
				   const char *event);
/*
 * "$x" in an expression. NULL: it is not a reference, or there is no such variable, which is
 * logged.
 */
struct hist_field *hist_ref_parse(struct hist_data *hd, const struct hist_command_text *cmd,
				  const char *system, const char *event, const char *text,
				  int *err);
/* Makes a variable that is another one: `y=$x`. */
struct hist_field *hist_alias_create(struct hist_data *hd, struct hist_field *ref);
/* The text that `$x` means if x is a plain field of the same command; NULL: it is none. */
const char *hist_local_field(const struct hist_data *hd, const char *system, const char *event,
			     const char *text);
/* Whether it is a variable, or has a reference in it. */
bool hist_field_has_vars(const struct hist_field *f);
/* Whether another hist refers to one of its variables. */
bool hist_is_referenced(const struct hist_data *hd);
/*
 * If it has variables, adds it to the list in which they are found. The instance cannot be removed
 * then.
 */
void hist_vars_add(struct hist_data *hd);
void hist_vars_remove(struct hist_data *hd);

/* ---- field_var.c ---- */

/* The number of a new variable in the elt; -1: there are too many. */
int hist_map_var(struct hist_data *hd);
unsigned int hist_map_block(struct hist_data *hd, unsigned int size);
/*
 * Makes a variable without a field: __max. NULL: *err is set: the name exists, or there are too
 * many.
 */
struct hist_field *hist_var_create(struct hist_data *hd, const char *name, unsigned int size,
				   const char *type, int *err);
/*
 * Makes a variable of a field of this hist's own event, named by the first piece of its text. NULL:
 * an error was logged.
 */
struct hist_field_var *hist_field_var_create(struct hist_data *hd,
					     const struct hist_command_text *cmd, char *name,
					     int *err);
void hist_field_var_free(struct hist_field_var *fv);
/*
 * Makes a variable of a field of another event, in a hidden hist with the keys of an existing one.
 * NULL: an error was logged.
 */
struct hist_field *hist_hidden_create(struct hist_data *hd, const struct hist_command_text *cmd,
				      const char *system, const char *event, const char *name,
				      int *err);
/* Removes the hidden hists to which no other hist refers. */
void hist_hidden_remove(struct hist_data *hd);

/* ---- action_parse.c ---- */

int hist_actions_parse(struct hist_data *hd, const struct hist_command_text *cmd);
void hist_action_free(struct hist_action *a);
bool hist_actions_match(const struct hist_data *a, const struct hist_data *b);

/* ---- action.c ---- */

/* Finds or makes all that the actions refer to. 0, -EINVAL, -EBUSY, -EEXIST, -ENOMEM */
int hist_actions_create(struct hist_data *hd, const struct hist_command_text *cmd);

/* ---- map.c ---- */

/*
 * Makes the map, or restores the one that a dead server's cell names, and writes the code. 0,
 * -ENOMEM, -EPROTO
 */
int hist_map_create(struct hist_data *hd, config_ref restored_cell);
/* Makes a new, empty map for `clear`; the old one is retired. */
int hist_map_renew(struct hist_data *hd);
/* A view for the variables of its elts. .data is NULL if the session has lost the map. */
struct map_view hist_map_view(const struct hist_data *hd);
/* Retires map, cell and code. */
void hist_map_retire(struct hist_data *hd);
/* The tracked value is at the begin of a block; the values saved with it follow at this offset. */
enum { HIST_TRACK_VALUES = 8 };
unsigned int hist_save_offset(const struct hist_data *hd, unsigned int i);
unsigned int hist_save_size(const struct hist_data *hd);

/* ---- compile.c ---- */

/* Writes the code for the present map. 0, -ENOMEM, -E2BIG */
int hist_compile(struct hist_data *hd);
bool hist_has_execname(const struct hist_data *hd);

/* ---- trigger.c ---- */

/* Adds a hist trigger. For a hidden hist, errors show the command that needs it. */
int hist_trigger_add(struct event_file *f, const struct hist_command_text *cmd, char *params,
		     const char *cond);
/* The trigger of an event file that has the hist; NULL: none. */
struct trigger *hist_trigger_of(struct event_file *f, const struct hist_data *hd);

/* ---- join.c ---- */

/*
 * Joins ops of code whose keys have that many bytes; `place` is working memory. Returns how many
 * ops are left.
 */
unsigned int hist_join(struct op *ops, unsigned int nr, uint32_t key_size, uint16_t *place);

/* ---- print.c ---- */

void hist_trigger_print(struct trigger *t, FILE *out);

/* ---- show.c, debug.c ---- */

/* Print the files `hist` and `hist_debug` of an event. 0, -ENOMEM */
int hist_print(struct event_file *f, FILE *out);
/* The same in two steps. The first one, which is quick, prints the first hist's header. */
void hist_print_begin(const struct event_file *f, FILE *out);
int hist_print_rest(struct event_file *f, FILE *out);
/* Whether the event has one. */
bool hist_is_there(const struct event_file *f);
/* Whether to print one of the event's hists may take more than some milliseconds. */
bool hist_is_large(const struct event_file *f);
/* The sum of `Hits:` of its hists. */
uint64_t hist_total_hits(const struct event_file *f);
int hist_debug_print(struct event_file *f, FILE *out);

/* ---- syscalls.c ---- */


static inline struct hist_data *hist_of(const struct trigger *t)
{
	return t->priv;
}

#endif
