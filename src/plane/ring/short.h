/* SPDX-License-Identifier: MIT */
/*
 * short.h - the short way of a hit into the ring of set 0: a few words behind the last record
 *
 * hit.c has it inline: it is as long as the saving of registers around a call.
 */
#ifndef TRACEFUSE_PLANE_RING_SHORT_H
#define TRACEFUSE_PLANE_RING_SHORT_H

#include "plane/arch/ring_commit.h"
#include "plane/clock.h"
#include "plane/plane.h"
#include "plane/ring/ring.h"

static inline struct ring *ring_of(const struct plane *p, const struct buffer *b, uint32_t set,
				   uint32_t cpu)
{
	const uint32_t nr_cpus = plane_header(p)->nr_cpus;	/* G6 of ring.c */
	data_ref ref;

	if (set >= BUFFER_MAX_SETS || cpu >= nr_cpus)
		return NULL;
	/* Acquire: pairs with the release in buffer_add_set(). */
	ref = atomic_load_explicit(&b->rings[set * nr_cpus + cpu], memory_order_acquire);
	return ref ? plane_data(p, ref) : NULL;
}

/* Relaxed: the server stores it (tracing_cpumask); a hit uses the value that it finds. */
static inline bool ring_is_disabled(const struct ring *r)
{
	return atomic_load_explicit(&r->disabled, memory_order_relaxed);
}

static inline bool ring_is_short(uint32_t size)
{
	return !(size & 3) && size - RING_SHORT_MIN <= RING_MAX_SMALL - RING_SHORT_MIN;
}

/* Whether the instance's clock is the counter, with the scale that it has mostly. */
static inline bool ring_reads_counter(const struct clock_scale *scale, struct instance_state *inst)
{
	/* Relaxed: the server stores it; a hit uses the value that it finds. */
	const uint32_t id = atomic_load_explicit(&inst->clock, memory_order_relaxed);

	return clock_is_counter(id) && scale->valid && scale->shift == 64;
}

/*
 * *r: the ring of set 0 of the CPU that the thread runs on. 0, or what ring_write_short() returns
 * without a record.
 */
static inline __attribute__((always_inline)) int ring_short_find(const struct plane *p,
								 const struct buffer *b,
								 uint32_t size, struct ring **r)
{
	const int cpu = rseq_cpu();

	if (cpu < 0 || !ring_is_short(size))
		return -1;
	*r = ring_of(p, b, 0, (uint32_t)cpu);
	return !*r || ring_is_disabled(*r);
}

/*
 * For what most hits of running threads are. 0: committed, 1: not recorded, -1: ring_write() has to
 * do it. The slot must not have RING_LEASE_ONLY.
 */
static inline __attribute__((always_inline)) int
ring_write_short(const struct plane *p, struct instance_state *inst, const struct buffer *b,
		 const void *record, uint32_t size)
{
	const struct clock_scale *scale = &plane_header(p)->tsc;
	uint64_t time;
	struct ring *r;
	int rc = ring_short_find(p, b, size, &r);

	if (rc)
		return rc;
	if (!ring_reads_counter(scale, inst))
		return -1;
	time = clock_scaled(scale, counter_read());
	return ring_commit_short(p, r, time, record, size) ? 0 : -1;
}

#endif
