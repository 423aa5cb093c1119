/* SPDX-License-Identifier: MIT */
/*
 * publish.c - makes the plan of an event: all that a hit does for it, in all instances
 *
 * Each change compiles the plan again and publishes it with one store; the old plan is retired
 * (R5). Code that only the old plan leads to is retired by its owner after that.
 */
#include <errno.h>
#include <string.h>

#include "model/dynamic/eprobe.h"
#include "model/dynamic/place.h"
#include "model/event/file.h"
#include "model/event/wants.h"
#include "model/ftrace/groups.h"
#include "model/instance/pids.h"
#include "model/trigger/trigger.h"
#include "plane/plan.h"

static bool is_event(const struct event *e, const char *system, const char *name)
{
	return !strcmp(e->name, name) && !strcmp(e->system->name, system);
}

static uint32_t instance_flags(const struct instance *inst)
{
	/* Relaxed: only the server stores them. */
	return atomic_load_explicit(&inst->state->flags, memory_order_relaxed);
}

/* Whether tasks join and leave a set of the instance. */
static bool follows(const struct instance *inst)
{
	const uint32_t flags = instance_flags(inst);

	return (pids_any(inst) && flags & INSTANCE_EVENT_FORK) ||
	       (pids_any_function(inst) && flags & INSTANCE_FUNCTION_FORK);
}

/*
 * The flags for following tasks: two events of the scheduler have them while the instance has pid
 * sets.
 */
static uint32_t follow_flags(const struct event *e, const struct instance *inst)
{
	if (!follows(inst))
		return 0;
	if (is_event(e, "sched", "sched_process_fork"))
		return ARM_FOLLOW_FORK;
	if (is_event(e, "sched", "sched_process_free"))
		return ARM_FOLLOW_FREE;
	return 0;
}

/* Whether records of a recording are calls, which set_ftrace_pid chooses. */
static bool is_recorded_call(const struct event *e)
{
	const struct ftrace *ft = e->model->ftrace;

	return e->internal && ft && ft->chosen &&
	       (is_event(e, "ftrace", "function") || is_event(e, "ftrace", "funcgraph_entry") ||
		is_event(e, "ftrace", GRAPH_RETADDR_ENTRY) ||
		is_event(e, "ftrace", "funcgraph_exit"));
}

static uint32_t arm_flags(const struct event_file *f)
{
	const struct event *e = f->event;
	uint32_t flags = follow_flags(e, f->instance);
	struct trigger *t;

	if (e->internal)
		flags |= ARM_INTERNAL;
	else if (f->enabled)
		flags |= ARM_RECORD;
	else if (flags)
		flags |= ARM_WATCH;
	if (f->soft_mode && !e->internal)
		flags |= ARM_SOFT_MODE;
	if (place_counts_in_plan(e))
		flags |= ARM_COUNTED;
	if (pids_any(f->instance) && !e->internal)
		flags |= ARM_PIDS;
	if (pids_any_function(f->instance) && is_recorded_call(e))
		flags |= ARM_FUNC_PIDS;
	list_each(t, &f->triggers, node)
		if (trigger_needs_record(t))
			flags |= ARM_NEED_RECORD;
	return flags;
}

static bool is_armed(const struct event_file *f)
{
	return f->state &&
	       (f->event->internal || f->enabled || follow_flags(f->event, f->instance));
}

/* ---- R28 ---- */

/*
 * Whether the trigger belongs to the plan of those that run merged. The triggers of an event that
 * code makes run where that code runs.
 */
static bool is_merged(const struct trigger *t)
{
	return t->merged && !event_is_made(t->file->event);
}

static uint32_t count_triggers(const struct event_file *f, bool merged)
{
	struct trigger *t;
	uint32_t nr = 0;

	list_each(t, &f->triggers, node)
		nr += is_merged(t) == merged;
	return nr;
}

static bool has_arm(const struct event_file *f, bool merged)
{
	return is_armed(f) && (!merged || count_triggers(f, true));
}

/* The kernel's hits are staged by their source. */
static bool is_staged(const struct event *e, const struct plan *plan)
{
	return plan->merged && !event_is_kernels(e);
}

/* If one trigger is merged, its condition says which hits are staged. */
static config_ref stage_filter(const struct event *e)
{
	const struct trigger *only = NULL;
	const struct event_file *f;
	struct trigger *t;

	list_each(f, &e->files, event_node)
		list_each(t, &f->triggers, node) {
			if (!is_armed(f) || !is_merged(t))
				continue;
			if (only)
				return 0;
			only = t;
		}
	return only ? only->filter_code : 0;
}

