/* SPDX-License-Identifier: MIT */
/*
 * house.h - a whole session inside the test: memory, model, tree, and a recording's events
 *
 * Included by the golden tests. One house is one booted kernel: open it, give
 * commands through its tree, close it.
 */
#ifndef TRACEFUSE_TESTS_GOLDEN_HOUSE_H
#define TRACEFUSE_TESTS_GOLDEN_HOUSE_H

#include <stddef.h>

struct session;
struct model;
struct tree;
struct source;

struct house {
	struct session	*session;
	struct model	*model;
	struct source	*source;
	struct tree	*tree;
};

/* Opens a private session with the events of the recordings (one window). 0 or -errno. */
int house_open(const char *const *recordings, unsigned int nr, struct house *out);
/* The same; source_run() has at most so many threads. */
int house_open_threads(const char *const *recordings, unsigned int nr, unsigned int threads,
		       struct house *out);
void house_close(struct house *h);

/* Functions that can be traced, from a file as available_filter_functions_addrs. 0 or -errno. */
int house_functions(struct house *h, const char *file);

/* What a program's open, write until all is taken, close saw. */
struct answer {
	int	open_errno, write_errno, close_errno;
	int	nr_writes;
	long	writes[64];
};

/* op: "w" truncates, "a" appends, "mkdir", "rmdir", "r" reads and forgets. */
struct answer house_command(struct house *h, const char *op, const char *file, const char *text, size_t len);

/* The whole of a file, 0-terminated (free it); *err: errno of open or read. */
char *house_read(struct house *h, const char *file, size_t max, size_t *len, int *err);

#endif
