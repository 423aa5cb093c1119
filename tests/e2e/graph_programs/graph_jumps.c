/* SPDX-License-Identifier: MIT */
/*
 * graph_jumps.c - functions that do not return: longjmp, siglongjmp off an alternate stack,
 * coroutines, deep recursion
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>
#include "../../apart.h"

static jmp_buf env;
static sigjmp_buf sig_env;
static volatile long sum;
static char alternate[256 * 1024];

/* ---- longjmp ---- */

APART static long dive(int depth, int value)
{
	if (!depth)
		longjmp(env, value);
	return dive(depth - 1, value) + depth;
}

APART static long work(int n)
{
	return n < 2 ? n : work(n - 1) + work(n - 2);
}

static void run_longjmp(void)
{
	volatile int round = 0;
	int value = setjmp(env);

	sum = sum * 5 % 1000003 + value + work(7);
	if (round++ < 300)
		dive(round % 70, round);
	printf("longjmp %ld after %d\n", sum, round);
}

/* A jump into the middle: some traced frames end, some stay. */
APART static long outer(int n)
{
	jmp_buf mine, old;
	volatile long v = n;

	memcpy(old, env, sizeof(old));
	if (!setjmp(mine)) {
		memcpy(env, mine, sizeof(mine));
		dive(n, 1);
	}
	memcpy(env, old, sizeof(old));
	return v + (n ? outer(n - 1) : 0);
}

static void run_middle(void)
{
	for (int i = 0; i < 50; i++)
		sum += outer(20);
	printf("middle %ld\n", sum);
}

/* ---- Signals ---- */

APART static void handler(int sig)
{
	sum += work(5) + sig;
	siglongjmp(sig_env, 1);
}

static void on_stack(int sig, void (*f)(int), char *low, size_t size)
{
	stack_t stack = { .ss_sp = low, .ss_size = size };
	struct sigaction act = { .sa_handler = f, .sa_flags = SA_ONSTACK };

	sigaltstack(&stack, NULL);
	sigaction(sig, &act, NULL);
}

static void on_alternate(int sig, void (*f)(int))
{
	on_stack(sig, f, alternate, sizeof(alternate));
}

APART static long raise_at(int depth)
{
	if (!depth)
		raise(SIGUSR1);
	return depth ? raise_at(depth - 1) + 1 : 0;
}

static void run_alternate(void)
{
	on_alternate(SIGUSR1, handler);
	for (volatile int i = 0; i < 200; i++)
		if (!sigsetjmp(sig_env, 1))
			raise_at(i % 40);
	printf("alternate %ld\n", sum);
}

/* Fills the stack; the signal is handled on the other stack. */
APART static long endless(long n)
{
	volatile char room[200];

	room[0] = (char)n;
	return endless(n + 1) + room[0];
}

static void run_overflow(void)
{
	struct rlimit small = { 1 << 20, 1 << 20 };

	setrlimit(RLIMIT_STACK, &small);
	on_alternate(SIGSEGV, handler);
	for (volatile int i = 0; i < 5; i++)
		if (!sigsetjmp(sig_env, 1))
			sum += endless(0);
	printf("overflow %ld\n", sum);
}

static volatile sig_atomic_t ticks;

/* work(3) is 2 */
APART static void tick(int sig)
{
	ticks += work(3) == 2 && sig;
}

APART static long raise_between(int depth)
{
	long before = work(2);

	if (depth)
		return before + raise_between(depth - 1) + work(2);
	raise(SIGUSR2);
	return before + work(3);
}

/*
 * The alternate stack is in a frame of the thread itself, above everything that its handlers
 * interrupt.
 */
APART static void run_local(void)
{
	char local[64 * 1024];

	on_stack(SIGUSR2, tick, local, sizeof(local));
	for (int i = 0; i < 100; i++)
		sum += raise_between(i % 20);
	on_alternate(SIGUSR2, tick);
	printf("local %ld %d\n", sum, (int)ticks);
}

