/* SPDX-License-Identifier: MIT */
/*
 * map_layout.h - where the parts of a map lie; for map.c, map_insert.c and map_read.c
 */
#ifndef TRACEFUSE_PLANE_MAP_LAYOUT_H
#define TRACEFUSE_PLANE_MAP_LAYOUT_H

#include "plane/map.h"

enum {
	MAP_NESTED	= 64,	/* owners for inserts inside an insert of the same thread */
	MAP_COLUMNS_MAX	= 16 << 20,
};

/*
 * What a slot is doing to the map (map_insert.c). One word, so that a process
 * that is killed leaves either the old or the new state.
 */
enum map_phase { MAP_IDLE, MAP_CLAIM, MAP_UNCLAIM, MAP_REPLACE };

struct map_owner {
	_Atomic uint64_t state;		/* seq << 8 | enum map_phase */
	_Atomic uint64_t done;		/* its newest operation on the pool as others saw it: seq << 32 | next */
	_Atomic uint32_t elt;		/* the elt that it may fill; 0: the one that it was born with */
	_Atomic uint32_t holder;	/* nested owners: 1 + slot * levels + level, 0: free */
	uint64_t	pad;
};

static inline struct map_owner *map_owner(const struct map *m, uint32_t i)
{
	return (struct map_owner *)((char *)m + m->owners) + i;
}

static inline uint32_t map_hash(const struct map *m, const void *key)
{
	const uint64_t *k = key;
	uint64_t h = 0;

	for (uint32_t i = 0; i < m->key_size / 8; i++)
		h = map_hash_word(h, k[i]);
	return (uint32_t)(h >> 32);
}

static inline bool map_key_equal(const struct map *m, uint32_t elt, const void *key)
{
	const uint64_t *a = (const uint64_t *)map_elt(m, elt), *b = key;

	if (a[0] != b[0])
		return false;
	for (uint32_t i = 1; i < m->key_size / 8; i++)
		if (a[i] != b[i])
			return false;
	return true;
}

/* Entries are looked at with care (R2): the server reads here what any process can write. */
static inline uint32_t map_lookup(const struct map *m, const void *key, uint32_t hash)
{
	uint32_t i = hash >> m->hash_shift;

	for (uint32_t n = 0; n <= m->entry_mask; n++, i = (i + 1) & m->entry_mask) {
		/* M1: pairs with the release in map_publish(). */
		uint64_t e = atomic_load_explicit(map_entry(m, i), memory_order_acquire);

		if (!e)
			return 0;
		if (e >> 32 == hash && (uint32_t)e < m->nr_elts && map_key_equal(m, (uint32_t)e, key))
			return (uint32_t)e;
	}
	return 0;
}

#endif
