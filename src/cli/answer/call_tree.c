/* SPDX-License-Identifier: MIT */
/* call_tree.c - see call_tree.h */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cli/answer/calls.h"
#include "cli/answer/call_tree.h"
#include "session/array.h"

/* A thread and its open calls. */
struct branch {
	long		pid;
	struct call_tree_node *root;		/* where its outermost calls are */
	/* NULL: its begin is missing, and nothing is known to be below it */
	struct call_tree_node **open;
	const char	**names;	/* NULL: its begin is missing */
	double		*begins;	/* as calls_line.at */
	double		last;		/* the same, of its last line */
	size_t		depth;		/* of open calls */
	size_t		base;		/* how deep the outermost call is, if is_known */
	bool		is_known;
	unsigned int	outer;		/* calls around them whose begin is missing */
};

struct growing {
	struct call_tree	*tree;
	struct branch	*branches;
	size_t		nr;
};

/* ---- nodes ---- */

static struct call_tree_node *node_make(struct call_tree *t, struct call_tree_node *parent,
					const char *name)
{
	struct call_tree_node *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	*n = (struct call_tree_node){ .name = name, .made = t->last };
	t->last = n;
	if (parent) {
		n->next = parent->children;
		parent->children = n;
	}
	return n;
}

/* The node of this name below the parent. It comes first then: the next call finds it soon. */
static struct call_tree_node *node_get(struct call_tree *t, struct call_tree_node *parent,
				       const char *name)
{
	for (struct call_tree_node **at = &parent->children, *n; (n = *at); at = &n->next)
		if (!strcmp(n->name, name)) {
			*at = n->next;
			n->next = parent->children;
			parent->children = n;
			return n;
		}
	return node_make(t, parent, name);
}

/* Adds the calls below `from`, which is not used any more, to those below `to`. */
static int nodes_join(struct call_tree *t, struct call_tree_node *to,
		      const struct call_tree_node *from, unsigned int depth)
{
	int err = 0;

	if (!to)
		return -ENOMEM;
	if (!to->children) {
		to->children = from->children;
		return 0;
	}
	for (const struct call_tree_node *c = from->children; !err && c; c = c->next) {
		struct call_tree_node *n = depth < CALL_TREE_DEPTH ? node_get(t, to, c->name) : to;

		if (!n)
			return -ENOMEM;
		if (n != to) {
			n->calls += c->calls;
			n->total += c->total;
		}
		err = nodes_join(t, n, c, depth + 1);
	}
	return err;
}

/* ---- threads ---- */

static struct branch *branch_get(struct growing *g, long pid)
{
	struct branch *b;

	for (size_t i = 0; i < g->nr; i++)
		if (g->branches[i].pid == pid)
			return &g->branches[i];
	if (array_room(&g->branches, g->nr, sizeof(*g->branches)))
		return NULL;
	b = &g->branches[g->nr];
	*b = (struct branch){ .pid = pid, .root = node_make(g->tree, NULL, "") };
	if (!b->root)
		return NULL;
	g->nr++;
	return b;
}

/* The node of the open call that deep. What has no begin gets one that no tree has yet. */
static struct call_tree_node *branch_node(struct growing *g, struct branch *b, size_t depth)
{
	if (!depth)
		return b->root;
	if (!b->open[depth - 1])
		b->open[depth - 1] = node_make(g->tree, NULL, "");
	return b->open[depth - 1];
}

/* The node for a call of that name, which is that deep. */
static struct call_tree_node *branch_child(struct growing *g, struct branch *b, size_t depth,
					   const char *name)
{
	struct call_tree_node *top = branch_node(g, b, depth);

	return top && depth < CALL_TREE_DEPTH ? node_get(g->tree, top, name) : top;
}

static int branch_open(struct growing *g, struct branch *b, const char *name, double at)
{
	struct call_tree_node *n = NULL;

	if (array_room(&b->open, b->depth, sizeof(*b->open)) ||
	    array_room(&b->names, b->depth, sizeof(*b->names)) ||
	    array_room(&b->begins, b->depth, sizeof(*b->begins)))
		return -ENOMEM;
	if (name) {
		n = branch_child(g, b, b->depth, name);
		if (!n)
			return -ENOMEM;
	}
	b->names[b->depth] = name;
	b->begins[b->depth] = at;
	b->open[b->depth++] = n;
	return 0;
}

/* The innermost call is over, and nothing is known of it: what it called goes to its caller. */
static int branch_forget(struct growing *g, struct branch *b)
{
	struct call_tree_node *n = b->open[--b->depth];

	if (!n)
		return 0;
	if (b->depth && !b->open[b->depth - 1]) {
		b->open[b->depth - 1] = n;
		return 0;
	}
	return nodes_join(g->tree, branch_node(g, b, b->depth), n, (unsigned int)b->depth);
}

/* The innermost call is over. */
static int branch_close(struct growing *g, struct branch *b, double ns)
{
	if (!b->names[b->depth - 1])
		return branch_forget(g, b);
	b->depth--;
	if (b->depth >= CALL_TREE_DEPTH) {
		g->tree->deep++;
		return 0;
	}
	b->open[b->depth]->calls++;
	b->open[b->depth]->total += ns;
	return 0;
}

/* It was left some time before. */
static int branch_leave(struct growing *g, struct branch *b, double at)
{
	const double ns = at - b->begins[b->depth - 1];

	g->tree->left += b->names[b->depth - 1] != NULL;
	return branch_close(g, b, ns > 0 ? ns : 0);
}

