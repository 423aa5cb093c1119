/* SPDX-License-Identifier: MIT */
/*
 * graph_threads.c - threads and processes that end or begin in the middle of functions:
 * pthread_exit, cancellation, fork, vfork
 */
#define _GNU_SOURCE
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "../../apart.h"

static atomic_long sum;
static pthread_key_t key;
static char *self;

APART static long work(int n)
{
	return n < 2 ? n : work(n - 1) + work(n - 2);
}

APART static void cleanup(void *arg)
{
	sum += (long)arg + work(4);
}

APART static void destructor(void *arg)
{
	sum += (long)arg;
}

/* ---- Ends ---- */

APART static long exit_at(int depth)
{
	long r = 0;

	pthread_cleanup_push(cleanup, (void *)(long)depth);
	if (!depth)
		pthread_exit((void *)7);
	r = exit_at(depth - 1) + 1;
	pthread_cleanup_pop(0);
	return r;
}

static void *exits(void *arg)
{
	pthread_setspecific(key, (void *)100);
	return (void *)exit_at((int)(long)arg);
}

APART static long pause_at(int depth, int *in)
{
	long r = 0;

	pthread_cleanup_push(cleanup, (void *)(long)depth);
	if (!depth) {
		char c;

		for (;;)
			if (read(in[0], &c, 1) < 0)
				break;
	}
	r = pause_at(depth - 1, in) + 1;
	pthread_cleanup_pop(0);
	return r;
}

static void *cancelled(void *arg)
{
	pthread_setspecific(key, (void *)1000);
	return (void *)pause_at(20, arg);
}

static atomic_int spinning;

APART static long spin_at(int depth)
{
	long r = 0;

	pthread_cleanup_push(cleanup, (void *)3);
	if (!depth) {
		int old;

		spinning = 1;
		pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old);
		for (;;)
			r += work(9);
	}
	r = spin_at(depth - 1) + 1;
	pthread_cleanup_pop(0);
	return r;
}

static void *spins(void *arg)
{
	return (void *)spin_at((int)(long)arg);
}

static void run_exit(void)
{
	void *result;

	for (long i = 0; i < 60; i++) {
		pthread_t t;

		pthread_create(&t, NULL, exits, (void *)(i % 30));
		pthread_join(t, &result);
		sum += (long)result;
	}
	printf("exit %ld\n", sum);
}

static void run_cancel(void)
{
	int in[2], nr = 0;

	if (pipe(in))
		return;
	for (int i = 0; i < 40; i++) {
		pthread_t t;
		void *result;

		pthread_create(&t, NULL, cancelled, in);
		if (i % 2)
			sched_yield();
		pthread_cancel(t);
		pthread_join(t, &result);
		nr += result == PTHREAD_CANCELED;
	}
	/*
	 * A thread that is cancelled early has fewer frames to clean up, so only the number of
	 * threads is certain.
	 */
	printf("cancel %d\n", nr);
}

static void run_async(void)
{
	int nr = 0;

	for (int i = 0; i < 200; i++) {
		pthread_t t;
		void *result;

		spinning = 0;
		pthread_create(&t, NULL, spins, (void *)(long)(i % 25));
		while (!spinning)
			sched_yield();
		for (volatile int j = 0; j < i * 100; j++)
			;
		pthread_cancel(t);
		pthread_join(t, &result);
		nr += result == PTHREAD_CANCELED;
	}
	printf("async %d\n", nr);
}

static void *works(void *arg)
{
	return (void *)(work(16) + (long)arg);
}

static void run_many(void)
{
	pthread_t t[40];
	void *result;
	long total = 0;

	for (long i = 0; i < 40; i++)
		pthread_create(&t[i], NULL, works, (void *)i);
	for (int i = 0; i < 40; i++) {
		pthread_join(t[i], &result);
		total += (long)result;
	}
	printf("many %ld\n", total);
}

/* ---- Children ---- */

/* Parent and child both return through all open functions. */
APART static long fork_at(int depth, pid_t *child)
{
	if (!depth) {
		*child = fork();
		return *child ? 1 : 2;
	}
	return fork_at(depth - 1, child) + work(3);
}

static void run_fork(void)
{
	long total = 0;

	fflush(stdout);
	for (int i = 0; i < 20; i++) {
		pid_t child;
		int status;
		long v = fork_at(i, &child);

		if (!child)
			_exit((int)(v + work(5)));
		waitpid(child, &status, 0);
		total = total * 3 % 1000003 + v + WEXITSTATUS(status);
	}
	printf("fork %ld\n", total);
}

