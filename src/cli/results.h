/* SPDX-License-Identifier: MIT */
/*
 * results.h - the results of a command: a trace.dat, files of the tree, and lines about losses
 *
 *     results_open()      before anything runs: checks that all of it can be written
 *     results_write()     writes files first, then prints to stdout
 *     results_close()
 *
 * These functions print errors and return an exit status.
 */
#ifndef TRACEFUSE_CLI_RESULTS_H
#define TRACEFUSE_CLI_RESULTS_H

#include <stdbool.h>

struct access;
struct drain;
struct asked;
struct output;
struct source;

struct results {
	const struct asked *asked;	/* -o, --cat, --save */
	struct output	*dat;		/* NULL: no -o */
	struct drain	*drain;		/* writes it; NULL: results_write() does */
	/* Set before results_write(): */
	bool		quiet;		/* -q of the command */
	bool		ends;		/* the session ends with the command */
	bool		kernel;		/* it has events of the kernel */
	struct output	**saved;	/* one for each --cat; NULL: they go to stdout */
	/* -o or --cat was not written completely, and not because a reader closed its pipe. */
	bool		unsaved_dat, unsaved_cats;
	bool		reader_left;	/* of stdout, and nothing else is lost */
};

int results_open(struct results *r, const struct asked *asked);
/* `uname`: as in struct save_dat. */
int results_write(struct results *r, struct access *a, const char *uname);
void results_close(struct results *r);

/*
 * From then on this prints what the --cat files have, in place of the files: for commands that run
 * another one (answer/). It returns an exit status.
 */
void results_print_by(int (*print)(void *arg, struct access *a), void *arg);

/* Prints a line to stderr for each place where events were lost. */
void results_print_losses(struct source *src);

#endif
