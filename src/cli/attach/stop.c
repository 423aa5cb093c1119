/* SPDX-License-Identifier: MIT */
/*
 * stop.c - stops threads of a process so that the program does not see it
 *
 * PTRACE_SEIZE and PTRACE_INTERRUPT send no signal. A system call that waits is left as it was:
 *
 *     most calls			the kernel begins them again, with the time that is left
 *     breaking_calls[]		they would fail with EINTR; this file has them begun again, with
 *				their whole time
 *     cut_calls[]		they would return a part of what they move: a thread that waits in
 *				one is not stopped
 *
 * A thread may be in the depth of the kernel (vfork(), a file system that does not answer). It
 * stops later, and is let go then.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "cli/attach/attach.h"
#include "session/array.h"
#include "session/session.h"

enum { STOP_MS = 200, ATOMIC = 4096, ERESTARTNOHAND = 514 };

/* ---- System calls that wait ---- */

/* signal(7) names them. With this error they have done nothing. */
static const uint16_t breaking_calls[] = {
	SYS_epoll_wait, SYS_epoll_pwait, 441 /* epoll_pwait2 */, SYS_semop, SYS_semtimedop,
	SYS_rt_sigtimedwait, SYS_io_getevents, 426 /* io_uring_enter */,
	/* Sockets with SO_RCVTIMEO, SO_SNDTIMEO */
	SYS_accept, SYS_accept4, SYS_connect, SYS_read, SYS_readv, SYS_recvfrom, SYS_recvmsg,
	SYS_recvmmsg, SYS_write, SYS_writev, SYS_sendto, SYS_sendmsg, SYS_sendmmsg,
};

static const uint16_t cut_calls[] = {
	SYS_writev, SYS_sendmsg, SYS_sendmmsg, SYS_recvmmsg, SYS_sendfile, SYS_splice, SYS_tee,
	SYS_vmsplice,
};

static bool call_in(const uint16_t *calls, size_t nr, uint64_t call)
{
	for (size_t i = 0; i < nr; i++)
		if (calls[i] == call)
			return true;
	return false;
}

/*
 * The kernel decides by this result: EINTR if a handler of a signal comes first, else it begins the
 * call again. True: the thread is still there.
 */
static bool call_keep(pid_t tid)
{
	struct user_regs_struct g;

	if (ptrace(PTRACE_GETREGS, tid, NULL, &g))
		return false;
	if ((int64_t)g.rax != -EINTR ||
	    !call_in(breaking_calls, sizeof(breaking_calls) / sizeof(*breaking_calls), g.orig_rax))
		return true;
	g.rax = (unsigned long long)-ERESTARTNOHAND;
	return !ptrace(PTRACE_SETREGS, tid, NULL, &g);
}

/* A pipe takes few bytes at once, or none. */
bool stop_cuts(uint64_t call, const uint64_t args[4])
{
	switch (call) {
	case SYS_write:
	case SYS_sendto:
		return args[2] > ATOMIC;
	case SYS_recvfrom:
		return args[3] & MSG_WAITALL;
	case SYS_recvmsg:
		return args[2] & MSG_WAITALL;
	default:
		return call_in(cut_calls, sizeof(cut_calls) / sizeof(*cut_calls), call);
	}
}

bool stop_would_cut(pid_t pid, pid_t tid)
{
	uint64_t call, args[4];
	char path[64];
	bool waits;
	FILE *in;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", (int)pid, (int)tid);
	in = fopen(path, "re");
	/* It says "running" of a thread that does not wait. */
	waits = in && fscanf(in, "%lu %lx %lx %lx %lx", &call, &args[0], &args[1], &args[2],
			     &args[3]) == 5;
	if (in)
		fclose(in);
	return waits && stop_cuts(call, args);
}

/* ---- Threads that have not stopped yet ---- */

static struct {
	pid_t	*v;
	size_t	nr;
} deep;

/* They may have what the process waits for. */
static void deep_release(void)
{
	int status;

	for (size_t i = 0; i < deep.nr;) {
		const pid_t got = waitpid(deep.v[i], &status, __WALL | WNOHANG);

		if (!got) {
			i++;
			continue;
		}
		if (got > 0 && WIFSTOPPED(status)) {
			call_keep(deep.v[i]);
			stop_go_on(deep.v[i], status, PTRACE_DETACH);
		}
		deep.v[i] = deep.v[--deep.nr];
	}
}

bool stop_is_deep(pid_t tid)
{
	deep_release();
	for (size_t i = 0; i < deep.nr; i++)
		if (deep.v[i] == tid)
			return true;
	return false;
}

void stop_let_go(pid_t tid)
{
	if (ptrace(PTRACE_DETACH, tid, NULL, NULL) &&
	    !array_room(&deep.v, deep.nr, sizeof(*deep.v)))
		deep.v[deep.nr++] = tid;
}

/* ---- Stops ---- */

void stop_pause(long us)
{
	nanosleep(&(struct timespec){ .tv_nsec = us * 1000 }, NULL);
}

int stop_wait(pid_t tid, int ms)
{
	const int64_t end = session_now_ms() + ms;
	int status;
	pid_t pid;

	while (!(pid = waitpid(tid, &status, __WALL | WNOHANG)) && session_now_ms() < end) {
		deep_release();
		stop_pause(100);
	}
	if (pid != tid || !WIFSTOPPED(status))
		return -1;
	return status;
}

int stop_go_on(pid_t tid, int status, int request)
{
	const bool is_signal = !(status >> 16) && WSTOPSIG(status) != (SIGTRAP | 0x80);

	return (int)ptrace(request, tid, NULL, is_signal ? (long)WSTOPSIG(status) : 0);
}

bool stop_await(pid_t tid)
{
	int status;

	while ((status = stop_wait(tid, STOP_MS)) >= 0 && status >> 16 != PTRACE_EVENT_STOP)
		stop_go_on(tid, status, PTRACE_CONT);
	return status >= 0 && call_keep(tid) && WSTOPSIG(status) == SIGTRAP;
}

bool stop_thread(pid_t tid)
{
	return !ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) && stop_await(tid);
}
