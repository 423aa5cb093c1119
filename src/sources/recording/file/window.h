/* SPDX-License-Identifier: MIT */
/*
 * window.h - all CPUs of all files as one sequence in order of time
 *
 * If two records have the same time stamp, the lower CPU comes first, as in the kernel's own merge.
 * If two files have the same CPU, the file that was given first comes first.
 *
 * It is a tournament: each node has the loser of its match, and `first` is the winner of all. When
 * the winner's stream has a new record, its matches up to the top are played again. That uses no
 * branch, because which CPU comes next cannot be predicted.
 *
 *                 losers[1]
 *            losers[2]     losers[3]
 *     leaf   0      1      2      3      in order of CPU, and of files
 */
#ifndef TRACEFUSE_SOURCES_RECORDING_FILE_WINDOW_H
#define TRACEFUSE_SOURCES_RECORDING_FILE_WINDOW_H

#include "sources/recording/file/stream.h"

struct window_leaf {
	/* At equal times the lowest comes first. At its end a stream comes last. */
	uint64_t	place;
	uint64_t	time;		/* time of the present record */
	struct stream	*stream;
	uint64_t	node;		/* its first match; 0: there is no other stream */
};

struct window {
	struct source_memory memory;	/* shared by all files */
	unsigned int	nr_files;
	struct trace_dat **files;
	unsigned int	nr_streams;
	struct stream	*streams;
	unsigned int	nr_live;	/* streams that have a record */
	struct window_leaf *first;	/* the winner */
	struct window_leaf *leaves;
	uintptr_t	*losers;	/* by match: struct window_leaf */
	bool		partial;	/* damage ends its stream, not the run */
	bool		damaged;
	struct source_error damage;	/* the first damage */
};

int window_open(struct window *w, const struct source_params *params, struct source_error *err);
void window_close(struct window *w);
/* Goes to before the first record. 0, or -EPROTO or -ENOMEM with w->damage filled. */
int window_rewind(struct window *w);

/* The stream that has the window's next record; NULL at the end. */
static inline struct stream *window_first(const struct window *w)
{
	return w->nr_live ? w->first->stream : NULL;
}

/* A number for both, because a CPU compares it without a jump. */
static inline unsigned __int128 window_order(const struct window_leaf *l)
{
	return (unsigned __int128)l->time << 64 | l->place;
}

/*
 * Plays the matches of the winner's leaf again. Who wins cannot be predicted, so nothing here jumps
 * by it.
 */
static inline void window_play(struct window *w)
{
	uintptr_t winner = (uintptr_t)w->first, loser, swap;

	for (uint64_t node = w->first->node; node; node /= 2) {
		loser = w->losers[node];
		swap = (loser ^ winner) &
		       (0 - (uintptr_t)(window_order((const struct window_leaf *)loser) <
					window_order((const struct window_leaf *)winner)));
		w->losers[node] = loser ^ swap;
		winner ^= swap;
	}
	w->first = (struct window_leaf *)winner;
}

/* The part of window_pull() for a stream without a record in stream_next_quickly(). */
int window_pull_more(struct window *w, int ret);

/*
 * Moves the stream of window_first() to its next record. Returns 1 if it has one, 0 at its end,
 * -EPROTO, or -ENOMEM.
 */
static inline int window_pull(struct window *w)
{
	int ret = stream_next_quickly(w->first->stream);

	return __builtin_expect(ret > 0, 1) ? ret : window_pull_more(w, ret);
}

/* Call it after window_pull(): moves the stream to the place of its new record. */
static inline void window_settle(struct window *w)
{
	w->first->time = w->first->stream->record.time;
	window_play(w);
}

/* has.c: whether there is a record of that type; true if that cannot be known. */
bool window_has(const struct window *w, uint32_t id);
/* Removes a stream that is at its end. */
void window_drop(struct window *w);

#endif
