/* SPDX-License-Identifier: MIT */
/*
 * latency.c - tracers that show the longest section
 *
 * The common part of the latency tracers: options, which tracers may be current together, the
 * maximum, and its printing. critical.c and wakeup.c define what a section is.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "show/state.h"
#include "tracers/function.h"
#include "tracers/graph.h"
#include "tracers/latency.h"

/* The style of display-graph. */
static const unsigned int style = GRAPH_CPU | GRAPH_PROC | GRAPH_RELTIME | GRAPH_DURATION;

/*
 * Options that a latency tracer sets, and restores at its end. Only the critical tracers use the
 * last one, which stops recording while the trace is read.
 */
static const enum trace_option forced[] = { OPTION_OVERWRITE, OPTION_LATENCY_FORMAT,
					   OPTION_PAUSE_ON_TRACE };

enum { NR_FORCED = sizeof(forced) / sizeof(forced[0]) };

/* A record of funcgraph_entry. That of funcgraph_exit is in add_graph(). */
struct graph_entry_record {
	struct record_common common;
	uint64_t	func;
	int32_t		depth;
} __attribute__((packed));

static struct latency *latency_of(const struct instance *inst)
{
	return inst->tracer_state;
}

/* ---- records that pass; under watch_lock ---- */

static void observe(struct model *m, const struct hit *h, uint64_t recorded)
{
	struct latency *l;

	pthread_mutex_lock(&m->watch_lock);
	list_each(l, &m->watchers, node) {
		const struct instance_state *state = l->inst->state;
		uint32_t index = l->inst->index;

		/* Relaxed: if a trigger switches it off, that happens in this thread. */
		l->watch->step(l, h, index < LAYOUT_GRAPH_INSTANCES && recorded >> index & 1,
			       atomic_load_explicit(&state->tracing_on, memory_order_relaxed));
	}
	pthread_mutex_unlock(&m->watch_lock);
}

/* model->take_sections */
static void take_all(struct model *m)
{
	struct latency *l;

	list_each(l, &m->watchers, node)
		running_take(l);
}

bool latency_counts(const struct latency *l, uint64_t ns)
{
	/* Relaxed: the two numbers are independent of other data. */
	uint64_t thresh =
		atomic_load_explicit(&l->inst->model->tracing_thresh, memory_order_relaxed);

	return thresh ? ns >= thresh
		      : ns > atomic_load_explicit(&l->inst->max_latency, memory_order_relaxed);
}

struct section *latency_show(struct latency *l, struct section *s, uint64_t ns)
{
	struct section *old = l->max;

	s->latency = ns;
	l->sequence++;
	l->max = s;
	return old;
}

struct section *latency_report(struct latency *l, struct section *s, uint64_t ns)
{
	/*
	 * Relaxed: the number is independent of other data. For a recording it is compared and
	 * stored under watch_lock.
	 */
	atomic_store_explicit(&l->inst->max_latency, ns, memory_order_relaxed);
	section_put(latency_show(l, s, ns));
	return section_create();
}

bool latency_keeps(const struct latency *l, const struct hit *h, bool recorded)
{
	uint16_t id = ((const struct record_common *)h->record)->type;

	if (!id)
		return false;
	if (id == l->function_id)
		return l->functions && !l->draws;
	if (id == l->graph_entry_id || id == l->graph_exit_id)
		return l->functions && l->draws;
	return recorded;
}

static struct record_common common_of(const struct hit *h, uint16_t id)
{
	struct record_common common = *(const struct record_common *)h->record;

	common.type = id;
	return common;
}

/* In the graph, a function of the tracer itself is a call that takes no time. */
static void add_graph(const struct latency *l, struct section *s, const struct hit *h, uint64_t ip)
{
	const struct graph_entry_record entry = { .common = common_of(h, l->graph_entry_id),
						 .func = ip };
	uint8_t ret[48] = { 0 };	/* depth 0, no time */
	struct record_common common = common_of(h, l->graph_exit_id);

	memcpy(ret, &common, sizeof(common));
	memcpy(ret + 8, &ip, sizeof(ip));
	section_add(s, h->cpu, h->time, &entry, sizeof(entry));
	section_add(s, h->cpu, h->time, ret, sizeof(ret));
}

