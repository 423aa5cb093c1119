/* SPDX-License-Identifier: MIT */
/*
 * results.h - what a command prints at its end: files of the tree, and what was lost
 */
#ifndef TRACEFUSE_FRONTS_RESULTS_H
#define TRACEFUSE_FRONTS_RESULTS_H

struct access;
struct source;

/* The --cat files: to stdout, or (--save) into `dir`, which may be NULL, with / written as __. An exit status. */
int results_print(struct access *a, const char *const *files, unsigned int nr, const char *dir);

/* A line to stderr for each place where events were lost. */
void results_print_losses(struct source *src);

#endif
