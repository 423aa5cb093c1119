/* SPDX-License-Identifier: MIT */
/*
 * guess.c - finds the right spelling of a wrong command
 *
 * Each unknown word is replaced by names with a similar spelling, the nearest first. Each such
 * command is tried in the scope, because only the scope knows what is right.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "cli/explain/explain.h"
#include "server/nearest.h"

enum { WORD_MAX = 64, WORDS_MAX = 64, GUESSES_MAX = 200 };

static const char *const keywords[] =
	{
		"hist", "key", "keys", "val", "vals", "values", "sort", "size",
		"name", "clock", "pct", "pause", "continue", "clear", "nohitcount", NULL,
},
			 *const handlers[] =
				 {
					 "onmatch",
					 "onmax",
					 "onchange",
					 NULL,
},
			 *const triggers[] =
				 {
					 "hist",	  "traceon",
					 "traceoff",	  "snapshot",
					 "stacktrace",	  "enable_event",
					 "disable_event", "enable_hist",
					 "disable_hist", NULL,
},
			 *const others[] =
				 {
					 "trace", "save", "snapshot", "if", NULL,
},
			 *const modifiers[] = {
				 "hex",	       "sym",	    "sym-offset", "execname", "syscall",
				 "log2", "buckets", "exp", "depth", "usecs", "percent", "graph",
				 "min", "max", "avg",
				 "stacktrace", "ascending", "descending", "function", NULL,
};

/* ---- words of a command ---- */

struct word {
	const char	*at;
	size_t		len;
};

static bool in_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static unsigned int find_words(const char *text, struct word *words)
{
	unsigned int nr = 0;

	while (*text && nr < WORDS_MAX) {
		size_t n = 0;

		if (*text == '"') {
			n = strcspn(text + 1, "\"") + 1;
			text += n + (text[n] != '\0');
			continue;
		}
		while (in_word(text[n]))
			n++;
		if (n && !isdigit((unsigned char)*text))
			words[nr++] = (struct word){ text, n };
		text += n ? n : 1;
	}
	return nr;
}

static bool guess_is_name(const struct explain_parts *names, const struct word *w)
{
	for (unsigned int i = 0; i < names->nr; i++)
		if (!strncmp(names->v[i], w->at, w->len) && !names->v[i][w->len])
			return true;
	return false;
}

static char *guess_replace(const char *text, const struct word *w, const char *by)
{
	char *out;

	if (asprintf(&out, "%.*s%s%s", (int)(w->at - text), text, by, w->at + w->len) < 0)
		return NULL;
	return out;
}

/* ---- guessing ---- */

struct guessing {
	struct explain	*e;
	enum explain_kind kind;
	const char	*text;
	struct explain_parts names;
	unsigned int	tries;
	long		column;		/* column of the caret; -1: none */
	char		*step, *step_error;	/* a guess with a later error; may be NULL */
};

/*
 * The column of an error's caret in the command, which follows " Command: "; -1: there is no caret.
 */
static long caret_column(const char *error)
{
	const char *caret = error ? strchr(error, '^') : NULL, *start = caret;

	while (start && start > error && start[-1] != '\n')
		start--;
	return caret ? caret - start - (long)strlen("  Command: ") : -1;
}

static bool is_marked(const struct guessing *g, const struct word *w)
{
	return g->column >= w->at - g->text && g->column < w->at - g->text + (long)w->len;
}

/*
 * Tries a guess. If it is refused, frees it and returns NULL. A refused guess that moves the caret
 * out of the replaced word becomes g->step, because a command may have two mistakes.
 */
static char *accepted(struct guessing *g, const struct word *w, size_t len, char *guess)
{
	long at = w->at - g->text;
	char *error = NULL;
	int ret = guess && g->tries++ < GUESSES_MAX
			  ? explain_scope_try(g->e->scope, g->kind, g->e->system, g->e->event,
					      guess, &error)
			  : -1;

	if (!ret) {
		free(error);
		return guess;
	}
	if (!g->step && is_marked(g, w) && caret_column(error) >= 0 &&
	    (caret_column(error) < at || caret_column(error) > at + (long)len)) {
		g->step = guess;
		g->step_error = error;
		return NULL;
	}
	free(error);
	free(guess);
	return NULL;
}

static char *try_names(struct guessing *g, const struct word *w, unsigned int far)
{
	char *guess = NULL;

	for (unsigned int i = 0; i < g->names.nr && !guess; i++) {
		size_t len = strlen(g->names.v[i]);

		if (nearest_distance(w->at, w->len, g->names.v[i], len) == far)
			guess = accepted(g, w, len, guess_replace(g->text, w, g->names.v[i]));
	}
	return guess;
}

