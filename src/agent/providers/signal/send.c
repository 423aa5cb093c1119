/* SPDX-License-Identifier: MIT */
/*
 * send.c - signal_generate, where the program sends a signal by libc
 *
 * The event is recorded before the signal is sent, because it may be delivered before
 * the function returns. Before that the agent sends signal 0, to find out whether the
 * signal can be sent, so that no event reports one that was not. Signals that the kernel
 * itself sends (faults, timers, the terminal) and those of abort() are not seen here.
 *
 * pid is the number that the program gave; a process group's is negative. comm is
 * known only for the caller's own thread, else it is <...>.
 */
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include "agent/providers/signal/signals.h"
#include "agent/providers/syscalls/syscalls.h"
#include "agent/syscall.h"

/* A signal to be sent; `sig` itself is passed beside it. */
struct sending {
	unsigned int	call;		/* the system call; its arguments: */
	uint64_t	args[4];
	int		code;		/* si_code */
	int		pid;		/* of a process or of a thread */
	bool		group;
};

/*
 * In a sandbox no call may be made for it. In another name space the server's number is another
 * one.
 */
static int own_process(const struct agent_thread *t)
{
	return agent_restricted() ? (int)t->tgid : (int)agent_syscall(SYS_getpid);
}

/* The target as the server sees it, if it is this thread or its process. */
static void target_fill(const struct agent_thread *t, const struct sending *s,
			struct signal_generate_record *r)
{
	bool self = s->group ? s->pid == own_process(t) : s->pid == (int)t->tid;

	r->pid = self ? (int)(s->group ? t->tgid : t->pid) : s->pid;
	if (r->pid == (int)t->pid)
		memcpy(r->comm, t->comm, sizeof(r->comm));
	else
		memcpy(r->comm, "<...>", 6);
}

/*
 * A filter of the program may look at who gets which signal: then no call is made, and the answer
 * is yes.
 */
static bool may_send(const struct sending *s)
{
	if (agent_filtered())
		return true;
	if (s->group)
		return !agent_syscall(SYS_kill, s->pid, 0);
	return !agent_syscall(SYS_tgkill, s->args[0], s->pid, 0);
}

static void generate(const struct sending *s, int sig, const void *frame)
{
	struct signal_generate_record r = { .sig = sig, .code = s->code, .group = s->group };
	struct agent_thread *t;

	if (!provider_armed(PROVIDER_SIGNAL_GENERATE) || sig < 1 || sig >= _NSIG || !may_send(s))
		return;
	t = agent_enter();
	if (!t)
		return;
	target_fill(t, s, &r);
	provider_emit(t, PROVIDER_SIGNAL_GENERATE, &r, sizeof(r), frame);
	agent_leave(t);
}

static bool sending_wanted(unsigned int call)
{
	return provider_armed(PROVIDER_SIGNAL_GENERATE) || call_armed(call);
}

static void send_begin(const struct sending *s, int sig, const void *frame)
{
	call_enter(s->call, s->args, frame);
	generate(s, sig, frame);
}

/* ---- To processes ---- */

REAL_FUNCTION(kill);
REAL_FUNCTION(killpg);
REAL_FUNCTION(sigqueue);

static struct sending to_process(pid_t pid, int sig)
{
	return (struct sending){ .call = SYSCALL_kill,
				.args = { (uint32_t)pid, (uint32_t)sig },
				.code = SI_USER,
				.pid = pid,
				.group = true };
}

INTERPOSE int kill(pid_t pid, int sig)
{
	struct sending s = to_process(pid, sig);
	int r;

	if (!sending_wanted(s.call))
		return REAL(kill)(pid, sig);
	send_begin(&s, sig, CALL_FRAME);
	r = REAL(kill)(pid, sig);
	call_exit(s.call, call_result(r), CALL_FRAME);
	return r;
}

INTERPOSE int killpg(pid_t group, int sig)
{
	struct sending s;
	int r;

	/* libc itself refuses a negative number. */
	if (group < 0 || !sending_wanted(SYSCALL_kill))
		return REAL(killpg)(group, sig);
	s = to_process(-group, sig);
	send_begin(&s, sig, CALL_FRAME);
	r = REAL(killpg)(group, sig);
	call_exit(s.call, call_result(r), CALL_FRAME);
	return r;
}

