/* SPDX-License-Identifier: MIT */
/* define.c - explains definitions of synthetic events and probes */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "cli/explain/explain.h"
#include "model/text_memory.h"

/* ---- synthetic events ---- */

static const struct {
	const char	*type, *words;
} types[] = {
	{ "u8", "an unsigned number, 8 bits" },
	{ "u16", "an unsigned number, 16 bits" },
	{ "u32", "an unsigned number, 32 bits" },
	{ "u64", "an unsigned number, 64 bits" },
	{ "s8", "a number, 8 bits" },
	{ "s16", "a number, 16 bits" },
	{ "s32", "a number, 32 bits" },
	{ "s64", "a number, 64 bits" },
	{ "int", "a number, 32 bits" },
	{ "long", "a number, 64 bits" },
	{ "unsigned int", "an unsigned number, 32 bits" },
	{ "unsigned long", "an unsigned number, 64 bits" },
	{ "pid_t", "the pid of a task" },
	{ "bool", "yes (1) or no (0)" },
	{ "char", "a number, 8 bits" },
	{ "gfp_t", "flags of an allocation" },
};

static const char *type_words(const char *type)
{
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (!strcmp(types[i].type, type))
			return types[i].words;
	return NULL;
}

/* Explains a field: "u64 lat", "char comm[16]", "char comm[]", "long[] stack". */
static void say_field(struct explain *e, const char *label, const char *field)
{
	size_t name = strlen(field), type, array = strcspn(field, "[");
	const char *words;
	char *text;

	while (name && !isspace((unsigned char)field[name - 1]))
		name--;
	for (type = name; type && isspace((unsigned char)field[type - 1]); type--)
		;
	text = strndup(field, type);
	words = text ? type_words(text) : NULL;
	if (field[array] && array < type)
		explain_say(e, label, "%s: a stack trace", field + name);
	else if (field[array] && !strcmp(field + array, "[]"))
		explain_say(e, label, "%.*s: a text of any length", (int)(array - name),
			    field + name);
	else if (field[array])
		explain_say(e, label, "%.*s: a text of up to %d bytes", (int)(array - name),
			    field + name, atoi(field + array + 1));
	else if (!name)
		explain_say(e, label, "%s: has no type: TYPE NAME", field);
	else
		explain_say(e, label, "%s: %s%s", field + name, words ? words : "of the type ",
			    words ? "" : text);
	free(text);
}

void explain_synth(struct explain *e, const char *text)
{
	bool removes = *text == '!';
	const char *name = text + removes, *rest;
	struct explain_parts fields = { 0 };

	if (!strncmp(name, "s:", 2))
		name += 2;
	if (!strncmp(name, "synthetic/", 10))
		name += 10;
	rest = name + strcspn(name, " \t;");
	explain_say(e, "event",
		    removes ? "removes the synthetic event %.*s, which no trigger may use"
			    : "a new event synthetic:%.*s, which triggers of other events make",
		    (int)(rest - name), name);
	explain_split(rest, ';', &fields);
	for (unsigned int i = 0; i < fields.nr && !removes; i++)
		if (*fields.v[i])
			say_field(e, i ? "" : "fields", fields.v[i]);
	if (!removes) {
		explain_say(
			e, "made by",
			"onmatch(SYSTEM.EVENT).%.*s(VALUE,...) and the like, with a value for each "
			"field",
			(int)(rest - name), name);
		explain_say(e, "files", "events/synthetic/%.*s: enable, filter, trigger, hist",
			    (int)(rest - name), name);
	}
	explain_parts_free(&fields);
}

/* ---- probes ---- */

/* A variable of a probe at a place. */
static void say_variable(FILE *out, const char *name)
{
	if (!strncmp(name, "arg", 3))
		fprintf(out, "argument %s of the function", name + 3);
	else if (!strncmp(name, "retval", 6))
		fputs("what the function returns", out);
	else if (!strcmp(name, "stack"))
		fputs("the stack pointer", out);
	else if (!strncmp(name, "stack", 5))
		fprintf(out, "word %s of the stack", name + 5);
	else
		fprintf(out, "$%s", name);
}

