/* SPDX-License-Identifier: MIT */
/*
 * graph_callers.c [here | SESSION LIBRARY] - asks each of its objects who comes next, and what is
 * found by its RUNPATH
 *
 * With `here` there is one name space, and nothing is loaded with RTLD_DEEPBIND.
 * With a session it attaches itself, with LIBRARY, when it has a thread, and stays until its input
 * ends.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "graph_callers.h"

static void say(const char *part, const char *what, const char *got)
{
	printf("%s, %s: %s\n", part, what, got);
}

static void *idle(void *unused)
{
	for (;;)
		pause();
	return unused;
}

static int attach(const char *session, const char *library)
{
	pthread_t thread;
	void *object;
	int (*tf_attach)(const char *session);

	if (pthread_create(&thread, NULL, idle, NULL))
		return -1;
	object = dlopen(library, RTLD_NOW);
	tf_attach = object ? (int (*)(const char *))dlsym(object, "tf_attach") : NULL;
	return tf_attach ? tf_attach(session) : -1;
}

static __attribute__((noinline)) void *tail_malloc(size_t size)
{
	return malloc(size + 1);
}

static void *volatile memory;

static void on_signal(int sig)
{
	memory = tail_malloc(4200);
	free(memory);
}

static void on_another_stack(void)
{
	static char stack[1 << 16];
	const stack_t other = { .ss_sp = stack, .ss_size = sizeof(stack) };
	const struct sigaction act = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK };

	sigaltstack(&other, NULL);
	sigaction(SIGUSR2, &act, NULL);
	raise(SIGUSR2);
}

int main(int argc, char **argv)
{
	const int what = ASK_NEXT | ASK_PATHS | (argc == 2 ? 0 : ASK_SPACES);

	if (argc > 2 && attach(argv[1], argv[2])) {
		fprintf(stderr, "not attached\n");
		return 1;
	}
	memory = tail_malloc(4000);
	free(memory);
	on_another_stack();
	program_ask(say, what);
	first_ask(say, what);
	second_ask(say, ASK_NEXT);
	fflush(stdout);
	while (argc > 2 && getchar() != EOF)
		;
	return 0;
}
