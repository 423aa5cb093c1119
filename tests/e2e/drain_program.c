/* SPDX-License-Identifier: MIT */
/*
 * drain_program.c - a program for tests/e2e/drain
 *
 *     drain_program THREADS EVENTS [PAUSE [fork]]
 *
 * Each thread makes EVENTS events, with a pause of so many microseconds after each 100. With
 * "fork", a child makes as many again.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include <tracefuse/tracefuse.h>

TF_EVENT(drained, tick, (int, thread), (int, n));

enum { THREADS = 16, BATCH = 100 };

static int nr_events;
static useconds_t pause_us;

static void *make_events(void *arg)
{
	for (int n = 0; n < nr_events; n++) {
		trace_tick((int)(intptr_t)arg, n);
		if (pause_us && n % BATCH == 0)
			usleep(pause_us);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	const int nr = argc > 1 ? atoi(argv[1]) : 1;
	pthread_t threads[THREADS];
	pid_t child = 0;

	nr_events = argc > 2 ? atoi(argv[2]) : 1;
	pause_us = argc > 3 ? (useconds_t)atoi(argv[3]) : 0;
	if (nr > THREADS)
		return 2;
	if (argc > 4)
		child = fork();
	for (intptr_t i = 0; i < nr; i++)
		pthread_create(&threads[i], NULL, make_events, (void *)i);
	for (int i = 0; i < nr; i++)
		pthread_join(threads[i], NULL);
	if (child > 0)
		waitpid(child, NULL, 0);
	return 0;
}
