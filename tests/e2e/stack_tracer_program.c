/* SPDX-License-Identifier: MIT */
/*
 * stack_tracer_program.c - functions with large frames, for the test of the stack tracer
 *
 * For each line of its input: "main" runs outer(), "thread" runs outer() in a thread, "deeper"
 * runs deeper(), a number N runs down(N), which calls itself. A line of output says that it is
 * done.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))

static volatile int sum;

NOINLINE void leaf(volatile char *p)
{
	sum += *p;
}

NOINLINE void middle(void)
{
	volatile char room[20000];

	room[0] = 1;
	leaf(room);
	sum++;
}

NOINLINE void outer(void)
{
	volatile char room[10000];

	room[0] = 1;
	middle();
	sum += room[0];
}

NOINLINE void deeper(void)
{
	volatile char room[50000];

	room[0] = 1;
	outer();
	sum += room[0];
}

NOINLINE void down(int n)
{
	volatile char room[100];

	room[0] = 1;
	if (n)
		down(n - 1);
	sum += room[0];
}

static void *thread(void *arg)
{
	outer();
	return NULL;
}

int main(void)
{
	char line[64];
	pthread_t t;

	while (fgets(line, sizeof(line), stdin)) {
		if (!strcmp(line, "main\n"))
			outer();
		else if (!strcmp(line, "deeper\n"))
			deeper();
		else if (strcmp(line, "thread\n"))
			down(atoi(line));
		else if (!pthread_create(&t, NULL, thread, NULL))
			pthread_join(t, NULL);
		puts("done");
		fflush(stdout);
	}
	return 0;
}
