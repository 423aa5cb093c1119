/* SPDX-License-Identifier: MIT */
/*
 * heap.h - which parts of a region are free
 *
 * The books are the server's private memory: nothing that a program writes
 * into the data region can confuse them. A restored session's heap starts
 * with everything below `high` in use and learns from session_data_restore() what really is.
 */
#ifndef TRACEFUSE_SESSION_HEAP_H
#define TRACEFUSE_SESSION_HEAP_H

#include <stddef.h>
#include <stdint.h>
#include "session/region.h"

struct extent {
	uint64_t	off, len;
};

struct extents {
	struct extent	*v;		/* sorted, never touching each other */
	size_t		nr;
};

struct heap {
	struct region	*region;
	uint64_t	start, end;
	uint64_t	high;		/* beyond: never used */
	struct extents	free;
	struct extents	restored;	/* only while a session is being restored */
	/* what the old server used ends here, 0: nothing to restore */
	uint64_t	inherited;
	uint64_t	used;		/* bytes handed out */
	bool		used_up;	/* no extent was large enough once */
	/*
	 * The next server makes all of it anew behind `high`: it grows only as long as what is used
	 * fits there once more.
	 */
	bool		twice;
};

int heap_init(struct heap *h, struct region *r, uint64_t start, uint64_t end, uint64_t high);
void heap_destroy(struct heap *h);
/* 0: out of memory. Zeroed; 64-byte aligned, page aligned from 4096 bytes on. */
uint64_t heap_alloc(struct heap *h, size_t size);
/* The size that was asked for. */
void heap_free(struct heap *h, uint64_t off, size_t size);
/*
 * The same for a piece whose exact length is known. What the old server had is
 * not given away before heap_restore_done().
 */
void heap_free_extent(struct heap *h, uint64_t off, uint64_t len);
int heap_restore(struct heap *h, uint64_t off, size_t size);
/*
 * Moves all that the old server had and nobody restored to `out` (to be freed with
 * heap_free_extent()).
 */
int heap_restore_done(struct heap *h, struct extents *out);

void extents_free(struct extents *e);

#endif
