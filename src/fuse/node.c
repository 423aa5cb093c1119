/* SPDX-License-Identifier: MIT */
/*
 * node.c - the numbers by which the kernel knows files: a node is a path
 *
 * A path has one node as long as the kernel remembers it. With a second node the kernel would think
 * that the directory is another one, as it is after the first was removed.
 */
#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "fuse/state.h"

static int compare_nodes(const void *a, const void *b)
{
	return strcmp(((const struct node *)a)->path, ((const struct node *)b)->path);
}

struct node *node_of(struct mount_point *m, fuse_ino_t ino)
{
	return ino == FUSE_ROOT_ID ? &m->root : (struct node *)(uintptr_t)ino;
}

static struct node *node_create(struct mount_point *m, const char *path)
{
	struct node *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	list_init(&n->others);
	n->path = strdup(path);
	if (!n->path || !tsearch(n, &m->nodes, compare_nodes)) {
		free(n->path);
		free(n);
		return NULL;
	}
	return n;
}

struct node *node_get(struct mount_point *m, const char *path)
{
	struct node key = { .path = (char *)path };
	struct node **found = tfind(&key, &m->nodes, compare_nodes);
	struct node *n = found ? *found : node_create(m, path);

	if (n)
		n->lookups++;
	return n;
}

static void node_leave_tree(struct mount_point *m, struct node *n)
{
	n->alone = true;
	list_add_tail(&n->others, &m->alone);
}

struct node *node_get_raw(struct mount_point *m, const char *path)
{
	struct node *n = calloc(1, sizeof(*n));

	if (n)
		n->path = strdup(path);
	if (!n || !n->path) {
		free(n);
		return NULL;
	}
	node_leave_tree(m, n);
	n->lookups = 1;
	return n;
}

static void node_free(void *node)
{
	struct node *n = node;

	list_del(&n->others);
	free(n->path);
	free(n);
}

void node_put(struct mount_point *m, struct node *n, uint64_t lookups)
{
	if (n == &m->root)
		return;
	n->lookups -= lookups < n->lookups ? lookups : n->lookups;
	if (n->lookups)
		return;
	if (!n->alone)
		tdelete(n, &m->nodes, compare_nodes);
	node_free(n);
}

struct node_list {
	const char	*dir;
	size_t		len;
	struct node	*first;
};

static void list_if_below(const void *at, VISIT visit, void *arg)
{
	struct node *n = *(struct node *const *)at;
	struct node_list *list = arg;

	if ((visit != postorder && visit != leaf) || strncmp(n->path, list->dir, list->len) ||
	    (n->path[list->len] && n->path[list->len] != '/'))
		return;
	n->next = list->first;
	list->first = n;
}

void nodes_forget(struct mount_point *m, const char *dir, enum node_mark mark)
{
	struct node_list list = { .dir = dir, .len = strlen(dir) };

	twalk_r(m->nodes, list_if_below, &list);
	for (struct node *n = list.first; n; n = n->next) {
		tdelete(n, &m->nodes, compare_nodes);
		node_leave_tree(m, n);
		/* No file of the tree has this path, nor one below it. */
		n->path[0] = (char)mark;
		if (mark == NODE_STALE)
			fuse_lowlevel_notify_inval_inode(m->se, (uintptr_t)n, -1, 0);
	}
}

bool node_is_stale(const struct node *n)
{
	return n->path[0] == NODE_STALE;
}

int node_error(const struct node *n, int err)
{
	return node_is_stale(n) && err == ENOENT ? ESTALE : err;
}

void nodes_destroy(struct mount_point *m)
{
	tdestroy(m->nodes, node_free);
	m->nodes = NULL;
	while (!list_empty(&m->alone))
		node_free(list_entry(m->alone.next, struct node, others));
}
