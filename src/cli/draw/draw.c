/* SPDX-License-Identifier: MIT */
/* draw.c - see draw.h */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "access/access.h"
#include "cli/draw/draw.h"
#include "cli/draw/rows.h"
#include "model/demangle/demangle.h"
#include "host/message.h"
#include "host/terminal.h"
#include "model/text_memory.h"

enum {
	COLUMNS		= 80,
	LABEL_MOST	= 41,	/* a range of 64 bits */
	COUNT_WIDTH	= 18,	/* "    1234567  12.3%" */
	BAR_LEAST	= 8,
	PARTS		= 8,	/* of a character of a bar */
	BLOCK_INDENT	= 6,	/* of a stack's functions */
	BLOCK_LEAST	= 3,	/* functions of a stack */
};

/* ---- the terminal ---- */

static bool locale_is_utf8(void)
{
	static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *value = getenv(names[i]);

		if (value && *value)
			return strstr(value, "UTF-8") || strstr(value, "utf8") ||
			       strstr(value, "UTF8") || strstr(value, "utf-8");
	}
	return false;
}

struct draw_shape draw_shape(void)
{
	struct draw_shape shape = { .columns = COLUMNS, .utf8 = locale_is_utf8() };
	const unsigned int columns = terminal_columns();

	if (columns)
		shape.columns = columns;
	return shape;
}

/* ---- one row ---- */

/* Columns on the screen: bytes of UTF-8 that continue a character take none. */
static size_t width_of(const char *s)
{
	size_t n = 0;

	for (; *s; s++)
		n += ((unsigned char)*s & 0xc0) != 0x80;
	return n;
}

static void print_bar(unsigned long long v, unsigned long long most, unsigned int width, bool utf8,
		      FILE *out)
{
	static const char *const parts[PARTS] = { "", "▏", "▎", "▍", "▌", "▋", "▊", "▉" };
	const unsigned int units = utf8 ? PARTS : 1;
	const double exact = most ? (double)v / (double)most * width * units : 0;
	unsigned int n = (unsigned int)(exact + 0.5);

	/* What happened once is seen, too. */
	n = v && !n ? 1 : n;
	for (unsigned int i = 0; i < n / units; i++)
		fputs(utf8 ? "█" : "#", out);
	fputs(parts[n % units], out);
}

/* Cuts a long label, and fills a short one up: to the right for a number. */
static void print_label(const char *label, size_t width, bool right, FILE *out)
{
	const size_t n = width_of(label);
	size_t shown = 0;

	if (n <= width && right)
		fprintf(out, "%*s", (int)(width - n), "");
	for (; *label; label++) {
		shown += ((unsigned char)*label & 0xc0) != 0x80;
		if (n > width && shown >= width - 2)
			break;
		fputc(*label, out);
	}
	if (n > width)
		fprintf(out, "...");
	else if (!right)
		fprintf(out, "%*s", (int)(width - n), "");
}

static size_t widest_label(const struct rows *rows)
{
	size_t most = 4;

	for (size_t i = 0; i < rows->nr; i++) {
		const size_t n = width_of(rows->v[i].label);

		most = n > most ? n : most;
	}
	return most;
}

static size_t label_width(const struct rows *rows, const struct draw_shape *shape)
{
	const size_t room = shape->columns > COUNT_WIDTH + BAR_LEAST + 16 ?
			    shape->columns - COUNT_WIDTH - BAR_LEAST - 4 : 12;
	size_t most = widest_label(rows);

	if (most > LABEL_MOST)
		most = LABEL_MOST;
	return most < room ? most : room;
}

/* ---- groups ---- */

static const json_t *percentiles_of(const json_t *hist, const char *group)
{
	const json_t *list = json_object_get(hist, "percentiles"), *found;
	size_t i;

	json_array_foreach((json_t *)list, i, found) {
		const json_t *keys = json_object_get(found, "keys");
		char *text = rows_keys_text(keys);
		bool same = text && !strcmp(text, group);

		free(text);
		if (same)
			return json_object_get(found, "values");
	}
	return NULL;
}

