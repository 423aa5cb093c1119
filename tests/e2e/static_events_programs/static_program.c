/* SPDX-License-Identifier: MIT */
/* static_program.c - a program with static events; its first argument chooses what it does */
#include <dlfcn.h>
#include <errno.h>
#include <printf.h>
#include <pthread.h>
#include <signal.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#define CREATE_TRACE_POINTS
#include "shop_events.h"
#include <tracefuse/tracefuse.h>
#include "shop_use.h"
#include "static_library.h"

enum color { RED, BLUE };

TF_EVENT(app, tick);
TF_EVENT(app, number, (int, nr));
TF_EVENT(app, handled, (int, nr));
TF_EVENT(app, all, (char, c), (signed char, sc), (void *, p), (short, s), (enum color, col),
	 (char *, text), (unsigned long long, ull), (long, l), (const char *, more), (size_t, z),
	 (uint8_t, b8), (int64_t, i64));

static __attribute__((noinline)) void run_all(void)
{
	char text[] = "text";

	trace_all('c', -1, NULL, -2, BLUE, text, 1ull << 63, -3, NULL, 4, 255, -5);
	trace_tick();
	tf_printk("printed %d %s", 7, "seven");
	tf_marker("marked");
}

static void *run_thread(void *arg)
{
	trace_number((int)(intptr_t)arg);
	return NULL;
}

/* Many threads, one after the other, which reuse slots. */
static void run_threads(void)
{
	for (intptr_t i = 0; i < 200; i++) {
		pthread_t t;

		pthread_create(&t, NULL, run_thread, (void *)i);
		pthread_join(t, NULL);
	}
}

static pthread_barrier_t all_there;

static void *run_with_others(void *arg)
{
	run_thread(arg);
	pthread_barrier_wait(&all_there);
	return NULL;
}

static void run_many(void)
{
	pthread_t t[40];

	pthread_barrier_init(&all_there, NULL, 40);
	for (intptr_t i = 0; i < 40; i++)
		pthread_create(&t[i], NULL, run_with_others, (void *)i);
	for (int i = 0; i < 40; i++)
		pthread_join(t[i], NULL);
}

static void run_fork(void)
{
	trace_number(1);
	for (int i = 0; i < 3; i++) {
		pid_t pid = fork();

		if (!pid) {
			trace_number(100 + i);
			printf("child %d %d\n", i, (int)getpid());
			fflush(stdout);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
	trace_number(2);
}

static void run_closed(void)
{
	trace_number(1);
	for (int fd = 3; fd < 4096; fd++)
		close(fd);
	run_many();
	if (!fork()) {
		trace_number(1000);
		_exit(0);
	}
	wait(NULL);
}

static void run_plugin(const char *path)
{
	for (int i = 0; i < 2; i++) {
		void *plugin = dlopen(path, RTLD_NOW);
		void (*go)(int) =
			plugin ? (void (*)(int))(uintptr_t)dlsym(plugin, "plugin_go") : NULL;

		if (!go)
			printf("%s\n", dlerror());
		else
			go(i);
		if (plugin)
			dlclose(plugin);
	}
}

static sigjmp_buf back;
static volatile int handled;

static void handler(int sig)
{
	trace_handled(++handled);
	if (handled % 3 == 0)
		siglongjmp(back, 1);
}

/* Signals at any point of an event; every third handler leaves by siglongjmp. */
static void run_signals(void)
{
	struct sigaction sa = { .sa_handler = handler };
	timer_t timer;
	struct itimerspec often = { { 0, 100000 }, { 0, 100000 } };
	volatile long made = 0;

	sigaction(SIGALRM, &sa, NULL);
	timer_create(CLOCK_MONOTONIC, NULL, &timer);
	timer_settime(timer, 0, &often, NULL);
	sigsetjmp(back, 1);
	while (handled < 300) {
		trace_number(-1);
		made++;
	}
	timer_delete(timer);
	signal(SIGALRM, SIG_IGN);
	/* All levels are free again, so this event is recorded. */
	trace_number(4242);
	/* Another handler may have run between the last check and SIG_IGN. */
	printf("made %ld\nhandled %d\n", made, handled);
}

static __attribute__((noinline)) void inner(void)
{
	trace_number(5);
	__asm__ __volatile__("" : : : "memory");
}

static __attribute__((noinline)) void outer(void)
{
	inner();
	__asm__ __volatile__("" : : : "memory");
}

static void on_small_stack(int sig)
{
	outer();
}

static __attribute__((noinline)) void run_stacks(void)
{
	stack_t small = { .ss_sp = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
				       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
			 .ss_size = 8192 };
	struct sigaction sa = { .sa_handler = on_small_stack, .sa_flags = SA_ONSTACK };

	outer();
	sigaltstack(&small, NULL);
	sigaction(SIGUSR1, &sa, NULL);
	raise(SIGUSR1);
}

/* The conversion %Y calls this in the middle of filling a record. */
static int print_signal(FILE *out, const struct printf_info *info, const void *const *args)
{
	return raise(SIGUSR1);
}

static int print_signal_takes(const struct printf_info *info, size_t nr, int *types, int *sizes)
{
	return 0;
}

static void on_local_stack(int sig)
{
	tf_printk("inner");
}

/*
 * The alternate stack is in a frame of the thread itself, above everything that its handlers
 * interrupt.
 */
static __attribute__((noinline)) void run_local_stack(void)
{
	const char *volatile format = "outer 0123456789%Y %d";
	char local[65536];
	const stack_t stack = { .ss_sp = local, .ss_size = sizeof(local) };
	const struct sigaction sa = { .sa_handler = on_local_stack, .sa_flags = SA_ONSTACK };

	register_printf_specifier('Y', print_signal, print_signal_takes);
	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &sa, NULL);
	tf_printk(format, 1);
	tf_printk(format, 2);
}

static void run_errno(void)
{
	errno = 1234;
	trace_number(1);
	tf_printk("%d", 1);
	tf_marker("x");
	printf("%d\n", errno);
}

static void run_truncate(const char *path)
{
	trace_number(1);
	printf("%d\n", tf_attached());
	if (truncate(path, 0))
		perror(path);
	for (int i = 0; i < 100; i++)
		trace_number(i);
	run_many();
	printf("%d\n", tf_attached());
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "", *path = argc > 2 ? argv[2] : "";

	if (!strcmp(what, "shop"))
		shop_use();
	else if (!strcmp(what, "all"))
		run_all();
	else if (!strcmp(what, "threads"))
		run_threads();
	else if (!strcmp(what, "many"))
		run_many();
	else if (!strcmp(what, "fork"))
		run_fork();
	else if (!strcmp(what, "closed"))
		run_closed();
	else if (!strcmp(what, "library"))
		library_go(7);
	else if (!strcmp(what, "plugin"))
		run_plugin(path);
	else if (!strcmp(what, "signals"))
		run_signals();
	else if (!strcmp(what, "stacks"))
		run_stacks();
	else if (!strcmp(what, "local"))
		run_local_stack();
	else if (!strcmp(what, "errno"))
		run_errno();
	else if (!strcmp(what, "truncate"))
		run_truncate(path);
	else if (!strcmp(what, "attached"))
		printf("%d\n", tf_attached());
	return 0;
}
