/* SPDX-License-Identifier: MIT */
/*
 * agent_load.c - a traced program that is hard to trace: it dies, forks, jumps, is interrupted
 *
 *     agent_load MODE N        prints "MIN MAX": how many stress:tick it has made, at least and at
 *                              most
 *     calls_load MODE N        the same of calls of its function called()
 *
 * There is one hit between two stores of a journal. So one hit is in doubt for each killed process,
 * each cancelled thread and each hit that was left by siglongjmp. All others count exactly.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <tracefuse/tracefuse.h>
#include "../apart.h"

#ifdef CALLS
/* A hit is a call of this function, which is traced. */
APART void called(int who, unsigned long n)
{
	__asm__ volatile("" : : "r"(who), "r"(n) : "memory");
}

/* It ends by a jump. */
APART void jumps(int who, unsigned long n)
{
	called(who, n);
}

static void trace_tick(int who, unsigned long n)
{
	jumps(who, n);
	__asm__ volatile("");	/* no jump */
}
#else
TF_EVENT(stress, tick, (int, who), (unsigned long, n));
#endif

static struct shared {
	_Atomic uint64_t done;		/* hits that are over */
	_Atomic uint64_t doubtful;	/* hits that have begun and may be over */
} *shared;

static void tick(int who, unsigned long n)
{
	trace_tick(who, n);
	atomic_fetch_add_explicit(&shared->done, 1, memory_order_relaxed);
}

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void nap(long ns)
{
	struct timespec ts = { ns / 1000000000, ns % 1000000000 };

	nanosleep(&ts, NULL);
}

static uint32_t random_below(uint32_t n)
{
	static uint32_t x = 2463534242u;

	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	return x % n;
}

static void reap(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			die("waitpid");
	if (WIFEXITED(status) && WEXITSTATUS(status))
		exit(WEXITSTATUS(status));
}

/* ---- kill: N processes that die at any moment ---- */

struct journal {
	_Atomic uint64_t begun, done;
};

static _Noreturn void hit_for_ever(struct journal *j)
{
	for (unsigned long n = 0;; n++) {
		atomic_fetch_add_explicit(&j->begun, 1, memory_order_relaxed);
		trace_tick(1, n);
		atomic_fetch_add_explicit(&j->done, 1, memory_order_relaxed);
	}
}

static void mode_kill(unsigned long nr)
{
	struct journal *j =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	for (unsigned long i = 0; i < nr; i++) {
		uint64_t done, begun;
		pid_t pid;

		j->begun = j->done = 0;
		pid = fork();
		if (pid < 0)
			die("fork");
		if (!pid)
			hit_for_ever(j);
		nap(200000 + random_below(3000000));
		kill(pid, SIGKILL);
		reap(pid);
		done = j->done;
		begun = j->begun;
		atomic_fetch_add(&shared->done, done);
		atomic_fetch_add(&shared->doubtful, begun - done);
	}
}

/* ---- storms ---- */

static void mode_forks(unsigned long nr)
{
	for (unsigned long i = 0; i < nr; i += 4) {
		pid_t pids[4];

		for (int k = 0; k < 4; k++) {
			pids[k] = fork();
			if (pids[k] < 0)
				die("fork");
			if (!pids[k]) {
				for (int n = 0; n < 10; n++)
					tick(k, (unsigned long)n);
				_exit(0);
			}
		}
		tick(9, i);
		for (int k = 0; k < 4; k++)
			reap(pids[k]);
	}
}

static void mode_vforks(unsigned long nr)
{
	for (volatile unsigned long i = 0; i < nr; i = i + 1) {
		pid_t pid = vfork();

		if (pid < 0)
			die("vfork");
		if (!pid) {
			trace_tick(2, i);
			if (i % 2)
				_exit(0);
			execl("/bin/true", "true", (char *)NULL);
			_exit(1);
		}
		atomic_fetch_add(&shared->done, 1);
		tick(1, i);
		reap(pid);
	}
}

static void *few_ticks(void *arg)
{
	for (unsigned long n = 0; n < 50; n++)
		tick((int)(intptr_t)arg, n);
	return NULL;
}

static void mode_threads(unsigned long nr)
{
	pthread_t t[16];

	for (unsigned long i = 0; i < nr; i += 16) {
		for (long k = 0; k < 16; k++)
			if (pthread_create(&t[k], NULL, few_ticks, (void *)k))
				die("pthread_create");
		for (int k = 0; k < 16; k++)
			pthread_join(t[k], NULL);
	}
}

/* fork() while other threads hit: the child has one thread and attaches again. */
static _Atomic int stop;

static void *hit_until_stopped(void *arg)
{
	for (unsigned long n = 0; !atomic_load_explicit(&stop, memory_order_relaxed); n++)
		tick((int)(intptr_t)arg, n);
	return NULL;
}

static void mode_threaded_forks(unsigned long nr)
{
	pthread_t t[3];

	for (long k = 0; k < 3; k++)
		pthread_create(&t[k], NULL, hit_until_stopped, (void *)k);
	mode_forks(nr);
	stop = 1;
	for (int k = 0; k < 3; k++)
		pthread_join(t[k], NULL);
}

/* ---- signals ---- */

static sigjmp_buf back;
static volatile sig_atomic_t jumps_on;
static volatile uint64_t begun_here, done_here;

static void on_alarm(int sig)
{
	int saved = errno;

	tick(100 + sig, 0);
	errno = saved;
}

