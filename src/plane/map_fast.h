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

/* ---- Variables: M3 of map.c ---- */

/*
 * Two words. The first is value ^ MAP_VAR_UNSET, so that fresh memory is unset.
 * The two values that would look like 0 and MAP_VAR_RARE stand in the second
 * word: so they alone may be taken for one another when hits race for them.
 */
#define MAP_VAR_UNSET	0xd1342543de82ef95ull

enum { MAP_VAR_RARE = 1, MAP_VAR_BYTES = 16 };

void map_var_set_rare(uint64_t *var, uint64_t v);

static inline uint64_t *map_var(const struct map *m, uint32_t elt, uint32_t var)
{
	return (uint64_t *)(map_elt(m, elt) + m->var_base) + 2 * var;
}

static inline void map_var_set(struct map *m, uint32_t elt, uint32_t var, uint64_t v)
{
	uint64_t *at = map_var(m, elt, var), word = v ^ MAP_VAR_UNSET;

	/* Release: a block that belongs to it was published before; pairs with the acquires below. */
	if (__builtin_expect(word > MAP_VAR_RARE, 1))
		__atomic_store_n(at, word, __ATOMIC_RELEASE);
	else
		map_var_set_rare(at, v);
}

/* What the word says, which is not 0. */
static inline uint64_t map_var_value(const uint64_t *at, uint64_t word)
{
	/* Relaxed: behind the acquire of the word, which pairs with the release in map_var_set_rare(). */
	return __builtin_expect(word == MAP_VAR_RARE, 0) ? __atomic_load_n(&at[1], __ATOMIC_RELAXED) :
							   word ^ MAP_VAR_UNSET;
}

static inline bool map_var_read(const struct map *m, uint32_t elt, uint32_t var, uint64_t *v)
{
	const uint64_t *at = map_var(m, elt, var);
	/* Pairs with the release in map_var_set(), and of a rare value in map_var_set_rare(). */
	uint64_t word = __atomic_load_n(at, __ATOMIC_ACQUIRE);

	if (!word)
		return false;
	*v = map_var_value(at, word);
	return true;
}

static inline bool map_var_read_once(struct map *m, uint32_t elt, uint32_t var, uint64_t *v)
{
	uint64_t *at = map_var(m, elt, var), word;

	/* Relaxed: the exchange counts. This look keeps a reader that finds nothing from taking the cache line. */
	if (!__atomic_load_n(at, __ATOMIC_RELAXED))
		return false;
	/* M3: pairs with the releases in map_var_set() and map_var_set_rare(). */
	word = __atomic_exchange_n(at, 0, __ATOMIC_ACQUIRE);
	if (!word)
		return false;
	*v = map_var_value(at, word);
	return true;
}

#endif
