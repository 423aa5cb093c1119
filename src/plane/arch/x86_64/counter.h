/* SPDX-License-Identifier: MIT */
/*
 * counter.h - x86-64: rdtsc, its constancy, clock_gettime without libc
 */
#ifndef TRACEFUSE_PLANE_ARCH_X86_64_COUNTER_H
#define TRACEFUSE_PLANE_ARCH_X86_64_COUNTER_H

#include <stdbool.h>
#include <stdint.h>

static inline uint64_t counter_read(void)
{
	uint32_t lo, hi;

	__asm__ __volatile__("rdtsc" : "=a"(lo), "=d"(hi));
	return (uint64_t)hi << 32 | lo;
}

/* The counter has the same rate in all power states and on all CPUs: cpuid 80000007h, edx bit 8. */
static inline bool counter_constant(void)
{
	uint32_t a = 0x80000000u, b, c, d;

	__asm__ __volatile__("cpuid" : "+a"(a), "=b"(b), "=c"(c), "=d"(d));
	if (a < 0x80000007u)
		return false;
	a = 0x80000007u;
	__asm__ __volatile__("cpuid" : "+a"(a), "=b"(b), "=c"(c), "=d"(d));
	return d >> 8 & 1;
}

/* One of the system's clocks, in nanoseconds. */
static inline uint64_t clock_system(int id)
{
	int64_t ts[2];
	long ret = 228;		/* clock_gettime */

	__asm__ __volatile__("syscall"
			     : "+a"(ret)
			     : "D"((long)id), "S"(ts)
			     : "rcx", "r11", "memory");
	return ret ? 0 : (uint64_t)ts[0] * 1000000000u + (uint64_t)ts[1];
}

#endif
