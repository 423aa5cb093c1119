/* SPDX-License-Identifier: MIT */
/*
 * set.c - enables many events at once: set_event and the files enable above an event
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/dynamic/events.h"
#include "model/event/set.h"

enum { LINE = 64 };	/* of the processor's cache */

/*
 * A recording brought the event, but it was made at run time: its system has no others, or is a
 * module's.
 */
static bool set_event_is_late(const struct event *e)
{
	uint32_t last = e->model->last_boot_id;

	return e->late || (last && e->id > last);
}

/* Made after the instance. Such events come before the others, the newest first. */
static bool set_event_is_new(const struct instance *inst, const struct event *e)
{
	return e->order > inst->born && set_event_is_late(e);
}

/* The next newer or older dynamic event, also of one that was removed. */
static const struct list_head *made_beside(const struct event *e, bool newer)
{
	const struct list_head *all = &e->model->made_events, *at;
	uint64_t order;

	if (!e->removed)
		return newer ? e->made_node.next : e->made_node.prev;
	for (at = newer ? all->next : all->prev; at != all; at = newer ? at->next : at->prev) {
		order = list_entry(at, struct event, made_node)->order;
		if (newer ? order > e->order : order < e->order)
			break;
	}
	return at;
}

/*
 * The list has four parts: new dynamic events, the newest first; the other new events; the old
 * events; old dynamic events, the oldest first. Dynamic events are sorted by `order`, because their
 * ids are used again; the others by id. prev NULL: the first of a part.
 */
static struct event *next_new_dynamic(const struct instance *inst, const struct event *prev)
{
	const struct list_head *all = &inst->model->made_events;
	const struct list_head *at = prev ? made_beside(prev, false) : all->prev;
	struct event *e = at != all ? list_entry(at, struct event, made_node) : NULL;

	return e && e->order > inst->born ? e : NULL;
}

static struct event *next_new(const struct instance *inst, int id)
{
	struct event *e;

	for (; id > 0; id--) {
		e = inst->model->by_id[id];
		if (e && !e->dynamic && set_event_is_new(inst, e) && event_has_enable(e))
			return e;
	}
	return NULL;
}

static struct event *next_old(const struct instance *inst, uint32_t id)
{
	struct event *e;

	for (; id <= inst->model->max_id; id++) {
		e = inst->model->by_id[id];
		if (e && !e->dynamic && !set_event_is_new(inst, e) && event_has_enable(e))
			return e;
	}
	return NULL;
}

static struct event *next_old_dynamic(const struct instance *inst, const struct event *prev)
{
	const struct list_head *all = &inst->model->made_events;
	const struct list_head *at = prev ? made_beside(prev, true) : all->next;
	struct event *e = at != all ? list_entry(at, struct event, made_node) : NULL;

	return e && e->order <= inst->born ? e : NULL;
}

struct event *event_next(struct instance *inst, const struct event *prev)
{
	struct event *e = NULL;

	if (inst->name && !inst->born)
		inst->born = inst->model->last_order;
	if (prev && prev->dynamic && !set_event_is_new(inst, prev))
		return next_old_dynamic(inst, prev);
	if (!prev || prev->dynamic)
		e = next_new_dynamic(inst, prev);
	if (!e && (!prev || set_event_is_new(inst, prev)))
		e = next_new(inst,
			     prev && !prev->dynamic ? prev->id - 1 : (int)inst->model->max_id);
	if (!e)
		e = next_old(inst, prev && !set_event_is_new(inst, prev) ? prev->id + 1u : 0);
	return e ? e : next_old_dynamic(inst, NULL);
}

static int switch_event(struct instance *inst, struct event *e, bool on)
{
	struct event_file *f = on ? event_file_get(inst, e) : event_file_find(inst, e);

	if (!f)
		return on ? -ENOMEM : 0;
	return event_file_enable(f, on);
}

/*
 * A walk over thousands of events would wait for memory at each. So the next one's parts are
 * fetched, and the event behind it. Inline: gcc drops calls of a function that only fetches.
 */
__attribute__((always_inline))
static inline void fetch_ahead(const struct instance *inst, const struct event *e)
{
	const struct list_head *all = &e->model->made_events, *at, *behind;
	const bool back = set_event_is_new(inst, e);
	const struct event *next;

	if (!e->dynamic || e->removed)
		return;
	at = back ? e->made_node.prev : e->made_node.next;
	if (at == all)
		return;
	next = list_entry(at, struct event, made_node);
	__builtin_prefetch(next->name);
	__builtin_prefetch(next->made);
	__builtin_prefetch(next->files.next);
	behind = back ? at->prev : at->next;
	for (size_t i = 0; i < sizeof(*next); i += LINE)
		__builtin_prefetch((const char *)behind - offsetof(struct event, made_node) + i);
}

