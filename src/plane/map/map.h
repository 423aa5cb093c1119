/* SPDX-License-Identifier: MIT */
/*
 * map.h - the tracing map: a histogram's entries in shared memory (R15, R16, R17)
 *
 *     config region             data region
 *     map_layout                map         entries[2 * max_elts]   elts[1 + max_elts + owners]
 *     +---------------------+   +------+    +------------------+    +----------------------------+
 *     | where all of that   |   | pool |    | hash:32  elt:32  |--->| key | variables            |
 *     | lies, how large     |   +------+    +------------------+    +----------------------------+
 *     +---------------------+   sums: column[cpu][elt][sum], one column more without rseq
 *                               owners[nr_owners]: of thread slots
 *
 * An entry is published by one compare-and-swap after its elt has the key, so
 * there are no half-inserted entries and no duplicates; the loser of a race
 * keeps its elt as the slot's spare. elt index 0 is none.
 *
 * M4  Where a map's parts lie and how large they are is in the config region,
 *     which the server alone writes (R38). Of what the map itself says, which
 *     any process may write, each number of an elt, an owner or a record is
 *     loaded once and compared with the layout's before it leads anywhere.
 *
 * M5  A key of more than MAP_SHORT_KEY words is hashed without the words of 0 at its end: most of
 *     them are texts with room for much longer ones.
 *
 * The plane inserts and adds; the server creates, iterates and retires.
 */
#ifndef TRACEFUSE_PLANE_MAP_MAP_H
#define TRACEFUSE_PLANE_MAP_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include "plane/plane.h"
#include "layout/layout.h"

enum { MAP_MAX_ELTS = 1 << 17, MAP_BLOCKS_MAX = 32, MAP_SHORT_KEY = 2 };

/* Set once, when the map is made. In the config region, or in the server's own memory. */
struct map_layout {
	/* what a hit needs that finds its key */
	uint32_t	key_size;
	uint32_t	hash_shift;
	uint32_t	last_elt;	/* nr_elts - 1 */
	uint32_t	elt_size;	/* key, then nr_vars pairs of value and mark */
	uint64_t	elts, sums;	/* offsets from the start of the map, and below */
	uint32_t	nr_sums;
	uint32_t	nr_plain;	/* plain columns that set 0 adds to with rseq */
	uint64_t	column_size;	/* bytes */
	uint32_t	var_base;	/* offset of the variables in an elt */

	uint32_t	entry_mask;
	uint32_t	nr_elts;	/* 1 + max_elts + nr_owners */
	uint32_t	max_elts;	/* power of two, up to MAP_MAX_ELTS */
	uint32_t	nr_vars;
	/* plain columns for set 0, then one atomic one; 1: only that */
	uint32_t	nr_columns;
	/* one writing process and thread: plain stores everywhere */
	uint32_t	single_writer;
	uint64_t	size;		/* bytes of the whole map */
	uint64_t	owners;
	/* one a slot, MAP_OWNERS at most; then MAP_NESTED to be borrowed */
	uint32_t	nr_owners;
	uint32_t	nr_blocks;
	uint32_t	nr_spares;	/* of each block: one an owner, or one */
	uint32_t	block_size[MAP_BLOCKS_MAX];	/* bytes of content */
	uint64_t	blocks[MAP_BLOCKS_MAX];		/* see map_block.c */
};

/* The map's head in the data region; zeros make an empty one. */
struct map {
	_Alignas(64) _Atomic uint64_t pool;	/* see insert.c */
	_Atomic uint64_t drops;			/* Totals: Dropped */
};

/* Both together, by value: a function that gets one may use the map. */
struct map_view {
	const struct map_layout *layout;
	struct map	*data;
};

/* Of a plan, code or a cell, which are the server's. */
static inline struct map_view map_view_of(const struct plane *p, data_ref map,
					  const struct map_layout *layout)
{
	return (struct map_view){ .layout = layout, .data = (struct map *)plane_given(p, map) };
}

struct map_shape {
	uint32_t	max_elts;	/* power of two */
	uint32_t	key_size;	/* multiple of 8 */
	uint32_t	nr_sums;	/* sum 0 is hitcount */
	uint32_t	nr_vars;
	uint32_t	nr_cpus;
	uint32_t	nr_slots;
	bool		single_writer;
	uint32_t	nr_blocks;
	uint32_t	block_size[MAP_BLOCKS_MAX];	/* bytes, a multiple of 8 */
};

/*
 * Server. Bytes that a map of this shape takes in the data region, zeroed, and where its parts lie
 * in them.
 */
size_t map_size(const struct map_shape *shape);
void map_lay_out(struct map_layout *out, const struct map_shape *shape);

