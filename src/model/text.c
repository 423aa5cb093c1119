/* SPDX-License-Identifier: MIT */
/*
 * text.c - words and numbers as the kernel reads them in its control files
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "model/text.h"

bool text_same(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

int text_set(char **where, const char *text)
{
	char *copy = strdup(text);

	if (!copy)
		return -ENOMEM;
	free(*where);
	*where = copy;
	return 0;
}

char *text_skip_spaces(const char *s)
{
	while (text_is_space(*s))
		s++;
	return (char *)s;
}

char *text_strip(char *s)
{
	size_t len = strlen(s);

	while (len && text_is_space(s[len - 1]))
		len--;
	s[len] = '\0';
	return text_skip_spaces(s);
}

const char *text_next_line(const char *s)
{
	s += strcspn(s, "\n");
	return s + (*s == '\n');
}

/* The value of a digit in bases up to 16; 16: it is no digit. */
static unsigned int digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return (unsigned int)(c - '0');
	if (c >= 'a' && c <= 'f')
		return (unsigned int)(c - 'a') + 10;
	if (c >= 'A' && c <= 'F')
		return (unsigned int)(c - 'A') + 10;
	return 16;
}

static bool has_hex_prefix(const char *s)
{
	return s[0] == '0' && (s[1] == 'x' || s[1] == 'X');
}

static const char *skip_prefix(const char *s, unsigned int *base)
{
	if (*base == 0) {
		if (*s != '0')
			*base = 10;
		else
			*base = has_hex_prefix(s) && digit_value(s[2]) < 16 ? 16 : 8;
	}
	return *base == 16 && has_hex_prefix(s) ? s + 2 : s;
}

static int digits_to_u64(const char *s, unsigned int base, uint64_t *out)
{
	const char *start = skip_prefix(s, &base), *p;
	uint64_t v = 0;
	bool overflow = false;

	for (p = start; digit_value(*p) < base; p++) {
		overflow |= __builtin_mul_overflow(v, (uint64_t)base, &v);
		overflow |= __builtin_add_overflow(v, (uint64_t)digit_value(*p), &v);
	}
	if (overflow)
		return -ERANGE;
	if (p == start)
		return -EINVAL;
	if (*p == '\n')
		p++;
	if (*p)
		return -EINVAL;
	*out = v;
	return 0;
}

int text_to_u64(const char *s, unsigned int base, uint64_t *out)
{
	return digits_to_u64(*s == '+' ? s + 1 : s, base, out);
}

int text_to_s64(const char *s, unsigned int base, int64_t *out)
{
	uint64_t v;
	int err;

	if (*s == '-') {
		err = digits_to_u64(s + 1, base, &v);
		if (!err && v > (uint64_t)INT64_MAX + 1)
			err = -ERANGE;
		if (!err)
			*out = (int64_t)(0 - v);
		return err;
	}
	err = text_to_u64(s, base, &v);
	if (!err && v > INT64_MAX)
		err = -ERANGE;
	if (!err)
		*out = (int64_t)v;
	return err;
}

int text_to_u64_len(const char *s, size_t len, unsigned int base, uint64_t *out)
{
	/* Sign, 64 binary digits, newline. A longer text is truncated, as in the kernel */
	char buf[67];

	if (len > sizeof(buf) - 1)
		len = sizeof(buf) - 1;
	memcpy(buf, s, len);
	buf[len] = '\0';
	return text_to_u64(buf, base, out);
}

ssize_t text_word(const char *s, size_t len, char *word, size_t size)
{
	size_t i = 0, n = 0;

	while (i < len && text_is_space(s[i]))
		i++;
	for (; i < len && !text_is_space(s[i]) && s[i]; i++) {
		if (n == size - 1)
			return -EINVAL;
		word[n++] = s[i];
	}
	word[n] = '\0';
	return (ssize_t)(i < len ? i + 1 : i);
}

/* One region in a list of bits: of the bits start .. end, the first `used` of every `group`. */
struct region {
	uint32_t	start, end, used, group;
};

static bool region_ends(char c)
{
	return !c || c == ',' || text_is_space(c);
}

static int region_number(const char **s, uint32_t last, uint32_t *out)
{
	uint64_t v = 0;

	if (**s == 'N') {
		(*s)++;
		*out = last;
		return 0;
	}
	if (!text_is_digit(**s))
		return -EINVAL;
	for (; text_is_digit(**s); (*s)++) {
		v = v * 10 + digit_value(**s);
		if (v > UINT32_MAX)
			return -EOVERFLOW;
	}
	*out = (uint32_t)v;
	return 0;
}

static int region_pattern(const char **s, uint32_t last, struct region *r)
{
	int err;

	if (region_ends(**s)) {
		r->used = r->group = r->end + 1;
		return 0;
	}
	if (*(*s)++ != ':')
		return -EINVAL;
	err = region_number(s, last, &r->used);
	if (err)
		return err;
	if (*(*s)++ != '/')
		return -EINVAL;
	return region_number(s, last, &r->group);
}

static int region_parse(const char **s, uint32_t last, struct region *r)
{
	int err;

	if (!strncasecmp(*s, "all", 3)) {
		*s += 3;
		r->start = 0;
		r->end = last;
		return region_pattern(s, last, r);
	}
	err = region_number(s, last, &r->start);
	if (err)
		return err;
	r->end = r->start;
	if (region_ends(**s))
		return region_pattern(s, last, r);
	if (*(*s)++ != '-')
		return -EINVAL;
	err = region_number(s, last, &r->end);
	return err ? err : region_pattern(s, last, r);
}

int text_to_mask(const char *s, uint64_t *mask, unsigned int nr_bits)
{
	struct region r;
	int err;

	memset(mask, 0, ((size_t)nr_bits + 63) / 64 * sizeof(*mask));
	for (;;) {
		while (*s && *s != '\n' && region_ends(*s))
			s++;
		if (!*s || *s == '\n')
			return 0;
		err = region_parse(&s, nr_bits - 1, &r);
		if (err)
			return err;
		if (r.start > r.end || !r.group || r.used > r.group)
			return -EINVAL;
		if (r.end >= nr_bits)
			return -ERANGE;
		for (uint32_t bit = r.start; bit <= r.end; bit++)
			if ((bit - r.start) % r.group < r.used)
				mask[bit / 64] |= 1ull << bit % 64;
	}
}
