/* SPDX-License-Identifier: MIT */
/*
 * points.c - blocks of points in the config region, and the table that leads to them
 *
 * Blocks that the table no longer names are freed when all programs have obeyed.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "plane/fetch.h"
#include "session/array.h"
#include "session/session.h"
#include "sources/program/points.h"

static void retire_later(struct point_table *t, config_ref ref, size_t size)
{
	if (!ref)
		return;
	if (array_room(&t->old, t->nr_old, sizeof(*t->old)))
		return;		/* it is never freed */
	t->old[t->nr_old++] = (struct old_block){ ref, size };
}

void points_settled(struct point_table *t)
{
	for (size_t i = 0; i < t->nr_old; i++)
		session_config_retire(t->session, t->old[i].ref, t->old[i].size);
	free(t->old);
	t->old = NULL;
	t->nr_old = 0;
}

/* ---- the points of a block ---- */

static struct point_block *block_of(const struct probed_file *f, uint64_t at)
{
	return f->blocks ? &f->blocks[(at >> POINT_RANGE) % POINT_BLOCKS] : NULL;
}

static bool blocks_make(struct probed_file *f)
{
	if (f->blocks)
		return true;
	f->blocks = calloc(POINT_BLOCKS, sizeof(*f->blocks));
	for (unsigned int i = 0; f->blocks && i < POINT_BLOCKS; i++)
		list_init(&f->blocks[i].points);
	return f->blocks;
}

static bool point_is_before(const struct wanted_point *x, const struct wanted_point *y)
{
	return x->at != y->at ? x->at < y->at : x->order < y->order;
}

static struct wanted_point *point_at(struct list_head *in_block)
{
	return list_entry(in_block, struct wanted_point, in_block);
}

/* Points mostly come in the order of their addresses: the place is looked for from the end. */
int point_put(struct wanted_point *w)
{
	struct list_head *behind;
	struct point_block *b;

	if (!blocks_make(w->file))
		return -ENOMEM;
	b = block_of(w->file, w->at);
	behind = b->points.prev;
	while (behind != &b->points && point_is_before(w, point_at(behind)))
		behind = behind->prev;
	list_add(&w->in_block, behind);
	b->stale = true;
	return 0;
}

void point_take(struct wanted_point *w)
{
	if (list_empty(&w->in_block))
		return;
	list_del(&w->in_block);
	block_of(w->file, w->at)->stale = true;
}

const struct wanted_point *point_first(const struct probed_file *f, uint64_t at)
{
	const struct point_block *b = block_of(f, at);
	const struct wanted_point *w;

	if (!b)
		return NULL;
	list_each(w, &b->points, in_block)
		if (w->at >= at)
			return w;
	return NULL;
}

const struct wanted_point *point_next(const struct probed_file *f, const struct wanted_point *w)
{
	struct list_head *next = w->in_block.next;

	return next == &block_of(f, w->at)->points ? NULL : point_at(next);
}

/* ---- its memory ---- */

static size_t round_up(size_t size)
{
	return (size + 7) & ~(size_t)7;
}

static size_t block_size(const struct point_block *b, uint32_t *nr)
{
	const struct wanted_point *w;
	size_t codes = 0;

	*nr = 0;
	list_each(w, &b->points, in_block) {
		codes += round_up(w->code->bytes);
		(*nr)++;
	}
	return *nr ? sizeof(struct probe_file) + *nr * sizeof(struct probe_point) + codes : 0;
}

static void fill_file(const struct probed_file *f, uint32_t nr, struct probe_file *out)
{
	out->device = f->is.status.device;
	out->inode = f->is.status.inode;
	out->size = f->is.size;
	memcpy(out->id, f->is.id, sizeof(out->id));
	out->id_len = f->is.id_len;
	out->number = f->number - 1;
	out->nr = nr;
}

/* References count from the block's begin. */
static void fill_block(const struct probed_file *f, const struct point_block *b, uint32_t nr,
		       char *block)
{
	struct probe_file *out = (struct probe_file *)block;
	size_t at = sizeof(*out) + nr * sizeof(struct probe_point);
	struct probe_point *point = out->points;
	const struct wanted_point *w;

	fill_file(f, nr, out);
	list_each(w, &b->points, in_block) {
		*point++ = (struct probe_point){
			.at = w->at,
			.counter = w->counter,
			.event = w->event->id,
			.flags = w->is_return ? PROBE_POINT_RETURN : 0,
			.code = at,
			.hits = w->hits,
			.plan = w->plan,
		};
		memcpy(block + at, w->code, w->code->bytes);
		at += round_up(w->code->bytes);
	}
}

