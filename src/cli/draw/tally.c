/* SPDX-License-Identifier: MIT */
/* tally.c - see tally.h */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "access/access.h"
#include "cli/draw/rows.h"
#include "cli/draw/tally.h"
#include "host/message.h"

json_t *tally_open(struct access *a, const char *file)
{
	char *path = NULL, *text = NULL;
	json_t *all = NULL;
	size_t len;
	int ret = asprintf(&path, "%s.json", file) < 0 ? -ENOMEM : 0;

	if (!ret)
		ret = access_read_all(a, path, &text, &len);
	if (!ret) {
		all = json_loadb(text, len, JSON_DECODE_INT_AS_REAL | JSON_ALLOW_NUL, NULL);
		ret = all ? 0 : -EPROTO;
	}
	if (ret)
		message_error("%s: %s", file, strerror(-ret));
	free(path);
	free(text);
	return all;
}

static double tally_number(const json_t *object, const char *name)
{
	return json_number_value(json_object_get(object, name));
}

static double value_at(const json_t *entry, size_t i)
{
	return tally_number(json_array_get(json_object_get(entry, "values"), i), "value");
}

static int compare_tally_rows(const void *a, const void *b)
{
	const struct tally_row *x = a, *y = b;

	return strcmp(x->text, y->text);
}

static struct tally_row *row_find(struct tally *t, const json_t *keys)
{
	struct tally_row key = { .text = rows_keys_text(keys) }, *found = NULL;

	if (key.text)
		found = bsearch(&key, t->v, t->nr, sizeof(*t->v), compare_tally_rows);
	free(key.text);
	return found;
}

/* The sum is the value behind the hits, if there is one. */
static int read_main(struct tally *t, const json_t *hist)
{
	const json_t *entries = json_object_get(hist, "entries"), *entry;
	size_t i;

	t->v = calloc(json_array_size(entries) + 1, sizeof(*t->v));
	if (!t->v)
		return -ENOMEM;
	json_array_foreach((json_t *)entries, i, entry) {
		const json_t *tracked = json_object_get(entry, "tracked");
		struct tally_row *r = &t->v[t->nr];

		*r = (struct tally_row){ .keys = json_object_get(entry, "keys"), .p99 = -1,
					 .hits = value_at(entry, 0), .sum = value_at(entry, 1) };
		r->longest = tally_number(json_array_get(tracked, 0), "value");
		r->text = rows_keys_text(r->keys);
		if (!r->text)
			return -ENOMEM;
		t->nr++;
	}
	qsort(t->v, t->nr, sizeof(*t->v), compare_tally_rows);
	return 0;
}

static void read_percentiles(struct tally *t, const json_t *hist)
{
	const json_t *list = json_object_get(hist, "percentiles"), *found;
	size_t i;

	json_array_foreach((json_t *)list, i, found) {
		const json_t *values = json_object_get(found, "values");
		struct tally_row *r = row_find(t, json_object_get(found, "keys"));

		if (!r)
			continue;
		r->p99 = tally_number(json_array_get(values, json_array_size(values) - 1), "high");
		if (r->p99 > r->longest)
			r->p99 = r->longest;
	}
}

static void read_special(struct tally *t, const json_t *hist)
{
	const json_t *entries = json_object_get(hist, "entries"), *entry;
	size_t i;

	json_array_foreach((json_t *)entries, i, entry) {
		struct tally_row *r = row_find(t, json_object_get(entry, "keys"));

		if (r)
			r->special = value_at(entry, 0);
	}
}

double tally_dropped(const json_t *hists, size_t at)
{
	const json_t *hist = json_array_get(hists, at);

	return tally_number(json_object_get(hist, "totals"), "dropped");
}

int tally_read_one(const json_t *hists, size_t at, struct tally *out)
{
	*out = (struct tally){ .dropped = tally_dropped(hists, at) };
	return read_main(out, json_array_get(hists, at));
}

int tally_read(const json_t *hists, size_t at, bool special, struct tally *out)
{
	int err = tally_read_one(hists, at, out);

	if (err)
		return err;
	out->dropped += tally_dropped(hists, at + 1);
	read_percentiles(out, json_array_get(hists, at + 1));
	if (special) {
		out->dropped += tally_dropped(hists, at + 2);
		read_special(out, json_array_get(hists, at + 2));
	}
	return 0;
}

void tally_free(struct tally *t)
{
	for (size_t i = 0; i < t->nr; i++)
		free(t->v[i].text);
	free(t->v);
}

void tally_say_dropped(double dropped, const char *what)
{
	if (dropped)
		message_error("%.0f %s found no room, and are not in the table", dropped, what);
}

char *tally_key_text(const struct tally_row *r, unsigned int i)
{
	return rows_key_text(json_array_get(r->keys, i), "\n");
}
