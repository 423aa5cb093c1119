/* SPDX-License-Identifier: MIT */
/*
 * eprobe.c - any bytes as a line of dynamic_events (e:, p:, r:), and then as a record
 *
 * Input: a line, a 0, then a record. If the line makes a probe of the event all:all, the probe is
 * armed. The record goes through it at each length up to its full one, in memory of exactly that
 * size. Then the trace is printed and the probe removed.
 */
#include <stdio.h>
#include <stdlib.h>

#include "model/dynamic/eprobe.h"
#include "model/errlog.h"
#include "show/show.h"
#include "fixture.h"

static const char format[] = EVENT_FORMAT(
	FIELD("const char * p", 48, 8, 0)
	FIELD("unsigned long l[3]", 56, 24, 0));

static void print_all(const struct fixture *w)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	show_buffer(w->model->top, 0, -1, out);
	dynamic_print(w->model, out);
	fclose(out);
	free(text);
}

static void run_probe(const struct fixture *w, struct dynamic_event *d, const struct input *in)
{
	struct event_file *f = event_file_get(w->model->top, d->event);

	if (event_file_enable(f, true))
		abort();
	fixture_hits(w, in);
	print_all(w);
	if (event_file_enable(f, false))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct fixture *w = fixture("all", format);
	struct input in = input_split(data, size, 96);
	struct dynamic_event *d;

	if (instance_expand(w->model->top))
		abort();
	errlog_clear(w->model->top->errlog);
	dynamic_command(w->model, in.text);
	list_each(d, &w->model->dynamic_events, node)
		run_probe(w, d, &in);
	if (dynamic_remove_all(w->model, NULL))
		abort();
	fixture_reclaim(w);
	free(in.text);
	return 0;
}
