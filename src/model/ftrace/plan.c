/* SPDX-License-Identifier: MIT */
/*
 * plan.c - the plans of a group: an arm for each ops, in the order to call them
 *
 * As the kernel calls its ops one after the other, arms that only fire triggers come between those
 * that record. If a function's command switches tracing off, the order decides whether the function
 * is recorded.
 */
#include <errno.h>

#include "model/event/file.h"
#include "model/event/wants.h"
#include "model/ftrace/group.h"
#include "model/ftrace/profile.h"
#include "model/ftrace/stack.h"
#include "model/instance/options.h"
#include "model/instance/pids.h"
#include "model/trigger/trigger.h"
#include "plane/plan.h"

/* A plan that is being made: the memory behind its header, with the first `nr` places filled. */
struct building {
	enum ftrace_ops_kind kinds[4];	/* which ops have an arm */
	uint32_t	nr_kinds;
	uint32_t	nr_arms, nr_triggers;
	struct arm	*arms;		/* NULL: arms are only counted */
	struct trigger_arm *triggers;
	uint32_t	wants;
};

static bool has_arm(const struct building *b, const struct ftrace_ops *ops)
{
	for (uint32_t i = 0; i < b->nr_kinds; i++)
		if (b->kinds[i] == ops->kind)
			return true;
	return false;
}

static uint32_t pid_flags(const struct instance *inst)
{
	return pids_any_function(inst) ? ARM_FUNC_PIDS : 0;
}

const char *ftrace_function_callback(const struct instance *inst)
{
	const bool stack = options_test(inst->options, OPTION_FUNC_STACK_TRACE);

	if (options_test(inst->options, OPTION_FUNC_NO_REPEATS))
		return stack ? "function_stack_no_repeats_trace_call"
			     : "function_no_repeats_trace_call";
	return stack ? "function_stack_trace_call" : "function_trace_call";
}

int ftrace_options_changed(struct model *m)
{
	struct instance *inst;
	int err = 0;

	list_each(inst, &m->instances, node) {
		struct ftrace_ops *ops = inst->ftrace ? &inst->ftrace->function : NULL;

		if (err || !ops || ops->kind != FTRACE_OPS_FUNCTION || ops->section)
			continue;
		ops->callback = ftrace_function_callback(inst);
		err = ftrace_groups_publish(inst);
	}
	return err ? err : ftrace_graph_publish(m);
}

static uint32_t record_flags(const struct ftrace_ops *ops)
{
	const struct instance *inst = ops->inst;
	uint32_t flags = ARM_FUNCTION | ARM_RECORD | pid_flags(inst);

	if (ops->section)
		return flags | ops->section;
	if (ops->kind != FTRACE_OPS_FUNCTION)
		return flags;
	if (options_test(inst->options, OPTION_FUNC_STACK_TRACE))
		flags |= ARM_STACK;
	if (options_test(inst->options, OPTION_FUNC_NO_REPEATS))
		flags |= ARM_NO_REPEATS;
	return flags;
}

/*
 * The place where hits count repeats. 0: no memory, and nothing is a repeat. As in the kernel, it
 * stays with the instance.
 */
static data_ref repeats_of(const struct ftrace_ops *ops)
{
	struct model *m = ops->inst->model;
	struct ftrace_instance *fi = ops->inst->ftrace;

	if (fi && !fi->repeats)
		fi->repeats =
			session_data_alloc(m->session, m->nr_cpus * sizeof(struct hit_repeat));
	return fi ? fi->repeats : 0;
}

/* ---- Triggers ---- */

static struct trigger_arm *next_trigger(struct building *b)
{
	struct trigger_arm *t = b->arms ? &b->triggers[b->nr_triggers] : NULL;

	b->nr_triggers++;
	return t;
}

