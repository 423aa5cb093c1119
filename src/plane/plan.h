/* SPDX-License-Identifier: MIT */
/*
 * plan.h - the parts of a plan, and what it may do: each short way asks here
 *
 *     plan -> | struct plan | arms[nr_arms], one an instance | trigger_arms, each arm's in a row |
 *
 * plan.c finds the kind of a plan (enum plan_kind) before it is published.
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

	/* H1. Acquire: pairs with the release in session_publish(). */
	ref = atomic_load_explicit(&plane_event(p, event_id)->plan, memory_order_acquire);
	return ref ? plane_config(p, ref) : NULL;
}

/* ---- what it may do ---- */

/* Its records go to one instance, and it does nothing else. */
static inline bool plan_only_records(const struct plan *plan)
{
	return plan->kind == PLAN_RECORD && !plan->wants;
}

/* One hist counts, in one instance. The event may be recorded, too. */
static inline bool plan_counts(const struct plan *plan)
{
	return plan->kind == PLAN_COUNT || plan->kind == PLAN_COUNT_KEY1;
}

/* The same, and a hit may do nothing else: always, or while the event is soft-disabled. */
static inline bool plan_may_only_count(const struct plan *plan)
{
	return plan_counts(plan) && !plan->wants &&
	       ((plan->arm_flags & ARM_SOFT_MODE) || !(plan->arm_flags & ARM_RECORD));
}

/* For a plan that counts: it does nothing else now, because the event is not recorded. */
static inline bool plan_only_counts(const struct plane *p, const struct plan *plan)
{
	const struct event_state *state = plane_given(p, plan->arm_state);

	if (!(plan->arm_flags & ARM_SOFT_MODE))
		return !(plan->arm_flags & ARM_RECORD);
	/* H5 of hit.h */
	return atomic_load_explicit(&state->soft_disabled, memory_order_relaxed);
}

/* hit_plain() would only return HIT_LONG. */
static inline bool plan_is_long(const struct plan *plan)
{
	return plan->wants || plan->kind == PLAN_ANY || plan->kind == PLAN_RECORD_IF ||
	       plan->kind == PLAN_COUNT;
}

/* ---- plan.c: for the server, before it publishes a plan ---- */

/* The code of the only trigger, if the plan may count; otherwise 0. */
config_ref plan_code(const struct plan *plan);
/*
 * Sets the plan's kind and the fields of that kind. `code`: the code of plan_code() and its first
 * operation, or NULL.
 */
void plan_find_kind(const struct plane *p, struct plan *plan, const struct code *code);

#endif
