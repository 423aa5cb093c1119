/* SPDX-License-Identifier: MIT */
/*
 * text.h - a buffer of text that grows, and numbers as the kernel prints them
 *
 *     bytes: | given out | ............ text ............ | room |
 *                        start                            len    cap
 *
 * Included by show_*.c and print_*.c. If memory runs out, the functions set `failed` and drop what
 * does not fit. The caller checks it once, at the end of a record.
 */
#ifndef TRACEFUSE_PRINTFMT_TEXT_H
#define TRACEFUSE_PRINTFMT_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct show_text {
	char	*bytes;
	size_t	len, cap;
	bool	failed;
};

/* One conversion of a format: %[flags][width][.precision]conversion. */
struct show_spec {
	int	width;		/* -1: none */
	int	precision;	/* -1: none */
	uint8_t	base;
	bool	left, plus, space, special, zero, is_signed, upper;
};

/* Makes room for n more bytes. False: no memory. */
bool text_reserve(struct show_text *t, size_t n);
void text_free(struct show_text *t);
void text_printf(struct show_text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* `value` has 64 bits, sign-extended if the spec is signed. */
void text_number(struct show_text *t, uint64_t value, const struct show_spec *spec);
/* A string of n bytes, padded to the spec's width. */
void text_padded(struct show_text *t, const char *s, size_t n, const struct show_spec *spec);
/* Decimal, right-aligned in `width` with blanks or zeros. */
void text_decimal(struct show_text *t, uint64_t value, int width, char pad);
/* Lower-case hex, at least `digits` digits. */
void text_hex(struct show_text *t, uint64_t value, int digits);

static inline void text_put(struct show_text *t, const void *s, size_t n)
{
	if (t->cap - t->len < n && !text_reserve(t, n))
		return;
	memcpy(t->bytes + t->len, s, n);
	t->len += n;
}

static inline void text_puts(struct show_text *t, const char *s)
{
	text_put(t, s, strlen(s));
}

static inline void text_putc(struct show_text *t, char c)
{
	if (t->cap == t->len && !text_reserve(t, 1))
		return;
	t->bytes[t->len++] = c;
}

static inline void text_fill(struct show_text *t, char c, int n)
{
	if (n <= 0 || !text_reserve(t, (size_t)n))
		return;
	memset(t->bytes + t->len, c, (size_t)n);
	t->len += (size_t)n;
}

#endif
