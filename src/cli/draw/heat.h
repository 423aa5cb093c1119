/* SPDX-License-Identifier: MIT */
/*
 * heat.h - a heat map on a terminal: time goes down, a key's values across, shades are counts
 *
 *     sched:sched_switch, next_pid, a row each 0.02 s
 *     @ is more than 19 hits, each lighter shade half of that
 *                    ~ 2^0                                       ~ 2^6
 *         2.500000s |                            =======+++++++*******| 7
 *         2.520000s |%%%%%%%                     =======       @@@@@@@| 41
 *
 *     hist.json -> cells {time, place on the axis, hits} -> rows
 *
 * The axis has the numbers that the histogram has, evenly: of .log2 and .exp=SCALE their ranges. If
 * the terminal is not wide enough, a column is several of them.
 */
#ifndef TRACEFUSE_CLI_DRAW_HEAT_H
#define TRACEFUSE_CLI_DRAW_HEAT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/draw/draw.h"

struct heat_cell {
	double		time, at;
	unsigned long long hits;
};

/* The values of a key that were seen so far, which only become more. */
struct heat_axis {
	bool		any;
	double		low, high, step;
	char		*low_text, *high_text;
};

struct heat {
	struct draw_shape shape;
	bool		colours;	/* of a terminal, besides the shades */
	uint64_t	every;		/* ns, of a row */
	struct heat_axis axis;
	unsigned long long most;	/* hits of a column of a row */
	/* The head that was printed last: a new one if these grew. */
	double		told_low, told_high;
	unsigned long long told_most;
	struct heat_cell *cells;	/* by time, then by place */
	size_t		nr;
	/* Of a session: what the histogram had at the last row. By place. */
	struct heat_cell *before;
	size_t		nr_before;
	double		start;		/* ns, by CLOCK_MONOTONIC */
};

/* `every`: ns of a row. Free it in any case. */
void heat_begin(struct heat *h, uint64_t every);
void heat_free(struct heat *h);
/*
 * Prints all rows of a histogram with the keys common_timestamp.buckets=EVERY and another one. 0,
 * -ENOMEM, -EPROTO; -EDOM: the other key is no number
 */
int heat_print(struct heat *h, const json_t *hist, FILE *out);
/* Prints one row of a histogram with one key: what has come since the last call. The same. */
int heat_print_next(struct heat *h, const json_t *hist, FILE *out);

#endif
