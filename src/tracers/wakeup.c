/* SPDX-License-Identifier: MIT */
/*
 * wakeup.c - the time from a task's wakeup to its run, for the task with the highest priority
 *
 *     sched_wakeup of T --start--> records of all CPUs, functions of T's CPU --sched_switch to T-->
 *     end
 *
 * Another wakeup replaces the present one only if its task has a higher priority than the task that
 * is waited for and than the running task.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/cmdlines.h"
#include "tracers/latency.h"

enum { PRIO_NONE = 1 << 20, PRIO_RT = 100, PRIO_DEFAULT = 120, POLICY_FIFO = 1, POLICY_RR = 2 };

/* A field of up to 8 bytes; size 0: there is none. */
struct at {
	uint16_t	offset, size;
};

struct wakeup {
	bool		only_rt;
	bool		on;
	struct section	*section;
	int		pid, prio;		/* of the woken task */
	uint32_t	task_cpu;		/* the CPU that it will run on */

	uint16_t	wakeup_id[2];		/* sched_wakeup, sched_wakeup_new; 0: none */
	struct at	wakee[2], wakee_prio[2], wakee_cpu[2];
	uint16_t	switch_id, migrate_id;
	struct at	prev, prev_prio, prev_state, next, next_prio, next_comm;
	struct at	migrated, migrated_to;
	uint16_t	record_id, switch_record_id;	/* ftrace:wakeup, ftrace:context_switch */

	uint32_t	nr_cpus;
	int		running_prio[];		/* by CPU: priority of its running task */
};

/* ftrace:wakeup and ftrace:context_switch */
struct switch_record {
	struct record_common common;
	uint32_t	prev_pid, next_pid, next_cpu;
	uint8_t		prev_prio, prev_state, next_prio, next_state;
};

static struct at field_at(struct event *e, const char *name)
{
	const struct field *f = event_find_field(e, name);

	return f ? (struct at){ f->offset, f->size } : (struct at){ 0 };
}

static void find_wakeup(struct latency *l, struct wakeup *w, int i, const char *name)
{
	struct event *e = model_find_event(l->inst->model, "sched", name);

	if (!e)
		return;
	w->wakeup_id[i] = e->id;
	latency_need(l, e);
	w->wakee[i] = field_at(e, "pid");
	w->wakee_prio[i] = field_at(e, "prio");
	w->wakee_cpu[i] = field_at(e, "target_cpu");
}

static void find_switch(struct latency *l, struct wakeup *w)
{
	struct event *e = model_find_event(l->inst->model, "sched", "sched_switch");

	if (!e)
		return;
	latency_need(l, e);
	w->switch_id = e->id;
	w->prev = field_at(e, "prev_pid");
	w->prev_prio = field_at(e, "prev_prio");
	w->prev_state = field_at(e, "prev_state");
	w->next = field_at(e, "next_pid");
	w->next_prio = field_at(e, "next_prio");
	w->next_comm = field_at(e, "next_comm");
}

static void find_migrate(struct latency *l, struct wakeup *w)
{
	struct event *e = model_find_event(l->inst->model, "sched", "sched_migrate_task");

	if (!e)
		return;
	latency_need(l, e);
	w->migrate_id = e->id;
	w->migrated = field_at(e, "pid");
	w->migrated_to = field_at(e, "dest_cpu");
}

static uint16_t record_id(struct latency *l, const char *name)
{
	struct event *e = model_find_event(l->inst->model, "ftrace", name);
	struct at last = e ? field_at(e, "next_state") : (struct at){ 0 };

	return last.offset == offsetof(struct switch_record, next_state) ? e->id : 0;
}

static int open_watch(struct latency *l)
{
	const uint32_t nr = l->inst->model->nr_cpus;
	struct wakeup *w = calloc(1, sizeof(*w) + nr * sizeof(w->running_prio[0]));

	if (!w)
		return -ENOMEM;
	l->data = w;
	w->nr_cpus = nr;
	for (uint32_t i = 0; i < nr; i++)
		w->running_prio[i] = PRIO_DEFAULT;
	w->only_rt = l->tracer == &tracer_wakeup_rt;
	find_wakeup(l, w, 0, "sched_wakeup");
	find_wakeup(l, w, 1, "sched_wakeup_new");
	find_switch(l, w);
	find_migrate(l, w);
	w->record_id = record_id(l, "wakeup");
	w->switch_record_id = record_id(l, "context_switch");
	return 0;
}

