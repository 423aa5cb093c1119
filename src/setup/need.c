/* SPDX-License-Identifier: MIT */
/*
 * need.c - whether a script has something that the setup reader cannot do
 *
 * Looked at before anything is run: half a script here and half of it in a
 * shell would not have the same variables.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "setup/state.h"

/* $((...)), ${x%...}, ${x:-...}, $1 */
static bool needs_expansion(const char *word)
{
	for (; *word; word++) {
		if (*word == '\\' && word[1]) {
			word++;
		} else if (*word == '\'') {
			word += strcspn(word + 1, "'") + 1;
			if (!*word)
				break;
		} else if (*word == '$') {
			size_t n = 2;

			if (!strncmp(word, "$((", 3) || (isdigit((unsigned char)word[1]) && word[1] != '0') ||
			    (word[1] && strchr("@*#", word[1])))
				return true;
			while (word[1] == '{' && (isalnum((unsigned char)word[n]) || word[n] == '_'))
				n++;
			if (word[1] == '{' && word[n] != '}')
				return true;
		}
	}
	return false;
}

static bool is_assignment(const char *word)
{
	size_t n = strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");

	return n && word[n] == '=';
}

/* Fills *what and *line when something is found. */
static bool find_need(const struct setup_node *n, const char **what, unsigned int *line);

static bool simple_needs(const struct setup_node *n, const char **what)
{
	unsigned int i = 0;

	for (unsigned int j = 0; j < n->words.nr; j++) {
		if (needs_expansion(n->words.v[j])) {
			*what = n->words.v[j];
			return true;
		}
	}
	for (const struct setup_redirect *r = n->redirects; r; r = r->next) {
		if (r->word && needs_expansion(r->word)) {
			*what = r->word;
			return true;
		}
	}
	while (n->kind == SETUP_SIMPLE && i < n->words.nr && is_assignment(n->words.v[i]))
		i++;
	if (n->kind != SETUP_SIMPLE || i == n->words.nr || strpbrk(n->words.v[i], "$`'\"\\") ||
	    setup_knows(n->words.v[i]))
		return false;
	*what = n->words.v[i];
	return true;
}

static bool find_need(const struct setup_node *n, const char **what, unsigned int *line)
{
	for (; n; n = n->next) {
		if (simple_needs(n, what)) {
			*line = n->line;
			return true;
		}
		if (find_need(n->condition, what, line) || find_need(n->body, what, line) ||
		    find_need(n->otherwise, what, line) || find_need(n->pipe, what, line))
			return true;
	}
	return false;
}

char *setup_need(const char *text, unsigned int *line)
{
	const char *error, *what;
	struct setup_node *n = setup_parse(text, 1, &error, line);
	char *need = NULL;

	if (error)
		return strdup(error);
	if (find_need(n, &what, line))
		need = strdup(what);
	setup_node_destroy(n);
	return need;
}