static void fill_stage(const struct event *e, const struct plan *plan, struct arm *arm)
{
	struct model *m = e->model;
	const struct plan *merged = session_config(m->session, plan->merged, sizeof(*merged));

	/* Relaxed: see instance_make_staging(). */
	arm->instance = atomic_load_explicit(&m->staging, memory_order_relaxed);
	arm->flags = ARM_STAGE | ARM_NEED_RECORD | (e->internal ? ARM_STAGE_ONE : 0);
	if (merged->wants & PLAN_WANTS_STACK)
		arm->flags |= ARM_STACK;
	arm->filter = stage_filter(e);
}

/* For some events of the scheduler, pid sets look at a second task. */
static void find_other_pid(struct event *e, struct plan *plan)
{
	static const struct {
		const char	*event, *field;
		uint16_t	kind;
	} others[] = {
		{ "sched_switch", "next_pid", OTHER_PID_SWITCH },
		{ "sched_waking", "pid", OTHER_PID_WAKEE },
		{ "sched_wakeup", "pid", OTHER_PID_WAKEE },
		{ "sched_wakeup_new", "pid", OTHER_PID_WAKEE },
		{ "sched_process_fork", "child_pid", OTHER_PID_NONE },
		{ "sched_process_free", "pid", OTHER_PID_NONE },
	};
	const struct field *field;

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		if (!is_event(e, "sched", others[i].event))
			continue;
		field = event_find_field(e, others[i].field);
		if (field && field->size == 4) {
			plan->other_pid = field->offset;
			plan->other_kind = others[i].kind;
		}
	}
}

void trigger_fill_arm(struct trigger *t, struct trigger_arm *out)
{
	out->kind = t->cmd->kind;
	out->filter = t->filter_code;
	out->state = t->state_ref;
	if (t->counted)
		out->flags |= TRIGGER_COUNTED;
	if (trigger_kind_is_post(out->kind))
		out->flags |= TRIGGER_POST;
	if (out->filter || out->kind == TRIGGER_HIST || out->kind == TRIGGER_PROBE)
		out->flags |= TRIGGER_RECORD;
	if (t->cmd->arm)
		t->cmd->arm(t, out);
}

static void fill_arm(const struct event_file *f, bool merged, struct arm *arm)
{
	const struct event *e = f->event;

	arm->instance = f->instance->index;
	arm->state = f->state_ref;
	arm->nr_triggers = count_triggers(f, merged);
	if (merged) {
		/* It records nothing: the other plan does, at the hit. */
		arm->flags = ARM_NEED_RECORD | (arm_flags(f) & ARM_PIDS);
		return;
	}
	arm->flags = arm_flags(f);
	arm->filter = e->internal ? 0 : f->filter_code;
}

static void fill_plan(struct event *e, struct plan *plan, bool merged)
{
	struct arm *arm = plan_arms(plan);
	struct trigger_arm *triggers = (struct trigger_arm *)(arm + plan->nr_arms);
	struct event_file *f;
	struct trigger *t;
	uint32_t nr = 0;

	list_each(f, &e->files, event_node) {
		if (!has_arm(f, merged))
			continue;
		fill_arm(f, merged, arm);
		arm->first_trigger = nr;
		list_each(t, &f->triggers, node)
			if (is_merged(t) == merged)
				trigger_fill_arm(t, &triggers[nr++]);
		arm++;
	}
	if (is_staged(e, plan))
		fill_stage(e, plan, arm);
	find_other_pid(e, plan);
	plan->wants = plan_find_wants(e->model, plan);
}

/* `with`: the plan of the triggers that run merged; 0: there are none, or this is that plan. */
static int build_one(struct event *e, bool merged, config_ref with, config_ref *out,
		     size_t *out_size)
{
	struct plan head = { .event_id = e->id, .merged = with };
	struct session *s = e->model->session;
	struct event_file *f;
	struct plan *plan;
	size_t size;

	*out = 0;
	list_each(f, &e->files, event_node) {
		if (has_arm(f, merged)) {
			head.nr_arms++;
			head.nr_triggers += count_triggers(f, merged);
		}
	}
	if (!head.nr_arms)
		return 0;
	head.nr_arms += is_staged(e, &head);
	size = sizeof(*plan) + head.nr_arms * sizeof(struct arm) +
	       head.nr_triggers * sizeof(struct trigger_arm);
	*out = session_config_alloc(s, size);
	if (!*out)
		return -ENOMEM;
	*out_size = size;
	head.size = (uint32_t)size;
	plan = session_config(s, *out, size);
	*plan = head;
	fill_plan(e, plan, merged);
	return 0;
}

