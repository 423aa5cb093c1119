/* SPDX-License-Identifier: MIT */
/*
 * clock.c - what each trace_clock reads
 */
#include "plane/arch/counter.h"
#include "plane/clock.h"

/* The kernel's ABI fixes the numbers of the system's clocks. */
enum { SYSTEM_MONO = 1, SYSTEM_MONO_RAW = 4, SYSTEM_BOOT = 7, SYSTEM_TAI = 11 };
enum { JIFFY_NS = 10000000 };

static uint64_t clock_local(const struct clock_scale *scale)
{
	return scale->valid ? clock_scaled(scale, counter_read()) : clock_system(SYSTEM_MONO);
}

uint64_t clock_now(const struct clock_scale *scale, struct instance_state *inst)
{
	/* Relaxed: the server stores it; a hit uses the value that it finds. */
	uint32_t id = atomic_load_explicit(&inst->clock, memory_order_relaxed);

	if (__builtin_expect(clock_is_counter(id) && scale->valid, 1))
		return clock_scaled(scale, counter_read());
	switch (id) {
	case CLOCK_ID_COUNTER:
		/* Relaxed: each number is given once; nothing else depends on the order. */
		return atomic_fetch_add_explicit(&inst->counter, 1, memory_order_relaxed) + 1;
	case CLOCK_ID_UPTIME:
		return clock_system(SYSTEM_MONO) / JIFFY_NS;
	case CLOCK_ID_MONO:
		return clock_system(SYSTEM_MONO);
	case CLOCK_ID_MONO_RAW:
		return clock_system(SYSTEM_MONO_RAW);
	case CLOCK_ID_BOOT:
		return clock_system(SYSTEM_BOOT);
	case CLOCK_ID_TAI:
		return clock_system(SYSTEM_TAI);
	case CLOCK_ID_X86_TSC:
		return counter_read();
	default:
		return clock_local(scale);
	}
}
