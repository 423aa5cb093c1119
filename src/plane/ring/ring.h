/* SPDX-License-Identifier: MIT */
/*
 * ring.h - the ring buffer (R11 .. R14)
 *
 * A buffer belongs to an instance (one live, one snapshot). It has one ring for
 * each (writer set, CPU label). A ring is written by the threads of its set on
 * its CPU (set 0: restartable sequences), or by one process with plain stores
 * (sources), or by the thread that leased it. Its pages have the kernel's own
 * sub-buffer format.
 *
 *     struct buffer -> ring[set * nr_cpus + cpu] -> page descriptors, pages
 *
 *     head = position of the next byte, counted from the ring's birth:
 *            page sequence s = head / subbuf_size, its place in memory s % N
 *
 * Only the ring's owner stores head. Clear is a floor that readers respect;
 * resize and sub-buffer size make a new buffer, the old one is retired (R6).
 */
#ifndef TRACEFUSE_PLANE_RING_RING_H
#define TRACEFUSE_PLANE_RING_RING_H

#include <stdbool.h>
#include <stddef.h>
#include "layout/layout.h"

struct plane;
struct slot;
struct session;

/* The data region's structs (struct buffer, struct ring, struct page_desc) are in layout/ring.h. */
#include "layout/ring.h"

/*
 * Plane. Writes one record into the ring of (writer set, cpu) of a buffer, with
 * the time stamp `time` (sources) or one that is read after head on every try
 * (set 0, or time 0). Of set 0 `time` is 0 or what the hit has read from the
 * ring's clock: the record has it if the one before is older (G4). Returns
 * 0 when it was committed; 1 when it was dropped (no-overwrite and full,
 * recording disabled, no ring) and counted.
 */
int ring_write(const struct plane *p, struct slot *slot, data_ref buffer, uint32_t set,
	       uint32_t cpu, uint64_t time, const void *record, uint32_t size);

/* ---- Server ---- */


/*
 * Makes a buffer whose rings hold at least `bytes` each (R3: rounded up to
 * sub-buffers, one page more is allocated than promised, at least two).
 * `sets` writer sets have rings from the start. 0 and *out, or -ENOMEM.
 */
int buffer_create(struct session *s, uint32_t instance, uint32_t nr_cpus, uint32_t subbuf_size,
		  const uint64_t *bytes_per_cpu, uint32_t nr_sets, bool overwrite, data_ref *out);
/* Gives writer set `set` its rings, where it has none yet. 0, -EINVAL, -ENOMEM */
int buffer_add_set(struct session *s, data_ref buffer, uint32_t set, const uint64_t *bytes_per_cpu);
void buffer_free(struct session *s, data_ref buffer);	/* one that was never published */
void buffer_retire(struct session *s, data_ref buffer);
/* What the server has made the instance's buffer number `which`, 0 or 1; 0: none. */
data_ref buffer_published(struct session *s, uint32_t instance, uint32_t which);
/*
 * Makes that `buffer`, 0: none, with what buffer_keep() takes over of the one that
 * is there, which is retired. A server that dies meanwhile has done it or not.
 */
void buffer_publish(struct session *s, uint32_t instance, uint32_t which, data_ref buffer);
/* A new server takes over what the old one had made it, as it is. 0, -EPROTO, -ENOMEM */
int buffer_restore(struct session *s, uint32_t instance, uint32_t which);
/*
 * For a resize: `to`, not published yet, gets what `from` still has, so that
 * readers see both merged by time. As much of it as the new rings promise stays
 * (the rest counts as overrun) and goes as new records come. Then publish `to`,
 * and retire `from`. -EINVAL when the sub-buffer sizes differ, -ENOMEM.
 */
int buffer_keep(struct session *s, data_ref from, data_ref to);
/* Exchanges one CPU's rings of a live and a snapshot buffer of equal sub-buffer size; -EINVAL. */
int buffer_swap_cpu(struct session *s, data_ref live, data_ref snapshot, uint32_t cpu);
/*
 * Leases: private rings for threads without restartable sequences (R12). A
 * lease stays with its slot; the thread that gets the slot after a dead one goes on
 * with its rings. 0, -ENOSPC when RING_MAX_LEASES are given, -ENOMEM.
 */
