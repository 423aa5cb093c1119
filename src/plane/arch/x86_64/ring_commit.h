/* SPDX-License-Identifier: MIT */
/*
 * ring_commit.h - x86-64: one commit as a restartable sequence
 *
 * Stores are not reordered with stores on x86-64, so the order of the list is
 * the order that readers see.
 */
#ifndef TRACEFUSE_PLANE_ARCH_X86_64_RING_COMMIT_H
#define TRACEFUSE_PLANE_ARCH_X86_64_RING_COMMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "plane/arch/x86_64/rseq.h"

static inline int rseq_cpu(void)
{
	if (!&__rseq_offset)
		return -1;
	return *(volatile int32_t *)&rseq_area()->cpu_id;
}

static inline bool ring_commit_rseq(const struct ring_commit *c, int cpu)
{
	struct rseq_area *rs = rseq_area();

	__asm__ __volatile__ goto(
		RSEQ_BEGIN
		"cmpl %[cpu], 4(%[rs])\n\t"
		"jne %l[failed]\n\t"
		"movq 0(%[c]), %%rdx\n\t"		/* head_at */
		"movq 8(%[c]), %%rax\n\t"
		"cmpq %%rax, (%%rdx)\n\t"
		"jne %l[failed]\n\t"
		"movl 48(%[c]), %%ecx\n\t"
		"leaq 56(%[c]), %%rsi\n"
		"5:	movq (%%rsi), %%rdi\n\t"
		"movq 8(%%rsi), %%rax\n\t"
		"movq %%rax, (%%rdi)\n\t"
		"addq $16, %%rsi\n\t"
		"decl %%ecx\n\t"
		"jnz 5b\n\t"
		"movq 24(%[c]), %%rdi\n\t"
		"movq 32(%[c]), %%rsi\n\t"
		"movl 40(%[c]), %%ecx\n\t"
		"testl %%ecx, %%ecx\n\t"
		"jz 7f\n"
		"6:	movq (%%rsi), %%rax\n\t"
		"movq %%rax, (%%rdi)\n\t"
		"addq $8, %%rsi\n\t"
		"addq $8, %%rdi\n\t"
		"decl %%ecx\n\t"
		"jnz 6b\n"
		"7:	movl 44(%[c]), %%ecx\n\t"
		"testl %%ecx, %%ecx\n\t"
		"jz 9f\n"
		"8:	movb (%%rsi), %%al\n\t"
		"movb %%al, (%%rdi)\n\t"
		"incq %%rsi\n\t"
		"incq %%rdi\n\t"
		"decl %%ecx\n\t"
		"jnz 8b\n"
		"9:	movq 16(%[c]), %%rax\n\t"
		"movq %%rax, (%%rdx)\n"			/* the commit */
		RSEQ_END("failed")
		: : [rs] "r"(rs), [cpu] "r"(cpu), [c] "r"(c)
		: "rax", "rcx", "rdx", "rsi", "rdi", "memory", "cc" : failed);
	return true;
failed:
	return false;
}

/* It uses few registers, so that it can be assembled without optimisation, too. */
static inline bool ring_commit_short(const struct ring_short *w, int cpu)
{
	struct rseq_area *rs = rseq_area();

	__asm__ __volatile__ goto(
		RSEQ_BEGIN "movl %[cpu], %%eax\n\t"
			   "cmpl %%eax, 4(%[rs])\n\t"
			   "jne %l[failed]\n\t"
			   "cmpq %[head], (%[head_at])\n\t"
			   "jne %l[failed]\n\t"
			   "movl %[header], (%[at])\n\t"
			   "xorl %%ecx, %%ecx\n"
			   "5:	movq (%[src], %%rcx), %%rax\n\t"
			   "movq %%rax, 4(%[at], %%rcx)\n\t"
			   "addq $8, %%rcx\n\t"
			   "cmpq %[last], %%rcx\n\t"
			   "jb 5b\n\t"
			   "movq %[last], %%rcx\n\t"
			   "movq (%[src], %%rcx), %%rax\n\t"
			   "movq %%rax, 4(%[at], %%rcx)\n\t"
			   "movq %[time], (%[tail])\n\t"
			   "movq %[entries], %%rax\n\t"
			   "movq %%rax, 8(%[tail])\n\t"
			   "movq %[next], %%rax\n\t"
			   "movq %%rax, (%[head_at])\n" /* the commit */
		RSEQ_END("failed")
		:
		: [rs] "r"(rs), [cpu] "m"(cpu), [head_at] "r"(&w->ring->head), [head] "r"(w->head),
		  [at] "r"(w->at), [src] "r"(w->src), [last] "m"(w->last), [header] "r"(w->header),
		  [tail] "r"(w->tail), [time] "r"(w->time), [entries] "m"(w->entries),
		  [next] "m"(w->next_head)
		: "rax", "rcx", "memory", "cc"
		: failed);
	return true;
failed:
	return false;
}

_Static_assert(offsetof(struct ring_tail, time) == 0 && offsetof(struct ring_tail, entries) == 8,
	       "the section above knows the offsets");
_Static_assert(offsetof(struct ring_commit, stores) == 56, "the section above knows the offsets");
_Static_assert(offsetof(struct ring_commit, nr_stores) == 48,
	       "the section above knows the offsets");

#endif
