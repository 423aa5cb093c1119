/* SPDX-License-Identifier: MIT */
/*
 * clock.h - trace_clock: time stamps of hits (R18)
 *
 * local, global and perf are the time stamp counter scaled to nanoseconds; mono, mono_raw, boot and
 * tai are the system's clocks; uptime counts jiffies of 10 ms, as the kernel's file does; counter
 * grows by one for each record; x86-tsc is the raw counter.
 */
#ifndef TRACEFUSE_PLANE_CLOCK_H
#define TRACEFUSE_PLANE_CLOCK_H

#include <stdbool.h>
#include "plane/arch/counter.h"
#include "layout/layout.h"

uint64_t clock_now(const struct clock_scale *scale, struct instance_state *inst);

/*
 * Ticks of the counter to nanoseconds. With a shift of 64 the result is the upper half of the
 * product: nothing is shifted.
 */
static inline uint64_t clock_scaled(const struct clock_scale *scale, uint64_t ticks)
{
	if (__builtin_expect(scale->shift == 64, 1))
		return (uint64_t)(((unsigned __int128)ticks * scale->mult) >> 64) +
		       (uint64_t)scale->offset;
	return (uint64_t)(((unsigned __int128)ticks * scale->mult) >> scale->shift) +
	       (uint64_t)scale->offset;
}

/* The clocks that read the scaled counter where it is constant. The shortcuts treat them alike. */
static inline bool clock_is_counter(uint32_t id)
{
	return id <= CLOCK_ID_GLOBAL || id == CLOCK_ID_PERF;
}

/* clock_now(), without a call if the clock `id` of the instance is the counter. */
static inline uint64_t clock_read_by(const struct clock_scale *scale, struct instance_state *inst,
				     uint32_t id)
{
	if (__builtin_expect(clock_is_counter(id) && scale->valid, 1))
		return clock_scaled(scale, counter_read());
	return clock_now(scale, inst);
}

static inline uint64_t clock_read(const struct clock_scale *scale, struct instance_state *inst)
{
	/* Relaxed: the server stores it; a hit uses the value that it finds. */
	return clock_read_by(scale, inst,
			     atomic_load_explicit(&inst->clock, memory_order_relaxed));
}

/* For the server: measures the scale of this machine's counter against CLOCK_MONOTONIC. */
void clock_calibrate(struct clock_scale *out);

#endif
