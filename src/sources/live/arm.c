/* SPDX-License-Identifier: MIT */
/*
 * arm.c - what the running kernel records, as the session's plans want it
 *
 *     plan of an event, or a tracer   ->  events/SYSTEM/EVENT/enable
 *     what one of its users matches   ->  events/SYSTEM/EVENT/filter
 *     a plan or an instance that wants stacks  ->  options/stacktrace
 *     any of them                     ->  enable of the events that tell new names of tasks
 *
 * A condition that the kernel has needs no record of what it rejects. It is only a saving: the
 * session's own filters run on all that comes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/event/file.h"
#include "model/filter/filter.h"
#include "model/instance/options.h"
#include "model/instance/pids.h"
#include "model/text_memory.h"
#include "model/trigger/trigger.h"
#include "plane/plan.h"
#include "sources/live/state.h"

enum {
	ARM_PATH	= 512,
	ARM_CONDITIONS	= 8,		/* of one event */
	ARM_FILTER	= 4000,		/* bytes: the kernel takes a page */
};

static void set_bit(uint64_t *bits, uint32_t id, bool on)
{
	if (on)
		bits[id / 64] |= 1ull << id % 64;
	else
		bits[id / 64] &= ~(1ull << id % 64);
}

static int write_event(const struct live *l, const struct event *e, const char *file,
		       const char *text)
{
	char path[ARM_PATH];

	snprintf(path, sizeof(path), "events/%s/%s/%s", e->system->name, e->name, file);
	return kernel_write(l->kernel.dir, path, text);
}

/* ---- filters ---- */

/* The conditions of all that look at the event. */
struct condition {
	const char	*parts[ARM_CONDITIONS];
	unsigned int	nr;
	bool		none;		/* somebody needs all events, or there are too many */
};

static void condition_join(struct condition *c, const char *text)
{
	for (unsigned int i = 0; text && i < c->nr; i++)
		if (!strcmp(c->parts[i], text))
			return;
	if (!text || c->nr == ARM_CONDITIONS)
		c->none = true;
	else
		c->parts[c->nr++] = text;
}

/* An event that is only armed for its own triggers is not recorded, unless a hit enables it. */
static bool file_may_record(const struct event_file *f)
{
	const unsigned int own = f->trigger_refs > 0;

	return f->enabled && (f->soft_refs > own || !event_file_soft_disabled(f));
}

static void condition_of_file(struct condition *c, const struct event_file *f)
{
	const struct trigger *t;

	/* Whom a hit follows, or passes over, no filter decides. */
	if (pids_any(f->instance))
		c->none = true;
	if (file_may_record(f))
		condition_join(c, f->filter ? filter_text(f->filter) : NULL);
	list_each(t, &f->triggers, node)
		condition_join(c, t->cond);
}

/* One of them holds. The caller frees the text; NULL: it is too long, or there is no memory. */
static char *condition_text(const struct condition *c)
{
	char *text = NULL;
	size_t len;
	FILE *out;

	if (c->none || !c->nr)
		return NULL;
	if (c->nr == 1)
		return strdup(c->parts[0]);
	out = text_memory_open(&text, &len);
	if (!out)
		return NULL;
	for (unsigned int i = 0; i < c->nr; i++)
		fprintf(out, "%s(%s)", i ? "||" : "", c->parts[i]);
	fclose(out);
	if (text && len >= ARM_FILTER) {
		free(text);
		text = NULL;
	}
	return text;
}

static bool is_namer(const struct live *l, const struct event *e)
{
	for (unsigned int i = 0; i < LIVE_NAMERS; i++)
		if (e->id == l->namers[i])
			return true;
	return false;
}

static bool is_watched(const struct live *l, const struct event *e)
{
	return e->id < LAYOUT_OWN_IDS && l->watched[e->id];
}

static char *condition_of(const struct live *l, const struct event *e)
{
	/* A tracer looks at all. */
	struct condition c = { .none = is_namer(l, e) || is_watched(l, e) };
	const struct event_file *f;

	list_each(f, &e->files, event_node)
		condition_of_file(&c, f);
	return condition_text(&c);
}

/* A kernel that refuses a condition records all; so it does without memory for its text. */
static void arm_filter(struct live *l, const struct event *e)
{
	char *text = condition_of(l, e), **had = &l->filters[e->id];

	if (text == *had || (text && *had && !strcmp(text, *had))) {
		free(text);
		return;
	}
	free(*had);
	*had = text;
	if (text && !write_event(l, e, "filter", text))
		return;
	write_event(l, e, "filter", "0");
	free(text);
	*had = NULL;
}

/* ---- enable ---- */

