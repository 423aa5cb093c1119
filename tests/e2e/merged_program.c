/* SPDX-License-Identifier: MIT */
/*
 * merged_program.c - gives an event before and after each wait in the kernel, and measures by its
 * own clock
 *
 *   merged_program N sleep|futex
 *
 * N times: app:begin, a sleep (or a wait that ends by time), app:end. It prints "pid PID", then
 * "round I NS" for each: from before app:begin to after the wait.
 */
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <tracefuse/tracefuse.h>

TF_EVENT(app, begin, (int, round), (int, waiter));
TF_EVENT(app, end, (int, round), (int, waiter));

enum { WAIT_NS = 20000000 };

static unsigned long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (unsigned long long)t.tv_sec * 1000000000u + (unsigned long long)t.tv_nsec;
}

static void wait_in_kernel(int futex)
{
	const struct timespec pause = { .tv_nsec = WAIT_NS };
	static unsigned int word;

	if (futex)
		syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &pause, NULL, 0);
	else
		syscall(SYS_nanosleep, &pause, NULL);
}

int main(int argc, char **argv)
{
	const int rounds = argc > 1 ? atoi(argv[1]) : 1;
	const int futex = argc > 2 && !strcmp(argv[2], "futex");
	const int pid = (int)syscall(SYS_gettid);

	printf("pid %d\n", pid);
	for (int i = 0; i < rounds; i++) {
		const unsigned long long before = now();
		unsigned long long after;

		trace_begin(i, pid);
		wait_in_kernel(futex);
		after = now();
		trace_end(i, pid);
		printf("round %d %llu\n", i, after - before);
	}
	return 0;
}