/* Makes the thread that deep. What is less deep than the first call was around it. */
static int branch_settle(struct growing *g, struct branch *b, size_t depth, double at)
{
	int err = 0;

	b->last = at;
	if (!b->is_known || depth < b->base) {
		while (!err && b->depth)
			err = branch_leave(g, b, at);
		b->base = depth;
		b->is_known = true;
	}
	while (!err && b->depth > depth - b->base)
		err = branch_leave(g, b, at);
	while (!err && b->depth < depth - b->base)
		err = branch_open(g, b, NULL, at);
	return err;
}

static int call_tree_begins(void *arg, const struct calls_line *line)
{
	struct growing *g = arg;
	struct branch *b = branch_get(g, line->pid);
	const int err = b ? branch_settle(g, b, line->depth, line->at) : -ENOMEM;

	return err ? err : branch_open(g, b, line->name, line->at);
}

/* The end of a call whose begin is missing: what the thread did before was below it. */
static int outer_ends(struct growing *g, struct branch *b, const char *name, double ns)
{
	struct call_tree_node *root = node_make(g->tree, NULL, ""), *n;
	int err = 0;

	n = root ? node_make(g->tree, root, name) : NULL;
	if (!n)
		return -ENOMEM;
	n->calls = 1;
	n->total = ns;
	if (b->outer < CALL_TREE_DEPTH) {
		n->children = b->root->children;
		b->outer++;
		b->root = root;
		return 0;
	}
	/* The calls just below are part of this one, or the tree would become deeper. */
	for (const struct call_tree_node *c = b->root->children; !err && c; c = c->next) {
		g->tree->deep += c->calls;
		err = nodes_join(g->tree, n, c, 1);
	}
	b->root = root;
	return err;
}

/* The name of the innermost call, whose begin is missing. */
static int branch_name(struct growing *g, struct branch *b, const char *name)
{
	const size_t depth = b->depth - 1;
	struct call_tree_node *below = b->open[depth];

	b->open[depth] = branch_child(g, b, depth, name);
	b->names[depth] = name;
	if (!b->open[depth])
		return -ENOMEM;
	return below ? nodes_join(g->tree, b->open[depth], below, (unsigned int)b->depth) : 0;
}

static int call_tree_ends(void *arg, const struct calls_line *line)
{
	struct growing *g = arg;
	struct branch *b = branch_get(g, line->pid);
	int err;

	if (!b)
		return -ENOMEM;
	g->tree->backward += line->backward;
	if (!b->is_known || line->depth < b->base) {
		err = branch_settle(g, b, line->depth, line->at);
		return err ? err : outer_ends(g, b, line->name, line->ns);
	}
	err = branch_settle(g, b, line->depth + 1, line->at);
	if (!err && b->names[b->depth - 1] && strcmp(b->names[b->depth - 1], line->name)) {
		/* Its end is missing, and the begin of this call. */
		err = branch_leave(g, b, calls_begin(line));
		if (!err)
			err = branch_open(g, b, NULL, line->at);
	}
	if (!err && !b->names[b->depth - 1])
		err = branch_name(g, b, line->name);
	return err ? err : branch_close(g, b, line->ns);
}

/* What the thread has not returned from lasts to its last line. */
static int branch_end(struct growing *g, struct branch *b)
{
	int err = 0;

	while (!err && b->depth) {
		g->tree->open += b->names[b->depth - 1] != NULL;
		err = branch_close(g, b, b->last - b->begins[b->depth - 1]);
	}
	return err;
}

/* ---- the whole tree ---- */

/* The times of what nodes call, from the leaves on. */
static void nodes_sum(struct call_tree_node *n)
{
	n->below = 0;
	for (struct call_tree_node *c = n->children; c; c = c->next) {
		nodes_sum(c);
		n->below += c->total;
	}
	if (n->total < n->below)
		n->total = n->below;
}

int call_tree_read(char *text, struct call_tree *out)
{
	struct growing g = { .tree = out };
	const struct calls_reader reader = { .begins = call_tree_begins, .ends = call_tree_ends,
					     .arg = &g };
	int err;

	*out = (struct call_tree){ .root.name = "" };
	err = calls_read(text, &reader);
	for (size_t i = 0; i < g.nr; i++) {
		if (!err)
			err = branch_end(&g, &g.branches[i]);
		if (!err)
			err = nodes_join(out, &out->root, g.branches[i].root, 0);
		free(g.branches[i].open);
		free(g.branches[i].names);
		free(g.branches[i].begins);
	}
	free(g.branches);
	nodes_sum(&out->root);
	return err;
}

void call_tree_free(struct call_tree *t)
{
	for (struct call_tree_node *n = t->last, *before; n; n = before) {
		before = n->made;
		free(n);
	}
	t->last = NULL;
}

/* ---- the order ---- */

int call_tree_sort(struct call_tree_node *n, int (*compare)(const void *a, const void *b))
{
	struct call_tree_node **v = NULL, **at = &n->children;
	size_t nr = 0;

	for (struct call_tree_node *c = n->children; c; c = c->next) {
		if (array_room(&v, nr, sizeof(*v))) {
			free(v);
			return -ENOMEM;
		}
		v[nr++] = c;
	}
	if (nr)
		qsort(v, nr, sizeof(*v), compare);
	for (size_t i = 0; i < nr; i++, at = &(*at)->next)
		*at = v[i];
	*at = NULL;
	free(v);
	return 0;
}
