/* SPDX-License-Identifier: MIT */
/*
 * quiet.c - a program that has nothing to say joins the session with its first hit
 *
 *     start: no static event, no site
 *         -> quiet_begins(): the config region permits it -> nothing is sent
 *     first hit, a DSO with events or sites -> attach_again(), as in a child of fork()
 *     before the program gives up rights    -> agent_join_now()
 *
 * A shell's programs are executed by the hundred, and most make no hit. To say HELLO costs each of
 * them a fifth of its time, and the server as much.
 *
 * Q1  The server has looked at the program's file: it has no probes of its author, which would have
 *     to be listed before they can be switched on (config_header.quiet).
 * Q2  Nobody waits for programs that begin, and nothing that they would have to do at their start
 *     has been asked for: to plant probes or gates, or to join sets of pids. Nor is an event of the
 *     interposers armed: then the first hit is near, and the answer to HELLO comes while the
 *     program starts.
 * Q3  The server does not know the process. If it does, the process has executed another program,
 *     and the server must learn that what it knows is over. In a name space of pids the numbers
 *     differ: there the server learns it with the first hit.
 * Q4  A process of another user, in another root or in a sandbox may be unable to join later. So
 *     it joins before the calls that make it or its children so, if they are libc's. A child of
 *     fork() does the same: it has no connection of its parent's that could pass its own one. The
 *     child is known by here->own_pid, which fork() wipes. A child of vfork() has its parent's
 *     number there.
 *
 * Only the preloaded library has this: it has the interposers.
 */
#include "agent/agent.h"
#include "agent/state.h"
#include "agent/syscall.h"

/* Q1 */
static bool file_is_known(const struct config_header *h)
{
	const _Atomic uint64_t *places = &h->quiet[agent.program / 2 % LAYOUT_QUIET &
						   -(uint64_t)QUIET_PLACES];

	/* Relaxed: each word has a meaning of its own. */
	for (unsigned int i = 0; agent.program && i < QUIET_PLACES; i++)
		if (atomic_load_explicit(&places[i], memory_order_relaxed) == agent.program)
			return true;
	return false;
}

/* Q2 */
static bool is_asked(const struct config_header *h)
{
	/* Relaxed: a program that begins just now may miss it, as an older one does. */
	return atomic_load_explicit(&h->barriers, memory_order_relaxed) ||
	       atomic_load_explicit(&h->follow, memory_order_relaxed) ||
	       atomic_load_explicit(&h->probes, memory_order_relaxed) ||
	       atomic_load_explicit(&h->calls, memory_order_relaxed) ||
	       atomic_load_explicit(&h->interposed, memory_order_relaxed) ||
	       atomic_load_explicit(&h->knock, memory_order_relaxed);
}

/* Q3 */
static bool server_knows(const struct config_header *h, uint32_t pid)
{
	const struct process_entry *e = plane_config(&agent.plane, h->processes);
	/* Relaxed: the entry of an attached process is there before its code runs. */
	const uint32_t nr = atomic_load_explicit(&h->processes_high, memory_order_relaxed);

	for (uint32_t i = 0; i < nr && i < LAYOUT_MAX_PROCESSES; i++)
		if (e[i].pid == pid)
			return true;
	return false;
}

bool quiet_begins(struct attach_reply *reply)
{
	const struct config_header *h = plane_header(&agent.plane);
	int32_t pid;

	/* An agent of another version has other events, or none. */
	if (!agent_providers_table || h->providers_table != agent_providers_table() ||
	    !file_is_known(h) || is_asked(h))
		return false;
	pid = (int32_t)agent_syscall(SYS_getpid);
	if (server_knows(h, (uint32_t)pid))
		return false;
	*reply = (struct attach_reply){ .provider_id = h->providers_first };
	agent.here->own_pid = pid;
	/* Relaxed: the process has one thread. */
	atomic_store_explicit(&agent.quiet, true, memory_order_relaxed);
	return true;
}

void agent_join_now(void)
{
	const int32_t pid = quiet_is() ? agent.here->own_pid : 0;

	if (!quiet_is() || agent_restricted() || agent_filtered() ||
	    (pid && pid != agent_syscall(SYS_getpid)) || !thread_lock())
		return;
	attach_again();
	thread_unlock();
}
