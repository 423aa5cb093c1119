/* SPDX-License-Identifier: MIT */
/*
 * book.h - what the server knows of its buffers and rings
 *
 * Included by src/session only. The books lie in the config region, which the
 * server alone writes, so that the next server finds them, too. The server
 * reads no size, offset or reference of a buffer in the data region (R2): there
 * it writes them for hits, and looks at heads, tails and page descriptors.
 *
 *     config_header.instance_books
 *     +---------------+      +-------------+      +--------------------+      +-----------+
 *     | buffers[2]    |----->| buffer_book |      | config_ref[nr_cpus]|      | ring_book |
 *     | next[2], pids |      | sets[]  ----|----->|                ----|----->|           |
 *     +---------------+      +-------------+      +--------------------+      +-----------+
 *         data region:        struct buffer ---------------------> struct ring, pages, descs
 *
 * K0  A ring has one owner, the buffer that gives its memory back. Another
 *     buffer may name it, too: the one that it was handed on from, which hits
 *     may still see, and for a moment both while one CPU's rings are swapped.
 */
#ifndef TRACEFUSE_SESSION_RING_BOOK_H
#define TRACEFUSE_SESSION_RING_BOOK_H

#include "plane/plane.h"
#include "layout/ring.h"

struct ring_book {
	/* set once, at create */
	data_ref	ring, pages, descs;
	uint32_t	set, cpu, nr_pages, subbuf_size;

	config_ref	owner;		/* K0: struct buffer_book */

	/*
	 * How far it was read, and what was lost: D1 of read.c. floor and taken are in struct
	 * ring, too, for hits.
	 */
	uint64_t	floor;		/* position: nothing before it is read */
	uint64_t	taken;		/* position: consuming readers have had this much */
	uint64_t	floor_entries, floor_bytes;	/* written before the floor */
	uint64_t	taken_entries;	/* of the records consumed, those since the floor */
	uint64_t	taken_bytes;
	uint64_t	overrun;	/* lost before a consuming reader came, counted so far */
	uint64_t	limit;		/* position: what lies before it counts as overrun */
};

struct buffer_book {
	data_ref	buffer;
	uint32_t	instance;
	uint32_t	subbuf_size;
	uint32_t	nr_sets;	/* beyond the highest set that has rings */
	uint32_t	pad;
	/* config_ref[nr_cpus] of struct ring_book, 0: none */
	config_ref	sets[BUFFER_MAX_SETS];
	/* by CPU: records of older rings that a resize had no place for */
	uint64_t	left_out[];
};

struct instance_book {
	/* struct buffer_book: what instance_state.buffers[] is to say */
	config_ref	buffers[2];
	/* What takes their places: once it is here the next server goes on with it. */
	config_ref	next[2];
	data_ref	pids[PIDS_SETS];	/* what instance_state.pids and so on say */
	uint32_t	follows;	/* sets of pids that new tasks join, a bit each */
	uint32_t	used;
};

#endif
