/* SPDX-License-Identifier: MIT */
/*
 * event_lttng.c - the same events by LTTng-UST, in a session of its own that overwrites: what bench/event.c compares with
 *
 * Without arguments it starts a session daemon (unless there is one), makes the
 * session, runs itself as the traced program, and takes all of it away again.
 * Where LTTng's tools are missing it prints nothing.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "event_lttng_provider.h"

enum { RUNS = 100, LOOPS = 20000, THREAD_LOOPS = 1000000, THREADS_MAX = 16 };

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

#define MEASURE(name, statement)						\
	do {									\
		uint64_t best_ = UINT64_MAX;					\
		for (int run_ = 0; run_ < RUNS; run_++) {			\
			uint64_t t_ = now_ns();					\
			for (int i = 0; i < LOOPS; i++) {			\
				statement;					\
				__asm__ __volatile__("" : : : "memory");	\
			}							\
			t_ = now_ns() - t_;					\
			best_ = t_ < best_ ? t_ : best_;			\
		}								\
		printf("%s\t%.1f\n", name, (double)best_ / LOOPS);		\
	} while (0)

static pthread_barrier_t begin;
static uint64_t took[THREADS_MAX];

static void *run_thread(void *arg)
{
	uint64_t t;

	pthread_barrier_wait(&begin);
	t = now_ns();
	for (int i = 0; i < THREAD_LOOPS; i++)
		lttng_ust_tracepoint(tracefuse_bench, ring, i, 1);
	took[(size_t)arg] = now_ns() - t;
	return NULL;
}

static double throughput(size_t threads)
{
	double best = 0;

	for (int run = 0; run < 3; run++) {
		pthread_t t[THREADS_MAX];
		double sum = 0;

		pthread_barrier_init(&begin, NULL, (unsigned int)threads);
		for (size_t i = 0; i < threads; i++)
			pthread_create(&t[i], NULL, run_thread, (void *)i);
		for (size_t i = 0; i < threads; i++) {
			pthread_join(t[i], NULL);
			sum += (double)THREAD_LOOPS * 1e3 / (double)took[i];
		}
		pthread_barrier_destroy(&begin);
		best = sum > best ? sum : best;
	}
	return best;
}

/* The traced program. */
static int traced(void)
{
	for (int i = 0; i < 1000 && !lttng_ust_tracepoint_enabled(tracefuse_bench, ring); i++)
		usleep(1000);
	if (!lttng_ust_tracepoint_enabled(tracefuse_bench, ring)) {
		fprintf(stderr, "bench: LTTng does not trace here\n");
		return 1;
	}
	MEASURE("LTTng-UST, event, 2 integers, into the ring", lttng_ust_tracepoint(tracefuse_bench, ring, i, 1));
	MEASURE("LTTng-UST, event that is off", lttng_ust_tracepoint(tracefuse_bench, off, i, 1));
	printf("LTTng-UST, 1 thread, M events/s\t%.1f\n", throughput(1));
	printf("LTTng-UST, 2 threads, M events/s\t%.1f\n", throughput(2));
	return 0;
}

static int command(const char *format, const char *arg)
{
	char text[1024];

	snprintf(text, sizeof(text), format, arg);
	return system(text);
}

static int run_traced(const char *self)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		/* The program waits until the daemon knows it. */
		setenv("LTTNG_UST_REGISTER_TIMEOUT", "3000", 1);
		execl(self, self, "traced", (char *)NULL);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int main(int argc, char **argv)
{
	char dir[] = "/tmp/tracefuse-lttng-XXXXXX";
	bool own;
	int rc = 0;

	if (argc > 1)
		return traced();
	if (system("command -v lttng >/dev/null && command -v lttng-sessiond >/dev/null") || !mkdtemp(dir))
		return 0;
	setenv("LTTNG_HOME", dir, 1);
	own = !command("lttng-sessiond -b --no-kernel --pidfile=%s/pid >/dev/null 2>&1", dir);
	if (!command("cd %s && lttng -n create tracefuse-bench --output=$PWD/out >/dev/null 2>&1 &&"
		     "lttng -n enable-channel -u --overwrite --subbuf-size=1M --num-subbuf=2 c >/dev/null 2>&1 &&"
		     "lttng -n enable-event -u -c c tracefuse_bench:ring >/dev/null 2>&1 &&"
		     "lttng -n start >/dev/null 2>&1", dir)) {
		rc = run_traced(argv[0]);
		fflush(stdout);
	}
	command("lttng -n destroy tracefuse-bench >/dev/null 2>&1; rm -rf %s/out", dir);
	if (own)
		command("kill $(cat %s/pid) 2>/dev/null; sleep 0.2", dir);
	command("rm -rf %s", dir);
	return rc;
}
