/* SPDX-License-Identifier: MIT */
/* heat.c - see heat.h */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/draw/heat.h"
#include "cli/draw/rows.h"
#include "host/terminal.h"

enum {
	TIME_WIDTH	= 15,	/* "  1234.567890s" */
	HITS_WIDTH	= 10,	/* " 123456789" */
	LEAST		= 8,	/* columns of cells */
	SHADES_MOST	= 9,
	ROWS_EMPTY	= 3,	/* one behind the other that are shown */
};

/* A shade begins at `factor` times the hits of the one before. */
struct heat_shades {
	const char	*text[SHADES_MOST];
	unsigned int	nr, factor;
};

static const struct heat_shades in_ascii = {
	{ ".", ":", "-", "=", "+", "*", "#", "%", "@" }, 9, 2
};
static const struct heat_shades in_utf8 = { { "░", "▒", "▓", "█" }, 4, 4 };
/* From blue to red, of 256 colours. */
static const struct heat_shades in_colours = {
	{ "19", "25", "31", "37", "71", "142", "178", "202", "196" }, 9, 2
};

static const struct heat_shades *shades_of(const struct heat *h)
{
	return h->shape.utf8 ? &in_utf8 : &in_ascii;
}

/* What NO_COLOR (https://no-color.org) and a terminal without colours ask for. */
static bool has_colours(void)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return terminal_is_stdout() && !(no && *no) && term && strcmp(term, "dumb") != 0;
}

static double heat_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

void heat_begin(struct heat *h, uint64_t every)
{
	*h = (struct heat){ .shape = draw_shape(), .colours = has_colours(), .every = every,
			    .start = heat_now() };
}

void heat_free(struct heat *h)
{
	free(h->axis.low_text);
	free(h->axis.high_text);
	free(h->cells);
	free(h->before);
	*h = (struct heat){ .cells = NULL };
}

/* ---- reading ---- */

static double heat_number(const json_t *object, const char *name)
{
	return json_number_value(json_object_get(object, name));
}

static int axis_end(char **text, double *end, const json_t *key, double at)
{
	char *new = rows_axis_text(key);

	if (!new)
		return -ENOMEM;
	free(*text);
	*text = new;
	*end = at;
	return 0;
}

static int axis_add(struct heat_axis *a, const json_t *key, double at)
{
	int err = 0;

	if (!a->any) {
		a->step = heat_number(key, "buckets") > 1 ? heat_number(key, "buckets") : 1;
		a->low = a->high = at;
	}
	if (!a->any || at < a->low)
		err = axis_end(&a->low_text, &a->low, key, at);
	if (!err && (!a->any || at > a->high))
		err = axis_end(&a->high_text, &a->high, key, at);
	a->any = true;
	return err;
}

static int compare_cells(const void *pa, const void *pb)
{
	const struct heat_cell *a = pa, *b = pb;

	if (a->time < b->time || a->time > b->time)
		return a->time < b->time ? -1 : 1;
	return a->at < b->at ? -1 : a->at > b->at;
}

/* `timed`: the first key is the time. */
static int read_cell(struct heat *h, const json_t *entry, bool timed, struct heat_cell *out)
{
	const json_t *keys = json_object_get(entry, "keys");
	const json_t *key = json_array_get(keys, timed ? 1 : 0);
	const json_t *raw = json_object_get(key, "raw");

	if (!key)
		return -EPROTO;
	if (!json_is_number(raw))
		return -EDOM;
	out->time = timed ? heat_number(json_array_get(keys, 0), "raw") : 0;
	out->at = json_number_value(raw);
	out->hits = (unsigned long long)heat_number(
		json_array_get(json_object_get(entry, "values"), 0), "value");
	return axis_add(&h->axis, key, out->at);
}

/* Into h->cells. */
static int read_cells(struct heat *h, const json_t *hist, bool timed)
{
	const json_t *entries = json_object_get(hist, "entries");
	const size_t nr = json_array_size(entries);
	int err = 0;

	if (!json_is_array(entries))
		return -EPROTO;
	free(h->cells);
	h->nr = 0;
	h->cells = calloc(nr + 1, sizeof(*h->cells));
	if (!h->cells)
		return -ENOMEM;
	for (; !err && h->nr < nr; h->nr++)
		err = read_cell(h, json_array_get(entries, h->nr), timed, &h->cells[h->nr]);
	if (!err)
		qsort(h->cells, h->nr, sizeof(*h->cells), compare_cells);
	return err;
}

/* ---- columns ---- */

