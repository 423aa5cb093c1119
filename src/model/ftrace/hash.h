/* SPDX-License-Identifier: MIT */
/*
 * hash.h - a set of functions, by their addresses
 *
 * The content of set_ftrace_filter and its like. A file is opened on a copy, which replaces the old
 * set when the file is closed. NULL is the empty set.
 *
 *     slots[]  open addressing, linear:  { ip, order }   order 0: free
 *
 * Some files print a set in the order of the kernel's chained hash table: chain by chain, the
 * newest of a chain first. Every copy reverses the chains. An ordered set has that order: the
 * number of the chain follows from the address, `order` grows with each addition, and a copy
 * numbers its entries again.
 */
#ifndef TRACEFUSE_MODEL_FTRACE_HASH_H
#define TRACEFUSE_MODEL_FTRACE_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FTRACE_HASH_BITS = 10, FTRACE_HASH_MAX_BITS = 12 };

struct ftrace_hash_slot {
	uint64_t	ip;
	uint32_t	order;
};

struct ftrace_hash {
	struct ftrace_hash_slot *slots;
	uint32_t	slot_bits;
	uint32_t	count;
	uint32_t	last_order;
	uint32_t	chain_bits;	/* that of the kernel's table */
	bool		ordered;
	/* Functions of DSOs that are not there are chosen, too: the set is not empty */
	bool		mods;
};

struct ftrace_hash *ftrace_hash_create(bool ordered);
/* A copy; of NULL, an empty set. NULL: out of memory. */
struct ftrace_hash *ftrace_hash_copy(const struct ftrace_hash *h, bool ordered);
void ftrace_hash_destroy(struct ftrace_hash *h);

/* 0 (also if it is there already), -ENOMEM */
int ftrace_hash_add(struct ftrace_hash *h, uint64_t ip);
/* Returns whether it was there. */
bool ftrace_hash_remove(struct ftrace_hash *h, uint64_t ip);
bool ftrace_hash_has(const struct ftrace_hash *h, uint64_t ip);
/* It is going to be asked for this one. A large set is not in the cache. */
void ftrace_hash_prefetch(const struct ftrace_hash *h, uint64_t ip);
bool ftrace_hash_empty(const struct ftrace_hash *h);

/*
 * The set is about to be put in place: it gets as many chains as the kernel makes for its size. 0,
 * -ENOMEM
 */
int ftrace_hash_settle(struct ftrace_hash *h);
/* The addresses in the order above, or by address; the caller frees them. NULL: out of memory. */
uint64_t *ftrace_hash_list(const struct ftrace_hash *h);
/* The same, sorted by address. */
uint64_t *ftrace_hash_addresses(const struct ftrace_hash *h);

#endif
