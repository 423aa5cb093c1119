/* SPDX-License-Identifier: MIT */
/*
 * late_program.c - a program that runs when the session's first probe is defined: late_program HOW
 * GO N [LIBRARY]
 *
 * It says "runs", waits until the file GO is there, and calls target() N times. HOW:
 *
 *   one		in one thread
 *   threads	in four, which all wait
 *   heap	the same as one, but it waits without a system call through libc
 *   fork	in two processes; the child is made before the file is there
 *   later	the same, but made after that
 *   worker	the same as fork, but the child first waits for a byte on its input
 *   daemon	its child first waits for a byte on its input; the parent ends
 *   reads	it first waits for a byte on its input
 *   handler	it waits in a signal handler
 *   sandbox	it has entered a filter of system calls
 *   seals	its code may not be changed any more; 77: this kernel has no mseal()
 *   blocks	it has blocked SIGSEGV for a moment
 *   nested	outer() calls target()
 *   exec	then it executes itself as one
 *   opens	then it opens the library, and calls its part_sum() N times
 *   spins	a thread of the highest priority calls target() all the time, on the same CPU, until
 *		the file is there; then it calls it N times
 */
#include <dlfcn.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "../apart.h"

enum { THREADS = 4 };

static const char *go;
static char **arguments;
static long calls;
static atomic_bool stops;

APART long target(long n)
{
	__asm__ volatile("" : "+r"(n));
	return n + 1;
}

APART long outer(long n)
{
	n = target(n);
	__asm__ volatile("" : "+r"(n));
	return n;
}

static void waits(void)
{
	while (access(go, F_OK))
		usleep(1000);
}

/* No interposer sees the look at the file. */
static void waits_by_heap(void)
{
	void *volatile some;
	long r;

	do {
		some = malloc(100);
		free(some);
		__asm__ volatile("syscall" : "=a"(r) : "a"(SYS_access), "D"(go), "S"(F_OK) :
				 "rcx", "r11", "memory");
	} while (r);
}

static long sum(void)
{
	volatile long sum = 0;

	for (long i = 0; i < calls; i++)
		sum += target(i);
	return sum;
}

static void *waits_and_sums(void *arg)
{
	waits();
	*(long *)arg = sum();
	return NULL;
}

static long in_threads(void)
{
	pthread_t threads[THREADS];
	long sums[THREADS], all = 0;

	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, waits_and_sums, &sums[i]);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		all += sums[i];
	}
	return all;
}

static void handler(int sig)
{
	(void)sig;
	waits();
}

static void handled(void)
{
	signal(SIGUSR1, handler);
	raise(SIGUSR1);
}

static void sandbox(void)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	const struct sock_fprog all = { 1, &allow };

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all))
		exit(4);
}

static long in_two(bool first, bool worker)
{
	int status = 1;
	pid_t pid;
	char byte;

	if (!first)
		waits();
	pid = fork();
	if (!pid && worker && read(0, &byte, 1) != 1)
		_exit(2);
	waits();
	if (!pid)
		_exit(sum() != calls * (calls + 1) / 2);
	waitpid(pid, &status, 0);
	return status ? -1 : sum();
}

/* The child says "daemon" and its number, and later its sum. */
static long leaves(void)
{
	char byte;

	if (fork())
		return 0;
	setsid();
	printf("daemon %d\n", (int)getpid());
	fflush(stdout);
	if (read(0, &byte, 1) != 1)
		_exit(2);
	waits();
	printf("sum %ld\n", sum());
	fflush(stdout);
	_exit(0);
}

static void seals(void)
{
	const long page = sysconf(_SC_PAGESIZE);

	if (syscall(462, (long)target & -page, page, 0))
		_exit(77);
}

static void blocks(void)
{
	sigset_t faults;

	sigemptyset(&faults);
	sigaddset(&faults, SIGSEGV);
	sigprocmask(SIG_BLOCK, &faults, NULL);
	sigprocmask(SIG_UNBLOCK, &faults, NULL);
}

static long nested(void)
{
	volatile long sum = 0;

	waits();
	for (long i = 0; i < calls; i++)
		sum += outer(i);
	return sum;
}

/* -> what it had before it executed itself */
static long executes(void)
{
	static char one[] = "one";
	long before;

	waits();
	before = sum();
	arguments[1] = one;
	execv("/proc/self/exe", arguments);
	return -before;
}

static long opens(const char *library)
{
	void *part;
	long (*part_sum)(long), done = 0;

	waits();
	part = dlopen(library, RTLD_NOW);
	part_sum = part ? (long (*)(long))dlsym(part, "part_sum") : NULL;
	for (long i = 0; part_sum && i < calls; i++) {
		part_sum(i);
		done++;
	}
	return done;
}

/* One that may not have such a priority spins with its own. */
static void *spin(void *arg)
{
	const struct sched_param highest = { .sched_priority = sched_get_priority_max(SCHED_FIFO) };

	pthread_setschedparam(pthread_self(), SCHED_FIFO, &highest);
	while (!stops)
		target(0);
	return arg;
}

/* On one CPU: it is its last, and the kernel leaves other threads a twentieth of it. */
static long spins(void)
{
	pthread_t thread;
	cpu_set_t cpu;

	CPU_ZERO(&cpu);
	CPU_SET(sched_getcpu(), &cpu);
	sched_setaffinity(0, sizeof(cpu), &cpu);
	pthread_create(&thread, NULL, spin, NULL);
	waits();
	stops = true;
	pthread_join(thread, NULL);
	return sum();
}

static long run(const char *how, const char *library)
{
	char byte;

	if (!strcmp(how, "threads"))
		return in_threads();
	if (!strcmp(how, "nested"))
		return nested();
	if (!strcmp(how, "exec"))
		return executes();
	if (!strcmp(how, "opens"))
		return opens(library);
	if (!strcmp(how, "spins"))
		return spins();
	if (!strcmp(how, "fork") || !strcmp(how, "later") || !strcmp(how, "worker"))
		return in_two(strcmp(how, "later"), !strcmp(how, "worker"));
	if (!strcmp(how, "daemon"))
		return leaves();
	if (!strcmp(how, "reads") && read(0, &byte, 1) != 1)
		return -1;
	if (!strcmp(how, "sandbox"))
		sandbox();
	if (!strcmp(how, "seals"))
		seals();
	if (!strcmp(how, "blocks"))
		blocks();
	if (!strcmp(how, "heap"))
		waits_by_heap();
	else if (!strcmp(how, "handler"))
		handled();
	else
		waits();
	return sum();
}

int main(int argc, char **argv)
{
	const char *how = argc >= 4 ? argv[1] : "";

	if (argc < 4)
		return 2;
	arguments = argv;
	go = argv[2];
	calls = atol(argv[3]);
	printf("runs %d\n", (int)getpid());
	fflush(stdout);
	printf("%ld\n", run(how, argv[4]));
	return 3;
}