/* Tries quotes around a word, as for comm == bash: a text needs quotes. */
static char *try_quotes(struct guessing *g, const struct word *w)
{
	char quoted[WORD_MAX + 3];

	if (w->at == g->text || !strchr("=~ ", w->at[-1]) || w->len > WORD_MAX)
		return NULL;
	snprintf(quoted, sizeof(quoted), "\"%.*s\"", (int)w->len, w->at);
	return accepted(g, w, strlen(quoted), guess_replace(g->text, w, quoted));
}

static void add_names(struct explain_parts *out, const char *const *names)
{
	for (; *names; names++)
		explain_parts_add(out, *names, strlen(*names));
}

/*
 * Whether the word is as in "lat=...": a name that the command itself makes, or a keyword with a
 * wrong spelling.
 */
static bool is_assigned(const struct word *w)
{
	return w->at[w->len] == '=' && w->at[w->len + 1] != '=';
}

static void add_own(struct explain_parts *out, const struct word *words, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++)
		if (is_assigned(&words[i]))
			explain_parts_add(out, words[i].at, words[i].len);
}

/* Tries to replace unknown words or, with `known`, words that are known but marked by the caret. */
static char *try_words(struct guessing *g, const struct word *words, unsigned int nr, bool known)
{
	char *guess = NULL;

	for (unsigned int far = 1; far <= 2 * WORD_MAX / 3 && !guess; far++)
		for (unsigned int i = 0; i < nr && !guess; i++)
			if (far <= nearest_tolerance(words[i].len) &&
			    (known ? is_marked(g, &words[i])
				   : !guess_is_name(&g->names,
						    &words[i]) || is_assigned(&words[i])))
				guess = try_names(g, &words[i], far);
	return guess;
}

static char *try_all(struct guessing *g)
{
	struct word words[WORDS_MAX];
	unsigned int nr = find_words(g->text, words);
	char *guess;

	add_own(&g->names, words, nr);
	guess = try_words(g, words, nr, false);
	for (unsigned int i = 0; i < nr && !guess; i++)
		guess = try_quotes(g, &words[i]);
	/* A known name may be wrong at this place. */
	return guess ? guess : try_words(g, words, nr, true);
}

char *explain_guess(struct explain *e, enum explain_kind kind, const char *text, const char *error)
{
	struct guessing g = { .e = e, .kind = kind, .text = text, .column = caret_column(error) };
	char *guess, *step = NULL;

	add_names(&g.names, modifiers);
	add_names(&g.names, keywords);
	add_names(&g.names, handlers);
	add_names(&g.names, others);
	add_names(&g.names, triggers);
	explain_scope_names(e->scope, e->system, e->event, &g.names);
	while (!(guess = try_all(&g)) && g.step) {
		free(step);
		g.text = step = g.step;
		g.column = caret_column(g.step_error);
		free(g.step_error);
		g.step = g.step_error = NULL;
	}
	free(step);
	free(g.step);
	free(g.step_error);
	explain_parts_free(&g.names);
	return guess;
}

/* ---- without a scope ---- */

static void doubt(struct explain *e, const struct word *w, const char *const *names)
{
	const char *best = NULL;
	/* Only one letter differs: a word with more differences may be intended. */
	unsigned int least = 3;

	for (const char *const *n = names; *n; n++) {
		unsigned int far = nearest_distance(w->at, w->len, *n, strlen(*n));

		if (far < least) {
			least = far;
			best = *n;
		}
	}
	if (best && least)
		explain_say(e, "doubt", "%.*s: did you mean %s?", (int)w->len, w->at, best);
}

void explain_doubts(struct explain *e, const char *text)
{
	struct word words[WORDS_MAX];
	unsigned int nr = find_words(text, words);
	int depth = 0;

	for (unsigned int i = 0; i < nr; i++) {
		char before = words[i].at > text ? words[i].at[-1] : ':',
		     after = words[i].at[words[i].len];

		for (const char *s = i ? words[i - 1].at : text; s < words[i].at; s++)
			depth += (*s == '(') - (*s == ')');
		if (depth || (before == ' ' && i))
			continue;
		if (!i && after == ':' && words[i].len > 1)
			doubt(e, &words[i], triggers);
		else if (before == ':' && after == '=' && words[i].len > 2)
			doubt(e, &words[i], keywords);
		else if (before == ':' && after == '(')
			doubt(e, &words[i], handlers);
		else if (before == '.' && after != '(' && after != '.')
			doubt(e, &words[i], modifiers);
	}
}
