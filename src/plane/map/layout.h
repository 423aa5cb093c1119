/* SPDX-License-Identifier: MIT */
/*
 * layout.h - where the parts of a map lie; for the files of this folder
 */
#ifndef TRACEFUSE_PLANE_MAP_LAYOUT_H
#define TRACEFUSE_PLANE_MAP_LAYOUT_H

#include "plane/map/map.h"

enum {
	/* Slots below this number have an owner each; those above borrow one of the next */
	MAP_OWNERS	= 1024,
	/* Owners for these, and for signal handlers that interrupted a hit of the same thread */
	MAP_NESTED	= 64,
	MAP_COLUMNS_MAX	= 16 << 20,
};

/*
 * What a slot does to the map at the moment (insert.c). It is one word, so that a killed process
 * leaves the old state or the new one.
 */
enum map_phase { MAP_IDLE, MAP_CLAIM, MAP_UNCLAIM, MAP_REPLACE };

struct map_owner {
	_Atomic uint64_t state;		/* seq << 8 | enum map_phase */
	/* Its newest operation on the pool as others noted it: seq << 32 | next */
	_Atomic uint64_t done;
	/* The elt that it may fill; 0: the one that it has from the start */
	_Atomic uint32_t elt;
	_Atomic uint32_t holder;	/* borrowed owners: 1 + slot * levels + level, 0: free */
	uint64_t	pad;
};

/* Each record of a block begins with this header; its content follows. See block.c. */
struct block_header {
	uint32_t	elt;		/* where the record is published, or was last */
	uint32_t	owner;		/* the owner that published it */
	uint32_t	seq;		/* the seq of the owner's spare at that time */
	uint32_t	old;		/* the place of the record that it replaced */
};

/* Bytes of a block for all elts: words, spares, records. */
static inline uint64_t block_records_at(const struct map_layout *l)
{
	return ((uint64_t)l->nr_elts + l->nr_spares) * 8;
}

static inline uint64_t block_bytes(const struct map_layout *l, uint32_t size)
{
	return ((uint64_t)l->nr_elts + l->nr_spares) * (8 + sizeof(struct block_header) + size);
}

/* Places of records count from 1: elt 0's, elt 1's ..., owner 0's ... */
static inline struct block_header *block_record(struct map_view m, uint32_t block, uint32_t place)
{
	const struct map_layout *l = m.layout;

	return (struct block_header *)((char *)m.data + l->blocks[block] + block_records_at(l) +
				       (uint64_t)(place - 1) * (sizeof(struct block_header) +
								l->block_size[block]));
}

/* M4 */
static inline bool block_place_valid(const struct map_layout *l, uint32_t place)
{
	return place && place <= l->nr_elts + l->nr_spares;
}

static inline _Atomic uint64_t *block_word(struct map_view m, uint32_t block, uint32_t elt)
{
	return (_Atomic uint64_t *)((char *)m.data + m.layout->blocks[block]) + elt;
}

static inline _Atomic uint64_t *block_spare(struct map_view m, uint32_t block, uint32_t owner)
{
	return block_word(m, block, m.layout->nr_elts) + owner;
}

/*
 * Finishes what a killed owner had begun with its spares; for map_recover() and the slot's next
 * owner.
 */
void block_recover(struct map_view m, uint32_t owner);

/* insert.c: the elts 1 .. map_taken() may have been taken from the pool, and none behind them. */
uint32_t map_taken(const struct map *m, const struct map_layout *l);

/* How many owners belong to the slot with the same number. */
static inline uint32_t map_own(struct map_view m)
{
	return m.layout->nr_owners - MAP_NESTED;
}

/*
 * The owner of a slot. The index is loaded once: a program that can write the slot may change it
 * meanwhile; M4.
 */
static inline uint32_t slot_owner(const struct slot *slot)
{
	return __atomic_load_n(&slot->index, __ATOMIC_RELAXED);	/* Relaxed: set once. */
}

static inline struct map_owner *map_owner(struct map_view m, uint32_t i)
{
	return (struct map_owner *)((char *)m.data + m.layout->owners) + i;
}

static inline uint32_t map_hash_words(const uint64_t *k, uint32_t nr)
{
	uint64_t h = 0;

	for (uint32_t i = 0; i < nr; i++)
		h = map_hash_word(h, k[i]);
	return (uint32_t)(h >> 32);
}

/* M5: words of 0 at the end of a long key do not count. */
static inline uint32_t map_hash(struct map_view m, const void *key)
{
	const uint64_t *k = key;
	uint32_t nr = m.layout->key_size / 8;

	while (nr > MAP_SHORT_KEY && !k[nr - 1])
		nr--;
	return map_hash_words(k, nr);
}

/* How many words a key of the map has. */
static inline uint32_t map_key_words(struct map_view m)
{
	return m.layout->key_size / 8;
}

/*
 * Compares the first `nr` words of a key; the others are 0. Only 0s follow the 0 that ends a text,
 * so one word more shows where the text ends.
 */
static inline bool map_key_equal(struct map_view m, uint32_t elt, const void *key, uint32_t nr)
{
	const uint64_t *a = (const uint64_t *)map_elt(m, elt), *b = key;

	for (uint32_t i = 0; i < nr; i++)
		if (a[i] != b[i])
			return false;
	return nr == map_key_words(m) || !a[nr];
}

/* M4: nr_elts bounds the elt of an entry, entry_mask bounds where the search goes. */
static inline uint32_t map_lookup(struct map_view m, const void *key, uint32_t nr, uint32_t hash)
{
	uint32_t i = hash >> m.layout->hash_shift;

	for (uint32_t n = 0; n <= m.layout->entry_mask; n++, i = (i + 1) & m.layout->entry_mask) {
		/* M1: pairs with the release in map_publish(). */
		uint64_t e = atomic_load_explicit(map_entry(m, i), memory_order_acquire);

		if (!e)
			return 0;
		if (e >> 32 == hash && (uint32_t)e < m.layout->nr_elts &&
		    map_key_equal(m, (uint32_t)e, key, nr))
			return (uint32_t)e;
	}
	return 0;
}

#endif
