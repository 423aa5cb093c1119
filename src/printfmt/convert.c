/* SPDX-License-Identifier: MIT */
/* convert.c - splits a format's text into pieces once, and prints each piece with its value */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

#include "printfmt/node.h"
#include "session/array.h"

enum { WIDTH_MAX = 4096 };

static bool parse_flag(char c, struct show_spec *spec)
{
	switch (c) {
	case '-':
		return spec->left = true;
	case '+':
		return spec->plus = true;
	case ' ':
		return spec->space = true;
	case '#':
		return spec->special = true;
	case '0':
		return spec->zero = true;
	default:
		return false;
	}
}

static int parse_width(const char **at, bool *from_arg)
{
	int v = 0;

	if (**at == '*') {
		++*at;
		*from_arg = true;
		return -1;
	}
	while (isdigit((unsigned char)**at)) {
		v = v * 10 + *(*at)++ - '0';
		if (v > WIDTH_MAX)
			v = WIDTH_MAX;
	}
	return v;
}

static uint8_t parse_length(const char **at, uint8_t long_size)
{
	const char *s = *at;
	uint8_t bytes = 4;

	if (*s == 'h') {
		bytes = s[1] == 'h' ? 1 : 2;
		s += s[1] == 'h' ? 2 : 1;
	} else if (*s == 'l' && s[1] == 'l') {
		bytes = 8;
		s += 2;
	} else if (*s == 'L' || *s == 'q' || *s == 'j') {
		bytes = 8;
		s++;
	} else if (*s == 'l' || *s == 'z' || *s == 'Z' || *s == 't') {
		bytes = long_size;
		s++;
	}
	*at = s;
	return bytes;
}

static int parse_conversion(struct print_piece *p, const char **at)
{
	char c = *(*at)++;
	int i;

	p->conversion = c == 'i' ? 'd' : c;
	p->spec.base = c == 'x' || c == 'X' ? 16 : c == 'o' ? 8 : 10;
	p->spec.upper = c == 'X';
	p->spec.is_signed = p->conversion == 'd';
	if (c == 'p')
		for (i = 0; isalnum((unsigned char)**at); ++*at)
			if (i < (int)sizeof(p->pointer) - 1)
				p->pointer[i++] = **at;
	return c && strchr("duxXocspi", c) ? 0 : -EINVAL;
}

/* Parses a conversion; *at is behind its '%'. */
static int parse_piece(struct print_piece *p, const char **at, uint8_t long_size)
{
	p->spec = (struct show_spec){ .width = -1, .precision = -1, .base = 10 };
	while (parse_flag(**at, &p->spec))
		++*at;
	if (**at == '*' || isdigit((unsigned char)**at))
		p->spec.width = parse_width(at, &p->width_arg);
	if (**at == '.') {
		++*at;
		p->spec.precision = parse_width(at, &p->precision_arg);
	}
	p->bytes = parse_length(at, long_size);
	return parse_conversion(p, at);
}

/* Takes literal text up to a conversion, with %% resolved. */
static int take_literal(struct print_piece *p, const char **at)
{
	char *out = p->text = malloc(strlen(*at) + 1), *less;

	if (!out)
		return -ENOMEM;
	while (**at && (**at != '%' || (*at)[1] == '%')) {
		*at += **at == '%';
		*out++ = *(*at)++;
	}
	*out = 0;
	p->len = (uint32_t)(out - p->text);
	less = realloc(p->text, p->len + 1);
	p->text = less ? less : p->text;
	return 0;
}

int print_split(const char *fmt, unsigned int long_size, struct print_piece **pieces,
		unsigned int *nr)
{
	struct print_piece *list = NULL;
	unsigned int n = 0;
	int err = 0;

	do {
		err = array_room(&list, n, sizeof(*list));
		if (err)
			break;
		memset(&list[n], 0, sizeof(*list));
		err = take_literal(&list[n], &fmt);
		if (!err && *fmt == '%') {
			fmt++;
			err = parse_piece(&list[n], &fmt, (uint8_t)long_size);
		}
		n++;
	} while (!err && *fmt);
	if (err) {
		print_pieces_free(list, n);
		return err;
	}
	*pieces = list;
	*nr = n;
	return 0;
}

void print_pieces_free(struct print_piece *pieces, unsigned int nr)
{
	while (nr--)
		free(pieces[nr].text);
	free(pieces);
}

static void convert_string(const struct show_spec *spec, const struct print_value *v,
			   struct print_env *env, struct show_text *out)
{
	const char *s = value_bytes(v, env);
	size_t max = v->len;

	if (!value_has_bytes(v)) {
		s = v->number ? print_string_at(env, v->number) : "(null)";
		if (!s) {
			text_put(out, "(0x", 3);
			text_hex(out, v->number, 1);
			text_putc(out, ')');
			return;
		}
		max = strlen(s);
	}
	if (spec->precision >= 0 && (size_t)spec->precision < max)
		max = (size_t)spec->precision;
	text_padded(out, s, strnlen(s, max), spec);
}

/*
 * The number for a conversion whose argument is bytes. The kernel prints their address; here the
 * number is what the bytes contain.
 */
static uint64_t number_of(const struct print_value *v)
{
	uint64_t n = 0;

	if (!v->data)
		return v->in_scratch ? 0 : v->number;
	memcpy(&n, v->data, v->len < 8 ? v->len : 8);
	return n;
}

void print_convert(const struct print_piece *p, const struct show_spec *spec,
		   const struct print_value *v, struct print_env *env, struct show_text *out)
{
	uint64_t n;
	char c;

	switch (p->conversion) {
	case 's':
		convert_string(spec, v, env, out);
		break;
	case 'p':
		print_pointer(p, spec, v, env, out);
		break;
	case 'c':
		c = (char)number_of(v);
		text_padded(out, &c, 1, spec);
		break;
	default:
		n = value_fit(number_of(v), p->bytes, spec->is_signed);
		if (p->conversion == 'u' && spec->width < 0 && spec->precision < 0)
			text_decimal(out, n, 0, ' ');
		else
			text_number(out, n, spec);
	}
}
