/* SPDX-License-Identifier: MIT */
/* records.c - passes each record of a recording to a form */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "export/form.h"
#include "export/summary.h"
#include "model/cmdlines.h"

static const struct export_form *const forms[] = {
	&export_chrome, &export_perfetto, &export_folded, NULL,
};

const struct export_form *export_form_find(const char *name)
{
	for (const struct export_form *const *f = forms; *f; f++)
		if (!strcmp((*f)->name, name))
			return *f;
	return NULL;
}

bool export_form_counts(const struct export_form *form)
{
	return form->counts;
}

void export_fail(struct export_run *x, int err)
{
	if (!x->err)
		x->err = err;
}

/* ---- events ---- */

static enum export_kind export_kind_of(const struct event *e)
{
	static const struct {
		const char	*system, *name;
		enum export_kind kind;
	} known[] = {
		{ "sched", "sched_switch", EXPORT_SWITCH },
		{ "sched", "sched_waking", EXPORT_WAKING },
		{ "lock", "contention_begin", EXPORT_LOCK_BEGIN },
		{ "lock", "contention_end", EXPORT_LOCK_END },
		{ "ftrace", GRAPH_RETADDR_ENTRY, EXPORT_GRAPH_ENTRY },
		{ "ftrace", "funcgraph_entry", EXPORT_GRAPH_ENTRY },
		{ "ftrace", "funcgraph_exit", EXPORT_GRAPH_EXIT },
		{ "ftrace", "function", EXPORT_FUNCTION },
		{ "ftrace", "kernel_stack", EXPORT_STACK },
		{ "ftrace", "user_stack", EXPORT_STACK },
		{ "ftrace", "print", EXPORT_PRINT },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!strcmp(e->system->name, known[i].system) && !strcmp(e->name, known[i].name))
			return known[i].kind;
	if (strcmp(e->system->name, "syscalls") != 0)
		return EXPORT_PLAIN;
	return !strncmp(e->name, EXPORT_ENTER, strlen(EXPORT_ENTER)) ? EXPORT_CALL_ENTER
	     : !strncmp(e->name, EXPORT_EXIT, strlen(EXPORT_EXIT))   ? EXPORT_CALL_EXIT
								      : EXPORT_PLAIN;
}

/* What a kind needs; a record without it is a plain one. */
static void find_places(struct export_event *v, struct event *e)
{
	v->func = event_find_field(e, v->kind == EXPORT_FUNCTION ? "ip" : "func");
	v->depth = event_find_field(e, "depth");
	v->begin = event_find_field(e, "calltime");
	v->end = event_find_field(e, "rettime");
	v->caller = event_find_field(e, "caller");
	v->prev_pid = event_find_field(e, "prev_pid");
	v->prev_state = event_find_field(e, "prev_state");
	v->next_pid = event_find_field(e, "next_pid");
	v->next_comm = event_find_field(e, "next_comm");
	v->pid = event_find_field(e, "pid");
	v->flags = event_find_field(e, "flags");
	if (((v->kind == EXPORT_GRAPH_ENTRY || v->kind == EXPORT_GRAPH_EXIT) &&
	     (!v->func || !v->depth)) ||
	    (v->kind == EXPORT_SWITCH && (!v->prev_pid || !v->next_pid || !v->next_comm)) ||
	    (v->kind == EXPORT_STACK && !v->caller) || (v->kind == EXPORT_FUNCTION && !v->func))
		v->kind = EXPORT_PLAIN;
}

static struct export_event *export_event_of(struct export_run *x, uint32_t type)
{
	struct event *e;

	if (type >= LAYOUT_MAX_EVENTS)
		return NULL;
	if (x->events[type])
		return x->events[type];
	e = model_event_by_id(x->what->model, type);
	if (!e || event_need_fields(e))
		return NULL;
	x->events[type] = calloc(1, sizeof(*x->events[type]));
	if (!x->events[type]) {
		export_fail(x, -ENOMEM);
		return NULL;
	}
	x->events[type]->event = e;
	x->events[type]->fields = event_fields(e, &x->events[type]->nr_fields);
	x->events[type]->kind = export_kind_of(e);
	find_places(x->events[type], e);
	return x->events[type];
}

/* ---- tasks ---- */

static uint32_t task_hash(int32_t pid, uint32_t cpu)
{
	return ((uint32_t)pid ^ (pid ? 0 : ~cpu)) * 2654435761u;
}

static struct export_task **task_place(struct export_task **table, uint32_t room, int32_t pid,
				       uint32_t cpu)
{
	uint32_t i = task_hash(pid, cpu);

	for (;; i++) {
		struct export_task *t = table[i & (room - 1)];

		if (!t || (t->pid == pid && (pid || t->cpu == cpu)))
			return &table[i & (room - 1)];
	}
}

/* The table is at most half full. */
static int tasks_grow(struct export_run *x)
{
	const uint32_t room = x->tasks_room ? 2 * x->tasks_room : 256;
	struct export_task **table = calloc(room, sizeof(*table));

	if (!table)
		return -ENOMEM;
	for (uint32_t i = 0; i < x->tasks_room; i++)
		if (x->tasks[i])
			*task_place(table, room, x->tasks[i]->pid, x->tasks[i]->cpu) = x->tasks[i];
	free(x->tasks);
	x->tasks = table;
	x->tasks_room = room;
	return 0;
}

