/* SPDX-License-Identifier: MIT */
/*
 * sites_hit.c - a call of a function that is traced: a hit of ftrace:function
 *
 * S1  A traced function's arguments may lie in vector registers, and its caller
 *     may rely on others that the compiler knows it to leave alone. So what runs
 *     from sites_hit() on is compiled for general registers only and calls
 *     nothing of libc; whatever needs more says so, and entry.S saves them all
 *     and calls sites_hit_slow().
 */
#include "agent/emit.h"
#include "agent/sites_hit.h"
#include "agent/state.h"

enum { FUNCTION_ID = 1 };	/* ftrace:function, as the kernel's */

struct function_record {
	struct record_common common;
	uint64_t	ip, parent_ip;
};

static inline bool is_armed(void)
{
	/* Relaxed: hit() loads it again with acquire. */
	return atomic_load_explicit(&plane_event(&agent.plane, FUNCTION_ID)->plan, memory_order_relaxed) != 0;
}

static inline bool is_known(const struct agent_thread *t, uintptr_t addr)
{
	return addr - t->code_start < t->code_end - t->code_start;
}

/* What the short way can do: a thread in no handler and with a CPU to read, both addresses in the DSO looked up last. */
static inline bool is_short(const struct agent_thread *t, uintptr_t ip, uintptr_t parent)
{
	return !(t->flags & AGENT_HANDLER) && !t->no_rseq && *t->cpu >= 0 && is_known(t, ip) && is_known(t, parent) &&
	       t->dso_age == atomic_load_explicit(&agent.dso_age, memory_order_acquire) &&
	       !emit_wants_stack(FUNCTION_ID);
}

bool sites_hit(uintptr_t ip, uintptr_t parent, const void *frame)
{
	struct agent_thread *t = agent_self.thread;
	struct function_record r;

	if (atomic_load_explicit(&agent.state, memory_order_relaxed) != AGENT_ON || !is_armed())
		return false;
	if (!t || !t->slot)
		return true;
	if (t->busy)
		return false;
	if (!is_short(t, ip, parent))
		return true;
	r.ip = ip + t->dso_delta;
	r.parent_ip = parent + t->dso_delta;
	agent_emit(t, FUNCTION_ID, &r, sizeof(r), NULL);
	return false;
}

void sites_hit_slow(uintptr_t ip, uintptr_t parent, const void *frame)
{
	struct agent_thread *t = agent_thread();
	struct function_record r;

	if (!t || t->busy)
		return;
	r.parent_ip = agent_address(t, (const void *)parent);
	r.ip = agent_address(t, (const void *)ip);
	agent_emit(t, FUNCTION_ID, &r, sizeof(r), frame);
}
