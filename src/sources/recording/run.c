/* SPDX-License-Identifier: MIT */
/*
 * run.c - passes the records of the window to hit(), one by one in order of time
 *
 * A record is passed on when the next records of its stream are known. The kernel_stack among these
 * is the record's stack. Histograms use it, and instances that want stacks record it.
 *
 *     stream:  ... | record | kernel_stack | ...
 *                     |          |
 *                     v          v
 *                  hit { record, stack }
 *
 * P1  The run's position (records, hits, bytes, lost, end, time) is stored by one thread at a time,
 *     the one that steps or rewinds. source_position() reads it. Relaxed: nothing else is read
 *     through these numbers. They are of the same moment only if the stepping thread is stopped:
 *     `state` of serve.c.
 */
#include <string.h>

#include "model/instance/options.h"
#include "sources/record.h"
#include "sources/recording/source_state.h"
#include "sources/recording/tally.h"

enum {
	RUN_BATCH	= 4096,		/* records between two reports of the position */
	RUN_TOLD	= 1 << 18,	/* records between two calls of `passed` */
	RUN_WRITER	= 1,		/* writer set of the rings (R12) */
	NESTED_MAX	= 64,		/* records of interrupts between a record and its stack */
};

/* ---- one record ---- */

static inline bool has_plan(const struct source *src, uint32_t type)
{
	/*
	 * Relaxed: only tests whether there is a plan. hit() loads it again, with the order that it
	 * needs, inside its own critical section.
	 */
	return atomic_load_explicit(&plane_event(src->plane, type)->plan, memory_order_relaxed);
}

/*
 * Sets the fields of a hit that has nothing else. Clearing the whole struct would take longer than
 * the rest.
 */
static inline void set_hit(struct source *src, const struct stream *s,
			   const struct subbuf_record *r, struct hit *h)
{
	int32_t pid = (int32_t)subbuf_u32(r->data + 4);

	h->record = r->data;
	h->size = r->size;
	h->cpu = s->cpu;
	h->time = r->time;
	h->early = s->dat->foreign || r->early > UINT32_MAX ? 0 : (uint32_t)r->early;
	h->comm = task_names_find(&src->names, pid, s->cpu, r->time);
	h->writer = RUN_WRITER;
	h->synth_preempt = RECORD_SYNTH_PREEMPT;
}

static void fill_hit(struct source *src, const struct stream *s, const struct subbuf_record *r,
		     struct hit *h)
{
	*h = (struct hit){ 0 };
	set_hit(src, s, r, h);
}

/*
 * The stack of a record is the next kernel_stack of the same context. Records of interrupts may lie
 * between:
 *
 *     record (task) | record (irq) | its stack (irq) | the stack (task)
 *
 * *later: the pages in memory end before it. The record is passed without it then.
 */
static __attribute__((noinline)) bool find_stack_behind(const struct source *src,
							const struct stream *s, unsigned int level,
							struct subbuf_record *out, bool *later)
{
	struct stream_peek peek;
	unsigned int n;

	stream_peek_start(s, &peek);
	for (n = 1; n < NESTED_MAX; n++) {
		if (!stream_peek_next(s, &peek, out)) {
			*later = true;
			return false;
		}
		if (record_level(out->data) <= level)
			return src->kinds[out->type] == RECORD_STACK;
	}
	return false;
}

/*
 * Tests the next record in place, because a load of bytes that were just stored would wait for the
 * stores.
 */
static inline bool find_stack(const struct source *src, const struct stream *s,
			      const struct subbuf_record *r, struct subbuf_record *out,
			      bool *later)
{
	const unsigned int level = record_level(r->data);

	if (__builtin_expect(record_level(s->record.data) > level, 0))
		return find_stack_behind(src, s, level, out, later);
	if (__builtin_expect(src->kinds[s->record.type] != RECORD_STACK, 1))
		return false;
	*out = s->record;
	return true;
}

/*
 * Whether one more stack of the same record lies behind the next one: the option stacktrace has
 * written the first, a trigger the second. *later: as above.
 */
