/* SPDX-License-Identifier: MIT */
/*
 * pair.h - x86-64: cmpxchg16b
 */
#ifndef TRACEFUSE_PLANE_ARCH_X86_64_PAIR_H
#define TRACEFUSE_PLANE_ARCH_X86_64_PAIR_H

#include <stdbool.h>
#include <stdint.h>

static inline bool pair_swap(uint64_t *pair, uint64_t seen[2], uint64_t a, uint64_t b)
{
	bool ok;

	__asm__ __volatile__("lock cmpxchg16b (%[pair])"
			     : "=@ccz"(ok), "+a"(seen[0]), "+d"(seen[1])
			     : [pair] "r"(pair), "b"(a), "c"(b)
			     : "memory");
	return ok;
}

#endif
