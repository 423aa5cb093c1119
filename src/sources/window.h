/* SPDX-License-Identifier: MIT */
/*
 * window.h - all CPUs of all files that were given, as one sequence in order of time
 *
 * Where two records have the same time stamp the lower CPU goes first, as in
 * the kernel's own merge; of one CPU in two files the file given first.
 *
 *     heap[0] is the stream with the oldest present record
 */
#ifndef TRACEFUSE_SOURCES_WINDOW_H
#define TRACEFUSE_SOURCES_WINDOW_H

#include "sources/stream.h"

struct window {
	struct source_memory memory;	/* of all files */
	unsigned int	nr_files;
	struct trace_dat **files;
	unsigned int	nr_streams;
	struct stream	*streams;
	unsigned int	nr_heap;
	struct stream	**heap;
	bool		partial;	/* damage ends the stream that has it */
	bool		damaged;
	struct source_error damage;	/* the first that was met */
};

int window_open(struct window *w, const struct source_params *params, struct source_error *err);
void window_close(struct window *w);
/* Before the first record of all. 0, or -EPROTO, -ENOMEM (w->damage). */
int window_rewind(struct window *w);

/* The stream whose present record is the next one of the window; NULL at the end. */
static inline struct stream *window_first(const struct window *w)
{
	return w->nr_heap ? w->heap[0] : NULL;
}

/*
 * Goes on to the next record of window_first()'s stream. Returns that stream's
 * state: 1 it has a record, 0 it is at its end, -EPROTO, -ENOMEM.
 */
int window_pull(struct window *w);
/* Takes a stream out that is at its end. */
void window_drop(struct window *w);
/* Puts the stream that was pulled where its new record belongs. */
void window_settle(struct window *w);

#endif
