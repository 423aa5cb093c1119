/* SPDX-License-Identifier: MIT */
/* source.c - opens and closes a recording; its size, clock, damage and position */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sources/recording/file/times.h"
#include "sources/recording/source_state.h"

static void find_shape(struct source *src)
{
	const struct window *w = &src->window;
	unsigned int i;

	for (i = 0; i < w->nr_files; i++) {
		if (w->files[i]->nr_cpus > src->nr_cpus)
			src->nr_cpus = w->files[i]->nr_cpus;
		if (w->files[i]->page_size > src->subbuf_size)
			src->subbuf_size = w->files[i]->page_size;
	}
	for (i = 0; i < w->nr_streams; i++) {
		if (w->streams[i].cpu >= src->nr_cpus)
			src->nr_cpus = w->streams[i].cpu + 1;
		if (stream_page_size(&w->streams[i]) > src->subbuf_size)
			src->subbuf_size = stream_page_size(&w->streams[i]);
	}
	if (!src->nr_cpus)
		src->nr_cpus = 1;
}

/*
 * Pages fill as they did when they were recorded. Only time extends come in addition, and the free
 * space at the end of pages from other files or buffers. A quarter more and eight pages are always
 * enough.
 */
static uint64_t ring_room(const struct source *src, uint64_t bytes)
{
	return bytes ? bytes + bytes / 4 + 8ull * src->subbuf_size : 2ull * src->subbuf_size;
}

/*
 * If the rings together would exceed their share of the memory, each CPU gets its part of the
 * share.
 */
static int size_rings(struct source *src)
{
	const struct window *w = &src->window;
	const uint64_t most = source_memory_rings(src->memory);
	uint64_t all = 0;
	unsigned int i;

	src->ring_bytes = calloc(src->nr_cpus, sizeof(*src->ring_bytes));
	if (!src->ring_bytes)
		return -ENOMEM;
	for (i = 0; i < w->nr_streams; i++)
		src->ring_bytes[w->streams[i].cpu] += stream_unpacked(&w->streams[i]);
	for (i = 0; i < src->nr_cpus; i++)
		all += src->ring_bytes[i] = ring_room(src, src->ring_bytes[i]);
	src->rings_cut = all > most;
	for (i = 0; i < src->nr_cpus && src->rings_cut; i++)
		src->ring_bytes[i] = (double)src->ring_bytes[i] / (double)all * (double)most;
	return 0;
}

int source_open(const struct source_params *params, struct source **out, struct source_error *err)
{
	struct source *src = calloc(1, sizeof(*src));
	int ret;

	if (!src)
		return error_set(err, -ENOMEM, "", "out of memory");
	src->partial = params->partial;
	src->memory = params->memory;
	src->threads = params->threads;
	ret = window_open(&src->window, params, err);
	if (ret) {
		free(src);
		return ret;
	}
	pthread_mutex_init(&src->calls_lock, NULL);
	find_shape(src);
	if (size_rings(src)) {
		source_close(src);
		return error_set(err, -ENOMEM, "", "out of memory");
	}
	*out = src;
	return 0;
}

void source_close(struct source *src)
{
	if (!src)
		return;
	source_serve_end(src);
	source_stop_clear(src);
	calls_forget(src);
	graph_tasks_destroy(src->graph_tasks);
	if (src->slot)
		session_slot_put(src->model->session, src->slot);
	if (src->model) {
		free(src->model->source_bytes);
		src->model->source_bytes = NULL;
		src->model->has_records = NULL;
	}
	task_names_destroy(&src->names);
	stack_probes_free(&src->probes);
	window_close(&src->window);
	free(src->ring_bytes);
	pthread_mutex_destroy(&src->calls_lock);
	free(src);
}

uint32_t source_nr_cpus(const struct source *src)
{
	return src->nr_cpus;
}

uint64_t source_ring_bytes(const struct source *src, uint32_t cpu)
{
	return src->ring_bytes[cpu];
}

uint64_t source_session_bytes(const struct source *src)
{
	return source_memory_session(src->memory);
}

/*
 * The clock of the first buffer that has one, else the file's. Cycles that were converted have the
 * form of the local clock.
 */
const char *source_clock(const struct source *src)
{
	const struct trace_dat *d;
	unsigned int i, b;

	for (i = 0; i < src->window.nr_files; i++) {
		d = src->window.files[i];
		if (d->times && d->times->mult)
			return "local";
		for (b = 0; b < d->nr_buffers; b++)
			if (d->buffers[b].clock)
				return d->buffers[b].clock;
		if (d->clock)
			return d->clock;
	}
	return "local";
}

void source_keep_stacks(struct source *src)
{
	src->all_stacks = true;
}

const char *source_uname(const struct source *src)
{
	const struct trace_dat *d = src->window.files[0];

	return d->uname ? d->uname : "";
}

const struct source_error *source_damage(const struct source *src)
{
	return src->window.damaged ? &src->window.damage : NULL;
}

void source_position(const struct source *src, struct source_position *out)
{
	unsigned int i;

	/* Relaxed: the stepping thread stores them only to show progress; they order nothing. */
	out->records = atomic_load_explicit(&src->records, memory_order_relaxed);
	out->hits = atomic_load_explicit(&src->hits, memory_order_relaxed);
	out->bytes = atomic_load_explicit(&src->bytes, memory_order_relaxed);
	/*
	 * Relaxed: all of them are of the same moment only if that thread is stopped (run.c, P1).
	 */
	out->time = atomic_load_explicit(&src->time, memory_order_relaxed);
	out->lost = atomic_load_explicit(&src->lost, memory_order_relaxed);
	out->end = atomic_load_explicit(&src->end, memory_order_relaxed);
	out->total_bytes = 0;
	for (i = 0; i < src->window.nr_streams; i++)
		out->total_bytes += src->window.streams[i].end - src->window.streams[i].start;
}
