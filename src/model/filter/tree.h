/* SPDX-License-Identifier: MIT */
/*
 * tree.h - a filter between its text and its code; only for the files of this folder
 *
 * "a == 1 && !(b > 2 || c & 4)": terms are numbered in the order of the text, and op n of the code
 * is the op of term n. So "continue with the right side" means "go to its first term":
 *
 *         AND first 0
 *        /	\
 *     term 0      OR first 1, inverted        op 0: a == 1   true -> 1     false -> 4
 *                /            \               op 1: b > 2    true -> 4     false -> 2
 *             term 1        term 2            op 2: c & 4    true -> 4     false -> 3
 *                                             op 3: accept   op 4: reject
 */
#ifndef TRACEFUSE_MODEL_FILTER_TREE_H
#define TRACEFUSE_MODEL_FILTER_TREE_H

#include "model/filter/filter.h"

enum filter_error {
	FILTER_OK,
	FILTER_INVALID_OP,
	FILTER_TOO_MANY_OPEN,
	FILTER_TOO_MANY_CLOSE,
	FILTER_MISSING_QUOTE,
	FILTER_MISSING_BRACE_OPEN,
	FILTER_MISSING_BRACE_CLOSE,
	FILTER_OPERAND_TOO_LONG,
	FILTER_EXPECT_STRING,
	FILTER_EXPECT_DIGIT,
	FILTER_ILLEGAL_FIELD_OP,
	FILTER_FIELD_NOT_FOUND,
	FILTER_ILLEGAL_INTVAL,
	FILTER_BAD_SUBSYS_FILTER,
	FILTER_TOO_MANY_PREDS,
	FILTER_INVALID_FILTER,
	FILTER_INVALID_CPULIST,
	FILTER_INVALID_VALUE,
	FILTER_NO_FUNCTION,
	FILTER_NO_FILTER,
	FILTER_ERROR_COUNT
};

enum node_kind { NODE_TERM, NODE_AND, NODE_OR };

struct filter_node {
	enum node_kind	kind;
	bool		inverted;
	uint16_t	first;		/* number of its leftmost term */
	struct op	op;		/* NODE_TERM */
	struct filter_node *left, *right;
};

struct filter_parser {
	struct event	*event;
	const char	*text;
	/* FILTER_OK with an errno: the kernel has no words for the error */
	enum filter_error error;
	unsigned int	error_pos;

	struct filter_node *nodes;	/* Room for max_terms terms and the nodes that join them */
	unsigned int	nr_nodes;
	unsigned int	nr_terms, max_terms;
	char		*pool;		/* the operands; op.imm is an offset in it */
	size_t		pool_size;
};

struct filter {
	char		*text;		/* the text that the file shows */
	struct op	*ops;		/* NULL: the filter has an error */
	unsigned int	nr_ops;
	char		*pool;
	size_t		pool_size;
};

/* Returns -EINVAL and notes the error at `at` (the kernel's positions are one further). */
int filter_fail(struct filter_parser *p, enum filter_error error, const char *at);

/* Parses one "FIELD OP VALUE" at *s, which moves behind it. */
int filter_parse_term(struct filter_parser *p, const char **s, struct op *op);

/* Compiles the terms of the tree to ops with their branches. 0, -ENOMEM */
int filter_emit(const struct filter_parser *p, const struct filter_node *root, struct filter *out);

/* Adds the error to the text and to the log (NULL: none). */
void filter_note_error(struct filter *f, enum filter_error error, unsigned int pos,
		       struct errlog *log);
/* Makes a filter that has only its text. 0, -ENOMEM */
int filter_make(const char *text, struct filter **out);

#endif