int ring_lease_give(struct session *s, uint32_t slot);
/* Gives leases to those that hits asked for; the server calls it every few milliseconds. */
void ring_leases_serve(struct session *s);
/*
 * Program: before a thread's first hit. Asks and waits up to 100 ms for its lease where it needs
 * one.
 */
void ring_lease_await(struct slot *slot);
/* Readers see nothing of what was written before now. cpu -1: all. */
void buffer_clear(struct session *s, data_ref buffer, int cpu);
void buffer_set_overwrite(struct session *s, data_ref buffer, bool on);
/* record_disabled of tracing_cpumask and per-CPU closing. */
void buffer_set_cpu_recording(struct session *s, data_ref buffer, uint32_t cpu, bool on);

/* per_cpu/cpuN/stats, in the file's order. */
struct ring_stats {
	uint64_t	entries, overrun, commit_overrun, bytes, oldest_ts, dropped, read;
};
int buffer_stats(struct session *s, data_ref buffer, uint32_t cpu, struct ring_stats *out);
uint64_t buffer_ring_bytes(struct session *s, data_ref buffer, uint32_t cpu);

/* ---- Reading ---- */

/* One record as a reader sees it; `record` stays valid until the next call on the same reader. */
struct ring_record {
	const void	*record;
	uint32_t	size;
	uint32_t	cpu;
	uint64_t	time;
	uint64_t	lost;		/* records lost on this CPU directly before this one */
};

/*
 * Iterates over a buffer in order of time (cpu -1) or over one CPU, without
 * consuming. It works on copies of pages, so writers may go on (R14).
 */
struct ring_iter;
int ring_iter_open(struct session *s, data_ref buffer, int cpu, struct ring_iter **out);
/* The same of all CPUs; the first record of a ring tells what was overrun since it was cleared. */
int ring_iter_open_told(struct session *s, data_ref buffer, struct ring_iter **out);
/* 1: a record, 0: the end, -errno */
int ring_iter_next(struct ring_iter *it, struct ring_record *out);
void ring_iter_close(struct ring_iter *it);
/*
 * The next record of a CPU that ring_iter_next() has not given yet, and passing over it. The record
 * stays valid until the next call on the same reader.
 */
bool ring_iter_peek_cpu(struct ring_iter *it, uint32_t cpu, struct ring_record *out);
void ring_iter_skip_cpu(struct ring_iter *it, uint32_t cpu);
/*
 * The next records of one CPU as a sub-buffer, as ring_consume_page() has them. *held is what did
 * not fit on the page before, zeroed at first; nobody else calls ring_iter_next(). 1, 0 at the end,
 * -errno.
 */
int ring_iter_page(struct ring_iter *it, struct ring_record *held, void *page,
		   uint32_t subbuf_size);

/*
 * Consuming reads (trace_pipe, trace_pipe_raw): what was taken is gone for
 * every reader. `buffer` is given with each call because a resize or a snapshot
 * changes it. Return 1, 0 when there is nothing, -errno.
 */
struct ring_consumer;
int ring_consumer_open(struct session *s, int cpu, struct ring_consumer **out);
void ring_consumer_close(struct ring_consumer *c);
/* Takes the oldest record; it stays valid until the next call. */
int ring_consume(struct ring_consumer *c, data_ref buffer, struct ring_record *out);
/* The same in two steps; ring_take() directly after a ring_peek() that gave 1. */
int ring_peek(struct ring_consumer *c, data_ref buffer, struct ring_record *out);
void ring_take(struct ring_consumer *c);
/* The oldest record of a CPU as of the last look, and taking it. */
bool ring_peek_cpu(struct ring_consumer *c, uint32_t cpu, struct ring_record *out);
void ring_take_cpu(struct ring_consumer *c, uint32_t cpu);
/*
 * Takes up to one sub-buffer's worth of records and writes them to `page` in
 * the kernel's wire format (time stamp, commit word with the missed-events
 * bits, records); the rest of the page is zeroed.
 */
int ring_consume_page(struct ring_consumer *c, data_ref buffer, void *page, uint32_t subbuf_size);
/* Whether a consuming reader would find something; percent as buffer_percent. */
bool ring_readable(struct session *s, data_ref buffer, int cpu, unsigned int percent);

#endif
