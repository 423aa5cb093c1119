/* SPDX-License-Identifier: MIT */
/*
 * expand.c - words of a setup script: quotes, backslashes, $NAME, $(...), patterns
 */
#include <ctype.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "setup/state.h"

/* ---- variables ---- */

static const char *setup_get(struct setup *s, const char *name)
{
	for (struct setup_variable *v = s->variables; v; v = v->next)
		if (!strcmp(v->name, name))
			return v->value;
	return getenv(name);
}

/* False: no memory, and the variable is as it was. */
bool setup_set(struct setup *s, const char *name, const char *value)
{
	struct setup_variable *v = s->variables;
	char *copy = strdup(value);

	if (!copy)
		return false;

	while (v && strcmp(v->name, name))
		v = v->next;
	if (!v) {
		v = calloc(1, sizeof(*v));
		if (v)
			v->name = strdup(name);
		if (!v || !v->name) {
			free(copy);
			free(v);
			return false;
		}
		v->next = s->variables;
		s->variables = v;
	}
	free(v->value);
	v->value = copy;
	return true;
}

void setup_variables_destroy(struct setup *s)
{
	while (s->variables) {
		struct setup_variable *v = s->variables;

		s->variables = v->next;
		free(v->name);
		free(v->value);
		free(v);
	}
}

/* ---- a word that is being made ---- */

struct maker {
	struct setup	*s;
	struct setup_words *out;
	bool		split;		/* at blanks of unquoted expansions */
	char		*text;
	size_t		len, cap;
	bool		any;		/* something, or an empty quoted text */
	bool		pattern;	/* has an unquoted * ? or [ */
};

static void put(struct maker *m, char c)
{
	if (m->len + 2 > m->cap) {
		char *more = realloc(m->text, m->cap * 2 + 64);

		if (!more) {
			m->out->failed = true;
			return;
		}
		m->cap = m->cap * 2 + 64;
		m->text = more;
	}
	m->text[m->len++] = c;
	m->text[m->len] = '\0';
	m->any = true;
}

/* A quoted character means itself, also in a pattern. */
static void put_quoted(struct maker *m, char c)
{
	if (m->split && strchr("*?[\\", c))
		put(m, '\\');
	put(m, c);
}

static char *without_backslashes(char *text)
{
	char *to = text;

	for (const char *s = text; *s; s++) {
		if (*s == '\\' && s[1] && strchr("*?[\\", s[1]))
			s++;
		*to++ = *s;
	}
	*to = '\0';
	return text;
}

/* ---- patterns: names of the session's files ---- */

struct matching {
	const char	*pattern;
	struct setup_words names;
};

static int match_name(void *arg, const char *name, bool is_dir)
{
	struct matching *m = arg;

	(void)is_dir;
	if ((*name != '.' || *m->pattern == '.') && !fnmatch(m->pattern, name, 0))
		setup_words_add(&m->names, strdup(name));
	return 0;
}

