/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <traceevent/event-parse.h>

#include "model/cmdlines.h"
#include "model/errlog.h"
#include "model/event_file.h"
#include "model/format.h"
#include "model/symbols.h"

enum { DEFAULT_SUBBUF = 4096, DEFAULT_BUFFER = 1408 * 1024 };

static int create_tables(struct model *m)
{
	m->cmdlines = cmdlines_create();
	m->symbols = symbols_create();
	m->strings = symbols_create();
	m->tep = tep_alloc();
	if (!m->cmdlines || !m->symbols || !m->strings || !m->tep)
		return -ENOMEM;
	tep_set_loglevel(TEP_LOG_NONE);
	tep_set_long_size(m->tep, 8);
	tep_set_page_size(m->tep, DEFAULT_SUBBUF);
	return 0;
}

int model_create(struct session *s, struct model **out)
{
	struct model *m = calloc(1, sizeof(*m));
	int err;

	if (!m)
		return -ENOMEM;
	m->session = s;
	list_init(&m->systems);
	list_init(&m->instances);
	list_init(&m->named_hists);
	m->nr_cpus = session_header(s)->nr_cpus;
	m->subbuf_size = DEFAULT_SUBBUF;
	m->default_buffer_bytes = DEFAULT_BUFFER;
	err = create_tables(m);
	if (!err)
		err = instance_create(m, NULL, &m->top);
	if (err) {
		model_destroy(m);
		return err;
	}
	*out = m;
	return 0;
}

/* What the server alone knows of an event; files and plan are gone already. */
static void event_free(struct event *e)
{
	list_del(&e->node);
	e->model->by_id[e->id] = NULL;
	fields_free(e->fields, e->nr_fields);
	free(e->name);
	free(e->format);
	free(e);
}

static void system_free(struct system *sys)
{
	struct event *e, *tmp;

	list_each_safe(e, tmp, &sys->events, node)
		event_free(e);
	list_del(&sys->node);
	free(sys->name);
	free(sys);
}

void model_destroy(struct model *m)
{
	struct instance *inst, *next_inst;
	struct system *sys, *next_sys;

	if (!m)
		return;
	m->closing = true;
	list_each(inst, &m->instances, node)
		event_files_destroy(inst);
	list_each_safe(inst, next_inst, &m->instances, node)
		if (inst != m->top)
			instance_remove(inst);
	if (m->top)
		instance_remove(m->top);
	list_each_safe(sys, next_sys, &m->systems, node)
		system_free(sys);
	if (m->tep)
		tep_free(m->tep);
	cmdlines_destroy(m->cmdlines);
	symbols_destroy(m->symbols);
	symbols_destroy(m->strings);
	free(m->release);
	free(m->printk_formats);
	free(m);
}

struct system *model_find_system(struct model *m, const char *name)
{
	struct system *sys;

	list_each(sys, &m->systems, node)
		if (!strcmp(sys->name, name))
			return sys;
	return NULL;
}

static struct event *system_find_event(struct system *sys, const char *name)
{
	struct event *e;

	list_each(e, &sys->events, node)
		if (!strcmp(e->name, name))
			return e;
	return NULL;
}

struct event *model_find_event(struct model *m, const char *system, const char *name)
{
	struct system *sys = model_find_system(m, system);

	return sys ? system_find_event(sys, name) : NULL;
}

struct event *model_event_by_id(struct model *m, unsigned int id)
{
	return id < LAYOUT_MAX_EVENTS ? m->by_id[id] : NULL;
}

static struct system *system_get(struct model *m, const char *name)
{
	struct system *sys = model_find_system(m, name);

	if (sys)
		return sys;
	sys = calloc(1, sizeof(*sys));
	if (!sys)
		return NULL;
	sys->name = strdup(name);
	if (!sys->name) {
		free(sys);
		return NULL;
	}
	list_init(&sys->events);
	list_add_tail(&sys->node, &m->systems);
	return sys;
}

/* Systems whose events are made at run time. */
static bool system_is_late(const char *name)
{
	static const char *const late[] = { "synthetic", "kprobes", "uprobes", "eprobes", "fprobes", "user_events" };

	for (size_t i = 0; i < sizeof(late) / sizeof(late[0]); i++)
		if (!strcmp(late[i], name))
			return true;
	return false;
}

static struct event *event_alloc(struct system *sys, const struct format_header *h, const char *text, size_t len)
{
	struct event *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->system = sys;
	e->name = strndup(h->name, h->name_len);
	e->format = strndup(text, len);
	e->id = h->id;
	e->internal = !strcmp(sys->name, "ftrace");
	e->late = system_is_late(sys->name);
	list_init(&e->files);
	list_init(&e->node);
	if (!e->name || !e->format) {
		free(e->name);
		free(e->format);
		free(e);
		return NULL;
	}
	return e;
}

/* 1: the very same event is there already. */
static int check_new(struct model *m, const char *system, const struct format_header *h, const char *text,
		     struct event **out)
{
	struct event *same_id = m->by_id[h->id];
	struct system *sys = model_find_system(m, system);
	struct event *e;

	if (same_id) {
		*out = same_id;
		return !strcmp(same_id->format, text) && !strcmp(same_id->system->name, system) ? 1 : -EEXIST;
	}
	if (!sys)
		return 0;
	list_each(e, &sys->events, node)
		if (!strncmp(e->name, h->name, h->name_len) && !e->name[h->name_len])
			return -EEXIST;
	return 0;
}

static int record_event(struct model *m, struct event *e)
{
	char *path;
	int err;

	if (asprintf(&path, "events/%s/%s/format", e->system->name, e->name) < 0)
		return -ENOMEM;
	err = model_object_add(m, m->top, path, e->format, NULL, 0, &e->object);
	free(path);
	return err;
}

static int add_event(struct model *m, const char *system, const char *text, size_t len, struct event **out)
{
	struct format_header h;
	struct system *sys;
	struct event *e;
	int err = format_header(text, &h);

	if (!err)
		err = check_new(m, system, &h, text, out);
	if (err)
		return err < 0 ? err : 0;
	sys = system_get(m, system);
	if (!sys)
		return -ENOMEM;
	e = event_alloc(sys, &h, text, len);
	if (!e)
		return -ENOMEM;
	e->model = m;
	err = record_event(m, e);
	if (err) {
		event_free(e);
		return err;
	}
	list_add_tail(&e->node, &sys->events);
	m->by_id[e->id] = e;
	if (e->id > m->max_id)
		m->max_id = e->id;
	if (e->id > m->last_boot_id && !strcmp(system, "maple_tree"))
		m->last_boot_id = e->id;
	*out = e;
	return 0;
}

int model_add_event(struct model *m, const char *system, const char *format, size_t len, struct event **out)
{
	struct event *e = NULL;
	char *text;
	int err;

	if (!*system || strchr(system, '/') || memchr(format, '\0', len))
		return -EINVAL;
	text = strndup(format, len);
	if (!text)
		return -ENOMEM;
	err = add_event(m, system, text, len, &e);
	free(text);
	if (!err && out)
		*out = e;
	return err;
}

int model_remove_event(struct model *m, struct event *e)
{
	struct system *sys = e->system;
	struct event_file *f, *tmp;

	list_each(f, &e->files, event_node)
		if (f->enabled || !list_empty(&f->triggers))
			return -EBUSY;
	list_each_safe(f, tmp, &e->files, event_node)
		event_file_destroy(f);
	model_object_remove(m, &e->object);
	event_free(e);
	if (list_empty(&sys->events))
		system_free(sys);
	return 0;
}
