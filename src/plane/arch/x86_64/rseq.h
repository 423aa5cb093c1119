/* SPDX-License-Identifier: MIT */
/*
 * rseq.h - x86-64: the begin and the end of every restartable section; for rseq_add.h and
 * ring_commit.h
 *
 *     asm goto (RSEQ_BEGIN            the section's descriptor, and rs->rseq_cs points to it
 *               "cmpl ..., 4(%[rs])"  label 1: the section's first instruction; 4: rs->cpu_id
 *               ...
 *               "movq ..."            its last: the commit
 *               RSEQ_END("failed")    label 2: behind it; label 4: the kernel comes here after an
 *                                     abort
 *               : : [rs] "r"(rs), ... : "rax", ... : failed);
 *
 * rax is clobbered. The kernel accepts an abort address only if the signature precedes it. The
 * signature is the operand of an undefined instruction (ud1).
 */
#ifndef TRACEFUSE_PLANE_ARCH_X86_64_RSEQ_H
#define TRACEFUSE_PLANE_ARCH_X86_64_RSEQ_H

#include <stddef.h>
#include <stdint.h>

/* The offset of the thread's rseq area in the C library's TLS. Old libraries do not have it. */
extern const ptrdiff_t __rseq_offset __attribute__((weak));

struct rseq_area {
	uint32_t	cpu_id_start;
	int32_t		cpu_id;		/* negative: not registered */
	uint64_t	rseq_cs;
};

/* To be called only if &__rseq_offset is not NULL. */
static inline struct rseq_area *rseq_area(void)
{
	return (struct rseq_area *)((char *)__builtin_thread_pointer() + __rseq_offset);
}

/* struct rseq_cs: version and flags, start, length, the address for an abort. */
#define RSEQ_BEGIN					\
	".pushsection __rseq_cs, \"aw\"\n\t"		\
	".balign 32\n"					\
	"3:	.long 0, 0\n\t"				\
	".quad 1f, 2f - 1f, 4f\n\t"			\
	".popsection\n\t"				\
	"leaq 3b(%%rip), %%rax\n\t"			\
	"movq %%rax, 8(%[rs])\n"			\
	"1:	"

#define RSEQ_END(label)					\
	"2:\n\t"					\
	".pushsection __rseq_failure, \"ax\"\n\t"	\
	".byte 0x0f, 0xb9, 0x3d\n\t"			\
	".long 0x53053053\n"				\
	"4:	jmp %l[" label "]\n\t"			\
	".popsection\n"

_Static_assert(offsetof(struct rseq_area, cpu_id) == 4 && offsetof(struct rseq_area, rseq_cs) == 8,
	       "the sections know the offsets");

#endif
