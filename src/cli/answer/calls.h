/* SPDX-License-Identifier: MIT */
/*
 * calls.h - the calls of a recording, from what function_graph prints with options/funcgraph-proc,
 * funcgraph-tail and funcgraph-abstime:
 *
 *   1500.000100 |   0)   bash-49     |               |  vfs_read() {
 *   1500.000102 |   0)   bash-49     |   1.612 us    |    mutex_lock();
 *   1500.000204 |   0)   bash-49     |   104.807 us  |  } [comment with the name]
 *
 * How far a line is indented says how deep its call is. A call that is left by an exception or by
 * longjmp() has no line for its end: what follows is less deep, and comes soon after that end.
 */
#ifndef TRACEFUSE_CLI_ANSWER_CALLS_H
#define TRACEFUSE_CLI_ANSWER_CALLS_H

#include <stdbool.h>
#include <stddef.h>

struct calls_line {
	/* The thread; the idle tasks, which all have the pid 0, are negative numbers */
	long		pid;
	size_t		depth;
	const char	*name;
	double		at;		/* ns; 0: the text has no times */
	double		ns;		/* of an end */
	bool		backward;	/* that is before its begin, by its clock: then ns is 0 */
};

/* When the call began that ends there. */
static inline double calls_begin(const struct calls_line *line)
{
	return line->at > line->ns ? line->at - line->ns : line->at;
}

/*
 * What happens in the text, call by call. The begin of an outer call may be missing, and the end
 * of any. The names are in the text. What these return, other than 0, ends the reading.
 */
struct calls_reader {
	int		(*begins)(void *arg, const struct calls_line *line);
	int		(*ends)(void *arg, const struct calls_line *line);
	void		*arg;
};

/* Reads the text, which it changes. 0, or what a function of the reader returned. */
int calls_read(char *text, const struct calls_reader *r);

/* All calls of one function; times in ns. One that goes on lasts to its thread's last line. */
struct calls_sum {
	const char	*name;		/* in the text */
	size_t		calls;
	size_t		left, open;	/* how many of them were left, or go on */
	size_t		backward;	/* ended before they began: their time counts as 0 */
	/* total: without calls while the same function ran; sum: with them */
	double		total, sum, self, p50, p99, longest;
};

/*
 * Reads the text, which it changes, and calls fn for each function. What fn returns ends it. 0,
 * -ENOMEM, or that
 */
int calls_each(char *text, int (*fn)(void *arg, const struct calls_sum *sum), void *arg);

#endif
