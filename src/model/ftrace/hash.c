/* SPDX-License-Identifier: MIT */
/*
 * hash.c - a set of functions: a hash table of addresses, listed in the kernel's order
 */
#include <errno.h>
#include <stdlib.h>

#include "model/ftrace/hash.h"

enum { FIRST_SLOT_BITS = 4 };

/* The multiplier of the kernel's hash_long(), because the kernel's chains are printed. */
#define GOLDEN_RATIO 0x61C8864680B583EBull

static uint32_t key_of(uint64_t ip, uint32_t bits)
{
	return bits ? (uint32_t)(ip * GOLDEN_RATIO >> (64 - bits)) : 0;
}

static uint32_t mask_of(const struct ftrace_hash *h)
{
	return (1u << h->slot_bits) - 1;
}

static struct ftrace_hash *hash_create(uint32_t slot_bits, bool ordered)
{
	struct ftrace_hash *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->slots = calloc((size_t)1 << slot_bits, sizeof(*h->slots));
	if (!h->slots) {
		free(h);
		return NULL;
	}
	h->slot_bits = slot_bits;
	h->chain_bits = FTRACE_HASH_BITS;
	h->ordered = ordered;
	return h;
}

struct ftrace_hash *ftrace_hash_create(bool ordered)
{
	return hash_create(FIRST_SLOT_BITS, ordered);
}

void ftrace_hash_destroy(struct ftrace_hash *h)
{
	if (!h)
		return;
	free(h->slots);
	free(h);
}

/* The slot with ip, or the free slot where it belongs. */
static struct ftrace_hash_slot *hash_find(const struct ftrace_hash *h, uint64_t ip)
{
	uint32_t i = key_of(ip, h->slot_bits);

	while (h->slots[i].order && h->slots[i].ip != ip)
		i = (i + 1) & mask_of(h);
	return &h->slots[i];
}

static int hash_grow(struct ftrace_hash *h)
{
	struct ftrace_hash_slot *old = h->slots;
	const uint32_t nr = 1u << h->slot_bits;

	h->slots = calloc((size_t)nr * 2, sizeof(*h->slots));
	if (!h->slots) {
		h->slots = old;
		return -ENOMEM;
	}
	h->slot_bits++;
	for (uint32_t i = 0; i < nr; i++)
		if (old[i].order)
			*hash_find(h, old[i].ip) = old[i];
	free(old);
	return 0;
}

bool ftrace_hash_has(const struct ftrace_hash *h, uint64_t ip)
{
	return h && h->count && hash_find(h, ip)->order;
}

void ftrace_hash_prefetch(const struct ftrace_hash *h, uint64_t ip)
{
	if (h && h->count)
		__builtin_prefetch(&h->slots[key_of(ip, h->slot_bits)]);
}

bool ftrace_hash_empty(const struct ftrace_hash *h)
{
	return !h || (!h->count && !h->mods);
}

int ftrace_hash_add(struct ftrace_hash *h, uint64_t ip)
{
	struct ftrace_hash_slot *slot = hash_find(h, ip);

	if (slot->order)
		return 0;
	if (h->count >= (1u << h->slot_bits) / 4 * 3) {
		if (hash_grow(h))
			return -ENOMEM;
		slot = hash_find(h, ip);
	}
	*slot = (struct ftrace_hash_slot){ ip, ++h->last_order };
	h->count++;
	return 0;
}

/*
 * An entry that was put off to a later slot by the removed one moves back, so that a search meets
 * no gap.
 */
bool ftrace_hash_remove(struct ftrace_hash *h, uint64_t ip)
{
	struct ftrace_hash_slot *gap = hash_find(h, ip);
	uint32_t at = (uint32_t)(gap - h->slots), next = at;

	if (!gap->order)
		return false;
	for (;;) {
		uint32_t home;

		next = (next + 1) & mask_of(h);
		if (!h->slots[next].order)
			break;
		home = key_of(h->slots[next].ip, h->slot_bits);
		if (((next - home) & mask_of(h)) < ((next - at) & mask_of(h)))
			continue;
		h->slots[at] = h->slots[next];
		at = next;
	}
	h->slots[at].order = 0;
	h->count--;
	return true;
}

/* The sort key: the chain and, in it, the newest first; or the address. */
struct listed {
	uint64_t	rank;
	uint64_t	ip;
};

