/* SPDX-License-Identifier: MIT */
/*
 * library_tasks_program.c - tasks in which functions of libc run before the program's own
 *
 *   library_tasks_program threads N    N threads, one after the other, on the last CPU that it may
 *                                      use; prints the CPU
 *   library_tasks_program spawn N      posix_spawn() of no file, N times; prints its own number
 *   library_tasks_program system N     system() and popen(), N times each; prints its own number
 *   library_tasks_program forked N     a child does the same as `spawn`, then calls getppid()
 *   library_tasks_program jump N       a handler leaves system(), then the same as `spawn`
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STACK = 256 << 10 };

static void *nothing(void *arg)
{
	return arg;
}

/* On memory of zeros, as at the first use of a stack of libc's. */
static void thread_run(void)
{
	char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_attr_t attr;
	pthread_t t;

	pthread_attr_init(&attr);
	pthread_attr_setstack(&attr, stack, STACK);
	if (pthread_create(&t, &attr, nothing, NULL))
		exit(1);
	pthread_join(t, NULL);
	munmap(stack, STACK);
}

static int cpu_choose(void)
{
	cpu_set_t set;
	int cpu = CPU_SETSIZE - 1;

	sched_getaffinity(0, sizeof(set), &set);
	while (cpu && !CPU_ISSET(cpu, &set))
		cpu--;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
	return cpu;
}

static void spawn(void)
{
	char *argv[] = { "none", NULL }, *env[] = { NULL };
	pid_t pid;

	if (!posix_spawn(&pid, "/none", NULL, NULL, argv, env))
		exit(1);
}

static void shells(void)
{
	FILE *f;

	if (system("true"))
		exit(1);
	f = popen("true", "r");
	if (!f || pclose(f))
		exit(1);
}

static sigjmp_buf out;

static void leave(int sig)
{
	siglongjmp(out, sig);
}

static void jump(void)
{
	const struct itimerval soon = { .it_value = { .tv_usec = 100000 } };

	signal(SIGALRM, leave);
	if (!sigsetjmp(out, 1)) {
		setitimer(ITIMER_REAL, &soon, NULL);
		(void)!system("exec sleep 1");
	}
}

/* The rest runs in the child. */
static void forked(void)
{
	const pid_t pid = fork();
	int status;

	if (pid)
		exit(waitpid(pid, &status, 0) != pid || status);
}

int main(int argc, char **argv)
{
	const char *mode = argc == 3 ? argv[1] : "";
	const int nr = argc == 3 ? atoi(argv[2]) : 0;

	if (!strcmp(mode, "forked"))
		forked();
	printf("%d\n", strcmp(mode, "threads") ? (int)getpid() : cpu_choose());
	fflush(stdout);
	if (!strcmp(mode, "jump"))
		jump();
	for (int i = 0; i < nr; i++) {
		if (!strcmp(mode, "threads"))
			thread_run();
		else if (!strcmp(mode, "system"))
			shells();
		else
			spawn();
	}
	return !strcmp(mode, "forked") && getppid() < 0;
}
