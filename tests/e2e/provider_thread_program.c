/* SPDX-License-Identifier: MIT */
/*
 * provider_thread_program.c - threads that begin, end, have names and wake each other
 *
 *   create N      N threads of each kind; prints the number of each
 *   names         threads that name themselves and each other
 *   pingpong N    two threads wake each other by semaphores N times each
 *   futex N       one thread wakes another N times by a futex of its own
 *   storm N       many threads at a time, detached ones too
 *   room N        N threads that want no memory; prints by how many MiB the process has grown,
 *                 without stacks
 */
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <threads.h>
#include <unistd.h>
#include "await_sleep.h"

static int n;

/* ---- create ---- */

static void *returns(void *arg)
{
	printf("tid %ld\n", syscall(SYS_gettid));
	return arg;
}

static void *exits(void *arg)
{
	printf("tid %ld\n", syscall(SYS_gettid));
	pthread_exit(arg);
}

static _Atomic int ready;

static void *is_cancelled(void *arg)
{
	printf("tid %ld\n", syscall(SYS_gettid));
	fflush(stdout);
	ready = 1;
	for (;;)
		pause();
	return arg;
}

static int c11_returns(void *arg)
{
	printf("tid %ld\n", syscall(SYS_gettid));
	return (int)(intptr_t)arg;
}

static int c11_exits(void *arg)
{
	printf("tid %ld\n", syscall(SYS_gettid));
	thrd_exit((int)(intptr_t)arg);
}

static void one(void *(*start)(void *), int cancels, void *wanted)
{
	pthread_t t;
	void *result;

	ready = 0;
	if (pthread_create(&t, NULL, start, wanted))
		abort();
	while (cancels && !ready)
		sched_yield();
	if (cancels)
		pthread_cancel(t);
	pthread_join(t, &result);
	if (result != (cancels ? PTHREAD_CANCELED : wanted))
		abort();
}

static void one_c11(thrd_start_t start, int wanted)
{
	thrd_t t;
	int result;

	if (thrd_create(&t, start, (void *)(intptr_t)wanted) != thrd_success)
		abort();
	thrd_join(t, &result);
	if (result != wanted)
		abort();
}

static void create(void)
{
	pthread_attr_t huge;
	pthread_t t;
	int error;

	for (int i = 0; i < n; i++) {
		one(returns, 0, (void *)(intptr_t)(i + 1));
		one(exits, 0, (void *)(intptr_t)(i + 1));
		one(is_cancelled, 1, NULL);
		one_c11(c11_returns, i);
		one_c11(c11_exits, i);
	}
	/* A thread that cannot be created. */
	pthread_attr_init(&huge);
	pthread_attr_setstacksize(&huge, (size_t)1 << 60);
	error = pthread_create(&t, &huge, returns, NULL);
	printf("error %d\n", error);
}

/* ---- names ---- */

static _Atomic int named;

static void *names_itself(void *arg)
{
	pthread_setname_np(pthread_self(), "itself");
	ready = 1;
	while (!named)
		sched_yield();
	free(malloc(12345));
	return arg;
}

static void names(void)
{
	char name[16];
	pthread_t t;

	pthread_create(&t, NULL, names_itself, NULL);
	while (!ready)
		sched_yield();
	pthread_setname_np(t, "by-another");
	pthread_getname_np(t, name, sizeof(name));
	puts(name);
	named = 1;
	pthread_join(t, NULL);
	prctl(PR_SET_NAME, "by-prctl");
	printf("%d\n", pthread_setname_np(pthread_self(), "a name that is much too long"));
	prctl(PR_GET_NAME, name);
	puts(name);
}

/* ---- pingpong ---- */

static sem_t ping, pong;
static _Atomic pid_t sleeper;

static void *ponger(void *arg)
{
	sleeper = (pid_t)syscall(SYS_gettid);
	for (int i = 0; i < n; i++) {
		sem_wait(&ping);
		sem_post(&pong);
	}
	return arg;
}

static void pingpong(void)
{
	pthread_t t;

	sem_init(&ping, 0, 0);
	sem_init(&pong, 0, 0);
	pthread_create(&t, NULL, ponger, NULL);
	while (!sleeper)
		sched_yield();
	for (int i = 0; i < n; i++) {
		await_sleep(sleeper);
		sem_post(&ping);
		sem_wait(&pong);
	}
	pthread_join(t, NULL);
	printf("woke %d\n", sleeper);
}

/* ---- futex ---- */

static _Atomic uint32_t word;

static void *futex_waiter(void *arg)
{
	sleeper = (pid_t)syscall(SYS_gettid);
	for (uint32_t i = 0; i < (uint32_t)n; i++)
		while (word == i)
			syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, i, NULL, NULL, 0);
	return arg;
}

static void futexes(void)
{
	pthread_t t;

	pthread_create(&t, NULL, futex_waiter, NULL);
	while (!sleeper)
		sched_yield();
	for (int i = 0; i < n; i++) {
		await_sleep(sleeper);
		word++;
		syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
		while (word != (uint32_t)n && word != (uint32_t)i + 1)
			sched_yield();
	}
	pthread_join(t, NULL);
	puts("end");
}

/* ---- storm ---- */

static _Atomic int ended;

static void *short_lived(void *arg)
{
	free(malloc(100));
	ended++;
	return arg;
}

static void storm(void)
{
	pthread_attr_t detached;
	int made = 0;

	pthread_attr_init(&detached);
	pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
	for (int i = 0; i < n; i++) {
		pthread_t t[4];

		for (int k = 0; k < 4; k++)
			made += !pthread_create(&t[k], k % 2 ? &detached : NULL, short_lived, NULL);
		for (int k = 0; k < 4; k += 2)
			pthread_join(t[k], NULL);
	}
	while (ended != made)
		sched_yield();
	printf("made %d\n", made);
	usleep(100000);
}

/* ---- room ---- */

static void *wants_nothing(void *arg)
{
	ready++;
	for (;;)
		pause();
	return arg;
}

static long mapped_kib(void)
{
	char line[256];
	FILE *f = fopen("/proc/self/status", "r");
	long kib = 0;

	while (fgets(line, sizeof(line), f))
		sscanf(line, "VmSize: %ld", &kib);
	fclose(f);
	return kib;
}

static void room(void)
{
	enum { STACK = 128 << 10 };
	pthread_attr_t small;
	pthread_t t;
	long before = mapped_kib();

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, STACK);
	for (int i = 0; i < n; i++)
		pthread_create(&t, &small, wants_nothing, NULL);
	while (ready < n)
		sched_yield();
	printf("%ld MiB\n", (mapped_kib() - before - n * (STACK >> 10)) >> 10);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	setvbuf(stdout, NULL, _IOLBF, 0);
	n = argc > 2 ? atoi(argv[2]) : 0;
	if (!strcmp(what, "create"))
		create();
	else if (!strcmp(what, "names"))
		names();
	else if (!strcmp(what, "pingpong"))
		pingpong();
	else if (!strcmp(what, "futex"))
		futexes();
	else if (!strcmp(what, "storm"))
		storm();
	else if (!strcmp(what, "room"))
		room();
	else
		return 2;
	return 0;
}
