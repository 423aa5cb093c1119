/* SPDX-License-Identifier: MIT */
/*
 * tasks.c - whose child a new thread or process is: it joins the sets of pids of who made it
 * (event-fork, function-fork)
 *
 *     creator                              the new task
 *     agent_family(): notes what it is in
 *     pthread_create()   ---------------->  agent_born(): takes a slot and joins, before its first
 *                                           function
 *     fork()             ---------------->  the same, by way of agent_forked()
 *     vfork()            ---------------->  agent_vforked(): joins on its parent's slot
 *     anything else                         the server looks when what is executed, or makes its
 *                                           first hit, says HELLO
 *
 * N1  What the creator is in is noted by itself before the new task is there:
 *     it may end, and leave its sets, before that one runs.
 * N2  Of a thread that was made without our knowing (by libc itself, or in a
 *     program without our interposers) the first of its process counts as creator,
 *     at its first hit. Only once: who leaves its sets at its end does not come back.
 * N3  While no instance asks nothing of this is done, and who was made then
 *     joins nothing later.
 */
#include <pthread.h>
#include "agent/state.h"
#include "agent/syscall.h"

/* A child of vfork() has its parent's control block, and a number of its own. 0: not known */
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

	if (!agent_attached() || !pids_followed(&agent.plane) || agent_restricted())
		return false;
	t = agent_thread();
	pid = t ? own_pid(t) : 0;
	if (!pid)
		return false;	/* the server looks */
	/*
	 * Whose calls are filtered is not asked for more of them: at worst a set is read that is
	 * being freed.
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
	agent_self.family = family;
	agent_thread();
	agent_self.family = NULL;
}

/*
 * Not attached yet: what was in agent_here is gone. What attaching calls may end a process in a
 * sandbox of its own: there it waits for a first hit, and the server looks.
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
	if (known && agent_self.family)
		pids_join(&agent.plane, agent_slot(t), agent_self.family, t->pid);
	/* N2. What made a process is the server's to know. */
	else if (!known && t->pid != t->tgid &&
		 pids_family_of(&agent.plane, agent_slot(t), t->tgid, &family))
		pids_join(&agent.plane, agent_slot(t), &family, t->pid);
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
	/* The child of a child of vfork(): that one is a process of one thread. */
	creator = t->no_rseq > 1 ? (uint32_t)agent_syscall(SYS_getppid) : t->pid;
	old = signals_block();
	if (pids_family_of(&agent.plane, agent_slot(t), creator, &family))
		pids_join(&agent.plane, agent_slot(t), &family,
			  (uint32_t)agent_syscall(SYS_gettid));
	signals_restore(old);
}

/* ---- fork() ---- */

/*
 * What libc knows a library by that asks to be told of forks. The compiler's start files, which
 * have it, are left out; a test's program has them.
 */
extern __attribute__((weak, visibility("hidden"))) void *__dso_handle;
void *__dso_handle = &__dso_handle;

static void before_fork(void)
{
	agent_self.forks = agent_family(&agent_self.forking);
}

static void in_child(void)
{
	if (agent_self.forks)
		agent_forked(&agent_self.forking);
}

void tasks_start(void)
{
	static bool is_told;

	if (!is_told && !pthread_atfork(before_fork, NULL, in_child))
		is_told = true;
}
