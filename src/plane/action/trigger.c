/* SPDX-License-Identifier: MIT */
/*
 * trigger.c - what triggers do: traceon, traceoff, snapshot, stacktrace, enable_* and disable_*
 *
 * The words that triggers switch are relaxed: H5 of hit.h.
 */
#include "plane/hit.h"
#include "plane/ring/ring.h"

/* Takes one of the firings that are left. Relaxed: the compare-and-swap checks the value again. */
static bool count_take(struct trigger_state *state)
{
	int64_t left = atomic_load_explicit(&state->count, memory_order_relaxed);

	/* Relaxed: each firing is taken once; nothing else depends on the order. */
	while (left > 0)
		if (atomic_compare_exchange_weak_explicit(&state->count, &left, left - 1,
							  memory_order_relaxed,
							  memory_order_relaxed))
			return true;
	return false;
}

static bool may_fire(const struct run *r, const struct trigger_arm *t)
{
	return !(t->flags & TRIGGER_COUNTED) || count_take(plane_given(r->p, t->state));
}

static void fire_tracing(const struct run *r, const struct trigger_arm *t,
			 struct instance_state *inst, uint32_t on)
{
	/* As in the kernel, a firing that changes nothing does not use up the count. H5 */
	if (atomic_load_explicit(&inst->tracing_on, memory_order_relaxed) != on && may_fire(r, t))
		atomic_store_explicit(&inst->tracing_on, on, memory_order_release);
}

static void fire_switch_event(const struct run *r, const struct trigger_arm *t, uint32_t disabled)
{
	struct event_state *target = plane_given(r->p, t->target);

	/* H5 */
	if (atomic_load_explicit(&target->soft_disabled, memory_order_relaxed) != disabled &&
	    may_fire(r, t))
		atomic_store_explicit(&target->soft_disabled, disabled, memory_order_relaxed);
}

static void switch_hists_of(const struct run *r, const struct plan *plan, data_ref target,
			    uint32_t paused)
{
	for (uint32_t i = 0; i < plan->nr_arms; i++) {
		const struct arm *arm = &plan_arms(plan)[i];
		const struct trigger_arm *t = plan_triggers(plan) + arm->first_trigger;

		for (uint32_t k = 0; arm->state == target && k < arm->nr_triggers; k++) {
			struct trigger_state *state = plane_given(r->p, t[k].state);

			if (t[k].kind == TRIGGER_HIST)
				/* H5 */
				atomic_store_explicit(&state->paused, paused, memory_order_relaxed);
		}
	}
}

/* All hists of the target event in the target's instance. */
static void switch_hists(const struct run *r, data_ref target, uint32_t paused)
{
	const struct plan *plan = plan_of(
		r->p, (uint16_t)((struct event_state *)plane_given(r->p, target))->event_id);

	if (plan)
		switch_hists_of(r, plan, target, paused);
	if (plan && plan->merged)
		switch_hists_of(r, plane_config(r->p, plan->merged), target, paused);
}

static void fire_switch_hist(const struct run *r, const struct trigger_arm *t, uint32_t paused)
{
	if (may_fire(r, t))
		switch_hists(r, t->target, paused);
}

static void stack_record_fill(struct stack_record *rec, const struct hit *h, uint16_t type,
			      uint32_t nr)
{
	const struct record_common *common = h->record;

	rec->type = type;
	rec->flags = common->flags;
	rec->preempt_count = common->preempt_count;
	rec->pid = common->pid;
	for (uint32_t i = 0; i < nr; i++)
		rec->caller[i] = h->stack[i];
}

void hit_write_stack(const struct run *r, struct instance_state *inst, data_ref buffer)
{
	struct stack_record *rec = &plane_scratch(r->p, r->slot, r->level)->stack;
	uint32_t nr = r->h->nr_stack < LAYOUT_STACK_MAX ? r->h->nr_stack : LAYOUT_STACK_MAX;

	if (!r->h->stack || !buffer || !records(inst, r->h->cpu))
		return;
	if (r->h->stack_wanted) {
		if (inst - plane_instance(r->p, 0) < 64)
			*r->h->stack_wanted |= 1ull << (inst - plane_instance(r->p, 0));
		return;
	}
	if (r->h->stack_record) {
		const uint32_t early = inst == plane_instance(r->p, 0) ? r->h->stack_early : 0;

		ring_write(r->p, r->slot, buffer, r->h->writer, r->h->cpu,
			   r->h->stack_time - early, r->h->stack_record, r->h->stack_size);
		return;
	}
	stack_record_fill(rec, r->h, LAYOUT_STACK_ID, nr);
	rec->size = (int32_t)nr;
	ring_write(r->p, r->slot, buffer, r->h->writer, r->h->cpu, ring_time(r->p, r->h, inst),
		   rec, (uint32_t)offsetof(struct stack_record, caller) + nr * 8);
}

void hit_write_user_stack(const struct run *r, struct instance_state *inst, data_ref buffer)
{
	struct stack_record *rec = &plane_scratch(r->p, r->slot, r->level)->stack;
	/* Relaxed: the server stored it before the thread had its slot. */
	const uint32_t process = atomic_load_explicit(&r->slot->process, memory_order_relaxed);
	const struct process_entry *processes = plane_config(r->p, plane_header(r->p)->processes);
	/* A wrong number may be there (R38): it names another process then. */
	const uint32_t index = (process - 1) % LAYOUT_MAX_PROCESSES;
	const uint32_t nr = r->h->nr_stack < LAYOUT_USER_STACK ? r->h->nr_stack : LAYOUT_USER_STACK;
	/* It is of no process here, whatever its slot says. */
	const bool of_source = r->h->writer && r->h->writer < RING_SET_LEASES;

	if (!r->h->stack || !process || of_source || !records(inst, r->h->cpu))
		return;
	stack_record_fill(rec, r->h, LAYOUT_USER_STACK_ID, nr);
	rec->size = (int32_t)processes[index].pid;
	for (uint32_t i = nr; i < LAYOUT_USER_STACK; i++)
		rec->caller[i] = 0;
	ring_write(r->p, r->slot, buffer, r->h->writer, r->h->cpu, r->h->time, rec,
		   (uint32_t)offsetof(struct stack_record, caller) + LAYOUT_USER_STACK * 8);
}

void hit_trigger(struct run *r, const struct trigger_arm *t, struct instance_state *inst)
{
	switch ((enum trigger_kind)t->kind) {
	case TRIGGER_TRACEON:
	case TRIGGER_TRACEOFF:
		fire_tracing(r, t, inst, t->kind == TRIGGER_TRACEON);
		break;
	case TRIGGER_SNAPSHOT:
		if (may_fire(r, t))
			hit_take_snapshot(r, inst);
		break;
	case TRIGGER_STACKTRACE:
		if (may_fire(r, t))
			hit_write_stack(r, inst, live_buffer(inst));
		break;
	case TRIGGER_ENABLE_EVENT:
	case TRIGGER_DISABLE_EVENT:
		fire_switch_event(r, t, t->kind == TRIGGER_DISABLE_EVENT);
		break;
	case TRIGGER_ENABLE_HIST:
	case TRIGGER_DISABLE_HIST:
		fire_switch_hist(r, t, t->kind == TRIGGER_DISABLE_HIST);
		break;
	case TRIGGER_DEEPEST:
		hit_deepest(r, t);
		break;
	case TRIGGER_HIST:
	case TRIGGER_PROBE:
	case TRIGGER_DUMP:
	case TRIGGER_CPUDUMP:
		break;
	}
}