static bool find_pair(const struct source *src, const struct stream *s, bool *later)
{
	struct stream_peek peek;
	struct subbuf_record next;

	stream_peek_start(s, &peek);
	*later = !stream_peek_next(s, &peek, &next);
	return !*later && src->kinds[next.type] == RECORD_STACK &&
	       record_level(next.data) == record_level(s->record.data);
}

/*
 * The size of a print record for a text of `len` bytes: with room for a newline and a 0, and at
 * least for "<faulted>".
 */
static uint32_t print_size(const struct source *src, uint32_t len)
{
	enum { FAULTED = sizeof("<faulted>") - 1 };

	return (src->print_at + (len < FAULTED ? FAULTED : len) + 2 + 3) & ~3u;
}

/*
 * Triggers of print fire before the kernel adds a newline. In some cases the record's size shows
 * that the newline was the writer's own.
 */
static void fill_print(struct source *src, struct hit *h)
{
	const char *text = (const char *)h->record + src->print_at;
	uint32_t room = h->size > src->print_at ? h->size - src->print_at : 0;
	uint32_t len = strnlen(text, room);

	if (!len || len == room || text[len - 1] != '\n' || h->size > sizeof(src->print))
		return;
	if (print_size(src, len - 1) < h->size)
		return;
	memcpy(src->print, h->record, h->size);
	src->print[src->print_at + len - 1] = 0;
	h->seen = src->print;
	h->seen_size = h->size;
}

/*
 * Whether function commands want stacks. Then any stack may be theirs, because a stack does not
 * name its event. Relaxed: see struct model.
 */
static bool wants_command_stack(const struct source *src)
{
	return atomic_load_explicit(&src->model->stack_commands, memory_order_relaxed);
}

/* Those of the instances that have the option stacktrace. */
static uint64_t with_stack_option(const struct source *src, uint64_t instances)
{
	uint64_t found = 0;

	for (; instances; instances &= instances - 1) {
		const uint32_t index = (uint32_t)__builtin_ctzll(instances);
		const struct instance_state *inst = plane_instance(src->plane, index);

		/* Relaxed: an option that is set meanwhile applies from the next record on. */
		if (atomic_load_explicit(&inst->flags, memory_order_relaxed) & INSTANCE_STACKTRACE)
			found |= 1ull << index;
	}
	return found;
}

/*
 * Passes a kernel_stack that was not written with its record to the instances whose record or
 * function command wanted it.
 */
static void pass_stack(struct source *src, struct stream *s, const struct subbuf_record *r)
{
	struct stream_context *context = &s->context[record_level(r->data)];
	const uint64_t top = 1ull << src->model->top->index;
	const bool is_left = src->all_stacks && !context->has_stack;
	uint64_t wanted = context->stack_wanted | (wants_command_stack(src) || is_left ? top : 0);
	struct hit h;

	if (context->has_pair)
		wanted = with_stack_option(src, wanted);
	context->has_stack = context->has_pair = false;
	if (!wanted)
		return;
	fill_hit(src, s, r, &h);
	for (; wanted; wanted &= wanted - 1) {
		h.only = 1 + __builtin_ctzll(wanted);
		hit(src->plane, src->slot, &h);
	}
}

/* Whether the tracer wants stacks of functions. The option stacktrace applies to events only. */
static bool wants_function_stack(const struct source *src)
{
	const struct instance *top = src->model->top;
	/* Relaxed: an option that is set meanwhile applies from the next record on. */
	uint32_t flags = atomic_load_explicit(&top->state->flags, memory_order_relaxed);

	if (src->all_stacks)
		return true;
	return (top->tracer_options & top->options) >> OPTION_FUNC_STACK_TRACE & 1 &&
	       !(flags & INSTANCE_STACKTRACE);
}

/*
 * The commands of the function whose address is at offset `at`, and its own address in *ip;
 * *traced: whether its record passes.
 */
static uint32_t commands_of(struct source *src, const struct subbuf_record *r, uint32_t at,
			    uint64_t *ip, bool *traced)
{
	*traced = true;
	if (r->size < sizeof(*ip) || at > r->size - sizeof(*ip))
		return 0;
	memcpy(ip, r->data + at, sizeof(*ip));
	return calls_find(src, ip, traced);
}