/* Triggers on ftrace:function. */
static uint32_t add_triggers(struct building *b, const struct ftrace_ops *ops)
{
	struct event *e = model_event_by_id(ops->inst->model, LAYOUT_FUNCTION_ID);
	struct event_file *f = e ? event_file_find(ops->inst, e) : NULL;
	uint32_t flags = ARM_FUNCTION | pid_flags(ops->inst);
	struct trigger_arm *out;
	struct trigger *t;

	if (!f)
		return flags;
	list_each(t, &f->triggers, node) {
		out = next_trigger(b);
		if (out)
			trigger_fill_arm(t, out);
		if (trigger_needs_record(t))
			flags |= ARM_NEED_RECORD;
	}
	return flags;
}

static uint32_t add_profile(struct building *b, const struct ftrace_ops *ops)
{
	const struct ftrace *ft = ops->inst->model->ftrace;

	for (unsigned int i = 0; ftrace_profile_arm(ft, i, NULL); i++)
		ftrace_profile_arm(ft, i, next_trigger(b));
	return ARM_FUNCTION | ARM_NEED_RECORD;
}

static uint32_t add_stack(struct building *b, const struct ftrace_ops *ops)
{
	struct trigger_arm *out = next_trigger(b);

	if (out)
		ftrace_stack_arm(ops->inst->model->ftrace, out);
	b->wants |= PLAN_WANTS_DEPTH;
	return ARM_FUNCTION;
}

/* ---- Arms ---- */

static void add_arm(struct building *b, const struct ftrace_ops *ops)
{
	const uint32_t first = b->nr_triggers;
	uint32_t flags = ARM_FUNCTION;

	if (ops->kind == FTRACE_OPS_TRIGGER)
		flags = add_triggers(b, ops);
	else if (ops->kind == FTRACE_OPS_PROFILE)
		flags = add_profile(b, ops);
	else if (ops->kind == FTRACE_OPS_STACK)
		flags = add_stack(b, ops);
	else if (ops->kind == FTRACE_OPS_COMMAND)
		b->nr_triggers += function_command_arms(
			ops->priv, b->arms ? &b->triggers[first] : NULL, b->arms ? UINT32_MAX : 0);
	else
		flags = record_flags(ops);
	if (flags & ARM_STACK)
		b->wants |= PLAN_WANTS_STACK;
	if (b->arms)
		b->arms[b->nr_arms] = (struct arm){ .instance = ops->inst->index, .flags = flags,
			.state = flags & ARM_NO_REPEATS ? repeats_of(ops) : 0,
			.first_trigger = first, .nr_triggers = b->nr_triggers - first };
	b->nr_arms++;
}

static void add_arms(struct building *b, struct ftrace_ops *const *ops, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++)
		if (has_arm(b, ops[i]))
			add_arm(b, ops[i]);
}

/* ---- Plans ---- */

static bool only_sections(const struct plan *plan)
{
	const struct arm *arms = plan_arms(plan);
	bool only = true;

	for (uint32_t i = 0; i < plan->nr_arms; i++)
		only &= (arms[i].flags & ARM_SECTION) != 0;
	return only;
}

static uint32_t only_depth(const struct plan *plan)
{
	const bool only = (plan->wants & PLAN_WANTS_DEPTH) && plan->nr_arms == 1;

	return only ? PLAN_ONLY_DEPTH : 0;
}

/* `as`: which kinds of ops have an arm. If no ops has one, the plan is 0. */
static int ftrace_plan_build(struct model *m, const struct building *as, uint32_t event,
			     struct ftrace_ops *const *ops, uint32_t nr, struct ftrace_plan *out)
{
	struct building b = *as;
	struct plan *plan;

	*out = (struct ftrace_plan){ 0 };
	add_arms(&b, ops, nr);
	if (!b.nr_arms)
		return 0;
	out->size = sizeof(*plan) + b.nr_arms * sizeof(struct arm) +
		    b.nr_triggers * sizeof(struct trigger_arm);
	out->ref = session_config_alloc(m->session, out->size);
	if (!out->ref)
		return -ENOMEM;
	plan = session_config(m->session, out->ref, out->size);
	*plan = (struct plan){ .event_id = event, .nr_arms = b.nr_arms,
		.nr_triggers = b.nr_triggers,
			       .size = (uint32_t)out->size };
	b = *as;
	b.arms = plan_arms(plan);
	b.triggers = (struct trigger_arm *)(b.arms + plan->nr_arms);
	add_arms(&b, ops, nr);
	plan->wants =
		b.wants | plan_find_wants(m, plan) | (only_sections(plan) ? PLAN_ONLY_SECTIONS : 0);
	plan->wants |= only_depth(plan);
	plan->deepest = plan->wants & PLAN_WANTS_DEPTH ? m->ftrace->stack.deepest : 0;
	return 0;
}

