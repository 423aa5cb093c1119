/* SPDX-License-Identifier: MIT */
/*
 * fork.c - new processes: their system calls, and what the agent has to know if they share memory
 * (R22)
 *
 *   fork(), _Fork()   the child has its own memory; its first hit attaches it (A5)
 *   vfork()           the child uses the thread's memory while the thread waits: its hits use the
 *                     thread's slot, but not its rseq area, which is not the child's
 *   clone()           one of these, by its flags; or a task that runs beside the thread and shares
 *                     its control block: then only the thread is recorded
 *
 * posix_spawn(), system() and popen() (exec.c) make a child like that of vfork(). From the clone to
 * the exec libc calls nothing that can be interposed, with all signals blocked. But functions and
 * probes of libc make hits there, and hooked `syscall` instructions: then the thread lends its slot
 * as for vfork() (fork_spawns(), fork_lends()).
 */
#include <pthread.h>
#include <sched.h>
#include <sys/types.h>
#include "agent/providers/signal/signals.h"
#include "agent/providers/syscalls/gates.h"
#include "agent/providers/syscalls/syscalls.h"
#include "agent/sites/state.h"

/* ---- fork ---- */

typedef pid_t (*real_fork_call)(void);

REAL_FUNCTION_AS(fork, real_fork_call);
REAL_FUNCTION_AS(_Fork, real_fork_call);

/* As in glibc's fork(). */
enum { FORK_FLAGS = CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID | 17 /* SIGCHLD */ };

static pid_t fork_record(real_fork_call real, const void *frame)
{
	const pthread_t self = (pthread_t)__builtin_thread_pointer();
	pid_t r;

	call_enter(SYSCALL_clone,
		   (uint64_t[]){ FORK_FLAGS, 0, 0, (uintptr_t)thread_number(self), 0 }, frame);
	r = real();
	call_exit(SYSCALL_clone, call_result(r), frame);
	return r;
}

INTERPOSE pid_t call_fork(void) __asm__("fork");
INTERPOSE pid_t call__Fork(void) __asm__("_Fork");
INTERPOSE pid_t call__fork(void) __asm__("__fork") __attribute__((alias("fork")));

pid_t call_fork(void)
{
	if (!call_armed(SYSCALL_clone))
		return REAL(fork)();
	return fork_record(REAL(fork), CALL_FRAME);
}

/* _Fork() runs no fork handlers, so it calls the agent itself. */
pid_t call__Fork(void)
{
	struct pids_family family;
	bool follows = agent_family(&family);
	pid_t r = call_armed(SYSCALL_clone) ? fork_record(REAL(_Fork), CALL_FRAME) : REAL(_Fork)();

	if (!r && follows)
		agent_forked(&family);
	return r;
}

/* ---- vfork: x86_64/vfork.S ---- */

static bool any_provider_armed(void)
{
	for (unsigned int nr = 0; nr < PROVIDER_COUNT; nr++)
		if (provider_armed(nr))
			return true;
	return false;
}

/* Whether the child may have a hit. */
static bool any_armed(void)
{
	return any_provider_armed() || agent_events_armed() || agent_functions_on() ||
	       sites.plants || agent_section_watched(UINT32_MAX);
}

/*
 * The thread's state that the child may change for itself only: signals that it blocks, locks that
 * it leaves behind.
 */
struct lent {
	uint8_t		flags, locks;
	struct agent_section section;
};

static struct lent lend(const struct agent_thread *t)
{
	return (struct lent){ .flags = t->flags, .locks = t->locks, .section = t->section };
}

static void take_back(struct agent_thread *t, const struct lent *l)
{
	t->flags = l->flags;
	t->locks = l->locks;
	t->section = l->section;
}

/* By the depth of nested vfork(). */
enum { LENT_MOST = 2 };
static __thread struct lent lent[LENT_MOST] __attribute__((tls_model("initial-exec")));

/* Afterwards no_rseq counts the child, too: a child's child ends first. */
static void lend_to_child(struct agent_thread *t)
{
	if (any_armed())
		agent_thread_lend(t);
	if (t->no_rseq < LENT_MOST)
		lent[t->no_rseq] = lend(t);
	t->no_rseq++;
}

static void child_gone(struct agent_thread *t)
{
	t->no_rseq--;
	if (t->no_rseq < LENT_MOST)
		take_back(t, &lent[t->no_rseq]);
}

void fork_lends(struct agent_thread *t, bool waits)
{
	if (!t || t->no_rseq == AGENT_SHARED)
		return;
	if (waits)
		lend_to_child(t);
	else
		t->no_rseq = AGENT_SHARED;
}

