/* SPDX-License-Identifier: MIT */
/*
 * stop.c - stops this process as the program was stopped, until one of the two is continued
 *
 * A shell continues this process, which continues the program (C4). But another process may
 * continue the program alone: kill, cpulimit. A process that is stopped does not see that. So a
 * child looks at the program meanwhile: the waker. It is in a process group of its own, which
 * no stop of the job reaches.
 */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/run/run.h"
#include "session/attach/stat.h"

/* How long the waker sleeps: a short stop ends soon, a long one costs no time. */
enum { WAKER_FIRST_MS = 5, WAKER_MOST_MS = 100 };

/* Of a process whose first thread has ended. */
static bool others_are_stopped(pid_t pid)
{
	const struct dirent *e;
	char path[32], state = '\0';
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	d = opendir(path);
	while (d && !state && (e = readdir(d)) != NULL) {
		const pid_t tid = (pid_t)strtol(e->d_name, NULL, 10);

		if (tid && tid != pid)
			state = process_stat(tid).state;
	}
	if (d)
		closedir(d);
	return state == 'T';
}

bool run_stop_is(pid_t pid)
{
	const char state = process_stat(pid).state;

	return state == 'T' || (state == 'Z' && others_are_stopped(pid));
}

static void waker_sleep(int ms)
{
	const struct timespec pause = { .tv_nsec = ms * 1000000L };

	nanosleep(&pause, NULL);
}

/*
 * Until the parent kills it. A SIGCONT that comes before the parent has stopped is lost, so it
 * looks at the parent, too.
 */
static void waker_run(pid_t parent, pid_t program)
{
	setsid();
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int ms = WAKER_FIRST_MS; getppid() == parent; waker_sleep(ms)) {
		if (run_stop_is(program))
			ms = 2 * ms < WAKER_MOST_MS ? 2 * ms : WAKER_MOST_MS;
		else if (run_stop_is(parent))
			kill(parent, SIGCONT);
	}
	_exit(0);
}

static void waker_begin(struct run *r)
{
	const pid_t parent = getpid();

	r->waker = fork();
	if (!r->waker)
		waker_run(parent, r->pid);
}

/* Its number stays: its signal may be read later. */
static void waker_end(const struct run *r)
{
	if (r->waker < 0)
		return;
	kill(r->waker, SIGKILL);
	waitpid(r->waker, NULL, 0);
}

static void stop_by(int sig)
{
	struct sigaction dfl = { .sa_handler = SIG_DFL }, old;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, sig);
	if (sig != SIGSTOP)
		sigaction(sig, &dfl, &old);
	raise(sig);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	/* The process was stopped here until somebody continued it. */
	sigprocmask(SIG_BLOCK, &set, NULL);
	if (sig != SIGSTOP)
		sigaction(sig, &old, NULL);
}

/*
 * Whether this process was stopped, as SIGCONT is blocked. Init of a name space cannot stop, nor by
 * a terminal's signal a group that no shell looks after.
 */
static bool was_stopped(void)
{
	sigset_t set;

	return !sigpending(&set) && sigismember(&set, SIGCONT) == 1;
}

void run_stop_like(struct run *r, int sig)
{
	/* While this process is stopped, other programs of the session would wait for it. */
	run_setup_barrier_end(r);
	r->attached = true;	/* perhaps: nothing reports it any more */
	fflush(NULL);
	waker_begin(r);
	/* Without a waker it would stay stopped. What a terminal stops is continued as a job. */
	if (r->waker < 0 && sig == SIGSTOP)
		return;
	stop_by(sig);
	waker_end(r);
	/* Else the signal that continued it is read there. */
	if ((r->signal_fd < 0 || !was_stopped()) && run_stop_is(r->pid))
		kill(r->pid, SIGCONT);
}
