// SPDX-License-Identifier: MIT
/*
 * flight_program.c - functions whose calls are measured, one of them slow now and then
 *
 *   flight_program calls          fib(10), which calls itself: 177 calls; and a pair of functions
 *   flight_program many N         put(), take() of N jobs
 *   flight_program wait FILE      work() until the file is there
 *   flight_program slow N         N calls of work(), of which each third one takes 30 ms
 *   flight_program kill PID       two slow calls of work(), SIGKILL for that process, two more
 *   flight_program crash          ends by SIGABRT
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifdef __clang__
#define FUNCTION __attribute__((noinline, optnone))
#else
#define FUNCTION __attribute__((noipa))
#endif

static volatile int sink;

static FUNCTION int fib(int n)
{
	sink++;
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

static FUNCTION long put(long job)
{
	sink += (int)job;
	return job + 1000;
}

static FUNCTION long take(long job)
{
	sink -= (int)job;
	return job;
}

/* Waits for that many milliseconds. */
static FUNCTION void work(unsigned int ms)
{
	sink++;
	usleep(ms * 1000);
	sink++;
}

/* Its time is over already. */
static void wait_for_nothing(void)
{
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
	const struct timespec past = { 0 };

	pthread_mutex_lock(&mutex);
	pthread_cond_timedwait(&cond, &mutex, &past);
	pthread_mutex_unlock(&mutex);
}

static void calls(void)
{
	fib(10);
	puts("done");
	usleep(1);
	wait_for_nothing();
	access("/", F_OK);
	/* In another order than they were put. */
	for (long job = 1; job <= 8; job++)
		put(job);
	for (long job = 8; job >= 1; job--)
		take(job);
}

/* Each call is slow. */
static void kill_between(pid_t pid)
{
	for (int i = 0; i < 4; i++) {
		if (i == 2)
			kill(pid, SIGKILL);
		work(30);
	}
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "calls"))
		calls();
	else if (argc > 2 && !strcmp(argv[1], "many"))
		for (long job = 1; job <= atol(argv[2]); job++)
			take(put(job) - 1000);
	else if (argc > 2 && !strcmp(argv[1], "wait"))
		while (access(argv[2], F_OK))
			work(1);
	else if (argc > 2 && !strcmp(argv[1], "slow"))
		for (int i = 1; i <= atoi(argv[2]); i++)
			work(i % 3 ? 0 : 30);
	else if (argc > 2 && !strcmp(argv[1], "kill") && atoi(argv[2]) > 0)
		kill_between(atoi(argv[2]));
	else if (argc > 1 && !strcmp(argv[1], "crash"))
		abort();
	return 7;
}
