/* SPDX-License-Identifier: MIT */
/*
 * progress.h - how far long work is, in a line on a terminal
 *
 *     replay:  45 %  12.1 M records, 3.4 M/s, 4 s left
 *     save:  45 %  310.5 MB, 120.0 MB/s, 3 s left
 *
 * It goes to stderr if that is a terminal, from the second on that the work takes, and is removed
 * at the end.
 */
#ifndef TRACEFUSE_CLI_PROGRESS_H
#define TRACEFUSE_CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct source;

struct progress {
	const char	*what;
	const struct source *source;	/* a recording is read; NULL: bytes are counted */
	uint64_t	bytes, total_bytes;	/* total 0: not known */
	double		start;
	double		last;	/* when it was printed; 0: it was not yet */
	bool		shown;
};

/* quiet: nothing is printed. */
void progress_begin(struct progress *p, const char *what, const struct source *source,
		    bool quiet);
/* The same for work that counts bytes; total_bytes is about how many there will be. */
void progress_begin_bytes(struct progress *p, const char *what, uint64_t total_bytes, bool quiet);
/* Counts bytes, and shows how far it is. */
void progress_add(struct progress *p, uint64_t bytes);
/* Called again and again during the work; arg: the struct progress. */
void progress_show(void *arg);
void progress_end(const struct progress *p);

#endif
