/* SPDX-License-Identifier: MIT */
/* json.c - JSON texts of an export */
#include <inttypes.h>
#include <string.h>

#include "export/form.h"

void export_digits(uint64_t v, FILE *out)
{
	char digits[20];
	size_t at = sizeof(digits);

	do
		digits[--at] = (char)('0' + v % 10);
	while (v /= 10);
	fwrite_unlocked(digits + at, 1, sizeof(digits) - at, out);
}

/* How many bytes are one character of UTF-8; 0: they are none. */
static unsigned int utf8_length(const unsigned char *s, size_t n)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const unsigned int len = s[0] < 0xc0 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
	uint32_t c = len ? s[0] & (0x7fu >> len) : 0;

	if (!len || len > n || s[0] > 0xf4)
		return 0;
	for (unsigned int i = 1; i < len; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	return c >= least[len] && c <= 0x10ffff && (c < 0xd800 || c > 0xdfff) ? len : 0;
}

static bool json_plain(unsigned char c)
{
	return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

/* Prints a character that cannot stand for itself. Returns how many bytes it has. */
static size_t json_special(const unsigned char *s, size_t n, FILE *out)
{
	const unsigned int more = utf8_length(s, n);

	if (more)
		fwrite_unlocked(s, 1, more, out);
	else if (*s == '"' || *s == '\\')
		fprintf(out, "\\%c", *s);
	else
		fprintf(out, "\\u%04x", *s);
	return more ? more : 1;
}

void export_json_text(const char *text, size_t len, FILE *out)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t i = 0, plain;

	len = strnlen(text, len);
	putc_unlocked('"', out);
	while (i < len) {
		for (plain = i; plain < len && json_plain(s[plain]); plain++)
			;
		fwrite_unlocked(s + i, 1, plain - i, out);
		i = plain < len ? plain + json_special(s + plain, len - plain, out) : len;
	}
	putc_unlocked('"', out);
}

/* Readers keep numbers as doubles: larger ones are texts. */
static void json_number(uint64_t v, bool is_signed, FILE *out)
{
	const int64_t exact = 1ll << 53;

	if (is_signed && (int64_t)v < 0 && (int64_t)v > -exact)
		putc_unlocked('-', out);
	if (is_signed && (int64_t)v < 0 && (int64_t)v > -exact)
		export_digits(-v, out);
	else if (v < (uint64_t)exact)
		export_digits(v, out);
	else
		fprintf(out, "\"0x%" PRIx64 "\"", v);
}

static void json_code(struct export_run *x, uint64_t address)
{
	export_json_text(export_address_name(x, address), SIZE_MAX, x->out);
}

static void json_array(struct export_run *x, const struct export_value *v)
{
	putc_unlocked('[', x->out);
	for (size_t i = 0; (i + 1) * v->width <= v->len; i++) {
		if (i)
			putc_unlocked(',', x->out);
		if (v->is_code)
			json_code(x, export_value_at(v, i));
		else
			json_number(export_value_at(v, i), v->is_signed, x->out);
	}
	putc_unlocked(']', x->out);
}

void export_json_value(struct export_run *x, const char *name, const struct export_value *v)
{
	export_json_text(name, SIZE_MAX, x->out);
	putc_unlocked(':', x->out);
	switch (v->kind) {
	case VALUE_UNSIGNED:
	case VALUE_SIGNED:
		json_number(v->number, v->kind == VALUE_SIGNED, x->out);
		break;
	case VALUE_TEXT:
		export_json_text((const char *)v->bytes, v->len, x->out);
		break;
	case VALUE_ADDRESS:
		json_code(x, v->number);
		break;
	case VALUE_ARRAY:
		json_array(x, v);
		break;
	default:
		fputs_unlocked("null", x->out);
	}
}