/* The size of the plan of the triggers that run merged; 0: there is none. */
static size_t merged_size(struct session *s, config_ref merged)
{
	const struct plan *plan = session_config(s, merged, sizeof(*plan));

	return merged && plan ? plan->size : 0;
}

static config_ref merged_of(struct session *s, config_ref ref)
{
	const struct plan *plan = session_config(s, ref, sizeof(*plan));

	return ref && plan ? plan->merged : 0;
}

static int build_plan(struct event *e, config_ref *out, size_t *out_size)
{
	struct session *s = e->model->session;
	config_ref merged = 0;
	size_t size = 0;
	int err = build_one(e, true, 0, &merged, &size);

	*out = 0;
	if (!err)
		err = build_one(e, false, merged, out, out_size);
	if (err && merged)
		session_config_free(s, merged, size);
	return err;
}

/* A plan that was not published. */
static void plan_free(struct session *s, config_ref ref, size_t size)
{
	const config_ref merged = merged_of(s, ref);

	if (merged)
		session_config_free(s, merged, merged_size(s, merged));
	session_config_free(s, ref, size);
}

static void plan_retire(struct session *s, config_ref ref, size_t size)
{
	const config_ref merged = merged_of(s, ref);

	if (merged)
		session_config_retire(s, merged, merged_size(s, merged));
	session_config_retire(s, ref, size);
}

static struct event_entry *event_entry(struct event *e)
{
	struct session *s = e->model->session;
	config_ref ref = session_header(s)->events + e->id * sizeof(struct event_entry);

	return session_config(s, ref, sizeof(struct event_entry));
}

/* ---- The knock (config_header.knock) ---- */

static config_ref knock_ref(struct session *s)
{
	return session_header(s)->sites + offsetof(struct site_control, knock);
}

/*
 * Whether it is the event of a call that most programs make often, and that is the same with and
 * without somebody who asks.
 */
static bool event_knocks(const struct event *e)
{
	static const char *const not[] = {
		"clone", "clone3", "fork", "vfork", "execve", "execveat", "exit", "exit_group",
		"rt_sigreturn", "sigaltstack",
	};
	const char *name = e->name;

	if (!strcmp(e->system->name, "heap"))
		return !strcmp(name, "malloc") || !strcmp(name, "free");
	if (strcmp(e->system->name, "syscalls") || strncmp(name, "sys_enter_", 10))
		return false;
	for (size_t i = 0; i < sizeof(not) / sizeof(not[0]); i++)
		if (!strcmp(name + 10, not[i]))
			return false;
	return true;
}

/* What is published of an event without a plan. */
static config_ref published_none(const struct event *e)
{
	/* Relaxed: only the server stores it. */
	const config_ref knock = atomic_load_explicit(&session_header(e->model->session)->knock,
						      memory_order_relaxed);

	return knock && event_knocks(e) ? knock : 0;
}

/* new: 0 if the event has no plan */
static void entry_publish(struct event *e, config_ref new)
{
	const config_ref none = new ? 0 : published_none(e);

	session_publish(e->model->session, &event_entry(e)->plan, new);
	if (none)
		/* Relaxed: the plan of the knock never changes. */
		atomic_store_explicit(&event_entry(e)->plan, none, memory_order_relaxed);
}

void model_knock(struct model *m, bool on)
{
	_Atomic config_ref *knock = &session_header(m->session)->knock;

	/* Relaxed: a hit that sees only one of both does nothing, because the plan is empty. */
	atomic_store_explicit(knock, on ? knock_ref(m->session) : 0, memory_order_relaxed);
	for (unsigned int id = 0; id <= m->max_id; id++) {
		struct event *e = m->by_id[id];

		if (e && !e->plan && event_knocks(e))
			/* Relaxed: the plan never changes. */
			atomic_store_explicit(&event_entry(e)->plan, published_none(e),
					      memory_order_relaxed);
	}
	/* Threads that remember the last hit of an event look again. */
	session_settings_changed(m->session);
}

static uint32_t published_wants(const struct event *e)
{
	const struct plan *plan = session_config(e->model->session, e->plan, sizeof(*plan));

	return e->plan && plan ? plan->wants : 0;
}

/*
 * The events from which an event is made have to provide what it wants. This ends: a plan's wants
 * only grow, or nothing changes.
 */
