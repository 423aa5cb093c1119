/* SPDX-License-Identifier: MIT */
/*
 * tasks.c - a new thread or process joins the pid sets that its creator is in
 * (event-fork, function-fork)
 *
 *     creator                              the new task
 *     agent_family(): notes its sets
 *     pthread_create()   ---------------->  agent_born(): takes a slot and joins, before its first
 *                                           function
 *     fork()             ---------------->  the same, by way of agent_forked()
 *     vfork()            ---------------->  agent_vforked(): joins on its parent's slot
 *     posix_spawn(): agent_spawned() joins for the child
 *     anything else                         the server finds out when the new program, or the
 *                                           child's first hit, says HELLO
 *
 * N1  The creator notes its sets itself, before the new task exists: it may end,
 *     and leave its sets, before the new task runs. The new task keeps the note
 *     until it has a slot: while the server does not answer, there may be none.
 * N2  If a thread was made without our knowledge (by libc itself, or in a program
 *     without our interposers), the first thread of its process counts as its
 *     creator, at the thread's first hit. This happens only once: a thread that
 *     has left its sets at its end does not join them again.
 * N3  While no instance has these options, nothing of this is done, and tasks that
 *     are made then join nothing later.
 */
#include <pthread.h>
#include "agent/state.h"
#include "agent/syscall.h"

/* The number of the creator. A child of vfork() uses its parent's agent_thread. 0: not known */
static uint32_t own_pid(const struct agent_thread *t)
{
	if (!t->no_rseq)
		return t->pid;
	return agent.here->other_pids ? 0 : (uint32_t)agent_syscall(SYS_gettid);
}

bool agent_family(struct pids_family *out)
{
	struct agent_thread *t;
	uint32_t pid;
	uint64_t old;

	if (!agent_present() || !pids_followed(&agent.plane) || agent_restricted())
		return false;
	/* A process that has had no hit joins: its threads and children belong to the sets. */
	t = agent_thread();
	pid = t ? own_pid(t) : 0;
	if (!pid)
		return false;	/* the server finds out */
	/*
	 * If the program's calls are filtered, the agent makes none: at worst it reads a set that
	 * is being freed.
	 */
	if (agent_filtered()) {
		pids_family_of(&agent.plane, NULL, pid, out);
		return true;
	}
	old = signals_block();
	pids_family_of(&agent.plane, agent_slot(t), pid, out);
	signals_restore(old);
	return true;
}

static bool is_in_any(const struct pids_family *f)
{
	uint64_t any = 0;

	for (unsigned int i = 0; i < PIDS_SETS; i++)
		for (unsigned int k = 0; k < LAYOUT_MAX_INSTANCES / 64; k++)
			any |= f->in[i][k];
	return any;
}

void agent_born(uint32_t tid, const struct pids_family *family)
{
	agent_self.born = tid;
	if (!family || !is_in_any(family))
		return;
	agent_self.noted = *family;
	agent_self.joins = true;
	agent_thread();
}

/*
 * The child is not attached: agent_here is empty. If the process has a filter, the calls of
 * attaching might end it. Then its first hit attaches it, and the server finds out.
 */
void agent_forked(const struct pids_family *family)
{
	if (agent_filtered())
		return;
	agent.here->is_known = true;
	agent_born((uint32_t)agent_syscall(SYS_gettid), family);
}

void tasks_join(struct agent_thread *t)
{
	struct pids_family family;
	bool known = agent_self.born == t->tid;

	agent_self.born = t->tid;
	if (known && agent_self.joins)
		pids_join(&agent.plane, agent_slot(t), &agent_self.noted, t->pid);
	/* N2. For the first thread of a process the server finds out who made it. */
	else if (!known && t->pid != t->tgid &&
		 pids_family_of(&agent.plane, agent_slot(t), t->tgid, &family))
		pids_join(&agent.plane, agent_slot(t), &family, t->pid);
	agent_self.joins = false;
}

void agent_vforked(void)
{
	struct agent_thread *t = agent_thread_known();
	struct pids_family family;
	uint32_t creator;
	uint64_t old;

	if (!t || t->no_rseq == AGENT_SHARED || agent.here->other_pids ||
	    !pids_followed(&agent.plane) || agent_restricted() || agent_filtered())
		return;
	/* In a child of a child of vfork(): its parent is a process of one thread. */
	creator = t->no_rseq > 1 ? (uint32_t)agent_syscall(SYS_getppid) : t->pid;
	old = signals_block();
	if (pids_family_of(&agent.plane, agent_slot(t), creator, &family))
		pids_join(&agent.plane, agent_slot(t), &family,
			  (uint32_t)agent_syscall(SYS_gettid));
	signals_restore(old);
}

/* The creator may end before the new program says HELLO: then nothing leads to it any more. */
__attribute__((cold)) void agent_spawned(uint32_t pid, const struct pids_family *family)
{
	struct agent_thread *t = agent_thread_known();
	uint64_t old;

	if (!t || t->no_rseq == AGENT_SHARED || agent.here->other_pids || !is_in_any(family) ||
	    agent_restricted() || agent_filtered())
		return;
	old = signals_block();
	pids_join(&agent.plane, agent_slot(t), family, pid);
	signals_restore(old);
}

/* ---- fork() ---- */

/*
 * libc identifies by it the library that registers handlers of fork(). The compiler's start files
 * define it, but the libraries are linked without them; a test's program has them.
 */
extern __attribute__((weak, visibility("hidden"))) void *__dso_handle;
void *__dso_handle = &__dso_handle;

static void before_fork(void)
{
	agent_self.forks = agent_family(&agent_self.noted);
}

static void in_parent(void)
{
	agent_self.forks = false;
}

/* The handler, or a hooked system call of libc's fork() itself, which comes before it. */
void agent_fork_begins(void)
{
	if (!agent_self.forks)
		return;
	agent_self.forks = false;
	agent_forked(&agent_self.noted);
}

void tasks_start(void)
{
	static bool is_told;

	if (!is_told && !pthread_atfork(before_fork, in_parent, agent_fork_begins))
		is_told = true;
}
