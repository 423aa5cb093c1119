/* SPDX-License-Identifier: MIT */
/*
 * recover.c - finishes what a thread that was killed in a hit left half done
 *
 * A killed thread blocks nothing: readers and other writers never wait for it. But it may have
 * claimed a place in a map without using it. The plans lead to the maps, and the layouts to their
 * parts; only the server writes these (M4 of plane/map/map.h).
 */
#include <stdlib.h>
#include "plane/map/map.h"
#include "plane/code.h"
#include "plane/plan.h"
#include "session/state.h"

static void map_finish(struct session *s, const struct code *code, uint32_t slot)
{
	struct map *data = session_data(s, code->map, code->layout.size);

	if (data)
		map_recover((struct map_view){ &code->layout, data }, slot);
}

static void plan_finish(struct session *s, config_ref ref, uint32_t slot)
{
	const struct plan *plan = session_config(s, ref, sizeof(*plan));
	const struct trigger_arm *t;
	uint64_t size;

	if (!plan)
		return;
	size = sizeof(*plan) + (uint64_t)plan->nr_arms * sizeof(struct arm) +
	       (uint64_t)plan->nr_triggers * sizeof(*t);
	if (!session_config(s, ref, size))
		return;
	t = plan_triggers(plan);
	for (uint32_t i = 0; i < plan->nr_triggers; i++) {
		const struct code *code = session_config(s, t[i].code, sizeof(*code));

		if (t[i].kind == TRIGGER_HIST && code)
			map_finish(s, code, slot);
	}
	if (plan->merged)
		plan_finish(s, plan->merged, slot);
}

/* For all maps that a hit may have been in. */
static void maps_finish(struct session *s, uint32_t index)
{
	const struct event_entry *e =
		(const struct event_entry *)(s->config.base + s->header->events);

	for (int i = 0; i < LAYOUT_MAX_EVENTS; i++) {
		/* Relaxed: only the server stores plans. */
		config_ref plan = atomic_load_explicit(&e[i].plan, memory_order_relaxed);

		if (plan)
			plan_finish(s, plan, index);
	}
}

void slot_finish(struct session *s, uint32_t index)
{
	/* Relaxed: the pidfd has shown that the owner is dead. */
	if (atomic_load_explicit(&plane_slot(&s->plane, index)->owner, memory_order_relaxed))
		maps_finish(s, index);
	slot_recycle(s, index);
}

/*
 * No other thread takes the slot of a dead thread meanwhile: its owner word is cleared only here.
 */
static bool thread_finish(struct session *s, uint32_t index, uint32_t owner)
{
	struct slot *slot = plane_slot(&s->plane, index);

	/* Relaxed: a dead thread stores nothing more. Another one has it if it was given back. */
	if (atomic_load_explicit(&slot->owner, memory_order_relaxed) != owner)
		return false;
	maps_finish(s, index);
	atomic_store_explicit(&slot->depth, 0, memory_order_relaxed);
	/* Release: pairs with the acquire in slot_claim() of agent/thread/thread.c. */
	return atomic_compare_exchange_strong_explicit(&slot->owner, &owner, 0,
						       memory_order_release, memory_order_relaxed);
}

/*
 * A list may lack threads that live, if others end while it is read. So who is missing must be
 * missing in two.
 */
static bool thread_is_gone(const struct tasks *t, struct tasks *again, uint32_t tid)
{
	if (tasks_have(t, tid))
		return false;
	if (t->known != TASKS_LISTED)
		return true;
	if (again->process != t->process)
		tasks_look(t->process, again);
	return !tasks_have(again, tid);
}

unsigned int threads_finish(struct session *s, unsigned int index)
{
	const uint32_t end = slots_end(s);
	uint32_t *owners = calloc(end ? end : 1, sizeof(*owners));
	struct tasks tasks, again = { 0 };
	unsigned int nr = 0;

	if (!owners)
		return 0;
	/*
	 * All of them before the look: a thread that begins later is not in it. Relaxed: the look
	 * says whether they are dead.
	 */
	for (uint32_t i = 0; i < end; i++)
		if (s->slot_process[i] == index + 1)
			owners[i] = atomic_load_explicit(&plane_slot(&s->plane, i)->owner,
							 memory_order_relaxed);
	tasks_look(s->processes[index].pid, &tasks);
	for (uint32_t i = 0; i < end; i++)
		if (owners[i] && thread_is_gone(&tasks, &again, owners[i]))
			nr += thread_finish(s, i, owners[i]);
	tasks_forget(&tasks);
	tasks_forget(&again);
	free(owners);
	return nr;
}

void process_end(struct session *s, unsigned int index)
{
	struct process *p = &s->processes[index];

	if (p->known && process_alive(s, p))
		follow_remember(s, p->pid, process_began(s, index));
	for (uint32_t i = 0; i < slots_end(s); i++)
		if (s->slot_process[i] == index + 1)
			slot_finish(s, i);
	process_remove(s, index);
	s->may_have_orphans = true;
}
