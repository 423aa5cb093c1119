/* SPDX-License-Identifier: MIT */
/*
 * words.c - tokens of a setup script, and the expansion of words
 *
 * Two functions loop over a word, scan_word() and expand(); they know the same quotes. scan_word()
 * refuses `...`, $(...), patterns and the like, so expand() never sees them.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "model/text_memory.h"
#include "setup/state.h"

/* ---- tokens ---- */

static void give(struct setup_cursor *c, enum setup_token token, size_t len)
{
	c->token = token;
	c->word = c->at;
	c->len = len;
	c->at += len;
}

/* The bad text begins at s. The token has as much of it as a message should show. */
static void words_refuse(struct setup_cursor *c, const char *s, const char *missing)
{
	enum { SHOWN = 40 };
	size_t n = strcspn(s, " \t\r\n;");

	c->token = SETUP_BAD;
	c->word = s;
	c->len = n > SHOWN ? SHOWN : n ? n : *s != '\0';
	c->missing = missing;
}

size_t setup_name_length(const char *s)
{
	size_t n = 0;

	while (isalnum((unsigned char)s[n]) || s[n] == '_')
		n++;
	return isdigit((unsigned char)*s) ? 0 : n;
}

/* Whether a shell sets this variable by itself, or reads by it (IFS). */
bool setup_is_shells_own(const char *name, size_t len)
{
	static const char *const names[] = {
		"_", "BASHPID", "CDPATH", "EPOCHREALTIME", "EPOCHSECONDS", "EUID", "GROUPS",
		"HOSTNAME", "HOSTTYPE", "IFS", "LINENO", "MACHTYPE", "OLDPWD", "OSTYPE", "PATH",
		"PPID", "PWD", "RANDOM", "SECONDS", "SHLVL", "SRANDOM", "UID",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strlen(names[i]) == len && !strncmp(name, names[i], len))
			return true;
	return false;
}

/*
 * s is at "$". Returns the length of $NAME, ${NAME} or of a plain dollar; 0: another expansion, or
 * one that continues in the next line.
 */
static size_t dollar_length(const char *s, bool quoted)
{
	const bool braces = s[1] == '{';
	const size_t n = setup_name_length(s + 1 + braces), len = 1 + n + 2 * braces;

	if (braces ? !n || s[2 + n] != '}' : !n && s[1] && strchr("(@*#?$!-0123456789", s[1]))
		return 0;
	if (setup_is_shells_own(s + 1 + braces, n))
		return 0;
	if (!n && !quoted && s[1] && strchr("'\"", s[1]))
		return 0;
	return s[len] == '\\' && s[len + 1] == '\n' ? 0 : len;
}

/* Whether the character at s has a special meaning to a shell, outside of quotes. */
static bool is_special(const char *s, bool first)
{
	return strchr("*?[{", *s) || (*s == '~' && (first || strchr("=:", s[-1])));
}

/* Takes the word that begins at c->at. c->line counts the newlines in it. */
static void scan_word(struct setup_cursor *c)
{
	const char *s = c->at, *opened = s;
	unsigned int opened_line = c->line;
	char quote = 0;

	for (; *s && (quote || !strchr(" \t\r\n;<>|&()", *s)); s++) {
		c->line += *s == '\n';
		if (*s == quote) {
			quote = 0;
		} else if (quote == '\'') {
			continue;
		} else if (*s == '\\' && s[1]) {
			c->line += *++s == '\n';
		} else if (*s == '$' && dollar_length(s, quote)) {
			s += dollar_length(s, quote) - 1;
		} else if (*s == '`' || *s == '$' || (!quote && is_special(s, s == c->at))) {
			words_refuse(c, s, NULL);
			return;
		} else if (!quote && (*s == '\'' || *s == '"')) {
			quote = *s;
			opened = s;
			opened_line = c->line;
		}
	}
	if (quote) {
		c->line = opened_line;
		words_refuse(c, opened, "the end of a quote");
	} else if (s == c->at || (*s && strchr("<>", *s) &&
				  c->at + strspn(c->at, "0123456789") == s)) {
		words_refuse(c, c->at, NULL);		/* & ( ), 2>FILE */
	} else {
		give(c, SETUP_WORD, (size_t)(s - c->at));
	}
}

