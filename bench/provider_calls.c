/* SPDX-License-Identifier: MIT */
/*
 * provider_calls.c - what malloc() and free(), and a lock and its release, take in a program
 *
 * Prints lines NAME<TAB>VALUE in ns a pair, the best of many bursts. The
 * program knows nothing of tracefuse: bench/programs.py runs it untraced,
 * attached, and with events on.
 */
#include <pthread.h>
#include <stdlib.h>
#include "measure.h"

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

int main(void)
{
	BENCH("malloc and free", allocate(64 + (i & 63)));
	BENCH("lock and unlock", guard());
	return 0;
}
