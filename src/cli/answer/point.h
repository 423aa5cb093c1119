/* SPDX-License-Identifier: MIT */
/*
 * point.h - what `tracefuse latency` measures from or to: an event, or a function's entry or return
 *
 *     SYSTEM:EVENT                      that event
 *     [FILE:]FUNCTION[%return]          a probe, which is made: latency:FUNCTION[_return]
 *
 * FUNCTION is of the program, or else of the libraries that it needs: a symbol, or a name of C++ or
 * Rust as in the source, "ns::f". FILE is a path, or the name of such a library.
 */
#ifndef TRACEFUSE_CLI_ANSWER_POINT_H
#define TRACEFUSE_CLI_ANSWER_POINT_H

#include "cli/answer/answer.h"

struct answer_point {
	struct answer_event event;
	char		*file;		/* of the function; NULL: it is an event */
	char		*function;	/* its symbol */
	char		*called;	/* as in the source; NULL: as the symbol */
	bool		returns;
};

/* Returns an exit status. The caller frees in any case. */
int answer_point_read(const struct answer *a, const char *text, struct answer_point *out);
/* The same of a text that means a function, without %return. */
int answer_point_function(const struct answer *a, const char *text, struct answer_point *out);
/* Makes `out` the return of the function whose entry `entry` is. An exit status. */
int answer_point_return(const struct answer *a, const struct answer_point *entry,
			struct answer_point *out);
/*
 * Adds the line that makes the probe with its arguments, "sp=%sp". Nothing for an event. 0, -ENOMEM
 */
int answer_point_add(struct answer *a, const struct answer_point *p, const char *arguments);
void answer_point_free(struct answer_point *p);

#endif
