/* SPDX-License-Identifier: MIT */
/*
 * site_fixture.c - functions with sites, compiled in every way that the agent knows (C and C++)
 *
 * site_run() calls them all; its result depends on all arguments and results,
 * those in general registers, in vectors, on the stack and in %rax (varargs).
 */
#include "sum.h"

#ifdef __cplusplus
extern "C" {
#endif
long site_run(long seed);
#ifdef __cplusplus
}
#endif

struct large {
	long a[5];
};

static APART long add(long a, long b, long c, long d, long e, long f, long g)
{
	return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g;
}

static APART double mix(double a, float b, double c, double d, double e, double f, double g,
			double h)
{
	return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h;
}

static APART struct large returned(long a)
{
	struct large l = { { a, a + 1, a + 2, a + 3, a + 4 } };

	__asm__ volatile("" : : : "memory");
	return l;
}

static APART long again(long n)
{
	long below = n <= 0 ? 1 : again(n - 1);

	__asm__ volatile("" : "+r"(below));
	return below + n;
}

/* A leaf function whose data is in the red zone. */
static APART long leaf(long a)
{
	volatile long room[4] = { a, a + 1, a + 2, a + 3 };

	return room[0] * room[3] - room[1] * room[2];
}

long site_run(long seed)
{
	struct large l = returned(seed);
	long n = add(seed, l.a[1], l.a[2], l.a[3], l.a[4], 6, 7);

	n += (long)mix(seed, 1.5f, 2, 3, 4, 5, 6, 7);
	n += (long)sum(4, 1.0, 2.0, (double)seed, 4.0);
	n += again(3);
	return n + leaf(seed);
}
