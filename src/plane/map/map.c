/* SPDX-License-Identifier: MIT */
/*
 * map.c - layout of a tracing map, finding an elt, sums and variables
 *
 * M1  An entry goes from 0 to {hash, elt} once and never changes again. The
 *     release of its compare-and-swap (insert.c) pairs with the acquire
 *     in map_lookup(): a hit that sees the entry sees the elt's key.
 * M2  Only threads of writer set 0 or of a source add to a plain column, that of their CPU, inside
 *     a restartable section. The last column is atomic, for all others.
 * M3  A variable is one word (fast.h): 0 is unset, else it holds the value. The reader that
 *     exchanges it for 0 gets the value of that setting, and no other reader does. If value and
 *     mark were two words, a reader between the two stores of the next setting would get the new
 *     value, and the next reader would get it again.
 */
#include "plane/map/layout.h"

static uint64_t align(uint64_t v, uint64_t to)
{
	return (v + to - 1) / to * to;
}

static uint32_t shape_owners(const struct map_shape *s)
{
	if (s->single_writer)
		return 0;
	return (s->nr_slots < MAP_OWNERS ? s->nr_slots : MAP_OWNERS) + MAP_NESTED;
}

static void blocks_lay_out(struct map_layout *l, const struct map_shape *s)
{
	l->nr_blocks = s->nr_blocks < MAP_BLOCKS_MAX ? s->nr_blocks : MAP_BLOCKS_MAX;
	l->nr_spares = l->nr_owners ? l->nr_owners : 1;
	for (uint32_t i = 0; i < MAP_BLOCKS_MAX; i++) {
		l->block_size[i] = i < l->nr_blocks ? s->block_size[i] : 0;
		l->blocks[i] = i < l->nr_blocks ? l->size : 0;
		if (i < l->nr_blocks)
			l->size = align(l->size + block_bytes(l, s->block_size[i]), 64);
	}
}

void map_lay_out(struct map_layout *l, const struct map_shape *s)
{
	uint64_t columns;

	l->max_elts = s->max_elts;
	l->entry_mask = 2 * s->max_elts - 1;
	l->hash_shift = 32 - (uint32_t)__builtin_ctz(2 * s->max_elts);
	l->nr_owners = shape_owners(s);
	l->nr_elts = 1 + s->max_elts + l->nr_owners;
	l->last_elt = l->nr_elts - 1;
	l->key_size = s->key_size;
	l->nr_sums = s->nr_sums;
	l->nr_vars = s->nr_vars;
	l->var_base = (uint32_t)align(s->key_size, s->nr_vars ? MAP_VAR_BYTES : 8);
	l->elt_size = l->var_base + MAP_VAR_BYTES * s->nr_vars;
	l->single_writer = s->single_writer;
	l->column_size = align((uint64_t)l->nr_elts * s->nr_sums * 8, 64);
	columns = s->single_writer ? 1 : (uint64_t)s->nr_cpus + 1;
	l->nr_columns = columns * l->column_size <= MAP_COLUMNS_MAX ? (uint32_t)columns : 1;
	l->nr_plain = l->nr_columns - 1;
	l->owners = MAP_ENTRIES + align((uint64_t)2 * s->max_elts * 8, 64);
	l->elts = align(l->owners + (uint64_t)l->nr_owners * sizeof(struct map_owner), 64);
	l->sums = align(l->elts + (uint64_t)l->nr_elts * l->elt_size, 64);
	l->size = l->sums + l->nr_columns * l->column_size;
	if (s->nr_blocks)
		l->size = align(l->size, 64);
	blocks_lay_out(l, s);
}

size_t map_size(const struct map_shape *shape)
{
	struct map_layout l;

	map_lay_out(&l, shape);
	return l.size;
}

uint32_t map_find(struct map_view m, const void *key)
{
	return map_lookup(m, key, map_key_words(m), map_hash(m, key));
}

uint32_t map_find_text(struct map_view m, const uint64_t *text, uint32_t nr)
{
	return map_lookup(m, text, nr, map_hash_words(text, nr));
}

void map_add_any(struct map_view m, uint32_t elt, uint32_t sum, uint64_t v)
{
	uint64_t *at = map_sum(m, m.layout->nr_columns - 1, elt, sum);

	/* Relaxed: a sum orders nothing; M2. */
	if (m.layout->single_writer)
		__atomic_store_n(at, *at + v, __ATOMIC_RELAXED);
	else
		__atomic_fetch_add(at, v, __ATOMIC_RELAXED);	/* M2 */
}

void map_raise(struct map_view m, uint32_t elt, uint32_t sum, uint64_t v)
{
	uint64_t *at = map_sum(m, m.layout->nr_columns - 1, elt, sum);
	/* Relaxed, here and below: the word is all there is. */
	uint64_t old = __atomic_load_n(at, __ATOMIC_RELAXED);

	while (old < v)
		if (__atomic_compare_exchange_n(at, &old, v, true, __ATOMIC_RELAXED,
						__ATOMIC_RELAXED))
			return;
}

void map_var_set_rare(uint64_t *var, uint64_t v)
{
	__atomic_store_n(&var[1], v, __ATOMIC_RELAXED);
	/* M3. Release: pairs with the acquires in map_var_read() and map_var_read_once(). */
	__atomic_store_n(&var[0], MAP_VAR_RARE, __ATOMIC_RELEASE);
}
