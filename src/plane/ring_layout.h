/* SPDX-License-Identifier: MIT */
/*
 * ring_layout.h - struct buffer, struct ring and their pages in the data region
 *
 * Included by src/plane/ring.c and src/session/ring_*.c only.
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
 * bytes behind the position, then stores head: whoever is aborted in between
 * has changed nothing that a reader or the next writer looks at.
 *
 * A page is as the kernel's: u64 time stamp, u64 commit (made by readers),
 * records. Its end, when the writer has gone on, is in its descriptor.
 */
#ifndef TRACEFUSE_PLANE_RING_LAYOUT_H
#define TRACEFUSE_PLANE_RING_LAYOUT_H

#include "session/layout.h"

enum {
	RING_PAGE_HEADER	= 16,
	RING_LEN_EXTEND		= 8,	/* a time extend or absolute time stamp */
	RING_MAX_SMALL		= 112,	/* payload that type_len can tell */
	RING_TYPE_PADDING	= 29,
	RING_TYPE_EXTEND	= 30,
	RING_TYPE_ABSOLUTE	= 31,
	RING_DELTA_BITS		= 27,
	BUFFER_MAX_SETS		= 64,	/* set 0, sources, leases */
};

/* What belongs to one position of head. */
struct ring_tail {
	uint64_t	time;		/* of the last record */
	uint64_t	entries;	/* records written since birth */
	uint64_t	bytes;		/* their bytes, headers and extends included */
	uint64_t	pad;
};

/* A page that was begun: sequence, its end (once left), and what came before it. */
struct page_desc {
	_Atomic uint64_t seq;		/* sequence + 1, stored last when the page is begun */
	_Atomic uint64_t end;		/* bytes of the page in use, valid when head is beyond it */
	_Atomic uint64_t entries;	/* records before its first */
	_Atomic uint64_t bytes;
};

struct ring {
	/* set once, at create */
	uint32_t	cpu;
	uint32_t	set;
	uint32_t	nr_pages;	/* N */
	uint32_t	subbuf_size;
	data_ref	pages;
	data_ref	descs;

	/* its owner */
	_Alignas(64) _Atomic uint64_t head;
	struct ring_tail tail[2];
	_Atomic uint64_t dropped;	/* no-overwrite and full */

	/* the server */
	_Alignas(64) _Atomic uint64_t floor;		/* position: nothing before it is read */
	_Atomic uint64_t taken;				/* position: consuming readers have had this much */
	_Atomic uint64_t floor_entries, floor_bytes;	/* written before the floor */
	_Atomic uint64_t taken_entries;			/* of the records consumed, those since the floor */
	_Atomic uint64_t taken_bytes;
	_Atomic uint64_t overrun;			/* lost before a consuming reader came, counted so far */
	_Atomic uint64_t lost;				/* not yet told to a consuming reader */
	_Atomic uint32_t disabled;			/* tracing_cpumask */
};

struct buffer {
	uint32_t	nr_cpus;
	uint32_t	subbuf_size;
	uint32_t	instance;	/* whose clock its set 0 reads */
	_Atomic uint32_t overwrite;
	uint64_t	size;		/* bytes of this block, for retirement */
	_Atomic data_ref rings[];	/* [set * nr_cpus + cpu], 0: none */
};

#endif
