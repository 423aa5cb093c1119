/* SPDX-License-Identifier: MIT */
/*
 * fixture.h - a whole session inside the test: memory, model, tree, and a recording's events
 *
 * Included by the golden tests. A fixture is like a booted kernel: a test opens it, writes commands
 * to the files of its tree, and closes it.
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

/* Opens a private session with the events of the recordings, which are merged. 0 or -errno. */
int fixture_open(const char *const *recordings, unsigned int nr, struct fixture *out);
/* The same, with a limit of threads for source_run(). */
int fixture_open_threads(const char *const *recordings, unsigned int nr, unsigned int threads,
		       struct fixture *out);
void fixture_close(struct fixture *h);

/*
 * For a child of fork(): the session's memory is copied, so that nothing that the child does with
 * the fixture changes its parent's. The child closes it. 0 or -errno.
 */
int fixture_split(struct fixture *h);

/*
 * Adds functions that can be traced, from a file like available_filter_functions_addrs. 0 or
 * -errno.
 */
int fixture_functions(struct fixture *h, const char *file);

/* What a program sees that opens a file, writes until everything is taken, and closes it. */
struct answer {
	int	open_errno, write_errno, close_errno;
	int	nr_writes;
	long	writes[64];
};

/*
 * Runs an operation. op: "w" truncates, "a" appends, "mkdir", "rmdir", "r" reads and drops the
 * text.
 */
struct answer fixture_command(struct fixture *h, const char *op, const char *file, const char *text,
			      size_t len);

/*
 * Reads a whole file as a 0-terminated text, which the caller frees. *err: errno of open or read.
 */
char *fixture_read(struct fixture *h, const char *file, size_t max, size_t *len, int *err);

#endif
