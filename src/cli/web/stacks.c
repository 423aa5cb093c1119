/* SPDX-License-Identifier: MIT */
/*
 * stacks.c - the stacks of a histogram, for the flame graph; see web.h
 *
 *     { "values": [ "hitcount", ... ], "left_out": 0, "cut": hits whose stacks are cut,
 *       "stacks": [ { "frames": [ innermost, ... ], "values": [ 3, ... ] } ... ] }
 */
#include <errno.h>
#include <string.h>

#include "cli/draw/rows.h"
#include "cli/web/web.h"

enum { STACKS = 4000 };

/* The first key that is a stack. NULL: there is none. */
static const json_t *stacks_frames(const json_t *entry)
{
	const json_t *keys = json_object_get(entry, "keys");

	for (size_t i = 0; i < json_array_size(keys); i++) {
		const json_t *text = json_object_get(json_array_get(keys, i), "text");

		if (json_is_array(text))
			return text;
	}
	return NULL;
}

static void stacks_print_stack(const json_t *entry, const json_t *frames, FILE *out)
{
	const json_t *values = json_object_get(entry, "values");

	fputs("{\"frames\":[", out);
	for (size_t i = 0; i < json_array_size(frames); i++) {
		fputs(i ? "," : "", out);
		web_json_text(json_string_value(json_array_get(frames, i)), out);
	}
	fputs("],\"values\":[", out);
	for (size_t i = 0; i < json_array_size(values); i++)
		fprintf(out, "%s%.17g", i ? "," : "",
			json_number_value(json_object_get(json_array_get(values, i), "value")));
	fputs("]}", out);
}

static void print_names(const json_t *entry, FILE *out)
{
	const json_t *values = json_object_get(entry, "values");

	for (size_t i = 0; i < json_array_size(values); i++) {
		fputs(i ? "," : "", out);
		web_json_text(json_string_value(json_object_get(json_array_get(values, i),
								"field")), out);
	}
}

static int print_stacks(const json_t *hist, FILE *out)
{
	const json_t *entries = json_object_get(hist, "entries");
	const size_t nr = json_array_size(entries);
	const json_t *first = json_array_get(entries, 0);

	if (!json_is_array(entries) || (nr && !stacks_frames(first)))
		return -ENOENT;
	fputs("{\"values\":[", out);
	print_names(first, out);
	fprintf(out, "],\"left_out\":%zu,\"cut\":%.0f,\"stacks\":[",
		nr > STACKS ? nr - STACKS : 0,
		json_number_value(json_object_get(json_object_get(hist, "totals"), "cut")));
	for (size_t i = 0; i < nr && i < STACKS; i++) {
		const json_t *entry = json_array_get(entries, i);

		fputs(i ? "," : "", out);
		stacks_print_stack(entry, stacks_frames(entry), out);
	}
	fputs("]}\n", out);
	return 0;
}

int web_stacks_print(struct web *w, const char *path, size_t nr, FILE *out)
{
	static const char end[] = "/hist.json";
	const size_t len = strlen(path);
	json_t *all;
	int err;

	if (len < sizeof(end) || strcmp(path + len - sizeof(end) + 1, end))
		return -EINVAL;
	err = web_read_json(w, path, &all);
	if (err)
		return err;
	rows_make_readable(&w->names, json_array_get(all, nr));
	err = print_stacks(json_array_get(all, nr), out);
	json_decref(all);
	return err;
}
