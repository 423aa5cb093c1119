/* SPDX-License-Identifier: MIT */
/* parse.c - parses terms, parentheses, !, && and || into a tree */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/filter/tree.h"
#include "model/text.h"

/* An open parenthesis. The outermost level is the whole text. */
struct level {
	struct filter_node *either;	/* the part before the last || */
	struct filter_node *both;	/* the part before the last &&, or the last operand */
	bool		inverted;	/* a ! before the parenthesis */
};

int filter_fail(struct filter_parser *p, enum filter_error error, const char *at)
{
	p->error = error;
	p->error_pos = (unsigned int)(at - p->text) + 1;
	return -EINVAL;
}

/* The same with a position that is already right. */
static int fail_at(struct filter_parser *p, enum filter_error error, size_t pos, int err)
{
	p->error = error;
	p->error_pos = (unsigned int)pos;
	return err;
}

/* Finds the parenthesis that is not closed, going back from the end. */
static size_t find_bad_open(const char *text, size_t end)
{
	int depth = 0;
	char quote = 0;

	for (size_t i = end - 1; i > 0; i--) {
		char c = text[i];

		if (quote) {
			if (c == quote)
				quote = 0;
		} else if (c == '\'' || c == '"') {
			quote = c;
		} else if (c == ')') {
			depth++;
		} else if (c == '(' && depth-- == 0) {
			return i;
		}
	}
	return 0;
}

struct extent {
	unsigned int	terms, depth;
};

/*
 * Counts terms and depth, and finds unbalanced quotes and parentheses. These errors come before any
 * error in a term.
 */
static int measure(struct filter_parser *p, struct extent *out)
{
	const char *text = p->text;
	unsigned int depth = 1;
	bool in_term = false;
	size_t i, quoted = 0;
	char quote = 0;

	*out = (struct extent){ .depth = 1 };
	for (i = 0; text[i]; i++) {
		char c = text[i];

		if (text_is_space(c))
			continue;
		if (quote) {
			if (c == quote)
				quote = 0;
			continue;
		}
		if ((c == '|' || c == '&') && text[i + 1] == c) {
			in_term = false;
			continue;
		}
		if (c == '(' || c == ')') {
			in_term = false;
			if (c == ')' && depth == 1)
				return fail_at(p, FILTER_TOO_MANY_CLOSE, i, -1);
			depth += c == '(' ? 1 : -1u;
			if (depth > out->depth)
				out->depth = depth;
			continue;
		}
		if (c == '\'' || c == '"') {
			quote = c;
			quoted = i;
		}
		out->terms += !in_term;
		in_term = true;
	}
	if (quote)
		return fail_at(p, FILTER_MISSING_QUOTE, quoted, -3);
	if (depth != 1)
		return fail_at(p, FILTER_TOO_MANY_OPEN, find_bad_open(text, i), -2);
	return 0;
}

static struct filter_node *filter_parse_join(struct filter_parser *p, enum node_kind kind,
					     struct filter_node *left, struct filter_node *right)
{
	struct filter_node *n;

	if (!left)
		return right;
	n = &p->nodes[p->nr_nodes++];
	*n = (struct filter_node){ .kind = kind, .first = left->first, .left = left,
		.right = right };
	return n;
}

static void add_operand(struct filter_parser *p, struct level *top, struct filter_node *n)
{
	top->both = filter_parse_join(p, NODE_AND, top->both, n);
}

static void end_alternative(struct filter_parser *p, struct level *top)
{
	top->either = filter_parse_join(p, NODE_OR, top->either, top->both);
	top->both = NULL;
}

/* A ! that is not part of an operator. */
static bool is_not(const char *s)
{
	return s[0] == '!' && s[1] != '=' && s[1] != '~';
}

