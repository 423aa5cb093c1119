/* SPDX-License-Identifier: MIT */
/*
 * cpu.h - what one CPU of the running kernel has recorded: its pages, and a cursor in them
 *
 *     slots   [ passed | passed | in use | read | read | free ... ]
 *                                          ^ next        ^ tail
 *
 * A page is read into a slot as the kernel has it. read(2) of trace_pipe_raw gives whole pages
 * while there are any, then what the page has that is being written, then what has come to it
 * since, and EAGAIN. Nothing in a page says whether another one follows. A page that begins after
 * the moment of reading ends it: so the writer is not chased, and all that came before was read.
 */
#ifndef TRACEFUSE_SOURCES_LIVE_CPU_H
#define TRACEFUSE_SOURCES_LIVE_CPU_H

#include <stdbool.h>

#include "sources/recording/file/subbuf.h"

enum {
	LIVE_SLOTS	= 24,	/* pages of a CPU that wait for their turn, at most */
};

struct live_cpu {
	struct subbuf_record record;	/* the next one */
	bool		has;		/* there is one */
	uint32_t	cpu;
	uint32_t	page_size;
	int		fd;		/* -1: not open */
	int		stats;		/* the kernel's counts; -1: not open */
	bool		by_stats;	/* they tell what was lost */
	uint64_t	lost_before;	/* in buffers that were open before */
	unsigned int	next, tail;
	uint8_t		*slots;
	struct subbuf	page;		/* in use */
	uint64_t	complete;	/* all that was recorded up to then has been read */
	/* totals */
	uint64_t	lost;		/* overwritten before they were read */
	uint64_t	discarded;	/* read, but by no clock of ours */
	uint64_t	damaged;	/* pages that could not be understood to their end */
	uint64_t	records;
	uint64_t	untimed;	/* records with the time of the one before */
};

/* A place behind the present record; valid until the next call that reads or passes. */
struct live_peek {
	struct subbuf	page;
	unsigned int	next;
};

/* dir: of per_cpu/cpuN. Totals stay, so *c is 0 at the first time. 0 or -errno */
int live_cpu_open(struct live_cpu *c, int dir, uint32_t cpu, uint32_t page_size);
void live_cpu_close(struct live_cpu *c);
/*
 * Reads what there is, as far as there is room. `now`: the kernel's clock, read before. Returns
 * whether there may be more.
 */
bool live_cpu_read(struct live_cpu *c, uint64_t now);
/*
 * What was read and has not passed has times of another clock: it counts as discarded. The kernel
 * has emptied the buffer, and counts from 0 again.
 */
void live_cpu_discard(struct live_cpu *c);
/* The record is passed: c->record is the next one, if c->has. */
void live_cpu_next(struct live_cpu *c);
/* The records behind the present one, one after the other, as far as they have been read. */
struct live_peek live_cpu_peek_begin(const struct live_cpu *c);
bool live_cpu_peek(const struct live_cpu *c, struct live_peek *peek, struct subbuf_record *out);

#endif
