/* SPDX-License-Identifier: MIT */
/*
 * writing.h - reads and writes of the tree's files as a client of the server makes them: some have
 * to be tried again, while the test plays the server's loop
 */
#ifndef TRACEFUSE_TESTS_SOURCES_WRITING_H
#define TRACEFUSE_TESTS_SOURCES_WRITING_H

#include <fcntl.h>
#include <string.h>

#include "cat.h"
#include "fixture.h"

/* A write, as a client of the server makes it: it may have to be tried again. */
struct writing {
	struct tree_file *file;
	const char	*text;
	struct tree_wrote wrote;
	ssize_t		n;		/* what it has returned so far */
};

static ssize_t write_on(struct writing *w)
{
	w->n = tree_write_by(w->file, 0, w->text, strlen(w->text), &w->wrote);
	return w->n;
}

static ssize_t write_begin(struct writing *w, const char *path, const char *text)
{
	*w = (struct writing){ .text = text };
	assert_int_equal(tree_open(tree, path, O_WRONLY | O_APPEND, &w->file), 0);
	return write_on(w);
}

static void loop_once(void)
{
	struct pollfd p = { .fd = programs_fd(programs), .events = POLLIN };

	poll(&p, 1, programs_tick(programs));
	tree_tend(tree);
	if (conn >= 0)
		attach_serve(session);
}

/* As the server's loop does. Returns what was written. */
static ssize_t write_end(struct writing *w)
{
	while (w->n == -EINPROGRESS) {
		loop_once();
		write_on(w);
	}
	tree_release(w->file);
	return w->n;
}

static ssize_t put(const char *path, const char *text)
{
	struct writing w;

	write_begin(&w, path, text);
	return write_end(&w);
}

#endif
