/* SPDX-License-Identifier: MIT */
/*
 * results.h - what a command writes at its end: a trace.dat, files of the tree, and what was lost
 *
 *     results_open()      before anything runs: whether all of it can be written
 *     results_write()     first what goes into files, then what is printed
 *     results_close()
 *
 * These print what is wrong and return an exit status.
 */
#ifndef TRACEFUSE_CLI_RESULTS_H
#define TRACEFUSE_CLI_RESULTS_H

#include <stdbool.h>

struct access;
struct asked;
struct output;
struct source;

struct results {
	const struct asked *asked;	/* -o, --cat, --save */
	struct output	*dat;		/* NULL: no -o */
	struct output	**saved;	/* one for each --cat; NULL: they go to stdout */
	/* Not written, or not as a whole, and it was not the reader who went away: -o, --cat. */
	bool		unsaved_dat, unsaved_cats;
};

int results_open(struct results *r, const struct asked *asked);
/* `uname`: as in struct save_dat */
int results_write(struct results *r, struct access *a, const char *uname);
void results_close(struct results *r);

/* A line to stderr for each place where events were lost. */
void results_print_losses(struct source *src);

#endif
