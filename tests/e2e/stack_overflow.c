/* SPDX-License-Identifier: MIT */
/*
 * stack_overflow.c TIMES - runs out of its stack again and again, in its first thread and in others
 *
 * Its handler of SIGSEGV jumps out, as those of interpreters do. The stack ends at another place in
 * each turn, so that it ends in each part of a hit.
 */
#include <alloca.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include "../apart.h"

enum { ALTERNATE = 65536, STACK = 262144 };

static __thread sigjmp_buf out;
static volatile int calls;

static void on_fault(int sig, siginfo_t *info, void *context)
{
	(void)info;
	(void)context;
	siglongjmp(out, sig);
}

APART_WHOLE int endless(int n)
{
	if (n % 3 == 0)
		free(malloc(20));
	return endless(n + 1) + 1;
}

APART_WHOLE int later(int n)
{
	calls++;
	return n + 1;
}

APART_WHOLE int shifted(int turn)
{
	volatile char *room = alloca((size_t)turn * 8 + 1);

	room[0] = 0;
	return endless(room[0]);
}

static void *overflow(void *times)
{
	const int most = *(int *)times;
	stack_t alternate = { .ss_sp = malloc(ALTERNATE), .ss_size = ALTERNATE };
	volatile int faults = 0;

	sigaltstack(&alternate, NULL);
	for (volatile int turn = 0; turn < most; turn++) {
		if (!sigsetjmp(out, 1))
			shifted(turn);
		else
			faults++;
		for (int i = 0; i < 3; i++)
			later(i);
	}
	printf("%d faults\n", faults);
	alternate.ss_flags = SS_DISABLE;
	sigaltstack(&alternate, NULL);
	return NULL;
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK };
	int times = argc > 1 ? atoi(argv[1]) : 10;
	pthread_attr_t attributes;
	pthread_t thread;

	sigaction(SIGSEGV, &action, NULL);
	overflow(&times);
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK);
	for (int i = 0; i < 2; i++) {
		if (pthread_create(&thread, &attributes, overflow, &times))
			return 1;
		pthread_join(thread, NULL);
	}
	printf("%d calls\n", calls);
	return 7;
}