static int hash_compare(const void *a, const void *b)
{
	const struct listed *x = a, *y = b;

	return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static uint64_t rank_of(const struct ftrace_hash *h, const struct ftrace_hash_slot *slot)
{
	return (uint64_t)key_of(slot->ip, h->chain_bits) << 32 | (UINT32_MAX - slot->order);
}

static int hash_by_address(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/*
 * Whether an array of all orders that were given is no waste. 0 is not the address of a function,
 * but a list with it may be loaded.
 */
static bool has_few_gaps(const struct ftrace_hash *h)
{
	return h->last_order < h->count * 4u && !ftrace_hash_has(h, 0);
}

/* The addresses by their orders; 0 for those that are gone. */
static uint64_t *list_by_order(const struct ftrace_hash *h)
{
	uint64_t *out = calloc((size_t)h->last_order + 1, sizeof(*out));

	for (uint32_t i = 0; out && i < 1u << h->slot_bits; i++)
		if (h->slots[i].order)
			out[h->slots[i].order - 1] = h->slots[i].ip;
	return out;
}

/*
 * Sites are matched by address, so the list is nearly always sorted already: sorting 50,000 would
 * take longer than all the rest.
 */
static uint64_t *list_by_address(const struct ftrace_hash *h)
{
	uint64_t *out = list_by_order(h);
	bool sorted = true;
	uint32_t n = 0;

	for (uint32_t i = 0; out && i < h->last_order; i++) {
		if (!out[i])
			continue;
		sorted &= !n || out[n - 1] < out[i];
		out[n++] = out[i];
	}
	if (!sorted)
		qsort(out, n, sizeof(*out), hash_by_address);
	return out;
}

/* How many entries stand before each chain. NULL: no memory */
static uint32_t *chain_starts(const struct ftrace_hash *h)
{
	const uint32_t nr = 1u << h->chain_bits;
	uint32_t *starts = calloc((size_t)nr + 1, sizeof(*starts));

	for (uint32_t i = 0; starts && i < 1u << h->slot_bits; i++)
		if (h->slots[i].order)
			starts[key_of(h->slots[i].ip, h->chain_bits) + 1]++;
	for (uint32_t c = 1; starts && c < nr; c++)
		starts[c] += starts[c - 1];
	return starts;
}

/* As the ranks sort them. */
static uint64_t *list_by_chain(const struct ftrace_hash *h)
{
	uint64_t *by_order = list_by_order(h), *out = calloc((size_t)h->count + 1, sizeof(*out));
	uint32_t *at = chain_starts(h);

	for (uint32_t i = h->last_order; by_order && out && at && i; i--)
		if (by_order[i - 1])
			out[at[key_of(by_order[i - 1], h->chain_bits)]++] = by_order[i - 1];
	if (!by_order || !at) {
		free(out);
		out = NULL;
	}
	free(by_order);
	free(at);
	return out;
}

static uint64_t *list_by_rank(const struct ftrace_hash *h, bool ordered)
{
	const uint32_t count = h ? h->count : 0;
	struct listed *all = malloc((count + 1) * sizeof(*all));
	uint64_t *out = malloc((count + 1) * sizeof(*out));
	uint32_t n = 0;

	if (!all || !out) {
		free(all);
		free(out);
		return NULL;
	}
	for (uint32_t i = 0; n < count; i++)
		if (h->slots[i].order)
			all[n++] = (struct listed){ ordered ? rank_of(h, &h->slots[i])
							    : h->slots[i].ip, h->slots[i].ip };
	qsort(all, n, sizeof(*all), hash_compare);
	for (uint32_t i = 0; i < n; i++)
		out[i] = all[i].ip;
	free(all);
	return out;
}

uint64_t *ftrace_hash_addresses(const struct ftrace_hash *h)
{
	return h && has_few_gaps(h) ? list_by_address(h) : list_by_rank(h, false);
}

uint64_t *ftrace_hash_list(const struct ftrace_hash *h)
{
	if (!h || !h->ordered)
		return ftrace_hash_addresses(h);
	return has_few_gaps(h) ? list_by_chain(h) : list_by_rank(h, true);
}

/* Numbers the entries by their places in the old chains: the last one is the newest. */
static int number_anew(struct ftrace_hash *h)
{
	uint64_t *ips = ftrace_hash_list(h);

	if (!ips)
		return -ENOMEM;
	for (uint32_t i = 0; i < h->count; i++)
		hash_find(h, ips[i])->order = i + 1;
	h->last_order = h->count;
	free(ips);
	return 0;
}

struct ftrace_hash *ftrace_hash_copy(const struct ftrace_hash *h, bool ordered)
{
	struct ftrace_hash *copy = hash_create(h ? h->slot_bits : FIRST_SLOT_BITS, ordered);
	const size_t nr = h ? (size_t)1 << h->slot_bits : 0;

	if (!copy || !h)
		return copy;
	for (size_t i = 0; i < nr; i++)
		copy->slots[i] = h->slots[i];
	copy->count = h->count;
	copy->last_order = h->last_order;
	copy->chain_bits = h->chain_bits;
	copy->mods = h->mods;
	if ((ordered || copy->last_order > UINT32_MAX / 2) && number_anew(copy)) {
		ftrace_hash_destroy(copy);
		return NULL;
	}
	copy->chain_bits = FTRACE_HASH_BITS;
	return copy;
}

int ftrace_hash_settle(struct ftrace_hash *h)
{
	uint32_t bits = 0;
	int err = h->ordered ? number_anew(h) : 0;

	while (h->count / 2 >> bits)
		bits++;
	h->chain_bits = bits < FTRACE_HASH_MAX_BITS ? bits : FTRACE_HASH_MAX_BITS;
	return err;
}
