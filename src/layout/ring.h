/* SPDX-License-Identifier: MIT */
/*
 * ring.h - struct buffer, struct ring and their pages in the data region
 *
 * Included by src/plane/ring/ring.c and src/session/ring_*.c only.
 *
 *     struct buffer            struct ring                 pages (N, one more than promised)
 *     +----------------+       +------------------+        +--------+--------+-- --+--------+
 *     | rings[set*cpu] |------>| head, tail[2]    |        | page 0 | page 1 |     | N - 1  |
 *     +----------------+       | floor, taken     |        +--------+--------+-- --+--------+
 *                              | pages, descs ----|------> +--------+--------+-- --+--------+
 *                              +------------------+        | desc 0 | desc 1 |     | N - 1  |
 *                                                          +--------+--------+-- --+--------+
 *
 * A position counts bytes from the ring's birth; page sequence s = position /
 * subbuf_size lies in place s % N. The word `head` is position << 1 | t, where
 * t says which of tail[] belongs to it. A writer fills the other tail and the
 * bytes behind the position, then stores head: a writer aborted in between
 * has changed nothing that a reader or the next writer looks at.
 *
 * A page is as the kernel's: u64 time stamp, u64 commit (made by readers),
 * records. Its end, when the writer has gone on, is in its descriptor.
 */
#ifndef TRACEFUSE_LAYOUT_RING_H
#define TRACEFUSE_LAYOUT_RING_H

#include "layout/layout.h"

enum {
	RING_PAGE_HEADER	= 16,
	RING_LEN_EXTEND		= 8,	/* a time extend or absolute time stamp */
	RING_MIN_LENGTH		= 8,	/* of a record with its header */
	RING_MAX_SMALL		= 112,	/* payload that type_len can tell */
	RING_TYPE_PADDING	= 29,
	RING_TYPE_EXTEND	= 30,
	RING_TYPE_ABSOLUTE	= 31,
	RING_DELTA_BITS		= 27,
	RING_STORE_MAX		= 512 << 10,	/* bytes of a record: of the largest sub-buffer */

	/* writer sets */
	/* 1 .. 15: sources; from here: what a resized buffer had, no writer */
	RING_SET_KEPT		= 16,
	RING_SET_LEASES		= 32,	/* LAYOUT_HIT_LEVELS sets a lease */
	RING_MAX_LEASES		= 64,
	BUFFER_MAX_SETS		= RING_SET_LEASES + RING_MAX_LEASES * LAYOUT_HIT_LEVELS,
};

/*
 * slot.lease: 0, or 1 + the number of the lease that the slot has for good (a
 * thread that gets the slot later goes on with it), with these bits.
 */
#define RING_LEASE_WANTED	(1ull << 62)	/* the thread has no restartable sequences */
/* Nor may it believe that it has: a child of vfork(). */
#define RING_LEASE_ONLY		(1ull << 63)

/* What belongs to one position of head. */
struct ring_tail {
	uint64_t	time;		/* of the last record */
	uint64_t	entries;	/* records written since birth */
};

/* A page that was begun: sequence, its end (once left), and what came before it. */
struct page_desc {
	_Atomic uint64_t seq;		/* sequence + 1, stored last when the page is begun */
	_Atomic uint64_t end;		/* bytes of the page in use, valid when head is beyond it */
	_Atomic uint64_t entries;	/* records before its first */
	_Atomic uint64_t bytes;		/* and their bytes, headers and extends included */
};

struct ring {
	/* set once, at create */
	uint32_t	cpu;
	uint32_t	set;
	uint32_t	nr_pages;	/* N */
	uint32_t	subbuf_size;
	data_ref	pages;
	data_ref	descs;
	uint32_t	page_shift;	/* log2 of subbuf_size */
	uint32_t	pad;
	_Atomic uint32_t disabled;	/* tracing_cpumask; the server's */

	/* its owner */
	_Alignas(64) _Atomic uint64_t head;
	struct ring_tail tail[2];
	/*
	 * Save a division, for one page: a position in it lies at data + base +
	 * position. page_end, the position that it ends at, is stored after base
	 * and is 0 meanwhile; a page that it is not the end of has to divide.
	 */
	uint64_t	page_end;
	uint64_t	base;
	_Atomic uint64_t dropped;	/* no-overwrite and full */

	/* copies of what the server knows (session/ring/book.h), for hits: full() */
	_Alignas(64) _Atomic uint64_t floor;		/* position: nothing before it is read */
	/* position: consuming readers have had this much */
	_Atomic uint64_t taken;
};

/* Of all of it the server has its own books (session/ring/book.h): this is for hits. */
struct buffer {
	uint32_t	nr_cpus;
	uint32_t	subbuf_size;
	uint32_t	instance;	/* whose clock its set 0 reads */
	_Atomic uint32_t overwrite;
	_Atomic uint32_t nr_sets;	/* beyond the highest set that has rings */
	uint32_t	pad;
	_Atomic data_ref rings[];	/* [set * nr_cpus + cpu], 0: none */
};

#endif
