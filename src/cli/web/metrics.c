/* SPDX-License-Identifier: MIT */
/*
 * metrics.c - a session's numbers in the text forms of Prometheus; see web.h
 *
 * A histogram with a key that is a number is a histogram metric with classic buckets:
 *
 *     tracefuse_SYSTEM_EVENT_FIELD_bucket{session,instance,hist,OTHER KEYS...,le}
 *
 * The key is the axis of `tracefuse cat --draw`. A histogram without such a key is a counter of
 * each entry, tracefuse_SYSTEM_EVENT_hits_total. The session's own counters follow.
 *
 * A bound that no hit has reached is not there, but where values between two buckets did not
 * occur, a bucket that ends before the gap is added. So a quantile lies between the true bounds.
 */
#include <ctype.h>
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "access/socket.h"
#include "access/wire.h"
#include "cli/client.h"
#include "cli/draw/rows.h"
#include "cli/web/web.h"
#include "model/text_memory.h"

enum { GROUPS = 100 };		/* of one histogram; the others are counted */

/* The lines of a metric, whichever session file they are from. */
struct family {
	struct family	*next;
	char		*name;
	const char	*kind, *help;
	char		*text;		/* when it is closed */
	size_t		len;
	FILE		*out;
};

struct metrics {
	struct web	*web;
	bool		openmetrics;
	struct family	*first, **last;	/* where the next one goes */
};

/* ---- names and labels ---- */

/* Other characters than those of names of metrics are _. */
static void metrics_print_name(const char *text, FILE *out)
{
	for (; text && *text; text++)
		fputc(isalnum((unsigned char)*text) ? *text : '_', out);
}

/* What is no UTF-8 is \xNN: a scraper would refuse all that it is sent. */
static void print_value_of_label(const char *text, size_t len, FILE *out)
{
	while (len) {
		const unsigned char *s = (const unsigned char *)text;
		size_t n = *s < 0x80 ? 1 : rows_shown_length(s, len);

		if (!n)
			fprintf(out, "\\\\x%02x", *s);
		else if (*s == '\n')
			fputs("\\n", out);
		else if (*s == '"' || *s == '\\')
			fprintf(out, "\\%c", *s);
		else
			fwrite(text, 1, n, out);
		n = n ? n : 1;
		text += n;
		len -= n;
	}
}

/* A text of a histogram's JSON, or a list of them. */
static int print_label_text(const json_t *text, FILE *out)
{
	char *shown = NULL;
	size_t len;
	FILE *f = text_memory_open(&shown, &len);

	if (!f)
		return -ENOMEM;
	rows_print_key(text, f);
	if (fclose(f))
		return -ENOMEM;
	print_value_of_label(shown, len, out);
	free(shown);
	return 0;
}

/* "instances/NAME/events/..." */
static void print_instance(const char *path, FILE *out)
{
	static const char instances[] = "instances/";

	if (!strncmp(path, instances, sizeof(instances) - 1)) {
		path += sizeof(instances) - 1;
		print_value_of_label(path, strcspn(path, "/"), out);
	}
}

static void metrics_print_place(const struct metrics *m, const char *path, FILE *out)
{
	fputs("session=\"", out);
	print_value_of_label(m->web->session, strlen(m->web->session), out);
	fputs("\",instance=\"", out);
	print_instance(path, out);
	fputc('"', out);
}

/* ---- families ---- */

/* Takes the name over. NULL: no memory. */
static struct family *family_of(struct metrics *m, char *name, const char *kind, const char *help)
{
	struct family *f;

	for (f = m->first; name && f; f = f->next)
		if (!strcmp(f->name, name)) {
			free(name);
			return f;
		}
	f = name ? calloc(1, sizeof(*f)) : NULL;
	if (f)
		f->out = text_memory_open(&f->text, &f->len);
	if (!f || !f->out) {
		free(name);
		free(f);
		return NULL;
	}
	f->name = name;
	f->kind = kind;
	f->help = help;
	*m->last = f;
	m->last = &f->next;
	return f;
}

static FILE *family_named(struct metrics *m, const char *name, const char *kind, const char *help)
{
	struct family *f = family_of(m, strdup(name), kind, help);

	return f ? f->out : NULL;
}

/* A histogram by a field of that name is another metric than the counter of hits. */
static bool is_counters_name(const char *what, const char *kind)
{
	return strcmp(kind, "counter") != 0 && (!strcmp(what, "hits") ||
						!strcmp(what, "hits_total"));
}

