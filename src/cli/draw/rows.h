/* SPDX-License-Identifier: MIT */
/*
 * rows.h - the entries of a histogram as rows: read from its JSON, and sorted
 *
 * Included by draw/ and web/.
 */
#ifndef TRACEFUSE_CLI_DRAW_ROWS_H
#define TRACEFUSE_CLI_DRAW_ROWS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

struct row {
	char		*label;		/* the axis, or all keys */
	size_t		apart;		/* that many bytes of it no other row begins with */
	char		*group;		/* the other keys; "": there are none */
	double		value;		/* on the axis */
	double		low, high;	/* of a range; equal: it is none */
	unsigned long long hits;
	const json_t	*entry;
};

/* Stands in a label between a function and the one that called it. */
#define ROWS_CALLED " < "

struct rows {
	struct row	*v;
	size_t		nr;
	const char	*axis;		/* the key's field; NULL: no key is a number */
	const char	*modifier;	/* that key's; "": it has none */
	size_t		axis_key;	/* which one of the keys it is */
	bool		ranges;
	bool		stacks;		/* labels are stacks: functions with ROWS_CALLED between */
	unsigned long long hits, most;	/* of all rows together, and of the largest */
};

/*
 * Symbols of C++ and Rust among the keys get their names of the source (names.c). *d: NULL, or what
 * an earlier call has made; the caller destroys it.
 */
struct demangler;
void rows_make_readable(struct demangler **d, const json_t *hist);
/* Reads the rows of one histogram. 0, -ENOMEM, -EPROTO. Free them in any case. */
int rows_read(const json_t *hist, struct rows *out);
/*
 * Without an axis: entries with one text become one row. A key with .sym is another entry for each
 * address of a function, as in the kernel, and a symbol's name of the source may be that of two.
 * Sets row.apart.
 */
void rows_merge(struct rows *rows);
void rows_free(struct rows *rows);
/*
 * A value or a range with its text in the JSON. Of a field named ns or ..._ns it is printed with
 * the unit of time that fits.
 */
void rows_print_range(const char *field, double low, double high, const char *text, FILE *out);
/* Nanoseconds with the unit of time that fits; a range, if `high` is more than `low`. */
void rows_print_time(double low, double high, FILE *out);
/* A text of the JSON, for a terminal: control characters and bytes that are no UTF-8 are \xNN. */
void rows_print_text(const char *text, FILE *out);
/*
 * The text of a key, which may be a stack: the same, and a backslash in the text that would look
 * like the first of \xNN is \x5c. So texts that differ stay different.
 */
void rows_print_key(const json_t *text, FILE *out);
/* How many of the bytes are a character of UTF-8 that can be shown. 0: not the first of them. */
size_t rows_shown_length(const unsigned char *s, size_t n);
/* Whether a field has nanoseconds: ns, or ..._ns. */
bool rows_is_time(const char *field);
/* What row.group is for these keys. The caller frees it. NULL: no memory. */
char *rows_keys_text(const json_t *keys);
/* The text of one number on an axis: with its sign, if it is negative. The same. */
char *rows_axis_text(const json_t *key);
/* The text of one key, without its name, with `between` the functions of a stack. The same. */
char *rows_key_text(const json_t *key, const char *between);

#endif
