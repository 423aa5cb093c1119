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
#include "plane/plane.h"

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

/*
 * %rax: where the header goes, %rdx: head; else `failed`. The order of the loads does not matter,
 * as it does in aim(): no other writer of the ring runs between them.
 */
#define RING_SHORT_AIM								\
	"movq %c[head](%[r]), %%rdx\n\t"					\
	"movq %c[page_end](%[r]), %%rcx\n\t"					\
	"movq %%rdx, %%rax\n\t"							\
	"shrq %%rax\n\t"			/* the position */		\
	"movl %c[subbuf_size](%[r]), %%esi\n\t"					\
	"subq %%rax, %%rcx\n\t"		/* the rest of the page */		\
	"leaq 4(%[size]), %%rdi\n\t"						\
	"cmpq %%rsi, %%rcx\n\t"							\
	"jae %l[failed]\n\t"							\
	"cmpq %%rdi, %%rcx\n\t"							\
	"jb %l[failed]\n\t"							\
	"addq %c[base](%[r]), %%rax\n\t"					\
	"andq %c[mask](%[p]), %%rax\n\t"					\
	"addq %c[data](%[p]), %%rax\n\t"

/* The header, delta << 5 | size / 4, and the tail that head does not name; else `failed`. */
#define RING_SHORT_HEADER							\
	"movl %%edx, %%esi\n\t"							\
	"andl $1, %%esi\n\t"							\
	"shll $4, %%esi\n\t"							\
	"movq %[time], %%rcx\n\t"						\
	"addq %[r], %%rsi\n\t"		/* + tail: the last record's */		\
	"subq %c[tail](%%rsi), %%rcx\n\t"					\
	"cmpq %[most], %%rcx\n\t"						\
	"ja %l[failed]\n\t"							\
	"shlq $7, %%rcx\n\t"							\
	"addq %[size], %%rcx\n\t"						\
	"shrq $2, %%rcx\n\t"							\
	"movl %%ecx, (%%rax)\n\t"						\
	"movq 8 + %c[tail](%%rsi), %%rcx\n\t"					\
	"xorq $16, %%rsi\n\t"			/* the other tail */		\
	"incq %%rcx\n\t"							\
	"movq %[time], %c[tail](%%rsi)\n\t"					\
	"movq %%rcx, 8 + %c[tail](%%rsi)\n\t"

/* The record behind the header, from its end: the odd word, then two words at a time. */
#define RING_SHORT_COPY								\
	"movl %k[size], %%ecx\n\t"						\
	"testb $4, %%cl\n\t"							\
	"jz 5f\n\t"								\
	"subl $4, %%ecx\n\t"							\
	"movl (%[src], %%rcx), %%esi\n\t"					\
	"movl %%esi, 4(%%rax, %%rcx)\n"						\
	"5:	movl -4(%[src], %%rcx), %%esi\n\t"				\
	"movl -8(%[src], %%rcx), %%edi\n\t"					\
	"movl %%esi, (%%rax, %%rcx)\n\t"					\
	"movl %%edi, -4(%%rax, %%rcx)\n\t"					\
	"subl $8, %%ecx\n\t"							\
	"jnz 5b\n\t"

#define RING_FIELD(name) [name] "i"(offsetof(struct ring, name))

static inline bool ring_commit_short(const struct plane *p, struct ring *r, uint64_t time,
				     const void *record, uint64_t size)
{
	struct rseq_area *rs = rseq_area();

	__asm__ __volatile__ goto(
		RSEQ_BEGIN
		"movl %c[cpu](%[r]), %%eax\n\t"
		"cmpl %%eax, 4(%[rs])\n\t"
		"jne %l[failed]\n\t"
		RING_SHORT_AIM
		RING_SHORT_HEADER
		"leaq 8(%%rdx, %[size], 2), %%rdx\n\t"	/* head is twice the position */
		"xorq $1, %%rdx\n\t"
		RING_SHORT_COPY
		"movq %%rdx, %c[head](%[r])\n"		/* the commit */
		RSEQ_END("failed")
		:
		: [rs] "r"(rs), [r] "r"(r), [p] "r"(p), [time] "r"(time), [src] "r"(record),
		  [size] "r"(size), RING_FIELD(cpu), RING_FIELD(head), RING_FIELD(page_end),
		  RING_FIELD(subbuf_size), RING_FIELD(base), RING_FIELD(tail),
		  [mask] "i"(offsetof(struct plane, data_mask)),
		  [data] "i"(offsetof(struct plane, data)), [most] "i"((1 << RING_DELTA_BITS) - 1)
		: "rax", "rcx", "rdx", "rsi", "rdi", "memory", "cc"
		: failed);
	return true;
failed:
	return false;
}

#undef RING_SHORT_AIM
#undef RING_SHORT_HEADER
#undef RING_SHORT_COPY
#undef RING_FIELD

_Static_assert(_Alignof(struct ring) % 32 == 0 && sizeof(struct ring_tail) == 16,
	       "an exclusive or leads from one tail to the other");
_Static_assert(offsetof(struct ring_tail, time) == 0 && offsetof(struct ring_tail, entries) == 8,
	       "the section above knows the offsets");
_Static_assert(offsetof(struct ring_commit, stores) == 56, "the section above knows the offsets");
_Static_assert(offsetof(struct ring_commit, nr_stores) == 48,
	       "the section above knows the offsets");

#endif
