/* SPDX-License-Identifier: MIT */
/*
 * ring.h - struct buffer, struct ring and their pages in the data region
 *
 * Included by src/plane/ring and src/session/ring.
 *
 *     struct buffer            struct ring                 pages (N, one more than promised)
 *     +----------------+       +------------------+        +--------+--------+-- --+--------+
 *     | rings[set*cpu] |------>| head, tail[2]    |        | page 0 | page 1 |     | N - 1  |
 *     +----------------+       | floor, taken     |        +--------+--------+-- --+--------+
 *                              | pages, descs ----|------> +--------+--------+-- --+--------+
 *                              +------------------+        | desc 0 | desc 1 |     | N - 1  |
 *                                                          +--------+--------+-- --+--------+
 *
 * A position counts bytes from the ring's birth; page sequence s = position / subbuf_size lies in
 * place s % N. The word `head` is position << 1 | t, where t says which of tail[] belongs to it. A
 * writer fills the other tail and the bytes behind the position, and then stores head. If it is
 * aborted before that, it has changed nothing that a reader or the next writer looks at.
 *
 * A page is as the kernel's: u64 time stamp, u64 commit (made by readers), records. When the writer
 * has left it, its end is in its descriptor.
 */
#ifndef TRACEFUSE_LAYOUT_RING_H
#define TRACEFUSE_LAYOUT_RING_H

#include "layout/layout.h"

enum {
	RING_PAGE_HEADER	= 16,
	RING_LEN_EXTEND		= 8,	/* length of a time extend or absolute time stamp */
	RING_MIN_LENGTH		= 8,	/* of a record with its header */
	RING_MAX_SMALL		= 112,	/* largest payload for which type_len gives the length */
	RING_SHORT_MIN		= 12,	/* smallest payload of the short ways */
	RING_TYPE_PADDING	= 29,
	RING_TYPE_EXTEND	= 30,
	RING_TYPE_ABSOLUTE	= 31,
	RING_DELTA_BITS		= 27,
	RING_TIME_BITS		= 59,	/* of an extend or an absolute time */
	/* Bytes of a record: those of the largest sub-buffer */
	RING_STORE_MAX		= 512 << 10,

	/* Writer sets */
	/* 1 .. 15: sources; from here: the rings that a resized buffer had, without writers */
	RING_SET_KEPT		= 16,
	RING_SET_LEASES		= 32,	/* each lease has LAYOUT_HIT_LEVELS sets */
	RING_MAX_LEASES		= 64,
	BUFFER_MAX_SETS		= RING_SET_LEASES + RING_MAX_LEASES * LAYOUT_HIT_LEVELS,
};

/*
 * slot.lease: 0, or 1 + the number of the lease that the slot has for good (a later thread of the
 * slot continues with it), with these bits.
 */
#define RING_LEASE_WANTED	(1ull << 62)	/* the thread has no restartable sequences */
/*
 * The thread may not use restartable sequences even if it seems to have them: a child of vfork().
 */
#define RING_LEASE_ONLY		(1ull << 63)

/* The values that belong to one position of head. */
struct ring_tail {
	uint64_t	time;		/* of the last record */
	uint64_t	entries;	/* records written since the ring's birth */
};

/* A page that was begun: its sequence, its end (once it was left), and how much came before it. */
struct page_desc {
	_Atomic uint64_t seq;		/* sequence + 1; stored last when the page is begun */
	/* Bytes of the page in use; valid when head is beyond the page */
	_Atomic uint64_t end;
	_Atomic uint64_t entries;	/* records before its first one */
	_Atomic uint64_t bytes;		/* and their bytes, headers and extends included */
};

struct ring {
	/* Set once, at create */
	uint32_t	cpu;
	uint32_t	set;
	uint32_t	nr_pages;	/* N */
	uint32_t	subbuf_size;
	data_ref	pages;
	data_ref	descs;
	uint32_t	page_shift;	/* log2 of subbuf_size */
	uint32_t	pad;
	_Atomic uint32_t disabled;	/* tracing_cpumask; the server stores it */

	/* Stored by its owner */
	_Alignas(64) _Atomic uint64_t head;
	struct ring_tail tail[2];
	/*
	 * They save a division as long as the page is the same: a position in it lies at data +
	 * base + position. page_end is the position where the page ends. It is 0 while base is
	 * stored, and is stored after it. For a page that does not end at page_end a writer has to
	 * divide.
	 */
	uint64_t	page_end;
	uint64_t	base;
	_Atomic uint64_t dropped;	/* no-overwrite and full */

	/* Copies of what the server knows (session/ring/book.h), for hits: full() */
	_Alignas(64) _Atomic uint64_t floor;		/* position: nothing before it is read */
	/* Position: consuming readers have read up to here */
	_Atomic uint64_t taken;
};

/* For hits. The server has books of its own for all of it (session/ring/book.h). */
struct buffer {
	uint32_t	nr_cpus;
	uint32_t	subbuf_size;
	uint32_t	instance;	/* the instance whose clock its set 0 reads */
	_Atomic uint32_t overwrite;
	_Atomic uint32_t nr_sets;	/* beyond the highest set that has rings */
	uint32_t	pad;
	_Atomic data_ref rings[];	/* [set * nr_cpus + cpu], 0: none */
};

#endif
