/* SPDX-License-Identifier: MIT */
/*
 * parse.c - the part of a shell's grammar that setup scripts use, by recursive descent
 *
 *     list    := item ((";" | newline | "&&" | "||") item)*
 *     item    := ["!"] (for | if | while | "{" list "}" | simple)
 *     for     := "for" NAME "in" word* (";" | newline) "do" list "done"
 *     if      := "if" list "then" list ("elif" list "then" list)* ["else" list] "fi"
 *     simple  := (word | [N] ("<" | ">" | ">>" | ">&") word)+ ["|" simple]
 *
 * Beyond a shell: the target of a redirection may stand in the next line.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "setup/state.h"

enum { MAX_DEPTH = 64 };

enum token { T_WORD, T_NEWLINE, T_SEMI, T_AND, T_OR, T_PIPE, T_REDIRECT, T_END, T_BAD };

struct parser {
	const char	*at;
	unsigned int	line;
	enum token	token;		/* the one in hand */
	char		*word;		/* T_WORD; owned */
	unsigned int	word_line;
	int		fd;		/* T_REDIRECT */
	char		mode;
	const char	*error;
	unsigned int	error_line;
	unsigned int	depth;
};

void setup_words_add(struct setup_words *w, char *word)
{
	char **v = realloc(w->v, (w->nr + 2) * sizeof(*v));

	if (v)
		w->v = v;
	if (!v || !word) {
		w->failed = true;
		free(word);
		return;
	}
	v[w->nr++] = word;
	v[w->nr] = NULL;
}

void setup_words_destroy(struct setup_words *w)
{
	for (unsigned int i = 0; i < w->nr; i++)
		free(w->v[i]);
	free(w->v);
	*w = (struct setup_words){ 0 };
}

void setup_node_destroy(struct setup_node *n)
{
	while (n) {
		struct setup_node *next = n->next;

		while (n->redirects) {
			struct setup_redirect *r = n->redirects;

			n->redirects = r->next;
			free(r->word);
			free(r);
		}
		setup_words_destroy(&n->words);
		free(n->variable);
		setup_node_destroy(n->pipe);
		setup_node_destroy(n->condition);
		setup_node_destroy(n->body);
		setup_node_destroy(n->otherwise);
		free(n);
		n = next;
	}
}

const char setup_no_memory[] = "out of memory";

static void fail(struct parser *p, const char *error)
{
	if (!p->error) {
		p->error = error;
		p->error_line = p->line;
	}
	p->token = T_BAD;
}

/* ---- words ---- */

static const char *skip_single(struct parser *p, const char *s)
{
	for (s++; *s && *s != '\''; s++)
		p->line += *s == '\n';
	return s;
}

/* s is at $( or at a backquote; returns its last character. */
static const char *skip_substitution(struct parser *p, const char *s)
{
	char end = *s == '`' ? '`' : ')';
	int depth = 0;

	for (s += end == ')'; *s; s++) {
		p->line += *s == '\n';
		if (*s == '\\' && s[1])
			s++;
		else if (*s == '\'' && end == ')')
			s = skip_single(p, s);
		else if (*s == '(' && end == ')')
			depth++;
		else if (*s == end && (end == '`' ? depth++ > 0 : --depth == 0))
			return s;
		if (!*s)
			break;
	}
	return s;
}

static const char *skip_double(struct parser *p, const char *s)
{
	for (s++; *s && *s != '"'; s++) {
		p->line += *s == '\n';
		if (*s == '\\' && s[1])
			p->line += *++s == '\n';
		else if ((*s == '$' && s[1] == '(') || *s == '`')
			s = skip_substitution(p, s);
		if (!*s)
			break;
	}
	return s;
}

/* Returns behind the word; quotes and dollars stay as they are for expand.c. */
static const char *skip_word(struct parser *p, const char *s)
{
	while (*s && !strchr(" \t\n;<>|&()", *s)) {
		if (*s == '\\' && s[1])
			p->line += *++s == '\n';
		else if (*s == '\'')
			s = skip_single(p, s);
		else if (*s == '"')
			s = skip_double(p, s);
		else if ((*s == '$' && s[1] == '(') || *s == '`')
			s = skip_substitution(p, s);
		if (!*s) {
			fail(p, "unexpected EOF while looking for a matching quote");
			return s;
		}
		s++;
	}
	return s;
}

/* ---- tokens ---- */