/* tracefuse_SYSTEM_EVENT_WHAT */
static struct family *family_of_event(struct metrics *m, const json_t *hist, const char *what,
				      const char *kind, const char *help)
{
	char *name = NULL;
	size_t len;
	FILE *out = text_memory_open(&name, &len);

	if (!out)
		return NULL;
	fputs("tracefuse_", out);
	metrics_print_name(json_string_value(json_object_get(hist, "event")), out);
	fputs(is_counters_name(what, kind) ? "_key_" : "_", out);
	metrics_print_name(what, out);
	if (fclose(out))
		return NULL;
	return family_of(m, name, kind, help);
}

static int families_print(struct metrics *m, FILE *out)
{
	int err = 0;

	for (struct family *f = m->first; f; f = f->next) {
		const bool total = !m->openmetrics && !strcmp(f->kind, "counter");

		if (fclose(f->out)) {
			err = -ENOMEM;
			continue;
		}
		fprintf(out, "# HELP %s%s %s\n# TYPE %s%s %s\n", f->name, total ? "_total" : "",
			f->help, f->name, total ? "_total" : "", f->kind);
		fwrite(f->text, 1, f->len, out);
		free(f->text);
	}
	return err;
}

static void families_free(struct metrics *m)
{
	struct family *f;

	while ((f = m->first)) {
		m->first = f->next;
		free(f->name);
		free(f);
	}
}

/* ---- a histogram ---- */

struct hist_metric {
	struct metrics	*metrics;
	const char	*path;
	size_t		nr;
	const json_t	*hist;
	const char	*axis, *modifier;	/* NULL: none */
	size_t		axis_key;	/* which one of the keys the axis is */
	const char	*family;		/* the name, behind which is _bucket */
	FILE		*out;
};

/* A key whose field has the name of a label that is there already gets one of its own. */
static const char *label_prefix(const char *field)
{
	static const char *const taken[] = { "session", "instance", "hist", "le", "job" };

	for (size_t i = 0; field && i < sizeof(taken) / sizeof(taken[0]); i++)
		if (!strcmp(field, taken[i]))
			return "key_";
	/* Names that begin with __ are those of Prometheus itself. */
	return field && (isdigit((unsigned char)*field) || !strncmp(field, "__", 2)) ? "key_" : "";
}

static const char *key_field(const json_t *key)
{
	const char *field = json_string_value(json_object_get(key, "field"));

	return field ? field : "";
}

static bool is_earlier_field(const json_t *keys, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (!strcmp(key_field(json_array_get(keys, i)),
			    key_field(json_array_get(keys, nr))))
			return true;
	return false;
}

/* All keys but the axis. */
static int print_labels(const struct hist_metric *h, const json_t *entry, FILE *out)
{
	const json_t *keys = json_object_get(entry, "keys");
	int err = 0;

	metrics_print_place(h->metrics, h->path, out);
	fprintf(out, ",hist=\"%zu\"", h->nr);
	for (size_t i = 0; !err && i < json_array_size(keys); i++) {
		const json_t *key = json_array_get(keys, i);

		if (h->axis && i == h->axis_key)
			continue;
		fprintf(out, ",%s", label_prefix(key_field(key)));
		metrics_print_name(key_field(key), out);
		/* One field may be two keys, with two modifiers. */
		if (is_earlier_field(keys, i))
			fprintf(out, "_%zu", i);
		fputs("=\"", out);
		err = print_label_text(json_object_get(key, "text"), out);
		fputc('"', out);
	}
	return err;
}

static void print_float(double v, FILE *out)
{
	double whole;

	/* modf() is in libc itself, and trunc() is not. */
	fprintf(out, modf(v, &whole) == 0 && fabs(v) < 1e15 ? "%.1f" : "%.17g", v);
}

/* The greatest value of a row: a row n of .log2 ends at 2^n. */
static double upper(const struct hist_metric *h, const struct row *r)
{
	return h->modifier && !strcmp(h->modifier, "log2") ? ldexp(1, (int)r->high) : r->high;
}

/* A bound that is less than each value of a row. Large numbers have others between them. */
static double bound_before(const struct hist_metric *h, const struct row *r)
{
	const double large = fabs(r->low) * DBL_EPSILON;

	if (h->modifier && !strcmp(h->modifier, "log2"))
		return r->low > 0 ? ldexp(1, (int)r->low - 1) : -1;
	return r->low - (large > 1 ? large : 1);
}

static void print_bucket(const struct hist_metric *h, const char *labels, double le,
			 unsigned long long below)
{
	fprintf(h->out, "%s_bucket{%s,le=\"", h->family, labels);
	print_float(le, h->out);
	fprintf(h->out, "\"} %llu\n", below);
}

