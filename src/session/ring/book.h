/* SPDX-License-Identifier: MIT */
/*
 * book.h - what the server knows of its buffers and rings
 *
 * Included by src/session only. The books lie in the config region, which only the server writes;
 * the next server finds them there. The server reads no size, offset or reference of a buffer from
 * the data region (R2): it only writes them there for hits. It does read heads, tails and page
 * descriptors there.
 *
 *     config_header.instance_books
 *     +---------------+      +-------------+      +--------------------+      +-----------+
 *     | buffers[2]    |----->| buffer_book |      | config_ref[nr_cpus]|      | ring_book |
 *     | next[2], pids |      | sets[]  ----|----->|                ----|----->|           |
 *     +---------------+      +-------------+      +--------------------+      +-----------+
 *         data region:        struct buffer ---------------------> struct ring, pages, descs
 *
 * K0  A ring has one owner: the buffer that gives its memory back. Another buffer may name it, too:
 *     the buffer that it was handed on from, which hits may still see. While one CPU's rings are
 *     swapped, both buffers name it for a moment.
 */
#ifndef TRACEFUSE_SESSION_RING_BOOK_H
#define TRACEFUSE_SESSION_RING_BOOK_H

#include "plane/plane.h"
#include "layout/ring.h"

struct ring_book {
	/* Set once, at create */
	data_ref	ring, pages, descs;
	uint32_t	set, cpu, nr_pages, subbuf_size;

	config_ref	owner;		/* K0: a struct buffer_book */

	/*
	 * How far the ring was read, and what was lost: D1 of read.c. struct ring has floor and
	 * taken, too, for hits.
	 */
	uint64_t	floor;		/* position: nothing before it is read */
	uint64_t	taken;		/* position: consuming readers have had this much */
	uint64_t	floor_entries;	/* how many were written before the floor */
	uint64_t	taken_entries;	/* how many of the consumed records lie behind the floor */
	uint64_t	taken_bytes;
	/* Records that a consuming reader came too late for, counted so far */
	uint64_t	overrun;
	uint64_t	limit;		/* position: all before it counts as overrun */
};

/* What rings of one CPU have counted that are gone: there was no place for them, or no record. */
struct left_out {
	uint64_t	overrun;	/* with the records that could still be read */
	uint64_t	dropped, read;
};

struct buffer_book {
	data_ref	buffer;
	uint32_t	instance;
	uint32_t	subbuf_size;
	uint32_t	nr_sets;	/* beyond the highest set that has rings */
	uint32_t	pad;
	/* K2: the ring of this set and CPU goes; 0: none */
	uint32_t	leaving_set, leaving_cpu;
	struct left_out	leaving;	/* left_out then */
	/* config_ref[nr_cpus] of struct ring_book, 0: none */
	config_ref	sets[BUFFER_MAX_SETS];
	struct left_out	left_out[];	/* by CPU */
};

struct instance_book {
	/* struct buffer_book: the buffers that instance_state.buffers[] is to name */
	config_ref	buffers[2];
	/*
	 * The buffers that replace them. Once one is stored here, the next server completes the
	 * change.
	 */
	config_ref	next[2];
	/* What instance_state.pids and its neighbours are to name */
	data_ref	pids[PIDS_SETS];
	uint32_t	follows;	/* the sets of pids that new tasks join, a bit each */
	uint32_t	used;
};

#endif
