/* SPDX-License-Identifier: MIT */
/*
 * moved_threads.c - threads call functions until the standard input ends; the results must be right
 *
 * Prints "ready" first and "right" or "wrong" last.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

enum { THREADS = 4, WORDS = 64 };

static _Atomic int stop, wrong;

NOINLINE unsigned int turn(unsigned int x)
{
	return (x << 7 | x >> 25) * 2654435761u;
}

NOINLINE unsigned int three(unsigned int a, unsigned int b, unsigned int c)
{
	return turn(a) ^ turn(b + 1) ^ turn(c + 2);
}

NOINLINE double half(double x, int times)
{
	return times ? half(x / 2, times - 1) + 1 : x;
}

NOINLINE unsigned int choose(unsigned int n)
{
	switch (n % 8) {
	case 0: return turn(n);
	case 1: return three(n, n, n);
	case 2: return (unsigned int)half(n, 3);
	case 3: return n * 3;
	case 4: return turn(turn(n));
	case 5: return ~n;
	case 6: return three(1, n, 2);
	default: return 7;
	}
}

NOINLINE unsigned int all(void)
{
	unsigned int sum = 0;

	for (unsigned int i = 0; i < WORDS; i++)
		sum = sum * 31 + choose(i);
	return sum;
}

static void *run(void *arg)
{
	const unsigned int want = *(unsigned int *)arg;

	while (!stop)
		if (all() != want)
			wrong = 1;
	return NULL;
}

int main(void)
{
	unsigned int want = all();
	pthread_t threads[THREADS];
	char c;

	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, run, &want))
			return 1;
	puts("ready");
	fflush(stdout);
	while (read(0, &c, 1) > 0)
		;
	stop = 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	puts(wrong ? "wrong" : "right");
	return 9;
}
