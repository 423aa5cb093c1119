/* SPDX-License-Identifier: MIT */
/*
 * enable_sites.c - a program with many functions that says when their sites were switched
 *
 * Prints "ready", then for each change of the first and the last site a line: on or off,
 * CLOCK_MONOTONIC in ns. Ends when its input does.
 */
#include <poll.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define STRING2(x) #x
#define STRING(x) STRING2(x)

extern const volatile unsigned char f_0[];
extern const volatile unsigned char last[] __asm__("f_" STRING(LAST));

int main(void)
{
	struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };
	const struct timespec often = { 0, 20000 };
	unsigned char off = f_0[0], was = off;

	printf("ready\n");
	fflush(stdout);
	while (poll(&in, 1, 0) == 0) {
		if (f_0[0] != was && last[0] == f_0[0]) {
			struct timespec t;

			clock_gettime(CLOCK_MONOTONIC, &t);
			was = f_0[0];
			printf("%s %llu\n", was == off ? "off" : "on",
			       (unsigned long long)t.tv_sec * 1000000000u +
				       (unsigned long long)t.tv_nsec);
			fflush(stdout);
		}
		nanosleep(&often, NULL);
	}
	return 0;
}
