/* SPDX-License-Identifier: MIT */
/*
 * rseq_add.h - x86-64: one restartable add
 */
#ifndef TRACEFUSE_PLANE_ARCH_X86_64_RSEQ_ADD_H
#define TRACEFUSE_PLANE_ARCH_X86_64_RSEQ_ADD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The thread's area in the C library's TLS; absent in old ones. */
extern const ptrdiff_t __rseq_offset __attribute__((weak));

struct rseq_area {
	uint32_t	cpu_id_start;
	int32_t		cpu_id;		/* negative: not registered */
	uint64_t	rseq_cs;
};

static inline bool rseq_add(uint64_t *base, uint64_t stride, uint32_t columns, uint64_t v)
{
	struct rseq_area *rs;

	if (!&__rseq_offset)
		return false;
	rs = (struct rseq_area *)((char *)__builtin_thread_pointer() + __rseq_offset);
	for (;;) {
		int32_t cpu = *(volatile int32_t *)&rs->cpu_id;
		uint64_t *at;

		if ((uint32_t)cpu >= columns)
			return false;
		at = (uint64_t *)((char *)base + (uint32_t)cpu * stride);
		__asm__ __volatile__ goto(
			".pushsection __rseq_cs, \"aw\"\n\t"
			".balign 32\n"
			"3:	.long 0, 0\n\t"
			".quad 1f, 2f - 1f, 4f\n\t"
			".popsection\n\t"
			"leaq 3b(%%rip), %%rax\n\t"
			"movq %%rax, 8(%[rs])\n"
			"1:	cmpl %[cpu], 4(%[rs])\n\t"
			"jne 4f\n\t"
			"addq %[v], (%[at])\n"
			"2:\n\t"
			".pushsection __rseq_failure, \"ax\"\n\t"
			".byte 0x0f, 0xb9, 0x3d\n\t"
			".long 0x53053053\n"
			"4:	jmp %l[moved]\n\t"
			".popsection\n"
			: : [rs] "r"(rs), [cpu] "r"(cpu), [at] "r"(at), [v] "r"(v)
			: "rax", "memory", "cc" : moved);
		return true;
moved:
		continue;
	}
}

#endif
