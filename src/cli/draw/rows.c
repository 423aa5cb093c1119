/* SPDX-License-Identifier: MIT */
/* rows.c - see rows.h */
#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/draw/rows.h"
#include "model/text_memory.h"

/* ---- keys ---- */

static const char *modifier_of(const json_t *key)
{
	const char *modifier = json_string_value(json_object_get(key, "modifier"));

	return modifier ? modifier : "";
}

static bool has_ranges(const json_t *key)
{
	const char *m = modifier_of(key);

	return !strcmp(m, "log2") || !strcmp(m, "buckets") || !strcmp(m, "exp");
}

/* An address (.hex) is none, unless the histogram has percentiles of it. */
static bool is_number(const json_t *key, bool hex)
{
	const char *m = modifier_of(key);

	return json_is_number(json_object_get(key, "raw")) &&
	       (!*m || !strcmp(m, "usecs") || (hex && !strcmp(m, "hex")) || has_ranges(key));
}

/* The index of the axis, which is the key of the percentiles. -1: there is none. */
static int axis_of(const json_t *keys, bool percentiles)
{
	int found = -1;

	for (size_t i = 0; i < json_array_size(keys); i++) {
		const json_t *key = json_array_get(keys, i);

		if (is_number(key, percentiles) &&
		    (has_ranges(key) || found < 0 ||
		     !has_ranges(json_array_get(keys, (size_t)found))))
			found = (int)i;
	}
	return found;
}

/* ---- texts ---- */

/* The JSON has each byte as a character. Moves *text behind the next one. */
static unsigned char next_byte(const char **text)
{
	const unsigned char *s = (const unsigned char *)*text;
	const bool two = (s[0] == 0xc2 || s[0] == 0xc3) && s[1];

	*text += two ? 2 : 1;
	return two ? (unsigned char)(s[0] << 6 | (s[1] & 0x3f)) : s[0];
}

