/* SPDX-License-Identifier: MIT */
/*
 * rseq_add.h - x86-64: one restartable add
 */
#ifndef TRACEFUSE_PLANE_ARCH_X86_64_RSEQ_ADD_H
#define TRACEFUSE_PLANE_ARCH_X86_64_RSEQ_ADD_H

#include <stdbool.h>
#include <stdint.h>
#include "plane/arch/x86_64/rseq.h"

/* As RING_TRIES: a thread that is single-stepped never gets to the end. */
enum { RSEQ_ADD_TRIES = 4 };

static inline bool rseq_add(uint64_t *base, uint64_t stride, uint32_t columns, uint64_t v)
{
	struct rseq_area *rs;

	if (!&__rseq_offset)
		return false;
	rs = rseq_area();
	for (unsigned int i = 0; i < RSEQ_ADD_TRIES; i++) {
		int32_t cpu = *(volatile int32_t *)&rs->cpu_id;
		uint64_t *at;

		if ((uint32_t)cpu >= columns)
			return false;
		at = (uint64_t *)((char *)base + (uint32_t)cpu * stride);
		__asm__ __volatile__ goto(
			RSEQ_BEGIN
			"cmpl %[cpu], 4(%[rs])\n\t"
			"jne 4f\n\t"
			"addq %[v], (%[at])\n"
			RSEQ_END("moved")
			: : [rs] "r"(rs), [cpu] "r"(cpu), [at] "r"(at), [v] "r"(v)
			: "rax", "memory", "cc" : moved);
		return true;
moved:
		continue;
	}
	return false;
}

#endif
