/* SPDX-License-Identifier: MIT */
/*
 * function_tasks_program.c - prints its pid, waits for a byte on its standard input, then calls functions in itself,
 * a thread and a child
 */
#include <pthread.h>
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

static void *run(void *arg)
{
	in_thread();
	return arg;
}

int main(void)
{
	pthread_t thread;
	pid_t child;
	char c;

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