static void skip_space(struct setup_cursor *c)
{
	for (;;) {
		c->at += strspn(c->at, " \t\r");
		if (c->at[0] == '\\' && c->at[1] == '\n') {
			c->at += 2;
			c->line++;
		} else if (*c->at == '#') {
			c->at += strcspn(c->at, "\n");
		} else {
			return;
		}
	}
}

/* Refuses a here-document with an expansion that the reader does not know. */
static void check_body(struct setup_cursor *c, unsigned int line)
{
	const char *end = c->body + c->body_len;

	for (const char *s = c->body; s < end; s++) {
		if (*s == '`' || (*s == '$' && !dollar_length(s, true))) {
			c->line = line;
			words_refuse(c, s, NULL);
			return;
		}
		s += *s == '\\';
		line += *s == '\n';
	}
}

/*
 * Before: c->at is behind the newline of the here-document's command. After: it is behind the end
 * of the here-document.
 */
static void take_body(struct setup_cursor *c)
{
	const unsigned int line = c->line - 1;

	bool joined = false;

	c->body = c->at;
	while (*c->at) {
		size_t n = strcspn(c->at, "\n"), slashes = 0;
		bool found = !joined && n == c->here_len && !strncmp(c->at, c->here, n);

		while (slashes < n && c->at[n - slashes - 1] == '\\')
			slashes++;
		joined = !c->raw && slashes % 2;
		c->body_len = (size_t)(c->at - c->body);
		c->at += n + (c->at[n] == '\n');
		c->line++;
		if (found) {
			c->here = NULL;
			if (!c->raw)
				check_body(c, line + 1);
			return;
		}
	}
	c->line = line;
	words_refuse(c, c->here, "the end of a here-document");
}

/* The word that ends a here-document is written WORD, 'WORD' or "WORD". */
void setup_begin_here(struct setup_cursor *c)
{
	const char quote = *c->word == '\'' || *c->word == '"' ? *c->word : 0;

	c->raw = quote;
	c->here = c->word + c->raw;
	c->here_len = setup_name_length(c->here);
	if (!c->here_len || c->here_len + 2 * c->raw != c->len ||
	    (quote && c->here[c->here_len] != quote))
		words_refuse(c, c->word, NULL);
}

void setup_advance(struct setup_cursor *c)
{
	static const struct {
		const char		*text;
		enum setup_token	token;
	} signs[] = {
		{ "\n", SETUP_NEWLINE }, { ";", SETUP_SEMICOLON }, { "||", SETUP_BAD },
		{ "|&", SETUP_BAD }, { "|", SETUP_PIPE }, { ">>", SETUP_APPEND },
		{ ">&", SETUP_BAD }, { ">|", SETUP_BAD }, { ">(", SETUP_BAD }, { ">", SETUP_TO },
		{ "<<<", SETUP_BAD }, { "<<-", SETUP_BAD }, { "<<", SETUP_HERE }, { "", SETUP_END },
	};

	if (c->token == SETUP_BAD)
		return;
	skip_space(c);
	for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++) {
		size_t n = strlen(signs[i].text);

		if (n ? strncmp(c->at, signs[i].text, n) : *c->at)
			continue;
		if (signs[i].token == SETUP_BAD)
			words_refuse(c, c->at, NULL);
		else
			give(c, signs[i].token, n);
		c->line += c->token == SETUP_NEWLINE;
		if (c->token == SETUP_NEWLINE && c->here)
			take_body(c);
		else if (c->token == SETUP_END && c->here)
			words_refuse(c, c->here, "the end of a here-document");
		return;
	}
	scan_word(c);
}

bool setup_at(const struct setup_cursor *c, const char *word)
{
	return c->token == SETUP_WORD && c->len == strlen(word) && !strncmp(c->word, word, c->len);
}

/* ---- lists of words; variables ---- */

void setup_words_destroy(struct setup_words *w)
{
	for (unsigned int i = 0; i < w->nr; i++)
		free(w->v[i]);
	free(w->v);
	*w = (struct setup_words){ 0 };
}

/* Adds a word, which the list then owns. NULL: there was no memory for the word. */
static bool add_word(struct setup_words *w, char *word)
{
	char **v = word ? realloc(w->v, (w->nr + 2) * sizeof(*v)) : NULL;

	if (!v) {
		w->failed = true;
		free(word);
		return false;
	}
	w->v = v;
	v[w->nr++] = word;
	v[w->nr] = NULL;
	return true;
}

