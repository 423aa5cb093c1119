/* SPDX-License-Identifier: MIT */
/* window.c - see window.h */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "session/array.h"
#include "sources/recording/file/window.h"

/* For each stream: itself, a copy while the array grows, and its place in the tournament. */
enum {
	STREAM_COST = 2 * sizeof(struct stream) + sizeof(struct window_leaf) + sizeof(uintptr_t),
};

static void note_damage(struct window *w, const struct source_error *err)
{
	if (!w->damaged)
		w->damage = *err;
	w->damaged = true;
}

/* Decides what a stream's result `ret` means for the window. */
static int window_judge(struct window *w, struct stream *s, int ret, struct source_error *err)
{
	if (__builtin_expect(ret <= 0, 0) && trace_dat_cut(s->dat, err))
		ret = -EPROTO;
	if (__builtin_expect(ret < 0, 0)) {
		note_damage(w, err);
		/* Records behind the damage have unknown times: the stream ends here. */
		if (w->partial && ret == -EPROTO)
			return 0;
	}
	return ret;
}

int window_pull_more(struct window *w, int ret)
{
	struct stream *s = w->first->stream;
	struct source_error err;

	ret = stream_next_slowly(s, ret, &err);
	return window_judge(w, s, ret, &err);
}

static void window_leave(struct window *w, struct window_leaf *leaf)
{
	leaf->time = UINT64_MAX;
	leaf->place += w->nr_streams;
}

void window_drop(struct window *w)
{
	window_leave(w, w->first);
	w->nr_live--;
	window_play(w);
}

/* Plays all matches below a node. Returns the winner. */
static struct window_leaf *play_all(struct window *w, uint32_t node)
{
	struct window_leaf *a, *b;
	bool first;

	if (node >= w->nr_streams)
		return &w->leaves[node - w->nr_streams];
	a = play_all(w, 2 * node);
	b = play_all(w, 2 * node + 1);
	first = window_order(a) < window_order(b);
	w->losers[node] = (uintptr_t)(first ? b : a);
	return first ? a : b;
}

static int window_start(struct window *w, struct window_leaf *leaf, uint32_t place)
{
	struct source_error err;
	int ret;

	leaf->place = place;
	stream_rewind(leaf->stream);
	ret = window_judge(w, leaf->stream, stream_next(leaf->stream, &err), &err);
	leaf->time = leaf->stream->record.time;
	if (ret > 0)
		w->nr_live++;
	else
		window_leave(w, leaf);
	return ret;
}

/* Damage at the start is reported in the order of the files. */
int window_rewind(struct window *w)
{
	unsigned int i, leaf;
	int ret;

	w->nr_live = 0;
	for (i = 0; i < w->nr_streams; i++) {
		leaf = w->streams[i].leaf;
		ret = window_start(w, &w->leaves[leaf], leaf);
		if (ret < 0)
			return ret;
	}
	w->first = w->nr_streams ? play_all(w, 1) : NULL;
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
	int ret;

	if (!source_memory_take(&w->memory, STREAM_COST))
		return error_set_at(err, -EPROTO, d->path, cpu->offset,
				    "%u CPUs of all buffers are " SOURCE_MEMORY_TEXT,
				    w->nr_streams);
	if (array_room(&w->streams, w->nr_streams, sizeof(*w->streams)))
		return error_set(err, -ENOMEM, d->path, "out of memory");
	ret = stream_open(&w->streams[w->nr_streams], d, b, cpu);
	if (ret)
		return error_set_at(err, ret, d->path, cpu->offset, "cannot unpack \"%s\"",
				    d->algorithm);
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

/* Refuses a buffer's name that no file has. */
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

static int by_place(const void *a, const void *b)
{
	const struct stream *x = ((const struct window_leaf *)a)->stream;
	const struct stream *y = ((const struct window_leaf *)b)->stream;

	if (x->cpu != y->cpu)
		return x->cpu < y->cpu ? -1 : 1;
	return x < y ? -1 : x > y;	/* same CPU: in the order of the files */
}

static int make_leaves(struct window *w, struct source_error *err)
{
	unsigned int i;

	w->leaves = calloc(w->nr_streams + 1, sizeof(*w->leaves));
	w->losers = calloc(w->nr_streams + 1, sizeof(*w->losers));
	if (!w->leaves || !w->losers)
		return error_set(err, -ENOMEM, "", "out of memory");
	for (i = 0; i < w->nr_streams; i++)
		w->leaves[i].stream = &w->streams[i];
	qsort(w->leaves, w->nr_streams, sizeof(*w->leaves), by_place);
	for (i = 0; i < w->nr_streams; i++) {
		w->leaves[i].stream->leaf = i;
		w->leaves[i].node = (i + w->nr_streams) / 2;
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
	if (!ret)
		ret = make_leaves(w, err);
	if (!ret)
		return 0;
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
	free(w->leaves);
	free(w->losers);
	free(w->files);
	memset(w, 0, sizeof(*w));
}
