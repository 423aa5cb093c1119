/* SPDX-License-Identifier: MIT */
/*
 * profile.c - what a thread remembers of its calls' way into the function profile
 *
 *     function, CPU -> hash -> place in the map's table -> elt -> sums of the CPU's column
 *
 * While a thread stays on one CPU, it needs only the map for that. x86_64/profile.h
 * goes this way at a call (entry.S) and at a return (graph.S). W1 to W4 of way.c
 * hold here, too. Each sum grows by one restartable addition (M2 of map.c): when a
 * thread is killed, the addition has been made completely or not at all.
 *
 * The short way is for calls that only the profile wants, by the clock and with the
 * time of the functions that they call. A hit that leaves the short way has added
 * nothing, and does everything by emit_hit().
 */
#include "agent/emit/emit.h"
#include "agent/graph/graph.h"
#include "agent/state.h"
#include "agent/emit/way.h"
#include "agent/x86_64/emit.h"
#include "plane/arch/rseq_add.h"
#include "plane/hit.h"
#include "plane/map/map.h"

_Static_assert(offsetof(struct agent_thread, profiles) == THREAD_PROFILES &&
	       sizeof(struct agent_profile) == 1 << PROFILE_SHIFT &&
	       AGENT_PROFILES == PROFILE_MASK + 1 &&
	       offsetof(struct agent_profile, seen) == PROFILE_SEEN &&
	       offsetof(struct agent_profile, entries) == PROFILE_ENTRIES &&
	       offsetof(struct agent_profile, elts) == PROFILE_ELTS &&
	       offsetof(struct agent_profile, event) == PROFILE_EVENT &&
	       offsetof(struct agent_profile, last_elt) == PROFILE_LAST &&
	       offsetof(struct agent_profile, sums) == PROFILE_COLUMN &&
	       offsetof(struct agent_profile, mult) == PROFILE_MULT &&
	       offsetof(struct agent_profile, offset) == PROFILE_OFFSET &&
	       offsetof(struct agent_profile, rseq) == PROFILE_RSEQ &&
	       offsetof(struct agent_profile, slot) == PROFILE_SLOT &&
	       offsetof(struct agent_profile, shared) == PROFILE_SHARED &&
	       offsetof(struct agent_profile, cpu) == PROFILE_CPU &&
	       offsetof(struct agent_profile, mask) == PROFILE_PLACES &&
	       offsetof(struct agent_profile, shift) == PROFILE_PLACE,
	       "profile.h knows what is remembered");
_Static_assert(PROFILE_CALLS * 8 == SUM_CALLS && PROFILE_TIME * 8 == SUM_TIME &&
	       PROFILE_SQUARED * 8 == SUM_SQUARED && PROFILE_SUMS * 8 == 1 << PROFILE_ROW &&
	       GROUP_PROFILE == GROUP_GRAPH + 1 && !GROUP_FUNCTION,
	       "profile.h knows the sums and the groups");

/* The group's plan, if it only folds the profile and nothing else wants the group's functions. */
static const struct plan *only_profiled(uint32_t entry)
{
	const struct plane *p = &agent.plane;
	const struct plan *plan = plan_of(p, (uint16_t)entry);
	const struct code *code;

	if (!plan || plan->kind != PLAN_COUNT || plan->wants || !graph_is_only_profile() ||
	    plan_of(p, (uint16_t)(entry - GROUP_PROFILE + GROUP_FUNCTION)) ||
	    plan_of(p, (uint16_t)(entry - GROUP_PROFILE + GROUP_GRAPH)))
		return NULL;
	code = plane_config(p, plan_hist(plan)->code);
	return code->ops[0].kind == OP_PROFILE ? plan : NULL;
}

static bool profile_find(struct agent_profile *w, uint32_t entry, uint32_t cpu)
{
	const struct plan *plan = only_profiled(entry);
	const struct map_layout *l;
	struct map_view m;

	if (!plan)
		return false;
	m = map_view_of(&agent.plane, plan->map, (const void *)((const char *)plan + plan->layout));
	l = m.layout;
	if (cpu >= l->nr_plain || l->elt_size != 1 << PROFILE_ELT || l->nr_sums != PROFILE_SUMS ||
	    l->single_writer)
		return false;
	w->entries = (const char *)map_entry(m, 0);
	w->elts = map_elt(m, 0);
	w->last_elt = l->last_elt;
	w->sums = (char *)map_sum(m, cpu, 0, 0);
	w->shared = (char *)map_sum(m, l->nr_columns - 1, 0, 0);
	w->mask = l->entry_mask;
	w->shift = 32 + l->hash_shift;
	return true;
}

void profile_make(struct agent_thread *t, struct slot *slot, uint32_t entry)
{
	const struct config_header *h = plane_header(&agent.plane);
	struct agent_profile *w = &t->profiles[entry % AGENT_PROFILES];
	uint32_t cpu = (uint32_t)*t->cpu;
	uint64_t epoch;

	/*
	 * Acquire: H1, pairs with the raise of the epoch in session_publish(). The values below are
	 * made from what is published.
	 */
	if (w->tried == entry && w->cpu == cpu &&
	    w->epoch == atomic_load_explicit(&h->epoch, memory_order_acquire))
		return;
	if (!way_may_with_time(slot, cpu, entry))
		return;
	epoch = way_enter(slot);
	w->seen = w->event = w->tried = 0;
	atomic_signal_fence(memory_order_seq_cst);	/* W3 */
	w->epoch = epoch;
	w->cpu = cpu;
	w->mult = h->tsc.mult;
	w->offset = (uint64_t)h->tsc.offset;
	w->rseq = rseq_area();
	w->slot = slot;
	if (profile_find(w, entry, cpu)) {
		way_forget(t, entry - GROUP_PROFILE + GROUP_GRAPH);
		atomic_signal_fence(memory_order_seq_cst);	/* W3 */
		w->seen = way_seen(epoch, entry);
		w->event = entry;
	}
	w->tried = entry;
	way_leave(slot);
}