static double axis_places(const struct heat_axis *a)
{
	return (a->high - a->low) / a->step + 1;
}

static unsigned int cells_width(const struct heat *h)
{
	const unsigned int other = TIME_WIDTH + 4 + HITS_WIDTH;

	return h->shape.columns > other + LEAST ? h->shape.columns - other : LEAST;
}

/*
 * Where a place of the axis begins and how many columns it has: as many for each, or one for
 * several places.
 */
static unsigned int column_of(const struct heat *h, double at, unsigned int *width)
{
	const double places = axis_places(&h->axis), place = (at - h->axis.low) / h->axis.step;
	const unsigned int room = cells_width(h);
	unsigned int column;

	if (places <= room) {
		*width = room / (unsigned int)places;
		return (unsigned int)place * *width;
	}
	*width = 1;
	column = (unsigned int)(place * room / places);
	return column < room ? column : room - 1;
}

static unsigned int columns_used(const struct heat *h)
{
	const double places = axis_places(&h->axis);
	const unsigned int room = cells_width(h);

	return places <= room ? room / (unsigned int)places * (unsigned int)places : room;
}

/* Adds up what falls into a column. -> the hits of the row */
static unsigned long long sum_columns(const struct heat *h, const struct heat_cell *cells,
				      size_t nr, unsigned long long *columns)
{
	unsigned long long hits = 0;
	unsigned int width;

	memset(columns, 0, cells_width(h) * sizeof(*columns));
	for (size_t i = 0; i < nr; i++) {
		columns[column_of(h, cells[i].at, &width)] += cells[i].hits;
		hits += cells[i].hits;
	}
	return hits;
}

/* ---- printing ---- */

/* The shade of `hits`, 0 is the lightest: the darkest one begins behind most / factor. */
static unsigned int shade_of(const struct heat_shades *s, unsigned long long hits,
			     unsigned long long most)
{
	unsigned int shade = s->nr - 1;

	for (most /= s->factor; shade && hits <= most; most /= s->factor)
		shade--;
	return shade;
}

static void heat_print_cell(const struct heat *h, unsigned long long hits, unsigned int width,
			    FILE *out)
{
	const struct heat_shades *s = shades_of(h);

	if (h->colours && hits)
		fprintf(out, "\033[38;5;%sm", in_colours.text[shade_of(&in_colours, hits,
								       h->most)]);
	while (width--)
		fputs(hits ? s->text[shade_of(s, hits, h->most)] : " ", out);
	if (h->colours && hits)
		fputs("\033[0m", out);
}

/* Rows below a microsecond differ in the nanoseconds. */
static void heat_print_time(const struct heat *h, double ns, FILE *out)
{
	fprintf(out, "%*.*fs", TIME_WIDTH - 1, h->every % 1000 ? 9 : 6, ns / 1e9);
}

static int heat_print_row(const struct heat *h, double ns, const struct heat_cell *cells,
			  size_t nr, FILE *out)
{
	unsigned long long *columns = calloc(cells_width(h), sizeof(*columns)), hits;
	const unsigned int used = columns_used(h);
	unsigned int width;

	if (!columns)
		return -ENOMEM;
	hits = sum_columns(h, cells, nr, columns);
	column_of(h, h->axis.low, &width);
	heat_print_time(h, ns, out);
	fputs(" |", out);
	for (unsigned int i = 0; i < used; i += width)
		heat_print_cell(h, columns[i], width, out);
	fprintf(out, "| %llu\n", hits);
	free(columns);
	return 0;
}

/* The event, what the shades are, and the ends of the axis. */
static void heat_print_head(struct heat *h, const json_t *hist, const char *field, FILE *out)
{
	const struct heat_shades *s = shades_of(h);
	const int used = (int)columns_used(h), low = (int)strlen(h->axis.low_text);
	const bool both = h->axis.high > h->axis.low;

	rows_print_text(json_string_value(json_object_get(hist, "event")), out);
	fputs(", ", out);
	rows_print_text(field, out);
	fputs(", a row each ", out);
	rows_print_time((double)h->every, (double)h->every, out);
	fputc('\n', out);
	fprintf(out, "%s is more than %llu hits, each lighter shade %s of that\n",
		s->text[s->nr - 1], h->most / s->factor, s->factor == 2 ? "half" : "a quarter");
	fprintf(out, "%*s%s", TIME_WIDTH + 2, "", h->axis.low_text);
	if (both)
		fprintf(out, "%*s", used - low > 0 ? used - low : 1, h->axis.high_text);
	fputc('\n', out);
}

