/* SPDX-License-Identifier: MIT */
/*
 * probe_storm.cc - checks what it computes while signals come: probe_storm HOW LIBRARY
 *
 * A timer of 1 kHz and a thread that sends signals interrupt threads, which throw exceptions, are
 * cancelled, jump with longjmp(), switch contexts, fork, compute and execute after vfork(), clone
 * with a stack of their own, load and unload the library, and make a child with a system call
 * filter. Each computes a sum that it knows. It prints
 * what was wrong, and the same line whenever nothing was. HOW: the number of rounds, or until=FILE,
 * until the file is there.
 */
#include <atomic>
#include <dlfcn.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdexcept>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <string>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define APART __attribute__((noinline, noclone))
#define STAYS(x) __asm__ volatile("" : "+r"(x) : : "memory")

enum { DEEP = 9, STACK = 64 << 10, SWITCHES = 20, KIND = 9 };

static long rounds;
static const char *until, *library;
static std::atomic<long> wrong, handled, done[KIND];
static std::atomic<bool> ends;

static void check(const char *what, long got, long wanted)
{
	if (got != wanted) {
		wrong++;
		fprintf(stderr, "%s: %ld instead of %ld\n", what, got, wanted);
	}
}

/* Whether another round is made. */
/* On a busy machine the file may be there before a thread has begun: each does its work once. */
static bool goes_on(long round)
{
	return until ? !round || access(until, F_OK) != 0 : round < rounds;
}

/* ---- What is probed ---- */

/* A leaf function whose data is below the stack pointer. */
APART long leaf(long a)
{
	volatile long room[4] = { a, a + 1, a + 2, a + 3 };

	return room[1] * room[2] - room[0] * room[3];
}

APART double real(double a, long b)
{
	double r = a * (double)b;

	for (long i = 0; i < b % 5; i++)
		r += leaf(i) / 2.0;
	return r - (double)(b % 5);
}

APART long sum(long n)
{
	long below;

	if (n <= 0)
		return 0;
	below = sum(n - 1);
	STAYS(below);
	return below + n + leaf(n) - 2;
}

/* Ends by a jump. */
APART long last(long n)
{
	STAYS(n);
	return sum(n);
}

struct guarded {
	long *count;
	explicit guarded(long *c) : count(c) { ++*c; }
	~guarded() { --*count; }
};

APART long falls(long n, long *count)
{
	guarded g(count);
	std::string text((size_t)n * 5, 'x');

	if (n == 0)
		throw std::runtime_error("bottom");
	long r = falls(n - 1, count);
	STAYS(r);
	return r + (long)text.size();
}

APART long jumps(long n, jmp_buf *back)
{
	long r;

	if (n == 0)
		longjmp(*back, DEEP);
	r = jumps(n - 1, back);
	STAYS(r);
	return r + 1;
}

static void handler(int)
{
	const int err = errno;

	check("in a handler", sum(DEEP), DEEP * (DEEP + 1) / 2);
	check("real in a handler", (long)real(4, 7), 28);
	handled++;
	errno = err;
}

/* ---- One thread each ---- */

static void *throws(void *)
{
	for (long i = 0; goes_on(i); i++) {
		long count = 0, caught = 0;

		try {
			falls(i % DEEP, &count);
		} catch (const std::runtime_error &e) {
			caught = e.what()[0];
		}
		check("thrown", caught, 'b');
		check("destroyed", count, 0);
		done[0]++;
	}
	return NULL;
}

static void *longjmps(void *)
{
	for (volatile long i = 0; goes_on(i); i = i + 1) {
		jmp_buf back;
		volatile int got = setjmp(back);

		if (!got)
			jumps(i % DEEP, &back);
		check("longjmp()", got, DEEP);
		check("after it", last(DEEP), DEEP * (DEEP + 1) / 2);
		done[1]++;
	}
	return NULL;
}

static void cleaned(void *count)
{
	++*(long *)count;
}

static void *waits(void *count)
{
	pthread_cleanup_push(cleaned, count);
	for (;;) {
		check("before it is cancelled", sum(DEEP), DEEP * (DEEP + 1) / 2);
		pthread_testcancel();
	}
	pthread_cleanup_pop(0);
	return NULL;
}

static void *cancels(void *)
{
	for (long i = 0; goes_on(i * 10); i++) {
		long count = 0;
		pthread_t t;
		void *got;

		if (pthread_create(&t, NULL, waits, &count)) {
			usleep(1000);
			continue;
		}
		sched_yield();
		pthread_cancel(t);
		pthread_join(t, &got);
		check("cancelled", got == PTHREAD_CANCELED, 1);
		check("cleaned", count, 1);
		done[2]++;
	}
	return NULL;
}

static thread_local ucontext_t here, there;
static thread_local long passed;

static void other(void)
{
	for (;;) {
		passed += last(passed % DEEP) - last(passed % DEEP) + 1;
		swapcontext(&there, &here);
	}
}