static struct event_entry *entry_of(struct session *s, uint32_t entry)
{
	const config_ref ref = session_header(s)->events + entry * sizeof(struct event_entry);

	return session_config(s, ref, sizeof(struct event_entry));
}

static void ftrace_plan_put(struct model *m, uint32_t entry, struct ftrace_plan *at,
			    struct ftrace_plan new)
{
	const struct ftrace_plan old = *at;

	if (!old.ref && !new.ref)
		return;
	session_publish(m->session, &entry_of(m->session, entry)->plan, new.ref);
	*at = new;
	if (old.ref)
		session_config_retire(m->session, old.ref, old.size);
}

static const struct building as_function = {
	.kinds = { FTRACE_OPS_FUNCTION, FTRACE_OPS_TRIGGER, FTRACE_OPS_COMMAND, FTRACE_OPS_STACK },
	.nr_kinds = 4,
};
static const struct building as_profile = { .kinds = { FTRACE_OPS_PROFILE }, .nr_kinds = 1 };
static const struct building as_graph = { .kinds = { FTRACE_OPS_GRAPH }, .nr_kinds = 1 };

int ftrace_plan_publish(struct ftrace_groups *gs, struct ftrace_group *g)
{
	struct model *m = gs->ft->model;
	static const struct {
		const struct building *as;
		uint32_t event;
	} entries[GROUP_ENTRIES] = {
		[GROUP_FUNCTION] = { &as_function, LAYOUT_FUNCTION_ID },
		[GROUP_GRAPH] = { &as_graph, LAYOUT_GRAPH_ENTRY_ID },
		[GROUP_PROFILE] = { &as_profile, LAYOUT_GRAPH_EXIT_ID },
	};
	struct ftrace_plan plans[GROUP_ENTRIES] = { 0 };
	int err = 0;

	if (m->closing)
		return 0;
	for (uint32_t i = 0; i < GROUP_ENTRIES && !err; i++)
		err = ftrace_plan_build(m, entries[i].as, entries[i].event, g->ops, g->nr,
					&plans[i]);
	for (uint32_t i = 0; i < GROUP_ENTRIES; i++) {
		if (!err)
			ftrace_plan_put(m, g->number + i, &g->plans[i], plans[i]);
		else if (plans[i].ref)
			session_config_free(m->session, plans[i].ref, plans[i].size);
	}
	return err;
}

int ftrace_plan_publish_exit(struct ftrace_groups *gs)
{
	struct model *m = gs->ft->model;
	struct ftrace_ops *graphs[LAYOUT_MAX_INSTANCES], *ops;
	struct ftrace_plan plan;
	uint32_t nr = 0;
	int err;

	if (m->closing)
		return 0;
	list_each(ops, &gs->ft->ops, node)
		if (ops->kind == FTRACE_OPS_GRAPH && nr < LAYOUT_MAX_INSTANCES)
			graphs[nr++] = ops;
	err = ftrace_plan_build(m, &as_graph, LAYOUT_GRAPH_EXIT_ID, graphs, nr, &plan);
	if (err)
		return err;
	ftrace_plan_put(m, LAYOUT_GRAPH_EXIT, &gs->exit, plan);
	return ftrace_graph_publish(m);
}

void ftrace_plan_remove(struct ftrace_groups *gs, struct ftrace_group *g)
{
	struct model *m = gs->ft->model;

	if (m->closing)
		return;
	for (uint32_t i = 0; i < GROUP_ENTRIES; i++)
		ftrace_plan_put(m, g->number + i, &g->plans[i], (struct ftrace_plan){ 0 });
}