APART static void run_self(const char *what)
{
	execl(self, self, what, (char *)NULL);
}

/* The child uses the parent's memory and stack, and calls deeper functions on it. */
APART static int vfork_at(int depth, int how)
{
	volatile pid_t child;
	int status;

	if (depth)
		return vfork_at(depth - 1, how) + (int)work(2);
	child = vfork();
	if (!child) {
		sum += work(6);
		if (how)
			run_self("child");
		_exit((int)work(7));
	}
	waitpid(child, &status, 0);
	return WEXITSTATUS(status);
}

static void run_vfork(void)
{
	int total = 0;

	fflush(stdout);
	for (int i = 0; i < 20; i++)
		total += vfork_at(i, i % 2);
	printf("vfork %d %ld\n", total, sum);
}

static void run_spawn(void)
{
	char *args[] = { self, "child", NULL };
	pid_t child;
	int status, total = 0;

	fflush(stdout);
	for (int i = 0; i < 5; i++) {
		if (!posix_spawn(&child, self, NULL, NULL, args, environ)) {
			waitpid(child, &status, 0);
			total += WEXITSTATUS(status);
		}
		total += system("exit 3") >> 8;
	}
	printf("spawn %d\n", total);
}

APART static int clone_child(void *arg)
{
	sum += work(8);
	return (int)(long)arg + (int)work(5);
}

static void run_clone(void)
{
	static char stack[256 * 1024];
	int status, total = 0;

	for (long i = 0; i < 10; i++) {
		pid_t child = clone(clone_child, stack + sizeof(stack),
				    CLONE_VM | CLONE_VFORK | SIGCHLD, (void *)i);

		waitpid(child, &status, 0);
		total += WEXITSTATUS(status);
	}
	printf("clone %d %ld\n", total, sum);
}

/* ---- The last thread ends by SYS_exit: the process ends with the first thread's status ---- */

APART static void *ends_last(void *arg)
{
	usleep(20000 + (useconds_t)work(5));
	syscall(SYS_exit, work(7));
	return arg;
}

APART static void ends_in_sandbox(void)
{
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
	syscall(SYS_exit, work(6));
}

APART static void ends_first(void)
{
	pthread_t t;

	pthread_create(&t, NULL, ends_last, NULL);
	syscall(SYS_exit, work(7));
}

static void run_last(void)
{
	static void (*const ends[])(void) = { ends_in_sandbox, ends_first };

	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		int status = -1;
		pid_t pid;

		fflush(stdout);
		pid = fork();
		if (!pid) {
			alarm(20);
			ends[i]();
		}
		waitpid(pid, &status, 0);
		printf("last %zu: status %x\n", i, (unsigned int)status);
	}
}

/* ---- Handlers on alternate stacks that are hardly large enough for them ---- */

APART static void small_handler(int sig)
{
	sum += work(3) + sig;
}

APART static void on_small_stack(size_t size)
{
	char *stack = malloc(size);
	const stack_t st = { .ss_sp = stack, .ss_size = size };
	struct sigaction sa = { .sa_handler = small_handler, .sa_flags = SA_ONSTACK };

	sigaltstack(&st, NULL);
	sigaction(SIGUSR1, &sa, NULL);
	for (int i = 0; i < 20; i++)
		raise(SIGUSR1);
	exit((int)(sum & 0x7f));
}

static void run_small(void)
{
	for (size_t more = 512; more < 8192; more += 512) {
		int status = -1;
		pid_t pid;

		fflush(stdout);
		pid = fork();
		if (!pid)
			on_small_stack(getauxval(AT_MINSIGSTKSZ) + more);
		waitpid(pid, &status, 0);
		printf("small %zu: status %x\n", more, (unsigned int)status);
	}
}

int main(int argc, char **argv)
{
	static const struct { const char *name; void (*run)(void);
	} modes[] = { { "exit", run_exit }, { "cancel", run_cancel }, { "async", run_async },
		     { "many", run_many }, { "fork", run_fork }, { "vfork", run_vfork },
		     { "spawn", run_spawn }, { "clone", run_clone }, { "last", run_last },
		     { "small", run_small } };

	self = argv[0];
	if (argc > 1 && !strcmp(argv[1], "child"))
		return (int)work(6) + 1;
	pthread_key_create(&key, destructor);
	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++)
		if (argc < 2 || !strcmp(argv[1], modes[i].name)) {
			sum = 0;
			modes[i].run();
		}
	return 0;
}
