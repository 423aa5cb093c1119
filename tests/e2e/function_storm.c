/* SPDX-License-Identifier: MIT */
/*
 * function_storm.c [LIBRARY] - four threads call many functions and check the results; one loads
 * and unloads a library
 *
 * It ends when its input ends, and prints how many results were wrong. With -DLIBRARY it is the
 * library.
 */
#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>
#include "../apart.h"
#define TEN(f, p) f(p##0) f(p##1) f(p##2) f(p##3) f(p##4) f(p##5) f(p##6) f(p##7) f(p##8) f(p##9)
#define CALL(name) + name(n)

#ifdef LIBRARY
#define DEFINE(name)				\
	APART static long part_##name(long n)	\
	{					\
		__asm__ volatile("" : "+r"(n));	\
		return n + 1;			\
	}
TEN(DEFINE, 1)
TEN(DEFINE, 2)
#define PART(name) + part_##name(n)
APART long part(long n)
{
	return 0 TEN(PART, 1) TEN(PART, 2);
}
#else

enum { THREADS = 4 };
static atomic_int stop;
static atomic_long wrong, rounds, loads;

#define DEFINE(name) APART long name(long n) { __asm__ volatile("" : "+r"(n)); return n + 1; }
TEN(DEFINE, a_1)
TEN(DEFINE, a_2)
TEN(DEFINE, a_3)
TEN(DEFINE, b_1)
TEN(DEFINE, b_2)

/* Deep enough that switches come while many frames are open. */
APART long deep(long n, double d)
{
	long r;

	if (!n)
		return 0 TEN(CALL, b_1) + (long)d;
	r = deep(n - 1, d * 2) + a_10(n);
	__asm__ volatile("" : "+r"(r));
	return r;
}

APART long jump(long n, jmp_buf env)
{
	long r;

	if (!n)
		longjmp(env, 1);
	r = jump(n - 1, env) + a_11(n);
	__asm__ volatile("" : "+r"(r));
	return r;
}

static long all(long n)
{
	return 0 TEN(CALL, a_1) TEN(CALL, a_2) TEN(CALL, a_3) TEN(CALL, b_1) TEN(CALL, b_2);
}

static void *caller(void *arg)
{
	jmp_buf env;

	(void)arg;
	while (!stop) {
		if (!setjmp(env))
			wrong += 1 + 0 * jump(20, env);
		/* 50 (n + 1); 10, 1024 / 2 and the sum of 2 to 11 */
		wrong += all(7) != 400;
		wrong += deep(10, 0.5) != 10 + 512 + 65;
		rounds++;
	}
	return NULL;
}

static void *loader(void *path)
{
	while (!stop) {
		void *library = dlopen(path, RTLD_NOW);
		long (*part)(long) = library ? (long (*)(long))dlsym(library, "part") : NULL;

		wrong += !part || part(3) != 80;
		if (library)
			dlclose(library);
		loads++;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };
	pthread_t t[THREADS + 1];

	for (int i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, caller, NULL);
	if (argc > 1)
		pthread_create(&t[THREADS], NULL, loader, argv[1]);
	puts("ready");
	fflush(stdout);
	poll(&in, 1, -1);
	stop = 1;
	for (int i = 0; i < THREADS + (argc > 1); i++)
		pthread_join(t[i], NULL);
	fprintf(stderr, "%ld rounds, %ld loads\n", rounds, loads);
	printf("%ld wrong\n", wrong);
	return rounds == 0 || (argc > 1 && loads == 0);
}
#endif
