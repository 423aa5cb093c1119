/* SPDX-License-Identifier: MIT */
/*
 * moment.c - stops one thread of a process at a moment when it can load a library
 *
 * One thread after another is stopped, looked at, and goes on if the moment is not good (walk.c).
 * A thread that is not in a system call is let run to its next one. PTRACE_SEIZE and
 * PTRACE_INTERRUPT send no signal, so the program sees nothing of this; a system call that waits is
 * begun again by the kernel, with the time that is left.
 */
#include <dirent.h>
#include <errno.h>
#include <stddef.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/rseq.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/attach/attach.h"

enum {
	PATIENCE_MS	= 5000,
	STOP_MS		= 200,	/* until a thread stops that is not in the depth of the kernel */
	CALL_MS		= 20,	/* until a thread makes a system call */
	PAUSE_MS	= 2,
};

static int64_t moment_now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000ll + ts.tv_nsec / 1000000;
}

static void pause_us(long us)
{
	nanosleep(&(struct timespec){ .tv_nsec = us * 1000 }, NULL);
}

int moment_wait(pid_t tid, int ms)
{
	const int64_t end = moment_now_ms() + ms;
	int status;
	pid_t pid;

	while (!(pid = waitpid(tid, &status, __WALL | WNOHANG)) && moment_now_ms() < end)
		pause_us(100);
	if (pid != tid || !WIFSTOPPED(status))
		return -1;
	return status;
}

int moment_go_on(pid_t tid, int status, int request)
{
	const bool is_signal = !(status >> 16) && WSTOPSIG(status) != (SIGTRAP | 0x80);

	return (int)ptrace(request, tid, NULL, is_signal ? (long)WSTOPSIG(status) : 0);
}

bool moment_stopped(pid_t tid)
{
	int status;

	while ((status = moment_wait(tid, STOP_MS)) >= 0 && status >> 16 != PTRACE_EVENT_STOP)
		moment_go_on(tid, status, PTRACE_CONT);
	return status >= 0 && WSTOPSIG(status) == SIGTRAP;
}

/* Stops the thread outside of the kernel. False: it did not, or is gone. */
static bool stop_thread(pid_t tid)
{
	return !ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) && moment_stopped(tid);
}

/* The kernel's header for these requests cannot be included beside libc's. */
#define GET_RSEQ_CONFIGURATION 0x420f

/* A critical section of rseq would not be begun again if the kernel saw other registers in it. */
static bool in_rseq(const struct target *t, pid_t tid)
{
	uint64_t answer[3] = { 0 };	/* the first word: where its struct rseq is */
	uint64_t section = 0;

	if (ptrace(GET_RSEQ_CONFIGURATION, tid, sizeof(answer), answer) < 0 || !answer[0])
		return false;
	return !target_load(t, answer[0] + offsetof(struct rseq, rseq_cs), &section,
			    sizeof(section)) ||
	       section;
}

static bool thread_is_good(const struct target *t, struct moment *m)
{
	if (ptrace(PTRACE_GETREGS, m->tid, NULL, &m->regs))
		return false;
	/* A 32-bit or x32 call of a 64-bit program is nothing that this code knows. */
	return m->regs.cs == 0x33 && !in_rseq(t, m->tid) && moment_is_good(t, m->tid, &m->regs);
}

/* Lets the thread run to the end of its next system call, and stops it there. */
static bool run_to_call(pid_t tid)
{
	int status;

	if (ptrace(PTRACE_SYSCALL, tid, NULL, NULL))
		return false;
	status = moment_wait(tid, CALL_MS);
	if (status < 0)
		return stop_thread(tid);
	/* It is about to make the call. The stop that is asked for now comes behind it. */
	return !ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) &&
	       !moment_go_on(tid, status, PTRACE_CONT) && moment_stopped(tid);
}

/* True: the thread is stopped at a good moment. */
static bool thread_try(const struct target *t, pid_t tid, struct moment *m, int *err)
{
	m->tid = tid;
	if (ptrace(PTRACE_SEIZE, tid, NULL, PTRACE_O_TRACESYSGOOD)) {
		*err = errno == ESRCH ? *err : errno;
		return false;
	}
	if (stop_thread(tid) &&
	    (thread_is_good(t, m) || (run_to_call(tid) && thread_is_good(t, m))))
		return true;
	/* Where it is not stopped, it is let go when this process ends. */
	ptrace(PTRACE_DETACH, tid, NULL, NULL);
	return false;
}

/* The first thread first: it is the one that programs begin with, and its stack grows. */
static bool threads_try(const struct target *t, struct moment *m, int *err)
{
	char path[64];
	struct dirent *d;
	bool found;
	DIR *dir;

	found = thread_try(t, t->pid, m, err);
	snprintf(path, sizeof(path), "/proc/%d/task", (int)t->pid);
	dir = found ? NULL : opendir(path);
	while (dir && !found && !*err && (d = readdir(dir)))
		if (atoi(d->d_name) > 0 && atoi(d->d_name) != t->pid)
			found = thread_try(t, atoi(d->d_name), m, err);
	if (dir)
		closedir(dir);
	return found;
}

/* Yama: only a parent may trace, or root. */
static bool scope_forbids(void)
{
	FILE *in = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
	int scope = 0;

	if (in && fscanf(in, "%d", &scope) != 1)
		scope = 0;
	if (in)
		fclose(in);
	return scope > 0;
}

int moment_find(const struct target *t, struct moment *m, char why[ATTACH_WHY])
{
	const int64_t end = moment_now_ms() + PATIENCE_MS;
	int err = 0;

	do {
		if (threads_try(t, m, &err))
			return 0;
		if (err)
			break;
		pause_us(PAUSE_MS * 1000 + (long)(moment_now_ms() % 7) * 300);
	} while (moment_now_ms() < end && !kill(t->pid, 0));
	if (err)
		snprintf(why, ATTACH_WHY, "it cannot be traced (ptrace): %s%s", strerror(err),
			 err == EPERM && scope_forbids() ?
				 "; /proc/sys/kernel/yama/ptrace_scope permits it to root only" :
				 "");
	else if (kill(t->pid, 0))
		snprintf(why, ATTACH_WHY, "it has ended");
	else
		snprintf(why, ATTACH_WHY, "for %d seconds each of its threads was inside an "
			 "allocator, the dynamic linker or code that cannot be unwound",
			 PATIENCE_MS / 1000);
	return -1;
}