/* Returns whether programs were told of it. */
static bool drop_block(struct point_table *t, struct probed_file *f, struct point_block *b)
{
	const bool had = b->ref;

	retire_later(t, b->ref, b->size);
	free(b->relative);
	b->relative = NULL;
	b->ref = 0;
	b->size = 0;
	f->nr_blocks -= had;
	return had;
}

static int new_block(struct point_table *t, struct probed_file *f, struct point_block *b,
		     char *relative, size_t size)
{
	config_ref ref = session_config_alloc(t->session, size);
	struct probe_file *out;

	drop_block(t, f, b);
	if (!ref) {
		free(relative);
		return -ENOMEM;
	}
	out = session_config(t->session, ref, size);
	memcpy(out, relative, size);
	for (uint32_t i = 0; i < out->nr; i++)
		out->points[i].code += ref;
	b->ref = ref;
	b->size = size;
	b->relative = relative;
	f->nr_blocks++;
	return 0;
}

/* Returns whether it has changed. */
static bool update_block(struct point_table *t, struct probed_file *f, struct point_block *b,
			 int *err)
{
	uint32_t nr;
	const size_t size = block_size(b, &nr);
	char *relative;

	if (!size)
		return drop_block(t, f, b);
	relative = calloc(1, size);
	if (!relative) {
		*err = -ENOMEM;
		return false;
	}
	fill_block(f, b, nr, relative);
	if (b->size == size && !memcmp(b->relative, relative, size)) {
		free(relative);
		return false;
	}
	if (new_block(t, f, b, relative, size))
		*err = -ENOMEM;
	return true;
}

/* A file without a number gets the lowest one that is free. */
static void file_number(struct list_head *files, struct probed_file *f)
{
	struct probed_file *other;
	bool again = f->number == 0;

	while (again) {
		f->number++;
		again = false;
		list_each(other, files, node)
			again |= other != f && other->number == f->number;
	}
}

bool points_update(struct point_table *t, struct list_head *files, struct probed_file *f, int *err)
{
	bool changed = false;

	for (unsigned int i = 0; f->blocks && i < POINT_BLOCKS; i++) {
		struct point_block *b = &f->blocks[i];

		if (!b->stale)
			continue;
		file_number(files, f);
		b->stale = false;
		changed |= update_block(t, f, b, err);
	}
	return changed;
}

void points_close(struct probed_file *f)
{
	for (unsigned int i = 0; f->blocks && i < POINT_BLOCKS; i++) {
		free(f->blocks[i].relative);
		f->blocks[i].relative = NULL;
	}
}

/* ---- the table ---- */

static void table_fill(struct probe_table *table, struct list_head *files)
{
	struct probed_file *f;

	list_each(f, files, node)
		for (unsigned int i = 0; f->nr_blocks && i < POINT_BLOCKS; i++)
			if (f->blocks[i].ref)
				table->files[table->nr++] = f->blocks[i].ref;
}

int points_publish(struct point_table *t, struct list_head *files)
{
	const config_ref sites = session_header(t->session)->sites;
	struct site_control *control = session_config(t->session, sites, sizeof(*control));
	struct probe_table *table = NULL;
	struct probed_file *f;
	config_ref ref = 0;
	uint32_t nr = 0;
	size_t size;

	list_each(f, files, node)
		nr += f->nr_blocks;
	size = sizeof(*table) + nr * sizeof(table->files[0]);
	if (nr)
		ref = session_config_alloc(t->session, size);
	if (ref) {
		table = session_config(t->session, ref, size);
		table->nr = 0;
		table_fill(table, files);
	}
	session_publish(t->session, &control->probes, ref);
	retire_later(t, t->ref, t->size);
	t->ref = ref;
	t->size = ref ? size : 0;
	return nr && !ref ? -ENOMEM : 0;
}

bool points_unpublish(struct session *s)
{
	struct site_control *c = session_config(s, session_header(s)->sites, sizeof(*c));

	/* Relaxed: only the server stores it. */
	if (!atomic_load_explicit(&c->probes, memory_order_relaxed))
		return false;
	session_publish(s, &c->probes, 0);
	return true;
}