static void close_watch(struct latency *l)
{
	struct wakeup *w = l->data;

	section_put(w->section);
	free(w);
}

static void wakeup_forget(struct latency *l)
{
	struct wakeup *w = l->data;

	w->on = false;
}

static int64_t wakeup_load(const struct hit *h, struct at at)
{
	int64_t v = 0;

	if (at.size > 8 || at.offset + (uint32_t)at.size > h->size)
		return 0;
	memcpy(&v, (const char *)h->record + at.offset, at.size);
	return at.size == 4 ? (int32_t)v : v;
}

static int *running_prio(struct wakeup *w, const struct hit *h)
{
	return &w->running_prio[h->cpu < w->nr_cpus ? h->cpu : 0];
}

static void add_switch(struct latency *l, const struct hit *h, struct switch_record r)
{
	struct wakeup *w = l->data;

	r.common.flags = ((const uint8_t *)h->record)[2];
	/* In the kernel a probe of the event makes this record, with preemption off by itself. */
	r.common.preempt_count = (uint8_t)(((const uint8_t *)h->record)[3] + 1);
	memcpy(&r.common.pid, (const char *)h->record + 4, 4);
	if (r.common.type)
		section_add(w->section, h->cpu, h->time, &r, sizeof(r));
	if (h->stack_record)
		section_add(w->section, h->cpu, h->stack_time, h->stack_record, h->stack_size);
}

static bool takes_over(struct wakeup *w, const struct hit *h, int prio)
{
	if (w->only_rt && prio >= PRIO_RT)
		return false;
	return prio < (w->on ? w->prio : PRIO_NONE) && prio < *running_prio(w, h);
}

static void woken(struct latency *l, const struct hit *h, int i)
{
	struct wakeup *w = l->data;
	int prio = (int)wakeup_load(h, w->wakee_prio[i]);

	if (!takes_over(w, h, prio))
		return;
	if (!w->section)
		w->section = section_create();
	if (!w->section)
		return;
	section_clear(w->section);
	w->on = true;
	w->pid = (int)wakeup_load(h, w->wakee[i]);
	w->prio = prio;
	w->task_cpu = (uint32_t)wakeup_load(h, w->wakee_cpu[i]);
	w->section->time_start = h->time;
	add_switch(l, h, (struct switch_record){
		.common.type = w->record_id,
		.prev_pid = (uint32_t)((const struct record_common *)h->record)->pid,
		.prev_prio = (uint8_t)*running_prio(w, h),
		.next_pid = (uint32_t)w->pid, .next_prio = (uint8_t)prio, .next_cpu = w->task_cpu,
	});
}

/* The index of a task's state in the letters "RSDTtXZPI". */
static uint8_t state_number(int64_t state)
{
	return state & 0xff ? (uint8_t)(32 - __builtin_clz((unsigned int)state & 0xff)) : 0;
}

static void wakeup_describe(const struct wakeup *w, const struct hit *h)
{
	struct section *s = w->section;

	s->cpu = w->task_cpu;
	s->pid = w->pid;
	s->policy = w->prio < PRIO_RT ? POLICY_FIFO : 0;
	s->rt_prio = w->prio < PRIO_RT ? (unsigned int)(PRIO_RT - 1 - w->prio) : 0;
	s->nice = w->prio < PRIO_RT ? 0 : w->prio - PRIO_DEFAULT;
	if (w->next_comm.size == sizeof(s->comm) &&
	    w->next_comm.offset + sizeof(s->comm) <= h->size)
		memcpy(s->comm, (const char *)h->record + w->next_comm.offset, sizeof(s->comm));
}

