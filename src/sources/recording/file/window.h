/* SPDX-License-Identifier: MIT */
/*
 * window.h - all CPUs of all files that were given, as one sequence in order of time
 *
 * Where two records have the same time stamp the lower CPU goes first, as in
 * the kernel's own merge; of one CPU in two files the file given first.
 *
 * A tournament: each node keeps the loser of its match, and the winner of all is `first`. When the
 * winner's stream has gone on, its matches up to the top are played again, without a branch: which
 * CPU is next cannot be predicted.
 *
 *                 losers[1]
 *            losers[2]     losers[3]
 *     leaf   0      1      2      3      in order of CPU, and of files
 */
#ifndef TRACEFUSE_SOURCES_RECORDING_FILE_WINDOW_H
#define TRACEFUSE_SOURCES_RECORDING_FILE_WINDOW_H

#include "sources/recording/file/stream.h"

struct window_leaf {
	uint64_t	time;		/* of the present record */
	/* of equal times the lowest is first; at its end: behind all */
	uint32_t	place;
	struct stream	*stream;
};

struct window {
	struct source_memory memory;	/* of all files */
	unsigned int	nr_files;
	struct trace_dat **files;
	unsigned int	nr_streams;
	struct stream	*streams;
	unsigned int	nr_live;	/* streams that have a record */
	uint32_t	first;		/* leaf */
	struct window_leaf *leaves;
	uint32_t	*losers;
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
	return w->nr_live ? w->leaves[w->first].stream : NULL;
}

static inline uint32_t window_before(const struct window *w, uint32_t a, uint32_t b)
{
	const struct window_leaf *x = &w->leaves[a], *y = &w->leaves[b];

	return (x->time < y->time) | ((x->time == y->time) & (x->place < y->place));
}

/* The matches of the winner's leaf, played again. */
static inline void window_play(struct window *w)
{
	uint32_t winner = w->first, node, swap;

	for (node = (winner + w->nr_streams) / 2; node; node /= 2) {
		swap = (w->losers[node] ^ winner) &
		       (0 - window_before(w, w->losers[node], winner));
		w->losers[node] ^= swap;
		winner ^= swap;
	}
	w->first = winner;
}

/* What window_pull() does where stream_next_quickly() has no record. */
int window_pull_more(struct window *w, int ret);

/*
 * Goes on to the next record of window_first()'s stream. Returns that stream's
 * state: 1 it has a record, 0 it is at its end, -EPROTO, -ENOMEM.
 */
static inline int window_pull(struct window *w)
{
	int ret = stream_next_quickly(w->leaves[w->first].stream);

	return __builtin_expect(ret > 0, 1) ? ret : window_pull_more(w, ret);
}

/* Puts the stream that was pulled where its new record belongs. */
static inline void window_settle(struct window *w)
{
	w->leaves[w->first].time = w->leaves[w->first].stream->record.time;
	window_play(w);
}

/* Takes a stream out that is at its end. */
void window_drop(struct window *w);

#endif
