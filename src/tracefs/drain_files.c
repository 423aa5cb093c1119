/* SPDX-License-Identifier: MIT */
/* drain_files.c - trace_pages: which pages of the buffer a reader may write to its file */
#include <errno.h>

#include "plane/ring/ring.h"
#include "session/ring/drain.h"
#include "tracefs/tree_state.h"

static int open_pages(struct tree_file *f)
{
	int err = ring_drain_open(f->tree->model->session, &f->drain);

	if (!err)
		f->at.inst->pipe_readers++;
	return err;
}

/*
 * Each read takes the pages that the one before has returned. A reader that could not write them
 * closes the file instead.
 */
static ssize_t drain_read_pages(struct tree_file *f, char *buf, size_t size, off_t off)
{
	struct drain_answer *answer = (struct drain_answer *)buf;

	if (size < sizeof(*answer))
		return -EINVAL;
	size = (size - sizeof(*answer)) / sizeof(struct drain_page);
	answer->subbuf_size = f->at.inst->subbuf_size;
	answer->nr = ring_drain_next(f->drain, instance_buffer(f->at.inst, 0),
				     (struct drain_page *)(answer + 1), (uint32_t)size);
	return (ssize_t)(sizeof(*answer) + answer->nr * sizeof(struct drain_page));
}

static void release_pages(struct tree_file *f)
{
	f->at.inst->pipe_readers--;
	ring_drain_close(f->drain);
}

const struct file_kind drain_kinds[] = {
	{ .name = "trace_pages", .mode = 0440, .open = open_pages, .read = drain_read_pages,
	  .release = release_pages, .hidden = true },
	{ 0 }
};
