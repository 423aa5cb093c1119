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
 * An entry is published by one compare-and-swap after its elt has the key, so there are no
 * half-inserted entries and no duplicates. The loser of a race keeps its elt as the slot's spare.
 * The elt index 0 means none.
 *
 * M4  The config region, which only the server writes, says where a map's parts lie and how large
 *     they are (R38). Any process may write the map itself. So each number of an elt, an owner or a
 *     record that the map holds is loaded once, and checked against the layout before it leads to
 *     an address.
 *
 * M5  A key of more than MAP_SHORT_KEY words is hashed without the words of 0 at its end: most such
 *     keys are texts in rooms that are much longer.
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

/* Set once, when the map is made. It lies in the config region or in the server's own memory. */
struct map_layout {
	/* What a hit needs to find its key */
	uint32_t	key_size;
	uint32_t	hash_shift;
	uint32_t	last_elt;	/* nr_elts - 1 */
	uint32_t	elt_size;	/* key, then nr_vars pairs of value and mark */
	uint64_t	elts, sums;	/* offsets from the start of the map, and below */
	uint32_t	nr_sums;
	/* How many columns are plain: threads add to them with rseq (map_add()) */
	uint32_t	nr_plain;
	uint64_t	column_size;	/* bytes */
	uint32_t	var_base;	/* offset of the variables in an elt */

	uint32_t	entry_mask;
	uint32_t	nr_elts;	/* 1 + max_elts + nr_owners */
	uint32_t	max_elts;	/* power of two, up to MAP_MAX_ELTS */
	uint32_t	nr_vars;
	/* Plain columns, then one atomic one; 1: only that */
	uint32_t	nr_columns;
	/* There is one writing process and thread: plain stores everywhere */
	uint32_t	single_writer;
	uint64_t	size;		/* bytes of the whole map */
	uint64_t	owners;
	/* One for each slot, at most MAP_OWNERS; then MAP_NESTED that can be borrowed */
	uint32_t	nr_owners;
	uint32_t	nr_blocks;
	uint32_t	nr_spares;	/* of each block: one for each owner, or one */
	uint32_t	block_size[MAP_BLOCKS_MAX];	/* bytes of content */
	uint64_t	blocks[MAP_BLOCKS_MAX];		/* offsets; see block.c */
};

/* The map's head in the data region; zeros make an empty one. */
struct map {
	_Alignas(64) _Atomic uint64_t pool;	/* see insert.c */
	_Atomic uint64_t drops;			/* Totals: Dropped */
	/* How many stacks had more functions than the key keeps */
	_Atomic uint64_t cuts;
};

/* A map and its layout, passed by value. A function that gets a view may use the map. */
struct map_view {
	const struct map_layout *layout;
	struct map	*data;
};

/* The view of a map that a plan, code or a cell names; these are the server's. */
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
 * For the server: the bytes that a map of this shape takes in the data region, zeroed, and where
 * its parts lie.
 */
size_t map_size(const struct map_shape *shape);
void map_lay_out(struct map_layout *out, const struct map_shape *shape);

/*
 * Plane, inside a hit (inline, in fast.h).
 *
 * uint32_t map_insert(struct map_view m, const struct slot *slot, const void *key)
 *	The elt of `key`, made if new; 0 when the map is full (counted as dropped).
 *	Every hit that gets an elt adds 1 to its sum 0.
 * void map_add(struct map_view m, uint32_t elt, uint32_t sum, uint64_t v, uint32_t set)
 *	Adds to a sum. `set` is the writer set. Threads of set 0 and of sources add with rseq.
 */
uint32_t map_insert_any(struct map_view m, const struct slot *slot, const void *key);
uint32_t map_insert_word_any(struct map_view m, const struct slot *slot, uint64_t key);
uint32_t map_insert_pair_any(struct map_view m, const struct slot *slot, uint64_t first,
			     uint64_t second);
void map_add_any(struct map_view m, uint32_t elt, uint32_t sum, uint64_t v);
/*
 * A sum that nothing is added to becomes at least `v`. Any thread may call it: all of them use the
 * last column, which most hits only read.
 */
void map_raise(struct map_view m, uint32_t elt, uint32_t sum, uint64_t v);
/* Counts a stack of which the key has only the first functions. */
static inline void map_count_cut(struct map_view m)
{
	/* Relaxed: a count, for map_cuts(). */
	atomic_fetch_add_explicit(&m.data->cuts, 1, memory_order_relaxed);
}