void fork_took_back(struct agent_thread *t, bool waits, bool failed)
{
	if (!t || !t->no_rseq)
		return;
	if (waits && t->no_rseq != AGENT_SHARED)
		child_gone(t);
	else if (failed)
		t->no_rseq = 0;
}

/*
 * Whether functions or probes may have hits in the child. In a process that has not joined, as a
 * child of fork(), such a hit would join: for a process that is about to end.
 */
static bool child_has_hits(void)
{
	return sites.plants || (agent_attached() ? agent_functions_on() : sites.nr_known != 0);
}

struct agent_thread *fork_spawns(void)
{
	/* Where gates are planted, that of clone() does it. */
	struct agent_thread *t = !gates_see() && child_has_hits() ? agent_thread() : NULL;

	fork_lends(t, true);
	return t;
}

void vfork_begin(const void *frame);
long vfork_end(long ret, const void *frame);

/*
 * Makes sure that the thread has its slot, because the child must not take one for it.
 */
void vfork_begin(const void *frame)
{
	struct agent_thread *t = agent_thread();

	call_enter_own(SYSCALL_vfork, NULL, frame);
	if (t)
		lend_to_child(t);
}

/* Runs in the child, and then in the parent. */
long vfork_end(long ret, const void *frame)
{
	struct agent_thread *t = agent_thread_known();

	if (!ret) {
		agent_vforked();
	} else if (t && t->no_rseq) {
		child_gone(t);
	}
	call_exit_own(SYSCALL_vfork, ret, frame);
	if (ret >= 0)
		return ret;
	errno = (int)-ret;
	return -1;
}

/* ---- clone ---- */

typedef int (*real_clone_call)(int (*)(void *), void *, int, void *, pid_t *, void *, pid_t *);

REAL_FUNCTION_AS(clone, real_clone_call);

/* The stack pointer that libc passes: it has put the function and its argument there. */
static uint64_t clone_stack(void *stack)
{
	return ((uintptr_t)stack & -16ul) - 16;
}

/* For the child's begin and end. It is on its creator's stack, which waits or is copied. */
struct cloned {
	int		(*fn)(void *);
	void		*arg;
	bool		follows;	/* new processes are followed */
	bool		shares;
	struct pids_family family;
};

static int clone_start(void *arg)
{
	const struct cloned *c = arg;
	int status;

	if (c->follows && c->shares)
		agent_vforked();
	else if (c->follows)
		agent_forked(&c->family);
	status = c->fn(c->arg);
	/* libc ends this thread and not the process: the task, if there is one, would stay. */
	if (!c->shares)
		agent_task_end();
	return status;
}

INTERPOSE int call_clone(int (*)(void *), void *, int, void *, pid_t *, void *,
			 pid_t *) __asm__("clone");

/* The last three are `...`: they are in the same registers anyway. */
int call_clone(int (*fn)(void *), void *stack, int flags, void *arg, pid_t *ptid, void *tls,
	       pid_t *ctid)
{
	bool shares = flags & CLONE_VM && !(flags & CLONE_SETTLS);
	struct agent_thread *t = shares ? agent_thread() : NULL;
	uint8_t before = t ? t->no_rseq : 0;
	struct lent own;
	struct cloned c = { .fn = fn, .arg = arg, .shares = flags & CLONE_VM };
	/* In a new pid name space the child's own number is of no use. */
	bool waits = shares && (flags & (CLONE_VFORK | CLONE_NEWPID)) == CLONE_VFORK;
	/* A control block of the program's own has nothing of ours. */
	bool wraps = fn && !(flags & CLONE_SETTLS) && (!c.shares || waits);
	int r;

	/* The child could not join by itself. */
	if (flags & (CLONE_NEWUSER | CLONE_NEWNS))
		agent_join_now();
	c.follows = wraps && agent_family(&c.family);
	call_enter(SYSCALL_clone,
		   (uint64_t[]){ (uint32_t)flags, clone_stack(stack), (uintptr_t)ptid,
				(uintptr_t)ctid, (uintptr_t)tls },
		   CALL_FRAME);
	if (t && flags & CLONE_VFORK && any_armed())
		agent_thread_lend(t);
	if (t && before != AGENT_SHARED)
		t->no_rseq = flags & CLONE_VFORK ? before + 1 : AGENT_SHARED;
	if (t)
		own = lend(t);
	r = REAL(clone)(wraps ? clone_start : fn, stack, flags, wraps ? &c : arg, ptid, tls, ctid);
	if (t && (flags & CLONE_VFORK || r < 0))
		t->no_rseq = before;
	if (t && flags & CLONE_VFORK)
		take_back(t, &own);
	call_exit(SYSCALL_clone, call_result(r), CALL_FRAME);
	return r;
}
