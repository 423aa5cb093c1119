/* SPDX-License-Identifier: MIT */
/*
 * lookup.h - a hash table of nodes that lie in other structures
 *
 * It finds the nodes that were added with a hash; the caller compares what they belong to. Nodes of
 * the same hash are found in the order in which they were added. Adding cannot fail: without memory
 * the chains become longer.
 */
#ifndef TRACEFUSE_MODEL_LOOKUP_H
#define TRACEFUSE_MODEL_LOOKUP_H

#include <stddef.h>
#include <stdint.h>
#include "model/list.h"

struct lookup_node {
	struct list_head	chain;
	uint64_t		hash;
};

struct lookup {
	struct list_head	*chains;	/* NULL: `one` is the only chain */
	size_t			nr_chains;	/* a power of 2 */
	size_t			nr;
	struct list_head	one;
};

/* The table must not be moved after that. */
void lookup_init(struct lookup *t);
/* Frees the table's memory. Nodes may still be in it; they are not looked at. */
void lookup_free(struct lookup *t);

void lookup_add(struct lookup *t, struct lookup_node *n, uint64_t hash);
void lookup_remove(struct lookup *t, struct lookup_node *n);

/* The first node with that hash, and the next one. NULL: there is none. */
struct lookup_node *lookup_first(const struct lookup *t, uint64_t hash);
struct lookup_node *lookup_next(const struct lookup *t, const struct lookup_node *n);

/* The hash of `len` bytes that come behind what has the hash `before` (0: nothing). */
uint64_t lookup_hash(uint64_t before, const void *bytes, size_t len);

#define lookup_each(pos, table, hash_, type, member)				\
	for (struct lookup_node *node_ = lookup_first(table, hash_);			\
	     node_ && ((pos) = list_entry(node_, type, member), true);			\
	     node_ = lookup_next(table, node_))

#endif
