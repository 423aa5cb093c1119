/* SPDX-License-Identifier: MIT */
/*
 * function_family.c - a thread that is not the first one makes tasks in many ways, and each task
 * makes a call
 *
 *     first thread ---- maker ---- thread (goes on when the maker has ended)
 *          |              |------- child by fork(), _Fork(), vfork(), clone(), posix_spawn(),
 *                         system(), daemon(), one that is killed
 *          |              `------- "between", a program of its own, which executes "leaf"
 *          |---- another thread, which the first one makes
 *          `---- a child of the first one
 *
 * Prints the maker's number, waits for a line on its standard input, makes the tasks, prints the
 * number of the thread that is left, waits for a line, and ends. Each task calls a function of its
 * own, and getsid() with a number.
 */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define HERE(name, nr)						\
	__attribute__((noinline)) void in_##name(void)		\
	{							\
		getsid(1000000000 + (nr));			\
	}

HERE(main, 1)
HERE(maker, 2)
HERE(thread, 3)
HERE(fork, 4)
HERE(bare_fork, 5)
HERE(vfork, 6)
HERE(clone, 7)
HERE(leaf, 8)
HERE(killed, 9)
HERE(other, 10)
HERE(other_child, 11)
HERE(daemon, 12)

static char self[4096], command[4200];
static sem_t go, thread_is_there, thread_may_end, maker_has_ended;
static int thread_tid;
static int daemon_pipe[2];

static void wait_line(void)
{
	char c;

	while (read(0, &c, 1) == 1 && c != '\n')
		;
}

static void gone(pid_t pid)
{
	if (pid < 0 || waitpid(pid, NULL, 0) != pid)
		exit(1);
}

static void *thread(void *arg)
{
	sem_wait(&maker_has_ended);
	in_thread();
	thread_tid = gettid();
	sem_post(&thread_is_there);
	sem_wait(&thread_may_end);
	return arg;
}

static int cloned(void *arg)
{
	in_clone();
	_exit(0);
}

static void children(void)
{
	static char stack[65536];
	pid_t pid = fork();

	if (!pid) {
		in_fork();
		_exit(0);
	}
	gone(pid);
	pid = _Fork();
	if (!pid) {
		in_bare_fork();
		_exit(0);
	}
	gone(pid);
	gone(clone(cloned, stack + sizeof(stack), SIGCHLD, NULL));
	pid = fork();
	if (!pid) {
		in_killed();
		raise(SIGKILL);
	}
	gone(pid);
}

static void children_on_our_memory(void)
{
	pid_t pid = vfork();

	if (!pid) {
		in_vfork();
		_exit(0);
	}
	gone(pid);
}

static void programs(void)
{
	static char leaf[] = "leaf";
	char *arguments[] = { self, leaf, NULL };
	pid_t pid;

	if (posix_spawn(&pid, self, NULL, NULL, arguments, environ))
		exit(1);
	gone(pid);
	if (system(command))
		exit(1);
}

/*
 * The parent ends in daemon(), much earlier. The daemon becomes a child of this process, which
 * waits for its end.
 */
static void daemons(void)
{
	pid_t pid;
	char c;

	prctl(PR_SET_CHILD_SUBREAPER, 1);
	pid = fork();
	if (!pid) {
		if (daemon(1, 1))
			_exit(1);
		in_daemon();
		_exit(write(daemon_pipe[1], "d", 1) != 1);
	}
	gone(pid);
	if (read(daemon_pipe[0], &c, 1) != 1)
		exit(1);
	while (wait(NULL) > 0)
		;
}

static void *maker(void *arg)
{
	pthread_t t;

	printf("%d\n", (int)gettid());
	fflush(stdout);
	sem_wait(&go);
	in_maker();
	pthread_create(&t, NULL, thread, NULL);
	pthread_detach(t);
	children();
	children_on_our_memory();
	programs();
	daemons();
	return arg;
}

static void *other(void *arg)
{
	in_other();
	return arg;
}

static void others(void)
{
	pthread_t t;
	pid_t pid;

	pthread_create(&t, NULL, other, NULL);
	pthread_join(t, NULL);
	pid = fork();
	if (!pid) {
		in_other_child();
		_exit(0);
	}
	gone(pid);
}

int main(int argc, char **argv)
{
	pthread_t t;
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (argc > 1 && !strcmp(argv[1], "leaf")) {
		in_leaf();
		return 0;
	}
	if (n < 0 || pipe(daemon_pipe))
		return 1;
	snprintf(command, sizeof(command), "'%s' leaf", self);
	sem_init(&go, 0, 0);
	sem_init(&thread_is_there, 0, 0);
	sem_init(&thread_may_end, 0, 0);
	sem_init(&maker_has_ended, 0, 0);
	pthread_create(&t, NULL, maker, NULL);
	wait_line();
	in_main();
	sem_post(&go);
	pthread_join(t, NULL);
	sem_post(&maker_has_ended);
	sem_wait(&thread_is_there);
	others();
	printf("%d\n", thread_tid);
	fflush(stdout);
	wait_line();
	sem_post(&thread_may_end);
	return 0;
}
