/* SPDX-License-Identifier: MIT */
/*
 * hist.c - a histogram as csv, json or folded stacks
 *
 * All are made of the file hist.json (model/hist/json.c). Its numbers are read as texts: they may
 * have 64 bits.
 */
#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "access/access.h"
#include "cli/draw/rows.h"
#include "cli/export/export.h"
#include "model/demangle/demangle.h"
#include "model/text_memory.h"

static const char *const hist_forms[] = { "csv", "json", "folded", NULL };

bool hist_form_known(const char *form)
{
	for (const char *const *f = hist_forms; *f; f++)
		if (!strcmp(*f, form))
			return true;
	return false;
}

/* ---- reading ---- */

/* The text with all numbers in quotes. The caller frees it. NULL: no memory. */
static char *numbers_quoted(const char *text, size_t len, size_t *size)
{
	bool in_text = false, in_number = false;
	char *made = NULL;
	FILE *out = text_memory_open(&made, size);

	for (size_t i = 0; out && i < len; i++) {
		const bool digit = !in_text && (isdigit((unsigned char)text[i]) ||
						(text[i] && strchr("+-.", text[i])));

		if (digit != in_number)
			fputc('"', out);
		in_number = digit;
		fputc(text[i], out);
		if (text[i] == '\\' && in_text && i + 1 < len)
			fputc(text[++i], out);
		else if (text[i] == '"')
			in_text = !in_text;
	}
	return out && !fclose(out) ? made : NULL;
}

static json_t *hists_read(const char *text, size_t len)
{
	size_t size = 0;
	char *quoted = numbers_quoted(text, len, &size);
	json_t *all = quoted ? json_loadb(quoted, size, JSON_ALLOW_NUL, NULL) : NULL;

	free(quoted);
	return all;
}

static const char *text_in(const json_t *object, const char *name)
{
	return json_string_value(json_object_get(object, name));
}

/* ---- csv ---- */

/* Its row of names, or one of values. */
struct csv {
	bool		names;
	bool		some;		/* a column is there */
};

static void csv_open(struct csv *c)
{
	if (c->some)
		putchar(',');
	c->some = true;
}

/* In quotes where a reader would not take it as one value. */
static int csv_text(const char *text)
{
	char *shown = NULL;
	size_t size;
	FILE *out = text_memory_open(&shown, &size);

	if (!out)
		return -ENOMEM;
	rows_print_text(text ? text : "", out);
	if (fclose(out))
		return -ENOMEM;
	if (strpbrk(shown, ",\"") || isspace((unsigned char)shown[0])) {
		putchar('"');
		for (const char *s = shown; *s; s++) {
			if (*s == '"')
				putchar('"');
			putchar(*s);
		}
		putchar('"');
	} else {
		fputs(shown, stdout);
	}
	free(shown);
	return 0;
}

/* A column NAME[.MORE]; `value` may be NULL. */
static int csv_column(struct csv *c, const char *name, const char *more, const char *value)
{
	char *full;
	int err;

	csv_open(c);
	if (!c->names)
		return csv_text(value);
	if (asprintf(&full, "%s%s%s", name ? name : "", more && *more ? "." : "",
		     more ? more : "") < 0)
		return -ENOMEM;
	err = csv_text(full);
	free(full);
	return err;
}

/* A stack is one text, its outermost function first. */
static char *stack_text(const json_t *names, bool with_offsets)
{
	char *text = NULL;
	size_t size;
	FILE *out = text_memory_open(&text, &size);

	for (size_t i = json_array_size(names); out && i--;) {
		const char *name = json_string_value(json_array_get(names, i));
		const char *plus = name ? strstr(name, "+0x") : NULL;

		if (name)
			fwrite(name, 1,
			       plus && !with_offsets ? (size_t)(plus - name) : strlen(name), out);
		if (i)
			fputc(';', out);
	}
	return out && !fclose(out) ? text : NULL;
}

static int csv_stack(struct csv *c, const char *name, const json_t *names)
{
	char *text = stack_text(names, true);
	int err = text ? csv_column(c, name, NULL, text) : -ENOMEM;

	free(text);
	return err;
}

