/* SPDX-License-Identifier: MIT */
/*
 * mask.h - takes out of a file's text what differs from one boot to the next
 *
 * Included by the golden tests. Both the kernel's text and ours go through it.
 */
#ifndef TRACEFUSE_TESTS_GOLDEN_MASK_H
#define TRACEFUSE_TESTS_GOLDEN_MASK_H

#include <stdbool.h>

/* The pointers that one kernel has printed so far, numbered as they came. */
struct pointers {
	char		*seen[64];
	unsigned int	nr;
};

void pointers_forget(struct pointers *p);

/* Every function here takes the text over and returns a new one. */

/* Replaces each match of an extended regular expression by `with`. */
char *mask_all(char *text, const char *pattern, const char *with);

/*
 * hist_data: the first pointer that this kernel printed becomes #1, and so on:
 * one structure has one number in all files. Before it can hash, the kernel
 * prints the same mark for every pointer: these stay.
 */
char *mask_pointers(struct pointers *p, char *text);
bool mask_unhashed(const char *text);

/* By the file's name: times in error_log, ids of dynamic events, now in stats. */
char *mask_file(const char *file, char *text);

/*
 * A trace of synthetic events: their time is that of their making. What is
 * determined is the order on each CPU, so the text is put in order of CPUs.
 * Lines of the events of `only` lose their time (NULL: all do).
 */
char *mask_synthetic_times(char *text, const char *only);

#endif