/*
 * Runs them. If a command wants a stack, it gets the next one. Counts are found by the function's
 * address, which the recorded one is not.
 */
static void pass_commands(struct source *src, uint32_t commands, uint64_t ip,
			  struct stream_context *context, struct hit *h)
{
	struct function_record call = { .ip = ip };
	const void *record = h->record;
	const uint32_t size = h->size;

	memcpy(&call.common, record, sizeof(call.common));
	h->record = &call;
	h->size = sizeof(call);
	h->stack_wanted = &context->stack_wanted;
	h->entry = commands;
	hit(src->plane, src->slot, h);
	h->entry = 0;
	h->record = record;
	h->size = size;
}

/* Relaxed: it is loaded again under its lock. */
static bool has_calls(const struct source *src)
{
	return atomic_load_explicit(&src->calls, memory_order_relaxed);
}

/* Resets the fields that set_hit() does not set. */
static void clear_hit(struct hit *h)
{
	h->stack = NULL;
	h->nr_stack = h->stack_size = 0;
	h->stack_record = NULL;
	h->stack_time = 0;
	h->stack_wanted = NULL;
	h->seen = NULL;
	h->seen_size = 0;
}

/*
 * The stack goes to the hit, or follows it as a record of its own. Returns whether the hit has to
 * be cleared afterwards.
 */
static inline __attribute__((always_inline)) bool
give_stack(struct source *src, const struct stream *s, const struct subbuf_record *r,
	   struct stream_context *context, struct hit *h)
{
	struct subbuf_record stack;
	bool later = false;

	if (find_stack(src, s, r, &stack, &later)) {
		record_stack(&stack, src->stack_at, &src->probes, !s->dat->foreign, src->stack, h);
		context->has_pair = stack.data == s->record.data && !src->all_stacks &&
				    !wants_command_stack(src) && find_pair(src, s, &later);
		if (stack.data != s->record.data || context->has_pair || later ||
		    wants_command_stack(src))
			h->stack_wanted = &context->stack_wanted;
	} else if (later) {
		h->stack = src->stack;
		h->nr_stack = 0;
		h->stack_wanted = &context->stack_wanted;
	} else {
		return false;
	}
	return true;
}

/* What is to happen with the stack behind a record that has passed. */
static inline void expect_stack(const struct source *src, unsigned int kind, bool planned,
				const struct hit *h, struct stream_context *context)
{
	if (kind == RECORD_FUNCTION && wants_function_stack(src))
		context->stack_wanted |= context->fate & 1ull << src->model->top->index;
	else
		/* hit() writes no stack behind events of system ftrace. */
		context->has_stack = h->stack_record && planned && kind <= RECORD_NAMES;
}

/* Passes any record. Returns whether its event has a plan. */
static __attribute__((noinline)) bool
pass_any(struct source *src, struct stream *s, const struct subbuf_record *r, bool more)
{
	const unsigned int kind = src->kinds[r->type];
	struct stream_context *context = &s->context[record_level(r->data)];
	void (*observe)(struct model *m, const struct hit *h, uint64_t recorded);
	struct hit *h = &src->hit;
	bool planned, traced = true, called;
	uint32_t commands = 0;
	uint64_t ip = 0;

	if (kind == RECORD_STACK) {
		pass_stack(src, s, r);
		return false;
	}
	if (kind == RECORD_USER_STACK && !(context->fate & 1ull << src->model->top->index))
		return false;
	if (kind != RECORD_USER_STACK)
		*context = (struct stream_context){ 0 };
	/* Relaxed: it is a function, and its data is under the model's watch_lock. */
	observe = atomic_load_explicit(&src->model->observe, memory_order_relaxed);
	planned = has_plan(src, r->type);
	if (!planned && !observe)
		return false;
	set_hit(src, s, r, h);
	if (more)
		give_stack(src, s, r, context, h);
	if (kind == RECORD_PRINT)
		fill_print(src, h);
	else if (kind == RECORD_FUNCTION && has_calls(src))
		commands = commands_of(src, r, src->ip_at, &ip, &traced);
	else if ((kind == RECORD_GRAPH_ENTRY || kind == RECORD_GRAPH_EXIT) && has_calls(src))
		traced = calls_take_graph(src, r, kind == RECORD_GRAPH_EXIT, h);
	/* Commands look at no setting of the graph tracer. */
	if (kind == RECORD_GRAPH_ENTRY && has_calls(src))
		commands = commands_of(src, r, src->graph.entry_func, &ip, &called);
	context->fate = planned && traced ? hit(src->plane, src->slot, h) : 0;
	expect_stack(src, kind, planned, h, context);
	if (commands)
		pass_commands(src, commands, ip, context, h);
	/* A latency tracer watches (tracers/latency.h). */
	if (__builtin_expect(observe != NULL, 0) && traced)
		observe(src->model, h, context->fate);
	if (h->stack_record || h->seen || h->stack_wanted)
		clear_hit(h);
	return planned;
}

