/* SPDX-License-Identifier: MIT */
/*
 * progress.h - how far long work on a recording is, in a line on a terminal
 *
 *     replay:  45 %  12.1 M records, 3.4 M/s, 4 s left
 *
 * It goes to stderr if that is a terminal, from the second on that the work takes, and is removed
 * at the end.
 */
#ifndef TRACEFUSE_CLI_PROGRESS_H
#define TRACEFUSE_CLI_PROGRESS_H

#include <stdbool.h>

struct source;

struct progress {
	const char	*what;
	const struct source *source;
	double		start;
	double		last;	/* when it was printed; 0: it was not yet */
	bool		shown;
};

/* quiet: nothing is printed. */
void progress_begin(struct progress *p, const char *what, const struct source *source,
		    bool quiet);
/* Called again and again during the work; arg: the struct progress. */
void progress_show(void *arg);
void progress_end(const struct progress *p);

#endif