static void runs(struct latency *l, const struct hit *h)
{
	struct wakeup *w = l->data;
	uint64_t latency = h->time - w->section->time_start;

	add_switch(l, h, (struct switch_record){
		.common.type = w->switch_record_id,
		.prev_pid = (uint32_t)wakeup_load(h, w->prev),
		.prev_prio = (uint8_t)wakeup_load(h, w->prev_prio),
		.prev_state = state_number(wakeup_load(h, w->prev_state)),
		.next_pid = (uint32_t)w->pid,
		.next_prio = (uint8_t)wakeup_load(h, w->next_prio), .next_cpu = h->cpu,
	});
	w->on = false;
	if (!latency_counts(l, latency))
		return;
	wakeup_describe(w, h);
	w->section = latency_report(l, w->section, latency);
}

static void wakeup_step(struct latency *l, const struct hit *h, bool recorded, bool tracing)
{
	struct wakeup *w = l->data;
	const uint16_t id = ((const struct record_common *)h->record)->type;
	bool function = id == l->function_id || id == l->graph_entry_id || id == l->graph_exit_id;

	if (!tracing) {
		wakeup_forget(l);
		return;
	}
	if (w->on && id == w->switch_id && wakeup_load(h, w->next) == w->pid)
		runs(l, h);
	else if (w->on && (!function || h->cpu == w->task_cpu) && latency_keeps(l, h, recorded))
		section_add(w->section, h->cpu, h->time, h->record, h->size);
	for (int i = 0; i < 2; i++)
		if (w->wakeup_id[i] && id == w->wakeup_id[i])
			woken(l, h, i);
	if (w->switch_id && id == w->switch_id)
		*running_prio(w, h) = (int)wakeup_load(h, w->next_prio);
	else if (w->migrate_id && id == w->migrate_id && w->on &&
		 wakeup_load(h, w->migrated) == w->pid)
		w->task_cpu = (uint32_t)wakeup_load(h, w->migrated_to);
}

/* ---- running programs ---- */

static uint32_t kinds_of(const struct tracer *t)
{
	return t == &tracer_wakeup_rt ? SECTION_WAKEUP | SECTION_WAKEUP_RT : SECTION_WAKEUP;
}

static uint8_t prio_of(const struct section *s)
{
	return (uint8_t)(s->policy == POLICY_FIFO || s->policy == POLICY_RR
				 ? PRIO_RT - 1 - (int)s->rt_prio
				 : PRIO_DEFAULT + s->nice);
}

/* The task that runs before the woken one is not known. */
static void add_end(struct section *s, const struct hit *h, uint16_t id, uint32_t from,
		    uint32_t cpu)
{
	struct switch_record r = {
		.common = *(const struct record_common *)h->record,
		.prev_pid = from,
		.prev_prio = PRIO_DEFAULT,
		.next_pid = (uint32_t)s->pid,
		.next_prio = prio_of(s),
		.next_cpu = cpu,
	};

	r.common.type = id;
	if (id)
		section_add(s, h->cpu, h->time, &r, sizeof(r));
}

static void wakeup_begins(struct latency *l, struct section *s, const struct hit *h,
			  const struct section_report *r)
{
	add_end(s, h, ((struct wakeup *)l->data)->record_id, r->start.pid, r->end.cpu);
	latency_add_function(l, s, h, r->start.ip, r->start.parent);
}

static void ends(struct latency *l, struct section *s, const struct hit *h,
		 const struct section_report *r)
{
	latency_add_function(l, s, h, r->end.ip, r->end.parent);
	add_end(s, h, ((struct wakeup *)l->data)->switch_record_id, 0, r->end.cpu);
}

const struct latency_watch wakeup_watch = {
	.open = open_watch,
	.close = close_watch,
	.step = wakeup_step,
	.forget = wakeup_forget,
	.forgets = true,
	.number = SECTION_WATCH_WAKEUP,
	.kinds = kinds_of,
	.all_threads = true,
	.section = ARM_SECTION | ARM_WAKEUP,
	.callback = "wakeup_tracer_call",
	.begins = wakeup_begins,
	.ends = ends,
};
