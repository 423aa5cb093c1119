/* SPDX-License-Identifier: MIT */
/*
 * live_clock_program.c - reads the counter around an event of its own and one of the kernel
 *
 *   live_clock_program N
 *
 * N times: reads the counter, gives app:tick, reads it, takes the name tickI, which gives the
 * kernel's task_rename, and reads it again. Then prints "tickI BEFORE BETWEEN AFTER" for each.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <x86intrin.h>

#include <tracefuse/tracefuse.h>

TF_EVENT(app, tick, (int, round));

enum { MOST = 4096 };

static struct {
	unsigned long long before, between, after;
} rounds[MOST];

/* All that comes before has been done, and nothing that follows has begun. */
static unsigned long long counter(void)
{
	unsigned long long now;

	_mm_lfence();
	now = __rdtsc();
	_mm_lfence();
	return now;
}

int main(int argc, char **argv)
{
	int nr = argc > 1 ? atoi(argv[1]) : 1;
	char name[16];

	if (nr > MOST)
		nr = MOST;
	for (int i = 0; i < nr; i++) {
		snprintf(name, sizeof(name), "tick%d", i);
		rounds[i].before = counter();
		trace_tick(i);
		rounds[i].between = counter();
		prctl(PR_SET_NAME, name);
		rounds[i].after = counter();
	}
	for (int i = 0; i < nr; i++)
		printf("tick%d %llu %llu %llu\n", i, rounds[i].before, rounds[i].between,
		       rounds[i].after);
	return 0;
}
