/* SPDX-License-Identifier: MIT */
/*
 * plan.h - the parts of a plan, and what it may do: who takes a short way asks here
 *
 *     plan -> | struct plan | arms[nr_arms], one an instance | trigger_arms, each arm's in a row |
 *
 * plan.c says of a plan that is being published which kind it is (enum plan_kind).
 */
#ifndef TRACEFUSE_PLANE_PLAN_H
#define TRACEFUSE_PLANE_PLAN_H

#include "plane/plane.h"

struct code;

/* ---- parts ---- */

static inline struct arm *plan_arms(const struct plan *plan)
{
	return (struct arm *)(plan + 1);
}

static inline struct trigger_arm *plan_triggers(const struct plan *plan)
{
	return (struct trigger_arm *)(plan_arms(plan) + plan->nr_arms);
}

/* PLAN_COUNT: its only trigger. */
static inline const struct trigger_arm *plan_hist(const struct plan *plan)
{
	return (const struct trigger_arm *)(plan_arms(plan) + 1);
}

static inline const struct plan *plan_of(const struct plane *p, uint16_t event_id)
{
	config_ref ref;

	/* H1: pairs with the release in session_publish(). */
	ref = atomic_load_explicit(&plane_event(p, event_id)->plan, memory_order_acquire);
	return ref ? plane_config(p, ref) : NULL;
}

/* ---- what it may do ---- */

/* Its records go to one instance, and nothing else is done. */
static inline bool plan_only_records(const struct plan *plan)
{
	return plan->kind == PLAN_RECORD && !plan->wants;
}

/* One hist counts, in one instance. The event may be recorded, too. */
static inline bool plan_counts(const struct plan *plan)
{
	return plan->kind == PLAN_COUNT || plan->kind == PLAN_COUNT_KEY1;
}

/*
 * The same, and it may be that nothing else is done: now or as long as the event is soft-disabled.
 */
static inline bool plan_may_only_count(const struct plan *plan)
{
	return plan_counts(plan) && !plan->wants &&
	       ((plan->arm_flags & ARM_SOFT_MODE) || !(plan->arm_flags & ARM_RECORD));
}

/* Of one that counts: it does nothing else now, because the event is not recorded. */
static inline bool plan_only_counts(const struct plane *p, const struct plan *plan)
{
	const struct event_state *state = plane_given(p, plan->arm_state);

	if (!(plan->arm_flags & ARM_SOFT_MODE))
		return !(plan->arm_flags & ARM_RECORD);
	/* H5 of hit.h */
	return atomic_load_explicit(&state->soft_disabled, memory_order_relaxed);
}

/* hit_plain() would only say HIT_LONG. */
static inline bool plan_is_long(const struct plan *plan)
{
	return plan->wants || plan->kind == PLAN_ANY || plan->kind == PLAN_RECORD_IF ||
	       plan->kind == PLAN_COUNT;
}

/* ---- plan.c: the server's, before it publishes ---- */

/* The code of the only trigger of a plan that may count, 0: it may not. */
config_ref plan_code(const struct plan *plan);
/*
 * Fills in kind and what belongs to it. `code`: that of plan_code(), with its first operation;
 * NULL: none.
 */
void plan_find_kind(struct plan *plan, const struct code *code);

#endif
