/* SPDX-License-Identifier: MIT */
/*
 * call_tree.h - the calls of a recording as a tree: which function calls which, and how long that
 * takes
 *
 *     main
 *       parse          all calls of parse() by main()
 *         read_line    all calls of read_line() by those
 *       print
 *
 * It is made of the text of function_graph (calls.h). The calls of all threads are in one tree.
 */
#ifndef TRACEFUSE_CLI_ANSWER_CALL_TREE_H
#define TRACEFUSE_CLI_ANSWER_CALL_TREE_H

#include <stddef.h>

/* What is called deeper than that is part of its caller's own time. */
enum { CALL_TREE_DEPTH = 128 };

/* All calls of a function that came the same way. */
struct call_tree_node {
	const char	*name;		/* in the text */
	struct call_tree_node *children, *next;
	struct call_tree_node *made;		/* the one that was made before */
	size_t		calls;
	/* In ns. A call that goes on lasts to its thread's last line. */
	double		total, below;
};

struct call_tree {
	struct call_tree_node root;		/* stands for the begin of all threads */
	struct call_tree_node *last;		/* that was made */
	size_t		open;		/* calls that have not returned */
	size_t		left;		/* calls that were left: by an exception, or longjmp() */
	size_t		deep;		/* calls below CALL_TREE_DEPTH */
	size_t		backward;	/* as in struct calls_sum */
};

/* Reads the text, which it changes and which has to stay. 0, -ENOMEM. Free it in any case. */
int call_tree_read(char *text, struct call_tree *out);
void call_tree_free(struct call_tree *t);
/* Sorts what a node calls: compare gets two nodes as struct call_tree_node *const *. 0, -ENOMEM */
int call_tree_sort(struct call_tree_node *n, int (*compare)(const void *a, const void *b));

#endif
