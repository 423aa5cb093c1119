/* SPDX-License-Identifier: MIT */
/*
 * fast.h - what nearly every hit does with a map, inline: find a key that is there, add to a plain
 * column
 *
 * Included by map.h only.
 */
#ifndef TRACEFUSE_PLANE_MAP_FAST_H
#define TRACEFUSE_PLANE_MAP_FAST_H

#include "layout/ring.h"
#include "plane/arch/rseq_add.h"

enum { MAP_ENTRIES = (sizeof(struct map) + 63) / 64 * 64 };	/* where the table begins */

static inline _Atomic uint64_t *map_entry(struct map_view m, uint32_t i)
{
	return (_Atomic uint64_t *)((char *)m.data + MAP_ENTRIES) + i;
}

static inline char *map_elt(struct map_view m, uint32_t elt)
{
	return (char *)m.data + m.layout->elts + (uint64_t)elt * m.layout->elt_size;
}

static inline uint64_t *map_sum(struct map_view m, uint32_t column, uint32_t elt, uint32_t sum)
{
	const struct map_layout *l = m.layout;

	return (uint64_t *)((char *)m.data + l->sums + column * l->column_size) +
	       (uint64_t)elt * l->nr_sums + sum;
}

/*
 * A hash over the words of a key; the top 32 bits count. A multiplication carries upwards, so the
 * index of the table is taken from the top bits.
 */
static inline uint64_t map_hash_word(uint64_t h, uint64_t k)
{
	return ((h ^ h >> 32) ^ k) * 0x9e3779b97f4a7c15ull;
}

/* Whether the first place of the hash has an elt with the same hash. */
static inline bool map_first_place(struct map_view m, uint64_t h, uint32_t *elt)
{
	/* M1: pairs with the release in map_publish(). */
	uint64_t e = atomic_load_explicit(map_entry(m, (uint32_t)(h >> 32) >> m.layout->hash_shift),
					  memory_order_acquire);

	*elt = (uint32_t)e;
	return e >> 32 == h >> 32 && *elt - 1 < m.layout->last_elt;	/* M4 */
}

/* For a map whose keys are one word: finds the elt of a key that is in its first place. */
static inline bool map_find_quickly(struct map_view m, uint64_t key, uint32_t *elt)
{
	return __builtin_expect(map_first_place(m, map_hash_word(0, key), elt), 1) &&
	       __builtin_expect(*(const uint64_t *)map_elt(m, *elt) == key, 1);
}

/* For such a map: the elt of the key, or 0. Mostly the first place says which. */
static inline uint32_t map_find_word(struct map_view m, uint64_t key)
{
	const uint64_t h = map_hash_word(0, key);
	uint32_t elt;

	if (__builtin_expect(map_first_place(m, h, &elt), 1) &&
	    __builtin_expect(*(const uint64_t *)map_elt(m, elt) == key, 1))
		return elt;
	/* The number of an elt is never 0. */
	return elt ? map_find(m, &key) : 0;
}

/* For keys of one word or two words: a key that is there need not be stored in memory. */
static inline uint32_t map_insert_word(struct map_view m, const struct slot *slot, uint64_t key)
{
	uint32_t elt;

	return map_find_quickly(m, key, &elt) ? elt : map_insert_word_any(m, slot, key);
}

static inline uint32_t map_insert_pair(struct map_view m, const struct slot *slot, uint64_t first,
				       uint64_t second)
{
	const uint64_t *at;
	uint32_t elt;

	if (__builtin_expect(
		    map_first_place(m, map_hash_word(map_hash_word(0, first), second), &elt), 1)) {
		at = (const uint64_t *)map_elt(m, elt);
		if (__builtin_expect(at[0] == first && at[1] == second, 1))
			return elt;
	}
	return map_insert_pair_any(m, slot, first, second);
}

/* For a text of up to MAP_SHORT_KEY words whose map has longer keys. */
static inline bool map_find_short(struct map_view m, uint64_t first, uint64_t second, uint32_t *elt)
{
	const uint64_t *at;

	if (__builtin_expect(
		    !map_first_place(m, map_hash_word(map_hash_word(0, first), second), elt), 0))
		return false;
	at = (const uint64_t *)map_elt(m, *elt);
	return __builtin_expect(at[0] == first && at[1] == second && !at[MAP_SHORT_KEY], 1);
}

static inline uint32_t map_insert(struct map_view m, const struct slot *slot, const void *key)
{
	const uint64_t *k = (const uint64_t *)key;

	return m.layout->key_size == 8 ? map_insert_word(m, slot, k[0])
				       : map_insert_any(m, slot, key);
}

static inline void map_add(struct map_view m, uint32_t elt, uint32_t sum, uint64_t v, uint32_t set)
{
	if (set >= RING_SET_KEPT ||
	    !rseq_add(map_sum(m, 0, elt, sum), m.layout->column_size, m.layout->nr_plain, v))
		map_add_any(m, elt, sum, v);
}

/* ---- Variables: M3 of map.c ---- */

/*
 * A variable is two words. The first is value ^ MAP_VAR_UNSET, so that new memory is unset. Two
 * values would give 0 and MAP_VAR_RARE: these are stored in the second word. Only these two may be
 * mistaken for each other when hits race to store them.
 */
#define MAP_VAR_UNSET	0xd1342543de82ef95ull

enum { MAP_VAR_RARE = 1, MAP_VAR_BYTES = 16 };

void map_var_set_rare(uint64_t *var, uint64_t v);

static inline uint64_t *map_var(struct map_view m, uint32_t elt, uint32_t var)
{
	return (uint64_t *)(map_elt(m, elt) + m.layout->var_base) + 2 * var;
}

static inline void map_var_set(struct map_view m, uint32_t elt, uint32_t var, uint64_t v)
{
	uint64_t *at = map_var(m, elt, var), word = v ^ MAP_VAR_UNSET;

	/*
	 * Release: a block that belongs to the value was published before. Pairs with the acquires
	 * in map_var_read() and map_var_read_once().
	 */
	if (__builtin_expect(word > MAP_VAR_RARE, 1))
		__atomic_store_n(at, word, __ATOMIC_RELEASE);
	else
		map_var_set_rare(at, v);
}

/* The value that a word stands for; the word is not 0. */
static inline uint64_t map_var_value(const uint64_t *at, uint64_t word)
{
	/*
	 * Relaxed: loaded after the acquire of the word, which pairs with the release in
	 * map_var_set_rare().
	 */
	return __builtin_expect(word == MAP_VAR_RARE, 0) ? __atomic_load_n(&at[1], __ATOMIC_RELAXED)
							 : word ^ MAP_VAR_UNSET;
}

static inline bool map_var_read(struct map_view m, uint32_t elt, uint32_t var, uint64_t *v)
{
	const uint64_t *at = map_var(m, elt, var);
	/*
	 * Acquire: pairs with the release in map_var_set(), or for a rare value in
	 * map_var_set_rare().
	 */
	uint64_t word = __atomic_load_n(at, __ATOMIC_ACQUIRE);

	if (!word)
		return false;
	*v = map_var_value(at, word);
	return true;
}

static inline bool map_var_read_once(struct map_view m, uint32_t elt, uint32_t var, uint64_t *v)
{
	uint64_t *at = map_var(m, elt, var), word;

	/*
	 * Relaxed: the exchange decides. This load keeps a reader that finds nothing from taking
	 * the cache line.
	 */
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