/* Finds the variable's "NAME=VALUE"; NULL: not set. */
static char **find_variable(const struct setup_variables *variables, const char *name, size_t len)
{
	const struct setup_words *set = &variables->set;

	for (unsigned int i = 0; i < set->nr; i++)
		if (!strncmp(set->v[i], name, len) && set->v[i][len] == '=')
			return &set->v[i];
	return NULL;
}

bool setup_variable_set(struct setup_variables *variables, const char *name, size_t len,
			const char *value)
{
	char **v = find_variable(variables, name, len), *text;

	if (asprintf(&text, "%.*s=%s", (int)len, name, value) < 0)
		return false;
	if (!v)
		return add_word(&variables->set, text);
	free(*v);
	*v = text;
	return true;
}

/* "" if the variable is not set. */
static const char *value_of(const struct setup_variables *variables, const char *name,
			    size_t len)
{
	char **v = find_variable(variables, name, len), copy[256];
	const char *value;

	if (v)
		return *v + len + 1;
	if (variables->closed)
		return "";
	snprintf(copy, sizeof(copy), "%.*s", (int)len, name);
	value = len < sizeof(copy) ? getenv(copy) : NULL;
	return value ? value : "";
}

/* ---- expansion ---- */

/* A word that is being made. */
struct maker {
	struct setup_variables *variables;
	struct setup_words *out;
	bool		split;		/* split at blanks of unquoted variables */
	FILE		*word;		/* NULL: no text yet, not even an empty quoted one */
	char		*text;		/* text of `word`, after it is closed */
	size_t		len;
};

static void begin_word(struct maker *m)
{
	if (!m->word && !m->out->failed)
		m->word = text_memory_open(&m->text, &m->len);
	if (!m->word)
		m->out->failed = true;
}

static void put(struct maker *m, char c)
{
	begin_word(m);
	if (!m->variables->room)
		m->out->failed = true;
	else if (m->word)
		fputc(c, m->word);
	m->variables->room -= m->variables->room > 0;
}

static void finish_word(struct maker *m)
{
	if (!m->word)
		return;
	add_word(m->out, fclose(m->word) ? NULL : m->text);
	m->word = NULL;
}

/* s is behind "$". Returns the position behind the expansion. */
static const char *put_variable(struct maker *m, const char *s, bool quoted)
{
	bool braces = *s == '{';
	size_t n = setup_name_length(s + braces);

	if (!n) {
		put(m, '$');
		return s;
	}
	for (const char *v = value_of(m->variables, s + braces, n); *v && !m->out->failed; v++) {
		if (!quoted && m->split && strchr(" \t\n", *v))
			finish_word(m);
		else
			put(m, *v);
	}
	return s + n + 2 * braces;
}

/*
 * `quote` is 0, or '<' in a here-document: that is as in double quotes, but quotes are ordinary
 * characters.
 */
static void expand(struct maker *m, const char *s, const char *end, char quote)
{
	while (s < end) {
		char c = *s++;

		if (quote != '<' && c == quote) {
			quote = 0;
		} else if (!quote && (c == '\'' || c == '"')) {
			begin_word(m);
			quote = c;
		} else if (c == '\\' && quote != '\'' && s < end) {
			if (quote && !strchr(quote == '"' ? "$`\"\\\n" : "$`\\\n", *s))
				put(m, '\\');
			if (*s != '\n')
				put(m, *s);
			s++;
		} else if (c == '$' && quote != '\'') {
			s = put_variable(m, s, quote);
		} else {
			put(m, c);
		}
	}
	finish_word(m);
}

void setup_expand(struct setup_variables *variables, const char *text, size_t len,
		  struct setup_words *out)
{
	struct maker m = { .variables = variables, .out = out, .split = true };

	expand(&m, text, text + len, 0);
}

char *setup_expand_one(struct setup_variables *variables, const char *text, size_t len,
		       bool here)
{
	struct setup_words out = { 0 };
	struct maker m = { .variables = variables, .out = &out };
	char *first;

	begin_word(&m);
	expand(&m, text, text + len, here ? '<' : 0);
	first = out.nr ? out.v[0] : NULL;
	free(out.v);
	if (out.failed) {
		free(first);
		first = NULL;
	}
	return first;
}
