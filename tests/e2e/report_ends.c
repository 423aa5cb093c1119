/* SPDX-License-Identifier: MIT */
/*
 * report_ends.c - a program whose functions have not returned when it ends
 *
 *     report_ends exit      main and outer call exit(); at_end() runs behind them
 *     report_ends _exit     they call _exit(): at_end() does not run
 *     report_ends killed    a signal ends the program in outer
 *     report_ends handler   a signal handler calls exit()
 *     report_ends fork      a child calls exit() in in_child(), and then the parent calls exit()
 *     report_ends vfork     a child of vfork() calls _exit(); outer and main return
 *     report_ends thread    another thread than main's calls exit()
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STATUS = 5 };

static volatile int seen;

__attribute__((noinline)) void at_end(void);
__attribute__((noinline)) void handle(int signal);
__attribute__((noinline)) void in_child(void);
__attribute__((noinline)) void *in_thread(void *arg);
__attribute__((noinline)) void outer(const char *how);

void at_end(void)
{
	seen++;
}

void handle(int signal)
{
	seen++;
	exit(STATUS);
}

void in_child(void)
{
	seen++;
	exit(STATUS);
}

void *in_thread(void *arg)
{
	seen++;
	exit(STATUS);
	return arg;
}

void outer(const char *how)
{
	pthread_t thread;
	pid_t child;
	int status;

	seen++;
	if (!strcmp(how, "exit"))
		exit(STATUS);
	if (!strcmp(how, "killed"))
		raise(SIGTERM);
	if (!strcmp(how, "_exit"))
		_exit(STATUS);
	if (!strcmp(how, "handler"))
		raise(SIGUSR1);
	if (!strcmp(how, "thread") && !pthread_create(&thread, NULL, in_thread, NULL))
		pause();
	child = !strcmp(how, "fork") ? fork() : vfork();
	if (!child && !strcmp(how, "fork"))
		in_child();
	if (!child)
		_exit(STATUS);
	waitpid(child, &status, 0);
	if (!strcmp(how, "fork"))
		exit(WEXITSTATUS(status));
	seen++;
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	atexit(at_end);
	signal(SIGUSR1, handle);
	outer(argv[1]);
	return STATUS;
}
