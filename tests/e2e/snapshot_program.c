// SPDX-License-Identifier: MIT
/*
 * snapshot_program.c - saves its session in different ways, and prints how each ended
 *
 *   snapshot_program save FILE...       an event, tf_snapshot(FILE), an event; for each file
 *   snapshot_program fork FILE          a child of fork() saves that has made no hit
 *   snapshot_program threads DIR        16 threads save at the same time, into DIR/N.dat
 *   snapshot_program signals FILE       signals come while it is saved; FILE.in from a handler
 *   snapshot_program null               no file
 *   snapshot_program rights FILE FILE   the second FILE after it has become another user
 *   snapshot_program filter FILE        after it has set a filter of system calls
 *   snapshot_program stop PID FILE      while the server is stopped
 *   snapshot_program kill PID FILE      when the server is dead
 *   snapshot_program many N             N events, so that saving takes its time; then as save
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE	/* strerrorname_np(), setresuid() */
#endif
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include <tracefuse/tracefuse.h>

TF_EVENT(app, mark, (int, number));

/* errno and the mask of signals have to stay. */
static int save(const char *file)
{
	sigset_t before, after;
	int err;

	sigprocmask(SIG_BLOCK, NULL, &before);
	errno = E2BIG;
	err = tf_snapshot(file);
	if (errno != E2BIG)
		puts("errno has changed");
	sigprocmask(SIG_BLOCK, NULL, &after);
	for (int sig = 1; sig < 64; sig++)
		if (sigismember(&before, sig) != sigismember(&after, sig))
			puts("the mask has changed");
	return err;
}

static const char *name(int err)
{
	return err ? strerrorname_np(-err) : "saved";
}

static void save_all(char **files)
{
	for (int i = 1; *files; i++, files++) {
		trace_mark(i);
		puts(name(save(*files)));
		trace_mark(-i);
	}
}

static void in_child(const char *file)
{
	fflush(stdout);
	if (!fork()) {
		puts(name(save(file)));
		fflush(stdout);
		_exit(0);
	}
	wait(NULL);
}

/* ---- threads ---- */

enum { THREADS = 16 };

static pthread_barrier_t begin;
static const char *folder;

/* 1: saved, 0: there were too many at the same time */
static void *save_one(void *arg)
{
	char file[4096];
	int err;

	snprintf(file, sizeof(file), "%s/%ld.dat", folder, (long)arg);
	pthread_barrier_wait(&begin);
	trace_mark((int)(long)arg);
	do
		err = save(file);
	while (err == -EBUSY && !usleep(1000));
	return (void *)(long)err;
}

static void save_threads(const char *dir)
{
	pthread_t threads[THREADS];
	int saved = 0;

	folder = dir;
	pthread_barrier_init(&begin, NULL, THREADS);
	for (long i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, save_one, (void *)i))
			exit(2);
	for (int i = 0; i < THREADS; i++) {
		void *err;

		pthread_join(threads[i], &err);
		saved += !err;
		if (err)
			puts(name((int)(long)err));
	}
	printf("%d of %d saved\n", saved, THREADS);
}

/* ---- signals ---- */

static volatile sig_atomic_t handled, inner = 1;
static char inside[4096];

static void handle(int sig)
{
	if (!handled++)
		inner = tf_snapshot(inside);
}

static void save_signals(const char *file)
{
	const struct sigaction act = { .sa_handler = handle };
	const struct itimerval often = { { 0, 1000 }, { 0, 1000 } }, off = { 0 };
	int err;

	snprintf(inside, sizeof(inside), "%s.in", file);
	sigaction(SIGALRM, &act, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	do
		err = save(file);
	while (!err && !handled);
	setitimer(ITIMER_REAL, &off, NULL);
	puts(name(err));
	puts(name(inner));
}

/* ---- rights ---- */

static void give_up(void)
{
	if (setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534))
		exit(2);
}

static void filter_calls(void)
{
	struct sock_filter all[] = { BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
	const struct sock_fprog prog = { 1, all };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog))
		exit(2);
}

static pid_t server(const char *text)
{
	const int pid = atoi(text);

	if (pid <= 1)
		exit(2);
	return pid;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";

	if (!strcmp(how, "save")) {
		save_all(argv + 2);
	} else if (!strcmp(how, "null")) {
		puts(name(save(NULL)));
	} else if (argc < 3) {
		return 2;
	} else if (!strcmp(how, "fork")) {
		in_child(argv[2]);
	} else if (!strcmp(how, "threads")) {
		save_threads(argv[2]);
	} else if (!strcmp(how, "signals")) {
		trace_mark(1);
		save_signals(argv[2]);
	} else if (!strcmp(how, "filter")) {
		filter_calls();
		puts(name(save(argv[2])));
	} else if (!strcmp(how, "rights")) {
		puts(name(save(argv[2])));
		give_up();
		puts(name(save(argv[2])));
		puts(name(save(argv[3])));
	} else if (!strcmp(how, "stop")) {
		kill(server(argv[2]), SIGSTOP);
		puts(name(save(argv[3])));
		kill(server(argv[2]), SIGCONT);
	} else if (!strcmp(how, "kill")) {
		kill(server(argv[2]), SIGKILL);
		puts(name(save(argv[3])));
	} else if (!strcmp(how, "many")) {
		for (int i = 0; i < atoi(argv[2]); i++)
			trace_mark(i);
		save_all(argv + 3);
	} else {
		return 2;
	}
	return 7;
}
