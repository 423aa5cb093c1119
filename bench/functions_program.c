/* SPDX-License-Identifier: MIT */
/*
 * functions_program.c - what a call costs in a program whose functions may be traced; built with
 * sites and without
 *
 * Prints lines NAME<TAB>VALUE in ns a call, the best of many runs: a leaf, a recursion, a mix of
 * both. The tracer is on or off around it: bench/functions.py.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <x86intrin.h>

#define NO __attribute__((noinline, noclone))

enum { RUNS = 100, LOOPS = 20000 };

static volatile int sum;
static volatile uint64_t sink;

NO static int leaf(int x)
{
	__asm__ volatile("");
	return x + 1;
}

NO static int fib(int n)
{
	int a, b;

	if (n < 2)
		return n;
	a = fib(n - 1);
	b = fib(n - 2);
	__asm__ volatile("" : "+r"(b));	/* else the compiler makes a loop of the second call */
	return a + b;
}

NO static int one(int x)
{
	__asm__ volatile("");
	return x + 2;
}

NO static int two(int x)
{
	__asm__ volatile("");
	return one(x) * 3;
}

NO static int three(int x)
{
	__asm__ volatile("");
	return two(x) + one(x) + leaf(x);
}

/* What a filter names that is not to be met. */
NO int elsewhere(int x)
{
	__asm__ volatile("");
	return x;
}

static double ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

#define BEST(name, calls, statement)						\
	do {									\
		double best_ = 1e12;						\
		for (int run_ = 0; run_ < RUNS; run_++) {			\
			double t_ = ns();					\
			for (int i = 0; i < LOOPS / (calls); i++) {		\
				statement;					\
			}							\
			t_ = ns() - t_;						\
			best_ = t_ < best_ ? t_ : best_;			\
		}								\
		printf("%s\t%.2f\n", name, best_ / (LOOPS / (calls)) / (calls));	\
	} while (0)

int main(void)
{
	sum = elsewhere(1);
	BEST("rdtsc", 1, sink += __rdtsc());
	BEST("leaf", 1, sum += leaf(i));
	BEST("recursion", 177, sum += fib(10));
	BEST("mix", 5, sum += three(i));
	return 0;
}
