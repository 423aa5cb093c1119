/* SPDX-License-Identifier: MIT */
/*
 * metrics.c - a session's numbers for Prometheus; see web.h and metrics.h
 *
 * A histogram with a key that is a number is a histogram metric with classic buckets:
 *
 *     tracefuse_SYSTEM_EVENT_FIELD_bucket{session,instance,hist,OTHER KEYS...,le}
 *
 * The key is the axis of `tracefuse cat --draw`. A histogram without such a key is a counter of
 * each entry, tracefuse_SYSTEM_EVENT_hits_total. The session's own counters follow.
 *
 * A key with .exp=SCALE makes it a native histogram besides, in the form that has such.
 *
 * A bound that no hit has reached is not there, but where values between two buckets did not
 * occur, a bucket that ends before the gap is added. So a quantile lies between the true bounds.
 */
#include <ctype.h>
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "access/socket.h"
#include "access/wire.h"
#include "cli/client.h"
#include "cli/draw/rows.h"
#include "cli/web/metrics.h"
#include "cli/web/web.h"
#include "model/text_memory.h"

enum { GROUPS = 100 };		/* of one histogram; the others are counted */

struct metrics {
	struct web	*web;
	const struct metrics_form *form;
	struct metrics_family *first, **last;	/* where the next one goes */
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

		if (n)
			fwrite(text, 1, n, out);
		else
			fprintf(out, "\\x%02x", *s);
		n = n ? n : 1;
		text += n;
		len -= n;
	}
}

/* A label whose value is known; see metrics_series.labels. */
static void metrics_print_label(const char *name, const char *value, FILE *out)
{
	fputs(name, out);
	fputc('\0', out);
	print_value_of_label(value, strlen(value), out);
	fputc('\0', out);
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
	metrics_print_label("session", m->web->session, out);
	fputs("instance", out);
	fputc('\0', out);
	print_instance(path, out);
	fputc('\0', out);
}

/* ---- families ---- */

/* Takes the name over. NULL: no memory. */
static struct metrics_family *family_of(struct metrics *m, char *name, enum metrics_kind kind,
					bool native, const char *help)
{
	struct metrics_family *f;

	for (f = m->first; name && f; f = f->next)
		if (!strcmp(f->name, name) && f->native == native) {
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
	f->native = native;
	f->help = help;
	*m->last = f;
	m->last = &f->next;
	return f;
}

/* Adds a number whose labels are in a memory stream, which it closes. */
static int metrics_add_number(struct metrics *m, const char *name, enum metrics_kind kind,
			      const char *help, unsigned long long value, FILE *labels,
			      char **text)
{
	struct metrics_family *f = family_of(m, strdup(name), kind, false, help);
	struct metrics_series s = { .value = value };
	int err = fclose(labels) || !f ? -ENOMEM : 0;

	s.labels = *text;
	if (!err)
		err = m->form->add(f, &s);
	free(*text);
	return err;
}

/* A histogram by a field of that name is another metric than the counter of hits. */
static bool is_counters_name(const char *what, enum metrics_kind kind)
{
	return kind != METRICS_COUNTER && (!strcmp(what, "hits") || !strcmp(what, "hits_total"));
}

/* tracefuse_SYSTEM_EVENT_WHAT */
static struct metrics_family *family_of_event(struct metrics *m, const json_t *hist,
					      const char *what, enum metrics_kind kind,
					      bool native, const char *help)
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
	return family_of(m, name, kind, native, help);
}

static int families_print(struct metrics *m, FILE *out)
{
	int err = 0;

	for (struct metrics_family *f = m->first; f; f = f->next) {
		if (fclose(f->out))
			err = -ENOMEM;
		else if (!err)
			err = m->form->print(f, out);
		free(f->text);
	}
	fputs(m->form->end, out);
	return err;
}