/* The text that `hist` prints; of a field with a modifier the number, too. */
static int csv_key(struct csv *c, const json_t *key)
{
	const char *modifier = text_in(key, "modifier"), *raw = text_in(key, "raw");
	const json_t *text = json_object_get(key, "text");
	char *name;
	int err;

	if (asprintf(&name, "%s%s%s", text_in(key, "field") ? text_in(key, "field") : "",
		     modifier ? "." : "", modifier ? modifier : "") < 0)
		return -ENOMEM;
	err = json_is_array(text) ? csv_stack(c, name, text)
				  : csv_column(c, name, NULL, json_string_value(text));
	if (!err && modifier && raw)
		err = csv_column(c, name, "raw", raw);
	if (!err && text_in(key, "low"))
		err = csv_column(c, name, "low", text_in(key, "low"));
	if (!err && text_in(key, "high"))
		err = csv_column(c, name, "high", text_in(key, "high"));
	free(name);
	return err;
}

static bool same_text(const json_t *a, const json_t *b, const char *name)
{
	const char *x = text_in(a, name), *y = text_in(b, name);

	return x && y && !strcmp(x, y);
}

/* What an entry has of a handler, which `like` is of another entry. NULL: nothing. */
static const json_t *tracked_like(const json_t *tracked, const json_t *like)
{
	json_t *one;
	size_t i;

	json_array_foreach(tracked, i, one)
		if (same_text(one, like, "handler") && same_text(one, like, "variable") &&
		    !json_object_get(one, "saved") == !json_object_get(like, "saved"))
			return one;
	return NULL;
}

/* The columns of `like`; `tracked` is NULL where the entry has nothing of that handler. */
static int csv_tracked(struct csv *c, const json_t *like, const json_t *tracked)
{
	const json_t *values = json_object_get(tracked, "saved");
	char *name;
	const char *saved;
	json_t *value;
	int err;

	if (asprintf(&name, "%s(%s)", text_in(like, "handler") ? text_in(like, "handler") : "",
		     text_in(like, "variable") ? text_in(like, "variable") : "") < 0)
		return -ENOMEM;
	err = csv_column(c, name, NULL, text_in(tracked, "value"));
	json_object_foreach(json_object_get(like, "saved"), saved, value)
		if (!err)
			err = csv_column(c, name, saved, text_in(values, saved));
	free(name);
	return err;
}

static int csv_variable(struct csv *c, const char *variable, const json_t *value)
{
	char *name;
	int err;

	if (asprintf(&name, "$%s", variable) < 0)
		return -ENOMEM;
	err = csv_column(c, name, NULL, json_string_value(value));
	free(name);
	return err;
}

/* `handlers`: of each handler one that an entry has tracked. */
static int csv_row(const json_t *entry, const json_t *handlers, bool names)
{
	struct csv c = { .names = names };
	const char *name;
	json_t *part;
	size_t i;
	int err = 0;

	json_array_foreach(json_object_get(entry, "keys"), i, part)
		err = err ? err : csv_key(&c, part);
	json_array_foreach(json_object_get(entry, "values"), i, part)
		err = err ? err : csv_column(&c, text_in(part, "field"), text_in(part, "modifier"),
					     text_in(part, "value"));
	json_object_foreach(json_object_get(entry, "variables"), name, part)
		err = err ? err : csv_variable(&c, name, part);
	json_array_foreach(handlers, i, part)
		err = err ? err
			  : csv_tracked(&c, part,
					tracked_like(json_object_get(entry, "tracked"), part));
	putchar('\n');
	return err;
}

/* An entry may lack what another one has tracked. NULL: no memory. */
static json_t *handlers_of(const json_t *entries)
{
	json_t *handlers = json_array(), *entry, *one;
	size_t i, j;
	int err = 0;

	json_array_foreach(entries, i, entry)
		json_array_foreach(json_object_get(entry, "tracked"), j, one)
			if (handlers && !tracked_like(handlers, one))
				err |= json_array_append(handlers, one);
	if (!err)
		return handlers;
	json_decref(handlers);
	return NULL;
}

