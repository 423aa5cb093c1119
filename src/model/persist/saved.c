/* SPDX-License-Identifier: MIT */
/*
 * saved.c - what the server saves for each command, and how the next server restores it (R4)
 *
 *     path                                   text             refs
 *     #imported                              ""               -
 *     events/SYSTEM/EVENT/format             the format       -
 *     dynamic_events/#ID                     the command      -
 *     #staging                               ""               its place: staged hits (R28)
 *     instances/NAME                         ""               the instance's own
 *     [instances/NAME/]events/S/E/#state     ""               event_state
 *     [instances/NAME/]events/S/E/enable     "1"              -
 *     [instances/NAME/]events/S/E/filter     the filter       -
 *     [instances/NAME/]events/S/E/trigger    the command      trigger_state, the command's own
 *     events/SYSTEM/EVENT/#module            the object       -
 *     [instances/NAME/]#set_event            the word         -
 *     [instances/NAME/]set_event_pid         the pids         pid_set
 *     [instances/NAME/]#ftrace/...           model/ftrace/save.c
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/dynamic/events.h"
#include "model/dynamic/eprobe.h"
#include "model/event/module.h"
#include "model/ftrace/groups.h"
#include "model/hist/merge.h"

int saved_add(struct model *m, struct instance *inst, const char *path, const char *text,
		     const uint64_t *refs, unsigned int nr_refs, uint64_t *id)
{
	const struct restored r = model_restored(m, inst, path, text);
	char *full = NULL;
	int err;

	if (r.saved) {
		*id = r.id;
		return 0;
	}
	if (inst && inst->name && asprintf(&full, "instances/%s/%s", inst->name, path) < 0)
		return -ENOMEM;
	err = session_saved_add(m->session, full ? full : path, text, refs, nr_refs, id);
	free(full);
	return err;
}

int saved_replace(struct model *m, struct instance *inst, const char *path, const char *text,
			 const uint64_t *refs, unsigned int nr_refs, uint64_t *id)
{
	uint64_t old = *id;
	int err = saved_add(m, inst, path, text, refs, nr_refs, id);

	if (!err && old != *id)
		saved_remove(m, &old);
	return err;
}

void saved_remove(struct model *m, uint64_t *id)
{
	if (*id && !m->closing)
		session_saved_remove(m->session, *id);
	*id = 0;
}

void saved_settle(struct model *m, uint64_t *id, uint64_t old, int err)
{
	uint64_t other = err ? *id : old;

	if (err)
		*id = old;
	if (other != *id && !(err && m->restoring))
		saved_remove(m, &other);
}

/*
 * The part of `path` behind "instances/NAME/"; for the top, all of it. NULL: it is another
 * instance's.
 */
static const char *path_within(const struct instance *inst, const char *path)
{
	size_t len;

	if (!inst || !inst->name)
		return path;
	if (strncmp(path, "instances/", 10))
		return NULL;
	path += 10;
	len = strlen(inst->name);
	return strncmp(path, inst->name, len) || path[len] != '/' ? NULL : path + len + 1;
}

static bool is_file(const char *path, const char *name)
{
	const char *file = strrchr(path, '/');

	return file && !strcmp(file + 1, name);
}

/*
 * The text distinguishes the triggers of one event: a hist that is restored may make a hidden one.
 */
struct restored model_restored(const struct model *m, const struct instance *inst,
				      const char *path, const char *text)
{
	const struct restored none = { 0 };
	const struct saved *o = m->restored.saved;
	const char *of = o ? path_within(inst, o->bytes) : NULL;

	if (!of || strcmp(of, path))
		return none;
	if (is_file(path, "trigger") && strcmp(o->bytes + o->path_len, text))
		return none;
	return m->restored;
}

uint64_t restored_ref(const struct restored *r, unsigned int i)
{
	return r->saved && i < r->saved->nr_refs ? r->saved->refs[i] : 0;
}

