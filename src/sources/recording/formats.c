/* SPDX-License-Identifier: MIT */
/*
 * formats.c - puts the events of all files into the model
 *
 * The first file's events have the ids of its kernel. A further file may be of another kernel, as
 * that of a guest is. Then an event with the same format gets the id that the model has for it, an
 * event that is new gets its own id or a free one, and one whose format differs is an event of the
 * system SYSTEM_N, where N is the number of the file. Its records are converted: see foreign.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/event/format.h"
#include "sources/recording/file/foreign.h"
#include "sources/recording/source_state.h"

struct format_import {
	struct source		*src;
	struct trace_dat	*dat;
	unsigned int		file;	/* its number, from 0 */
	bool			restored;	/* the model has the events: none is added */
	struct source_error	*err;
};

/* The text is stored in the model and in the session, and the fields as soon as they are used. */
enum { EVENT_COST = 2048, FORMAT_COPIES = 4, SYSTEM_MAX = 255 };

/* What is behind the number in the line of the id. */
static const char *behind_id(const char *text, const char **line)
{
	*line = strstr(text, "\nID: ");
	return *line ? *line + strcspn(*line + 1, "\n") + 1 : NULL;
}

static bool same_but_id(const char *a, const char *b)
{
	const char *a_line, *b_line;
	const char *a_rest = behind_id(a, &a_line), *b_rest = behind_id(b, &b_line);

	return a_rest && b_rest && a_line - a == b_line - b &&
	       !memcmp(a, b, (size_t)(a_line - a)) && !strcmp(a_rest, b_rest);
}

/* From the highest one down: the next file's kernel has the low ones. 0: there is none. */
static unsigned int free_id(const struct model *m)
{
	unsigned int id = LAYOUT_OWN_IDS - 1;

	while (id && m->by_id[id])
		id--;
	return id;
}

/* An old recording does not name its machine. */
static uint8_t calls_of(const struct trace_dat *d)
{
	static const char *const generic[] = { "aarch64", "riscv64", "loongarch64" };
	char machine[32];

	if (!d->uname || sscanf(d->uname, "%*s %*s %*s %31s", machine) != 1 ||
	    !strcmp(machine, "x86_64"))
		return d->commit_size == 4 ? CALLS_UNKNOWN : CALLS_X86_64;
	for (size_t i = 0; i < sizeof(generic) / sizeof(generic[0]); i++)
		if (!strcmp(machine, generic[i]))
			return CALLS_GENERIC;
	return CALLS_UNKNOWN;
}

static struct traced_machine machine_of(const struct trace_dat *d)
{
	return (struct traced_machine){ d->commit_size == 4 ? 4 : 8, calls_of(d) };
}

static int add_with_other_id(struct model *m, const char *system, const char *text,
			     struct event **out)
{
	const unsigned int id = free_id(m);
	const char *line, *rest = behind_id(text, &line);
	char *other;
	int ret;

	if (!id || !rest)
		return rest ? -ENOSPC : -EINVAL;
	if (asprintf(&other, "%.*s\nID: %u%s", (int)(line - text), text, id, rest) < 0)
		return -ENOMEM;
	ret = model_add_event(m, system, other, strlen(other), out);
	free(other);
	return ret;
}

/* The event of that name in a system: the same one, or a new one if there is none. -EEXIST */
static int event_in_system(const struct format_import *in, const char *system, const char *text,
			   const char *name, struct event **out)
{
	struct model *m = in->src->model;

	*out = model_find_event(m, system, name);
	if (!*out)
		return in->restored ? -ENOENT : add_with_other_id(m, system, text, out);
	return same_but_id((*out)->format, text) ? 0 : -EEXIST;
}