/*
 * Plane, inside a hit (inline, in fast.h).
 *
 * uint32_t map_insert(struct map_view m, const struct slot *slot, const void *key)
 *	The elt of `key`, made if new; 0 when the map is full (counted as dropped).
 *	Every hit that gets an elt adds 1 to its sum 0.
 * void map_add(struct map_view m, uint32_t elt, uint32_t sum, uint64_t v, uint32_t cpu,
 *		uint32_t set)
 *	Adds to a sum. `cpu` is the writer's, `set` its writer set (0: rseq).
 */
uint32_t map_insert_any(struct map_view m, const struct slot *slot, const void *key);
uint32_t map_insert_word_any(struct map_view m, const struct slot *slot, uint64_t key);
uint32_t map_insert_pair_any(struct map_view m, const struct slot *slot, uint64_t first,
			     uint64_t second);
void map_add_any(struct map_view m, uint32_t elt, uint32_t sum, uint64_t v);
/* The elt of `key` or 0. */
uint32_t map_find(struct map_view m, const void *key);
/*
 * The same of a key of more than MAP_SHORT_KEY words that is one text: `nr` words of it, at least
 * MAP_SHORT_KEY, of which only those may end in words of 0. The rest of the key would be 0.
 */
uint32_t map_find_text(struct map_view m, const uint64_t *text, uint32_t nr);

/*
 * Variables (R17). A variable is unset until map_var_set(). map_var_read()
 * gives its value as often as asked; map_var_read_once() unsets it: of several
 * readers one gets it, once a setting. Both are false when it is unset. Inline,
 * in fast.h.
 *
 * void map_var_set(struct map_view m, uint32_t elt, uint32_t var, uint64_t v)
 * bool map_var_read(struct map_view m, uint32_t elt, uint32_t var, uint64_t *v)
 * bool map_var_read_once(struct map_view m, uint32_t elt, uint32_t var, uint64_t *v)
 */

/*
 * Blocks (R17): what is larger than a word. Each elt (and elt 0, for the whole
 * map) has nr_blocks of them, empty at first. A writer fills a spare record of
 * its own and publishes it by a compare-and-swap of {version, record}; the
 * record that was there becomes its spare. So a block is never torn, and a
 * writer that is killed wedges nothing and loses nothing. See map_block.c.
 *
 *     map_block_begin()     a record of its own to fill; false: none free (counted as dropped)
 *     map_block_put() ...
 *     map_block_look()      the first word of what is published now, 0 when empty
 *     map_block_publish()   replaces what was looked at; false: another did, look again
 *     map_block_end()       whether it was published or not
 *
 * Between begin and end there is no other begin, but in a signal handler.
 */
struct map_block {
	struct map_view	map;
	uint64_t	*data;		/* of the record that is being filled */
	uint64_t	word;		/* as looked at last */
	uint64_t	spare;		/* the writer's, as it was at the begin */
	uint32_t	block, elt, size, writer;
	uint32_t	holder;		/* not 0: a borrowed writer */
};

bool map_block_begin(struct map_view m, const struct slot *slot, uint32_t elt, uint32_t block,
		     struct map_block *out);
uint64_t map_block_look(struct map_block *b);
bool map_block_publish(struct map_block *b);
void map_block_end(struct map_block *b);
/* The first word of a block, 0 when empty. */
uint64_t map_block_value(struct map_view m, uint32_t elt, uint32_t block);
/* Copies up to `size` bytes, a multiple of 8; false: empty, or it did not hold still. */
bool map_block_copy(struct map_view m, uint32_t elt, uint32_t block, uint64_t *out, uint32_t size);

/* What does not fit is left out. */
static inline void map_block_put(struct map_block *b, uint32_t off, uint64_t v)
{
	/* Release: pairs with the acquire in map_block_copy(); see B4 in map_block.c. */
	if (off + 8 <= b->size)
		__atomic_store_n(&b->data[off / 8], v, __ATOMIC_RELEASE);
}

/* Server: copies a block; false: empty, or never the same twice. */
bool map_block_read(const struct map *m, size_t size, const struct map_shape *shape, uint32_t elt,
		    uint32_t block, void *out);

/*
 * Server: finishes or takes back what the dead owner of a slot had begun, so
 * that no elt is lost. Else the slot's next owner does it at its first insert.
 */
void map_recover(struct map_view m, uint32_t slot_index);

/*
 * Server, over memory that it does not trust: `size` is what it mapped. Calls
 * fn for every elt in the table with its key and summed-up sums; stops at the
 * first non-zero return. -EPROTO when a map of that shape is larger than size.
 */
int map_each(const struct map *m, size_t size, const struct map_shape *shape,
	     int (*fn)(void *arg, uint32_t elt, const void *key, const uint64_t *sums), void *arg);
/* Totals: Hits, the sum of all sums 0. */
uint64_t map_hits(const struct map *m, const struct map_shape *shape);
/* Totals: Dropped. */
uint64_t map_drops(const struct map *m, const struct map_shape *shape);

#include "plane/map/fast.h"

#endif
