/* SPDX-License-Identifier: MIT */
/*
 * crowd.c - a traced program with many processes and threads that live at the same time
 *
 *     crowd CHILDREN THREADS EVENTS            prints how many crowd:tick it has made
 *     crowd CHILDREN THREADS EVENTS exec       the same; each child executes this program anew
 *
 * With CROWD_WAIT=FILE it makes FILE.waits and waits until FILE exists.
 *
 * All children begin at the same time, and none ends before the last one has made its events. So
 * all threads need a slot at the same time.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <tracefuse/tracefuse.h>

TF_EVENT(crowd, tick, (int, who), (unsigned long, n));

static int nr_events;
/* No thread of a child ends before the others have made their events. */
static pthread_barrier_t all_made;

/* The parent signals its children by closing the other ends. */
static int begin[2], end[2];
/* A child writes here when it has made its events. */
static int done[2];

static void die(const char *what)
{
	perror(what);
	exit(1);
}

/* Returns when all copies of the other end are closed. */
static void await_close(int fd)
{
	char byte;

	while (read(fd, &byte, 1) > 0)
		;
}

static void *make_events(void *arg)
{
	for (int i = 0; i < nr_events; i++)
		trace_tick((int)(intptr_t)arg, (unsigned long)i);
	pthread_barrier_wait(&all_made);
	return NULL;
}

static void make_threads(int nr)
{
	pthread_t *threads = calloc((size_t)nr + 1, sizeof(*threads));
	pthread_attr_t attr;

	if (!threads || pthread_barrier_init(&all_made, NULL, (unsigned int)nr + 1) ||
	    pthread_attr_init(&attr) || pthread_attr_setstacksize(&attr, 128 << 10))
		die("threads");
	for (int i = 0; i < nr; i++)
		if (pthread_create(&threads[i], &attr, make_events, (void *)(intptr_t)i))
			die("pthread_create");
	make_events((void *)(intptr_t)nr);
	for (int i = 0; i < nr; i++)
		pthread_join(threads[i], NULL);
	free(threads);
}

/* The descriptors of the parent's pipes have the same numbers as in the parent. */
static int child(int nr_threads)
{
	await_close(begin[0]);
	make_threads(nr_threads);
	if (write(done[1], "", 1) != 1)
		die("write");
	await_close(end[0]);
	return 0;
}

static void child_exec(char **argv)
{
	char fds[64];

	snprintf(fds, sizeof(fds), "%d,%d,%d", begin[0], end[0], done[1]);
	execl("/proc/self/exe", argv[0], argv[2], argv[3], fds, (char *)NULL);
	die("exec");
}

/* crowd THREADS EVENTS BEGIN,END,DONE */
static int run_child(char **argv)
{
	nr_events = atoi(argv[2]);
	if (sscanf(argv[3], "%d,%d,%d", &begin[0], &end[0], &done[1]) != 3)
		return 2;
	return child(atoi(argv[1]));
}

static void start(char **argv, bool exec)
{
	pid_t pid = fork();

	if (pid < 0)
		die("fork");
	if (pid)
		return;
	close(begin[1]);
	close(end[1]);
	if (exec)
		child_exec(argv);
	exit(child(atoi(argv[2])));
}

/* The number of children that have made their events. The others were killed, or did not begin. */
static unsigned long count_done(unsigned long most)
{
	unsigned long nr = 0;
	char byte;

	close(done[1]);
	while (nr < most && read(done[0], &byte, 1) == 1)
		nr++;
	return nr;
}

static void await_file(const char *path)
{
	char waits[4096];
	FILE *f;

	snprintf(waits, sizeof(waits), "%s.waits", path);
	f = fopen(waits, "w");
	if (!f || fclose(f))
		die(waits);
	while (access(path, F_OK))
		usleep(1000);
}

int main(int argc, char **argv)
{
	unsigned long children, threads, nr;

	if (argc == 4 && strchr(argv[3], ','))
		return run_child(argv);
	if (argc < 4)
		return 2;
	children = strtoul(argv[1], NULL, 10);
	threads = strtoul(argv[2], NULL, 10);
	nr_events = atoi(argv[3]);
	if (getenv("CROWD_WAIT"))
		await_file(getenv("CROWD_WAIT"));
	if (pipe(begin) || pipe(end) || pipe(done))
		die("pipe");
	for (unsigned long i = 0; i < children; i++)
		start(argv, argc > 4);
	close(begin[1]);
	nr = count_done(children);
	close(end[1]);
	while (wait(NULL) > 0)
		;
	printf("%lu\n", nr * (threads + 1) * (unsigned long)nr_events);
	return nr != children;
}
