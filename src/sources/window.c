/* SPDX-License-Identifier: MIT */
/* window.c - see window.h */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sources/window.h"

/* Its own, its place in the heap, and a copy while the array of all is made larger. */
enum { STREAM_COST = 2 * sizeof(struct stream) + sizeof(struct stream *) };

static inline bool before(const struct stream *a, const struct stream *b)
{
	if (a->record.time != b->record.time)
		return a->record.time < b->record.time;
	return a->cpu != b->cpu ? a->cpu < b->cpu : a->order < b->order;
}

static void sift_down(struct window *w, unsigned int i)
{
	struct stream *s = w->heap[i];
	unsigned int child;

	for (;;) {
		child = 2 * i + 1;
		if (child >= w->nr_heap)
			break;
		if (child + 1 < w->nr_heap && before(w->heap[child + 1], w->heap[child]))
			child++;
		if (!before(w->heap[child], s))
			break;
		w->heap[i] = w->heap[child];
		i = child;
	}
	w->heap[i] = s;
}

static void note_damage(struct window *w, const struct source_error *err)
{
	if (!w->damaged)
		w->damage = *err;
	w->damaged = true;
}

static int pull(struct window *w, struct stream *s)
{
	struct source_error err;
	int ret = stream_next(s, &err);

	if (__builtin_expect(ret <= 0, 0) && trace_dat_cut(s->dat, &err))
		ret = -EPROTO;
	if (__builtin_expect(ret < 0, 0)) {
		note_damage(w, &err);
		/* Records behind the damage have unknown times: the stream ends here. */
		if (w->partial && ret == -EPROTO)
			return 0;
	}
	return ret;
}

int window_pull(struct window *w)
{
	return pull(w, w->heap[0]);
}

void window_settle(struct window *w)
{
	sift_down(w, 0);
}

void window_drop(struct window *w)
{
	w->heap[0] = w->heap[--w->nr_heap];
	if (w->nr_heap)
		sift_down(w, 0);
}

int window_rewind(struct window *w)
{
	unsigned int i;
	int ret;

	w->nr_heap = 0;
	for (i = 0; i < w->nr_streams; i++) {
		stream_rewind(&w->streams[i]);
		ret = pull(w, &w->streams[i]);
		if (ret < 0)
			return ret;
		if (ret)
			w->heap[w->nr_heap++] = &w->streams[i];
	}
	for (i = w->nr_heap / 2; i-- > 0; )
		sift_down(w, i);
	return 0;
}

static bool buffer_wanted(const struct source_params *params, const char *name)
{
	unsigned int i;

	for (i = 0; i < params->nr_buffers; i++)
		if (!strcmp(params->buffers[i], name))
			return true;
	return !params->nr_buffers;
}

static int add_stream(struct window *w, struct trace_dat *d, const struct dat_buffer *b,
		      const struct dat_cpu *cpu, struct source_error *err)
{
	struct stream *streams;
	int ret;

	if (!source_memory_take(&w->memory, STREAM_COST))
		return error_set_at(err, -EPROTO, d->path, cpu->offset,
				    "%u CPUs of all buffers are " SOURCE_MEMORY_TEXT,
				    w->nr_streams);
	streams = realloc(w->streams, (w->nr_streams + 1) * sizeof(*streams));
	if (!streams)
		return error_set(err, -ENOMEM, d->path, "out of memory");
	w->streams = streams;
	ret = stream_open(&streams[w->nr_streams], d, b, cpu);
	if (ret)
		return error_set_at(err, ret, d->path, cpu->offset, "cannot unpack \"%s\"",
				    d->algorithm);
	streams[w->nr_streams].order = w->nr_streams;
	w->nr_streams++;
	return 0;
}

static int add_file(struct window *w, const struct source_params *params, struct trace_dat *d,
		    struct source_error *err)
{
	const struct dat_buffer *b;
	unsigned int i, cpu;
	int ret = 0;

	for (i = 0; i < d->nr_buffers && !ret; i++) {
		b = &d->buffers[i];
		if (!buffer_wanted(params, b->name))
			continue;
		for (cpu = 0; cpu < b->nr_cpus && !ret; cpu++)
			if (b->cpus[cpu].size)
				ret = add_stream(w, d, b, &b->cpus[cpu], err);
	}
	return ret;
}

/* A name that no file has is a mistake of the user. */
static int check_buffers(const struct window *w, const struct source_params *params,
			 struct source_error *err)
{
	unsigned int i, f, b;
	bool found;

	for (i = 0; i < params->nr_buffers; i++) {
		found = false;
		for (f = 0; f < w->nr_files; f++)
			for (b = 0; b < w->files[f]->nr_buffers; b++)
				found |= !strcmp(w->files[f]->buffers[b].name, params->buffers[i]);
		if (!found)
			return error_set(err, -ENOENT, params->files[0], "has no buffer \"%.64s\"",
					 params->buffers[i]);
	}
	return 0;
}

int window_open(struct window *w, const struct source_params *params, struct source_error *err)
{
	unsigned int i;
	int ret;

	memset(w, 0, sizeof(*w));
	w->memory = source_memory_of(params->memory);
	w->partial = params->partial;
	w->files = calloc(params->nr_files, sizeof(*w->files));
	if (!w->files)
		return error_set(err, -ENOMEM, "", "out of memory");
	for (i = 0; i < params->nr_files; i++) {
		ret = trace_dat_open(params->files[i], params->partial, &w->memory, &w->files[i],
				     err);
		if (ret)
			goto err_close;
		w->nr_files++;
		if (w->files[i]->damaged)
			note_damage(w, &w->files[i]->damage);
		ret = add_file(w, params, w->files[i], err);
		if (ret)
			goto err_close;
	}
	ret = check_buffers(w, params, err);
	if (ret)
		goto err_close;
	w->heap = calloc(w->nr_streams + 1, sizeof(*w->heap));
	if (w->heap)
		return 0;
	ret = error_set(err, -ENOMEM, "", "out of memory");
err_close:
	window_close(w);
	return ret;
}

void window_close(struct window *w)
{
	unsigned int i;

	for (i = 0; i < w->nr_streams; i++)
		stream_close(&w->streams[i]);
	for (i = 0; i < w->nr_files; i++)
		trace_dat_close(w->files[i]);
	free(w->streams);
	free(w->heap);
	free(w->files);
	memset(w, 0, sizeof(*w));
}
