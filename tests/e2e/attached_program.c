/* SPDX-License-Identifier: MIT */
/*
 * attached_program.c - a program that notices if a thread of it is not left as it was
 *
 *     attached_program GO N
 *
 * Its threads sleep, read, poll, compute with vector registers and flags, and allocate. Each checks
 * what it gets back, and errno. The first thread says "runs PID", waits for the file GO, calls
 * target() N times, and ends the others. Status 0: all was as it should be.
 */
#include <errno.h>
#include <emmintrin.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static atomic_bool ends;
static int ends_of_pipe[2];

static volatile int calls_made;

__attribute__((noinline)) int target(int n)
{
	calls_made++;
	return n + 1;
}

static void check(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "wrong: %s, errno %d\n", what, errno);
	abort();
}

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void *sleeps(void *arg)
{
	const struct timespec t = { .tv_nsec = 30000000 };
	double begin;

	while (!ends) {
		begin = seconds();
		errno = ENOTTY;
		check(!nanosleep(&t, NULL), "nanosleep");
		check(errno == ENOTTY, "errno of a sleep");
		check(seconds() - begin >= 0.03, "a sleep is too short");
	}
	return arg;
}

static void *reads(void *arg)
{
	char c;

	while (!ends) {
		errno = ENOTTY;
		check(read(ends_of_pipe[0], &c, 1) == 1, "read");
		check(errno == ENOTTY, "errno of a read");
	}
	return arg;
}

static void *polls(void *arg)
{
	while (!ends) {
		struct pollfd none = { .fd = -1 };

		check(!poll(&none, 1, 17), "poll");
	}
	return arg;
}

/* 2,000 jumps by %rcx change no flag. */
static void carry_over(__m128i *v, unsigned long flags[2])
{
	__m128i out;

	__asm__ volatile("movdqa %3, %%xmm7\n\tstc\n\tpushfq\n\tpopq %1\n\tmovl $2000, %%ecx\n"
			 "1:\tleaq -1(%%rcx), %%rcx\n\tjrcxz 2f\n\tjmp 1b\n"
			 "2:\tpushfq\n\tpopq %2\n\tmovdqa %%xmm7, %0"
			 : "=x"(out), "=r"(flags[0]), "=r"(flags[1])
			 : "x"(*v)
			 : "rcx", "xmm7", "cc", "memory");
	*v = out;
}

static void *computes(void *arg)
{
	const __m128i was = _mm_set1_epi32(0x12345678);
	unsigned long flags[2];
	__m128i v = was;

	for (unsigned long n = 0; !ends; n++) {
		carry_over(&v, flags);
		check(!memcmp(&v, &was, sizeof(v)), "a vector register");
		check(!((flags[0] ^ flags[1]) & 0x8d5), "flags");
		if (n % 200 == 0)
			usleep(100);
	}
	return arg;
}

static void *allocates(void *arg)
{
	unsigned int seed = 1;
	char *blocks[64] = { 0 };

	while (!ends) {
		const int i = rand_r(&seed) % 64;
		const size_t size = (size_t)rand_r(&seed) % 3000 + 1;

		free(blocks[i]);
		blocks[i] = malloc(size);
		check(blocks[i], "malloc");
		memset(blocks[i], i, size);
	}
	for (int i = 0; i < 64; i++)
		free(blocks[i]);
	return arg;
}

int main(int argc, char **argv)
{
	void *(*const threads[])(void *) = { sleeps, reads, polls, computes, allocates,
					     allocates };
	enum { NR = sizeof(threads) / sizeof(*threads) };
	const int calls = argc > 2 ? atoi(argv[2]) : 0;
	pthread_t thread[NR];
	int sum = 0;

	check(!pipe(ends_of_pipe), "pipe");
	for (int i = 0; i < NR; i++)
		check(!pthread_create(&thread[i], NULL, threads[i], NULL), "pthread_create");
	printf("runs %d\n", getpid());
	fflush(stdout);
	while (argc > 1 && access(argv[1], F_OK)) {
		usleep(10000);
		check(write(ends_of_pipe[1], "x", 1) == 1, "write");
	}
	for (int i = 0; i < calls; i++)
		sum = target(sum);
	ends = true;
	check(write(ends_of_pipe[1], "xx", 2) == 2, "write");
	for (int i = 0; i < NR; i++)
		pthread_join(thread[i], NULL);
	printf("sum %d\n", sum);
	return 0;
}
