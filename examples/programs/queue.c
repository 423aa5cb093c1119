/* SPDX-License-Identifier: MIT */
/* queue.c - a queue between two threads; how long does a job wait in it? See docs/getting-started.md. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE	/* pthread_setname_np() */
#endif
#include <pthread.h>
#include <stdio.h>
#include <tracefuse/tracefuse.h>

TF_EVENT(queue, put, (int, job));
TF_EVENT(queue, get, (int, job), (int, left));

enum { JOBS = 1000, ROOM = 16 };

static int jobs[ROOM];
static int first, nr;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void put(int job)
{
	pthread_mutex_lock(&lock);
	while (nr == ROOM)
		pthread_cond_wait(&changed, &lock);
	trace_put(job);
	jobs[(first + nr++) % ROOM] = job;
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&lock);
}

static int get(void)
{
	int job;

	pthread_mutex_lock(&lock);
	while (!nr)
		pthread_cond_wait(&changed, &lock);
	job = jobs[first];
	first = (first + 1) % ROOM;
	trace_get(job, --nr);
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&lock);
	return job;
}

static unsigned int work(unsigned int n)
{
	volatile unsigned int x = n;

	for (unsigned int i = 0; i < n % 64 * 100; i++)
		x = x * 1664525u + 1013904223u;
	return x;
}

static void *produce(void *arg)
{
	pthread_setname_np(pthread_self(), "producer");
	for (int job = 1; job <= JOBS; job++)
		put(job);
	return arg;
}

int main(void)
{
	unsigned int sum = 0;
	pthread_t t;

	if (pthread_create(&t, NULL, produce, NULL))
		return 1;
	for (int i = 0; i < JOBS; i++)
		sum += work((unsigned int)get());
	pthread_join(t, NULL);
	printf("%d jobs done\n", JOBS);
	return sum == 42;
}
