/* SPDX-License-Identifier: MIT */
/*
 * explain.h - explains a trigger, a filter, the definition of an event or a function
 *
 *     text.c             taking commands apart, and words for values
 *     hist.c             hist:...
 *     trigger.c          the other triggers, filters
 *     define.c           synthetic events, event probes
 *     function.c         a function of a program: its prototype, probes for it
 *     scope.c            a session of our own with somebody's events, to try commands in
 *     words.c            a wrong command of an event that is not known
 *     guess.c            what a wrong command might have been
 *
 * Explaining needs only the text. With a scope the command is first tried in the scope, which is a
 * copy of the session, so the session does not change. The explanation then also names the sources
 * of references.
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
	EXPLAIN_PLACE,
	EXPLAIN_REMOVAL
};

struct explain {
	FILE		*out;
	const char	*system, *event;	/* the command's event; NULL: not given */
	struct explain_scope *scope;		/* NULL: none */
};

struct explain_parts {
	char		**v;
	unsigned int	nr;
};

/* ---- text.c ---- */

/* Guesses the kind of a text by its form. */
enum explain_kind explain_kind_of(const char *text);
/*
 * Cuts the text at each `separator` outside of quotes, brackets and parentheses, and removes blanks
 * around the pieces.
 */
void explain_split(const char *text, char separator, struct explain_parts *out);
void explain_parts_add(struct explain_parts *p, const char *text, size_t len);
void explain_parts_free(struct explain_parts *p);
/*
 * Splits "TEXT if FILTER": returns a copy of TEXT; *filter is a copy of FILTER, or NULL. The caller
 * frees both.
 */
char *explain_split_filter(const char *text, char **filter);
/*
 * Prints a label in its column and a text that is wrapped. An empty label continues the previous
 * one.
 */
void explain_say(struct explain *e, const char *label, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/*
 * Explains a value: "common_timestamp.usecs-$ts0" becomes "the time in microseconds minus $ts0".
 * The caller frees it.
 */
char *explain_value(const char *text);
/* Finds the names behind each "$" in the text. */
void explain_references(const char *text, struct explain_parts *out);

/* ---- explaining commands ---- */

void explain_hist(struct explain *e, const char *text);
void explain_trigger(struct explain *e, const char *text);
void explain_filter(struct explain *e, const char *text);
void explain_synth(struct explain *e, const char *text);
void explain_probe(struct explain *e, const char *text);
void explain_place(struct explain *e, const char *text);
void explain_removal(struct explain *e, const char *text);
/* Explains a function of the program in the file. Returns an exit status. */
int explain_function(struct explain *e, const char *path, const char *name);
/* Explains a filter; the caller frees the text. */
char *explain_condition(const char *filter);

/* ---- scope.c ---- */

/* A variable that a trigger of the scope sets. */
struct explain_variable {
	const char	*name, *system, *event, *keys;
};

/*
 * Make a scope of a recording (FILE), or of a session. 0, or -errno with an error printed to
 * stderr.
 */
int explain_scope_of_recording(const char *file, struct explain_scope **out);
int explain_scope_of_session(struct access *a, struct explain_scope **out);
/* One of a single event, by the text of its file format. 0, or -errno. */
int explain_scope_of_format(const char *system, const char *format, struct explain_scope **out);
void explain_scope_destroy(struct explain_scope *w);

bool explain_scope_has_event(struct explain_scope *w, const char *system, const char *event);
/*
 * Tries the command in the scope. 0, or -errno. *error: the new entry of error_log or "", which the
 * caller frees.
 */
int explain_scope_try(struct explain_scope *w, enum explain_kind kind, const char *system,
		      const char *event, const char *text, char **error);
/*
 * Removes the event's triggers, so that the same command can be tried again. -EBUSY: something
 * refers to them.
 */
int explain_scope_clear(struct explain_scope *w, const char *system, const char *event);
/* The i-th variable with that name; NULL: no more. */
const struct explain_variable *explain_scope_variable(const struct explain_scope *w,
						      const char *name, unsigned int i);
bool explain_scope_has_field(struct explain_scope *w, const char *system, const char *event,
			     const char *field);
/*
 * Copies the name of a synthetic event's parameter number i to `out`. False: there is no such
 * parameter.
 */
bool explain_scope_parameter(struct explain_scope *w, const char *synth, unsigned int i, char *out,
			     size_t size);
/* Finds every name that a command for that event may contain (system and event may be NULL). */
void explain_scope_names(struct explain_scope *w, const char *system, const char *event,
			 struct explain_parts *out);

/* ---- words.c ---- */

/*
 * Tries a trigger or a filter of an event that is not known. 0: nothing is wrong with it whatever
 * the event has. -errno: *error is the entry of error_log, which the caller frees.
 */
int explain_words_try(enum explain_kind kind, const char *text, char **error);

/* ---- guess.c ---- */

/*
 * The command that the scope accepts and that is spelled most like `text`, which it refused with
 * `error`. The caller frees it. NULL: none.
 */
char *explain_guess(struct explain *e, enum explain_kind kind, const char *text, const char *error);
/* Without a scope: prints words that are almost a keyword. */
void explain_doubts(struct explain *e, const char *text);

#endif
