/* SPDX-License-Identifier: MIT */
/*
 * model.c - the model of a session: its instances, systems and events
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "debug/prototype.h"
#include "elf/file.h"
#include "model/cmdlines.h"
#include "model/dynamic/events.h"
#include "model/errlog.h"
#include "model/event/file.h"
#include "model/event/format.h"
#include "model/event/module.h"
#include "model/ftrace/ftrace.h"
#include "model/symbols.h"

enum { DEFAULT_SUBBUF = 4096 };

static int create_tables(struct model *m)
{
	m->cmdlines = cmdlines_create();
	m->symbols = symbols_create();
	m->strings = symbols_create();
	if (!m->cmdlines || !m->symbols || !m->strings)
		return -ENOMEM;
	return 0;
}

/* The kernel's default, if the tmpfs has room for it. */
static uint64_t default_buffer(struct session *s)
{
	const uint64_t room = session_header(s)->ring_room;

	return room < MODEL_BUFFER ? room : MODEL_BUFFER;
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
	list_init(&m->dynamic_events);
	list_init(&m->made_events);
	lookup_init(&m->named_systems);
	lookup_init(&m->named_events);
	lookup_init(&m->dynamic_names);
	lookup_init(&m->places);
	list_init(&m->watchers);
	pthread_mutex_init(&m->watch_lock, NULL);
	m->nr_cpus = session_header(s)->nr_cpus;
	m->subbuf_size = DEFAULT_SUBBUF;
	m->machine.long_size = 8;
	m->default_buffer_bytes = default_buffer(s);
	m->merge_delay_ms = MODEL_MERGE_DELAY_MS;
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

/* Frees what only the server knows of an event. Its files and its plan are gone already. */
static void event_free(struct event *e)
{
	event_modules_free(e);
	fields_free(e->fields, e->nr_fields);
	fields_free(e->old_fields, e->nr_old_fields);
	free(e->name);
	free(e->format);
	free(e);
}

static void system_free(struct system *sys)
{
	free(sys->name);
	free(sys);
}

void system_get(struct system *sys)
{
	sys->opens++;
}

void system_put(struct system *sys)
{
	if (!--sys->opens && sys->removed)
		system_free(sys);
}

void event_get(struct event *e)
{
	e->opens++;
	system_get(e->system);
}

void event_put(struct event *e)
{
	struct system *sys = e->system;

	if (!--e->opens && e->removed)
		event_free(e);
	system_put(sys);
}

/* Removes it from the lists: it can no longer be found. */
static void system_unlink(struct model *m, struct system *sys)
{
	list_del(&sys->node);
	lookup_remove(&m->named_systems, &sys->named);
	sys->removed = true;
	if (!sys->opens)
		system_free(sys);
}

static void event_unlink(struct event *e)
{
	struct system *sys = e->system;
	struct model *m = e->model;

	list_del(&e->node);
	list_del(&e->made_node);
	lookup_remove(&m->named_events, &e->named);
	m->by_id[e->id] = NULL;
	if (e->id < m->first_free)
		m->first_free = e->id;
	e->removed = true;
	if (!e->opens)
		event_free(e);
	if (list_empty(&sys->events))
		system_unlink(m, sys);
}

static void systems_free(struct model *m)
{
	struct system *sys, *next_sys;
	struct event *e, *next;

	list_each_safe(sys, next_sys, &m->systems, node) {
		system_get(sys);
		list_each_safe(e, next, &sys->events, node)
			event_unlink(e);
		if (!sys->removed)
			system_unlink(m, sys);
		system_put(sys);
	}
}

void model_destroy(struct model *m)
{
	struct instance *inst, *next_inst;

	if (!m)
		return;
	m->closing = true;
	list_each(inst, &m->instances, node)
		ftrace_instance_destroy(inst);
	list_each(inst, &m->instances, node)
		event_files_destroy(inst);
	list_each_safe(inst, next_inst, &m->instances, node)
		if (inst != m->top)
			instance_remove(inst);
	if (m->top)
		instance_remove(m->top);
	ftrace_destroy(m);
	dynamic_events_destroy(m);	/* after the triggers that refer to them */
	systems_free(m);
	cmdlines_destroy(m->cmdlines);
	symbols_destroy(m->symbols);
	symbols_destroy(m->strings);
	lookup_free(&m->named_systems);
	lookup_free(&m->named_events);
	lookup_free(&m->dynamic_names);
	lookup_free(&m->places);
	elf_functions_free(m->functions);
	debug_kept_free(m->prototypes);
	free(m->release);
	free(m->printk_formats);
	pthread_mutex_destroy(&m->watch_lock);
	free(m);
}

static uint64_t name_hash(const char *name)
{
	return lookup_hash(0, name, strlen(name));
}

static uint64_t event_hash(const struct system *sys, const char *name, size_t len)
{
	return lookup_hash(sys->named.hash, name, len);
}

struct system *model_find_system(struct model *m, const char *name)
{
	struct system *sys;

	lookup_each(sys, &m->named_systems, name_hash(name), struct system, named)
		if (!strcmp(sys->name, name))
			return sys;
	return NULL;
}

/* The first `len` bytes of `name` are the name. */
static struct event *system_find_event(struct model *m, const struct system *sys, const char *name,
				       size_t len)
{
	struct event *e;

	lookup_each(e, &m->named_events, event_hash(sys, name, len), struct event, named)
		if (e->system == sys && !strncmp(e->name, name, len) && !e->name[len])
			return e;
	return NULL;
}

struct event *model_find_event(struct model *m, const char *system, const char *name)
{
	struct system *sys = model_find_system(m, system);

	return sys ? system_find_event(m, sys, name, strlen(name)) : NULL;
}

struct event *model_event_by_id(struct model *m, unsigned int id)
{
	return id < LAYOUT_MAX_EVENTS ? m->by_id[id] : NULL;
}

void model_event_asked(struct event *e)
{
	e->asked = e->model->nr_settled + 1;
}

bool model_event_is_asked(const struct event *e)
{
	return e->asked == e->model->nr_settled + 1;
}

void model_probes_stale(struct event *e)
{
	struct model *m = e->model;

	model_event_asked(e);
	if (m->nr_stale_events == MODEL_STALE_EVENTS)
		m->events_stale = true;
	else
		m->stale_events[m->nr_stale_events++] = e->id;
}

static struct system *system_make(struct model *m, const char *name)
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
	lookup_add(&m->named_systems, &sys->named, name_hash(name));
	return sys;
}

