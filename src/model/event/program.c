/* SPDX-License-Identifier: MIT */
/*
 * program.c - checks, compares and adds the events that running programs define
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/event/format.h"
#include "model/event/program.h"

enum { RECORD_MAX = 4072, BODY_MAX = 65536 };

/* ---- names ---- */

static bool name_is_good(const char *name)
{
	size_t len = strlen(name);

	return len && len <= PROGRAM_EVENT_NAME_MAX && *name != '.' && *name != '-' &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.") ==
		       len;
}

static bool is_one_of(const char *name, const char *const *v)
{
	for (; *v; v++)
		if (!strcmp(name, *v))
			return true;
	return false;
}

/* Names of directories beside the systems, and of files beside systems and events. */
static bool name_is_taken(const char *system, const char *name)
{
	static const char *const systems[] = {
		"ftrace", "synthetic", "eprobes", "kprobes", "uprobes", "fprobes", "user_events",
		"enable", "header_page", "header_event", NULL
	};
	static const char *const events[] = { "enable", "filter", NULL };

	return is_one_of(system, systems) || is_one_of(name, events);
}

/* ---- bodies ---- */

static bool text_is_clean(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' && *text != '\n' && *text != '\t')
			return false;
	return true;
}

static bool field_fits(const struct field *f)
{
	bool points = f->kind == FIELD_DYN_STRING || f->kind == FIELD_RDYN_STRING ||
		      f->kind == FIELD_CPUMASK;

	if (f->offset + f->size > RECORD_MAX || !name_is_good(f->name))
		return false;
	return !points || f->size == 4;
}

static bool common_is(const struct field *f, const char *name, unsigned int offset,
		      unsigned int size)
{
	return f->common && !strcmp(f->name, name) && f->offset == offset && f->size == size;
}

static const char *fields_fault(const struct field *f, unsigned int nr)
{
	if (nr < 4 || !common_is(&f[0], "common_type", 0, 2) ||
	    !common_is(&f[1], "common_flags", 2, 1) ||
	    !common_is(&f[2], "common_preempt_count", 3, 1) ||
	    !common_is(&f[3], "common_pid", 4, 4))
		return "Definition without the common fields";
	for (unsigned int i = 4; i < nr; i++)
		if (f[i].common || f[i].offset < 8 || !field_fits(&f[i]))
			return "Definition with a field that no record can have";
	return NULL;
}

/* The definition may be correct. */
static const char program_event_no_memory[] = "Definition for which there is no memory";

static const char *body_fault(const char *system, const char *text)
{
	struct field *fields = NULL;
	unsigned int nr = 0;
	const char *fault;
	int err;

	if (!text_is_clean(text) || !strstr(text, "\nprint fmt: "))
		return "Definition that is no format";
	err = format_fields(system, text, false, &fields, &nr);
	if (err == -ENOMEM)
		return program_event_no_memory;
	if (err)
		return "Definition whose fields cannot be read";
	fault = fields_fault(fields, nr);
	fields_free(fields, nr);
	return fault;
}

/* The text of the file `format`. */
static char *program_event_format_text(const char *name, unsigned int id, const char *body)
{
	char *text;

	if (asprintf(&text, "name: %s\nID: %u\nformat:\n%s", name, id, body) < 0)
		return NULL;
	return text;
}

const char *program_event_fault(const char *system, const char *name, const char *body)
{
	char *text;
	const char *fault;

	if (strnlen(body, BODY_MAX) == BODY_MAX)
		return "Definition that is too long";
	if (!name_is_good(system) || !name_is_good(name))
		return "Name of an event that cannot be a file's";
	if (name_is_taken(system, name))
		return "Name of an event that is taken";
	text = program_event_format_text(name, 1, body);
	fault = text ? body_fault(system, text) : program_event_no_memory;
	free(text);
	return fault;
}

/* ---- known definitions ---- */

static const char *body_of(const struct event *e)
{
	const char *line = strstr(e->format, "\nformat:\n");

	return line ? line + strlen("\nformat:\n") : e->format;
}

/* Copies up to the end of the line or of the text. */
static void copy_line(const char *line, char out[160])
{
	size_t len = strcspn(line, "\n"), i;

	for (i = 0; i < len && i < 159; i++)
		out[i] = (unsigned char)line[i] < ' ' ? ' ' : line[i];
	out[i] = '\0';
}

void program_event_compare(const struct event *known, const char *body,
			   struct program_event_difference *out)
{
	const char *a = body_of(known), *b = body, *line_a = a, *line_b = b;

	for (; *a && *a == *b; a++, b++) {
		if (*a == '\n') {
			line_a = a + 1;
			line_b = b + 1;
		}
	}
	/* The line of a field begins with a tab. */
	line_a += *line_a == '\t';
	line_b += *line_b == '\t';
	copy_line(line_a, out->known);
	copy_line(line_b, out->given);
	out->at = b > line_b ? (unsigned int)(b - line_b) : 0;
	if (out->at > strlen(out->given))
		out->at = (unsigned int)strlen(out->given);
}

void model_reserve_ids(struct model *m, unsigned int id)
{
	if (m->first_dynamic < id)
		m->first_dynamic = id;
}

static int add_new(struct model *m, const char *system, const char *name, const char *body,
		   unsigned int id, struct event **out)
{
	char *text;
	int err;

	if (!id)
		id = model_free_id(m);
	if (id >= LAYOUT_GROUPS_AT)
		return -ENOSPC;
	text = program_event_format_text(name, id, body);
	if (!text)
		return -ENOMEM;
	err = model_add_event(m, system, text, strlen(text), out);
	free(text);
	return err;
}

int model_add_program_event(struct model *m, const char *system, const char *name, const char *body,
			    unsigned int id, struct event **out, bool *is_new)
{
	struct event *known = model_find_event(m, system, name);
	const char *fault;

	*is_new = false;
	if (known) {
		*out = known;
		return known->dynamic || strcmp(body_of(known), body) ? -EEXIST : 0;
	}
	fault = program_event_fault(system, name, body);
	if (fault)
		return fault == program_event_no_memory ? -ENOMEM : -EINVAL;
	*is_new = true;
	return add_new(m, system, name, body, id, out);
}

int model_extend_program_event(struct event *e, const char *body)
{
	char *text = program_event_format_text(e->name, e->id, body);

	if (!text)
		return -ENOMEM;
	free(e->format);
	e->format = text;
	/* Filters and triggers may refer to them. */
	e->old_fields = e->fields;
	e->nr_old_fields = e->nr_fields;
	e->fields = NULL;
	e->nr_fields = 0;
	return 0;
}
