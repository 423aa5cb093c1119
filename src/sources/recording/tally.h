/* SPDX-License-Identifier: MIT */
/*
 * tally.h - histograms of a recording whose records are counted in any order, on several CPUs
 *
 * If hits only add to sums, the result does not depend on their order. Then the streams are not
 * merged: they are cut into pieces, and each worker takes the next piece and counts it in maps of
 * its own.
 *
 *     stream 0: | piece | piece | piece |      worker 0: maps --+
 *     stream 1: | piece | piece |              worker 1: maps --+--> maps of the session
 *
 * T1  tally_plan.c alone decides whether order can be seen. What it does not
 *     know can be seen.
 * T2  Until tally_run() gives 0 the session and the window are as they were:
 *     what is met on the way and needs the order (a record that is recorded, a
 *     full map, damage) ends it, and the run in order begins at the first record.
 *     So every error message, --partial and `drops` are that run's.
 * T3  A worker writes its own memory and the results of the pieces that it took.
 *     Which piece is next is one relaxed counter: all that pieces say was
 *     written before the threads began, and is read after they were joined.
 */
#ifndef TRACEFUSE_SOURCES_RECORDING_TALLY_H
#define TRACEFUSE_SOURCES_RECORDING_TALLY_H

#include "plane/map/map.h"
#include "plane/code.h"
#include "sources/recording/source_state.h"

enum {
	TALLY_HISTS_MAX	= 64,
	TALLY_PASSED	= 0,	/* of_type: such a record needs no work */
	TALLY_ORDERED	= 1,	/* such a record needs the order */
	TALLY_FIRST	= 2,	/* and above: 2 + index of a tally_event */
};

/* A hist trigger, which counts in a map of the worker. */
struct tally_hist {
	struct code	*code;	/* a copy; its map is an offset in the worker's memory */
	const struct code *filter;	/* NULL: none */
	unsigned int	map;
};

/* An event; its triggers are hists[first] to hists[first + nr - 1]. */
struct tally_event {
	unsigned int	first, nr;
};

/* A map of the session, and the place of a worker's map with the same keys and sums. */
struct tally_map {
	data_ref	real, own;
	const struct map_layout *layout;	/* layout of the session's map */
	struct map_layout own_layout;
	uint64_t	raised;		/* bit k: sum k is a minimum or a maximum (OP_RAISE) */
};

struct tally_plan {
	unsigned int	nr_events, nr_hists, nr_maps;
	uint64_t	bytes;		/* size of a worker's memory */
	data_ref	slot, scratch;	/* places in it that code needs while it runs */
	struct tally_event events[TALLY_HISTS_MAX];
	struct tally_hist hists[TALLY_HISTS_MAX];
	struct tally_map maps[TALLY_HISTS_MAX];
	uint16_t	of_type[LAYOUT_MAX_EVENTS];
};

/* 0; 1: the order matters; -ENOMEM. The caller calls tally_plan_free() in any case. */
int tally_plan_make(const struct source *src, struct tally_plan **out);
void tally_plan_free(struct tally_plan *plan);

/*
 * Counts all records, from the first to the last, by at most `threads` threads (0: one for each CPU
 * of this process). 0; 1: nothing was done, the records have to pass in order. `passed` is called
 * now and then.
 */
int tally_run(struct source *src, unsigned int threads, void (*passed)(void *arg), void *arg);

#endif
