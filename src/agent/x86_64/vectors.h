/* SPDX-License-Identifier: MIT */
/*
 * vectors.h - x86-64: the lowest 8 bytes of xmm0 to xmm31, which ymm and zmm share; %gs's base
 *
 * Source: Intel's Software Developer's Manual, volume 1, chapter 13: FXSAVE's and XSAVE's area. The
 * registers from 16 on are where the processor says: component 7.
 */
#ifndef TRACEFUSE_AGENT_X86_64_VECTORS_H
#define TRACEFUSE_AGENT_X86_64_VECTORS_H

#include <stdatomic.h>
#include <stdint.h>

enum { VECTORS = 32, VECTORS_SSE = 16, VECTORS_AREA = 576 };

/* One of the first 16, which is the program's as long as no code has used it. */
static inline uint64_t vector_word(unsigned int number)
{
	uint64_t v = 0;

#define VECTOR_WORD(n)							\
	case n:								\
		__asm__ volatile("movq %%xmm" #n ", %0" : "=r"(v));	\
		break;
#define VECTOR_WORDS(a, b, c, d) VECTOR_WORD(a) VECTOR_WORD(b) VECTOR_WORD(c) VECTOR_WORD(d)
	switch (number) {
	VECTOR_WORDS(0, 1, 2, 3)
	VECTOR_WORDS(4, 5, 6, 7)
	VECTOR_WORDS(8, 9, 10, 11)
	VECTOR_WORDS(12, 13, 14, 15)
	}
#undef VECTOR_WORDS
#undef VECTOR_WORD
	return v;
}

/* Where the area has the registers from 16 on. Asked for once: in a virtual machine it is slow. */
static inline uint32_t vectors_high(void)
{
	static _Atomic uint32_t high;
	uint32_t a = 0xd, b, c = 7, d;

	/* Relaxed: it is the same for all threads. */
	if (atomic_load_explicit(&high, memory_order_relaxed))
		return atomic_load_explicit(&high, memory_order_relaxed);
	__asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
	/* Behind the area's first part and its header; otherwise there are none. */
	if (b < VECTORS_AREA)
		b = UINT32_MAX / 2;
	atomic_store_explicit(&high, b, memory_order_relaxed);
	return b;
}

/* area: `size` bytes. 0: it does not have the register. */
static inline uint64_t vector_saved(const void *area, unsigned int number, uint32_t size)
{
	const uint32_t at = number < VECTORS_SSE ? 160 + 16 * number
						 : vectors_high() + 64 * (number - VECTORS_SSE);
	uint64_t v = 0;

	if (at <= size - sizeof(v))
		__builtin_memcpy(&v, (const char *)area + at, sizeof(v));
	return v;
}

/* The base of %gs, by FSGSBASE. */
static inline uint64_t segment_base(void)
{
	uint64_t v;

	__asm__ volatile("rdgsbase %0" : "=r"(v));
	return v;
}

#endif
