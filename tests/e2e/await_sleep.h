/* SPDX-License-Identifier: MIT */
/* await_sleep.h - waits until another thread sleeps */
#ifndef TRACEFUSE_TESTS_AWAIT_SLEEP_H
#define TRACEFUSE_TESTS_AWAIT_SLEEP_H

#include <sched.h>
#include <stdio.h>
#include <string.h>

/* The thread may be of any process. */
static void await_sleep(int tid)
{
	char path[64], line[256], *state;

	snprintf(path, sizeof(path), "/proc/%d/stat", tid);
	for (;;) {
		FILE *f = fopen(path, "r");

		state = f && fgets(line, sizeof(line), f) ? strrchr(line, ')') : NULL;
		if (f)
			fclose(f);
		if (state && state[2] == 'S')
			return;
		sched_yield();
	}
}

#endif
