/* SPDX-License-Identifier: MIT */
/*
 * probe.c - what a probe at an instruction costs: a call of a small function, plain or probed
 *
 * The program knows nothing of tracefuse: bench/probes.py runs it plain and with probes. Prints
 * lines NAME<TAB>VALUE in ns, the best of many bursts.
 */
#include <x86intrin.h>
#include "measure.h"

/* As long as a place needs: instructions that a jump can displace. */
long probed(long n, long m);

__attribute__((noinline, noclone)) long probed(long n, long m)
{
	__asm__ volatile("" : "+r"(n), "+r"(m) : : "memory");
	return n * 3 + m;
}

int main(void)
{
	volatile long sum = 0;

	BENCH("rdtsc", sum += (long)__rdtsc());
	BENCH("call", sum += probed((long)(i & 7), 1));
	return 0;
}
