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
 * Only the ring's owner stores head. To clear a buffer, the server sets a floor that readers
 * respect. A new size, or sub-buffer size, makes a new buffer, and the old one is retired (R6).
 */
#ifndef TRACEFUSE_PLANE_RING_RING_H
#define TRACEFUSE_PLANE_RING_RING_H

#include <stdbool.h>
#include <stddef.h>
#include "layout/layout.h"

struct plane;
struct session;

/* The data region's structs (struct buffer, struct ring, struct page_desc) are in layout/ring.h. */
#include "layout/ring.h"

/*
 * For the plane. Writes one record into the ring of (writer set, cpu) of a buffer. Its time stamp
 * is `time` (sources), or is read in each try (set 0, or time 0). For set 0 `time` is 0 or what the
 * hit has read from the ring's clock: the record has it if the one before is older (G4 of ring.c).
 * Returns 0 when the record was committed; 1 when it was dropped (no-overwrite and full, recording
 * disabled, no ring) and counted.
 */
int ring_write(const struct plane *p, struct slot *slot, data_ref buffer, uint32_t set,
	       uint32_t cpu, uint64_t time, const void *record, uint32_t size);
/* Whether the thread has to use a lease even if it seems to have restartable sequences. */
static inline bool ring_lease_only(const struct slot *slot)
{
	/* Relaxed: the thread itself has stored it. The bit is the highest one. */
	return atomic_load_explicit(&slot->lease, memory_order_relaxed) / RING_LEASE_ONLY;
}

/* ---- Server ---- */

/*
 * Makes a buffer whose rings hold at least `bytes` each (R3: rounded up to
 * sub-buffers, one page more is allocated than promised, at least two).
 * `sets` writer sets have rings from the start. 0 and *out, or -ENOMEM.
 */
int buffer_create(struct session *s, uint32_t instance, uint32_t nr_cpus, uint32_t subbuf_size,
		  const uint64_t *bytes_per_cpu, uint32_t nr_sets, bool overwrite, data_ref *out);
/* Makes the rings of writer set `set`, if it has none yet. 0, -EINVAL, -ENOMEM */
int buffer_add_set(struct session *s, data_ref buffer, uint32_t set, const uint64_t *bytes_per_cpu);
/* Frees a buffer that was never published */
void buffer_free(struct session *s, data_ref buffer);
void buffer_retire(struct session *s, data_ref buffer);
/* The buffer number `which`, 0 or 1, that the server has published in the instance; 0: none. */
data_ref buffer_published(struct session *s, uint32_t instance, uint32_t which);
/*
 * Publishes `buffer`, 0: none, as that buffer. It takes over rings of the present one as
 * buffer_keep() says; the present one is retired. If the server dies meanwhile, it was done or it
 * was not.
 */
void buffer_publish(struct session *s, uint32_t instance, uint32_t which, data_ref buffer);
/*
 * A new server takes over the buffer that the old one had published, unchanged. 0, -EPROTO, -ENOMEM
 */
int buffer_restore(struct session *s, uint32_t instance, uint32_t which);
/*
 * For a resize: `to`, which is not published yet, gets the records that `from` still has, so that
 * readers see both merged by time. It takes as many as the new rings promise; the rest counts as
 * overrun. They go as new records come. Then the caller publishes `to` and retires `from`. -EINVAL
 * when the sub-buffer sizes differ, -ENOMEM.
 */
int buffer_keep(struct session *s, data_ref from, data_ref to);
/*
 * Gives back rings that the buffer took over and that have no record to read any more. Nothing is
 * done while memory is in limbo, or is held. Iterators of the buffer must be closed before;
 * consumers may stay. Returns whether one went.
 */
bool buffer_drop_kept(struct session *s, data_ref buffer);
/*
 * Exchanges one CPU's rings of a live and a snapshot buffer. -EINVAL: their sub-buffer sizes
 * differ.
 */
int buffer_swap_cpu(struct session *s, data_ref live, data_ref snapshot, uint32_t cpu);
/*
 * Leases: private rings for threads without restartable sequences (R12). A lease stays with its
 * slot: the next thread of the slot continues with its rings. When RING_MAX_LEASES are given, the
 * lease of a free slot is taken. 0, -ENOSPC when there is none, -ENOMEM.
 */