static void arm_count(struct live *l, bool on)
{
	/* Relaxed: the thread is woken by the descriptor, which orders. */
	atomic_fetch_add_explicit(&l->nr_armed, on ? 1 : -1u, memory_order_relaxed);
	l->book->armed += on ? 1 : -1ull;
	if (on)
		live_run_wake(l);
}

/*
 * While any event is armed, those that tell new names are. A name that was known before may be
 * an old one.
 */
static void arm_namers(struct live *l, bool on)
{
	bool told = on;

	if (on == l->namers_armed)
		return;
	/* Release: pairs with live_names_round(). The events are enabled later. */
	if (on)
		atomic_store_explicit(&l->names_anew, true, memory_order_release);
	for (unsigned int i = 0; i < LIVE_NAMERS; i++) {
		const uint32_t id = l->namers[i];

		if (!id)
			told = false;
		else if (!live_bit(l->armed, id) &&
			 write_event(l, l->model->by_id[id], "enable", on ? "1" : "0"))
			told = false;
	}
	l->namers_armed = on;
	/* Relaxed: a name is asked once more. */
	atomic_store_explicit(&l->names_told, told, memory_order_relaxed);
}

/* The kernel records the event while it has a plan or is watched. */
static int arm_switch(struct live *l, const struct event *e)
{
	const bool needed = live_bit(l->planned, e->id) || is_watched(l, e);
	int err = 0;

	if (needed == live_bit(l->armed, e->id))
		return 0;
	if (!l->namers_armed || !is_namer(l, e))
		err = write_event(l, e, "enable", needed ? "1" : "0");
	if (err && needed) {
		l->nr_refused++;
		return err;
	}
	set_bit(l->armed, e->id, needed);
	arm_count(l, needed);
	/* Relaxed: only this thread writes to it. */
	arm_namers(l, atomic_load_explicit(&l->nr_armed, memory_order_relaxed) > 0);
	return 0;
}

void live_arm_calls(struct live *l, bool on)
{
	arm_count(l, on);
	/* Relaxed: only this thread writes to it. */
	arm_namers(l, atomic_load_explicit(&l->nr_armed, memory_order_relaxed) > 0);
}

int live_arm_need(void *arg, struct event *e, bool needed)
{
	struct live *l = arg;
	int err;

	if (!live_bit(l->known, e->id) || needed == live_bit(l->planned, e->id))
		return 0;
	set_bit(l->planned, e->id, needed);
	err = arm_switch(l, e);
	if (err)
		set_bit(l->planned, e->id, false);
	return err;
}

/* A refusal is counted; the tracer finds no such records. */
void live_arm_watch(void *arg, struct event *e, bool on)
{
	struct live *l = arg;

	if (!live_bit(l->known, e->id))
		return;
	l->watched[e->id] += on ? 1 : -1;
	(void)arm_switch(l, e);
}

void live_arm_all(struct live *l)
{
	struct model *m = l->model;

	for (uint32_t id = 0; id < LAYOUT_OWN_IDS && id <= m->max_id; id++)
		if (m->by_id[id] && m->by_id[id]->plan)
			live_arm_need(l, m->by_id[id], true);
	live_arm_settle(l);
}

/* ---- at the end of a command ---- */

static bool plan_wants_stack(const struct live *l, const struct event *e)
{
	const struct plan *plan = e->plan ?
		session_config(l->model->session, e->plan, sizeof(*plan)) : NULL;

	return plan && plan->wants & PLAN_WANTS_STACK;
}

static bool instances_want_stacks(const struct live *l)
{
	const struct instance *inst;

	list_each(inst, &l->model->instances, node)
		if (options_test(inst->options, OPTION_STACKTRACE))
			return true;
	return false;
}

static void arm_stacks(struct live *l, bool wanted)
{
	if (wanted == l->stacks)
		return;
	l->no_stacks = kernel_write(l->kernel.dir, "options/stacktrace", wanted ? "1" : "0") != 0;
	if (l->no_stacks)
		return;
	l->stacks = wanted;
	if (wanted)
		live_import_probes(l);
	/*
	 * Release: pairs with live_stack_fill(). A record that comes before is passed without its
	 * stack.
	 */
	atomic_store_explicit(&l->expects_stacks, wanted, memory_order_release);
}

void live_arm_settle(void *arg)
{
	struct live *l = arg;
	bool stacks = instances_want_stacks(l);

	for (uint32_t w = 0; w < LAYOUT_OWN_IDS / 64; w++)
		for (uint64_t bits = l->armed[w]; bits; bits &= bits - 1) {
			const uint32_t id = w * 64 + (uint32_t)__builtin_ctzll(bits);

			arm_filter(l, l->model->by_id[id]);
			stacks |= plan_wants_stack(l, l->model->by_id[id]);
		}
	arm_stacks(l, stacks && l->nr_armed);
}