struct replay {
	struct model	*model;
	int		(*write)(void *arg, const char *path, const char *text);
	void		*arg;
};

/* The parts of "[instances/NAME/]events/SYSTEM/EVENT/FILE"; they point into `copy`. */
struct event_path {
	char		*instance;	/* NULL: the top */
	char		*system, *event, *file;
};

static bool split_path(char *copy, struct event_path *out)
{
	char *save = copy, *word = strsep(&save, "/");

	out->instance = NULL;
	if (!strcmp(word, "instances")) {
		out->instance = strsep(&save, "/");
		word = strsep(&save, "/");
	}
	if (!word || strcmp(word, "events"))
		return false;
	out->system = strsep(&save, "/");
	out->event = strsep(&save, "/");
	out->file = save;
	return out->file && *out->file;
}

static int restore_state(struct model *m, const struct event_path *p, const struct restored *r)
{
	struct instance *inst = p->instance ? instance_find(m, p->instance) : m->top;
	struct event *e = model_find_event(m, p->system, p->event);
	struct event_file *f;

	if (!inst || !e)
		return -EPROTO;
	f = event_file_get(inst, e);
	return f ? event_file_restore_state(f, restored_ref(r, 0), r->id) : -ENOMEM;
}

static int restore_event(struct model *m, const struct event_path *p, const char *format)
{
	struct event *e;

	return model_add_event(m, p->system, format, strlen(format), &e);
}

int model_set_imported(struct model *m)
{
	uint64_t id = 0;

	m->imported = true;
	return saved_add(m, m->top, "#imported", "", NULL, 0, &id);
}

static int saved_restore(struct replay *r, const struct restored *o, const char *path,
			 const char *text)
{
	char *copy;
	struct event_path p;
	int err;

	if (!strcmp(path, "#imported")) {
		r->model->imported = true;
		return 0;
	}
	if (!strcmp(path, STAGING_SAVED))
		return instance_restore_staging(r->model, o);
	if (ftrace_restore(r->model, o, path, text, &err))
		return err;
	if (event_module_restore(r->model, path, text, &err))
		return err;
	copy = strdup(path);
	if (!copy)
		return -ENOMEM;
	if (!strncmp(path, "dynamic_events/", 15))
		err = dynamic_restore(r->model, path, text);
	else if (split_path(copy, &p) && !p.instance && !strcmp(p.file, "format"))
		err = restore_event(r->model, &p, text);
	else if (split_path(strcpy(copy, path), &p) && !strcmp(p.file, "#state"))
		err = restore_state(r->model, &p, o);
	else
		err = r->write(r->arg, path, text);
	free(copy);
	return err;
}

static int restore_one_saved(struct session *s, uint64_t id, const struct saved *o,
			     const char *path, const char *text, void *arg)
{
	struct replay *r = arg;
	int err;

	r->model->restored = (struct restored){ o, id };
	err = saved_restore(r, &r->model->restored, path, text);
	if (err == -ENOMEM)
		return err;
	/* A filter that was refused before is refused again, and stays saved. */
	if (err && !is_file(path, "filter"))
		session_saved_remove(s, id);
	return 0;
}

int model_restore(struct model *m, int (*write)(void *arg, const char *path, const char *text),
		  void *arg)
{
	struct replay r = { m, write, arg };
	int err;

	m->held = m->restoring = true;
	err = session_saved_each(m->session, restore_one_saved, &r);
	m->restoring = false;
	m->restored = (struct restored){ 0 };
	if (!err)
		err = eprobe_sync_all(m);
	m->held = false;
	/* Also without memory the session goes on. */
	if (!err && merge_restore(m))
		m->has_kernel = false;
	if (!err)
		err = model_publish(m, NULL);
	if (!err)
		ftrace_groups_restore_all(m);
	if (!err)
		err = ftrace_graph_publish(m);
	if (!err) {
		instances_restored(m);
		session_restore_done(m->session);
	}
	return err;
}
