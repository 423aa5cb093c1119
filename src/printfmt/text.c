/* SPDX-License-Identifier: MIT */
/*
 * text.c - growing text; numbers with the kernel's meaning of flags, width and precision
 */
#include <stdio.h>
#include <stdlib.h>

#include "printfmt/text.h"

enum { TEXT_FIRST = 16 * 1024, NUMBER_MAX = 24 };

bool text_reserve(struct show_text *t, size_t n)
{
	size_t cap = t->cap ? t->cap : TEXT_FIRST;
	char *bytes;

	if (t->cap - t->len >= n)
		return true;
	while (cap - t->len < n)
		cap *= 2;
	bytes = realloc(t->bytes, cap);
	if (!bytes) {
		t->failed = true;
		return false;
	}
	t->bytes = bytes;
	t->cap = cap;
	return true;
}

void text_free(struct show_text *t)
{
	free(t->bytes);
	memset(t, 0, sizeof(*t));
}

void text_printf(struct show_text *t, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0 || !text_reserve(t, (size_t)n + 1))
		return;
	va_start(ap, fmt);
	vsnprintf(t->bytes + t->len, (size_t)n + 1, fmt, ap);
	va_end(ap);
	t->len += (size_t)n;
}

/* The digits end at `end`; returns where they begin. */
static char *digits_before(char *end, uint64_t v, unsigned int base, bool upper)
{
	const char *set = upper ? "0123456789ABCDEF" : "0123456789abcdef";

	do {
		if (base == 16) {
			*--end = set[v & 15];
			v >>= 4;
		} else if (base == 8) {
			*--end = set[v & 7];
			v >>= 3;
		} else {
			*--end = (char)('0' + v % 10);
			v /= 10;
		}
	} while (v);
	return end;
}

void text_decimal(struct show_text *t, uint64_t value, int width, char pad)
{
	char number[NUMBER_MAX];
	char *s = digits_before(number + NUMBER_MAX, value, 10, false);
	int n = (int)(number + NUMBER_MAX - s);

	text_fill(t, pad, width - n);
	text_put(t, s, (size_t)n);
}

void text_hex(struct show_text *t, uint64_t value, int digits)
{
	char number[NUMBER_MAX];
	char *s = digits_before(number + NUMBER_MAX, value, 16, false);
	int n = (int)(number + NUMBER_MAX - s);

	text_fill(t, '0', digits - n);
	text_put(t, s, (size_t)n);
}

static char sign_of(uint64_t *v, const struct show_spec *spec)
{
	if (!spec->is_signed)
		return 0;
	if ((int64_t)*v < 0) {
		*v = -*v;
		return '-';
	}
	return spec->plus ? '+' : spec->space ? ' ' : 0;
}

/* Makes the prefix of the digits: sign, 0x. Unlike in C, a 0 has 0x before it, too. */
static int prefix_of(char *out, char sign, const struct show_spec *spec)
{
	int n = 0;

	if (sign)
		out[n++] = sign;
	if (spec->special && spec->base != 10)
		out[n++] = '0';
	if (spec->special && spec->base == 16)
		out[n++] = spec->upper ? 'X' : 'x';
	return n;
}

void text_number(struct show_text *t, uint64_t value, const struct show_spec *spec)
{
	char number[NUMBER_MAX], prefix[4];
	char sign = sign_of(&value, spec);
	int before = prefix_of(prefix, sign, spec);
	char *s = digits_before(number + NUMBER_MAX, value, spec->base, spec->upper);
	int n = (int)(number + NUMBER_MAX - s);
	int zeros = spec->precision > n ? spec->precision - n : 0;
	int pad = spec->width - before - zeros - n;

	if (!spec->left && !(spec->zero && spec->precision < 0)) {
		text_fill(t, ' ', pad);
	} else if (!spec->left && pad > 0) {
		zeros += pad;
	}
	text_put(t, prefix, (size_t)before);
	text_fill(t, '0', zeros);
	text_put(t, s, (size_t)n);
	if (spec->left)
		text_fill(t, ' ', pad);
}

void text_padded(struct show_text *t, const char *s, size_t n, const struct show_spec *spec)
{
	int pad = spec->width > 0 && (size_t)spec->width > n ? spec->width - (int)n : 0;

	if (!spec->left)
		text_fill(t, ' ', pad);
	text_put(t, s, n);
	if (spec->left)
		text_fill(t, ' ', pad);
}