static int switch_all(struct instance *inst, const struct event_pattern *p, bool on,
		      struct pieces *pieces)
{
	struct pieces whole = { .at = NULL }, *w = pieces ? pieces : &whole;
	struct event *e = w->at;
	int err;

	while ((e = event_next(inst, e))) {
		fetch_ahead(inst, e);
		if (!event_pattern_matches(p, e))
			continue;
		w->any = true;
		err = switch_event(inst, e, on);
		if (err && !w->err)
			w->err = err;
		if (!pieces_pause(pieces))
			continue;
		pieces_hold(w, e);
		return -EINPROGRESS;
	}
	return w->any ? w->err : -EINVAL;
}

int event_set_switch(struct instance *inst, const struct event_pattern *p, bool on,
		     struct pieces *pieces)
{
	struct event *e;

	if (!p->system || !p->event)
		return switch_all(inst, p, on, pieces);
	e = model_find_event(inst->model, p->system, p->event);
	return e && event_has_enable(e) && event_pattern_matches(p, e) ? switch_event(inst, e, on)
								       : -EINVAL;
}

int event_set_word(struct instance *inst, const char *word, struct pieces *pieces)
{
	bool on = *word != '!';
	char *copy = strdup(on ? word : word + 1);
	struct event_pattern p;
	int err;

	if (!copy)
		return -ENOMEM;
	event_pattern_parse(copy, &p);
	err = p.module ? event_choose(inst, &p, on) : event_set_switch(inst, &p, on, pieces);
	free(copy);
	return err;
}

void event_set_clear(struct instance *inst)
{
	struct event_file *f;

	list_each(f, &inst->files, node)
		if (event_has_enable(f->event))
			event_file_enable(f, false);
	event_choices_clear(inst);
}

/* ftrace:print has no `enable`, but its triggers can enable it. */
static void print_internal(struct instance *inst, FILE *out)
{
	struct event *e = model_find_event(inst->model, "ftrace", "print");
	struct event_file *f = e ? event_file_find(inst, e) : NULL;

	if (f && f->enabled)
		fputs("ftrace:print\n", out);
}

void event_set_print(struct instance *inst, FILE *out)
{
	bool passed = false, after = false;
	struct event *e = NULL;
	struct event_file *f;

	while ((e = event_next(inst, e))) {
		bool osnoise = !strcmp(e->system->name, "osnoise");

		/* The linker put the events of system ftrace here. */
		if (after && !osnoise && !passed) {
			print_internal(inst, out);
			passed = true;
		}
		after = osnoise;
		f = event_file_find(inst, e);
		if (f && f->enabled)
			fprintf(out, "%s:%s\n", e->system->name, e->name);
	}
	if (!passed)
		print_internal(inst, out);
	event_choices_print(inst, out);
}

void event_available_print(struct instance *inst, FILE *out)
{
	struct event *e = NULL;

	while ((e = event_next(inst, e)))
		fprintf(out, "%s:%s\n", e->system->name, e->name);
}

char event_set_enabled(struct instance *inst, const struct system *sys)
{
	struct event *e = NULL;
	struct event_file *f;
	unsigned int seen = 0;

	while (seen != 3 && (e = event_next(inst, e))) {
		if (sys && e->system != sys)
			continue;
		f = event_file_find(inst, e);
		seen |= f && f->enabled ? 2 : 1;
	}
	return "?01X"[seen];
}

int event_set_enable(struct instance *inst, const struct system *sys, bool on,
		     struct pieces *pieces)
{
	struct event_pattern p = { .system = sys ? sys->name : NULL };

	return event_set_switch(inst, &p, on, pieces);
}

void event_filters_print(struct instance *inst, FILE *out)
{
	struct event *e = NULL;
	struct event_file *f;

	while ((e = event_next(inst, e))) {
		f = event_file_find(inst, e);
		if (f)
			event_file_print_filter_named(f, out);
	}
}

void event_triggers_print(struct instance *inst, FILE *out)
{
	struct event *e = NULL;
	struct event_file *f;

	while ((e = event_next(inst, e))) {
		f = event_file_find(inst, e);
		if (f)
			event_file_trigger_print_named(f, out);
	}
}
