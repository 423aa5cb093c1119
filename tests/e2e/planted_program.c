/* SPDX-License-Identifier: MIT */
/*
 * planted_program.c - functions that are probed: planted_program N [HOW [FILE]]
 *
 * It prints sums that depend on all registers and on the stack below the stack pointer. It computes
 * them N times, each with the numbers 0 to 3. HOW: in two processes (fork) or four threads
 * (threads); until FILE is there (wait), also with all signals blocked (blocked); `load` calls a
 * function of the library FILE N times and loads it each time.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "../apart.h"

enum { THREADS = 4, NUMBERS = 4, LEFT = 2, SUM = 1495 };

struct sums {
	long		whole;
	double		real;
	jmp_buf		back;
};

APART double real(double a, long b)
{
	__asm__ volatile("" : : : "memory");
	return a * (double)b + 0.5;
}

APART long factorial(long n)
{
	long below;

	if (n <= 1)
		return 1;
	below = factorial(n - 1);
	__asm__ volatile("" : "+r"(below));
	return n * below;
}

APART long last(long n)
{
	__asm__ volatile("" : : : "memory");
	return n + 1;
}

/* Ends by a jump to last(). */
APART long jumping(long n)
{
	__asm__ volatile("" : : : "memory");
	return last(n * 2);
}

/* A leaf function whose data is below the stack pointer. */
APART long leaf(long a)
{
	volatile long room[4] = { a, a + 1, a + 2, a + 3 };

	return room[0] * room[3] - room[1] * room[2];
}

APART long left(long n, struct sums *s)
{
	if (n == LEFT)
		longjmp(s->back, 1);
	return n;
}

APART long around(long n, struct sums *s)
{
	long r = left(n, s);

	__asm__ volatile("" : "+r"(r));
	return r + 1;
}

APART long named(const char *text, long n)
{
	__asm__ volatile("" : : "r"(text) : "memory");
	return n + text[0];
}

APART void round_make(struct sums *s, const char *text)
{
	for (volatile long i = 0; i < NUMBERS; i++) {
		s->whole += factorial(i) + jumping(i) + leaf(i) + named(text, i);
		s->real += real(1.25, i);
		if (!setjmp(s->back))
			s->whole += around(i, s);
		else
			s->whole += 1000;
	}
}

static long rounds;
static const char *file;

static void *run(void *arg)
{
	struct sums *s = arg;

	for (long i = 0; i < rounds; i++)
		round_make(s, "text");
	return NULL;
}

static void print(const struct sums *s)
{
	printf("%ld %g\n", s->whole, s->real);
	fflush(stdout);
}

static int forks(struct sums *s)
{
	int status = 1;
	pid_t pid = fork();

	run(s);
	if (!pid)
		_exit(s->whole & 0x3f);
	waitpid(pid, &status, 0);
	print(s);
	return WEXITSTATUS(status) == (s->whole & 0x3f) ? 3 : 1;
}

static int runs_threads(struct sums *s)
{
	struct sums sums[THREADS] = { 0 };
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, run, &sums[i]);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		s->whole += sums[i].whole;
		s->real += sums[i].real;
	}
	print(s);
	return 3;
}

/* All threads compute the same sum again and again. */
static void *run_until(void *arg)
{
	long *wrong = arg;

	while (access(file, F_OK))
		for (int i = 0; i < 1000; i++) {
			struct sums s = { 0 };

			round_make(&s, "text");
			*wrong += s.whole != SUM || s.real < 9.49 || s.real > 9.51;
		}
	return NULL;
}

static int waits(void)
{
	pthread_t threads[THREADS];
	long wrong[THREADS] = { 0 }, all = 0;

	printf("runs\n");
	fflush(stdout);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, run_until, &wrong[i]);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		all += wrong[i];
	}
	printf("wrong %ld\n", all);
	return 3;
}

static int loads(void)
{
	long all = 0;

	for (long i = 0; i < rounds; i++) {
		void *part = dlopen(file, RTLD_NOW);
		long (*sum)(long) = part ? (long (*)(long))dlsym(part, "part_sum") : NULL;

		if (!sum)
			return 1;
		all += sum(i);
		dlclose(part);
	}
	printf("%ld\n", all);
	return 3;
}

static int blocks(void)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	return waits();
}

int main(int argc, char **argv)
{
	const char *how = argc > 2 ? argv[2] : "";
	struct sums s = { 0 };

	rounds = argc > 1 ? atol(argv[1]) : 1;
	file = argc > 3 ? argv[3] : NULL;
	if (!strcmp(how, "fork"))
		return forks(&s);
	if (!strcmp(how, "threads"))
		return runs_threads(&s);
	if (!strcmp(how, "wait"))
		return waits();
	if (!strcmp(how, "blocked"))
		return blocks();
	if (!strcmp(how, "load"))
		return loads();
	run(&s);
	print(&s);
	return 3;
}
