/* SPDX-License-Identifier: MIT */
/*
 * stack_tracer_program.c - functions with large frames, for the test of the stack tracer
 *
 * For each line of its input: "main" runs outer(), "thread" runs outer() in a thread, "deeper"
 * runs deeper(), a number N runs down(N), which calls itself. "alternate" runs deeper() in a signal
 * handler on an alternate stack, "within" on one that is part of a function's frame, "coroutine" on
 * a coroutine's stack. A line of output says that it is done.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

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

static void handler(int sig)
{
	deeper();
}

/* noinline: `stack` may be an array of the caller. */
NOINLINE void alternate(char *stack, size_t size)
{
	const stack_t on = { .ss_sp = stack, .ss_size = size }, off = { .ss_flags = SS_DISABLE };
	const struct sigaction act = { .sa_handler = handler, .sa_flags = SA_ONSTACK };

	sigaltstack(&on, NULL);
	sigaction(SIGUSR1, &act, NULL);
	raise(SIGUSR1);
	sigaltstack(&off, NULL);
}

static char memory[256 << 10];

NOINLINE void within(void)
{
	char room[256 << 10];

	alternate(room, sizeof(room));
	sum += room[0];
}

NOINLINE void coroutine(void)
{
	static ucontext_t here, there;

	getcontext(&there);
	there.uc_stack.ss_sp = memory;
	there.uc_stack.ss_size = sizeof(memory);
	there.uc_link = &here;
	makecontext(&there, deeper, 0);
	swapcontext(&here, &there);
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
		else if (!strcmp(line, "alternate\n"))
			alternate(memory, sizeof(memory));
		else if (!strcmp(line, "within\n"))
			within();
		else if (!strcmp(line, "coroutine\n"))
			coroutine();
		else if (strcmp(line, "thread\n"))
			down(atoi(line));
		else if (!pthread_create(&t, NULL, thread, NULL))
			pthread_join(t, NULL);
		puts("done");
		fflush(stdout);
	}
	return 0;
}
