/* SPDX-License-Identifier: MIT */
/*
 * critical.c - sections with interrupts or preemption off, from the events preemptirq:*
 *
 *     irq_disable ... irq_enable          irqsoff, where preemption does not count or is on
 *     preempt_disable ... preempt_enable  preemptoff, where interrupts do not count or are on
 *
 * A section belongs to a CPU; a section that begins inside another one does not count. Idle tasks
 * sleep with interrupts off. The kernel does not count that time and records nothing about it, so
 * power:cpu_idle marks it. Without that event, sections of idle tasks do not count.
 *
 * In running programs a section belongs to a thread: signals blocked, locks held. The thread itself
 * finds both ends (agent/emit/section.c).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/symbols.h"
#include "tracers/latency.h"

enum { FLAG_IRQS_OFF = 1, PREEMPT_MASK = 15, IDLE_LEAVES = -1 };

/* An event preemptirq:*, and the offsets of its addresses. */
struct switch_event {
	uint16_t	id;
	uint16_t	caller_at, parent_at;
};

struct critical_cpu {
	bool		on;
	bool		tracing;	/* tracing_on at the present record */
	bool		tells_idle;	/* a cpu_idle record came */
	uint64_t	sequence;
	struct section	*section;
};

struct critical {
	unsigned int	kinds;
	uint64_t	text;		/* _stext: the events have offsets from it */
	struct switch_event irq_off, irq_on, preempt_off, preempt_on;
	uint16_t	idle_id, idle_state_at;
	/* Functions of the kernel's tracer, which are called where a section ends; 0: unknown. */
	uint64_t	own, own_of_idle;
	uint64_t	idle_ip, idle_parent;
	uint32_t	nr_cpus;
	struct critical_cpu cpus[];
};

static uint64_t symbol_of(const struct latency *l, const char *name)
{
	uint64_t lo, hi;

	return symbols_range(l->inst->model->symbols, name, &lo, &hi) ? lo : 0;
}

static void find_switch(struct latency *l, const char *name, struct switch_event *out)
{
	struct event *e = model_find_event(l->inst->model, "preemptirq", name);
	const struct field *caller = e ? event_find_field(e, "caller_offs") : NULL;
	const struct field *parent = e ? event_find_field(e, "parent_offs") : NULL;

	if (caller && parent && caller->size == 4 && parent->size == 4)
		*out = (struct switch_event){ e->id, caller->offset, parent->offset };
}

static void find_idle(struct latency *l, struct critical *c)
{
	struct event *e = model_find_event(l->inst->model, "power", "cpu_idle");
	const struct field *state = e ? event_find_field(e, "state") : NULL;

	if (!state || state->size != 4)
		return;
	c->idle_id = e->id;
	c->idle_state_at = state->offset;
}

static void close_watch(struct latency *l)
{
	struct critical *c = l->data;

	for (uint32_t i = 0; i < c->nr_cpus; i++)
		section_put(c->cpus[i].section);
	free(c);
}

static int open_watch(struct latency *l)
{
	const uint32_t nr = l->inst->model->nr_cpus;
	struct critical *c = calloc(1, sizeof(*c) + nr * sizeof(c->cpus[0]));

	if (!c)
		return -ENOMEM;
	l->data = c;
	c->nr_cpus = nr;
	c->kinds = critical_kinds(l->tracer);
	c->text = symbol_of(l, "_stext");
	find_switch(l, "irq_disable", &c->irq_off);
	find_switch(l, "irq_enable", &c->irq_on);
	find_switch(l, "preempt_disable", &c->preempt_off);
	find_switch(l, "preempt_enable", &c->preempt_on);
	find_idle(l, c);
	c->own = symbol_of(l, c->kinds == CRITICAL_PREEMPT ? "tracer_preempt_on"
							   : "tracer_hardirqs_on");
	c->own_of_idle = symbol_of(l, "stop_critical_timings");
	c->idle_ip = symbol_of(l, "default_idle_call");
	c->idle_parent = symbol_of(l, "do_idle");
	return 0;
}

static void critical_forget(struct latency *l)
{
	struct critical *c = l->data;

	for (uint32_t i = 0; i < c->nr_cpus; i++)
		c->cpus[i].on = false;
}

static uint32_t critical_word_at(const struct hit *h, uint32_t at)
{
	uint32_t v = 0;

	if (at + 4 <= h->size)
		memcpy(&v, (const char *)h->record + at, 4);
	return v;
}

static void critical_start(struct latency *l, struct critical_cpu *cpu, const struct hit *h,
			   uint64_t ip, uint64_t parent)
{
	if (cpu->on || !cpu->tracing)
		return;
	if (!cpu->section)
		cpu->section = section_create();
	if (!cpu->section)
		return;
	section_clear(cpu->section);
	cpu->on = true;
	cpu->sequence = l->sequence;
	cpu->section->time_start = h->time;
	cpu->section->started_at = parent ? parent : ip;
	latency_add_function(l, cpu->section, h, ip, parent);
}

static void critical_describe(struct section *s, const struct hit *h, uint64_t ended_at)
{
	s->ended_at = ended_at;
	s->cpu = h->cpu;
	s->pid = (int)critical_word_at(h, 4);
	memcpy(s->comm, h->comm, sizeof(s->comm));
}