static void print_percentiles(const json_t *hist, const char *group, const char *field, FILE *out)
{
	const json_t *values = percentiles_of(hist, group);

	for (size_t i = 0; i < json_array_size(values); i++) {
		const json_t *v = json_array_get(values, i);

		fprintf(out, "%s%g%% ", i ? "   " : "  ",
			json_number_value(json_object_get(v, "percent")));
		rows_print_range(field, json_number_value(json_object_get(v, "low")),
				 json_number_value(json_object_get(v, "high")),
				 json_string_value(json_object_get(v, "text")), out);
	}
	if (json_array_size(values))
		fputc('\n', out);
}

struct drawing {
	const json_t	*hist;
	const struct draw_shape *shape;
	const struct rows *rows;
	size_t		label;		/* columns of labels */
	unsigned int	bar;		/* of the longest bar */
	FILE		*out;
};

/* Whether values between the two rows did not occur. */
static bool is_gap(const struct rows *rows, const struct row *a, const struct row *b)
{
	return rows->ranges && !strcmp(a->group, b->group) && b->low > a->high + 1;
}

static void draw_count(const struct drawing *d, const struct row *r)
{
	const double share = d->rows->hits ? 100.0 * (double)r->hits / (double)d->rows->hits : 0;

	fprintf(d->out, " %10llu %5.1f%% ", r->hits, share);
	print_bar(r->hits, d->rows->most, d->bar, d->shape->utf8, d->out);
	fputc('\n', d->out);
}

static void draw_row(const struct drawing *d, const struct row *r)
{
	fputs("  ", d->out);
	print_label(r->label, d->label, d->rows->axis, d->out);
	draw_count(d, r);
}

/* One function of a stack. Returns what follows it; NULL: nothing. */
static const char *draw_function(const struct drawing *d, const char *label)
{
	const char *next = strstr(label, ROWS_CALLED);
	char *name = next ? strndup(label, (size_t)(next - label)) : NULL;
	const size_t room = d->shape->columns > BLOCK_INDENT + BAR_LEAST ?
			    d->shape->columns - BLOCK_INDENT : BAR_LEAST;
	const size_t n = width_of(name ? name : label);

	fprintf(d->out, "%*s", BLOCK_INDENT, "");
	print_label(name ? name : label, n < room ? n : room, false, d->out);
	fputc('\n', d->out);
	free(name);
	return next ? next + sizeof(ROWS_CALLED) - 1 : NULL;
}

/* Beside a bar a stack has no room: its functions are below. As many as tell it from the others. */
static void draw_block(const struct drawing *d, const struct row *r)
{
	const char *label = r->label;
	unsigned int n = 0;

	draw_count(d, r);
	for (; label && (n < BLOCK_LEAST || (size_t)(label - r->label) < r->apart); n++)
		label = draw_function(d, label);
	for (n = 0; label; n++) {
		label = strstr(label, ROWS_CALLED);
		label = label ? label + sizeof(ROWS_CALLED) - 1 : NULL;
	}
	if (n)
		fprintf(d->out, "%*s... and %u more\n", BLOCK_INDENT, "", n);
}

static void draw_blocks(const struct drawing *d)
{
	for (size_t i = 0; i < d->rows->nr; i++) {
		if (i)
			fputc('\n', d->out);
		draw_block(d, &d->rows->v[i]);
	}
}

static void draw_rows(const struct drawing *d)
{
	const struct rows *rows = d->rows;

	for (size_t i = 0; i < rows->nr; i++) {
		const struct row *r = &rows->v[i];
		const bool begins = !i || strcmp(rows->v[i - 1].group, r->group);

		if (begins && *r->group)
			fprintf(d->out, "%s%s\n", i ? "\n" : "", r->group);
		if (!begins && is_gap(rows, r - 1, r))
			fprintf(d->out, "  %*s\n", (int)d->label, "...");
		draw_row(d, r);
		if (i + 1 == rows->nr || strcmp(r[1].group, r->group))
			print_percentiles(d->hist, r->group, rows->axis, d->out);
	}
}

