/* SPDX-License-Identifier: MIT */
/*
 * fixture.h - a whole session inside the test: memory, model, tree, and a recording's events
 *
 * Included by the golden tests. One fixture is one booted kernel: open it, give
 * commands through its tree, close it.
 */
#ifndef TRACEFUSE_TESTS_GOLDEN_FIXTURE_H
#define TRACEFUSE_TESTS_GOLDEN_FIXTURE_H

#include <stddef.h>

struct session;
struct model;
struct tree;
struct source;

struct fixture {
	struct session	*session;
	struct model	*model;
	struct source	*source;
	struct tree	*tree;
};

/* Opens a private session with the events of the recordings (one window). 0 or -errno. */
int fixture_open(const char *const *recordings, unsigned int nr, struct fixture *out);
/* The same; source_run() has at most so many threads. */
int fixture_open_threads(const char *const *recordings, unsigned int nr, unsigned int threads,
		       struct fixture *out);
void fixture_close(struct fixture *h);

/* Functions that can be traced, from a file as available_filter_functions_addrs. 0 or -errno. */
int fixture_functions(struct fixture *h, const char *file);

/* What a program's open, write until all is taken, close saw. */
struct answer {
	int	open_errno, write_errno, close_errno;
	int	nr_writes;
	long	writes[64];
};

/* op: "w" truncates, "a" appends, "mkdir", "rmdir", "r" reads and forgets. */
struct answer fixture_command(struct fixture *h, const char *op, const char *file, const char *text,
			      size_t len);

/* The whole of a file, 0-terminated (free it); *err: errno of open or read. */
char *fixture_read(struct fixture *h, const char *file, size_t max, size_t *len, int *err);

#endif