static void stop(struct latency *l, struct critical_cpu *cpu, const struct hit *h, uint64_t ip,
		 uint64_t parent, uint64_t own)
{
	struct section *s = cpu->section;

	if (!cpu->on)
		return;
	cpu->on = false;
	if (!cpu->tracing)
		return;
	latency_add_function(l, s, h, ip, parent);
	if (!latency_counts(l, h->time - s->time_start) || cpu->sequence != l->sequence)
		return;
	if (own)
		latency_add_function(l, s, h, own, parent);
	if (h->stack_record)
		section_add(s, h->cpu, h->stack_time, h->stack_record, h->stack_size);
	critical_describe(s, h, parent);
	cpu->section = latency_report(l, s, h->time - s->time_start);
}

static void switched(struct latency *l, struct critical_cpu *cpu, const struct hit *h,
		     const struct switch_event *e, bool off)
{
	const struct critical *c = l->data;
	uint64_t ip = c->text + (uint64_t)(int64_t)(int32_t)critical_word_at(h, e->caller_at);
	uint64_t parent = c->text + (uint64_t)(int64_t)(int32_t)critical_word_at(h, e->parent_at);

	if (off)
		critical_start(l, cpu, h, ip, parent);
	else
		stop(l, cpu, h, ip, parent, c->own);
}

static void idle(struct latency *l, struct critical_cpu *cpu, const struct hit *h)
{
	const struct critical *c = l->data;

	cpu->tells_idle = true;
	if ((int32_t)critical_word_at(h, c->idle_state_at) == IDLE_LEAVES)
		critical_start(l, cpu, h, c->idle_ip, c->idle_parent);
	else
		stop(l, cpu, h, c->idle_ip, c->idle_parent, c->own_of_idle);
}

/*
 * Whether interrupts are off, if they count. If both kinds count, the outer one begins and ends a
 * section.
 */
static bool irqs_count(const struct critical *c, const struct hit *h)
{
	return (c->kinds & CRITICAL_IRQS) && (((const uint8_t *)h->record)[2] & FLAG_IRQS_OFF);
}

static bool preemption_counts(const struct critical *c, const struct hit *h)
{
	return (c->kinds & CRITICAL_PREEMPT) && (((const uint8_t *)h->record)[3] & PREEMPT_MASK);
}

static bool is_event(const struct switch_event *e, uint16_t id)
{
	return e->id && e->id == id;
}

static void critical_keep(const struct latency *l, struct critical_cpu *cpu, const struct hit *h,
			  bool recorded)
{
	if (cpu->on && cpu->tracing && latency_keeps(l, h, recorded))
		section_add(cpu->section, h->cpu, h->time, h->record, h->size);
}

static void critical_step(struct latency *l, const struct hit *h, bool recorded, bool tracing)
{
	struct critical *c = l->data;
	struct critical_cpu *cpu = &c->cpus[h->cpu < c->nr_cpus ? h->cpu : 0];
	const uint16_t id = ((const struct record_common *)h->record)->type;
	/* An idle task, and no event marks its sleep. */
	const bool quiet = !critical_word_at(h, 4) && !cpu->tells_idle;
	const bool irqs = irqs_count(c, h) && !preemption_counts(c, h);
	const bool preemption = preemption_counts(c, h) && !irqs_count(c, h);

	cpu->tracing = tracing;
	if (quiet)
		cpu->on = false;	/* it sleeps with preemption off, too */
	/*
	 * The kernel calls its tracer before it records irq_disable, but after it records the
	 * others.
	 */
	if (!is_event(&c->irq_off, id))
		critical_keep(l, cpu, h, recorded);
	if (is_event(&c->irq_off, id)) {
		if (irqs && !quiet)
			switched(l, cpu, h, &c->irq_off, true);
		critical_keep(l, cpu, h, recorded);
	} else if (is_event(&c->irq_on, id) && irqs) {
		switched(l, cpu, h, &c->irq_on, false);
	} else if (is_event(&c->preempt_off, id) && preemption && !quiet) {
		switched(l, cpu, h, &c->preempt_off, true);
	} else if (is_event(&c->preempt_on, id) && preemption) {
		switched(l, cpu, h, &c->preempt_on, false);
	} else if (c->idle_id && id == c->idle_id) {
		idle(l, cpu, h);
	}
}

/* ---- running programs ---- */

static uint32_t kinds_of(const struct tracer *t)
{
	return critical_kinds(t) | SECTION_OWN;
}

static void critical_begins(struct latency *l, struct section *s, const struct hit *h,
			    const struct section_report *r)
{
	s->started_at = r->start.parent ? r->start.parent : r->start.ip;
	s->ended_at = r->end.parent ? r->end.parent : r->end.ip;
	latency_add_function(l, s, h, r->start.ip, r->start.parent);
}

/* A program calls no function of the tracer at the end, so only the program's function is added. */
static void ends(struct latency *l, struct section *s, const struct hit *h,
		 const struct section_report *r)
{
	latency_add_function(l, s, h, r->end.ip, r->end.parent);
}

const struct latency_watch critical_watch = {
	.open = open_watch, .close = close_watch, .step = critical_step, .forget = critical_forget,
	.number = SECTION_WATCH_CRITICAL, .kinds = kinds_of, .section = ARM_SECTION,
	.callback = "irqsoff_tracer_call", .begins = critical_begins, .ends = ends,
};
