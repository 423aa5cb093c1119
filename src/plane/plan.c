/* SPDX-License-Identifier: MIT */
/*
 * plan.c - finds the kind of a plan: hit() and the agent have a short way for some kinds
 */
#include "plane/code.h"
#include "plane/plan.h"

static bool is_key1(const struct trigger_arm *t, const struct op *op)
{
	return !t->filter && op->kind == OP_HIST_KEY1 &&
	       (op->len == OP_LOAD_U32 || op->len == OP_LOAD_U64 || op->len == OP_LOAD_S32);
}

/* For a plan with one arm that has one trigger. */
static uint32_t kind_of_hist(struct plan *plan, const struct code *code)
{
	const struct arm *arm = plan_arms(plan);
	const struct trigger_arm *t = plan_hist(plan);
	const struct op *op = code->ops;

	plan->arm_flags = arm->flags;
	plan->arm_state = arm->state;
	plan->trigger_state = t->state;
	plan->map = code->map;
	plan->layout = (const char *)&code->layout - (const char *)plan;
	plan->key_off = op->off;
	plan->key_load = op->len;
	plan->key_end = op->off + (op->len == OP_LOAD_U64 ? 8u : 4u);
	return is_key1(t, op) ? PLAN_COUNT_KEY1 : PLAN_COUNT;
}

static bool plan_is_plain(const struct arm *arm)
{
	return !(arm->flags &
		 ~(uint32_t)(ARM_RECORD | ARM_NEED_RECORD | ARM_SOFT_MODE | ARM_FUNCTION));
}

static bool is_recorded(const struct arm *arm)
{
	return !arm->nr_triggers && (arm->flags & ~(uint32_t)ARM_FUNCTION) == ARM_RECORD;
}

config_ref plan_code(const struct plan *plan)
{
	const struct arm *arm = plan_arms(plan);

	if (plan->nr_arms != 1 || !plan_is_plain(arm) || arm->filter || arm->nr_triggers != 1 ||
	    arm->first_trigger)
		return 0;
	/* With one arm, the triggers begin right behind it. */
	return plan_hist(plan)->kind == TRIGGER_HIST ? plan_hist(plan)->code : 0;
}

static bool is_function(const struct plan *plan)
{
	const struct arm *arms = plan_arms(plan);
	const struct trigger_arm *t = plan_triggers(plan);

	for (uint32_t i = 0; i < plan->nr_arms; i++)
		if (!(arms[i].flags & ARM_FUNCTION) || (arms[i].flags & (ARM_SECTION | ARM_STACK)))
			return false;
	for (uint32_t i = 0; i < plan->nr_triggers; i++)
		if (!(t[i].flags & TRIGGER_FUNCTION))
			return false;
	return !plan->wants;
}

static uint32_t kind_of_record(const struct plane *p, struct plan *plan)
{
	const struct arm *arm = plan_arms(plan);

	plan->instance = plane_header(p)->instances + arm->instance * sizeof(struct instance_state);
	plan->committed = arm->instance < LAYOUT_GRAPH_INSTANCES ? 1ull << arm->instance : 0;
	return arm->filter ? PLAN_RECORD_IF : PLAN_RECORD;
}

void plan_find_kind(const struct plane *p, struct plan *plan, const struct code *code)
{
	const struct arm *arm = plan_arms(plan);

	plan->kind = PLAN_ANY;
	if (code)
		plan->kind = kind_of_hist(plan, code);
	else if (plan->nr_arms == 1 && plan_is_plain(arm) && is_recorded(arm))
		plan->kind = kind_of_record(p, plan);
	if (plan->kind == PLAN_ANY && is_function(plan))
		plan->kind = PLAN_FUNCTION;
}