/* Parses parentheses and ! up to a term, and the term. 1: the text ends here. */
static int parse_operand(struct filter_parser *p, const char **s, struct level **top,
			 const struct level *last)
{
	struct filter_node *n;
	bool inverted = false;
	int err;

	for (;; (*s)++) {
		*s = text_skip_spaces(*s);
		if (!**s)
			return 1;
		if (**s == '(') {
			if (*top == last)
				return -EINVAL;
			*++*top = (struct level){ .inverted = inverted };
			inverted = false;
		} else if (is_not(*s)) {
			inverted = !inverted;
		} else {
			break;
		}
	}
	if (p->nr_terms >= p->max_terms)
		return fail_at(p, FILTER_TOO_MANY_PREDS, (size_t)(*s - p->text),
			       p->nr_terms ? -EPERM : -ENOMEM);
	n = &p->nodes[p->nr_nodes++];
	*n = (struct filter_node){ .kind = NODE_TERM, .inverted = inverted,
		.first = (uint16_t)p->nr_terms++ };
	err = filter_parse_term(p, s, &n->op);
	if (!err)
		add_operand(p, *top, n);
	return err;
}

/* Parses closing parentheses up to && or ||. 1: the text ends here. */
static int parse_operator(struct filter_parser *p, const char **s, struct level **top,
			  const struct level *first)
{
	struct filter_node *n;

	for (;; (*s)++) {
		*s = text_skip_spaces(*s);
		if (!**s)
			return 1;
		if (**s != ')')
			break;
		if (*top == first)
			return fail_at(p, FILTER_TOO_MANY_CLOSE, (size_t)(*s - p->text) + 1,
				       -EPERM);
		end_alternative(p, *top);
		n = (*top)->either;
		n->inverted ^= (*top)->inverted;
		--*top;
		add_operand(p, *top, n);
	}
	if ((**s != '&' && **s != '|') || (*s)[1] != **s)
		return fail_at(p, FILTER_TOO_MANY_PREDS, (size_t)(*s - p->text), -EPERM);
	if (**s == '|')
		end_alternative(p, *top);
	*s += 2;
	return 0;
}

static int parse_levels(struct filter_parser *p, struct level *levels, unsigned int depth,
			struct filter_node **root)
{
	struct level *top = levels;
	const char *s = p->text;
	int err;

	do {
		err = parse_operand(p, &s, &top, &levels[depth - 1]);
		if (err == 1)
			return fail_at(p, p->nr_terms ? FILTER_INVALID_FILTER : FILTER_NO_FILTER,
				       strlen(p->text), -EINVAL);
		if (!err)
			err = parse_operator(p, &s, &top, levels);
	} while (!err);
	if (err < 0)
		return err;
	if (top != levels)
		return fail_at(p, FILTER_TOO_MANY_OPEN, strlen(p->text), -EPERM);
	end_alternative(p, top);
	*root = top->either;
	return 0;
}

static int parse_text(struct filter_parser *p, struct filter *out)
{
	struct filter_node *root;
	struct extent extent;
	struct level *levels;
	int err = measure(p, &extent);

	if (err)
		return err;
	if (!extent.terms)
		return -EINVAL;
	p->max_terms = extent.terms;
	p->nodes = calloc(2 * extent.terms, sizeof(*p->nodes));
	levels = calloc(extent.depth, sizeof(*levels));
	err = p->nodes && levels ? parse_levels(p, levels, extent.depth, &root) : -ENOMEM;
	if (!err)
		err = filter_emit(p, root, out);
	free(levels);
	return err;
}

int filter_parse(struct event *e, const char *text, struct errlog *log, struct filter **out)
{
	struct filter_parser p = { .event = e, .text = text };
	struct filter *f;
	int err;

	*out = NULL;
	err = filter_make(text, &f);
	if (err)
		return err;
	err = parse_text(&p, f);
	if (err == -ENOMEM) {	/* the text may be correct */
		filter_destroy(f);
		f = NULL;
	} else if (err) {
		filter_note_error(f, p.error, p.error_pos, log);
	}
	free(p.nodes);
	free(p.pool);
	*out = f;
	return err;
}