static int compare_words(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool is_pattern(const char *s)
{
	for (; *s; s++) {
		if (*s == '\\' && s[1])
			s++;
		else if (strchr("*?[", *s))
			return true;
	}
	return false;
}

/* Adds to `out` every existing path that `prefix` and the pattern `rest` make. */
static void match_paths(struct setup *s, const char *prefix, const char *rest, struct setup_words *out)
{
	size_t n = strcspn(rest, "/");
	char component[256], path[1024], inside[1024];
	struct matching m = { .pattern = component };
	struct access *a = s->params->access;
	mode_t mode;

	snprintf(component, sizeof(component), "%.*s", (int)n, rest);
	if (!is_pattern(component)) {
		snprintf(path, sizeof(path), "%s%s", prefix, without_backslashes(component));
		setup_words_add(&m.names, strdup(component));
	} else {
		if (!setup_path(s, *prefix ? prefix : ".", inside, sizeof(inside)))
			return;
		a->ops->list(a, inside, match_name, &m);
		if (m.names.nr)
			qsort(m.names.v, m.names.nr, sizeof(*m.names.v), compare_words);
	}
	for (unsigned int i = 0; i < m.names.nr; i++) {
		snprintf(path, sizeof(path), "%s%s%s", prefix, m.names.v[i], rest[n] ? "/" : "");
		if (rest[n])
			match_paths(s, path, rest + n + 1, out);
		else if (setup_path(s, path, inside, sizeof(inside)) && !a->ops->stat(a, inside, &mode))
			setup_words_add(out, strdup(path));
	}
	setup_words_destroy(&m.names);
}

static void finish_word(struct maker *m)
{
	unsigned int before = m->out->nr;

	if (!m->any)
		return;
	if (!m->text)
		put(m, '\0');
	if (m->out->failed)
		return;
	if (m->pattern && m->split) {
		bool absolute = *m->text == '/';

		match_paths(m->s, absolute ? "/" : "", m->text + absolute, m->out);
	}
	if (m->out->nr == before)
		setup_words_add(m->out, strdup(m->split ? without_backslashes(m->text) : m->text));
	m->len = 0;
	m->any = m->pattern = false;
	m->text[0] = '\0';
}

/* ---- expansions ---- */

static void put_value(struct maker *m, const char *value, bool quoted)
{
	for (; *value; value++) {
		if (quoted || !m->split) {
			put_quoted(m, *value);
		} else if (isspace((unsigned char)*value)) {
			finish_word(m);
		} else {
			m->pattern |= strchr("*?[", *value) != NULL;
			put(m, *value);
		}
	}
}

/* s is behind "$("; returns the end, at ")". */
static const char *substitution_end(const char *s, char end)
{
	int depth = 1;

	for (; *s; s++) {
		if (*s == '\\' && s[1])
			s++;
		else if (*s == '\'' && end == ')')
			for (s++; *s && *s != '\''; s++)
				;
		else if (*s == '(' && end == ')')
			depth++;
		else if (*s == end && --depth == 0)
			return s;
		if (!*s)
			break;
	}
	return s;
}

static const char *put_substitution(struct maker *m, const char *s, char end, bool quoted)
{
	const char *stop = substitution_end(s, end);
	char *text = strndup(s, (size_t)(stop - s));
	char *output = text ? setup_capture(m->s, text) : NULL;

	if (output)
		put_value(m, output, quoted);
	else
		m->out->failed = true;
	free(output);
	free(text);
	return *stop ? stop : stop - 1;
}

static void put_special(struct maker *m, char c, bool quoted)
{
	char number[16];
	const char *value = "";

	if (c == '?' || c == '$') {
		snprintf(number, sizeof(number), "%d", c == '?' ? m->s->status : (int)getpid());
		value = number;
	} else if (c == '0') {
		value = m->s->params->name;
	}
	put_value(m, value, quoted);
}

/* s is at "$"; returns the last character of the expansion. */
static const char *put_dollar(struct maker *m, const char *s, bool quoted)
{
	char name[64];
	const char *value;
	size_t n = 0;

	if (s[1] == '(')
		return put_substitution(m, s + 2, ')', quoted);
	if (s[1] && strchr("?$#0123456789", s[1])) {
		put_special(m, s[1], quoted);
		return s + 1;
	}
	s += 1 + (s[1] == '{');
	while ((isalnum((unsigned char)s[n]) || s[n] == '_') && n < sizeof(name) - 1) {
		name[n] = s[n];
		n++;
	}
	name[n] = '\0';
	if (!n) {
		put_quoted(m, '$');
		return s - 1;
	}
	value = setup_get(m->s, name);
	if (value)
		put_value(m, value, quoted);
	return s + n - (s[n] != '}' || s[-1] != '{');
}

static const char *put_double(struct maker *m, const char *s)
{
	m->any = true;
	for (s++; *s && *s != '"'; s++) {
		if (*s == '\\' && s[1] == '\n')
			s++;
		else if (*s == '\\' && s[1] && strchr("$`\"\\", s[1]))
			put_quoted(m, *++s);
		else if (*s == '$')
			s = put_dollar(m, s, true);
		else if (*s == '`')
			s = put_substitution(m, s + 1, '`', true);
		else
			put_quoted(m, *s);
	}
	return s;
}

static void expand(struct maker *m, const char *s)
{
	for (; *s; s++) {
		if (*s == '\'') {
			m->any = true;
			for (s++; *s && *s != '\''; s++)
				put_quoted(m, *s);
		} else if (*s == '"') {
			s = put_double(m, s);
		} else if (*s == '\\' && s[1] == '\n') {
			s++;
		} else if (*s == '\\' && s[1]) {
			put_quoted(m, *++s);
		} else if (*s == '$') {
			s = put_dollar(m, s, false);
		} else if (*s == '`') {
			s = put_substitution(m, s + 1, '`', false);
		} else {
			m->pattern |= strchr("*?[", *s) != NULL;
			put(m, *s);
		}
		if (!*s)
			break;
	}
	finish_word(m);
}

void setup_expand(struct setup *s, const char *word, struct setup_words *out)
{
	struct maker m = { .s = s, .out = out, .split = true };

	expand(&m, word);
	free(m.text);
}

char *setup_expand_one(struct setup *s, const char *word)
{
	struct setup_words out = { 0 };
	struct maker m = { .s = s, .out = &out };
	char *first;

	expand(&m, word);
	free(m.text);
	first = out.failed ? NULL : strdup(out.nr ? out.v[0] : "");
	setup_words_destroy(&out);
	return first;
}
