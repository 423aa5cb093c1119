/* SPDX-License-Identifier: MIT */
/*
 * runtimes_copier.c - returns twice from a function, as continuations of Guile and Ruby do
 *
 * It copies its stack away, and later back to the same place. MARK is the symbol that tells such a
 * runtime.
 */
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include "../apart.h"

int MARK = 1;

enum { ROOM = 65536 };

static char copy[ROOM];
static char *low, *high;
static jmp_buf here;
static volatile int times, sum;

/* 0, and at each time that it returns again the number of that */
APART_WHOLE int capture(void)
{
	if (setjmp(here))
		return times;
	low = (char *)__builtin_frame_address(0) - 256;
	memcpy(copy, low, (size_t)(high - low));
	return 0;
}

APART_WHOLE int between(void)
{
	return capture() + 1;
}

APART_WHOLE int other_leaf(int n)
{
	return n * 3;
}

/* Its calls are where those of between() were, and return elsewhere. */
APART_WHOLE int other(int n)
{
	int below = n ? other(n - 1) : other_leaf(n);

	return below + other_leaf(n);
}

/* The copy must not lie over what copies it. */
APART_WHOLE void reenter(void)
{
	volatile char below[1024];

	below[0] = 0;
	if ((char *)__builtin_frame_address(0) - sizeof(below) > low - sizeof(below))
		reenter();
	times++;
	memcpy(low, copy, (size_t)(high - low));
	longjmp(here, 1 + below[0]);
}

int main(void)
{
	int got;

	high = (char *)__builtin_frame_address(0);
	got = between();
	sum += other(5) + got;
	printf("returned %d, %d\n", got, sum);
	fflush(stdout);
	if (times < 5)
		reenter();
	return 7;
}