/* Systems whose events are made at run time. */
static bool system_is_late(const char *name)
{
	static const char *const late[] = { "synthetic", "kprobes", "uprobes",
					   "eprobes", "fprobes", "user_events" };

	for (size_t i = 0; i < sizeof(late) / sizeof(late[0]); i++)
		if (!strcmp(late[i], name))
			return true;
	return false;
}

/* A kprobe or a uprobe may be of any system. Its first field says what it is. */
static bool format_is_of_place(const char *text)
{
	return strstr(text, "\n\n\tfield:unsigned long __probe_") != NULL;
}

static struct event *event_alloc(struct system *sys, const struct format_header *h,
				 const char *text, size_t len)
{
	struct event *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->system = sys;
	e->name = strndup(h->name, h->name_len);
	e->format = strndup(text, len);
	e->id = h->id;
	e->internal = !strcmp(sys->name, "ftrace");
	e->late = system_is_late(sys->name) || (e->format && format_is_of_place(e->format));
	list_init(&e->files);
	list_init(&e->modules);
	list_init(&e->node);
	list_init(&e->made_node);
	if (!e->name || !e->format) {
		free(e->name);
		free(e->format);
		free(e);
		return NULL;
	}
	return e;
}

/*
 * A recording is read again, and a command has made an event of the same name since. That event
 * stays, see make_room().
 */
static int skip_for(struct event *e, const struct format_header *h, struct event **out)
{
	if (!e->dynamic)
		return -EEXIST;
	if (h->id >= e->model->first_dynamic)
		e->model->first_dynamic = h->id + 1u;
	*out = e;
	return 1;
}

/* 1: the same event is there already. */
static int check_new(struct model *m, const char *system, const struct format_header *h,
		     const char *text, struct event **out)
{
	struct event *same_id = m->by_id[h->id];
	struct system *sys = model_find_system(m, system);
	struct event *e;

	if (same_id) {
		*out = same_id;
		return !strcmp(same_id->format, text) && !strcmp(same_id->system->name, system)
			       ? 1
			       : -EEXIST;
	}
	e = sys ? system_find_event(m, sys, h->name, h->name_len) : NULL;
	return e ? skip_for(e, h, out) : 0;
}

static int record_event(struct model *m, struct event *e)
{
	char *path;
	int err;

	if (asprintf(&path, "events/%s/%s/format", e->system->name, e->name) < 0)
		return -ENOMEM;
	err = saved_add(m, m->top, path, e->format, NULL, 0, &e->saved);
	free(path);
	return err;
}

static void event_link(struct event *e)
{
	struct model *m = e->model;

	list_add_tail(&e->node, &e->system->events);
	lookup_add(&m->named_events, &e->named, event_hash(e->system, e->name, strlen(e->name)));
	m->by_id[e->id] = e;
	m->events_made++;
	if (e->id > m->max_id)
		m->max_id = e->id;
}

static int model_add_new_event(struct model *m, const char *system, const char *text, size_t len,
			       struct event **out)
{
	struct format_header h;
	struct system *sys;
	struct event *e;
	int err = format_header(text, &h);

	if (!err && !format_name_valid(system, strlen(system)))
		err = -EINVAL;
	if (!err)
		err = check_new(m, system, &h, text, out);
	if (err)
		return err < 0 ? err : 0;
	sys = system_make(m, system);
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
	event_link(e);
	e->order = e->id;
	e->machine = e->model->machine;
	if (e->order > m->last_order)
		m->last_order = e->order;
	if (e->id >= m->first_dynamic)
		m->first_dynamic = e->id + 1u;
	if (e->id > m->last_boot_id && !strcmp(system, "maple_tree"))
		m->last_boot_id = e->id;
	if (!strcmp(e->name, "sys_enter_openat") && strstr(e->format, " __filename_val;"))
		m->calls_have_texts = true;
	*out = e;
	return 0;
}

