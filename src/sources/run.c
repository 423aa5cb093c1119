/* SPDX-License-Identifier: MIT */
/*
 * run.c - records of the window go through hit(), one by one in order of time
 *
 * A record is passed on when the one behind it in its stream is known: when
 * that is a kernel_stack, it is the record's stack.
 *
 *     stream:  ... | record | kernel_stack | ...
 *                     |          |
 *                     v          v
 *                  hit { record, stack }
 */
#include <errno.h>
#include <string.h>

#include "sources/source_state.h"

enum {
	RUN_BATCH	= 4096,		/* records between two reports of the position */
	RUN_WRITER	= 1,		/* writer set of the rings (R12) */
};

/* ---- one record ---- */

static inline bool has_plan(const struct source *src, uint32_t type)
{
	/*
	 * Only whether there is one: hit() loads it again, with the order that it
	 * needs, inside its own critical section.
	 */
	return atomic_load_explicit(&plane_event(src->plane, type)->plan, memory_order_relaxed);
}

static inline void fill_hit(const struct source *src, const struct stream *s,
			    const struct subbuf_record *r, struct hit *h)
{
	int32_t pid = (int32_t)subbuf_u32(r->data + 4);

	h->record = r->data;
	h->size = r->size;
	h->cpu = s->cpu;
	h->time = r->time;
	h->comm = task_names_find(&src->names, pid, s->cpu);
	h->writer = RUN_WRITER;
}

/*
 * The record that follows in the stream is this one's stack. It begins with the
 * function that the event is called through (__traceiter_NAME, or the one that
 * calls the tracepoint): the kernel's histograms do not show that one.
 */
static void fill_stack(struct source *src, const struct subbuf_record *next, struct hit *h)
{
	uint32_t room = next->size > src->stack_at ? (next->size - src->stack_at) / 8 : 0;
	uint32_t nr = next->size >= 12 ? subbuf_u32(next->data + 8) : 0;

	if (nr > room)
		nr = room;
	if (nr > LAYOUT_STACK_MAX)
		nr = LAYOUT_STACK_MAX;
	memcpy(src->stack, next->data + src->stack_at, nr * 8);
	h->stack = nr ? src->stack + 1 : src->stack;
	h->nr_stack = nr ? nr - 1 : 0;
	h->stack_record = next->data;
	h->stack_size = next->size;
	h->stack_time = next->time;
}

/*
 * Triggers of print fire before the kernel adds a newline. The record's size
 * tells in some cases that the newline was the writer's own: the kernel
 * reserves two bytes more than was written.
 */
static void fill_print(struct source *src, struct hit *h)
{
	const char *text = (const char *)h->record + src->print_at;
	uint32_t room = h->size > src->print_at ? h->size - src->print_at : 0;
	uint32_t len = strnlen(text, room);

	if (!len || len == room || text[len - 1] != '\n' || h->size > sizeof(src->print))
		return;
	if (((src->print_at + len + 1 + 3) & ~3u) < h->size)
		return;
	memcpy(src->print, h->record, h->size);
	src->print[src->print_at + len - 1] = 0;
	h->seen = src->print;
	h->seen_size = h->size;
}

/* Returns whether the record met a plan. */
static bool pass(struct source *src, struct stream *s, const struct subbuf_record *r, bool more)
{
	const unsigned int kind = src->kinds[r->type];
	const uint64_t top = 1ull << src->model->top->index;
	struct hit h = { 0 };

	if (kind == RECORD_STACK)
		return false;
	if (!has_plan(src, r->type)) {
		if (kind != RECORD_USER_STACK)
			s->fate = 0;
		return false;
	}
	if (kind == RECORD_USER_STACK && !(s->fate & top))
		return false;
	fill_hit(src, s, r, &h);
	if (more && src->kinds[s->record.type] == RECORD_STACK)
		fill_stack(src, &s->record, &h);
	if (kind == RECORD_PRINT)
		fill_print(src, &h);
	s->fate = hit(src->plane, src->slot, &h);
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

static void report(struct source *src, uint64_t records, uint64_t hits, uint64_t time)
{
	const struct window *w = &src->window;
	uint64_t bytes = 0;
	unsigned int i;

	for (i = 0; i < w->nr_streams; i++)
		bytes += stream_passed(&w->streams[i]);
	/* Progress for source_position() alone: relaxed, one writer. */
	atomic_store_explicit(&src->records, src->records + records, memory_order_relaxed);
	atomic_store_explicit(&src->hits, src->hits + hits, memory_order_relaxed);
	atomic_store_explicit(&src->bytes, bytes, memory_order_relaxed);
	atomic_store_explicit(&src->lost, lost_so_far(src), memory_order_relaxed);
	atomic_store_explicit(&src->end, !w->nr_heap, memory_order_relaxed);
	if (records)
		atomic_store_explicit(&src->time, time, memory_order_relaxed);
}

/* Names of tasks as they were at the window's start, from the first record that tells of each. */
static void learn_names(struct source *src)
{
	struct source_error err;
	struct stream *s;
	unsigned int i;

	for (i = 0; i < src->window.nr_streams; i++) {
		s = &src->window.streams[i];
		stream_rewind(s);
		while (stream_next(s, &err) > 0)
			if (src->kinds[s->record.type] == RECORD_NAMES)
				task_names_learn(&src->names, &s->record);
	}
	task_names_learned(&src->names);
}

int source_restart(struct source *src)
{
	int ret;

	/* Beside a server the control file has seen to the rings: this thread has no control lock. */
	ret = src->server ? 0 : model_source_rings(src->model);
	if (ret)
		return ret;
	if (!src->learned && names_matter(src)) {
		learn_names(src);
		src->learned = true;
	}
	ret = window_rewind(&src->window);
	if (ret)
		return ret;
	task_names_reset(&src->names);
	src->records = src->hits = 0;
	src->started = true;
	report(src, 0, 0, 0);
	return 0;
}

static bool stops_here(struct source *src, const struct stream *s)
{
	struct hit h = { 0 };

	if (src->stop_reached || src->stop_event->id != s->record.type)
		return false;
	fill_hit(src, s, &s->record, &h);
	if (src->kinds[s->record.type] == RECORD_PRINT)
		fill_print(src, &h);
	return source_stops_before(src, &s->record, &h);
}

/* Up to `max` records. `silent`: no hits. Returns as source_step(). */
static int run_batch(struct source *src, unsigned int max, bool silent)
{
	struct window *w = &src->window;
	uint64_t records = 0, hits = 0;
	struct subbuf_record r = { 0 };
	struct stream *s;
	int ret = 1;

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
		ret = window_pull(w);
		if (!silent)
			hits += pass(src, s, &r, ret > 0);
		if (src->kinds[r.type] == RECORD_NAMES)
			task_names_follow(&src->names, &r);
		records++;
		if (ret > 0) {
			window_settle(w);
		} else if (!ret) {
			window_drop(w);
			ret = 1;
		}
	}
	report(src, records, hits, r.time);
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

void source_rewind(struct source *src)
{
	src->started = false;
	atomic_store_explicit(&src->records, 0, memory_order_relaxed);
	atomic_store_explicit(&src->hits, 0, memory_order_relaxed);
	atomic_store_explicit(&src->bytes, 0, memory_order_relaxed);
	atomic_store_explicit(&src->end, 0, memory_order_relaxed);
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
