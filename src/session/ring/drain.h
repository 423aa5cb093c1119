/* SPDX-License-Identifier: MIT */
/*
 * drain.h - whole pages of a buffer for a reader that maps the session's memory itself
 *
 * Included by tracefs and by the command that drains (cli/drain).
 *
 *     reader                                   server
 *     ring_drain_next()   -------------------> where the next whole pages lie
 *     writes them to its file, from its map
 *     ring_drain_next()   -------------------> takes them; where the next ones lie
 *
 * So the bytes of a page are copied once, from the session's memory to the file. A page is taken
 * after it was written: a reader that dies leaves its records in the ring.
 */
#ifndef TRACEFUSE_SESSION_RING_DRAIN_H
#define TRACEFUSE_SESSION_RING_DRAIN_H

#include <stdint.h>
#include "layout/layout.h"

struct session;
struct ring_drain;

enum {
	/*
	 * drain_page.end: several rings have records of the CPU, or a page was taken in part. The
	 * reader has to read trace_pipe_raw, which merges and encodes them: at most `at` pages,
	 * because to read makes records, too, where the kernel's scheduler is traced.
	 */
	DRAIN_MERGE	= 0,
	/*
	 * The pages of the CPU that the last call returned were not taken. They were
	 * overwritten, another reader took them, or the buffer was replaced. The reader drops
	 * what it wrote.
	 */
	DRAIN_REFUSED	= 1,
	/* The reader reads no more pages of trace_pipe_raw for one answer. */
	DRAIN_MERGED_MOST = 64,
};

struct drain_page {
	uint64_t	at;		/* where it begins in the data region; a number of pages */
	uint64_t	lost;		/* how many records were lost before it */
	uint32_t	end;		/* bytes in use, header included; or one of the above */
	uint32_t	cpu;
};

/* What the file trace_pages has: this, then the pages. */
struct drain_answer {
	uint32_t	subbuf_size;
	uint32_t	nr;
	/*
	 * 1: the next read is due at once. Else a reader may wait: a read costs changes of tasks,
	 * so few large ones are better than many small ones.
	 */
	uint32_t	behind;
	uint32_t	pad;
};

/* 0, -ENOMEM */
int ring_drain_open(struct session *s, struct ring_drain **out);
void ring_drain_close(struct ring_drain *d);
/*
 * Takes the pages of the last call and returns how many elements of `out` it has filled with the
 * next ones. The pages of a CPU are in their order. Each CPU gets its share of `max`.
 */
uint32_t ring_drain_next(struct ring_drain *d, data_ref buffer, struct drain_page *out,
			 uint32_t max);

#endif
