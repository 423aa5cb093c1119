/* SPDX-License-Identifier: MIT */
/*
 * dlopen_program.c - loads objects and unloads them
 *
 *     turns N FIRST SECOND          each in turn N times, 10 calls of inner each time; says whether
 *                                   they shared an address
 *     space FIRST                   into a name space of its own, 10 calls
 *     late SESSION FIRST SECOND     FIRST is loaded and threads run in it; attaches; 10 calls of
 *                                   each, SECOND being loaded then
 *     storm FIRST                   3 threads with 30 children each that call 10 times
 *     forks FIRST                   a child that has it from its parent calls 10 times, and loads
 *                                   and unloads it itself
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tracefuse/tracefuse.h"

enum { CALLS = 10, SUM = 55, THREADS = 2, CHILDREN = 30 };

struct saved {
	void	*handle;
	int	(*part)(int times);
	int	(*spin)(int times);
};

static struct saved object_open(const char *path, int space)
{
	struct saved o = { .handle = space ? dlmopen(LM_ID_NEWLM, path, RTLD_NOW)
					  : dlopen(path, RTLD_NOW) };

	if (!o.handle) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	o.part = (int (*)(int))dlsym(o.handle, "part");
	o.spin = (int (*)(int))dlsym(o.handle, "part_spin");
	return o;
}

static int object_once(const char *path, int space, void **at)
{
	struct saved o = object_open(path, space);
	int good = o.part(CALLS) == SUM;

	if (at)
		*at = (void *)o.part;
	dlclose(o.handle);
	return good;
}

static int turns(int nr, char **paths)
{
	void *at, *last = NULL;
	int good = 1, again = 0;

	for (int i = 0; i < 2 * nr; i++) {
		good &= object_once(paths[i % 2], 0, &at);
		again += at == last;
		last = at;
	}
	puts(again ? "at the same address" : "never at the same address");
	return !good;
}

static _Atomic int stop;

static void *spin(void *arg)
{
	const struct saved *o = arg;

	/* The trace has room for only a part of the calls. */
	while (!stop) {
		if (o->spin(100) != 100 * 103 / 2)
			return "wrong";
		usleep(500);
	}
	return NULL;
}

static int late(const char *session, const char *first, const char *second)
{
	struct saved o = object_open(first, 0);
	pthread_t threads[THREADS];
	int good;

	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, spin, &o);
	usleep(20000);
	printf("%s\n", strerror(-tf_attach(session)));
	good = o.part(CALLS) == SUM && object_once(second, 0, NULL);
	usleep(20000);
	stop = 1;
	for (int i = 0; i < THREADS; i++) {
		void *wrong;

		pthread_join(threads[i], &wrong);
		good &= !wrong;
	}
	dlclose(o.handle);
	return !good;
}

static int forks(const char *path)
{
	struct saved o = object_open(path, 0);
	int status = 1;
	pid_t pid = fork();

	if (!pid) {
		alarm(20);
		if (o.part(CALLS) != SUM)
			_exit(1);
		dlclose(o.handle);
		_exit(!object_once(path, 0, NULL));
	}
	waitpid(pid, &status, 0);
	dlclose(o.handle);
	return status != 0;
}

static void *fork_often(void *arg)
{
	const struct saved *o = arg;
	long wrong = 0;

	for (int i = 0; i < CHILDREN; i++) {
		int status = 1;
		pid_t pid = fork();

		if (!pid) {
			alarm(20);
			_exit(o->part(CALLS) != SUM);
		}
		wrong += pid < 0 || waitpid(pid, &status, 0) != pid || status;
	}
	return (void *)wrong;
}

static int storm(const char *path)
{
	struct saved o = object_open(path, 0);
	pthread_t threads[THREADS + 1];
	long wrong = 0;

	for (int i = 0; i < THREADS + 1; i++)
		pthread_create(&threads[i], NULL, fork_often, &o);
	for (int i = 0; i < THREADS + 1; i++) {
		void *one;

		pthread_join(threads[i], &one);
		wrong += (long)one;
	}
	return wrong != 0;
}

int main(int argc, char **argv)
{
	if (argc > 4 && !strcmp(argv[1], "turns"))
		return turns(atoi(argv[2]), argv + 3);
	if (argc > 2 && !strcmp(argv[1], "space"))
		return !object_once(argv[2], 1, NULL);
	if (argc > 4 && !strcmp(argv[1], "late"))
		return late(argv[2], argv[3], argv[4]);
	if (argc > 2 && !strcmp(argv[1], "storm"))
		return storm(argv[2]);
	if (argc > 2 && !strcmp(argv[1], "forks"))
		return forks(argv[2]);
	return 2;
}
