/* SPDX-License-Identifier: MIT */
/*
 * record.h - reads a kernel's record for a hit
 *
 * Recordings and the running kernel have the same records.
 */
#ifndef TRACEFUSE_SOURCES_RECORD_H
#define TRACEFUSE_SOURCES_RECORD_H

#include "plane/plane.h"
#include "sources/recording/file/subbuf.h"
#include "sources/stack_probes.h"

enum {
	/* The tracepoint, the reserved record and the histogram each hold preemption off. */
	RECORD_SYNTH_PREEMPT = 3,
};

/* common_flags */
enum { FLAG_HARDIRQ = 0x08, FLAG_SOFTIRQ = 0x10, FLAG_NMI = 0x40 };

/*
 * The context of a record, by its flags: task, softirq, hardirq, NMI. For the stack of a trigger
 * the kernel takes 1 from the word of flags and preempt_count, whose lower bits are 0 if no
 * tracepoint has called it: a marker's.
 */
static inline unsigned int record_level(const uint8_t *record)
{
	const unsigned int flags = (uint8_t)(record[2] + (record[3] == 0xff));

	if (__builtin_expect(!(flags & (FLAG_HARDIRQ | FLAG_SOFTIRQ | FLAG_NMI)), 1))
		return 0;
	if (flags & FLAG_NMI)
		return 3;
	return flags & FLAG_HARDIRQ ? 2 : flags & FLAG_SOFTIRQ ? 1 : 0;
}

/*
 * Whether a stack is that of a program, by its first address. `whole`: the words are those of a
 * kernel of 64 bits with little-endian words, whose own addresses have the highest bit.
 */
static inline bool record_is_of_program(uint64_t addr, bool whole)
{
	return whole && !(addr >> 63);
}

/*
 * Sets the hit's stack from a kernel_stack record, whose addresses begin at offset `at`; `room` has
 * LAYOUT_STACK_MAX entries and outlives the hit. The first address is in the function through which
 * the event is called (__traceiter_NAME, or the caller of the tracepoint), or one of `probes` comes
 * before that. The kernel's histograms do not show these. Stacks of programs have none (`whole`: as
 * above).
 */
static inline void record_stack(const struct subbuf_record *stack, uint32_t at,
				const struct stack_probes *probes, bool whole, uint64_t *room,
				struct hit *h)
{
	const uint32_t most = stack->size > at ? (stack->size - at) / 8 : 0;
	uint32_t nr = stack->size >= 12 ? subbuf_u32(stack->data + 8) : 0, hidden;

	if (nr > most)
		nr = most;
	if (nr > LAYOUT_STACK_MAX)
		nr = LAYOUT_STACK_MAX;
	memcpy(room, stack->data + at, nr * 8);
	hidden = !nr || record_is_of_program(room[0], whole)
			 ? 0 : 1u + stack_probes_has(probes, room[0]);
	if (hidden > nr)
		hidden = nr;
	h->stack = room + hidden;
	h->nr_stack = nr - hidden;
	h->stack_record = stack->data;
	h->stack_size = stack->size;
	h->stack_time = stack->time;
	h->stack_early = whole && stack->early <= UINT32_MAX ? (uint32_t)stack->early : 0;
}

#endif
