/* SPDX-License-Identifier: MIT */
/*
 * provider_calls.c - what malloc() and free(), a lock and its release, a system call, and malloc()
 * below many functions take in a program
 *
 * Prints lines NAME<TAB>VALUE in ns a pair, the best of many bursts. The
 * program knows nothing of tracefuse: bench/programs.py runs it untraced,
 * attached, and with events on.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "measure.h"

enum { CALLS = 2000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* noinline: the address of one caller is what a histogram by call_site has in a real program. */
static __attribute__((noinline)) void allocate(size_t size)
{
	void *p = malloc(size);

	__asm__ volatile("" : "+r"(p) : : "memory");	/* else the pair is optimised away */
	free(p);
}

static __attribute__((noinline)) void guard(void)
{
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
}

/* Calls itself `functions` times; no call is at its end, or it would be a jump. */
static __attribute__((noinline)) void below(int functions, size_t size)
{
	if (functions)
		below(functions - 1, size);
	else
		allocate(size);
	__asm__ volatile("");
}

/* Two depths: what a function more takes is their difference. */
static int stacks(void)
{
	BENCH("below 10", below(10, 64));
	BENCH("below 50", below(50, 64));
	return 0;
}

/* strace takes tens of microseconds for a call, so there are fewer of them. */
static int system_call(void)
{
	uint64_t best = UINT64_MAX;

	for (int run = 0; run < 20; run++) {
		uint64_t t = bench_ns();

		for (int i = 0; i < CALLS; i++)
			getppid();
		t = bench_ns() - t;
		best = t < best ? t : best;
	}
	printf("getppid\t%.2f\n", (double)best / CALLS);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 1)
		return strcmp(argv[1], "stacks") ? system_call() : stacks();
	BENCH("malloc and free", allocate(64 + (i & 63)));
	BENCH("lock and unlock", guard());
	return 0;
}
