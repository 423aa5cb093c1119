/* SPDX-License-Identifier: MIT */
/*
 * probe.c - what a probe at an instruction costs: a call of a small function, plain or probed
 *
 * The program knows nothing of tracefuse: bench/probes.py runs it plain and with probes. Prints
 * lines NAME<TAB>VALUE in ns, the best of many bursts; with an argument, of fewer calls.
 */
#include <x86intrin.h>
#include "measure.h"

/* As long as a place needs: instructions that a jump can displace. */
long probed(long n, long m);

/* A clone for a known argument would not be the one that is probed. */
#ifdef __clang__
#define APART __attribute__((noinline))
#else
#define APART __attribute__((noinline, noclone))
#endif

APART long probed(long n, long m)
{
	__asm__ volatile("" : "+r"(n), "+r"(m) : : "memory");
	return n * 3 + m;
}

static volatile long sink; /* what is measured is used */

enum { FEW_RUNS = 5, FEW_LOOPS = 20000 };

/* For a probe of the kernel: a call takes a thousand times as long. */
static void few_calls(void)
{
	long sum = 0;
	uint64_t best = UINT64_MAX;

	for (int run = 0; run < FEW_RUNS; run++) {
		uint64_t t = bench_ns();

		for (long i = 0; i < FEW_LOOPS; i++)
			sum += probed(i & 7, 1);
		t = bench_ns() - t;
		best = t < best ? t : best;
	}
	sink = sum;
	printf("call\t%.2f\n", (double)best / FEW_LOOPS);
}

int main(int argc, char **argv)
{
	(void)argv;
	if (argc > 1) {
		few_calls();
		return 0;
	}
	BENCH("rdtsc", sink += (long)__rdtsc());
	BENCH("call", sink += probed((long)(i & 7), 1));
	return 0;
}
