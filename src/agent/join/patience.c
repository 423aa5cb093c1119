/* SPDX-License-Identifier: MIT */
/*
 * patience.c - how long a thread waits for the server
 *
 * A server that has died closes the connection. One that hangs or is stopped must
 * not stop its programs: a thread that waits for it gives up after a second, and
 * what it would have recorded is counted as lost. But if thousands of threads have
 * their first hit at the same time, they wait for each other rather than for the
 * server, and longer than that. So the server counts its answers where programs
 * see the count. As long as it rises, the threads go on waiting. The server raises
 * it between the pieces of long work, too, such as the text of a large trace. A
 * program that starts waits for the end of that work, however long it lasts:
 * otherwise it would not be traced at all. A quiet one does so at its first hit.
 */
#include "agent/state.h"

static uint32_t server_served(void)
{
	/* Relaxed: a count. */
	return atomic_load_explicit(&plane_header(&agent.plane)->served, memory_order_relaxed);
}

struct agent_patience patience_begin(void)
{
	return (struct agent_patience){ .served = server_served() };
}

bool patience_goes_on(struct agent_patience *p)
{
	uint32_t served = server_served();
	bool moved = served != p->served;

	p->served = served;
	return moved && (agent.starting || quiet_is() || ++p->rounds < AGENT_ROUNDS);
}
