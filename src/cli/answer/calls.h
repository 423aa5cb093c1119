/* SPDX-License-Identifier: MIT */
/*
 * calls.h - the calls of a recording, from what function_graph prints with options/funcgraph-proc
 * and funcgraph-tail:
 *
 *        bash-49     |               |  vfs_read() {
 *        bash-49     |   1.612 us    |    mutex_lock();
 *        bash-49     |   104.807 us  |  } [comment with the name]
 */
#ifndef TRACEFUSE_CLI_ANSWER_CALLS_H
#define TRACEFUSE_CLI_ANSWER_CALLS_H

#include <stddef.h>

/*
 * What happens in the text, call by call. The begin of an outer call may be missing, and the end
 * of any. The names are in the text. What these return, other than 0, ends the reading.
 */
struct calls_reader {
	int		(*begins)(void *arg, long pid, const char *name);
	int		(*ends)(void *arg, long pid, const char *name, double ns);
	void		*arg;
};

/* Reads the text, which it changes. 0, or what a function of the reader returned. */
int calls_read(char *text, const struct calls_reader *r);

/* All calls of one function that have returned; times in ns. */
struct calls_sum {
	const char	*name;		/* in the text */
	size_t		calls;
	/* total: without calls while the same function ran; sum: with them */
	double		total, sum, self, p50, p99, longest;
};

/*
 * Reads the text, which it changes, and calls fn for each function. What fn returns ends it. 0,
 * -ENOMEM, or that
 */
int calls_each(char *text, int (*fn)(void *arg, const struct calls_sum *sum), void *arg);

#endif
