/* SPDX-License-Identifier: MIT */
/*
 * mask.h - replaces those parts of a file's text that differ from one boot to the next
 *
 * Included by the golden tests. Both the kernel's text and ours are masked.
 */
#ifndef TRACEFUSE_TESTS_GOLDEN_MASK_H
#define TRACEFUSE_TESTS_GOLDEN_MASK_H

#include <stdbool.h>

/* The pointers that a kernel has printed so far, numbered in their order. */
struct pointers {
	char		*seen[64];
	unsigned int	nr;
};

void pointers_forget(struct pointers *p);

/* Each function here frees the text and returns a new one. */

/* Replaces each match of an extended regular expression by `with`. */
char *mask_all(char *text, const char *pattern, const char *with);

/*
 * Masks pointers of hist_data: the first one that this kernel printed becomes #1, and so on, so a
 * structure has the same number in all files. Before the kernel can hash, it prints the same mark
 * for each pointer; these marks stay.
 */
char *mask_pointers(struct pointers *p, char *text);
bool mask_unhashed(const char *text);

/* Masks by the file's name: times in error_log, ids of dynamic events, "now" in stats. */
char *mask_file(const char *file, char *text);

/*
 * Masks times in a trace of synthetic events, which have the time when they were made. Only their
 * order on each CPU is determined, so the text is sorted by CPU. Lines of the events in `only` lose
 * their time; NULL: all lines do.
 */
char *mask_synthetic_times(char *text, const char *only);

#endif
