/* SPDX-License-Identifier: MIT */
/*
 * draw.h - histograms as bars, from their JSON (model/hist/json.c)
 *
 *     hist.json -> rows, in groups of equal other keys -> one bar a row
 *
 * The axis is the last key that has ranges (.log2, .buckets, .exp), else the last one that is a
 * number. Without a number each entry is a row, the largest first.
 */
#ifndef TRACEFUSE_CLI_DRAW_DRAW_H
#define TRACEFUSE_CLI_DRAW_DRAW_H

#include <stdbool.h>

struct access;

struct draw_shape {
	unsigned int	columns;	/* of a line */
	bool		utf8;		/* bars of U+2588 and its parts, else of # */
};

/* The terminal's width, 80 columns without one; UTF-8 by the locale's variables. */
struct draw_shape draw_shape(void);

/* Whether the file is a histogram: "events/SYSTEM/EVENT/hist". */
bool draw_is_hist(const char *file);
/*
 * Reads the histogram and prints it drawn to stdout, as wide as the terminal (80 columns without
 * one). Prints what is wrong. Returns an exit status.
 */
int draw_file(struct access *a, const char *file);

#endif