static void skip_space(struct parser *p)
{
	for (;;) {
		if (*p->at == ' ' || *p->at == '\t' || *p->at == '\r') {
			p->at++;
		} else if (p->at[0] == '\\' && p->at[1] == '\n') {
			p->at += 2;
			p->line++;
		} else if (*p->at == '#') {
			p->at += strcspn(p->at, "\n");
		} else {
			return;
		}
	}
}

static bool take_redirect(struct parser *p)
{
	const char *s = p->at;
	int fd = -1;

	if (isdigit((unsigned char)*s) && (s[1] == '>' || s[1] == '<'))
		fd = *s++ - '0';
	if (*s != '>' && *s != '<')
		return false;
	p->mode = *s++;
	if (p->mode == '>' && *s == '>') {
		p->mode = 'a';
		s++;
	} else if (p->mode == '>' && *s == '&') {
		p->mode = '&';
		s++;
	} else if (p->mode == '>' && *s == '|') {
		s++;
	}
	p->fd = fd >= 0 ? fd : p->mode != '<';
	p->at = s;
	p->token = T_REDIRECT;
	return true;
}

static void take_word(struct parser *p)
{
	const char *start = p->at;

	p->word_line = p->line;
	p->at = skip_word(p, start);
	if (p->token == T_BAD)
		return;
	if (p->at == start) {
		fail(p, *start == '&' ? "background commands need a shell: see `tracefuse shell`" : "syntax error");
		return;
	}
	p->word = strndup(start, (size_t)(p->at - start));
	p->token = T_WORD;
	if (!p->word)
		fail(p, setup_no_memory);
}

static void advance(struct parser *p)
{
	free(p->word);
	p->word = NULL;
	if (p->token == T_BAD)
		return;
	skip_space(p);
	if (!*p->at) {
		p->token = T_END;
	} else if (*p->at == '\n') {
		p->token = T_NEWLINE;
		p->at++;
		p->line++;
	} else if (*p->at == ';') {
		p->token = T_SEMI;
		p->at++;
	} else if (!strncmp(p->at, "&&", 2) || !strncmp(p->at, "||", 2)) {
		p->token = *p->at == '&' ? T_AND : T_OR;
		p->at += 2;
	} else if (*p->at == '|') {
		p->token = T_PIPE;
		p->at++;
	} else if (!take_redirect(p)) {
		take_word(p);
	}
}

static bool at_word(const struct parser *p, const char *word)
{
	return p->token == T_WORD && !strcmp(p->word, word);
}

static void expect(struct parser *p, const char *word, const char *error)
{
	if (at_word(p, word))
		advance(p);
	else
		fail(p, error);
}

static void skip_newlines(struct parser *p)
{
	while (p->token == T_NEWLINE || p->token == T_SEMI)
		advance(p);
}

/* ---- nodes ---- */

static struct setup_node *parse_list(struct parser *p);

static bool ends_list(const struct parser *p)
{
	static const char *const ends[] = { "do", "done", "then", "elif", "else", "fi", "}", NULL };

	if (p->token == T_END || p->token == T_BAD)
		return true;
	for (const char *const *e = ends; *e; e++)
		if (at_word(p, *e))
			return true;
	return false;
}

static void parse_redirect(struct parser *p, struct setup_node *n)
{
	struct setup_redirect *r = calloc(1, sizeof(*r)), **last = &n->redirects;

	if (!r) {
		fail(p, setup_no_memory);
		return;
	}
	r->fd = p->fd;
	r->mode = p->mode;
	advance(p);
	while (p->token == T_NEWLINE)
		advance(p);
	if (p->token == T_WORD) {
		r->word = p->word;
		p->word = NULL;
		advance(p);
	} else {
		fail(p, "a redirection without a target");
	}
	while (*last)
		last = &(*last)->next;
	*last = r;
}

static void add_word(struct parser *p, struct setup_node *n)
{
	setup_words_add(&n->words, p->word);
	p->word = NULL;
	if (n->words.failed)
		fail(p, setup_no_memory);
	else
		advance(p);
}

static void parse_simple(struct parser *p, struct setup_node *n)
{
	n->kind = SETUP_SIMPLE;
	n->line = p->line;
	while (p->token == T_WORD || p->token == T_REDIRECT) {
		if (p->token == T_REDIRECT) {
			parse_redirect(p, n);
			continue;
		}
		if (!n->words.nr)
			n->line = p->word_line;
		add_word(p, n);
		/* bash counts from where its second word ends. */
		if (n->words.nr == 1 && p->token == T_WORD)
			n->line = p->line;
	}
}

static struct setup_node *new_node(struct parser *p)
{
	struct setup_node *n = calloc(1, sizeof(*n));

