/* SPDX-License-Identifier: MIT */
/*
 * names.c - names of C++ and Rust among the keys of histograms, as in the source
 *
 * The file hist.json has symbols. Two of them may have one name in the source: so /metrics, whose
 * labels must differ, does not use this.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/draw/rows.h"
#include "model/demangle/demangle.h"

/* *d is made for the first name that may be one. */
static void text_make_readable(struct demangler **d, json_t *text)
{
	const char *name = json_string_value(text);
	char *readable;

	if (!name || name[0] != '_' || (name[1] != 'Z' && name[1] != 'R'))
		return;
	if (!*d)
		*d = demangler_create();
	readable = demangle_text(*d, name);
	/* If it is no UTF-8, the symbol stays. */
	if (readable)
		json_string_set(text, readable);
	free(readable);
}

/* A stack, or an address with .sym or .sym-offset. */
static void key_make_readable(struct demangler **d, const json_t *key)
{
	const char *modifier = json_string_value(json_object_get(key, "modifier"));
	json_t *text = json_object_get(key, "text"), *one;
	size_t i;

	if (modifier && !strncmp(modifier, "sym", 3))
		text_make_readable(d, text);
	json_array_foreach(text, i, one)
		text_make_readable(d, one);
}

static void keys_make_readable(struct demangler **d, const json_t *list)
{
	json_t *one, *key;
	size_t i, k;

	json_array_foreach(list, i, one)
		json_array_foreach(json_object_get(one, "keys"), k, key)
			key_make_readable(d, key);
}

void rows_make_readable(struct demangler **d, const json_t *hist)
{
	keys_make_readable(d, json_object_get(hist, "entries"));
	keys_make_readable(d, json_object_get(hist, "percentiles"));
}