static void timers(int sig, void (*handler)(int), int flags, long us)
{
	struct sigaction sa = { .sa_handler = handler, .sa_flags = flags };
	struct itimerval it = { { 0, us }, { 0, us } };

	sigaction(sig, &sa, NULL);
	setitimer(ITIMER_REAL, &it, NULL);
}

static void timers_off(void)
{
	struct itimerval off = { { 0, 0 }, { 0, 0 } };

	setitimer(ITIMER_REAL, &off, NULL);
}

static void mode_signals(unsigned long nr)
{
	timers(SIGALRM, on_alarm, SA_RESTART, 100);
	for (unsigned long n = 0; n < nr * 10000; n++)
		tick(1, n);
	timers_off();
}

static void on_alarm_jump(int sig)
{
	tick(100 + sig, 1);
	if (jumps_on)
		siglongjmp(back, 1);
}

/* Each jump leaves a hit or the code around it, at any instruction. */
static void mode_jumps(unsigned long nr)
{
	volatile unsigned long left = nr, n = 0;

	timers(SIGALRM, on_alarm_jump, 0, 100);
	if (sigsetjmp(back, 1)) {
		jumps_on = 0;
		atomic_fetch_add(&shared->doubtful, begun_here - done_here);
		atomic_fetch_add(&shared->done, done_here);
		if (--left == 0) {
			timers_off();
			return;
		}
	}
	begun_here = done_here = 0;
	jumps_on = 1;
	for (;;) {
		begun_here = begun_here + 1;
		trace_tick(1, n);
		done_here = done_here + 1;
		n = n + 1;
	}
}

static void mode_altstack(unsigned long nr)
{
	size_t size = getauxval(AT_MINSIGSTKSZ) + 2048;
	stack_t ss = { .ss_sp = malloc(size), .ss_size = size };

	if (sigaltstack(&ss, NULL))
		die("sigaltstack");
	timers(SIGALRM, on_alarm, SA_RESTART | SA_ONSTACK, 200);
	for (unsigned long n = 0; n < nr * 10000; n++)
		tick(1, n);
	timers_off();
	ss.ss_flags = SS_DISABLE;
	sigaltstack(&ss, NULL);
	free(ss.ss_sp);
}

/* ---- cancellation ---- */

static void *hit_until_cancelled(void *arg)
{
	struct journal *j = arg;
	int old;

	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old);
	for (unsigned long n = 0;; n++) {
		atomic_fetch_add_explicit(&j->begun, 1, memory_order_relaxed);
		trace_tick(1, n);
		atomic_fetch_add_explicit(&j->done, 1, memory_order_relaxed);
	}
	return NULL;
}

static void mode_cancels(unsigned long nr)
{
	for (unsigned long i = 0; i < nr; i++) {
		static struct journal j;
		pthread_t t;

		j.begun = j.done = 0;
		if (pthread_create(&t, NULL, hit_until_cancelled, &j))
			die("pthread_create");
		nap(100000 + random_below(500000));
		pthread_cancel(t);
		pthread_join(t, NULL);
		atomic_fetch_add(&shared->done, j.done);
		atomic_fetch_add(&shared->doubtful, j.begun - j.done);
		tick(2, i);
	}
}

/* ---- CPUs ---- */

static void mode_affinity(unsigned long nr)
{
	int cpus = (int)sysconf(_SC_NPROCESSORS_ONLN);
	pthread_t t[2];

	for (long k = 0; k < 2; k++)
		pthread_create(&t[k], NULL, hit_until_stopped, (void *)k);
	for (unsigned long i = 0; i < nr; i++) {
		cpu_set_t set;

		CPU_ZERO(&set);
		CPU_SET(i % (unsigned long)cpus, &set);
		pthread_setaffinity_np(t[i % 2], sizeof(set), &set);
		sched_setaffinity(0, sizeof(set), &set);
		tick(3, i);
		nap(100000);
	}
	stop = 1;
	for (int k = 0; k < 2; k++)
		pthread_join(t[k], NULL);
}

static void mode_plain(unsigned long nr)
{
	for (unsigned long n = 0; n < nr; n++)
		tick(1, n);
}

/* Runs until the file "$STRESS_STOP" exists. Servers are killed and restored meanwhile. */
static void mode_long(unsigned long nr)
{
	const char *file = getenv("STRESS_STOP");

	for (unsigned long n = 0; access(file ? file : "/", F_OK); n++) {
		for (unsigned long i = 0; i < nr; i++)
			tick(1, i);
		nap(1000000);
	}
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(unsigned long);
	} modes[] = {
		{ "plain", mode_plain },	     { "kill", mode_kill },
		{ "forks", mode_forks },	     { "vforks", mode_vforks },
		{ "threads", mode_threads }, { "threaded_forks", mode_threaded_forks },
		{ "signals", mode_signals }, { "jumps", mode_jumps },
		{ "altstack", mode_altstack }, { "cancels", mode_cancels },
		{ "affinity", mode_affinity }, { "long", mode_long },
	};

	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		die("mmap");
	for (size_t i = 0; argc == 3 && i < sizeof(modes) / sizeof(modes[0]); i++) {
		if (strcmp(modes[i].name, argv[1]))
			continue;
		modes[i].run(strtoul(argv[2], NULL, 10));
		printf("%llu %llu\n", (unsigned long long)shared->done,
		       (unsigned long long)(shared->done + shared->doubtful));
		return 0;
	}
	fprintf(stderr, "usage: agent_load MODE N\n");
	return 2;
}
