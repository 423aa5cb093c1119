/* SPDX-License-Identifier: MIT */
/*
 * map_fast.h - what nearly every hit needs of a map, inline: a key that is there, a plain add
 *
 * Included by map.h only.
 */
#ifndef TRACEFUSE_PLANE_MAP_FAST_H
#define TRACEFUSE_PLANE_MAP_FAST_H

#include "plane/arch/rseq_add.h"

enum { MAP_ENTRIES = (sizeof(struct map) + 63) / 64 * 64 };	/* where the table begins */

static inline _Atomic uint64_t *map_entry(const struct map *m, uint32_t i)
{
	return (_Atomic uint64_t *)((char *)m + MAP_ENTRIES) + i;
}

static inline char *map_elt(const struct map *m, uint32_t elt)
{
	return (char *)m + m->elts + (uint64_t)elt * m->elt_size;
}

static inline uint64_t *map_sum(const struct map *m, uint32_t column, uint32_t elt, uint32_t sum)
{
	return (uint64_t *)((char *)m + m->sums + column * m->column_size) + (uint64_t)elt * m->nr_sums + sum;
}

/*
 * Hash over the words of a key, the top 32 bits of this. Multiplying mixes
 * upwards, so the table's index is taken from the top bits.
 */
static inline uint64_t map_hash_word(uint64_t h, uint64_t k)
{
	return ((h ^ h >> 32) ^ k) * 0x9e3779b97f4a7c15ull;
}

/* The elt in the first place that the hash names, when its hash is the same; else 0. */
static inline uint32_t map_first_place(const struct map *m, uint64_t h)
{
	/* M1: pairs with the release in map_publish(). */
	uint64_t e = atomic_load_explicit(map_entry(m, (uint32_t)(h >> 32) >> m->hash_shift), memory_order_acquire);

	return e >> 32 == h >> 32 && (uint32_t)e < m->nr_elts ? (uint32_t)e : 0;
}

static inline uint32_t map_insert(struct map *m, const struct slot *slot, const void *key)
{
	const uint64_t *k = (const uint64_t *)key, *at;
	uint32_t elt;

	if (__builtin_expect(m->key_size == 8, 1)) {
		elt = map_first_place(m, map_hash_word(0, k[0]));
		at = (const uint64_t *)map_elt(m, elt);
		if (__builtin_expect(elt && at[0] == k[0], 1))
			return elt;
	}
	return map_insert_any(m, slot, key);
}

static inline void map_add(struct map *m, uint32_t elt, uint32_t sum, uint64_t v, uint32_t cpu, uint32_t set)
{
	if (set || !rseq_add(map_sum(m, 0, elt, sum), m->column_size, m->nr_plain, v))
		map_add_any(m, elt, sum, v);
}

#endif
