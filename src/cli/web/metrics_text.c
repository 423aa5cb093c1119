/* SPDX-License-Identifier: MIT */
/* metrics_text.c - metrics in the text form of Prometheus, and in OpenMetrics; see metrics.h */
#include <math.h>
#include <string.h>

#include "cli/web/metrics.h"

static void text_print_value(const char *text, FILE *out)
{
	for (; *text; text++)
		if (*text == '\n')
			fputs("\\n", out);
		else if (*text == '"' || *text == '\\')
			fprintf(out, "\\%c", *text);
		else
			fputc(*text, out);
}

/* Without the brackets: a bucket adds its own. */
static void text_print_labels(const char *labels, FILE *out)
{
	for (const char *at = labels; *at; at += strlen(at) + 1) {
		fprintf(out, "%s%s=\"", at == labels ? "" : ",", at);
		at += strlen(at) + 1;
		text_print_value(at, out);
		fputc('"', out);
	}
}

static void text_print_double(double v, FILE *out)
{
	double whole;

	/* modf() is in libc itself, and trunc() is not. */
	fprintf(out, modf(v, &whole) == 0 && fabs(v) < 1e15 ? "%.1f" : "%.17g", v);
}

static void begin_line(const struct metrics_family *f, const char *part, const char *labels)
{
	fprintf(f->out, "%s%s{", f->name, part);
	text_print_labels(labels, f->out);
}

static void text_add_histogram(const struct metrics_family *f, const struct metrics_series *s)
{
	for (size_t i = 0; i < s->nr_buckets; i++) {
		begin_line(f, "_bucket", s->labels);
		fputs(",le=\"", f->out);
		text_print_double(s->buckets[i].bound, f->out);
		fprintf(f->out, "\"} %llu\n", s->buckets[i].below);
	}
	begin_line(f, "_bucket", s->labels);
	fprintf(f->out, ",le=\"+Inf\"} %llu\n", s->value);
	if (s->exact) {
		begin_line(f, "_sum", s->labels);
		fputs("} ", f->out);
		text_print_double(s->sum, f->out);
		fputc('\n', f->out);
	}
	begin_line(f, "_count", s->labels);
	fprintf(f->out, "} %llu\n", s->value);
}

static int metrics_text_add(struct metrics_family *f, const struct metrics_series *s)
{
	if (f->kind == METRICS_HISTOGRAM) {
		text_add_histogram(f, s);
		return 0;
	}
	begin_line(f, f->kind == METRICS_COUNTER ? "_total" : "", s->labels);
	fprintf(f->out, "} %llu\n", s->value);
	return 0;
}

/* `total`: what the name of a counter's family ends with. */
static int text_print_family(const struct metrics_family *f, const char *total, FILE *out)
{
	static const char *const kinds[] = {
		[METRICS_COUNTER] = "counter",
		[METRICS_GAUGE] = "gauge",
		[METRICS_HISTOGRAM] = "histogram",
	};

	if (f->kind != METRICS_COUNTER)
		total = "";
	fprintf(out, "# HELP %s%s %s\n# TYPE %s%s %s\n", f->name, total, f->help, f->name, total,
		kinds[f->kind]);
	fwrite(f->text, 1, f->len, out);
	return 0;
}

static int metrics_text_print(const struct metrics_family *f, FILE *out)
{
	return text_print_family(f, "_total", out);
}

static int openmetrics_print(const struct metrics_family *f, FILE *out)
{
	return text_print_family(f, "", out);
}

const struct metrics_form metrics_text = {
	.type = "text/plain; version=0.0.4; charset=utf-8",
	.add = metrics_text_add,
	.print = metrics_text_print,
	.end = "",
};

const struct metrics_form metrics_openmetrics = {
	.type = "application/openmetrics-text; version=1.0.0; charset=utf-8",
	.add = metrics_text_add,
	.print = openmetrics_print,
	.end = "# EOF\n",
};