void latency_add_function(const struct latency *l, struct section *s, const struct hit *h,
			  uint64_t ip, uint64_t parent)
{
	const struct function_record r = { common_of(h, l->function_id), ip, parent };

	if (l->draws && l->graph_entry_id && l->graph_exit_id)
		add_graph(l, s, h, ip);
	else if (l->function_id)
		section_add(s, h->cpu, h->time, &r, sizeof(r));
}

/* ---- control ---- */

/* The event's id; 0 if its last field is not at the offset that this file uses. */
static uint16_t event_id(struct model *m, const char *name, const char *last, uint16_t offset)
{
	struct event *e = model_find_event(m, "ftrace", name);
	const struct field *f = e ? event_find_field(e, last) : NULL;

	return f && f->offset == offset ? e->id : 0;
}

void latency_need(struct latency *l, struct event *e)
{
	const struct kernel_hooks *kernel = l->inst->model->kernel;

	if (!kernel || l->nr_needed == LATENCY_NEEDED)
		return;
	kernel->watch(kernel->arg, e, true);
	l->needed[l->nr_needed++] = e;
}

static void need_no_more(struct latency *l)
{
	const struct kernel_hooks *kernel = l->inst->model->kernel;

	while (kernel && l->nr_needed)
		kernel->watch(kernel->arg, l->needed[--l->nr_needed], false);
}

static void latency_enter(struct latency *l)
{
	struct model *m = l->inst->model;

	pthread_mutex_lock(&m->watch_lock);
	list_add_tail(&l->node, &m->watchers);
	/* Relaxed: a source that misses it now sees it at its next record. */
	atomic_store_explicit(&m->observe, observe, memory_order_relaxed);
	pthread_mutex_unlock(&m->watch_lock);
	m->take_sections = take_all;
	running_open(l);
}

static void latency_leave(struct latency *l)
{
	struct model *m = l->inst->model;

	running_close(l);
	pthread_mutex_lock(&m->watch_lock);
	list_del(&l->node);
	if (list_empty(&m->watchers)) {
		/*
		 * Relaxed: a source that still calls observe() finds no watcher when it has the
		 * lock.
		 */
		atomic_store_explicit(&m->observe, NULL, memory_order_relaxed);
		m->take_sections = NULL;
	}
	pthread_mutex_unlock(&m->watch_lock);
}

/*
 * Records the functions that running programs call in a section, in the form that the options
 * choose. 0, -ENOMEM, -ENOSPC
 */
static int choose_functions(struct latency *l)
{
	const struct model *m = l->inst->model;

	functions_disable(l->inst);
	if (m->imported || !l->functions)
		return 0;
	return functions_enable(l->inst, l->draws ? FTRACE_OPS_GRAPH : FTRACE_OPS_FUNCTION,
				l->watch->section,
				l->draws ? "ftrace_graph_func" : l->watch->callback);
}

static void state_free(struct instance *inst)
{
	struct latency *l = latency_of(inst);

	functions_disable(inst);
	latency_leave(l);
	need_no_more(l);
	l->watch->close(l);
	section_put(l->max);
	free(l);
	inst->tracer_state = NULL;
}

