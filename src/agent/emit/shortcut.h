/* SPDX-License-Identifier: MIT */
/*
 * shortcut.h - what a thread remembers of hits that only count (shortcut.c)
 *
 * Included by the C files of src/agent only.
 */
#ifndef TRACEFUSE_AGENT_EMIT_SHORTCUT_H
#define TRACEFUSE_AGENT_EMIT_SHORTCUT_H

#include "agent/state.h"

/* After a hit of entry `id` that was counted: the next one may be short. Under the guard. */
void count_make(struct agent_thread *t, struct slot *slot, uint32_t id);
/* The same, by guarded.S. */
void guarded_count_make(struct agent_thread *t, struct slot *slot, uint32_t id, uintptr_t *resume);

/*
 * Whether count_make() may have something to do: it was not called for this entry in this epoch. If
 * another entry has the place and its hits are short, it loses the place now and then.
 */
static inline bool count_wanted(struct agent_thread *t, uint32_t id)
{
	struct agent_count *c = &t->counts[id % AGENT_WAYS];

	/* Relaxed: count_make() loads it again. */
	if (c->epoch !=
	    atomic_load_explicit(&plane_header(&agent.plane)->epoch, memory_order_relaxed))
		return true;
	return c->asked != id && (!c->event || ++c->turns % 16 == 0);
}

#endif