static int add_other_kernels(const struct format_import *in, const char *system, const char *text)
{
	struct format_header header;
	char name[SYSTEM_MAX + 1], other[SYSTEM_MAX + 16];
	struct event *e;
	int ret = format_header(text, &header);

	if (ret || header.name_len > SYSTEM_MAX || strlen(system) > SYSTEM_MAX)
		return -EINVAL;
	snprintf(name, sizeof(name), "%.*s", (int)header.name_len, header.name);
	ret = event_in_system(in, system, text, name, &e);
	if (ret == -EEXIST) {
		snprintf(other, sizeof(other), "%s_%u", system, in->file + 1);
		ret = event_in_system(in, other, text, name, &e);
	}
	/* One that was saved with the session, of this file alone. */
	if (!ret && in->restored && strcmp(e->system->name, system))
		e->machine = machine_of(in->dat);
	return ret || e->id == header.id ? ret : foreign_rename(in->dat, header.id, e->id);
}

static int add_format(const struct format_import *in, const char *system, const char *text,
		      size_t len)
{
	struct event *e;
	char *copy;
	int ret = in->restored ? -EEXIST :
				 model_add_event(in->src->model, system, text, len, &e);

	if (ret != -EEXIST || !in->file)
		return ret;
	copy = strndup(text, len);
	ret = copy ? add_other_kernels(in, system, copy) : -ENOMEM;
	free(copy);
	return ret;
}

static int import_format(void *arg, const char *system, const char *text, size_t len)
{
	struct format_import *in = arg;
	int ret;

	if (!source_memory_take(&in->src->window.memory, EVENT_COST + FORMAT_COPIES * len))
		return error_set(in->err, -EFBIG, in->dat->path,
				 "the event formats are " SOURCE_MEMORY_TEXT);
	ret = add_format(in, system, text, len);
	if (!ret)
		return 0;
	if (ret == -EEXIST)
		return error_set(in->err, -EINVAL, in->dat->path,
				 "has an event of system %.64s that contradicts the events before",
				 system);
	if (ret == -ENOMEM || ret == -ENOSPC)
		return error_set(in->err, ret, in->dat->path, "out of memory for events");
	return error_set_at(in->err, -EINVAL, in->dat->path, in->dat->event_formats.offset,
			    "damaged: an event format of system %.64s cannot be understood",
			    system);
}

int formats_import(struct source *src, struct source_error *err)
{
	struct format_import in = { .src = src, .err = err };
	int ret;

	for (in.file = 0; in.file < src->window.nr_files; in.file++) {
		in.dat = src->window.files[in.file];
		src->model->machine = machine_of(in.dat);
		ret = trace_dat_each_format(in.dat, import_format, &in, err);
		if (ret)
			return ret;
	}
	/* What commands make of them. */
	src->model->machine = machine_of(src->window.files[0]);
	return 0;
}

/* An event that a command has removed since keeps the file's id, and its records have no plan. */
static int find_format(void *arg, const char *system, const char *text, size_t len)
{
	const int ret = add_format(arg, system, text, len);

	return ret == -ENOMEM ? ret : 0;
}

/* The events of the first file are those that were saved. */
static int find_machine(void *arg, const char *system, const char *text, size_t len)
{
	const struct format_import *in = arg;
	struct model *m = in->src->model;
	struct format_header header;
	char *copy = strndup(text, len);

	if (copy && !format_header(copy, &header) && m->by_id[header.id])
		m->by_id[header.id]->machine = machine_of(in->dat);
	free(copy);
	return copy ? 0 : -ENOMEM;
}

int formats_find(struct source *src, struct source_error *err)
{
	struct format_import in = { .src = src, .err = err, .restored = true };
	int ret = 0;

	in.dat = src->window.files[0];
	src->model->machine = machine_of(in.dat);
	for (uint32_t id = 0; id <= src->model->max_id; id++)
		if (src->model->by_id[id])
			src->model->by_id[id]->machine = src->model->machine;
	ret = trace_dat_each_format(in.dat, find_machine, &in, err);
	for (in.file = 1; in.file < src->window.nr_files && !ret; in.file++) {
		in.dat = src->window.files[in.file];
		ret = trace_dat_each_format(in.dat, find_format, &in, err);
	}
	return ret == -ENOMEM ? error_set(err, ret, "", "out of memory for events") : ret;
}