	if (!n)
		fail(p, setup_no_memory);
	else
		n->line = p->line;
	return n;
}

static void parse_pipe(struct parser *p, struct setup_node *n)
{
	unsigned int depth = 0;

	for (; n && p->token == T_PIPE; n = n->pipe) {
		advance(p);
		while (p->token == T_NEWLINE)
			advance(p);
		n->pipe = new_node(p);
		if (n->pipe)
			parse_simple(p, n->pipe);
		if (n->pipe && !n->pipe->words.nr)
			fail(p, "syntax error");
		if (++depth > MAX_DEPTH)
			fail(p, "nested too deeply");
	}
}

static void parse_for(struct parser *p, struct setup_node *n)
{
	n->kind = SETUP_FOR;
	advance(p);
	if (p->token != T_WORD) {
		fail(p, "for needs a name");
		return;
	}
	n->variable = p->word;
	p->word = NULL;
	advance(p);
	expect(p, "in", "for NAME needs \"in\"");
	while (p->token == T_WORD) {
		add_word(p, n);
	}
	skip_newlines(p);
	expect(p, "do", "for needs \"do\"");
	n->body = parse_list(p);
	expect(p, "done", "\"done\" is missing");
}

static void parse_while(struct parser *p, struct setup_node *n)
{
	n->kind = SETUP_WHILE;
	advance(p);
	n->condition = parse_list(p);
	expect(p, "do", "while needs \"do\"");
	n->body = parse_list(p);
	expect(p, "done", "\"done\" is missing");
}

/* At "if" or "elif". */
static void parse_if(struct parser *p, struct setup_node *n)
{
	n->kind = SETUP_IF;
	advance(p);
	n->condition = parse_list(p);
	expect(p, "then", "if needs \"then\"");
	n->body = parse_list(p);
	if (at_word(p, "elif")) {
		n->otherwise = new_node(p);
		if (n->otherwise)
			parse_if(p, n->otherwise);
		return;
	}
	if (at_word(p, "else")) {
		advance(p);
		n->otherwise = parse_list(p);
	}
	expect(p, "fi", "\"fi\" is missing");
}

static void parse_group(struct parser *p, struct setup_node *n)
{
	n->kind = SETUP_GROUP;
	advance(p);
	n->body = parse_list(p);
	expect(p, "}", "\"}\" is missing");
}

static void parse_item(struct parser *p, struct setup_node *n)
{
	if (at_word(p, "!")) {
		n->negated = true;
		advance(p);
	}
	if (at_word(p, "for"))
		parse_for(p, n);
	else if (at_word(p, "if"))
		parse_if(p, n);
	else if (at_word(p, "while"))
		parse_while(p, n);
	else if (at_word(p, "{"))
		parse_group(p, n);
	else
		parse_simple(p, n);
	if (n->kind == SETUP_SIMPLE)
		parse_pipe(p, n);
	while (n->kind != SETUP_SIMPLE && p->token == T_REDIRECT)
		parse_redirect(p, n);
}

static enum setup_link take_link(struct parser *p)
{
	enum setup_link link = p->token == T_AND ? SETUP_AND : p->token == T_OR ? SETUP_OR : SETUP_ALWAYS;

	if (link != SETUP_ALWAYS) {
		advance(p);
		while (p->token == T_NEWLINE)
			advance(p);
	}
	return link;
}

static struct setup_node *parse_list(struct parser *p)
{
	struct setup_node *first = NULL, **last = &first;
	enum setup_link link = SETUP_ALWAYS;

	if (++p->depth > MAX_DEPTH)
		fail(p, "nested too deeply");
	skip_newlines(p);
	while (!ends_list(p)) {
		struct setup_node *n = new_node(p);

		if (!n)
			break;
		n->link = link;
		*last = n;
		last = &n->next;
		parse_item(p, n);
		link = take_link(p);
		if (link == SETUP_ALWAYS && p->token != T_NEWLINE && p->token != T_SEMI && !ends_list(p))
			fail(p, "syntax error");
		skip_newlines(p);
	}
	p->depth--;
	return first;
}

struct setup_node *setup_parse(const char *text, unsigned int first_line, const char **error,
			       unsigned int *error_line)
{
	struct parser p = { .at = text, .line = first_line };
	struct setup_node *n;

	advance(&p);
	n = parse_list(&p);
	if (p.token != T_END)
		fail(&p, "syntax error");
	free(p.word);
	*error = p.error;
	*error_line = p.error_line;
	if (!p.error)
		return n;
	setup_node_destroy(n);
	return NULL;
}
