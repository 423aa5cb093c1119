/* SPDX-License-Identifier: MIT */
/* v0_const.c - the constants in a v0 name: arguments of types, lengths of arrays */
#include <string.h>

#include "model/demangle/v0.h"
#include "model/text.h"

/* Hexadecimal digits up to "_". -> where they begin */
static const char *read_digits(struct v0 *v, size_t *nr)
{
	const char *start = v->s + v->at;

	while (text_is_digit(v0_peek(v)) || (v0_peek(v) >= 'a' && v0_peek(v) <= 'f'))
		v->at++;
	*nr = (size_t)(v->s + v->at - start);
	v->bad |= !v0_eat(v, '_');
	return start;
}

/* False: it has more than 64 bits. */
static bool digits_number(const char *s, size_t nr, uint64_t *number)
{
	for (*number = 0; nr && *s == '0'; nr--)
		s++;
	for (size_t i = 0; i < nr && nr <= 16; i++)
		*number = *number << 4 | (uint64_t)(text_is_digit(s[i]) ? s[i] - '0' :
								       s[i] - 'a' + 10);
	return nr <= 16;
}

static void read_integer(struct v0 *v)
{
	size_t nr;
	const char *digits = read_digits(v, &nr);
	uint64_t number;

	if (digits_number(digits, nr, &number)) {
		v0_put_number(v, number);
	} else {
		v0_put(v, "0x");
		v0_put_bytes(v, digits, nr);
	}
}

static void read_bool_or_char(struct v0 *v, bool is_bool)
{
	size_t nr;
	const char *digits = read_digits(v, &nr);
	uint64_t c;

	v->bad |= !digits_number(digits, nr, &c) || c > (is_bool ? 1 : 0x10ffff);
	if (is_bool) {
		v0_put(v, c ? "true" : "false");
		return;
	}
	v0_put(v, "'");
	v0_put_char(v, (uint32_t)c, '\'');
	v0_put(v, "'");
}

/* One character of a text in UTF-8, each byte two digits. 0xffffffff: it is none. */
static uint32_t next_utf8(const char *digits, size_t nr, size_t *at)
{
	uint64_t byte, c = 0, more = 0;

	do {
		if (nr - *at < 2)
			return UINT32_MAX;
		digits_number(digits + *at, 2, &byte);
		*at += 2;
		if (more && (byte & 0xc0) != 0x80)
			return UINT32_MAX;
		if (more)
			c = c << 6 | (byte & 0x3f);
		else if (byte < 0x80)
			return (uint32_t)byte;
		else
			c = byte & (byte >= 0xf0 ? 7 : byte >= 0xe0 ? 15 : 31);
		more = more ? more - 1 : byte >= 0xf0 ? 3 : byte >= 0xe0 ? 2 : byte >= 0xc0 ? 1 : 9;
	} while (more && more < 9);
	return more ? UINT32_MAX : (uint32_t)c;
}

static void read_string(struct v0 *v)
{
	size_t nr, at = 0;
	const char *digits = read_digits(v, &nr);

	v0_put(v, "\"");
	while (at < nr && !v->bad) {
		const uint32_t c = next_utf8(digits, nr, &at);

		v->bad |= c == UINT32_MAX;
		v0_put_char(v, c, '"');
	}
	v0_put(v, "\"");
}

static void read_const_in_value(struct v0 *v)
{
	v0_const(v, true);
}

static void read_const_field(struct v0 *v)
{
	v0_field_name(v);
	v0_const(v, true);
}

/* A value of a struct or of an enumeration. */
static void read_variant(struct v0 *v)
{
	char form;

	v0_path(v, true);
	form = v0_next(v);
	if (form == 'T') {
		v0_put(v, "(");
		v0_list(v, read_const_in_value, ", ");
		v0_put(v, ")");
	} else if (form == 'S') {
		v0_put(v, " { ");
		v0_list(v, read_const_field, ", ");
		v0_put(v, " }");
	} else {
		v->bad |= form != 'U';
	}
}

/* What stands in braces where a type could stand. */
static void read_compound(struct v0 *v, char tag)
{
	if (tag == 'R' || tag == 'Q') {
		v0_put(v, tag == 'R' ? "&" : "&mut ");
		v0_const(v, true);
	} else if (tag == 'A') {
		v0_put(v, "[");
		v0_list(v, read_const_in_value, ", ");
		v0_put(v, "]");
	} else if (tag == 'T') {
		v0_tuple(v, read_const_in_value);
	} else if (tag == 'V') {
		read_variant(v);
	} else if (tag == 'e') {
		v0_put(v, "*");
		read_string(v);
	} else {
		v->bad = true;
	}
}

static void read_const_tag(struct v0 *v, char tag, bool in_value)
{
	size_t later;

	if (tag == 'p') {
		v0_put(v, "_");
	} else if (tag && strchr("htmyojaslxni", tag)) {
		if (strchr("aslxni", tag) && v0_eat(v, 'n'))
			v0_put(v, "-");
		read_integer(v);
	} else if (tag == 'b' || tag == 'c') {
		read_bool_or_char(v, tag == 'b');
	} else if (tag == 'R' && v0_eat(v, 'e')) {
		read_string(v);
	} else if (tag == 'B') {
		if (v0_go_back(v, &later))
			v0_const(v, in_value);
		v->at = later;
	} else {
		v0_put(v, in_value ? "" : "{");
		read_compound(v, tag);
		v0_put(v, in_value ? "" : "}");
	}
}

void v0_const(struct v0 *v, bool in_value)
{
	if (v0_enter(v))
		read_const_tag(v, v0_next(v), in_value);
	v0_leave(v);
}

void v0_pattern(struct v0 *v)
{
	const char form = v0_enter(v) ? v0_next(v) : '\0';

	if (form == 'R') {
		v0_const(v, true);
		v0_put(v, "..=");
		v0_const(v, true);
	} else if (form == 'O') {
		v0_list(v, v0_pattern, " | ");
	} else if (form == 'N') {
		v0_put(v, "!null");
	} else {
		v->bad = true;
	}
	v0_leave(v);
}
