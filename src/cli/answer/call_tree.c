/* SPDX-License-Identifier: MIT */
/* call_tree.c - see call_tree.h */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/answer/calls.h"
#include "cli/answer/call_tree.h"
#include "session/array.h"

/* A thread and its open calls. */
struct branch {
	long		pid;
	struct call_tree_node *root;		/* where its outermost calls are */
	struct call_tree_node **open;
	const char	**names;
	size_t		depth;		/* of open calls */
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

static struct call_tree_node *branch_top(const struct branch *b)
{
	return b->depth ? b->open[b->depth - 1] : b->root;
}

static int call_tree_begins(void *arg, long pid, const char *name)
{
	struct growing *g = arg;
	struct branch *b = branch_get(g, pid);
	struct call_tree_node *top, *n;

	if (!b || array_room(&b->open, b->depth, sizeof(*b->open)) ||
	    array_room(&b->names, b->depth, sizeof(*b->names)))
		return -ENOMEM;
	top = branch_top(b);
	n = b->depth < CALL_TREE_DEPTH ? node_get(g->tree, top, name) : top;
	if (!n)
		return -ENOMEM;
	b->names[b->depth] = name;
	b->open[b->depth++] = n;
	return 0;
}

/* The end of a call whose begin is missing: what the thread did before was below it. */
static int outer_ends(struct growing *g, struct branch *b, const char *name, double ns)
{
	struct call_tree_node *root = node_make(g->tree, NULL, ""), *n;

	n = root ? node_make(g->tree, root, name) : NULL;
	if (!n)
		return -ENOMEM;
	n->calls = 1;
	n->total = ns;
	if (b->outer < CALL_TREE_DEPTH) {
		n->children = b->root->children;
		b->outer++;
	}
	b->root = root;
	return 0;
}

static int call_tree_ends(void *arg, long pid, const char *name, double ns)
{
	struct growing *g = arg;
	struct branch *b = branch_get(g, pid);
	size_t at;

	if (!b)
		return -ENOMEM;
	for (at = b->depth; at && strcmp(b->names[at - 1], name);)
		at--;
	if (!at && b->depth)
		return 0;	/* its begin is lost, within calls that go on */
	if (!at)
		return outer_ends(g, b, name, ns);
	/* The ends of those above it are lost. */
	g->tree->open += b->depth - at;
	b->depth = at - 1;
	if (b->depth >= CALL_TREE_DEPTH) {
		g->tree->deep++;
		return 0;
	}
	b->open[at - 1]->calls++;
	b->open[at - 1]->total += ns;
	return 0;
}

/* ---- the whole tree ---- */

/* Adds the calls below `from` to those below `to`. */
static int nodes_join(struct call_tree *t, struct call_tree_node *to,
		      const struct call_tree_node *from, unsigned int depth)
{
	int err = 0;

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
			err = nodes_join(out, &out->root, g.branches[i].root, 0);
		out->open += g.branches[i].depth;
		free(g.branches[i].open);
		free(g.branches[i].names);
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
