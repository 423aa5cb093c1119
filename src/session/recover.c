/* SPDX-License-Identifier: MIT */
/*
 * recover.c - what a thread that was killed in a hit left half done
 *
 * A killed thread wedges nothing: readers and other writers never wait for
 * it. But it may have claimed a place in a map that nobody uses. The maps are
 * found by way of the plans, which are the server's own; the maps themselves
 * lie in the data region and are checked before they are touched (R2).
 */
#include "plane/map.h"
#include "plane/program.h"
#include "session/state.h"

static void map_finish(struct session *s, data_ref ref, uint32_t slot)
{
	struct map *m = session_data(s, ref, sizeof(*m));

	if (m && !(ref % 64) && map_check(m, s->data.size - ref, s->header->nr_cpus, s->nr_slots))
		map_recover(m, slot);
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
	t = (const struct trigger_arm *)((const struct arm *)(plan + 1) + plan->nr_arms);
	for (uint32_t i = 0; i < plan->nr_triggers; i++) {
		const struct program *prog = session_config(s, t[i].program, sizeof(*prog));

		if (t[i].kind == TRIGGER_HIST && prog)
			map_finish(s, prog->map, slot);
	}
}

void slot_finish(struct session *s, uint32_t index)
{
	const struct event_entry *e = (const struct event_entry *)(s->config.base + s->header->events);

	/* Relaxed: the owner is dead, which its pidfd told; plans are the server's own stores. */
	if (atomic_load_explicit(&plane_slot(&s->plane, index)->owner, memory_order_relaxed))
		for (int i = 0; i < LAYOUT_MAX_EVENTS; i++) {
			config_ref plan = atomic_load_explicit(&e[i].plan, memory_order_relaxed);

			if (plan)
				plan_finish(s, plan, index);
		}
	slot_recycle(s, index);
}

void process_end(struct session *s, unsigned int index)
{
	for (uint32_t i = 0; i < s->nr_slots; i++)
		if (s->slot_process[i] == index + 1)
			slot_finish(s, i);
	process_remove(s, index);
}