static bool latency_is_busy(const struct model *m, const struct latency_watch *watch)
{
	const struct instance *inst;

	list_each(inst, &m->instances, node)
		if (inst->tracer_state && latency_of(inst)->watch == watch)
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

static struct latency *latency_create(struct instance *inst, const struct tracer *t,
				      const struct latency_watch *watch)
{
	struct latency *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->inst = inst;
	l->tracer = t;
	l->watch = watch;
	l->options = inst->options;
	l->functions = options_test(inst->options, OPTION_FUNCTION_TRACE);
	l->draws = options_test(inst->options, OPTION_DISPLAY_GRAPH);
	l->function_id = event_id(inst->model, "function", "parent_ip", 16);
	l->graph_entry_id = event_id(inst->model, "funcgraph_entry", "depth", 16);
	l->graph_exit_id = event_id(inst->model, "funcgraph_exit", "rettime", 40);
	if (!watch->open(l))
		return l;
	free(l);
	return NULL;
}

static void reset(struct instance *inst, int nr_forced)
{
	uint64_t options;

	if (!inst->tracer_state)
		return;
	options = latency_of(inst)->options;
	state_free(inst);
	(void)set_options(inst, options, nr_forced);
}

static int init(struct instance *inst, const struct tracer *t, const struct latency_watch *watch,
		int nr_forced)
{
	struct latency *l;
	int err;

	if (latency_is_busy(inst->model, watch))
		return -EBUSY;
	l = latency_create(inst, t, watch);
	if (!l)
		return -ENOMEM;
	inst->tracer_state = l;
	inst->tracer_free = state_free;
	/* Relaxed: nothing compares with it before latency_enter(). */
	atomic_store_explicit(&inst->max_latency, 0, memory_order_relaxed);
	latency_enter(l);
	err = choose_functions(l);
	/*
	 * A section that has begun since latency_enter() lacks some of its functions, so it is
	 * dropped. If this server restores a session, programs have recorded functions all the
	 * time.
	 */
	if (!inst->model->restoring)
		running_restart(l);
	if (!err)
		err = set_options(inst, ~0ull, nr_forced);
	if (err)
		reset(inst, nr_forced);
	return err;
}

static int init_irqsoff(struct instance *inst)
{
	return init(inst, &tracer_irqsoff, &critical_watch, NR_FORCED);
}

static int init_preemptoff(struct instance *inst)
{
	return init(inst, &tracer_preemptoff, &critical_watch, NR_FORCED);
}

static int init_preemptirqsoff(struct instance *inst)
{
	return init(inst, &tracer_preemptirqsoff, &critical_watch, NR_FORCED);
}

static void reset_critical(struct instance *inst)
{
	reset(inst, NR_FORCED);
}

static int init_wakeup(struct instance *inst)
{
	return init(inst, &tracer_wakeup, &wakeup_watch, NR_FORCED - 1);
}

static int init_wakeup_rt(struct instance *inst)
{
	return init(inst, &tracer_wakeup_rt, &wakeup_watch, NR_FORCED - 1);
}

static void reset_wakeup(struct instance *inst)
{
	reset(inst, NR_FORCED - 1);
}

static void forget_all(struct latency *l)
{
	running_forget(l);
	pthread_mutex_lock(&l->inst->model->watch_lock);
	l->watch->forget(l);
	pthread_mutex_unlock(&l->inst->model->watch_lock);
}

/*
 * As in the kernel, a critical section continues while tracing is off; it counts if tracing is on
 * at both ends.
 */
static void stop(struct instance *inst)
{
	struct latency *l = latency_of(inst);

	if (l->watch->forgets)
		forget_all(l);
}

static void update_max(struct instance *inst)
{
	running_limit(latency_of(inst));
}

static void latency_clear(struct instance *inst, int cpu)
{
	struct latency *l = latency_of(inst);
	struct section *old;

	running_take(l);
	pthread_mutex_lock(&inst->model->watch_lock);
	old = l->max;
	l->max = old && cpu >= 0 ? section_without(old, (uint32_t)cpu) : NULL;
	pthread_mutex_unlock(&inst->model->watch_lock);
	section_put(old);
}

static struct section *longest(struct instance *inst)
{
	struct latency *l = latency_of(inst);
	struct section *s;

	running_take(l);
	pthread_mutex_lock(&inst->model->watch_lock);
	s = l->max ? section_get(l->max) : NULL;
	pthread_mutex_unlock(&inst->model->watch_lock);
	return s;
}

/*
 * Changes the form of functions. The maximum begins at 0 again; the section that is shown stays in
 * the form in which it was recorded.
 */
static void draw(struct latency *l, bool on)
{
	forget_all(l);
	pthread_mutex_lock(&l->inst->model->watch_lock);
	l->draws = on;
	/* Relaxed: stored under the lock, as in latency_report(). */
	atomic_store_explicit(&l->inst->max_latency, 0, memory_order_relaxed);
	pthread_mutex_unlock(&l->inst->model->watch_lock);
	running_limit(l);
}

static int set_flag(struct instance *inst, int option, bool on)
{
	struct latency *l = latency_of(inst);
	int err = 0;

	/*
	 * Without overwrite the buffer would have the first records of a section and lack the last
	 * ones.
	 */
	if (option == OPTION_OVERWRITE && !on)
		return -EINVAL;
	if (option == OPTION_DISPLAY_GRAPH)
		draw(l, on);
	if (option == OPTION_FUNCTION_TRACE) {
		forget_all(l);
		pthread_mutex_lock(&inst->model->watch_lock);
		l->functions = on;
		pthread_mutex_unlock(&inst->model->watch_lock);
	}
	/* A section that began meanwhile has functions in two forms, or lacks some. */
	if (option == OPTION_FUNCTION_TRACE || option == OPTION_DISPLAY_GRAPH) {
		err = choose_functions(l);
		running_restart(l);
	}
	return err;
}

/* ---- printing ---- */

static bool draws(const struct show *s)
{
	return show_option(s, OPTION_DISPLAY_GRAPH);
}

static void print_header(struct show *s, bool empty)
{
	if (draws(s))
		graph_print_header(s, style, empty);
	else
		show_default_header(s, empty);
}

static bool latency_print_line(struct show *s, const struct show_event *e,
			       const struct show_record *r)
{
	return draws(s) && graph_print_line(s, style, e, r);
}

/* Prints a record of the graph as function_graph prints it now. */
static bool print_text(struct show *s, const struct show_event *e, const struct show_record *r)
{
	const uint16_t id = record_type(r);

	return (id == LAYOUT_GRAPH_ENTRY_ID || id == LAYOUT_GRAPH_EXIT_ID) &&
	       graph_print_line(s, graph_style(s), e, r);
}

/* ---- tracers ---- */

unsigned int critical_kinds(const struct tracer *t)
{
	return (t != &tracer_preemptoff ? CRITICAL_IRQS : 0) |
	       (t != &tracer_irqsoff ? CRITICAL_PREEMPT : 0);
}

/* Whether the session has wakeups. In running programs these are the waits of threads. */
static bool has_wakeups(struct model *m)
{
	return (model_find_event(m, "sched", "sched_switch") &&
		model_find_event(m, "sched", "sched_wakeup")) ||
	       (!m->imported && model_find_event(m, "thread", "wake") &&
		model_find_event(m, "thread", "wakeup"));
}

#define LATENCY .allow_instances = true, .use_max_tr = true, .print_max = true, .set_flag = \
	set_flag, \
	.stop = stop, .section = longest, .clear = latency_clear, .update_max = update_max,	\
	.open = graph_open, .close = graph_close, .print_header = print_header, .print_line = \
		latency_print_line, \
	.print_text = print_text

const struct tracer tracer_irqsoff = {
	.name = "irqsoff", .init = init_irqsoff, .reset = reset_critical, LATENCY
};

const struct tracer tracer_preemptoff = {
	.name = "preemptoff", .init = init_preemptoff, .reset = reset_critical, LATENCY
};

const struct tracer tracer_preemptirqsoff = {
	.name = "preemptirqsoff", .init = init_preemptirqsoff, .reset = reset_critical, LATENCY
};

const struct tracer tracer_wakeup = { .name = "wakeup",
				     .available = has_wakeups,
				     .init = init_wakeup,
				     .reset = reset_wakeup,
				     LATENCY };

const struct tracer tracer_wakeup_rt = { .name = "wakeup_rt",
					.available = has_wakeups,
					.init = init_wakeup_rt,
					.reset = reset_wakeup,
					LATENCY };