static int csv_print(const json_t *hist)
{
	const json_t *entries = json_object_get(hist, "entries");
	json_t *handlers = handlers_of(entries), *entry;
	size_t i;
	int err = handlers ? 0 : -ENOMEM;

	if (!err && json_array_size(entries))
		err = csv_row(json_array_get(entries, 0), handlers, true);
	json_array_foreach(entries, i, entry)
		err = err ? err : csv_row(entry, handlers, false);
	json_decref(handlers);
	return err;
}

/* ---- folded ---- */

/* A text that is one frame has no separators in it. */
static void folded_frame(const char *text, bool stack)
{
	for (; text && *text; text++)
		putchar((unsigned char)*text < ' ' || (*text == ';' && !stack) ? '_' : *text);
}

/* 1: the entry has no stack. */
static int folded_entry(const json_t *entry)
{
	const json_t *values = json_object_get(entry, "values");
	bool has_stack = false;
	json_t *key;
	size_t i;

	json_array_foreach(json_object_get(entry, "keys"), i, key) {
		const json_t *text = json_object_get(key, "text");
		char *stack = json_is_array(text) ? stack_text(text, false) : NULL;

		if (json_is_array(text) && !stack)
			return -ENOMEM;
		has_stack |= json_is_array(text);
		if (i)
			putchar(';');
		folded_frame(stack ? stack : json_string_value(text), stack);
		free(stack);
	}
	printf(" %s\n", text_in(json_array_get(values, 0), "value"));
	return !has_stack;
}

static int folded_print(const json_t *hist)
{
	json_t *entry;
	size_t i;
	int err = 0;

	json_array_foreach(json_object_get(hist, "entries"), i, entry)
		err = err ? err : folded_entry(entry);
	return err;
}

/* Stacks of which the key has only the first functions end in the middle of a flame graph. */
static void say_cut(const json_t *hist, const char *file)
{
	const char *cut = text_in(json_object_get(hist, "totals"), "cut");

	if (cut)
		fprintf(stderr,
			"tracefuse: %s: stacks with more functions than the key keeps, so without "
			"the outer ones: %s; common_stacktrace.depth=63 keeps more\n",
			file, cut);
}

/* ---- a file ---- */

static int hists_print(const json_t *all, const char *file, const char *form)
{
	struct demangler *names = NULL;
	const bool csv = !strcmp(form, "csv");
	size_t i, entries = 0;
	json_t *hist;
	int err = 0;

	json_array_foreach(all, i, hist) {
		if (i && csv)
			putchar('\n');
		entries += json_array_size(json_object_get(hist, "entries"));
		if (!csv) {
			rows_make_readable(&names, hist);
			say_cut(hist, file);
		}
		err = err ? err : csv ? csv_print(hist) : folded_print(hist);
	}
	demangler_destroy(names);
	if (err > 0)
		return message_error("%s: folded needs a stack among the keys (.stacktrace)", file);
	if (err)
		return message_error("out of memory");
	if (!entries)
		fprintf(stderr, "tracefuse: %s has no entries\n", file);
	return COMMAND_DONE;
}

static int text_print(const char *text, size_t len, const char *file, const char *form)
{
	json_t *all;
	int status;

	if (!strcmp(form, "json"))
		return message_print(text, len);
	all = hists_read(text, len);
	status = json_is_array(all) ? hists_print(all, file, form)
				    : message_error("%s: it cannot be read", file);
	json_decref(all);
	return status;
}

int hist_form_file(struct access *a, const char *file, const char *form)
{
	char path[1024], *text;
	size_t len;
	int ret, status;

	snprintf(path, sizeof(path), "%s.json", file);
	ret = access_read_all(a, path, &text, &len);
	if (ret)
		return message_error("%s: %s", file, strerror(-ret));
	if (!strcmp(text, "[]\n") || !strcmp(text, "[]"))
		status = message_error("%s: the event has no histogram", file);
	else
		status = text_print(text, len, file, form);
	free(text);
	return status;
}
