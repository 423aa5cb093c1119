/* SPDX-License-Identifier: MIT */
/*
 * runtimes_walker.c [TIMES] - looks up its return addresses, as V8 and other runtimes do
 *
 * It knows its own code alone, and is aborted by an address that is no part of it. MARK is the
 * symbol that tells such a runtime; without it nobody can know.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include "../apart.h"

#ifdef MARK
int MARK = 1;
#endif

/* Of the linker */
extern const char __executable_start[], etext[];

static volatile int frames;

static inline __attribute__((always_inline)) void look_up(const void *at)
{
	if ((uintptr_t)at < (uintptr_t)__executable_start || (uintptr_t)at >= (uintptr_t)etext) {
		fputs("a return address of no code of mine\n", stderr);
		abort();
	}
	frames++;
}

APART_WHOLE int walk_leaf(int n)
{
	look_up(__builtin_return_address(0));
	return n * 3 + frames;
}

APART_WHOLE int walk_down(int n)
{
	int below = n ? walk_down(n - 1) : walk_leaf(n);

	look_up(__builtin_return_address(0));
	return below + 1;
}

int main(int argc, char **argv)
{
	int sum = 0;

	for (int i = argc > 1 ? atoi(argv[1]) : 3; i > 0; i--)
		sum += walk_down(i);
	printf("%d frames, %d\n", frames, sum);
	return 7;
}
