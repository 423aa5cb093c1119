/* SPDX-License-Identifier: MIT */
/*
 * metrics_protobuf.c - metrics in the protobuf form of Prometheus; see metrics.h
 *
 * Each family is a message MetricFamily behind its length. A native histogram has its classic
 * buckets, too: the scraper takes those that it wants. The numbers of the fields are those of
 *
 *     https://github.com/prometheus/client_model/blob/master/io/prometheus/client/metrics.proto
 */
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/web/metrics.h"
#include "export/form.h"

enum { FAMILY_NAME = 1, FAMILY_HELP, FAMILY_TYPE, FAMILY_METRIC };
enum { METRIC_LABEL = 1, METRIC_GAUGE, METRIC_COUNTER, METRIC_HISTOGRAM = 7 };
enum { LABEL_NAME = 1, LABEL_VALUE };
enum { NUMBER_VALUE = 1 };		/* of a Counter and of a Gauge */
enum {
	HISTOGRAM_COUNT	= 1,
	HISTOGRAM_SUM,
	HISTOGRAM_BUCKET,
	HISTOGRAM_SCHEMA	= 5,
	HISTOGRAM_ZERO_THRESHOLD,
	HISTOGRAM_ZERO_COUNT,
	HISTOGRAM_SPAN		= 12,	/* of positive values */
	HISTOGRAM_DELTA,
};
enum { BUCKET_BELOW = 1, BUCKET_BOUND };
enum { SPAN_OFFSET = 1, SPAN_LENGTH };

/* Numbers of the type sint are small where they are near 0. */
static uint64_t zigzag(int64_t v)
{
	return (uint64_t)v << 1 ^ (uint64_t)(v >> 63);
}

static void add_labels(struct proto *p, const char *labels)
{
	for (const char *at = labels; *at; at += strlen(at) + 1) {
		const size_t label = proto_open(p, METRIC_LABEL);

		proto_text(p, LABEL_NAME, at, SIZE_MAX);
		at += strlen(at) + 1;
		proto_text(p, LABEL_VALUE, at, SIZE_MAX);
		proto_close(p, label);
	}
}

static void add_bucket(struct proto *p, double bound, unsigned long long below)
{
	const size_t bucket = proto_open(p, HISTOGRAM_BUCKET);

	proto_number(p, BUCKET_BELOW, below);
	proto_double(p, BUCKET_BOUND, bound);
	proto_close(p, bucket);
}

/* Buckets that follow one another are a span. Its offset is from the end of the span before. */
static void add_spans(struct proto *p, const struct metrics_series *s)
{
	int end = 0;

	for (size_t i = 0, n; i < s->nr_ranges; i += n) {
		const int first = s->ranges[i].index;
		const size_t span = proto_open(p, HISTOGRAM_SPAN);

		for (n = 1; i + n < s->nr_ranges; n++)
			if (s->ranges[i + n].index != first + (int)n)
				break;
		proto_number(p, SPAN_OFFSET, zigzag(first - end));
		proto_number(p, SPAN_LENGTH, n);
		proto_close(p, span);
		end = first + (int)n;
	}
}

/* All values are whole numbers, so any threshold below 1 is right; this one is usual. */
static void add_native(struct proto *p, const struct metrics_series *s)
{
	unsigned long long before = 0;

	proto_number(p, HISTOGRAM_SCHEMA, zigzag(s->scale));
	proto_double(p, HISTOGRAM_ZERO_THRESHOLD, ldexp(1, -128));
	proto_number(p, HISTOGRAM_ZERO_COUNT, s->zeros);
	add_spans(p, s);
	for (size_t i = 0; i < s->nr_ranges; i++) {
		proto_number(p, HISTOGRAM_DELTA, zigzag((int64_t)(s->ranges[i].hits - before)));
		before = s->ranges[i].hits;
	}
}

/* A sum that is left out would be read as 0. */
static void protobuf_add_histogram(struct proto *p, const struct metrics_series *s)
{
	const size_t histogram = proto_open(p, METRIC_HISTOGRAM);

	proto_number(p, HISTOGRAM_COUNT, s->value);
	proto_double(p, HISTOGRAM_SUM, s->exact ? s->sum : (double)NAN);
	for (size_t i = 0; i < s->nr_buckets; i++)
		add_bucket(p, s->buckets[i].bound, s->buckets[i].below);
	add_bucket(p, (double)INFINITY, s->value);
	if (s->native)
		add_native(p, s);
	proto_close(p, histogram);
}

static void protobuf_add_number(struct proto *p, uint32_t field, unsigned long long value)
{
	const size_t number = proto_open(p, field);

	proto_double(p, NUMBER_VALUE, (double)value);
	proto_close(p, number);
}

static int protobuf_add(struct metrics_family *f, const struct metrics_series *s)
{
	struct proto p = { .bytes = NULL };
	const size_t metric = proto_open(&p, FAMILY_METRIC);
	int err;

	add_labels(&p, s->labels);
	if (f->kind == METRICS_HISTOGRAM)
		protobuf_add_histogram(&p, s);
	else
		protobuf_add_number(&p, f->kind == METRICS_COUNTER ? METRIC_COUNTER : METRIC_GAUGE,
				    s->value);
	proto_close(&p, metric);
	err = p.failed ? -ENOMEM : 0;
	if (!err)
		fwrite(p.bytes, 1, p.len, f->out);
	proto_free(&p);
	return err;
}

static void print_length(size_t v, FILE *out)
{
	for (; v >= 0x80; v >>= 7)
		fputc((int)(v & 0x7f) | 0x80, out);
	fputc((int)v, out);
}

/* In this form a counter's family has the name of its series. */
static int add_name(struct proto *p, const struct metrics_family *f)
{
	char *name = NULL;

	if (asprintf(&name, "%s%s", f->name, f->kind == METRICS_COUNTER ? "_total" : "") < 0)
		return -ENOMEM;
	proto_text(p, FAMILY_NAME, name, SIZE_MAX);
	free(name);
	return 0;
}

static int protobuf_print(const struct metrics_family *f, FILE *out)
{
	static const unsigned int types[] = {
		[METRICS_COUNTER] = 0,
		[METRICS_GAUGE] = 1,
		[METRICS_HISTOGRAM] = 4,
	};
	struct proto p = { .bytes = NULL };
	int err = add_name(&p, f);

	proto_text(&p, FAMILY_HELP, f->help, SIZE_MAX);
	proto_number(&p, FAMILY_TYPE, types[f->kind]);
	err = p.failed ? -ENOMEM : err;
	if (!err) {
		print_length(p.len + f->len, out);
		fwrite(p.bytes, 1, p.len, out);
		fwrite(f->text, 1, f->len, out);
	}
	proto_free(&p);
	return err;
}

const struct metrics_form metrics_protobuf = {
	.type = "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; "
		"encoding=delimited",
	.native = true,
	.add = protobuf_add,
	.print = protobuf_print,
	.end = "",
};
