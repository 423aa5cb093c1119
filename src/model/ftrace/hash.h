/* SPDX-License-Identifier: MIT */
/*
 * hash.h - a set of functions, by their addresses
 *
 * What set_ftrace_filter and its like hold. A file is opened on a copy, which
 * takes the place of the old set when the file is closed. NULL is the empty set.
 *
 *     slots[]  open addressing, linear:  { ip, order }   order 0: free
 *
 * Some files print a set as the kernel's chained hash table happens to hold it:
 * chain by chain, the newest of a chain first, and every copy turns the chains
 * round. An ordered set keeps just that: the number of the chain follows from the
 * address, `order` grows with each addition, a copy numbers anew.
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
	uint32_t	chain_bits;	/* of the kernel's table */
	bool		ordered;
	/* functions of DSOs that are not there are chosen too: not empty */
	bool		mods;
};

struct ftrace_hash *ftrace_hash_create(bool ordered);
/* Of NULL: an empty one. NULL: out of memory. */
struct ftrace_hash *ftrace_hash_copy(const struct ftrace_hash *h, bool ordered);
void ftrace_hash_destroy(struct ftrace_hash *h);

/* 0 (also when it is there), -ENOMEM */
int ftrace_hash_add(struct ftrace_hash *h, uint64_t ip);
/* Whether it was there. */
bool ftrace_hash_remove(struct ftrace_hash *h, uint64_t ip);
bool ftrace_hash_has(const struct ftrace_hash *h, uint64_t ip);
bool ftrace_hash_empty(const struct ftrace_hash *h);

/* The set is about to be put in place: chains as the kernel makes them of that many. 0, -ENOMEM */
int ftrace_hash_settle(struct ftrace_hash *h);
/* The addresses, ordered as above or by address; free it. NULL: out of memory. */
uint64_t *ftrace_hash_list(const struct ftrace_hash *h);

#endif
