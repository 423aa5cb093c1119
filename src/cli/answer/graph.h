/* SPDX-License-Identifier: MIT */
/*
 * graph.h - `tracefuse report --graph`: the calls of function_graph as a tree, by caller
 *
 *          total       self      calls       %  function
 *        1.50 ms     100 us          1   100.0  main
 *        1.40 ms     200 us         12    93.3    parse
 *        1.20 ms    1.20 ms        600    80.0      read_line
 */
#ifndef TRACEFUSE_CLI_ANSWER_GRAPH_H
#define TRACEFUSE_CLI_ANSWER_GRAPH_H

#include <stdbool.h>

#include "cli/answer/answer.h"

struct graph_asked {
	bool		on;		/* --graph */
	const char	*depth_text;	/* --depth; NULL: not given */
	const char	*min_text;	/* --min; NULL: not given */
	const char	*buffer_size;	/* --buffer-size; NULL: not given */
	unsigned int	depth;
	double		min;		/* percent */
};

/* Reads the options. Returns an exit status. */
int graph_check(const struct answer *a, struct graph_asked *g);
/* A file of the tracing directory, where the calls are recorded. The caller frees it. */
char *graph_file(const struct answer *a, const char *name);
/* `echo VALUE > FILE`; undo: what is written to the file at the end, in a session. 0, -ENOMEM */
int graph_echo(struct answer *a, const char *value, const char *name, const char *undo);
/* In a session: an instance, so that what others trace there stays as it is. 0, -ENOMEM */
int graph_apart(struct answer *a);
/*
 * Adds the lines of setup, before and behind those of the filter; a->own is the graph_asked. 0,
 * -ENOMEM
 */
int graph_begin(struct answer *a);
int graph_lines(struct answer *a);
/* Whether a session may have them. An exit status. */
int graph_may(const struct answer *a, struct access *access);
/* Prints the tree. An exit status. */
int graph_print(const struct answer *a, struct access *access);

/*
 * Reads the calls of a->file, which is a `trace`: each begin and each end has a line of its own
 * (show_calls_open()). The caller frees *text. 0, -errno
 */
int graph_read(const struct answer *a, struct access *access, char **text, size_t *len);
/* Whether the text of function_graph says that records of it are lost. */
bool graph_has_lost(const char *text);
/*
 * Says how many calls of a recording were left, and how many go on. lost: records are missing, so
 * some of the calls have only lost their ends.
 */
void graph_say_ends(size_t left, size_t open, bool lost);
/* Says how many of them ended before they began: clocks that differ, or a damaged file. */
void graph_say_backward(size_t nr);

#endif