/* The elt of `key`, or 0. */
uint32_t map_find(struct map_view m, const void *key);
/*
 * The same for a key of more than MAP_SHORT_KEY words that is one text. `nr`: how many of its words
 * are given, at least MAP_SHORT_KEY; if there are more, the last one is not 0. The other words of
 * the key count as 0.
 */
uint32_t map_find_text(struct map_view m, const uint64_t *text, uint32_t nr);

/*
 * Variables (R17). A variable is unset until map_var_set(). map_var_read() reads its value and
 * leaves it; map_var_read_once() unsets it: one reader gets the value of each setting. Both return
 * false if it is unset. They are inline, in fast.h.
 *
 * void map_var_set(struct map_view m, uint32_t elt, uint32_t var, uint64_t v)
 * bool map_var_read(struct map_view m, uint32_t elt, uint32_t var, uint64_t *v)
 * bool map_var_read_once(struct map_view m, uint32_t elt, uint32_t var, uint64_t *v)
 */

/*
 * Blocks (R17): values that are larger than a word. Each elt (and elt 0, for the whole map) has
 * nr_blocks of them, empty at first. A writer fills a spare record of its own and publishes it by a
 * compare-and-swap of {version, record}; the record that was there becomes its spare. So a block is
 * never torn, and a killed writer blocks nothing and loses nothing. See block.c.
 *
 *     map_block_begin()     gets a record to fill; false: none is free (counted as dropped)
 *     map_block_put() ...
 *     map_block_look()      the first word of what is published now, 0 when empty
 *     map_block_publish()   replaces what was looked at; false: another writer did, look again
 *     map_block_end()       must be called, whether it was published or not
 *
 * Between begin and end only a signal handler may call begin again.
 */
struct map_block {
	struct map_view	map;
	uint64_t	*data;		/* of the record that is being filled */
	uint64_t	word;		/* the word as it was last looked at */
	uint64_t	spare;		/* the writer's spare at the begin */
	uint32_t	block, elt, size, writer;
	uint32_t	holder;		/* not 0: the writer is borrowed */
};

bool map_block_begin(struct map_view m, const struct slot *slot, uint32_t elt, uint32_t block,
		     struct map_block *out);
uint64_t map_block_look(struct map_block *b);
bool map_block_publish(struct map_block *b);
void map_block_end(struct map_block *b);
/* The first word of a block, 0 when empty. */
uint64_t map_block_value(struct map_view m, uint32_t elt, uint32_t block);
/*
 * Copies up to `size` bytes, a multiple of 8. False: the block is empty, or was replaced in each
 * try.
 */
bool map_block_copy(struct map_view m, uint32_t elt, uint32_t block, uint64_t *out, uint32_t size);

/* Bytes that do not fit are left out. */
static inline void map_block_put(struct map_block *b, uint32_t off, uint64_t v)
{
	/* Release: pairs with the acquire in map_block_copy(); see B4 in block.c. */
	if (off + 8 <= b->size)
		__atomic_store_n(&b->data[off / 8], v, __ATOMIC_RELEASE);
}

/* For the server: copies a block. False: it is empty, or was replaced in each try. */
bool map_block_read(const struct map *m, size_t size, const struct map_shape *shape, uint32_t elt,
		    uint32_t block, void *out);

/*
 * For the server: finishes or takes back what the dead owner of a slot had begun, so that no elt is
 * lost. Otherwise the slot's next owner does it at its first insert.
 */
void map_recover(struct map_view m, uint32_t slot_index);

/*
 * For the server. The map lies in memory that the server does not trust; `size` is what it mapped.
 * Calls fn for every elt in the table with its key and its sums over all columns, and stops at the
 * first result that is not 0. -EPROTO: a map of that shape is larger than size.
 */
int map_each(const struct map *m, size_t size, const struct map_shape *shape,
	     int (*fn)(void *arg, uint32_t elt, const void *key, const uint64_t *sums), void *arg);
/* Totals: Hits, the sum of all sums 0. */
uint64_t map_hits(const struct map *m, const struct map_shape *shape);
/* Totals: Dropped. */
uint64_t map_drops(const struct map *m);
uint64_t map_cuts(const struct map *m);

#include "plane/map/fast.h"

#endif
