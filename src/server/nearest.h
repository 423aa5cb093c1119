/* SPDX-License-Identifier: MIT */
/*
 * nearest.h - how far one name is from another: for "did you mean"
 */
#ifndef TRACEFUSE_SERVER_NEAREST_H
#define TRACEFUSE_SERVER_NEAREST_H

#include <stddef.h>

/*
 * 2 for each letter to add, drop or change; 1 to swap a letter with its neighbour, the most
 * frequent slip.
 */
unsigned int nearest_distance(const char *a, size_t na, const char *b, size_t nb);
/*
 * How far another name may be from a word of this length to count as almost the same, in the same
 * units.
 */
unsigned int nearest_tolerance(size_t len);

/*
 * Puts the names that are almost `pattern` into out, the nearest first: "foo, bar", or "". A name
 * is a line of the text up to a blank. A star at the begin or the end of the pattern stands for any
 * characters; with other stars no name is near.
 */
void nearest_names(const char *pattern, const char *lines, char *out, size_t size);

#endif