static struct export_task *task_add(struct export_run *x, struct export_task **place,
				    const struct source_record *r)
{
	const int group = cmdlines_find_tgid(x->what->model->cmdlines, r->pid);
	struct export_task *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->pid = r->pid;
	t->cpu = r->cpu;
	t->group = group ? group : r->pid;
	t->renamed = true;
	*place = t;
	x->nr_tasks++;
	return t;
}

static struct export_task *export_task_of(struct export_run *x, const struct source_record *r)
{
	struct export_task **place, *t;

	if (2 * x->nr_tasks >= x->tasks_room && tasks_grow(x)) {
		export_fail(x, -ENOMEM);
		return NULL;
	}
	place = task_place(x->tasks, x->tasks_room, r->pid, r->cpu);
	t = *place ? *place : task_add(x, place, r);
	if (!t) {
		export_fail(x, -ENOMEM);
		return NULL;
	}
	if (strncmp(t->comm, r->comm, sizeof(t->comm)) != 0) {
		memcpy(t->comm, r->comm, sizeof(t->comm));
		t->renamed = true;
	}
	t->last = r->time;
	return t;
}

/* ---- counters ---- */

int export_counter_find(struct model *m, struct export_counter *c)
{
	const char *colon = strpbrk(c->name, ":/"), *dot = colon ? strchr(colon, '.') : NULL;
	char *system = colon ? strndup(c->name, (size_t)(colon - c->name)) : NULL;
	char *event = dot ? strndup(colon + 1, (size_t)(dot - colon - 1)) : NULL;

	c->event = system && event ? model_find_event(m, system, event) : NULL;
	free(system);
	free(event);
	if (!c->event)
		return -ENOENT;
	c->field = event_find_field(c->event, dot + 1);
	return c->field && c->field->kind == FIELD_OTHER && !c->field->len && c->field->size <= 8
		       ? 0
		       : -EINVAL;
}

static uint64_t counter_number(const struct field *f, const struct source_record *r)
{
	const uint64_t v = export_number(f, r);

	if (f->is_signed && f->size < 8 && f->size)
		return (uint64_t)((int64_t)(v << (64 - 8 * f->size)) >> (64 - 8 * f->size));
	return v;
}

static void counters_pass(struct export_run *x, const struct export_record *r)
{
	for (unsigned int i = 0; i < x->what->nr_counters; i++) {
		const struct export_counter *c = &x->what->counters[i];

		if (c->event == r->event->event)
			x->what->form->counter(x, c, r, counter_number(c->field, r->r));
	}
}

/* ---- the run ---- */

static void record_pass(struct export_run *x, const struct export_record *r)
{
	if (r->event && !r->event->records++)
		r->event->since = r->r->time;
	x->sums->unknown += !r->event;
	if (r->r->lost && x->what->form->lost)
		x->what->form->lost(x, r);
	if (r->event && r->event->kind == EXPORT_GRAPH_ENTRY)
		export_calls_entry(x, r);
	else if (r->event && r->event->kind == EXPORT_GRAPH_EXIT)
		export_calls_exit(x, r);
	else
		x->what->form->record(x, r);
	if (r->event && x->what->nr_counters)
		counters_pass(x, r);
}

enum { EXPORT_OFTEN = 1 << 16 };	/* records between two calls of `step` */

static int export_take(void *arg, const struct source_record *r)
{
	struct export_run *x = arg;
	struct export_record record = { .r = r };

	if (x->what->step && x->sums->records % EXPORT_OFTEN == EXPORT_OFTEN - 1)
		x->what->step(x->what->step_arg);
	if (!x->sums->records++) {
		x->first = r->time;
		x->err = x->what->form->begin(x);
	}
	if (r->time < x->last)
		x->sums->back++;
	else
		x->last = r->time;
	if (!x->err) {
		record.event = export_event_of(x, r->type);
		record.task = export_task_of(x, r);
	}
	if (!x->err)
		record_pass(x, &record);
	if (!x->err && ferror(x->out))
		x->err = errno ? -errno : -EIO;
	return x->err;
}

static void export_finish(struct export_run *x)
{
	errno = 0;
	if (!x->sums->records)
		x->err = x->what->form->begin(x);
	for (uint32_t i = 0; !x->err && i < x->tasks_room; i++)
		if (x->tasks[i])
			export_calls_end(x, x->tasks[i]);
	if (!x->err)
		x->what->form->end(x);
	/* After a write that failed, fflush() may have nothing to do; errno is still of that. */
	if (!x->err && (fflush(x->out) || ferror(x->out)))
		x->err = errno ? -errno : -EIO;
}

static void export_free(struct export_run *x)
{
	x->what->form->free(x);
	for (uint32_t i = 0; i < x->tasks_room; i++) {
		if (x->tasks[i])
			free(x->tasks[i]->calls);
		free(x->tasks[i]);
	}
	for (uint32_t i = 0; x->events && i < LAYOUT_MAX_EVENTS; i++) {
		if (x->events[i])
			free(x->events[i]->own);
		free(x->events[i]);
	}
	free(x->tasks);
	free(x->events);
	export_names_free(x);
}

int export_records_write(const struct export_records *what, FILE *out, struct export_sums *sums)
{
	struct export_run x = { .what = what, .out = out, .sums = sums };
	int ret;

	*sums = (struct export_sums){ .records = 0 };
	x.events = calloc(LAYOUT_MAX_EVENTS, sizeof(*x.events));
	ret = x.events ? source_visit(what->source, export_take, &x) : -ENOMEM;
	if (!ret) {
		export_finish(&x);
		ret = x.err;
	}
	export_free(&x);
	return ret;
}
