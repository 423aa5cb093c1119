/* SPDX-License-Identifier: MIT */
/*
 * language.h - random triggers, their text, and their meaning
 *
 * A script is a set of triggers over three events and one synthetic event:
 *
 *     prop:a   sets variables          int xx; unsigned int uu; u64 ww; char name[16]; int oa
 *     prop:b   references, matches a   the same with ob
 *     prop:c   on its own              the same with oc
 *     synthetic:psyn                   made by the actions of prop:b
 *
 * generate.c makes scripts and streams of events. text.c writes the commands and the files `hist`.
 * interpret.c is a plain interpreter: it searches lists from the start, one field at a time,
 * without compiled code and without a hash.
 */
#ifndef TRACEFUSE_TESTS_PROPERTY_LANGUAGE_H
#define TRACEFUSE_TESTS_PROPERTY_LANGUAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { EVENT_A, EVENT_B, EVENT_C, EVENT_SYN, EVENTS };
enum { ID_A = 700, NAME_SIZE = 16 };
enum {
	KEYS_MAX = 3,
	VALS_MAX = 3,
	VARS_MAX = 4,
	TERMS_MAX = 4,
	ACTIONS_MAX = 3,
	ARGS_MAX = 4,
	SORT_MAX = 2,
	TRIGGERS_MAX = 8,
	SYN_FIELDS_MAX = 4
};

/* The source of a value. F_SYN + i: field i of the synthetic event. */
enum operand { F_X, F_U, F_W, F_NAME, F_OWN, F_MATCHED, F_PID, F_CPU, F_SYN, F_HITCOUNT = 100 };
enum modifier { PLAIN, HEX, LOG2, BUCKETS, EXECNAME };

struct key {
	enum operand	field;
	enum modifier	modifier;
	unsigned int	bucket;
};

enum term_kind { TERM_FIELD, TERM_CONST, TERM_TIME, TERM_VAR };

struct term {
	enum term_kind	kind;
	enum operand	field;
	uint64_t	value;
	int		trigger, var;	/* TERM_VAR: the variable and its trigger */
	char		op;		/* the operator before the term; 0: the first term */
};

struct expr {
	struct term	terms[TERMS_MAX];
	unsigned int	nr;
	bool		negated;	/* -(...) */
	bool		usecs;
};

struct var {
	char		name[24];
	struct expr	expr;
	/* F_NAME: a text. Of a hidden trigger: its field. Else F_HITCOUNT. */
	enum operand	copies;
};

enum handler { ONMATCH, ONMAX, ONCHANGE };
enum verb { TRACE, SAVE };

struct argument {
	bool		is_var;
	int		trigger, var;
	enum operand	field;
};

struct action {
	enum handler	handler;
	enum verb	verb;
	int		var;		/* onmax, onchange: variable of the same trigger */
	struct argument	args[ARGS_MAX];
	unsigned int	nr_args;
};

struct sort {
	bool		hitcount, is_key;
	unsigned int	index;
	bool		descending;
};

struct condition {
	enum operand	field;		/* F_HITCOUNT: none */
	const char	*op;		/* "~": the text is the beginning of a pattern */
	int64_t		number;
	char		text[NAME_SIZE];
	/* " && " or " || " and a second condition; NULL: there is only one. */
	const char	*join;
	int64_t		other;		/* uu > other */
};

/* What a value keeps of all hits of an entry. */
enum kept { KEPT_SUM, KEPT_MIN, KEPT_MAX, KEPT_AVG };

struct rule {
	int		event;
	bool		hidden;		/* an action made it */
	struct key	keys[KEYS_MAX];
	unsigned int	nr_keys;
	enum operand	vals[VALS_MAX];
	enum kept	kept[VALS_MAX];
	unsigned int	nr_vals;
	struct var	vars[VARS_MAX];
	unsigned int	nr_vars;
	struct action	actions[ACTIONS_MAX];
	unsigned int	nr_actions;
	struct sort	sort[SORT_MAX];
	unsigned int	nr_sort;
	struct condition	filter;
	unsigned int	size;		/* 0: not given */
	bool		paused;
};

struct script {
	uint64_t	seed;
	struct rule	triggers[TRIGGERS_MAX];
	unsigned int	nr;
	struct argument	syn[SYN_FIELDS_MAX];	/* the kinds of the synthetic event's fields */
	unsigned int	nr_syn;			/* 0: no synthetic event */
};

/* The layout of the record. */
struct record {
	uint16_t	type;
	uint8_t		flags, preempt;
	int32_t		pid;
	int32_t		x;
	uint32_t	u;
	uint64_t	w;
	char		name[NAME_SIZE];
	int32_t		own;
	uint32_t	pad;
};

struct stimulus {
	struct record	record;
	uint64_t	time;
	unsigned int	cpu;
	char		comm[NAME_SIZE];
	/* Instead of a hit: this command for that trigger, in the middle of a stream. */
	const char	*command;	/* "pause", "cont" or "clear"; NULL: a hit */
	int		trigger;
};

/* ---- generate.c ---- */

struct random {
	uint64_t	state;
};

uint64_t random_next(struct random *r);
unsigned int random_below(struct random *r, unsigned int limit);
/* Makes a script. writers > 1: triggers with variables have a key that differs between writers. */
void generate_script(struct random *r, unsigned int writers, struct script *out);
struct stimulus generate_stimulus(struct random *r, const struct script *s, unsigned int writer,
				  unsigned int writers, uint64_t time);

/* ---- text.c ---- */

const char *field_name(const struct script *s, int event, enum operand f);
/* The type that a value has in a synthetic event's definition. */
const char *argument_type(const struct script *s, const struct argument *a);
void print_definition(const struct script *s, FILE *out);
/* Prints a command as a user types it, or (`canonical`) as `trigger` and `hist` print it. */
void print_command(const struct script *s, const struct rule *t, bool canonical, FILE *out);

/* ---- interpret.c ---- */

struct expected;
struct expected *expected_create(const struct script *s);
void expected_destroy(struct expected *w);
void expected_stimulus(struct expected *w, const struct stimulus *e);

/*
 * An entry of a histogram, which is sorted by its sort keys. Equal entries have no order: they have
 * the same `rank`, and may change places.
 */
struct shown {
	char	*text;
	int	rank;
};
/* Makes the lines of the entries. The caller frees the texts and the array. */
struct shown *expected_entries(struct expected *w, int trigger, size_t *nr);
uint64_t expected_hits(const struct expected *w, int trigger);
bool expected_paused(const struct expected *w, int trigger);
void expected_totals(struct expected *w, int trigger, FILE *out);
#endif