/* The sum of the values: what the histogram sums up of that field, else what its rows say. */
static bool metrics_sum_of(const struct hist_metric *h, const struct row *r, double *sum)
{
	const json_t *values = json_object_get(r->entry, "values");

	for (size_t i = 1; i < json_array_size(values); i++) {
		const json_t *value = json_array_get(values, i);

		if (!strcmp(key_field(value), h->axis)) {
			*sum += json_number_value(json_object_get(value, "value"));
			return true;
		}
	}
	*sum += r->value * (double)r->hits;
	return !*h->modifier;
}

/* One series: the rows of a group. */
static void print_series(const struct hist_metric *h, const char *labels, const struct row *rows,
			 size_t nr)
{
	unsigned long long below = 0;
	double end = 0, sum = 0;
	bool exact = true;

	for (size_t i = 0; i < nr; i++) {
		if (bound_before(h, &rows[i]) > end)
			print_bucket(h, labels, bound_before(h, &rows[i]), below);
		below += rows[i].hits;
		end = upper(h, &rows[i]);
		/* Two rows of one number differ in what is not shown. */
		if (i + 1 == nr || upper(h, &rows[i + 1]) > end)
			print_bucket(h, labels, end, below);
		/* With values below 0 it would be no counter. */
		exact &= metrics_sum_of(h, &rows[i], &sum) && rows[i].low >= 0;
	}
	fprintf(h->out, "%s_bucket{%s,le=\"+Inf\"} %llu\n", h->family, labels, below);
	if (exact) {
		fprintf(h->out, "%s_sum{%s} ", h->family, labels);
		print_float(sum, h->out);
		fputc('\n', h->out);
	}
	fprintf(h->out, "%s_count{%s} %llu\n", h->family, labels, below);
}

static int metrics_print_group(const struct hist_metric *h, const struct row *rows, size_t nr)
{
	char *labels = NULL;
	size_t len;
	FILE *f = text_memory_open(&labels, &len);
	int err = f ? print_labels(h, rows->entry, f) : -ENOMEM;

	if (!f || fclose(f))
		return -ENOMEM;
	if (!err && h->axis)
		print_series(h, labels, rows, nr);
	else if (!err)
		fprintf(h->out, "%s_total{%s} %llu\n", h->family, labels, rows->hits);
	free(labels);
	return err;
}

/* -> the number of groups that were left out; -errno */
static long print_groups(const struct hist_metric *h, const struct rows *rows)
{
	size_t first = 0, nr = 0;
	int err = 0;

	for (size_t i = 0; !err && i < rows->nr; i++) {
		if (h->axis && i + 1 < rows->nr &&
		    !strcmp(rows->v[i + 1].group, rows->v[first].group))
			continue;
		if (nr++ < GROUPS)
			err = metrics_print_group(h, &rows->v[first], i + 1 - first);
		first = i + 1;
	}
	return err ? err : nr > GROUPS ? (long)(nr - GROUPS) : 0;
}

/* A number of each histogram, which is there also while it has no entries. */
static int metrics_count(struct metrics *m, const char *path, size_t nr, const json_t *hist,
			 const char *name, const char *kind, const char *help, double value)
{
	FILE *out = family_named(m, name, kind, help);
	const char *event = json_string_value(json_object_get(hist, "event"));

	if (!out)
		return -ENOMEM;
	fprintf(out, "%s%s{", name, strcmp(kind, "counter") ? "" : "_total");
	metrics_print_place(m, path, out);
	fputs(",event=\"", out);
	print_value_of_label(event ? event : "", event ? strlen(event) : 0, out);
	fprintf(out, "\",hist=\"%zu\"} %.0f\n", nr, value);
	return 0;
}

static double total(const json_t *hist, const char *key)
{
	return json_number_value(json_object_get(json_object_get(hist, "totals"), key));
}

static int print_counts(struct metrics *m, const char *path, size_t nr, const json_t *hist,
			long left_out)
{
	int err = metrics_count(m, path, nr, hist, "tracefuse_hist_hits", "counter",
				"Hits that a histogram counted.", total(hist, "hits"));

	if (!err)
		err = metrics_count(m, path, nr, hist, "tracefuse_hist_dropped", "counter",
				    "Hits that found no room in a histogram.",
				    total(hist, "dropped"));
	if (!err)
		err = metrics_count(m, path, nr, hist, "tracefuse_hist_left_out", "gauge",
				    "Groups of a histogram's keys that are not in these metrics "
				    "because it has too many.", (double)left_out);
	return err;
}