static int publish_makers(struct event *e)
{
	struct model *m = e->model;
	int err = 0;

	for (unsigned int id = 0; !err && id <= m->max_id; id++) {
		struct event *maker = m->by_id[id];
		const struct plan *plan = maker && maker->plan ?
			session_config(m->session, maker->plan, maker->plan_size) : NULL;

		if (plan && maker != e && plan_makes(m, plan, e->id) &&
		    plan_find_wants(m, plan) != plan->wants)
			err = event_publish(maker);
	}
	return err;
}

/* Functions of locks look at one word for all events of waiting and waking. */
static void tell_waits(const struct event *changed)
{
	static const char *const names[][2] = {
		{ "thread", "wake" },
		{ "thread", "wakeup" },
		{ "sched", "sched_waking" },
		{ "sched", "sched_switch" },
	};
	_Atomic uint32_t *kinds = &session_header(changed->model->session)->sections.kinds;
	const char *system = changed->system->name;
	bool concerned = false, armed = false;

	if (strcmp(system, "thread") && strcmp(system, "sched"))
		return;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const struct event *e = model_find_event(changed->model, names[i][0], names[i][1]);

		concerned |= e == changed;
		armed |= e && e->plan;
	}
	if (concerned && armed)
		/* Relaxed: a thread that looks later sees it later. */
		atomic_fetch_or_explicit(kinds, SECTION_THREADS, memory_order_relaxed);
	else if (concerned)
		atomic_fetch_and_explicit(kinds, ~(uint32_t)SECTION_THREADS, memory_order_relaxed);
}

/* The running kernel records the event as long as there is a plan. */
static int publish_need(struct event *e, bool needed)
{
	const struct kernel_hooks *kernel = e->model->kernel;

	return kernel ? kernel->need(kernel->arg, e, needed) : 0;
}

/* Before it is: a program that begins later sees this first. */
static void tell_programs(struct event *e, config_ref new)
{
	struct config_header *h = session_header(e->model->session);

	if (!new)
		return;
	/* Relaxed: session_publish() orders both before the plan. */
	if (!strcmp(e->system->name, "syscalls"))
		atomic_store_explicit(&h->calls, 1, memory_order_relaxed);
	if (e->id >= h->providers_first && e->id < h->providers_end)
		atomic_store_explicit(&h->interposed, 1, memory_order_relaxed);
}

int event_publish(struct event *e)
{
	uint32_t wanted = published_wants(e);
	struct session *s = e->model->session;
	config_ref old = e->plan, new;
	size_t old_size = e->plan_size, size = 0;
	struct eprobe *probe = eprobe_of_event(e);
	int err;

	if (e->model->closing || e->model->held)
		return 0;
	err = ftrace_triggers_changed(e);
	if (!err && probe)
		err = eprobe_sync(probe);
	if (!err)
		err = build_plan(e, &new, &size);
	if (err || (!new && !old))
		return err;
	err = new ? publish_need(e, true) : 0;
	if (err) {
		plan_free(s, new, size);
		return err;
	}
	tell_programs(e, new);
	entry_publish(e, new);
	e->plan = new;
	e->plan_size = size;
	tell_waits(e);
	if (!new)
		publish_need(e, false);
	if (!new != !old)
		model_probes_stale(e);
	if (old)
		plan_retire(s, old, old_size);
	return published_wants(e) == wanted ? 0 : publish_makers(e);
}

void event_drop_plan(struct event *e, config_ref old)
{
	struct session *s = e->model->session;

	if (!old || e->plan != old)
		return;
	entry_publish(e, 0);
	plan_retire(s, old, e->plan_size);
	e->plan = 0;
	model_probes_stale(e);
	tell_waits(e);
	publish_need(e, false);
}

int model_publish(struct model *m, struct instance *inst)
{
	struct event *e;
	int err = 0, first = 0;

	for (unsigned int id = 0; id <= m->max_id; id++) {
		e = m->by_id[id];
		if (!e || list_empty(&e->files) || (inst && !event_file_find(inst, e)))
			continue;
		err = event_publish(e);
		if (err && !first)
			first = err;
	}
	return first;
}

int model_arm_internal(struct model *m, struct instance *inst)
{
	struct event *e;
	struct event_file *f;
	int err;

	for (unsigned int id = 0; id <= m->max_id; id++) {
		e = m->by_id[id];
		if (!e || !e->internal)
			continue;
		f = event_file_get(inst, e);
		err = f ? event_file_need_state(f) : -ENOMEM;
		if (!err)
			err = event_publish(e);
		if (err)
			return err;
	}
	return 0;
}
