/* SPDX-License-Identifier: MIT */
/*
 * wants.c - finds what a program has to bring along for a plan (enum plan_wants)
 *
 * A stack costs the program more than all the rest of a hit. It is therefore taken only if a
 * trigger looks at it: a trigger of the event itself, or of an event that its code makes, and so
 * on. The events that are made have plans of their own, whose wants are known.
 */
#include "model/event/file.h"
#include "model/event/wants.h"
#include "plane/code.h"
#include "plane/plan.h"

static uint32_t wants_of_event(const struct model *m, uint32_t id)
{
	const struct event *made = id < LAYOUT_MAX_EVENTS ? m->by_id[id] : NULL;
	const struct plan *plan =
		made ? session_config(m->session, made->plan, sizeof(*plan)) : NULL;

	return plan && made->plan ? plan->wants : 0;
}

static const struct code *code_of(const struct model *m, const struct trigger_arm *t)
{
	const struct code *p;

	if (!t->code || (t->kind != TRIGGER_HIST && t->kind != TRIGGER_PROBE))
		return NULL;
	p = session_config(m->session, t->code, sizeof(*p));
	return p && session_config(m->session, t->code, sizeof(*p) + p->nr_ops * sizeof(struct op))
		       ? p
		       : NULL;
}

static uint32_t wants_of_code(const struct model *m, const struct code *p)
{
	uint32_t wants = p->flags & CODE_NEEDS_STACK ? PLAN_WANTS_STACK : 0;

	for (uint32_t i = 0; i < p->nr_ops; i++)
		if (p->ops[i].kind == OP_SYNTH_BEGIN)
			wants |= wants_of_event(m, p->ops[i].arg);
	return wants;
}

/* The plan of the triggers that run merged; NULL: there is none. */
static const struct plan *merged_of(const struct model *m, const struct plan *plan)
{
	const struct plan *merged = session_config(m->session, plan->merged, sizeof(*merged));

	return plan->merged && merged ? session_config(m->session, plan->merged, merged->size)
				      : NULL;
}

uint32_t plan_find_wants(const struct model *m, const struct plan *plan)
{
	const struct trigger_arm *t = plan_triggers(plan);
	const struct plan *merged = merged_of(m, plan);
	uint32_t wants = merged ? plan_find_wants(m, merged) : 0;

	for (uint32_t i = 0; i < plan->nr_triggers; i++) {
		const struct code *p = code_of(m, &t[i]);

		if (t[i].kind == TRIGGER_STACKTRACE)
			wants |= PLAN_WANTS_STACK;
		else if (p)
			wants |= wants_of_code(m, p);
	}
	return wants;
}

bool plan_makes(const struct model *m, const struct plan *plan, uint32_t id)
{
	const struct trigger_arm *t = plan_triggers(plan);
	const struct plan *merged = merged_of(m, plan);

	for (uint32_t i = 0; i < plan->nr_triggers; i++) {
		const struct code *p = code_of(m, &t[i]);

		for (uint32_t k = 0; p && k < p->nr_ops; k++)
			if (p->ops[k].kind == OP_SYNTH_BEGIN && p->ops[k].arg == id)
				return true;
	}
	return merged && plan_makes(m, merged, id);
}
