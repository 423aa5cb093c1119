/* SPDX-License-Identifier: MIT */
/*
 * table.h - a table of numbers and names: the answers of `tracefuse report`, `syscalls` ...
 *
 *       calls     total       avg  function
 *        1000   1.45 ms   1.45 us  parse_line
 *
 * Texts come last, and may be indented. The last one may have several lines, for a stack. Names of
 * C++ and Rust functions are printed as their programmers write them.
 */
#ifndef TRACEFUSE_CLI_DRAW_TABLE_H
#define TRACEFUSE_CLI_DRAW_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum table_kind {
	TABLE_COUNT, TABLE_TIME, TABLE_BYTES, TABLE_PERCENT, TABLE_TEXT,
};

struct table_column {
	const char	*head;
	enum table_kind	kind;
};

enum { TABLE_COLUMNS = 10 };

union table_cell {
	double		number;		/* of a time in ns; negative: not known */
	char		*text;		/* the table's own; NULL: none */
};

struct table_row {
	union table_cell cell[TABLE_COLUMNS];
};

struct table {
	const struct table_column *columns;
	unsigned int	nr_columns;
	struct table_row *rows;
	size_t		nr;
};

/* A row of zeros; NULL: out of memory. It is valid until the next call. */
struct table_row *table_add(struct table *t);
/* The column with this head; -1: there is none. */
int table_column(const struct table *t, const char *head);
/* The largest numbers first, a text in its order; equal ones by the texts. */
void table_sort(struct table *t, unsigned int column);
/* Prints the first `lines` rows, 0: all, and how many are left out. 0, -ENOMEM */
int table_print(const struct table *t, unsigned int lines, FILE *out);
void table_free(struct table *t);

#endif