static int metrics_print_rows(struct metrics *m, struct hist_metric *h, const struct rows *rows,
			      long *left_out)
{
	struct family *f;

	h->axis = rows->axis;
	h->modifier = rows->modifier;
	h->axis_key = rows->axis_key;
	if (!rows->nr)
		return 0;
	f = h->axis ? family_of_event(m, h->hist, h->axis, "histogram",
				      "Hits of an event by a field.")
		    : family_of_event(m, h->hist, "hits", "counter",
				      "Hits of an event by its keys.");
	if (!f)
		return -ENOMEM;
	h->family = f->name;
	h->out = f->out;
	*left_out = print_groups(h, rows);
	return *left_out < 0 ? (int)*left_out : 0;
}

static int metrics_print_hist(void *arg, const char *path, size_t nr, const json_t *hist)
{
	struct metrics *m = arg;
	struct hist_metric h = { .metrics = m, .path = path, .nr = nr, .hist = hist };
	struct rows rows;
	long left_out = 0;
	int err = rows_read(hist, &rows);

	if (!err)
		err = metrics_print_rows(m, &h, &rows, &left_out);
	rows_free(&rows);
	return err ? err : print_counts(m, path, nr, hist, left_out);
}

/* ---- the session ---- */

static int print_one(struct metrics *m, const char *path, const char *name, const char *kind,
		     const char *help, unsigned long long value)
{
	FILE *out = family_named(m, name, kind, help);

	if (!out)
		return -ENOMEM;
	fprintf(out, "%s%s{", name, strcmp(kind, "counter") ? "" : "_total");
	metrics_print_place(m, path, out);
	fprintf(out, "} %llu\n", value);
	return 0;
}

struct buffer_sums {
	struct access	*access;
	const char	*below;		/* "" or "instances/NAME/" */
	unsigned long long recorded, overwritten, dropped;
};

static int metrics_add_cpu(void *arg, const char *name, bool is_dir)
{
	struct buffer_sums *s = arg;
	char path[600], *text;
	size_t len;

	snprintf(path, sizeof(path), "%sper_cpu/%s/stats", s->below, name);
	if (!is_dir || access_read_all(s->access, path, &text, &len))
		return 0;
	s->overwritten += client_stat(text, "\noverrun: ");
	s->dropped += client_stat(text, "\ndropped events: ");
	s->recorded += client_stat(text, "entries: ") + client_stat(text, "\nread events: ") +
		       client_stat(text, "\noverrun: ");
	free(text);
	return 0;
}

static int print_buffer(struct metrics *m, const char *below)
{
	struct buffer_sums s = { .access = m->web->access, .below = below };
	char path[320];
	int err;

	snprintf(path, sizeof(path), "%sper_cpu", below);
	s.access->ops->list(s.access, path, metrics_add_cpu, &s);
	err = print_one(m, below, "tracefuse_events_recorded", "counter",
			"Events that were written to the buffer.", s.recorded);
	err = err ? err : print_one(m, below, "tracefuse_events_overwritten", "counter",
				    "Events that newer ones overwrote, unread.", s.overwritten);
	return err ? err : print_one(m, below, "tracefuse_events_dropped", "counter",
				     "Events that found the buffer full.", s.dropped);
}

static int print_buffer_of(void *arg, const char *name, bool is_dir)
{
	char below[300];

	snprintf(below, sizeof(below), "instances/%s/", name);
	return is_dir ? print_buffer(arg, below) : 0;
}

static int metrics_print_losses(struct metrics *m)
{
	static const struct {
		const char *key, *name, *kind, *help;
	} words[] = {
		{ "missed", "tracefuse_hits_missed", "counter",
		  "Hits that were lost because their thread had no room in the session." },
		{ "processes", "tracefuse_processes", "gauge", "Processes that were traced." },
		{ "threads", "tracefuse_threads", "gauge", "Threads that were traced." },
	};
	char *info, value[64];
	int err = access_request(m->web->access, WIRE_INFO, "", -1, &info);

	if (err < 0)
		return err;
	err = 0;
	/* A recording's session has none of these. */
	for (size_t i = 0; !err && i < sizeof(words) / sizeof(words[0]); i++)
		if (client_info(info, words[i].key, 0, value, sizeof(value)))
			err = print_one(m, "", words[i].name, words[i].kind, words[i].help,
					strtoull(value, NULL, 10));
	free(info);
	return err;
}

int web_metrics_print(struct web *w, bool openmetrics, FILE *out)
{
	struct metrics m = { .web = w, .openmetrics = openmetrics, .last = &m.first };
	int err = web_each_hist(w, metrics_print_hist, &m), ret;

	if (!err)
		err = print_buffer(&m, "");
	if (!err)
		err = w->access->ops->list(w->access, "instances", print_buffer_of, &m);
	if (!err)
		err = metrics_print_losses(&m);
	ret = families_print(&m, out);
	families_free(&m);
	if (openmetrics)
		fputs("# EOF\n", out);
	return err ? err : ret;
}
