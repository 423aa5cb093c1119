/* SPDX-License-Identifier: MIT */
/*
 * report_program.c - a program whose calls, system calls, allocations and locks are known
 *
 *     report_program functions     1 tree, 3 branch, 12 leaf, 6 descend (which calls itself)
 *     report_program recursion     5 ping and 4 pong, which call each other
 *     report_program left          1 jumps, 3 middle, 3 leaves, which longjmp() leaves
 *     report_program moves         5 moves, 3 of which choose the thread's CPU by onto()
 *     report_program wait FILE     functions again and again, until the file is there
 *     report_program syscalls      7 getppid, 3 close of which 2 fail; 4 getppid in a thread
 *     report_program heap          see make_heap()
 *     report_program wrapped       1100 blocks by wrapper(), 600 for lose_some() of which 3 stay
 *     report_program deep          2 blocks from each of 20 depths of calls; one of them stays
 *     report_program forks         2 blocks; each is freed by main and by a child
 *     report_program locks         2 threads wait for the mutex that main has, at wait_here()
 *     report_program locked        the same, and it ends while they wait
 *     report_program unseen        a thread waits for a mutex that it had before main, which takes
 *                                  it past the event
 */
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "await_sleep.h"

static volatile int seen;
static jmp_buf back;

__attribute__((noinline)) void leaf(void);
__attribute__((noinline)) void branch(void);
__attribute__((noinline)) void descend(int n);
__attribute__((noinline)) void ping(int n);
__attribute__((noinline)) void pong(int n);
__attribute__((noinline)) void tree(void);
__attribute__((noinline)) void onto(int cpu);
__attribute__((noinline)) void moves(int to);
__attribute__((noinline)) void jumps(void);
__attribute__((noinline)) void middle(void);
__attribute__((noinline)) void leaves(void);

void leaf(void)
{
	seen++;
}

void branch(void)
{
	for (int i = 0; i < 4; i++)
		leaf();
	seen++;
}

void descend(int n)
{
	if (n)
		descend(n - 1);
	seen++;
}

void leaves(void)
{
	seen++;
	longjmp(back, 1);
}

void middle(void)
{
	leaves();
	seen++;
}

void jumps(void)
{
	for (volatile int i = 0; i < 3; i++)
		if (!setjmp(back))
			middle();
}

void ping(int n)
{
	leaf();
	if (n)
		pong(n - 1);
	seen++;
}

void pong(int n)
{
	ping(n);
	seen++;
}

void tree(void)
{
	for (int i = 0; i < 3; i++)
		branch();
	descend(5);
	seen++;
}

/* The first or the last CPU of those that it may use. */
void onto(int which)
{
	static cpu_set_t all;
	cpu_set_t one;
	int cpu = which ? CPU_SETSIZE - 1 : 0;

	if (!CPU_COUNT(&all))
		sched_getaffinity(0, sizeof(all), &all);
	while (!CPU_ISSET(cpu, &all))
		cpu += which ? -1 : 1;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	sched_setaffinity(0, sizeof(one), &one);
}

void moves(int to)
{
	if (to >= 0)
		onto(to);
	seen++;
}

/* It has no entry in .eh_frame: it cannot be traced. */
__asm__(".text\n"
	".globl bare\n"
	".type bare, @function\n"
	"bare: nopl 0(%rax, %rax)\n"
	"ret\n"
	".size bare, . - bare\n");

/* ---- system calls ---- */

static void *call_in_thread(void *arg)
{
	for (int i = 0; i < 4; i++)
		getppid();
	return arg;
}

static void make_calls(void)
{
	pthread_t thread;

	for (int i = 0; i < 7; i++)
		getppid();
	close(dup(0));
	close(-1);
	close(-2);
	pthread_create(&thread, NULL, call_in_thread, NULL);
	pthread_join(thread, NULL);
}

/* ---- the heap ---- */

static void *kept[8];

__attribute__((noinline)) void keep_four(void);
__attribute__((noinline)) void keep_none(void);

void keep_four(void)
{
	for (int i = 0; i < 8; i++)
		kept[i] = malloc(1000);
	for (int i = 0; i < 4; i++)
		free(kept[i]);
	seen++;
}

void keep_none(void)
{
	for (int i = 0; i < 5; i++) {
		void *p = calloc(1, 50);

		kept[0] = p;
		p = realloc(p, 5000);
		kept[0] = p;
		free(p);
	}
	seen++;
}

/* keep_four(): 8 of 1000 bytes, 4 stay. keep_none(): 10, none stays. */
static void make_heap(void)
{
	keep_four();
	keep_none();
}

/* The only function that allocates, as operator new is. */
__attribute__((noinline)) void *wrapper(size_t n);
__attribute__((noinline)) void lose_some(void);
__attribute__((noinline)) void lose_nothing(void);

void *wrapper(size_t n)
{
	void *p = malloc(n);

	seen++;
	return p;
}

void lose_some(void)
{
	for (int i = 0; i < 600; i++) {
		kept[0] = wrapper(1000);
		if (i >= 3)
			free(kept[0]);
	}
	seen++;
}

void lose_nothing(void)
{
	for (int i = 0; i < 500; i++) {
		kept[0] = wrapper(1000);
		free(kept[0]);
	}
	seen++;
}