int ring_lease_give(struct session *s, uint32_t slot);
/* Gives leases to the slots for which hits asked. The server calls it every few milliseconds. */
void ring_leases_serve(struct session *s);
/* Readers no longer see what was written before now. cpu -1: all. */
void buffer_clear(struct session *s, data_ref buffer, int cpu);
void buffer_set_overwrite(struct session *s, data_ref buffer, bool on);
/* record_disabled of tracing_cpumask, and closing one CPU. */
void buffer_set_cpu_recording(struct session *s, data_ref buffer, uint32_t cpu, bool on);

/* per_cpu/cpuN/stats, in the file's order. */
struct ring_stats {
	uint64_t	entries, overrun, commit_overrun, bytes, oldest_ts, dropped, read;
};
int buffer_stats(struct session *s, data_ref buffer, uint32_t cpu, struct ring_stats *out);
uint64_t buffer_ring_bytes(struct session *s, data_ref buffer, uint32_t cpu);

/* ---- Reading ---- */

/* One record as a reader sees it. `record` is valid until the next call on the same reader. */
struct ring_record {
	const void	*record;
	uint32_t	size;
	uint32_t	cpu;
	uint64_t	time;
	/* How many records were lost on this CPU right before this one */
	uint64_t	lost;
};

/*
 * Iterates over a buffer in order of time (cpu -1) or over one CPU. It does not consume. It works
 * on copies of pages, so writers may go on (R14).
 */
struct ring_iter;
int ring_iter_open(struct session *s, data_ref buffer, int cpu, struct ring_iter **out);
/*
 * The same for all CPUs. The first record of a ring also says what was overrun since it was
 * cleared.
 */
int ring_iter_open_told(struct session *s, data_ref buffer, struct ring_iter **out);
/* 1: a record, 0: the end, -errno */
int ring_iter_next(struct ring_iter *it, struct ring_record *out);
void ring_iter_close(struct ring_iter *it);
/*
 * Looks at the next record of a CPU that ring_iter_next() has not returned yet, and passes over it.
 * The record is valid until the next call on the same reader.
 */
bool ring_iter_peek_cpu(struct ring_iter *it, uint32_t cpu, struct ring_record *out);
void ring_iter_skip_cpu(struct ring_iter *it, uint32_t cpu);
/* The first and the last time of records that are wanted. */
struct ring_times {
	uint64_t	from, to;
};
/*
 * The next records of one CPU as a sub-buffer, in the form of ring_consume_page(), if they are of
 * those times. *rest is the record that did not fit on the page before, zeroed at first. Nothing
 * else may call ring_iter_next() meanwhile. 1, 0 at the end, -errno.
 */
int ring_iter_page(struct ring_iter *it, const struct ring_times *times, struct ring_record *rest,
		   void *page, uint32_t subbuf_size);

/*
 * Consuming reads (trace_pipe, trace_pipe_raw): a record that is taken is gone for every reader.
 * `buffer` is given with each call, because a resize or a snapshot changes it. They return 1, 0
 * when there is nothing, -errno.
 */
struct ring_consumer;
int ring_consumer_open(struct session *s, int cpu, struct ring_consumer **out);
void ring_consumer_close(struct ring_consumer *c);
/* The next look finds what other rings have got since the last one. */
void ring_consumer_refresh(struct ring_consumer *c);
/* Takes the oldest record. It is valid until the next call. */
int ring_consume(struct ring_consumer *c, data_ref buffer, struct ring_record *out);
/* The same in two steps: ring_take() right after a ring_peek() that returned 1. */
int ring_peek(struct ring_consumer *c, data_ref buffer, struct ring_record *out);
void ring_take(struct ring_consumer *c);
/* The oldest record of a CPU as of the last look; and how to take it. */
bool ring_peek_cpu(struct ring_consumer *c, uint32_t cpu, struct ring_record *out);
void ring_take_cpu(struct ring_consumer *c, uint32_t cpu);
/*
 * Takes up to one sub-buffer of records and writes them to `page` in the kernel's wire format (time
 * stamp, commit word with the missed-events bits, records). The rest of the page is zeroed.
 */
int ring_consume_page(struct ring_consumer *c, data_ref buffer, void *page, uint32_t subbuf_size);
/* How many bytes of full sub-buffers a consuming reader would find. */
uint64_t ring_unread(struct session *s, data_ref buffer, int cpu);
/* Whether a consuming reader would find a record; percent is buffer_percent. */
bool ring_readable(struct session *s, data_ref buffer, int cpu, unsigned int percent);

#endif
