/* SPDX-License-Identifier: MIT */
/*
 * histograms.c - a session's histograms as JSON for the page
 *
 *     { "session", "write", "at": milliseconds, "left_out": 0, "hists": [ {
 *         "file", "nr", "event", "trigger", "paused", "axis": field or null, "ns": it is a time,
 *         "modifier", "stack": it has stacks, "hits", "dropped", "left_out", "left_out_hits",
 *         "rows":        [ [ label, group, low, high, hits ] ... ],
 *         "percentiles": [ { "group", "values": [ [ percent, text ] ... ] } ... ] } ... ] }
 *
 * The rows are those of `tracefuse cat --draw`. A histogram with more than ROWS of them has the
 * largest; those that are left out are counted. Infinite bounds are null.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/draw/rows.h"
#include "cli/web/web.h"
#include "model/text_memory.h"

enum { HISTS = 100, ROWS = 300 };

struct histograms {
	struct web	*web;
	FILE		*out;
	unsigned int	nr, left_out;
};

static void histograms_print_number(double v, FILE *out)
{
	if (isfinite(v))
		fprintf(out, "%.17g", v);
	else
		fputs("null", out);
}

static const char *object_text(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

/* ---- rows ---- */

static int compare_most(const void *pa, const void *pb)
{
	const struct row *a = *(const struct row *const *)pa, *b = *(const struct row *const *)pb;

	if (a->hits != b->hits)
		return a->hits > b->hits ? -1 : 1;
	return a < b ? -1 : a > b;
}

static int compare_place(const void *pa, const void *pb)
{
	const struct row *a = *(const struct row *const *)pa, *b = *(const struct row *const *)pb;

	return a < b ? -1 : a > b;
}

/* The rows to show, in their order. NULL: no memory. */
static const struct row **choose_rows(const struct rows *rows, size_t *nr)
{
	const struct row **v = malloc((rows->nr + 1) * sizeof(*v));

	for (size_t i = 0; v && i < rows->nr; i++)
		v[i] = &rows->v[i];
	*nr = rows->nr < ROWS ? rows->nr : ROWS;
	if (v && rows->nr > ROWS) {
		qsort(v, rows->nr, sizeof(*v), compare_most);
		qsort(v, ROWS, sizeof(*v), compare_place);
	}
	return v;
}

static void print_row(const struct row *r, FILE *out)
{
	fputc('[', out);
	web_json_bytes(r->label, strlen(r->label), out);
	fputc(',', out);
	web_json_bytes(r->group, strlen(r->group), out);
	fputc(',', out);
	histograms_print_number(r->low, out);
	fputc(',', out);
	histograms_print_number(r->high, out);
	fprintf(out, ",%llu]", r->hits);
}

static int histograms_print_rows(const struct rows *rows, FILE *out)
{
	unsigned long long shown = 0;
	size_t nr;
	const struct row **v = choose_rows(rows, &nr);

	if (!v)
		return -ENOMEM;
	fputs(",\"rows\":[", out);
	for (size_t i = 0; i < nr; i++) {
		fputs(i ? "," : "", out);
		print_row(v[i], out);
		shown += v[i]->hits;
	}
	fprintf(out, "],\"left_out\":%zu,\"left_out_hits\":%llu", rows->nr - nr,
		rows->hits - shown);
	free(v);
	return 0;
}

/* ---- percentiles ---- */

static void histograms_print_percentile(const json_t *value, const char *field, FILE *out)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = text_memory_open(&text, &len);

	if (f) {
		rows_print_range(field, json_number_value(json_object_get(value, "low")),
				 json_number_value(json_object_get(value, "high")),
				 object_text(value, "text"), f);
		if (fclose(f))
			len = 0;
	}
	fprintf(out, "[%g,", json_number_value(json_object_get(value, "percent")));
	web_json_bytes(text ? text : "", len, out);
	fputc(']', out);
	free(text);
}

static void histograms_print_percentiles(const json_t *hist, FILE *out)
{
	const json_t *list = json_object_get(hist, "percentiles"), *group, *value;
	size_t i, k;

	fputs(",\"percentiles\":[", out);
	json_array_foreach((json_t *)list, i, group) {
		char *name = rows_keys_text(json_object_get(group, "keys"));

		fprintf(out, "%s{\"group\":", i ? "," : "");
		web_json_bytes(name ? name : "", name ? strlen(name) : 0, out);
		free(name);
		fputs(",\"values\":[", out);
		json_array_foreach(json_object_get(group, "values"), k, value) {
			fputs(k ? "," : "", out);
			histograms_print_percentile(value, object_text(group, "field"), out);
		}
		fputs("]}", out);
	}
	fputc(']', out);
}

/* ---- a histogram ---- */

static bool has_stack(const json_t *keys)
{
	for (size_t i = 0; i < json_array_size(keys); i++)
		if (json_is_array(json_object_get(json_array_get(keys, i), "text")))
			return true;
	return false;
}

static void print_head(const char *path, size_t nr, const json_t *hist, const struct rows *rows,
		       FILE *out)
{
	const json_t *totals = json_object_get(hist, "totals");
	const json_t *keys = json_object_get(
		json_array_get(json_object_get(hist, "entries"), 0), "keys");

	fputs("{\"file\":", out);
	web_json_bytes(path, strlen(path), out);
	fprintf(out, ",\"nr\":%zu,\"event\":", nr);
	web_json_text(object_text(hist, "event"), out);
	fputs(",\"trigger\":", out);
	web_json_text(object_text(hist, "trigger"), out);
	fprintf(out, ",\"paused\":%s,\"axis\":",
		json_is_true(json_object_get(hist, "paused")) ? "true" : "false");
	if (rows->axis)
		web_json_text(rows->axis, out);
	else
		fputs("null", out);
	fputs(",\"modifier\":", out);
	web_json_text(rows->modifier, out);
	fprintf(out, ",\"ns\":%s,\"stack\":%s,\"hits\":%llu,\"dropped\":%.0f",
		rows->axis && rows_is_time(rows->axis) ? "true" : "false",
		has_stack(keys) ? "true" : "false", rows->hits,
		json_number_value(json_object_get(totals, "dropped")));
}

static int histograms_print_hist(void *arg, const char *path, size_t nr, const json_t *hist)
{
	struct histograms *h = arg;
	struct rows rows;
	int err;

	if (h->nr == HISTS) {
		h->left_out++;
		return 0;
	}
	rows_make_readable(&h->web->names, hist);
	err = rows_read(hist, &rows);
	if (!err) {
		fputs(h->nr++ ? ",\n" : "", h->out);
		print_head(path, nr, hist, &rows, h->out);
		err = histograms_print_rows(&rows, h->out);
		histograms_print_percentiles(hist, h->out);
		fputc('}', h->out);
	}
	rows_free(&rows);
	return err;
}

int web_histograms_print(struct web *w, FILE *out)
{
	struct histograms h = { .web = w, .out = out };
	struct timespec now;
	int err;

	clock_gettime(CLOCK_REALTIME, &now);
	fputs("{\"session\":", out);
	web_json_bytes(w->session, strlen(w->session), out);
	fprintf(out, ",\"write\":%s,\"at\":%lld,\"hists\":[", w->write ? "true" : "false",
		(long long)now.tv_sec * 1000 + now.tv_nsec / 1000000);
	err = web_each_hist(w, histograms_print_hist, &h);
	fprintf(out, "],\"left_out\":%u}\n", h.left_out);
	return err;
}
