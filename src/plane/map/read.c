/* SPDX-License-Identifier: MIT */
/*
 * read.c - how the server reads a map whose memory others can write (R2)
 *
 * The server computes the layout from the shape that it gave the map itself. It reads only entries
 * and sums of the map, and checks each index.
 */
#include <errno.h>
#include "plane/map/layout.h"

enum { SUMS_MAX = 64, BLOCK_TRIES = 1000 };

static uint64_t sum_of(const char *base, const struct map_layout *own, uint32_t elt, uint32_t sum)
{
	uint64_t v = 0;

	for (uint32_t c = 0; c < own->nr_columns; c++) {
		const char *column = base + own->sums + c * own->column_size;

		/* Relaxed: a sum may miss what is added meanwhile, but no word is torn. */
		v += __atomic_load_n((const uint64_t *)column + (uint64_t)elt * own->nr_sums + sum,
				     __ATOMIC_RELAXED);
	}
	return v;
}

int map_each(const struct map *m, size_t size, const struct map_shape *shape,
	     int (*fn)(void *arg, uint32_t elt, const void *key, const uint64_t *sums), void *arg)
{
	const char *base = (const char *)m;
	uint64_t sums[SUMS_MAX];
	struct map_layout own;
	int ret = 0;

	map_lay_out(&own, shape);
	if (shape->nr_sums > SUMS_MAX || own.size > size)
		return -EPROTO;
	for (uint32_t i = 0; !ret && i <= own.entry_mask; i++) {
		const uint64_t *entries = (const uint64_t *)(base + MAP_ENTRIES);
		/* M1: pairs with the release in map_publish(). */
		uint32_t elt = (uint32_t)__atomic_load_n(&entries[i], __ATOMIC_ACQUIRE);

		if (!elt || elt >= own.nr_elts)
			continue;
		for (uint32_t k = 0; k < own.nr_sums; k++)
			sums[k] = sum_of(base, &own, elt, k);
		ret = fn(arg, elt, base + own.elts + (uint64_t)elt * own.elt_size, sums);
	}
	return ret;
}

/* One try. 1: it was copied, 0: it is empty, -1: it was replaced meanwhile. */
static int block_try(const char *base, const struct map_layout *own, uint32_t elt, uint32_t block,
		     uint64_t *out)
{
	const uint64_t *words = (const uint64_t *)(base + own->blocks[block]), *from;
	/* B5  of block.c, here and below: pairs with map_block_publish(). */
	uint64_t word = __atomic_load_n(&words[elt], __ATOMIC_ACQUIRE);
	uint32_t size = own->block_size[block], place = (uint32_t)word;

	if (!block_place_valid(own, place))
		return 0;
	from = (const uint64_t *)(base + own->blocks[block] + block_records_at(own) +
				  (uint64_t)(place - 1) * (sizeof(struct block_header) + size) +
				  sizeof(struct block_header));
	for (uint32_t i = 0; i < size / 8; i++)
		/* B4: pairs with map_block_put() */
		out[i] = __atomic_load_n(&from[i], __ATOMIC_ACQUIRE);
	return __atomic_load_n(&words[elt], __ATOMIC_ACQUIRE) == word ? 1 : -1;
}

bool map_block_read(const struct map *m, size_t size, const struct map_shape *shape, uint32_t elt,
		    uint32_t block, void *out)
{
	struct map_layout own;
	int got = -1;

	map_lay_out(&own, shape);
	if (own.size > size || elt >= own.nr_elts || block >= own.nr_blocks)
		return false;
	for (int i = 0; got < 0 && i < BLOCK_TRIES; i++)
		got = block_try((const char *)m, &own, elt, block, out);
	return got > 0;
}

/* The sum 0 of the elts from `elt` to before `end`. */
static uint64_t column_hits(const char *column, const struct map_layout *own, uint32_t elt,
			    uint32_t end)
{
	const uint64_t *at = (const uint64_t *)column + (uint64_t)elt * own->nr_sums;
	uint64_t hits = 0;

	/* Relaxed: as in sum_of(). */
	for (; elt < end; elt++, at += own->nr_sums)
		hits += __atomic_load_n(at, __ATOMIC_RELAXED);
	return hits;
}

/* Elts that nobody has taken have no hits: a large map that is almost empty is read quickly. */
uint64_t map_hits(const struct map *m, const struct map_shape *shape)
{
	struct map_layout own;
	uint32_t taken;
	uint64_t hits = 0;

	map_lay_out(&own, shape);
	/* Owners have the elts behind max_elts from the start. */
	taken = map_taken(m, &own);
	for (uint32_t c = 0; c < own.nr_columns; c++) {
		const char *column = (const char *)m + own.sums + c * own.column_size;

		hits += column_hits(column, &own, 1, 1 + taken);
		hits += column_hits(column, &own, 1 + own.max_elts, own.nr_elts);
	}
	return hits;
}

uint64_t map_drops(const struct map *m)
{
	return atomic_load_explicit(&m->drops, memory_order_relaxed);	/* Relaxed: a count. */
}

uint64_t map_cuts(const struct map *m)
{
	/* Relaxed: a count, of map_count_cut(). */
	return atomic_load_explicit(&m->cuts, memory_order_relaxed);
}
