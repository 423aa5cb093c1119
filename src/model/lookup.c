/* SPDX-License-Identifier: MIT */
/*
 * lookup.c - a hash table of nodes that lie in other structures
 */
#include <stdlib.h>

#include "model/lookup.h"

enum { FIRST_CHAINS = 64 };

void lookup_init(struct lookup *t)
{
	*t = (struct lookup){ .nr_chains = 1 };
	list_init(&t->one);
}

void lookup_free(struct lookup *t)
{
	free(t->chains);
	lookup_init(t);
}

static struct list_head *chain_of(const struct lookup *t, uint64_t hash)
{
	return t->chains ? &t->chains[hash & (t->nr_chains - 1)] : (struct list_head *)&t->one;
}

static void chain_move(struct lookup *t, struct list_head *chain)
{
	struct lookup_node *n, *next;

	list_each_safe(n, next, chain, chain) {
		list_del(&n->chain);
		list_add_tail(&n->chain, chain_of(t, n->hash));
	}
}

static void lookup_grow(struct lookup *t)
{
	const size_t nr = t->chains ? t->nr_chains * 2 : FIRST_CHAINS, nr_old = t->nr_chains;
	struct list_head *chains = malloc(nr * sizeof(*chains)), *old = t->chains;

	if (!chains)
		return;
	for (size_t i = 0; i < nr; i++)
		list_init(&chains[i]);
	t->chains = chains;
	t->nr_chains = nr;
	for (size_t i = 0; i < nr_old; i++)
		chain_move(t, old ? &old[i] : &t->one);
	free(old);
}

void lookup_add(struct lookup *t, struct lookup_node *n, uint64_t hash)
{
	if (t->nr >= t->nr_chains)
		lookup_grow(t);
	n->hash = hash;
	list_add_tail(&n->chain, chain_of(t, hash));
	t->nr++;
}

void lookup_remove(struct lookup *t, struct lookup_node *n)
{
	list_del(&n->chain);
	t->nr--;
}

static struct lookup_node *from(const struct list_head *at, const struct list_head *chain,
			       uint64_t hash)
{
	for (; at != chain; at = at->next) {
		struct lookup_node *n = list_entry(at, struct lookup_node, chain);

		if (n->hash == hash)
			return n;
	}
	return NULL;
}

struct lookup_node *lookup_first(const struct lookup *t, uint64_t hash)
{
	const struct list_head *chain = chain_of(t, hash);

	return from(chain->next, chain, hash);
}

struct lookup_node *lookup_next(const struct lookup *t, const struct lookup_node *n)
{
	return from(n->chain.next, chain_of(t, n->hash), n->hash);
}

/* FNV-1a, and then all bits take part in the low ones. */
uint64_t lookup_hash(uint64_t before, const void *bytes, size_t len)
{
	uint64_t hash = before ^ 0xcbf29ce484222325;
	const unsigned char *at = bytes;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ at[i]) * 0x100000001b3;
	return hash ^ hash >> 32;
}
