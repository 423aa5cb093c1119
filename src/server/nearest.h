/* SPDX-License-Identifier: MIT */
/*
 * nearest.h - how far one name is from another: for "did you mean"
 */
#ifndef TRACEFUSE_SERVER_NEAREST_H
#define TRACEFUSE_SERVER_NEAREST_H

#include <stddef.h>

/*
 * Two for each letter to add, drop or change, one to swap it with its neighbour, which fingers do
 * most.
 */
unsigned int nearest_distance(const char *a, size_t na, const char *b, size_t nb);
/*
 * How far from a word of this length another one may be to count as almost the same, in the same
 * units.
 */
unsigned int nearest_tolerance(size_t len);

/*
 * Those of a text's lines, up to a blank, that are almost `pattern`, the nearest first: "foo, bar"
 * into out, or "". Stars at the end or the beginning of the pattern stand for what they stand for;
 * with others nothing is near.
 */
void nearest_names(const char *pattern, const char *lines, char *out, size_t size);

#endif