size_t rows_shown_length(const unsigned char *s, size_t n)
{
	const size_t len = s[0] < 0x80 ? 1 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
	uint32_t c = len == 1 ? s[0] : s[0] & (0x7fu >> len);
	static const uint32_t least[] = { 0, 0x20, 0xa0, 0x800, 0x10000 };

	if (len > n || c == 0x7f || (s[0] >= 0x80 && s[0] < 0xc0) || s[0] > 0xf4)
		return 0;
	for (size_t i = 1; i < len; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	return c >= least[len] && c <= 0x10ffff && (c < 0xd800 || c > 0xdfff) ? len : 0;
}

/* "\xNN" */
static bool looks_escaped(const unsigned char *s, size_t n)
{
	return n == 4 && s[0] == '\\' && s[1] == 'x' && isxdigit(s[2]) && isxdigit(s[3]);
}

static void print_shown(const char *text, bool distinct, FILE *out)
{
	unsigned char bytes[4];
	size_t n = 0, len;

	while (text && (n || *text)) {
		while (n < sizeof(bytes) && *text)
			bytes[n++] = next_byte(&text);
		len = distinct && looks_escaped(bytes, n) ? 0 : rows_shown_length(bytes, n);
		if (len)
			fwrite(bytes, 1, len, out);
		else
			fprintf(out, "\\x%02x", bytes[0]);
		n -= len ? len : 1;
		memmove(bytes, bytes + (len ? len : 1), n);
	}
}

void rows_print_text(const char *text, FILE *out)
{
	print_shown(text, false, out);
}

/* A stack is a list of names, and empty if the recording has none of it. */
static void print_key(const json_t *text, const char *between, FILE *out)
{
	if (json_is_array(text) && !json_array_size(text))
		fputs("(no stack)", out);
	for (size_t i = 0; i < json_array_size(text); i++) {
		fputs(i ? between : "", out);
		print_shown(json_string_value(json_array_get(text, i)), true, out);
	}
	print_shown(json_string_value(text), true, out);
}

void rows_print_key(const json_t *text, FILE *out)
{
	print_key(text, ROWS_CALLED, out);
}

/* The texts of the keys but `axis`. NULL: no memory. */
static char *keys_text(const json_t *keys, int axis, bool named)
{
	const char *separator = "";
	char *text = NULL;
	size_t size;
	FILE *out = text_memory_open(&text, &size);

	for (size_t i = 0; out && i < json_array_size(keys); i++) {
		const json_t *key = json_array_get(keys, i);

		if ((int)i == axis)
			continue;
		fputs(separator, out);
		if (named) {
			rows_print_text(json_string_value(json_object_get(key, "field")), out);
			fputc(' ', out);
		}
		rows_print_key(json_object_get(key, "text"), out);
		separator = ", ";
	}
	return out && !fclose(out) ? text : NULL;
}

char *rows_keys_text(const json_t *keys)
{
	return keys_text(keys, -1, true);
}

char *rows_key_text(const json_t *key, const char *between)
{
	char *text = NULL;
	size_t size;
	FILE *out = text_memory_open(&text, &size);

	if (out)
		print_key(json_object_get(key, "text"), between, out);
	return out && !fclose(out) ? text : NULL;
}

static double number(const json_t *object, const char *name)
{
	return json_number_value(json_object_get(object, name));
}

bool rows_is_time(const char *field)
{
	const size_t n = strlen(field);

	return n >= 2 && !strcmp(field + n - 2, "ns") && (n == 2 || field[n - 3] == '_');
}

void rows_print_time(double low, double high, FILE *out)
{
	static const struct {
		double		ns;
		const char	*name;
	} units[] = { { 1e9, "s" }, { 1e6, "ms" }, { 1e3, "us" }, { 1, "ns" } };
	unsigned int u = 0;

	while (units[u].ns > high && units[u].ns > 1)
		u++;
	fprintf(out, "%.3g", low / units[u].ns);
	if (low < high)
		fprintf(out, "-%.3g", high / units[u].ns);
	fprintf(out, " %s", units[u].name);
}

/* `hist` prints negative numbers without a sign, as the kernel does. */
static void print_axis_value(double low, const char *text, FILE *out)
{
	text += strncmp(text, "~ ", 2) ? 0 : 2;
	if (low < 0 && text[strspn(text, "0123456789")] == '\0')
		fprintf(out, "%lld", (long long)strtoull(text, NULL, 10));
	else
		rows_print_text(text, out);
}

char *rows_axis_text(const json_t *key)
{
	const char *text = json_string_value(json_object_get(key, "text"));
	const double at = number(key, "raw");
	char *made = NULL;
	size_t size;
	FILE *out = text_memory_open(&made, &size);

	if (out && text && at < 0)
		print_axis_value(at, text, out);
	else if (out)
		rows_print_text(text, out);
	return out && !fclose(out) ? made : NULL;
}

void rows_print_range(const char *field, double low, double high, const char *text, FILE *out)
{
	if (rows_is_time(field))
		rows_print_time(low, high, out);
	else if (text)
		print_axis_value(low, text, out);
}

/* The ends of a range of .log2 are not in the JSON of a key. */
static char *axis_text(const json_t *key, const struct row *r)
{
	const char *text = json_string_value(json_object_get(key, "text"));
	const char *field = json_string_value(json_object_get(key, "field"));
	char *label = NULL;
	size_t size;
	FILE *out = text_memory_open(&label, &size);

	if (out && field && strcmp(modifier_of(key), "log2") != 0)
		rows_print_range(field, r->low, r->high, text, out);
	else if (out && text)
		print_axis_value(r->low, text, out);
	return out && !fclose(out) ? label : NULL;
}

static void set_range(struct row *r, const json_t *key)
{
	const char *m = modifier_of(key);

	r->low = r->high = r->value = number(key, "raw");
	if (!strcmp(m, "exp")) {
		r->low = number(key, "low");
		r->high = number(key, "high");
	} else if (!strcmp(m, "buckets")) {
		r->high = r->low + number(key, "buckets") - 1;
	}
	/* The ranges of .log2 follow one another as the raw numbers do. */
}

/* ---- rows ---- */

static int row_read(const json_t *entry, int axis, struct row *r)
{
	const json_t *keys = json_object_get(entry, "keys");
	const json_t *key = axis >= 0 ? json_array_get(keys, (size_t)axis) : NULL;
	const json_t *count = json_array_get(json_object_get(entry, "values"), 0);

	r->entry = entry;
	r->hits = (unsigned long long)number(count, "value");
	if (key)
		set_range(r, key);
	r->label = key ? axis_text(key, r) : keys_text(keys, -1, json_array_size(keys) > 1);
	r->group = key ? keys_text(keys, axis, true) : strdup("");
	return r->label && r->group ? 0 : -ENOMEM;
}

static bool has_stack(const json_t *keys)
{
	for (size_t i = 0; i < json_array_size(keys); i++)
		if (json_is_array(json_object_get(json_array_get(keys, i), "text")))
			return true;
	return false;
}

static int compare_on_axis(const void *pa, const void *pb)
{
	const struct row *a = pa, *b = pb;
	/* Groups are in the order of their keys: numbers in the text count as numbers. */
	int c = strverscmp(a->group, b->group);

	if (c)
		return c;
	return a->value < b->value ? -1 : a->value > b->value;
}

static int compare_by_hits(const void *pa, const void *pb)
{
	const struct row *a = pa, *b = pb;

	if (a->hits != b->hits)
		return a->hits > b->hits ? -1 : 1;
	return strcmp(a->label, b->label);
}

int rows_read(const json_t *hist, struct rows *out)
{
	const json_t *entries = json_object_get(hist, "entries"), *keys;
	const size_t nr = json_array_size(entries);
	int axis, err = 0;

	*out = (struct rows){ 0 };
	if (!json_is_array(entries))
		return -EPROTO;
	keys = json_object_get(json_array_get(entries, 0), "keys");
	axis = nr ? axis_of(keys, json_object_get(hist, "percentiles")) : -1;
	out->v = calloc(nr + 1, sizeof(*out->v));
	if (!out->v)
		return -ENOMEM;
	out->stacks = axis < 0 && has_stack(keys);
	if (axis >= 0) {
		keys = json_array_get(keys, (size_t)axis);
		out->axis = json_string_value(json_object_get(keys, "field"));
		out->ranges = has_ranges(keys);
		out->modifier = modifier_of(keys);
		out->axis_key = (size_t)axis;
	}
	for (; !err && out->nr < nr; out->nr++) {
		struct row *r = &out->v[out->nr];

		err = row_read(json_array_get(entries, out->nr), axis, r);
		out->hits += r->hits;
		out->most = r->hits > out->most ? r->hits : out->most;
	}
	if (!err)
		qsort(out->v, nr, sizeof(*out->v), axis >= 0 ? compare_on_axis : compare_by_hits);
	return err;
}

static int compare_labels(const void *pa, const void *pb)
{
	const struct row *a = pa, *b = pb;

	return strcmp(a->label, b->label);
}

static size_t common_length(const char *a, const char *b)
{
	size_t n = 0;

	while (a[n] && a[n] == b[n])
		n++;
	return n;
}

/* Sorted by their labels, neighbours have the most in common. */
static void set_apart(struct rows *rows)
{
	for (size_t i = 1; i < rows->nr; i++) {
		struct row *a = &rows->v[i - 1], *b = &rows->v[i];

		b->apart = common_length(a->label, b->label) + 1;
		a->apart = a->apart > b->apart ? a->apart : b->apart;
	}
}

static void row_free(struct row *r)
{
	free(r->label);
	free(r->group);
}

void rows_merge(struct rows *rows)
{
	size_t nr = 0;

	if (rows->axis || !rows->nr)
		return;
	qsort(rows->v, rows->nr, sizeof(*rows->v), compare_labels);
	for (size_t i = 0; i < rows->nr; i++) {
		if (nr && !strcmp(rows->v[nr - 1].label, rows->v[i].label)) {
			rows->v[nr - 1].hits += rows->v[i].hits;
			row_free(&rows->v[i]);
		} else {
			rows->v[nr++] = rows->v[i];
		}
	}
	rows->nr = nr;
	set_apart(rows);
	qsort(rows->v, nr, sizeof(*rows->v), compare_by_hits);
	rows->most = rows->v[0].hits;
}

void rows_free(struct rows *rows)
{
	for (size_t i = 0; i < rows->nr; i++)
		row_free(&rows->v[i]);
	free(rows->v);
}