/* The same. What pass_any() tests does not concern the many records that are plain. */
static inline bool pass(struct source *src, struct stream *s, const struct subbuf_record *r,
			bool more)
{
	struct stream_context *context = &s->context[record_level(r->data)];
	struct hit *h = &src->hit;
	bool has_stack;

	/* Relaxed: as in pass_any(). */
	if (__builtin_expect(src->kinds[r->type] > RECORD_NAMES, 0) ||
	    __builtin_expect(!!atomic_load_explicit(&src->model->observe, memory_order_relaxed), 0))
		return pass_any(src, s, r, more);
	*context = (struct stream_context){ 0 };
	if (!has_plan(src, r->type))
		return false;
	set_hit(src, s, r, h);
	has_stack = more && give_stack(src, s, r, context, h);
	context->fate = hit(src->plane, src->slot, h);
	if (__builtin_expect(has_stack, 0)) {
		context->has_stack = h->stack_record;
		clear_hit(h);
	}
	return true;
}

/* ---- the run ---- */

static uint64_t lost_so_far(const struct source *src)
{
	uint64_t pages = 0, stats = 0;
	unsigned int i;

	for (i = 0; i < src->window.nr_streams; i++)
		pages += src->window.streams[i].lost_total;
	for (i = 0; i < src->window.nr_files; i++)
		stats += src->window.files[i]->lost;
	return pages > stats ? pages : stats;
}

/* If the server is killed between a hit and this store, one record passes twice. */
static inline void note_progress(struct source *src, uint64_t records)
{
	/*
	 * Relaxed: there is one writer, and only the next server reads it, after this one is dead.
	 */
	if (src->progress)
		atomic_store_explicit(&src->progress->records, records, memory_order_relaxed);
}

void source_passed(struct source *src, uint64_t records, uint64_t hits, uint64_t time)
{
	const struct window *w = &src->window;
	uint64_t bytes = 0;
	unsigned int i;

	for (i = 0; i < w->nr_streams; i++)
		bytes += stream_passed(&w->streams[i]);
	/* Relaxed: P1. */
	atomic_store_explicit(&src->records, src->records + records, memory_order_relaxed);
	atomic_store_explicit(&src->hits, src->hits + hits, memory_order_relaxed);
	atomic_store_explicit(&src->bytes, bytes, memory_order_relaxed);
	atomic_store_explicit(&src->lost, lost_so_far(src), memory_order_relaxed);
	atomic_store_explicit(&src->end, !w->nr_live, memory_order_relaxed);	/* P1 */
	if (records)
		atomic_store_explicit(&src->time, time, memory_order_relaxed);
}

void source_learn_names(struct source *src)
{
	struct window *w = &src->window;
	struct stream *s;
	int ret;

	if (src->learned)
		return;
	src->learned = true;
	ret = window_rewind(w);
	while (ret >= 0 && (s = window_first(w))) {
		if (src->kinds[s->record.type] == RECORD_NAMES)
			task_names_learn(&src->names, &s->record);
		ret = window_pull(w);
		if (ret > 0)
			window_settle(w);
		else if (!ret)
			window_drop(w);
	}
	task_names_learned(&src->names);
}

