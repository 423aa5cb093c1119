/* SPDX-License-Identifier: MIT */
/*
 * hist.c - any bytes as commands of the file `trigger`, and then as a record
 *
 * Input: lines of commands, a 0, then a record. The record goes through the hists at each length up
 * to its full one, in memory of exactly that size. Then all files of the event are printed, and the
 * triggers are removed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/event/file.h"
#include "model/hist/hist.h"
#include "fixture.h"

static const char format[] = EVENT_FORMAT(
	FIELD("__data_loc unsigned long[] stack", 48, 4, 0)
	FIELD("char * p", 56, 8, 0)
	FIELD("unsigned long l[3]", 64, 24, 0));

/* The files have only text, with one line for each trigger. */
static void print_files(struct event_file *f)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	event_file_trigger_print(f, out);
	fflush(out);
	if (strlen(text) != size)
		abort();
	hist_print(f, out);
	hist_debug_print(f, out);
	fclose(out);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct fixture *w = fixture("test", format);
	struct event_file *f = event_file_get(w->model->top, w->event);
	struct input in = input_split(data, size, 128);
	char *next = in.text, *line;

	while ((line = strsep(&next, "\n")))
		event_file_trigger_write(f, line);
	fixture_hits(w, &in);
	print_files(f);
	event_file_trigger_truncate(f);
	fixture_reclaim(w);
	free(in.text);
	return 0;
}