static void families_free(struct metrics *m)
{
	struct metrics_family *f;

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
	bool		native;			/* the axis has .exp=SCALE, and the form such */
	struct metrics_family *family;
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
	fprintf(out, "hist%c%zu%c", '\0', h->nr, '\0');
	for (size_t i = 0; !err && i < json_array_size(keys); i++) {
		const json_t *key = json_array_get(keys, i);

		if (h->axis && i == h->axis_key)
			continue;
		fputs(label_prefix(key_field(key)), out);
		metrics_print_name(key_field(key), out);
		/* One field may be two keys, with two modifiers. */
		if (is_earlier_field(keys, i))
			fprintf(out, "_%zu", i);
		fputc('\0', out);
		err = print_label_text(json_object_get(key, "text"), out);
		fputc('\0', out);
	}
	return err;
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

static void add_bucket(struct metrics_series *s, double bound)
{
	s->buckets[s->nr_buckets++] = (struct metrics_bucket){ bound, s->value };
}

/* A row of .exp=SCALE; see plane/exponential.h. Rows of one number can follow one another. */
static void add_range(struct metrics_series *s, const struct row *r)
{
	const int index = (int)r->value - 1;

	if (index < 0)
		s->zeros += r->hits;
	else if (s->nr_ranges && s->ranges[s->nr_ranges - 1].index == index)
		s->ranges[s->nr_ranges - 1].hits += r->hits;
	else
		s->ranges[s->nr_ranges++] = (struct metrics_range){ index, r->hits };
}

/* A value may also be the smallest, the largest or the average. */
static bool is_no_sum(const json_t *value)
{
	const char *modifier = json_string_value(json_object_get(value, "modifier"));

	return modifier && (!strcmp(modifier, "min") || !strcmp(modifier, "max") ||
			    !strcmp(modifier, "avg"));
}

/* The sum of the values: what the histogram sums up of that field, else what its rows say. */
static bool metrics_sum_of(const struct hist_metric *h, const struct row *r, double *sum)
{
	const json_t *values = json_object_get(r->entry, "values");

	for (size_t i = 1; i < json_array_size(values); i++) {
		const json_t *value = json_array_get(values, i);

		if (!strcmp(key_field(value), h->axis) && !is_no_sum(value)) {
			*sum += json_number_value(json_object_get(value, "value"));
			return true;
		}
	}
	*sum += r->value * (double)r->hits;
	return !*h->modifier;
}

/* One series: the rows of a group. The buckets have room for two of each row. */
static void add_rows(const struct hist_metric *h, const struct row *rows, size_t nr,
		     struct metrics_series *s)
{
	double end = 0;

	s->exact = true;
	for (size_t i = 0; i < nr; i++) {
		if (bound_before(h, &rows[i]) > end)
			add_bucket(s, bound_before(h, &rows[i]));
		s->value += rows[i].hits;
		end = upper(h, &rows[i]);
		/* Two rows of one number differ in what is not shown. */
		if (i + 1 == nr || upper(h, &rows[i + 1]) > end)
			add_bucket(s, end);
		/* With values below 0 it would be no counter. */
		s->exact &= metrics_sum_of(h, &rows[i], &s->sum) && rows[i].low >= 0;
		if (h->native)
			add_range(s, &rows[i]);
	}
}

static int metrics_add_histogram(const struct hist_metric *h, const struct row *rows, size_t nr,
				 struct metrics_series *s)
{
	const json_t *axis = json_array_get(json_object_get(rows->entry, "keys"), h->axis_key);
	int err = -ENOMEM;

	s->native = h->native;
	s->scale = (int)json_number_value(json_object_get(axis, "scale"));
	s->buckets = calloc(2 * nr, sizeof(*s->buckets));
	s->ranges = calloc(nr, sizeof(*s->ranges));
	if (s->buckets && s->ranges) {
		add_rows(h, rows, nr, s);
		err = h->metrics->form->add(h->family, s);
	}
	free(s->buckets);
	free(s->ranges);
	return err;
}

static int metrics_add_group(const struct hist_metric *h, const struct row *rows, size_t nr)
{
	struct metrics_series s = { .value = 0 };
	char *labels = NULL;
	size_t len;
	FILE *f = text_memory_open(&labels, &len);
	int err = f ? print_labels(h, rows->entry, f) : -ENOMEM;

	if (!f || fclose(f))
		return -ENOMEM;
	s.labels = labels;
	if (!err && h->axis) {
		err = metrics_add_histogram(h, rows, nr, &s);
	} else if (!err) {
		s.value = rows->hits;
		err = h->metrics->form->add(h->family, &s);
	}
	free(labels);
	return err;
}

/* -> the number of groups that were left out; -errno */
static long add_groups(const struct hist_metric *h, const struct rows *rows)
{
	size_t first = 0, nr = 0;
	int err = 0;

	for (size_t i = 0; !err && i < rows->nr; i++) {
		if (h->axis && i + 1 < rows->nr &&
		    !strcmp(rows->v[i + 1].group, rows->v[first].group))
			continue;
		if (nr++ < GROUPS)
			err = metrics_add_group(h, &rows->v[first], i + 1 - first);
		first = i + 1;
	}
	return err ? err : nr > GROUPS ? (long)(nr - GROUPS) : 0;
}

/* A number of each histogram, which is there also while it has no entries. */
static int metrics_count(struct metrics *m, const char *path, size_t nr, const json_t *hist,
			 const char *name, enum metrics_kind kind, const char *help,
			 unsigned long long value)
{
	const char *event = json_string_value(json_object_get(hist, "event"));
	char *text = NULL;
	size_t len;
	FILE *labels = text_memory_open(&text, &len);

	if (!labels)
		return -ENOMEM;
	metrics_print_place(m, path, labels);
	metrics_print_label("event", event ? event : "", labels);
	fprintf(labels, "hist%c%zu%c", '\0', nr, '\0');
	return metrics_add_number(m, name, kind, help, value, labels, &text);
}

static unsigned long long total(const json_t *hist, const char *key)
{
	return (unsigned long long)json_number_value(
		json_object_get(json_object_get(hist, "totals"), key));
}

static int print_counts(struct metrics *m, const char *path, size_t nr, const json_t *hist,
			long left_out)
{
	int err = metrics_count(m, path, nr, hist, "tracefuse_hist_hits", METRICS_COUNTER,
				"Hits that a histogram counted.", total(hist, "hits"));

	if (!err)
		err = metrics_count(m, path, nr, hist, "tracefuse_hist_dropped", METRICS_COUNTER,
				    "Hits that found no room in a histogram.",
				    total(hist, "dropped"));
	if (!err)
		err = metrics_count(m, path, nr, hist, "tracefuse_hist_left_out", METRICS_GAUGE,
				    "Groups of a histogram's keys that are not in these metrics "
				    "because it has too many.", (unsigned long long)left_out);
	return err;
}

static int metrics_print_rows(struct metrics *m, struct hist_metric *h, const struct rows *rows,
			      long *left_out)
{
	h->axis = rows->axis;
	h->modifier = rows->modifier;
	h->axis_key = rows->axis_key;
	if (!rows->nr)
		return 0;
	h->native = m->form->native && h->axis && !strcmp(h->modifier, "exp");
	h->family = h->axis ? family_of_event(m, h->hist, h->axis, METRICS_HISTOGRAM, h->native,
					      "Hits of an event by a field.")
			    : family_of_event(m, h->hist, "hits", METRICS_COUNTER, false,
					      "Hits of an event by its keys.");
	if (!h->family)
		return -ENOMEM;
	*left_out = add_groups(h, rows);
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

static int print_one(struct metrics *m, const char *path, const char *name,
		     enum metrics_kind kind, const char *help, unsigned long long value)
{
	char *text = NULL;
	size_t len;
	FILE *labels = text_memory_open(&text, &len);

	if (!labels)
		return -ENOMEM;
	metrics_print_place(m, path, labels);
	return metrics_add_number(m, name, kind, help, value, labels, &text);
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
	err = print_one(m, below, "tracefuse_events_recorded", METRICS_COUNTER,
			"Events that were written to the buffer.", s.recorded);
	err = err ? err : print_one(m, below, "tracefuse_events_overwritten", METRICS_COUNTER,
				    "Events that newer ones overwrote, unread.", s.overwritten);
	return err ? err : print_one(m, below, "tracefuse_events_dropped", METRICS_COUNTER,
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
		const char	*key, *name;
		enum metrics_kind kind;
		const char	*help;
	} words[] = {
		{ "missed", "tracefuse_hits_missed", METRICS_COUNTER,
		  "Hits that were lost because their thread had no room in the session." },
		{ "processes", "tracefuse_processes", METRICS_GAUGE,
		  "Processes that were traced." },
		{ "threads", "tracefuse_threads", METRICS_GAUGE, "Threads that were traced." },
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

int web_metrics_print(struct web *w, const struct metrics_form *form, FILE *out)
{
	struct metrics m = { .web = w, .form = form, .last = &m.first };
	int err = web_each_hist(w, metrics_print_hist, &m), ret;

	if (!err)
		err = print_buffer(&m, "");
	if (!err)
		err = w->access->ops->list(w->access, "instances", print_buffer_of, &m);
	if (!err)
		err = metrics_print_losses(&m);
	ret = families_print(&m, out);
	families_free(&m);
	return err ? err : ret;
}
