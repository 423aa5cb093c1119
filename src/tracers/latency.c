/* SPDX-License-Identifier: MIT */
/*
 * latency.c - the longest time with interrupts or preemption off, and the longest from a wakeup to its task's run
 */
#include <errno.h>
#include <stdlib.h>

#include "tracers/graph.h"
#include "tracers/tracer.h"
#include "tracefs/show_state.h"

#define BIT(o) (1ull << (o))

/* How display-graph draws here. */
static const unsigned int style = GRAPH_CPU | GRAPH_PROC | GRAPH_RELTIME | GRAPH_DURATION;

/* Options that a latency tracer sets, and gives back. */
static const enum trace_option forced[] = { OPTION_OVERWRITE, OPTION_LATENCY_FORMAT, OPTION_PAUSE_ON_TRACE };

enum { NR_FORCED = sizeof(forced) / sizeof(forced[0]) };

/* Tracers of one family share what they watch: one of them at a time. */
enum family { FAMILY_CRITICAL, FAMILY_WAKEUP };

struct latency {
	struct tracer_state state;
	enum family	family;
	uint64_t	options;	/* as they were before */
};

static struct latency *latency_of(const struct instance *inst)
{
	return (struct latency *)inst->tracer_state;
}

static void latency_free(struct tracer_state *state)
{
	free((struct latency *)state);
}

static bool family_is_busy(const struct model *m, enum family family)
{
	const struct instance *inst;

	list_each(inst, &m->instances, node)
		if (inst->tracer_state && latency_of(inst)->family == family)
			return true;
	return false;
}

static int set_options(struct instance *inst, uint64_t options, int nr)
{
	int err = 0;

	for (int i = 0; i < nr && !err; i++)
		err = option_set(inst, forced[i], options_test(options, forced[i]));
	return err;
}

static int init(struct instance *inst, enum family family, int nr_forced)
{
	struct latency *l;

	if (family_is_busy(inst->model, family))
		return -EBUSY;
	l = calloc(1, sizeof(*l));
	if (!l)
		return -ENOMEM;
	l->family = family;
	l->options = inst->options;
	inst->tracer_state = &l->state;
	inst->tracer_free = latency_free;
	inst->max_latency = 0;
	return set_options(inst, ~0ull, nr_forced);
}

static void reset(struct instance *inst, int nr_forced)
{
	struct latency *l = latency_of(inst);
	uint64_t options = l->options;

	inst->tracer_state = NULL;
	latency_free(&l->state);
	(void)set_options(inst, options, nr_forced);
}

static int init_critical(struct instance *inst)
{
	return init(inst, FAMILY_CRITICAL, NR_FORCED);
}

static void reset_critical(struct instance *inst)
{
	reset(inst, NR_FORCED);
}

/* A wakeup's trace may be read while the next one is on its way. */
static int init_wakeup(struct instance *inst)
{
	return init(inst, FAMILY_WAKEUP, NR_FORCED - 1);
}

static void reset_wakeup(struct instance *inst)
{
	reset(inst, NR_FORCED - 1);
}

/* A buffer that keeps the old records would hold the wrong end of a section. */
static int set_flag(struct instance *inst, int option, bool on)
{
	return option == OPTION_OVERWRITE && !on ? -EINVAL : 0;
}

/* ---- printing ---- */

static bool draws(const struct show *s)
{
	return s->tracer_data && show_option(s, OPTION_DISPLAY_GRAPH);
}

static int open_show(struct show *s)
{
	return show_option(s, OPTION_DISPLAY_GRAPH) ? graph_open(s) : 0;
}

static void print_header(struct show *s, bool empty)
{
	if (draws(s))
		graph_print_header(s, style, empty);
	else
		show_default_header(s, empty);
}

static bool print_line(struct show *s, const struct show_event *e, const struct show_record *r)
{
	return draws(s) && graph_print_line(s, style, e, r);
}

static bool has_wakeups(struct model *m)
{
	return model_find_event(m, "sched", "sched_switch") && model_find_event(m, "sched", "sched_wakeup");
}

#define PRINTS .open = open_show, .close = graph_close, .print_header = print_header, .print_line = print_line
#define KEEPS_MAX .allow_instances = true, .use_max_tr = true, .print_max = true, .set_flag = set_flag
#define CRITICAL .init = init_critical, .reset = reset_critical
#define WAKEUP .available = has_wakeups, .init = init_wakeup, .reset = reset_wakeup

const struct tracer tracer_irqsoff = { .name = "irqsoff", CRITICAL, KEEPS_MAX, PRINTS };
const struct tracer tracer_preemptoff = { .name = "preemptoff", CRITICAL, KEEPS_MAX, PRINTS };
const struct tracer tracer_preemptirqsoff = { .name = "preemptirqsoff", CRITICAL, KEEPS_MAX, PRINTS };
const struct tracer tracer_wakeup = { .name = "wakeup", WAKEUP, KEEPS_MAX, PRINTS };
const struct tracer tracer_wakeup_rt = { .name = "wakeup_rt", WAKEUP, KEEPS_MAX, PRINTS };
