/* SPDX-License-Identifier: MIT */
/*
 * names_matter.c - whether anything in a session uses the names of tasks
 *
 * The names at the recording's start need an extra pass over the recording. It is made only if
 * something uses them.
 */
#include "plane/code.h"
#include "plane/plan.h"
#include "sources/recording/source_state.h"

static bool code_looks(const struct plane *p, config_ref ref)
{
	const struct code *code = plane_config(p, ref);
	const struct op *op;

	if (!ref)
		return false;
	for (op = code->ops; op < code->ops + code->nr_ops; op++) {
		if (op->kind == OP_ELT_COMM)
			return true;
		if (op->kind == OP_MATCH && op->size >> 4 == STRING_COMM)
			return true;
		if ((op->kind == OP_KEY_STRING || op->kind == OP_HIST_TEXT ||
		     op->kind == OP_PROBE_STRING) && op->size == STRING_COMM)
			return true;
	}
	return false;
}

static bool plan_looks(const struct plane *p, const struct plan *plan)
{
	const struct arm *arms = plan_arms(plan);
	const struct trigger_arm *triggers = (const struct trigger_arm *)(arms + plan->nr_arms);
	uint32_t i;

	for (i = 0; i < plan->nr_arms; i++)
		if (code_looks(p, arms[i].filter))
			return true;
	for (i = 0; i < plan->nr_triggers; i++)
		if (code_looks(p, triggers[i].filter) || code_looks(p, triggers[i].code))
			return true;
	return false;
}

bool names_matter(const struct source *src)
{
	const struct plane *p = src->plane;
	config_ref ref;
	unsigned int id;

	if (!src->names.nr_rules)
		return false;
	/*
	 * A user who stops on the way may want the names, and beside a server plans may change at
	 * any time.
	 */
	if (src->stop_event || src->server)
		return true;
	/*
	 * A latency tracer prints the section's task. Relaxed: only tests whether there is such a
	 * tracer.
	 */
	if (atomic_load_explicit(&src->model->observe, memory_order_relaxed))
		return true;
	for (id = 0; id < LAYOUT_MAX_EVENTS; id++) {
		/* Relaxed: the control lock is held, so nobody publishes meanwhile. */
		ref = atomic_load_explicit(&plane_event(p, id)->plan, memory_order_relaxed);
		if (ref && plan_looks(p, plane_config(p, ref)))
			return true;
	}
	return false;
}
