/* SPDX-License-Identifier: MIT */
/*
 * heap.h - which parts of a region are free
 *
 * The books are the server's private memory, so a program cannot spoil them. In a restored session
 * everything below `high` counts as used at first. session_data_restore() says which of it really
 * is.
 */
#ifndef TRACEFUSE_SESSION_HEAP_H
#define TRACEFUSE_SESSION_HEAP_H

#include <stddef.h>
#include <stdint.h>
#include "session/region.h"

struct extent {
	uint64_t	off, len;
};

/*
 * Sorted; no two touch each other. They have a gap where the last one came or went, so thousands of
 * pieces that are freed or taken in order move nothing.
 */
struct extents {
	struct extent	*v;
	size_t		nr;
	size_t		gap;		/* how many are in front of the gap */
	size_t		room;		/* of v, with the gap */
};

static inline struct extent *extents_at(const struct extents *e, size_t i)
{
	return &e->v[i < e->gap ? i : i + e->room - e->nr];
}

/* Sizes of pieces: each multiple of 64 bytes up to a page, then each power of two. */
enum { HEAP_SMALL = 64, HEAP_CLASSES = HEAP_SMALL + 52 };

struct heap {
	struct region	*region;
	uint64_t	start, end;
	uint64_t	high;		/* all beyond it was never used */
	struct extents	free;
	/* By class: no extent that begins before this one is as large as the class's least size */
	uint64_t	from[HEAP_CLASSES];
	struct extents	restored;	/* only while a session is being restored */
	/* The end of what the old server used; 0: nothing to restore */
	uint64_t	inherited;
	uint64_t	used;		/* bytes handed out */
	bool		used_up;	/* once, no extent was large enough */
	/*
	 * The next server makes everything again behind `high`. The heap grows only as long as all
	 * that is used fits behind it once more.
	 */
	bool		twice;
};

int heap_init(struct heap *h, struct region *r, uint64_t start, uint64_t end, uint64_t high);
void heap_destroy(struct heap *h);
/* Returns 0 when memory is exhausted. Zeroed; 64-byte aligned, page aligned from 4096 bytes on. */
uint64_t heap_alloc(struct heap *h, size_t size);
/*
 * Backs memory where pieces of these sizes will probably be, in this order; *budget as in
 * region_prepare(). False: there is no room.
 */
bool heap_prepare(struct heap *h, const uint64_t *sizes, size_t nr, uint64_t *budget);
/* `size` is the size that was asked for. */
void heap_free(struct heap *h, uint64_t off, size_t size);
/*
 * The same for a piece whose exact length is known. Memory of the old server is not given out again
 * before heap_restore_done().
 */
void heap_free_extent(struct heap *h, uint64_t off, uint64_t len);
int heap_restore(struct heap *h, uint64_t off, size_t size);
/*
 * Moves all that the old server had and that was not restored to `out` (to be freed with
 * heap_free_extent()).
 */
int heap_restore_done(struct heap *h, struct extents *out);

void extents_free(struct extents *e);

#endif
