/* SPDX-License-Identifier: MIT */
/*
 * moment.c - stops one thread of a process at a moment when it can load a library
 *
 * One thread after another is stopped (stop.c), looked at, and goes on if the moment is not good
 * (walk.c). A thread that is not in a system call is let run to its next one.
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
#include <sys/user.h>

#include "cli/attach/attach.h"
#include "session/session.h"

enum {
	PATIENCE_MS	= 5000,
	CALL_MS		= 20,	/* until a thread makes a system call */
	PAUSE_MS	= 2,
};

/* What was met in one round over the threads. */
struct round {
	const struct target *target;
	struct moment	*moment;
	int		err;	/* of PTRACE_SEIZE */
	bool		seized, cut, sandboxed;
};

/* The kernel's header for these requests cannot be included beside libc's. */
#define GET_RSEQ_CONFIGURATION 0x420f

/* A critical section of rseq would not be begun again if the kernel saw other registers in it. */
static bool in_rseq(const struct target *t, pid_t tid, uint64_t ip)
{
	uint64_t answer[3] = { 0 };	/* the first word: where its struct rseq is */
	struct rseq_cs cs;
	uint64_t section = 0;

	if (ptrace(GET_RSEQ_CONFIGURATION, tid, sizeof(answer), answer) < 0 || !answer[0])
		return false;
	if (!target_load(t, answer[0] + offsetof(struct rseq, rseq_cs), &section, sizeof(section)))
		return true;
	/* A program may leave its last section there: the kernel forgets it later. */
	return section && (!target_load(t, section, &cs, sizeof(cs)) ||
			   ip - cs.start_ip < cs.post_commit_offset);
}

static bool thread_is_good(const struct target *t, struct moment *m)
{
	if (ptrace(PTRACE_GETREGS, m->tid, NULL, &m->regs))
		return false;
	/* A 32-bit or x32 call of a 64-bit program is nothing that this code knows. */
	return m->regs.cs == 0x33 && !in_rseq(t, m->tid, m->regs.rip) &&
	       walk_is_good(t, m->tid, &m->regs);
}

/* Lets the thread run to the end of its next system call, and stops it there. */
static bool run_to_call(pid_t tid)
{
	struct user_regs_struct g;
	int status;

	if (ptrace(PTRACE_SYSCALL, tid, NULL, NULL))
		return false;
	status = stop_wait(tid, CALL_MS);
	if (status < 0)
		return stop_thread(tid);
	if (ptrace(PTRACE_GETREGS, tid, NULL, &g) ||
	    (WSTOPSIG(status) == (SIGTRAP | 0x80) &&
	     stop_cuts(g.orig_rax, (const uint64_t[]){ g.rdi, g.rsi, g.rdx, g.r10 })))
		return false;
	/* It is about to make the call. The stop that is asked for now comes behind it. */
	return !ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) &&
	       !stop_go_on(tid, status, PTRACE_CONT) && stop_await(tid);
}

/* Whether the thread is not to be stopped now. */
static bool is_left_alone(struct round *r, pid_t tid)
{
	if (stop_is_deep(tid))
		return true;
	if (target_sandboxed(r->target, tid))
		r->sandboxed = true;
	else if (stop_would_cut(r->target->pid, tid))
		r->cut = true;
	else
		return false;
	return true;
}

/* True: the thread is stopped at a good moment. */
static bool thread_try(struct round *r, pid_t tid)
{
	const struct target *t = r->target;
	struct moment *m = r->moment;

	m->tid = tid;
	if (is_left_alone(r, tid))
		return false;
	if (ptrace(PTRACE_SEIZE, tid, NULL, PTRACE_O_TRACESYSGOOD)) {
		r->err = errno == ESRCH ? r->err : errno;
		return false;
	}
	r->seized = true;
	if (stop_thread(tid) &&
	    (thread_is_good(t, m) || (run_to_call(tid) && thread_is_good(t, m))))
		return true;
	stop_let_go(tid);
	return false;
}

/* The first thread first: it is the one that programs begin with, and its stack grows. */
static bool threads_try(struct round *r)
{
	const pid_t pid = r->target->pid;
	char path[64];
	struct dirent *d;
	bool found;
	DIR *dir;

	found = thread_try(r, pid);
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = found ? NULL : opendir(path);
	while (dir && !found && (d = readdir(dir)))
		if (atoi(d->d_name) > 0 && atoi(d->d_name) != pid)
			found = thread_try(r, atoi(d->d_name));
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

/* Why there was no good moment. */
static void round_explain(const struct round *r, char why[ATTACH_WHY])
{
	if (target_changed(r->target, why))
		return;
	if (r->err && !r->seized)
		snprintf(why, ATTACH_WHY, "it cannot be traced (ptrace): %s%s", strerror(r->err),
			 r->err == EPERM && scope_forbids() ?
				 "; /proc/sys/kernel/yama/ptrace_scope permits it to root only" :
				 "");
	else if (r->sandboxed && !r->seized)
		snprintf(why, ATTACH_WHY, "its threads are in a sandbox (seccomp)");
	else if (r->cut && !r->seized)
		snprintf(why, ATTACH_WHY, "for %d seconds it was in a system call that writes or "
			 "reads much, and that a stop would cut short", PATIENCE_MS / 1000);
	else
		snprintf(why, ATTACH_WHY, "for %d seconds each of its threads was inside an "
			 "allocator, the dynamic linker, a handler of a signal, the kernel or code "
			 "that cannot be unwound, or on a stack that libc does not know",
			 PATIENCE_MS / 1000);
}

int moment_find(const struct target *t, struct moment *m, char why[ATTACH_WHY])
{
	const int64_t end = session_now_ms() + PATIENCE_MS;
	struct round r;

	do {
		r = (struct round){ .target = t, .moment = m };
		if (threads_try(&r))
			return 0;
		if (r.err && !r.seized && !r.cut)
			break;
		stop_pause(PAUSE_MS * 1000 + (long)(session_now_ms() % 7) * 300);
	} while (session_now_ms() < end && !target_changed(t, why));
	round_explain(&r, why);
	return -1;
}