/* Goes to before the first record, with the initial names. 0 or -errno. */
static int source_restart(struct source *src)
{
	int ret;

	/*
	 * In a server the control file has made the rings, because this thread does not have the
	 * control lock.
	 */
	ret = src->server ? 0 : model_source_rings(src->model);
	if (ret)
		return ret;
	if (names_matter(src))
		source_learn_names(src);
	ret = window_rewind(&src->window);
	if (ret)
		return ret;
	task_names_reset(&src->names);
	src->records = src->hits = 0;
	note_progress(src, 0);
	src->started = true;
	source_passed(src, 0, 0, 0);
	return 0;
}

static bool stops_here(struct source *src, const struct stream *s)
{
	struct hit h;

	if (src->stop_reached || src->stop_event->id != s->record.type)
		return false;
	fill_hit(src, s, &s->record, &h);
	if (src->kinds[s->record.type] == RECORD_PRINT)
		fill_print(src, &h);
	return source_stops_before(src, &s->record, &h);
}

/* Passes up to `max` records. `silent`: no hits. Returns like source_step(). */
static int run_batch(struct source *src, unsigned int max, bool silent)
{
	struct window *w = &src->window;
	/* P1: this thread's own. */
	const uint64_t passed = atomic_load_explicit(&src->records, memory_order_relaxed);
	uint64_t records = 0, hits = 0;
	struct subbuf_record r = { 0 };
	struct stream *s;
	int ret = 1, more;

	while (ret > 0 && records < max) {
		s = window_first(w);
		if (!s) {
			ret = 0;
			break;
		}
		if (__builtin_expect(src->stop_event && !silent, 0) && stops_here(src, s)) {
			src->stop_reached = true;
			ret = 2;
			break;
		}
		r = s->record;
		ret = more = window_pull(w);
		/*
		 * The merge comes before pass(): a CPU cannot predict which record is next, but
		 * it computes that while pass() runs.
		 */
		if (ret > 0) {
			window_settle(w);
		} else if (!ret) {
			window_drop(w);
			ret = 1;
		}
		if (!silent)
			hits += pass(src, s, &r, more > 0);
		note_progress(src, passed + ++records);
	}
	source_passed(src, records, hits, r.time);
	return ret;
}

int source_step(struct source *src, uint64_t max_records)
{
	unsigned int n;
	int ret = src->started ? 1 : source_restart(src);

	if (ret < 0)
		return ret;
	for (ret = 1; ret == 1 && max_records; max_records -= n) {
		n = max_records < RUN_BATCH ? max_records : RUN_BATCH;
		ret = run_batch(src, n, false);
	}
	return ret == 1 && !window_first(&src->window) ? 0 : ret;
}

int source_run(struct source *src, void (*passed)(void *arg), void *arg)
{
	int ret = src->started ? 0 : source_restart(src);

	if (ret)
		return ret;
	/* Relaxed: P1. tally_run() can only count the whole recording. */
	if (!atomic_load_explicit(&src->records, memory_order_relaxed) &&
	    !tally_run(src, src->threads, passed, arg))
		return 0;
	while ((ret = source_step(src, RUN_TOLD)) == 1)
		if (passed)
			passed(arg);
	return ret;
}

void source_rewind(struct source *src)
{
	src->started = false;
	graph_tasks_clear(src->graph_tasks);
	note_progress(src, 0);
	/* Relaxed: P1. */
	atomic_store_explicit(&src->records, 0, memory_order_relaxed);
	atomic_store_explicit(&src->hits, 0, memory_order_relaxed);
	atomic_store_explicit(&src->bytes, 0, memory_order_relaxed);
	atomic_store_explicit(&src->end, 0, memory_order_relaxed);	/* P1 */
}

int source_seek(struct source *src, uint64_t record)
{
	uint64_t left;
	unsigned int n;
	int ret = 0;

	if (!src->started || record < src->records)
		ret = source_restart(src);
	for (left = record - src->records; left && !ret; left -= n) {
		n = left < RUN_BATCH ? left : RUN_BATCH;
		ret = run_batch(src, n, true);
		ret = ret == 1 ? 0 : ret < 0 ? ret : 1;
	}
	return ret < 0 ? ret : 0;
}