static void *switches(void *)
{
	void *stack = malloc(STACK);

	for (long i = 0; goes_on(i); i++) {
		passed = 0;
		getcontext(&there);
		there.uc_stack.ss_sp = stack;
		there.uc_stack.ss_size = STACK;
		there.uc_link = NULL;
		makecontext(&there, other, 0);
		for (long j = 0; j < SWITCHES; j++) {
			swapcontext(&here, &there);
			check("meanwhile", leaf(j), 2);
		}
		check("switched", passed, SWITCHES);
		done[3]++;
	}
	free(stack);
	return NULL;
}

static void ended(const char *what, pid_t child, int wanted)
{
	int status = -1;

	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	check(what, status, wanted);
}

/* What a child's status is, from its sums. */
static const int computed = DEEP * (DEEP + 1) / 2 + 6;

static void *forks(void *)
{
	for (long i = 0; goes_on(i * 20); i++) {
		pid_t child = fork();

		if (child == 0)
			_exit((int)(sum(DEEP) + (long)real(2, 3)));
		if (child < 0)
			continue;
		ended("child", child, computed << 8);
		child = vfork();
		if (child == 0) {
			if (last(DEEP) + (long)real(2, 3) != computed)
				_exit(2);
			execl("/bin/sh", "sh", "-c", "exit 7", (char *)NULL);
			_exit(1);
		}
		if (child > 0)
			ended("executed", child, 7 << 8);
		done[4]++;
	}
	return NULL;
}

static int computes_on_a_stack(void *)
{
	return (int)(last(DEEP) + (long)real(2, 3));
}

/* A child that libc does not know, and whose only thread ends. */
static void clone_alone(void)
{
	pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);

	if (child == 0)
		syscall(SYS_exit, computes_on_a_stack(NULL));
	if (child > 0)
		ended("cloned alone", child, computed << 8);
}

/* Children on a stack of their own: on a copy of the memory, and on the memory itself. */
static void *clones(void *)
{
	static const int how[] = { SIGCHLD, CLONE_VM | CLONE_VFORK | SIGCHLD };
	char *stack = (char *)malloc(STACK);

	clone_alone();
	for (long i = 0; goes_on(i * 20); i++) {
		pid_t child = clone(computes_on_a_stack, stack + STACK, how[i % 2], NULL);

		if (child > 0)
			ended("cloned", child, computed << 8);
		done[8]++;
	}
	free(stack);
	return NULL;
}

static void *loads(void *)
{
	for (long i = 0; goes_on(i * 10); i++) {
		void *part = dlopen(library, RTLD_NOW | RTLD_LOCAL);
		long (*part_sum)(long) = part ? (long (*)(long))dlsym(part, "part_sum") : NULL;

		check("loaded", part_sum != NULL, 1);
		if (part_sum)
			check("its sum", part_sum(i) - part_sum(i), 0);
		if (part)
			dlclose(part);
		done[5]++;
	}
	return NULL;
}

/* The child may do little more than compute and end. */
static void filtered(void)
{
	struct sock_filter rules[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigreturn, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog filter = { sizeof(rules) / sizeof(rules[0]), rules };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
		_exit(9);
	_exit((int)(last(DEEP) + (long)real(2, 3)));
}

static void *confines(void *)
{
	for (long i = 0; goes_on(i * 20); i++) {
		pid_t child = fork();

		if (child == 0)
			filtered();
		if (child > 0)
			ended("filtered", child, computed << 8);
		done[6]++;
	}
	return NULL;
}

static void *computes(void *)
{
	for (long i = 0; goes_on(i); i++) {
		check("sum", sum(i % 50), (i % 50) * (i % 50 + 1) / 2);
		check("real", (long)real(3, i % 100), 3 * (i % 100));
		done[7]++;
	}
	return NULL;
}

static pthread_t threads[KIND];

static void *sends(void *)
{
	for (unsigned int i = 0; !ends; i++) {
		pthread_kill(threads[i % KIND], SIGUSR1);
		usleep(500);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static void *(*const work[KIND])(void *) = {
		throws, longjmps, cancels, switches, forks, loads, confines, computes, clones };
	/* A fork() begins again at each signal: on a busy machine it takes a millisecond or two. */
	const struct itimerval often = { { 0, 3000 }, { 0, 3000 } }, never = {};
	struct sigaction act = {};
	pthread_t sender;

	if (argc < 3)
		return 2;
	until = strncmp(argv[1], "until=", 6) ? NULL : argv[1] + 6;
	rounds = until ? 0 : atol(argv[1]);
	library = argv[2];
	act.sa_handler = handler;
	act.sa_flags = SA_RESTART;
	sigaction(SIGUSR1, &act, NULL);
	sigaction(SIGALRM, &act, NULL);
	for (int i = 0; i < KIND; i++)
		pthread_create(&threads[i], NULL, work[i], NULL);
	pthread_create(&sender, NULL, sends, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	if (until) {
		printf("runs\n");
		fflush(stdout);
	}
	computes(NULL);
	/* The sender may not signal threads that are joined. */
	ends = true;
	pthread_join(sender, NULL);
	for (int i = 0; i < KIND; i++)
		pthread_join(threads[i], NULL);
	setitimer(ITIMER_REAL, &never, NULL);
	for (int i = 0; i < KIND; i++)
		check("done at all", done[i] > 0, 1);
	check("handled at all", handled > 0, 1);
	printf("wrong %ld\n", wrong.load());
	return wrong ? 1 : 3;
}
