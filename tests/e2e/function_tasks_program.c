/* SPDX-License-Identifier: MIT */
/*
 * function_tasks_program.c - prints its pid, waits for a byte on its standard input, then calls
 * functions in itself, a thread and a child
 *
 * With an argument, some threads call one function again and again, and another one now and then.
 * At the end a third one is called on each CPU.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

static volatile int calls;

NOINLINE void in_main(void)
{
	calls++;
}

NOINLINE void in_thread(void)
{
	calls++;
}

NOINLINE void in_child(void)
{
	calls++;
}

NOINLINE void again(void)
{
	calls++;
}

NOINLINE void between(void)
{
	calls++;
}

NOINLINE void at_last(void)
{
	calls++;
}

static void *repeat(void *arg)
{
	for (int i = 0; i < 20000; i++) {
		again();
		if (i % 1000 == 999)
			between();
	}
	return arg;
}

static int repeats(void)
{
	pthread_t threads[4];
	cpu_set_t cpus, one;

	for (int i = 0; i < 4; i++)
		if (pthread_create(&threads[i], NULL, repeat, NULL))
			return 1;
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	if (sched_getaffinity(0, sizeof(cpus), &cpus))
		return 1;
	for (int i = 0; i < CPU_SETSIZE; i++) {
		CPU_ZERO(&one);
		CPU_SET(i, &one);
		if (CPU_ISSET(i, &cpus) && !sched_setaffinity(0, sizeof(one), &one))
			at_last();
	}
	return 0;
}

static void *run(void *arg)
{
	in_thread();
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	pid_t child;
	char c;

	if (argc > 1)
		return repeats();
	printf("%d\n", (int)getpid());
	fflush(stdout);
	if (read(0, &c, 1) != 1)
		return 1;
	in_main();
	if (pthread_create(&thread, NULL, run, NULL) || pthread_join(thread, NULL))
		return 1;
	child = fork();
	if (!child) {
		in_child();
		_exit(0);
	}
	return child < 0 || waitpid(child, NULL, 0) != child;
}