INTERPOSE int sigqueue(pid_t pid, int sig, const union sigval value)
{
	struct sending s = { .call = SYSCALL_rt_sigqueueinfo,
			    .args = { (uint32_t)pid, (uint32_t)sig },
			    .code = SI_QUEUE,
			    .pid = pid,
			    .group = true };
	int r;

	if (!sending_wanted(s.call))
		return REAL(sigqueue)(pid, sig, value);
	send_begin(&s, sig, CALL_FRAME);
	r = REAL(sigqueue)(pid, sig, value);
	call_exit(s.call, call_result(r), CALL_FRAME);
	return r;
}

/* ---- To threads ---- */

typedef int (*real_tgkill_call)(pid_t, pid_t, int);

REAL_FUNCTION_AS(tgkill, real_tgkill_call);
REAL_FUNCTION(raise);
REAL_FUNCTION(pthread_kill);
REAL_FUNCTION(pthread_sigqueue);

static struct sending to_thread(pid_t process, pid_t tid, int sig)
{
	return (struct sending){ .call = SYSCALL_tgkill,
				.args = { (uint32_t)process, (uint32_t)tid, (uint32_t)sig },
				.code = SI_TKILL,
				.pid = tid };
}

INTERPOSE int tgkill(pid_t process, pid_t tid, int sig)
{
	struct sending s = to_thread(process, tid, sig);
	int r;

	if (!sending_wanted(s.call))
		return REAL(tgkill)(process, tid, sig);
	send_begin(&s, sig, CALL_FRAME);
	r = REAL(tgkill)(process, tid, sig);
	call_exit(s.call, call_result(r), CALL_FRAME);
	return r;
}

INTERPOSE int call_raise(int) __asm__("raise");
INTERPOSE int call_gsignal(int) __asm__("gsignal") __attribute__((alias("raise")));

int call_raise(int sig)
{
	struct sending s;
	int r;

	if (!sending_wanted(SYSCALL_tgkill))
		return REAL(raise)(sig);
	s = to_thread(agent_own_pid(), agent_own_tid(), sig);
	send_begin(&s, sig, CALL_FRAME);
	r = REAL(raise)(sig);
	call_exit(s.call, call_result(r), CALL_FRAME);
	return r;
}

/*
 * libc has a thread's number in its control block, but no function for it. The calling
 * thread's own shows whether it is at this place: 720 bytes behind the start in glibc
 * on x86-64.
 */
enum { TID_AT = 720 };

const pid_t *thread_number(pthread_t thread)
{
	const struct agent_thread *t = agent_restricted() ? agent_thread_known() : NULL;
	pid_t own, tid = agent_restricted() ? -1 : (pid_t)agent_syscall(SYS_gettid);

	if (t)
		tid = (pid_t)t->tid;
	memcpy(&own, (const char *)__builtin_thread_pointer() + TID_AT, sizeof(own));
	return own == tid ? (const pid_t *)((const char *)thread + TID_AT) : NULL;
}

static struct sending to_pthread(pthread_t thread, int sig)
{
	const pid_t *tid = thread_number(thread);

	return to_thread(agent_own_pid(), tid ? *tid : 0, sig);
}

INTERPOSE int pthread_kill(pthread_t thread, int sig)
{
	struct sending s;
	int r;

	if (!sending_wanted(SYSCALL_tgkill))
		return REAL(pthread_kill)(thread, sig);
	s = to_pthread(thread, sig);
	send_begin(&s, sig, CALL_FRAME);
	r = REAL(pthread_kill)(thread, sig);
	call_exit(s.call, -r, CALL_FRAME);
	return r;
}

INTERPOSE int pthread_sigqueue(pthread_t thread, int sig, const union sigval value)
{
	struct sending s;
	int r;

	if (!sending_wanted(SYSCALL_rt_tgsigqueueinfo))
		return REAL(pthread_sigqueue)(thread, sig, value);
	s = to_pthread(thread, sig);
	s.call = SYSCALL_rt_tgsigqueueinfo;
	s.code = SI_QUEUE;
	send_begin(&s, sig, CALL_FRAME);
	r = REAL(pthread_sigqueue)(thread, sig, value);
	call_exit(s.call, -r, CALL_FRAME);
	return r;
}