/* The timer interrupts the thread anywhere, also in the tracer. */
static void run_timer(void)
{
	struct sigaction act = { .sa_handler = tick, .sa_flags = SA_RESTART };
	struct itimerval often = { { 0, 200 }, { 0, 200 } }, never = { 0 };
	long total = 0;

	sigaction(SIGALRM, &act, NULL);
	on_alternate(SIGVTALRM, tick);
	setitimer(ITIMER_REAL, &often, NULL);
	setitimer(ITIMER_VIRTUAL, &often, NULL);
	for (int i = 0; i < 300 || ticks < 20; i++) {
		long w = work(15);

		total += i < 300 ? w : 0;
	}
	setitimer(ITIMER_REAL, &never, NULL);
	setitimer(ITIMER_VIRTUAL, &never, NULL);
	printf("timer %ld\n", total);
}

/* ---- Coroutines ---- */

enum { COROUTINES = 8 };
static ucontext_t main_context, contexts[COROUTINES];
static long given;
static int nr_done;

APART static void yield(int me, long value)
{
	given = value;
	swapcontext(&contexts[me], &main_context);
}

APART static void walk(int me, int depth)
{
	yield(me, me * 100 + depth);
	if (depth)
		walk(me, depth - 1);
	yield(me, work(4) + depth);
}

APART static void body(int me)
{
	walk(me, 5 + me);
	nr_done++;
	given = -1;
}

static void run_coroutines(void)
{
	int turns = 0;

	for (int i = 0; i < COROUTINES; i++) {
		size_t size = 128 * 1024;
		getcontext(&contexts[i]);
		contexts[i].uc_stack.ss_sp =
			i % 2 ? malloc(size)
			      : mmap(NULL, size, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
		contexts[i].uc_stack.ss_size = size;
		contexts[i].uc_link = &main_context;
		makecontext(&contexts[i], (void (*)(void))(void *)body, 1, i);
	}
	for (int i = 0; nr_done < COROUTINES; i = (i * 5 + 1) % COROUTINES) {
		int before = nr_done;

		given = 0;
		swapcontext(&main_context, &contexts[i]);
		sum = (sum * 7 + given) % 1000003;
		/* It has ended: begin a new one in its place, so that all rounds are the same. */
		if (nr_done > before) {
			makecontext(&contexts[i], (void (*)(void))(void *)body, 1, i);
		}
		turns++;
	}
	printf("coroutines %ld in %d turns\n", sum, turns);
}

/*
 * A coroutine that continues in another thread, in the middle of its functions. The next one uses
 * its stack again.
 */
static void *resume(void *arg)
{
	for (int i = 0; i < 3 && !nr_done; i++)
		swapcontext(&main_context, (ucontext_t *)arg);
	return NULL;
}

static void run_migrate(void)
{
	static char stack[128 * 1024];

	for (int i = 0; i < 30; i++) {
		pthread_t t;

		getcontext(&contexts[0]);
		contexts[0].uc_stack.ss_sp = stack;
		contexts[0].uc_stack.ss_size = sizeof(stack);
		contexts[0].uc_link = &main_context;
		makecontext(&contexts[0], (void (*)(void))(void *)body, 1, 0);
		nr_done = 0;
		while (!nr_done) {
			swapcontext(&main_context, &contexts[0]);
			sum = (sum * 7 + given) % 1000003;
			if (nr_done)
				break;
			pthread_create(&t, NULL, resume, &contexts[0]);
			pthread_join(t, NULL);
			sum = (sum * 7 + given) % 1000003;
		}
	}
	printf("migrate %ld\n", sum);
}

/* ---- Depth ---- */

APART static long deep(long n)
{
	volatile long here = n;

	return n ? deep(n - 1) + here % 3 : 0;
}

static void run_deep(void)
{
	printf("deep %ld\n", deep(60000));
	for (int i = 0; i < 100; i++)
		sum += deep(300 + i);
	printf("deep %ld\n", sum);
}

int main(int argc, char **argv)
{
	static const struct { const char *name; void (*run)(void);
	} modes[] = { { "longjmp", run_longjmp }, { "middle", run_middle },
		      { "alternate", run_alternate }, { "timer", run_timer },
		      { "local", run_local },	      { "coroutines", run_coroutines },
		      { "migrate", run_migrate }, { "deep", run_deep },
		      { "overflow", run_overflow } };

	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++)
		if (argc < 2 || !strcmp(argv[1], modes[i].name))
			modes[i].run();
	return 0;
}