/* ---- a histogram ---- */

/* "hist:keys=... if FILTER [active]": which hits were counted. */
static void draw_condition(const char *trigger, FILE *out)
{
	const char *at = trigger ? strstr(trigger, " if ") : NULL, *end;
	char *condition;

	if (!at)
		return;
	end = strrchr(at, '[');
	condition = strndup(at, end && end > at ? (size_t)(end - 1 - at) : strlen(at));
	if (condition)
		rows_print_text(condition, out);
	free(condition);
}

static void draw_head(const json_t *hist, const struct rows *rows, FILE *out)
{
	const json_t *totals = json_object_get(hist, "totals");
	const double dropped = json_number_value(json_object_get(totals, "dropped"));
	const double cut = json_number_value(json_object_get(totals, "cut"));

	rows_print_text(json_string_value(json_object_get(hist, "event")), out);
	if (rows->axis) {
		fputs(", ", out);
		rows_print_text(rows->axis, out);
	}
	fprintf(out, ": %llu hit%s", rows->hits, rows->hits == 1 ? "" : "s");
	draw_condition(json_string_value(json_object_get(hist, "trigger")), out);
	if (dropped)
		fprintf(out, ", and %.0f that found no room (size= or --size makes more)", dropped);
	if (cut)
		fprintf(out, ", %.0f with stacks that are cut (.depth=63 keeps more)", cut);
	fputs("\n\n", out);
}

static int draw_hist(const json_t *hist, const struct draw_shape *shape, FILE *out)
{
	struct rows rows;
	int err = rows_read(hist, &rows);
	struct drawing d = { .hist = hist, .shape = shape, .rows = &rows, .out = out };
	bool blocks;

	if (!err) {
		rows_merge(&rows);
		blocks = rows.stacks && widest_label(&rows) > label_width(&rows, shape);
		d.label = blocks ? 0 : label_width(&rows, shape);
		d.bar = shape->columns > d.label + COUNT_WIDTH + BAR_LEAST + 3 ?
			(unsigned int)(shape->columns - d.label - COUNT_WIDTH - 3) : BAR_LEAST;
		draw_head(hist, &rows, out);
		if (blocks)
			draw_blocks(&d);
		else
			draw_rows(&d);
	}
	rows_free(&rows);
	return err;
}

/* Draws all histograms of the text. 0, -ENOMEM, -EPROTO: it is no hist.json */
static int draw_json(const char *text, size_t len, const struct draw_shape *shape, FILE *out)
{
	json_t *all = json_loadb(text, len, JSON_DECODE_INT_AS_REAL | JSON_ALLOW_NUL, NULL), *hist;
	struct demangler *names = NULL;
	int err = json_is_array(all) ? 0 : -EPROTO;
	size_t i;

	json_array_foreach(all, i, hist) {
		if (i)
			fputc('\n', out);
		rows_make_readable(&names, hist);
		if (!err)
			err = draw_hist(hist, shape, out);
	}
	demangler_destroy(names);
	json_decref(all);
	return err;
}

/* ---- a file ---- */

bool draw_is_hist(const char *file)
{
	const size_t n = strlen(file);

	return n >= 5 && !strcmp(file + n - 5, "/hist");
}

int draw_file(struct access *a, const char *file)
{
	const struct draw_shape shape = draw_shape();
	char *path = NULL, *json = NULL, *text = NULL;
	size_t len = 0, size = 0;
	int ret = asprintf(&path, "%s.json", file) < 0 ? -ENOMEM : 0, status = COMMAND_FAILED;
	FILE *out = NULL;

	if (!ret)
		ret = access_read_all(a, path, &json, &len);
	if (!ret) {
		out = text_memory_open(&text, &size);
		ret = out ? draw_json(json, len, &shape, out) : -ENOMEM;
	}
	if (out && fclose(out) && !ret)
		ret = -ENOMEM;
	if (ret)
		message_error("%s: %s", file, strerror(-ret));
	else
		status = message_print(text, size);
	free(path);
	free(json);
	free(text);
	return status;
}