static const char *field_of_entries(const json_t *hist, bool timed)
{
	const json_t *entry = json_array_get(json_object_get(hist, "entries"), 0);
	const json_t *key = json_array_get(json_object_get(entry, "keys"), timed ? 1 : 0);
	const char *field = json_string_value(json_object_get(key, "field"));

	return field ? field : "";
}

/* The largest count of a column in the rows, which follow one another in `cells`. */
static int find_most(struct heat *h, const struct heat_cell *cells, size_t nr)
{
	unsigned long long *columns = calloc(cells_width(h), sizeof(*columns));
	size_t end;

	if (!columns)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i = end) {
		for (end = i; end < nr && cells[end].time <= cells[i].time; end++)
			;
		sum_columns(h, cells + i, end - i, columns);
		for (unsigned int k = 0; k < cells_width(h); k++)
			h->most = columns[k] > h->most ? columns[k] : h->most;
	}
	free(columns);
	return 0;
}

/* ---- all rows ---- */

static int print_empty(const struct heat *h, double from, double to, FILE *out)
{
	const double rows = (to - from) / (double)h->every;
	int err = 0;

	if (rows > ROWS_EMPTY + 0.5) {
		fprintf(out, "%*s  %.0f rows without a hit\n", TIME_WIDTH, "...", rows);
		return 0;
	}
	for (double t = from; !err && t < to; t += (double)h->every)
		err = heat_print_row(h, t, NULL, 0, out);
	return err;
}

int heat_print(struct heat *h, const json_t *hist, FILE *out)
{
	int err = read_cells(h, hist, true);
	double dropped;
	size_t end;

	if (!err && !h->nr) {
		fputs("no hits\n", out);
		return 0;
	}
	err = err ? err : find_most(h, h->cells, h->nr);
	if (!err)
		heat_print_head(h, hist, field_of_entries(hist, true), out);
	for (size_t i = 0; !err && i < h->nr; i = end) {
		const double t = h->cells[i].time;

		for (end = i; end < h->nr && h->cells[end].time <= t; end++)
			;
		if (i)
			err = print_empty(h, h->cells[i - 1].time + (double)h->every, t, out);
		err = err ? err : heat_print_row(h, t, h->cells + i, end - i, out);
	}
	dropped = heat_number(json_object_get(hist, "totals"), "dropped");
	if (!err && dropped)
		fprintf(out, "%.0f hits found no room, later ones: fewer rows have it\n", dropped);
	return err;
}

/* ---- one row after the other ---- */

/* Takes from the cells what they had before. Both are by place, and no place goes away. */
static void subtract_before(struct heat *h)
{
	size_t k = 0;

	for (size_t i = 0; i < h->nr; i++) {
		while (k < h->nr_before && h->before[k].at < h->cells[i].at)
			k++;
		if (k < h->nr_before && h->before[k].at <= h->cells[i].at)
			h->cells[i].hits -= h->before[k].hits < h->cells[i].hits ?
						    h->before[k].hits : h->cells[i].hits;
	}
}

/* What the histogram has now is before the next row. */
static int keep_before(struct heat *h)
{
	struct heat_cell *now = calloc(h->nr + 1, sizeof(*now));

	if (!now)
		return -ENOMEM;
	memcpy(now, h->cells, h->nr * sizeof(*now));
	subtract_before(h);
	free(h->before);
	h->before = now;
	h->nr_before = h->nr;
	return 0;
}

/* A larger scale than needed now, so that it need not be said again at each row. */
static void scale_up(struct heat *h)
{
	unsigned long long most = 16;

	while (most < h->most)
		most *= 4;
	h->most = most;
}

static bool needs_head(const struct heat *h)
{
	return h->told_most != h->most || h->told_low > h->axis.low || h->told_high < h->axis.high;
}

int heat_print_next(struct heat *h, const json_t *hist, FILE *out)
{
	int err = read_cells(h, hist, false);

	err = err ? err : keep_before(h);
	if (!err && h->axis.any) {
		err = find_most(h, h->cells, h->nr);
		scale_up(h);
	}
	if (!err && h->axis.any && needs_head(h)) {
		heat_print_head(h, hist, field_of_entries(hist, false), out);
		h->told_low = h->axis.low;
		h->told_high = h->axis.high;
		h->told_most = h->most;
	}
	if (err)
		return err;
	if (h->axis.any)
		return heat_print_row(h, heat_now() - h->start, h->cells, h->nr, out);
	heat_print_time(h, heat_now() - h->start, out);
	fputs(" | no hits yet\n", out);
	return 0;
}
