/* SPDX-License-Identifier: MIT */
/*
 * latency_program.c - sections of known order and length, for latency_live
 *
 * Sections are busy-waits whose length the program measures itself. For each section it prints a
 * line "NAME USECS", the least time that the section took.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <tracefuse/tracefuse.h>

TF_EVENT(lat, note, (int, step));

static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER, inner = PTHREAD_MUTEX_INITIALIZER;
static sigjmp_buf back;

/* Inlined, so that it is no traced function. */
static inline __attribute__((always_inline)) long long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

/* Waits at least that long. Returns how long it waited. */
static long long __attribute__((noinline)) busy(int usecs)
{
	long long start = now_ns(), end;

	do
		end = now_ns();
	while (end - start < usecs * 1000ll);
	return end - start;
}

static void say(const char *name, long long ns)
{
	printf("%s %lld\n", name, ns / 1000);
	fflush(stdout);
}

/* ---- locks ---- */

static long long __attribute__((noinline)) locked_outer(int usecs)
{
	long long ns;

	pthread_mutex_lock(&outer);
	trace_note(1);
	pthread_mutex_lock(&inner);
	trace_note(2);
	ns = busy(usecs / 2);
	pthread_mutex_unlock(&inner);
	trace_note(3);
	ns += busy(usecs / 2);
	pthread_mutex_unlock(&outer);
	return ns;
}

static void __attribute__((noinline)) locked_short(void)
{
	pthread_mutex_lock(&outer);
	trace_note(4);
	pthread_mutex_unlock(&outer);
}

/* ---- signals ---- */

static long long __attribute__((noinline)) masked(int usecs)
{
	sigset_t all, old;
	long long ns;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	trace_note(5);
	ns = busy(usecs);
	trace_note(6);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return ns;
}

static int handler_usecs, handler_jumps;
static long long handler_ns;

static void on_signal(int sig)
{
	trace_note(7);
	handler_ns = busy(handler_usecs);
	trace_note(8);
	if (handler_jumps)
		siglongjmp(back, 1);
}

static long long __attribute__((noinline)) handled(int usecs, int jumps, int fills)
{
	struct sigaction act = { .sa_handler = on_signal };

	if (fills)
		sigfillset(&act.sa_mask);
	sigaction(SIGUSR1, &act, NULL);
	handler_usecs = usecs;
	handler_jumps = jumps;
	if (!sigsetjmp(back, 1))
		raise(SIGUSR1);
	return handler_ns;
}

/* Waits with no signal blocked, so it is not part of a section. */
static void on_alarm(int sig)
{
	trace_note(12);
}

static long long __attribute__((noinline)) suspended(int usecs)
{
	struct itimerval timer = { .it_value.tv_usec = usecs };
	sigset_t all, none, old;
	long long start;

	signal(SIGALRM, on_alarm);
	sigfillset(&all);
	sigemptyset(&none);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	start = now_ns();
	setitimer(ITIMER_REAL, &timer, NULL);
	sigsuspend(&none);
	start = now_ns() - start;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return start;
}

/* ---- the program's own ---- */

static long long __attribute__((noinline)) own(int usecs)
{
	long long ns;

	tf_critical_start();
	trace_note(9);
	tf_critical_start();
	ns = busy(usecs / 2);
	tf_critical_stop();
	trace_note(10);
	ns += busy(usecs / 2);
	tf_critical_stop();
	return ns;
}

/* ---- two threads: B's section begins before A's, and ends after it ---- */

static pthread_spinlock_t spin[2];
static volatile int turn;

static void await(int wanted)
{
	while (turn != wanted)
		usleep(100);
}

static void *__attribute__((noinline)) other(void *arg)
{
	pthread_spin_lock(&spin[1]);
	turn = 1;
	await(2);
	busy(1000);
	pthread_spin_unlock(&spin[1]);
	turn = 3;
	await(4);
	return NULL;
}

static long long __attribute__((noinline)) overlapped(int usecs)
{
	pthread_t thread;
	long long ns;

	pthread_spin_init(&spin[0], 0);
	pthread_spin_init(&spin[1], 0);
	pthread_create(&thread, NULL, other, NULL);
	await(1);
	pthread_spin_lock(&spin[0]);
	ns = busy(usecs);
	pthread_spin_unlock(&spin[0]);
	turn = 2;
	await(3);
	turn = 4;
	pthread_join(thread, NULL);
	return ns;
}

/* ---- a child has no section of its parent's ---- */

static long long __attribute__((noinline)) in_child(int usecs)
{
	long long ns;

	pthread_mutex_lock(&inner);
	ns = busy(usecs);
	pthread_mutex_unlock(&inner);
	return ns;
}

static void forked(int usecs)
{
	pid_t pid;

	pthread_mutex_lock(&outer);
	pid = fork();
	if (!pid) {
		pthread_mutex_unlock(&outer);
		printf("child %d\n", (int)getpid());
		say("fork", in_child(usecs));
		_exit(0);
	}
	pthread_mutex_unlock(&outer);
	waitpid(pid, NULL, 0);
}

/* ---- somebody is woken ---- */

static pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
static int waiting, is_ready;
static long long woke_ns;

static void *__attribute__((noinline)) sleeper(void *arg)
{
	pthread_setname_np(pthread_self(), "sleeper");
	pthread_mutex_lock(&outer);
	waiting = (int)syscall(SYS_gettid);
	while (!is_ready)
		pthread_cond_wait(&ready, &outer);
	pthread_mutex_unlock(&outer);
	return NULL;
}

static void __attribute__((noinline)) waker(void)
{
	/* The woken thread runs only after it gets the mutex, which this thread releases later. */
	pthread_cond_signal(&ready);
	woke_ns = now_ns();
	trace_note(11);
	busy(5000);
	woke_ns = now_ns() - woke_ns;
}

static long long __attribute__((noinline)) woken(void)
{
	pthread_t thread;
	int there = 0;

	pthread_create(&thread, NULL, sleeper, NULL);
	for (;;) {
		pthread_mutex_lock(&outer);
		there = waiting;
		if (there)
			break;
		pthread_mutex_unlock(&outer);
		usleep(1000);
	}
	is_ready = 1;
	waker();
	pthread_mutex_unlock(&outer);
	pthread_join(thread, NULL);
	printf("sleeper %d\n", there);
	return woke_ns;
}

/* ---- many at a time ---- */

enum { STORM = 4, STEPS = 3 };

static _Atomic int storm_ends;

static void __attribute__((noinline)) step(volatile long *nr)
{
	++*nr;
}

static void *__attribute__((noinline)) storm_thread(void *arg)
{
	pthread_mutex_t own_lock = PTHREAD_MUTEX_INITIALIZER;
	volatile long nr = 0;

	while (!storm_ends) {
		pthread_mutex_lock(&own_lock);
		for (int i = 0; i < STEPS; i++)
			step(&nr);
		pthread_mutex_unlock(&own_lock);
	}
	return NULL;
}

/* Runs until its input ends. */
static void storm(void)
{
	pthread_t thread[STORM];

	for (int i = 0; i < STORM; i++)
		pthread_create(&thread[i], NULL, storm_thread, NULL);
	while (getchar() != EOF)
		;
	storm_ends = 1;
	for (int i = 0; i < STORM; i++)
		pthread_join(thread[i], NULL);
}

/*
 * ---- as many sections as possible, one after the other: the last one has the highest number ----
 */

enum { IN_TURN = 4, TURNS = 3000, TURN_USECS = 5 };

static int turns;

static void *__attribute__((noinline)) turn_thread(void *arg)
{
	for (int i = 0; i < TURNS; i++) {
		pthread_mutex_lock(&outer);
		trace_note(++turns);
		busy(TURN_USECS);
		pthread_mutex_unlock(&outer);
	}
	return NULL;
}

static void in_turn(void)
{
	pthread_t thread[IN_TURN];

	for (int i = 0; i < IN_TURN; i++)
		pthread_create(&thread[i], NULL, turn_thread, NULL);
	for (int i = 0; i < IN_TURN; i++)
		pthread_join(thread[i], NULL);
	printf("turns %d\n", turns);
}

/* ---- one that lasts until its input ends ---- */

static void __attribute__((noinline)) held(void)
{
	pthread_mutex_lock(&outer);
	trace_note(13);
	say("held", 0);
	while (getchar() != EOF)
		;
	trace_note(14);
	pthread_mutex_unlock(&outer);
}

int main(int argc, char **argv)
{
	int usecs = argc > 2 ? atoi(argv[2]) : 3000;

	printf("pid %d\n", (int)getpid());
	fflush(stdout);
	if (!strcmp(argv[1], "lock")) {
		say("lock", locked_outer(usecs));
		locked_short();
	} else if (!strcmp(argv[1], "mask")) {
		say("mask", masked(usecs));
		masked(0);
	} else if (!strcmp(argv[1], "handler")) {
		say("handler", handled(usecs, 0, 1));
	} else if (!strcmp(argv[1], "jump")) {
		say("jump", handled(usecs, 1, 1));
		busy(usecs * 4);	/* behind the section */
	} else if (!strcmp(argv[1], "unmasked")) {
		say("unmasked", handled(usecs, 0, 0));
	} else if (!strcmp(argv[1], "suspend")) {
		say("suspend", suspended(usecs));
	} else if (!strcmp(argv[1], "own")) {
		say("own", own(usecs));
	} else if (!strcmp(argv[1], "overlap")) {
		say("overlap", overlapped(usecs));
	} else if (!strcmp(argv[1], "fork")) {
		forked(usecs);
	} else if (!strcmp(argv[1], "storm")) {
		storm();
	} else if (!strcmp(argv[1], "in_turn")) {
		in_turn();
	} else if (!strcmp(argv[1], "held")) {
		held();
	} else if (!strcmp(argv[1], "wake")) {
		say("wake", woken());
	} else if (!strcmp(argv[1], "growing")) {
		for (int i = 1; i <= 5; i++)
			say("growing", masked(usecs * i));
		say("shorter", masked(usecs));
	}
	return 0;
}
