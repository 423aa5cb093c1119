/* SPDX-License-Identifier: MIT */
/*
 * reader_events.c - a program for bench/readers.py and bench/drain.py: on each of two CPUs a thread
 * makes events, all at once or at a rate
 *
 *     reader_events RATE EVENTS       events a second of each thread, 0: as fast as it can
 *
 * Prints how many events were made, in how many microseconds, and how many of processor time. Built
 * with WITH_LTTNG, its events are LTTng-UST's.
 */
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#ifdef WITH_LTTNG
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "event_lttng_provider.h"

static void trace_tick(int thread, int n)
{
	lttng_ust_tracepoint(tracefuse_bench, ring, thread, n);
}

static void await_tracer(void)
{
	for (int i = 0; i < 2000 && !lttng_ust_tracepoint_enabled(tracefuse_bench, ring); i++)
		usleep(1000);
}
#else
#include <tracefuse/tracefuse.h>

TF_EVENT(readers, tick, (int, thread), (int, n));

static void await_tracer(void)
{
}
#endif

/* A pause costs some microseconds: at most 10,000 a second are made where that is enough. */
enum { THREADS = 2, BATCH = 100, PAUSES = 10000 };

static uint64_t rate, nr_events;
static pthread_barrier_t begin;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void pause_until(uint64_t ns)
{
	const struct timespec t = { (time_t)(ns / 1000000000), (long)(ns % 1000000000) };

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

static void *make_events(void *arg)
{
	const int thread = (int)(intptr_t)arg;
	const uint64_t batch = rate / PAUSES > BATCH ? rate / PAUSES : BATCH;
	cpu_set_t cpu;
	uint64_t start;

	CPU_ZERO(&cpu);
	CPU_SET(thread, &cpu);
	sched_setaffinity(0, sizeof(cpu), &cpu);
	pthread_barrier_wait(&begin);
	start = now_ns();
	for (uint64_t n = 0; n < nr_events; n++) {
		if (rate && n % batch == 0) {
			const uint64_t due = start + n * 1000000000 / rate;

			if (now_ns() < due)
				pause_until(due);
		}
		trace_tick(thread, (int)n);
	}
	return NULL;
}

static unsigned long long processor_us(void)
{
	struct rusage used;

	getrusage(RUSAGE_SELF, &used);
	return (unsigned long long)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000 +
	       (unsigned long long)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	uint64_t start;

	if (argc != 3)
		return 2;
	rate = strtoull(argv[1], NULL, 10);
	nr_events = strtoull(argv[2], NULL, 10);
	await_tracer();
	pthread_barrier_init(&begin, NULL, THREADS);
	start = now_ns();
	for (intptr_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, make_events, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("%llu %llu %llu\n", (unsigned long long)(THREADS * nr_events),
	       (unsigned long long)((now_ns() - start) / 1000), processor_us());
	return 0;
}