__attribute__((noinline)) void deeper(int n);

void deeper(int n)
{
	if (n)
		deeper(n - 1);
	for (int i = 0; !n && i < 2; i++)
		kept[i] = malloc(1000);
	if (!n)
		free(kept[1]);
	seen++;
}

static void wrap_heap(void)
{
	lose_some();
	lose_nothing();
}

/* The child leaves one block of its own. */
static void fork_heap(void)
{
	kept[0] = malloc(1000);
	kept[1] = malloc(1000);
	if (!fork()) {
		free(kept[0]);
		free(kept[1]);
		kept[2] = strdup("left");
		_exit(0);
	}
	wait(NULL);
	free(kept[0]);
	free(kept[1]);
}

/* ---- locks ---- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static volatile int waiting;

__attribute__((noinline)) void wait_here(void);
__attribute__((noinline)) void hold_here(void);

void wait_here(void)
{
	pthread_mutex_lock(&mutex);
	seen++;
	pthread_mutex_unlock(&mutex);
}

static int waiters[2];

/* The name has a byte that controls terminals. */
static void *wait_in_thread(void *arg)
{
	pthread_setname_np(pthread_self(), arg ? "w\302\233" : "waiter");
	waiters[__atomic_fetch_add(&waiting, 1, __ATOMIC_SEQ_CST)] = gettid();
	wait_here();
	return arg;
}

/* Until both threads sleep in the kernel. */
void hold_here(void)
{
	pthread_t threads[2];

	pthread_mutex_lock(&mutex);
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, wait_in_thread, NULL);
	while (__atomic_load_n(&waiting, __ATOMIC_SEQ_CST) < 2)
		usleep(1000);
	usleep(300000);
	pthread_mutex_unlock(&mutex);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}

static void *give_up(void *arg)
{
	const struct timespec past = { .tv_sec = 1 };

	pthread_mutex_timedlock(&mutex, &past);
	return arg;
}

/* One wait fails, and has ended. The other threads sleep only where they wait for the lock. */
static void end_locked(void)
{
	pthread_t thread;

	pthread_mutex_lock(&mutex);
	pthread_create(&thread, NULL, give_up, NULL);
	pthread_join(thread, NULL);
	for (int i = 0; i < 2; i++)
		pthread_create(&thread, NULL, wait_in_thread, waiters);
	for (int i = 0; i < 2; i++) {
		int tid;

		while (!(tid = __atomic_load_n(&waiters[i], __ATOMIC_SEQ_CST)))
			usleep(1000);
		await_sleep(tid);
	}
}

static void *wait_again(void *arg)
{
	pthread_setname_np(pthread_self(), "waiter");
	wait_here();
	__atomic_store_n(&waiting, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&waiting, __ATOMIC_SEQ_CST) < 2)
		usleep(1000);
	wait_here();
	return arg;
}

/* The mutex is taken past tracefuse, as if its holder had not been recorded yet. */
static void hold_unseen(void)
{
	void *libc = dlopen("libc.so.6", RTLD_LAZY);
	int (*lock)(pthread_mutex_t *m) = (int (*)(pthread_mutex_t *))(uintptr_t)dlsym(
		libc, "pthread_mutex_lock");
	pthread_t thread;

	pthread_create(&thread, NULL, wait_again, NULL);
	while (!__atomic_load_n(&waiting, __ATOMIC_SEQ_CST))
		usleep(1000);
	lock(&mutex);
	__atomic_store_n(&waiting, 2, __ATOMIC_SEQ_CST);
	usleep(300000);
	pthread_mutex_unlock(&mutex);
	pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
	if (argc > 2 && !strcmp(argv[1], "wait")) {
		puts("ready");
		fflush(stdout);
		while (access(argv[2], F_OK)) {
			tree();
			usleep(1000);
		}
	} else if (argc > 1 && !strcmp(argv[1], "recursion")) {
		ping(4);
	} else if (argc > 1 && !strcmp(argv[1], "moves")) {
		/* A call ends on another CPU; on the first one a later call's end follows. */
		static const int to[] = { 0, 1, -1, 0, -1 };

		onto(0);
		for (size_t i = 0; i < sizeof(to) / sizeof(*to); i++)
			moves(to[i]);
	} else if (argc > 1 && !strcmp(argv[1], "left")) {
		jumps();
	} else if (argc > 1 && !strcmp(argv[1], "functions")) {
		tree();
	} else if (argc > 1 && !strcmp(argv[1], "syscalls")) {
		make_calls();
	} else if (argc > 1 && !strcmp(argv[1], "heap")) {
		make_heap();
	} else if (argc > 1 && !strcmp(argv[1], "wrapped")) {
		wrap_heap();
	} else if (argc > 1 && !strcmp(argv[1], "deep")) {
		for (int i = 0; i < 20; i++)
			deeper(i);
	} else if (argc > 1 && !strcmp(argv[1], "forks")) {
		fork_heap();
	} else if (argc > 1 && !strcmp(argv[1], "locks")) {
		hold_here();
	} else if (argc > 1 && !strcmp(argv[1], "locked")) {
		end_locked();
	} else if (argc > 1 && !strcmp(argv[1], "unseen")) {
		hold_unseen();
	}
	return argc > 1 ? 0 : 3;
}
