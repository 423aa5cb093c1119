/* SPDX-License-Identifier: MIT */
/*
 * event.c - an event: its fields, and its files in all instances
 */
#include <string.h>

#include "model/event/format.h"
#include "model/ftrace/ftrace.h"

int event_need_fields(struct event *e)
{
	bool of_kernel = e->model->imported && !e->late;

	if (e->fields)
		return 0;
	return format_fields(e->system->name, e->format, of_kernel, &e->fields, &e->nr_fields);
}

const struct field *event_fields(struct event *e, unsigned int *nr)
{
	if (event_need_fields(e)) {
		*nr = 0;
		return NULL;
	}
	*nr = e->nr_fields;
	return e->fields;
}

bool event_is_kernels(const struct event *e)
{
	return e->model->has_kernel && !e->internal && !e->dynamic && e->id < LAYOUT_OWN_IDS;
}

static const struct field *event_look_up_field(const struct field *fields, unsigned int nr,
					       const char *name, bool common)
{
	for (unsigned int i = 0; i < nr; i++)
		if (fields[i].common == common && !strcmp(fields[i].name, name))
			return &fields[i];
	return NULL;
}

bool field_is_text(const struct field *f)
{
	switch (f->kind) {
	case FIELD_STATIC_STRING:
	case FIELD_DYN_STRING:
	case FIELD_RDYN_STRING:
	case FIELD_PTR_STRING:
	case FIELD_COMM:
		return true;
	default:
		return false;
	}
}

const struct field *event_find_field(struct event *e, const char *name)
{
	unsigned int nr;
	const struct field *fields = event_fields(e, &nr);
	const struct field *f = event_look_up_field(fields, nr, name, false);

	if (!f)
		f = field_generic(name);
	return f ? f : event_look_up_field(fields, nr, name, true);
}

bool event_has_enable(const struct event *e)
{
	return !e->internal;
}

bool event_has_trigger(const struct event *e)
{
	if (!e->internal || !strcmp(e->name, "print"))
		return true;
	/* ftrace:function of programs: its functions are counted without being recorded. */
	return e->id == LAYOUT_FUNCTION_ID && e->model->ftrace && e->model->ftrace->offered;
}

bool event_has_id(const struct event *e)
{
	return !e->internal || !strcmp(e->name, "print") || !strcmp(e->name, "function");
}
