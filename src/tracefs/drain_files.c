/* SPDX-License-Identifier: MIT */
/* drain_files.c - trace_pages: which pages of the buffer a reader may write to its file */
#include <errno.h>

#include "plane/ring/ring.h"
#include "session/ring/drain.h"
#include "tracefs/tree_state.h"

/*
 * It is no reader in the kernel's sense: while it is open, the tracer may change, and the instance
 * may be removed. So it holds the top only.
 */
static int open_pages(struct tree_file *f)
{
	f->drain_of = f->at.inst->number;
	f->at.inst = f->tree->model->top;
	return ring_drain_open(f->tree->model->session, &f->drain);
}

/* NULL: it was removed. */
static struct instance *drained_instance(const struct tree_file *f)
{
	struct instance *inst;

	list_each(inst, &f->tree->model->instances, node)
		if (inst->number == f->drain_of)
			return inst;
	return NULL;
}

/* A recording has one size of pages: it stays from the first one on. */
static void begin_drain(struct tree_file *f, struct instance *inst)
{
	inst->drainers += !f->drains;
	f->drains = true;
}

enum { BEHIND_PART = 8 };

/* How many elements from this one on are of the same CPU. */
static uint32_t run_of(const struct drain_page *p, uint32_t nr)
{
	uint32_t n = 1;

	while (n < nr && p[n].cpu == p[0].cpu)
		n++;
	return n;
}

/* A CPU had that part of its ring, or all that it may have in one answer. */
static bool is_behind(const struct instance *inst, const struct drain_answer *answer, uint32_t most)
{
	const struct drain_page *p = (const struct drain_page *)(answer + 1);
	uint32_t n;

	for (uint32_t i = 0; i < answer->nr; i += n) {
		const uint64_t ring = inst->buffer_bytes[p[i].cpu] / inst->subbuf_size;
		uint64_t share = most / inst->model->nr_cpus, pages;

		n = run_of(p + i, answer->nr - i);
		pages = p[i].end == DRAIN_REFUSED ? 0 : n;
		if (p[i].end == DRAIN_MERGE) {
			pages = p[i].at;
			share = DRAIN_MERGED_MOST;
		}
		if (pages && (pages + 1 >= share || pages >= ring / BEHIND_PART))
			return true;
	}
	return false;
}

/*
 * Each read takes the pages that the one before has returned. A reader that could not write them
 * closes the file instead.
 */
static ssize_t drain_read_pages(struct tree_file *f, char *buf, size_t size, off_t off)
{
	struct drain_answer *answer = (struct drain_answer *)buf;
	struct instance *inst = drained_instance(f);

	if (!inst)
		return -ENODEV;
	if (size < sizeof(*answer))
		return -EINVAL;
	size = (size - sizeof(*answer)) / sizeof(struct drain_page);
	answer->subbuf_size = inst->subbuf_size;
	answer->nr = ring_drain_next(f->drain, instance_buffer(inst, 0),
				     (struct drain_page *)(answer + 1), (uint32_t)size);
	answer->behind = is_behind(inst, answer, (uint32_t)size);
	answer->pad = 0;
	if (answer->nr)
		begin_drain(f, inst);
	return (ssize_t)(sizeof(*answer) + answer->nr * sizeof(struct drain_page));
}

static void release_pages(struct tree_file *f)
{
	struct instance *inst = drained_instance(f);

	if (inst)
		inst->drainers -= f->drains;
	ring_drain_close(f->drain);
}

const struct file_kind drain_kinds[] = {
	{ .name = "trace_pages", .mode = 0440, .open = open_pages, .read = drain_read_pages,
	  .release = release_pages, .hidden = true },
	{ 0 }
};