static void say_fetch(FILE *out, const char *fetch, bool of_event)
{
	const char *inside = strchr(fetch, '(');

	if (*fetch == '%') {
		fprintf(out, "the register %s", fetch + 1);
	} else if (*fetch == '$') {
		if (!strcasecmp(fetch, "$comm"))
			fputs("the name of the task", out);
		else if (of_event)
			fprintf(out, "its field %s", fetch + 1);
		else
			say_variable(out, fetch + 1);
	} else if ((*fetch == '+' || *fetch == '-') && inside) {
		bool user = fetch[1] == 'u';
		char *inner = strndup(inside + 1, strcspn(inside + 1, ")"));

		fprintf(out, "what lies %s%.*s bytes from%s ", *fetch == '-' ? "-" : "",
			(int)(inside - fetch - 1 - user), fetch + 1 + user,
			user ? ", in the program's memory," : "");
		say_fetch(out, inner ? inner : "", of_event);
		free(inner);
	} else if (*fetch == '@') {
		fprintf(out, "what lies at %s", fetch + 1);
	} else if (*fetch == '\\') {
		fprintf(out, "always %s", fetch + 1);
	} else {
		fputs(fetch, out);
	}
}

/* Explains an argument "NAME=FETCH:TYPE". */
static void say_argument(struct explain *e, const char *label, const char *argument,
			 bool of_event)
{
	const char *equals = strchr(argument, '='), *fetch = equals ? equals + 1 : argument;
	size_t len = strcspn(fetch, ":");
	char *words = NULL, *what = strndup(fetch, len);
	size_t size;
	FILE *out = text_memory_open(&words, &size);

	if (out) {
		say_fetch(out, what ? what : "", of_event);
		fclose(out);
	}
	explain_say(e, label, "%.*s: %s, %s%s", equals ? (int)(equals - argument) : (int)len,
		    argument, words, fetch[len] ? "as " : "as a number in hexadecimal",
		    fetch[len] ? fetch + len + 1 : "");
	free(words);
	free(what);
}

void explain_probe(struct explain *e, const char *text)
{
	char *filter, *command = explain_split_filter(text, &filter), *words;
	struct explain_parts parts = { 0 };
	unsigned int first = 1;
	const char *name;

	explain_split(command ? command : "", ' ', &parts);
	name = parts.nr && parts.v[0][1] == ':' ? parts.v[0] + 2 : "eprobes/...";
	explain_say(e, "event", "a new event %s%s, made of another event",
		    strchr(name, '/') ? "" : "eprobes/", name);
	if (parts.nr > first) {
		words = filter ? explain_condition(filter) : NULL;
		explain_say(e, "at", "each %s%s%s", parts.v[first], words ? " for which " : "",
			    words ? words : "");
		free(words);
	}
	for (unsigned int i = ++first; i < parts.nr; i++)
		if (*parts.v[i])
			say_argument(e, i == first ? "fields" : "", parts.v[i], true);
	explain_say(
		e, "does",
		"it is recorded when it is enabled; it can have a filter, triggers and histograms");
	explain_parts_free(&parts);
	free(command);
	free(filter);
}

/* "p:GROUP/NAME PLACE ARGUMENTS": the place is in a file if it has a slash and a colon. */
void explain_place(struct explain *e, const char *text)
{
	struct explain_parts parts = { 0 };
	const char *colon, *place;
	bool of_file, returns;

	explain_split(text, ' ', &parts);
	place = parts.nr > 1 ? parts.v[1] : "nowhere";
	colon = parts.nr ? strchr(parts.v[0], ':') : NULL;
	of_file = strchr(place, '/') && strchr(place, ':');
	returns = *text == 'r' || strstr(place, "%return");
	explain_say(e, "event", "a new event %s%s, made at a place in code",
		    colon && strchr(colon, '/') ? "" : of_file ? "uprobes/" : "kprobes/",
		    colon ? colon + 1 : "...");
	explain_say(e, "at", returns ? "each return of the function at %.*s" : "each run of %.*s",
		    (int)strcspn(place, "%"), place);
	for (unsigned int i = 2; i < parts.nr; i++)
		if (*parts.v[i])
			say_argument(e, i == 2 ? "fields" : "", parts.v[i], false);
	explain_say(
		e, "does",
		"it is recorded when it is enabled; it can have a filter, triggers and histograms");
	explain_parts_free(&parts);
}

void explain_removal(struct explain *e, const char *text)
{
	explain_say(e, "event",
		    "removes the event %s that was made here, which no trigger may use",
		    text + 2);
}
