/* SPDX-License-Identifier: MIT */
/*
 * explain.h - what a trigger, a filter or the definition of an event says, in plain English
 *
 *     text.c             taking commands apart, and words for values
 *     hist.c             hist:...
 *     trigger.c          the other triggers, filters
 *     define.c           synthetic events, event probes
 *     scope.c            a session of our own with somebody's events, to try commands in
 *     guess.c            what a wrong command might have been
 *
 * Explaining needs the text alone. With a scope it also tells where references
 * come from, and the command is tried there first: nothing of the session that
 * the scope was copied from changes.
 */
#ifndef TRACEFUSE_CLI_EXPLAIN_EXPLAIN_H
#define TRACEFUSE_CLI_EXPLAIN_EXPLAIN_H

#include <stdbool.h>
#include <stdio.h>

struct access;
struct explain_scope;

enum explain_kind {
	EXPLAIN_HIST,
	EXPLAIN_TRIGGER,
	EXPLAIN_FILTER,
	EXPLAIN_SYNTH,
	EXPLAIN_PROBE,
	EXPLAIN_REMOVAL
};

struct explain {
	FILE		*out;
	const char	*system, *event;	/* which the command is for; NULL: not said */
	struct explain_scope *scope;		/* NULL: none */
};

struct explain_parts {
	char		**v;
	unsigned int	nr;
};

/* ---- text.c ---- */

/* What a text is, by its looks. */
enum explain_kind explain_kind_of(const char *text);
/*
 * Cuts at each `separator` outside of quotes, brackets and parentheses; blanks around pieces
 * vanish.
 */
void explain_split(const char *text, char separator, struct explain_parts *out);
void explain_parts_add(struct explain_parts *p, const char *text, size_t len);
void explain_parts_free(struct explain_parts *p);
/* "TEXT if FILTER": a copy of TEXT, and FILTER or NULL. The caller frees both. */
char *explain_split_filter(const char *text, char **filter);
/*
 * One line: a label in its column, then text that wraps. An empty label continues the one before.
 */
void explain_say(struct explain *e, const char *label, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* "common_timestamp.usecs-$ts0" -> "the time in microseconds minus $ts0"; the caller frees it. */
char *explain_value(const char *text);
/* The names behind each "$" in it. */
void explain_references(const char *text, struct explain_parts *out);

/* ---- what the command does ---- */

void explain_hist(struct explain *e, const char *text);
void explain_trigger(struct explain *e, const char *text);
void explain_filter(struct explain *e, const char *text);
void explain_synth(struct explain *e, const char *text);
void explain_probe(struct explain *e, const char *text);
void explain_removal(struct explain *e, const char *text);
/* A filter in words; the caller frees it. */
char *explain_condition(const char *filter);

/* ---- scope.c ---- */

/* A variable that some trigger of the scope sets. */
struct explain_variable {
	const char	*name, *system, *event, *keys;
};

/* Of a recording (FILE), or of a session. 0 or -errno, with what is wrong printed to stderr. */
int explain_scope_of_recording(const char *file, struct explain_scope **out);
int explain_scope_of_session(struct access *a, struct explain_scope **out);
void explain_scope_destroy(struct explain_scope *w);

bool explain_scope_has_event(struct explain_scope *w, const char *system, const char *event);
/*
 * Gives the command to the scope. 0, or -errno; *error is what error_log says to it ("" for
 * nothing), the caller's.
 */
int explain_scope_try(struct explain_scope *w, enum explain_kind kind, const char *system,
		      const char *event, const char *text, char **error);
/*
 * Takes the event's triggers away, so that the same can be tried again; -EBUSY when something
 * refers to them.
 */
int explain_scope_clear(struct explain_scope *w, const char *system, const char *event);
/* The i-th variable of that name, NULL: no more. */
const struct explain_variable *explain_scope_variable(const struct explain_scope *w,
						      const char *name, unsigned int i);
bool explain_scope_has_field(struct explain_scope *w, const char *system, const char *event,
			     const char *field);
/* The name of parameter number i of a synthetic event into out; false: it has none. */
bool explain_scope_parameter(struct explain_scope *w, const char *synth, unsigned int i, char *out,
			     size_t size);
/* Every name that a command for that event could have in it (system and event may be NULL). */
void explain_scope_names(struct explain_scope *w, const char *system, const char *event,
			 struct explain_parts *out);

/* ---- guess.c ---- */

/*
 * A command that the scope takes, spelled most like one it refused with `error`; NULL: none. The
 * caller frees it.
 */
char *explain_guess(struct explain *e, enum explain_kind kind, const char *text, const char *error);
/* Without a scope: a word in the place of a keyword that is almost one. Says so. */
void explain_doubts(struct explain *e, const char *text);

#endif