int model_add_event(struct model *m, const char *system, const char *format, size_t len,
		    struct event **out)
{
	struct event *e = NULL;
	char *text;
	int err;

	if (!*system || strchr(system, '/') || memchr(format, '\0', len))
		return -EINVAL;
	text = strndup(format, len);
	if (!text)
		return -ENOMEM;
	err = model_add_new_event(m, system, text, len, &e);
	free(text);
	if (!err && out)
		*out = e;
	return err;
}

static bool in_use(const struct event *e)
{
	struct event_file *f;

	list_each(f, &e->files, event_node)
		if (f->enabled || !list_empty(&f->triggers))
			return true;
	return e->attached;
}

/* An event that was ever armed may have left records. */
static void mark_instances(struct event *e)
{
	struct event_file *f;

	list_each(f, &e->files, event_node)
		if (f->state)
			f->instance->clear = true;
}

void model_clear_marked(struct model *m)
{
	struct instance *inst;

	list_each(inst, &m->instances, node) {
		if (inst->clear && !m->closing && !m->restoring)
			instance_clear(inst);
		inst->clear = false;
	}
}

int model_remove_event(struct model *m, struct event *e)
{
	struct event_file *f, *tmp;
	struct instance *inst;

	if (in_use(e)) {
		list_each(inst, &m->instances, node)
			inst->clear = false;
		return -EBUSY;
	}
	mark_instances(e);
	list_each_safe(f, tmp, &e->files, event_node)
		event_file_destroy(f);
	saved_remove(m, &e->saved);
	if (e->became_late && m->event_goes)
		m->event_goes(m->event_goes_arg, e);
	event_unlink(e);
	return 0;
}

struct event *model_recorded_event(struct model *m, const char *system, const char *name)
{
	struct event *e = model_find_event(m, system, name);

	return e && m->imported && !e->dynamic && e->late ? e : NULL;
}

/* An event that came with a recording gives way to a new one of the same name. */
static int make_room(struct model *m, const char *system, const char *name)
{
	struct event *old = model_find_event(m, system, name);

	if (!old)
		return 0;
	if (!model_recorded_event(m, system, name) || in_use(old))
		return -EEXIST;
	/* R4: the text stays, so that the next server does not give the id to another event */
	old->saved = 0;
	return model_remove_event(m, old);
}

unsigned int model_free_id(struct model *m)
{
	unsigned int id = m->first_dynamic > LAYOUT_OWN_IDS ? m->first_dynamic : LAYOUT_OWN_IDS;

	if (id < m->first_free)
		id = m->first_free;
	while (id < LAYOUT_GROUPS_AT && m->by_id[id])
		id++;
	m->first_free = id;
	return id;
}

void event_set_dynamic(struct event *e, bool on)
{
	struct list_head *before = e->model->made_events.prev;

	e->dynamic = on;
	list_del(&e->made_node);
	if (!on)
		return;
	/* Most are the newest. */
	while (before != &e->model->made_events &&
	       list_entry(before, struct event, made_node)->order > e->order)
		before = before->prev;
	list_add(&e->made_node, before);
}

/* An instance that was not asked for its events yet existed before this one. */
static void date_instances(struct model *m)
{
	struct instance *inst;

	list_each(inst, &m->instances, node)
		if (inst->name && !inst->born)
			inst->born = m->last_order;
}

static int dynamic_alloc(struct model *m, const char *system, const char *text, struct event **out)
{
	struct system *sys = system_make(m, system);
	struct format_header h;
	int err = sys ? format_header(text, &h) : -ENOMEM;

	if (err)
		return err;
	*out = event_alloc(sys, &h, text, strlen(text));
	if (!*out && list_empty(&sys->events))
		system_unlink(m, sys);
	return *out ? 0 : -ENOMEM;
}

struct event *model_take_recorded_event(struct event *e)
{
	date_instances(e->model);
	e->order = ++e->model->last_order;
	event_set_dynamic(e, true);
	return e;
}

int model_add_dynamic_event(struct model *m, const char *system, const char *name, const char *body,
			    unsigned int id, struct event **out)
{
	int err = make_room(m, system, name);
	struct event *e;
	char *text;

	if (err)
		return err;
	if (!id)
		id = model_free_id(m);
	if (id >= LAYOUT_GROUPS_AT || m->by_id[id])
		return -ENODEV;
	if (asprintf(&text, "name: %s\nID: %u\nformat:\n%s", name, id, body) < 0)
		return -ENOMEM;
	err = dynamic_alloc(m, system, text, &e);
	free(text);
	if (err)
		return err;
	date_instances(m);
	e->model = m;
	e->late = true;
	e->order = ++m->last_order;
	e->machine = m->machine;
	event_link(e);
	event_set_dynamic(e, true);
	*out = e;
	return 0;
}
