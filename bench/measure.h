/* SPDX-License-Identifier: MIT */
/*
 * measure.h - how long a statement takes, and what several threads get done; needs nothing of the
 * project
 */
#ifndef TRACEFUSE_BENCH_MEASURE_H
#define TRACEFUSE_BENCH_MEASURE_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

enum {
	BENCH_RUNS = 2000, BENCH_LOOPS = 2000,
	BENCH_THREAD_RUNS = 5, BENCH_THREAD_LOOPS = 2000000, BENCH_THREADS_MAX = 64,
};

static inline uint64_t bench_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/*
 * The best of many short bursts: what the code costs when nothing disturbs it, on a machine shared
 * with others, too.
 */
#define BENCH(name, statement)							\
	do {									\
		uint64_t best_ = UINT64_MAX;					\
		for (int run_ = 0; run_ < BENCH_RUNS; run_++) {			\
			uint64_t t_ = bench_ns();				\
			for (uint32_t i = 0; i < BENCH_LOOPS; i++) {		\
				statement;					\
			}							\
			t_ = bench_ns() - t_;					\
			best_ = t_ < best_ ? t_ : best_;			\
		}								\
		printf("%s\t%.2f\n", name, (double)best_ / BENCH_LOOPS);	\
	} while (0)

/* ---- Several threads ---- */

struct bench_thread {
	pthread_t	thread;
	pthread_barrier_t *begin;
	void		(*hits)(int nr);	/* makes that many */
	uint64_t	took;
};

static inline void *bench_thread_run(void *arg)
{
	struct bench_thread *t = arg;

	t->hits(1);		/* the first one takes the thread's slot */
	pthread_barrier_wait(t->begin);
	t->took = bench_ns();
	t->hits(BENCH_THREAD_LOOPS);
	t->took = bench_ns() - t->took;
	return NULL;
}

/* Hits a second of all threads together, in millions; the best of some runs. */
static inline double bench_throughput(size_t threads, void (*hits)(int nr))
{
	double best = 0;

	for (int run = 0; run < BENCH_THREAD_RUNS; run++) {
		struct bench_thread t[BENCH_THREADS_MAX];
		pthread_barrier_t begin;
		double sum = 0;

		pthread_barrier_init(&begin, NULL, (unsigned int)threads);
		for (size_t i = 0; i < threads; i++) {
			t[i] = (struct bench_thread){ .begin = &begin, .hits = hits };
			pthread_create(&t[i].thread, NULL, bench_thread_run, &t[i]);
		}
		for (size_t i = 0; i < threads; i++) {
			pthread_join(t[i].thread, NULL);
			sum += (double)BENCH_THREAD_LOOPS * 1e3 / (double)t[i].took;
		}
		pthread_barrier_destroy(&begin);
		best = sum > best ? sum : best;
	}
	return best;
}

#endif
