/* SPDX-License-Identifier: MIT */
/*
 * file.c - one event in one instance: enables, filters and triggers it, and saves its commands
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/event/file.h"
#include "model/filter/filter.h"
#include "model/trigger/trigger.h"

struct event_file *event_file_find(const struct instance *inst, const struct event *e)
{
	struct event_file *f;

	list_each(f, &e->files, event_node)
		if (f->instance == inst)
			return f;
	return NULL;
}

struct event_file *event_file_get(struct instance *inst, struct event *e)
{
	struct event_file *f = event_file_find(inst, e);

	if (f)
		return f;
	f = event_need_fields(e) == -ENOMEM ? NULL : calloc(1, sizeof(*f));
	if (!f)
		return NULL;
	f->event = e;
	f->instance = inst;
	list_init(&f->triggers);
	list_add_tail(&f->event_node, &e->files);
	list_add_tail(&f->node, &inst->files);
	return f;
}

/* Written without printf(): a write may save as many as there are events. */
static char *path_of(const struct event_file *f, const char *file)
{
	const char *system = f->event->system->name, *event = f->event->name;
	char *path = malloc(sizeof("events///") + strlen(system) + strlen(event) + strlen(file));
	char *at = path;

	if (!path)
		return NULL;
	at = stpcpy(at, "events/");
	at = stpcpy(at, system);
	*at++ = '/';
	at = stpcpy(at, event);
	*at++ = '/';
	strcpy(at, file);
	return path;
}

int event_file_restored(const struct event_file *f, const char *file, const char *text,
			struct restored *out)
{
	char *path = path_of(f, file);

	if (!path)
		return -ENOMEM;
	*out = model_restored(f->event->model, f->instance, path, text);
	free(path);
	return 0;
}

int event_file_save(struct event_file *f, const char *file, const char *text, const uint64_t *refs,
		    unsigned int nr_refs, uint64_t *id)
{
	char *path = path_of(f, file);
	int err;

	if (!path)
		return -ENOMEM;
	err = saved_add(f->event->model, f->instance, path, text, refs, nr_refs, id);
	free(path);
	return err;
}

int event_file_need_state(struct event_file *f)
{
	struct session *s = f->event->model->session;
	uint64_t ref;
	int err;

	if (f->state)
		return 0;
	ref = session_data_alloc(s, sizeof(*f->state));
	if (!ref)
		return -ENOMEM;
	f->state = session_data(s, ref, sizeof(*f->state));
	f->state->event_id = f->event->id;
	f->state_ref = ref;
	err = event_file_save(f, "#state", "", &ref, 1, &f->state_saved);
	if (!err)
		return 0;
	session_data_free(s, ref, sizeof(*f->state));
	f->state = NULL;
	f->state_ref = 0;
	return err;
}

int event_file_restore_state(struct event_file *f, data_ref ref, uint64_t saved)
{
	struct session *s = f->event->model->session;
	int err;

	if (f->state)
		return -EEXIST;
	err = session_data_restore(s, ref, sizeof(*f->state));
	if (err)
		return err;
	f->state = session_data(s, ref, sizeof(*f->state));
	if (!f->state || f->state->event_id != f->event->id) {
		f->state = NULL;
		return -EPROTO;
	}
	f->state_ref = ref;
	f->state_saved = saved;
	return 0;
}

/* Detaching a hist can remove hidden hists of the same event, too. */
static void trigger_detach_all(struct event_file *f)
{
	while (!list_empty(&f->triggers))
		trigger_detach(list_entry(f->triggers.next, struct trigger, node));
}

void event_file_destroy(struct event_file *f)
{
	struct model *m = f->event->model;
	config_ref plan;

	trigger_detach_all(f);
	plan = f->event->plan;
	free(f->hist_error);
	free(f->hist_command);
	filter_destroy(f->filter);
	if (!m->closing) {
		list_del(&f->event_node);
		if (event_publish(f->event))
			event_drop_plan(f->event, plan);
		if (f->filter_code)
			session_config_retire(m->session, f->filter_code, f->filter_size);
		if (f->state_ref)
			session_data_retire(m->session, f->state_ref, sizeof(*f->state));
	}
	saved_remove(m, &f->enable_saved);
	saved_remove(m, &f->filter_saved);
	saved_remove(m, &f->state_saved);
	list_del(&f->event_node);
	list_del(&f->node);
	free(f);
}

void event_files_destroy(struct instance *inst)
{
	struct event_file *f, *tmp;

	/* Event probes first: while they are armed, their trigger is at the base event. */
	list_each(f, &inst->files, node) {
		if (f->event->dynamic && f->enabled) {
			f->enabled = false;
			event_publish(f->event);
		}
	}
	/* Then triggers: they point to other files of the instance. */
	list_each(f, &inst->files, node)
		trigger_detach_all(f);
	list_each_safe(f, tmp, &inst->files, node)
		event_file_destroy(f);
}

bool event_file_soft_disabled(const struct event_file *f)
{
	/* Relaxed: triggers in hits switch it; any recent value will do. */
	return f->state && atomic_load_explicit(&f->state->soft_disabled, memory_order_relaxed);
}

/* In a restored session the value that hits have made stays. */
static void set_soft_disabled(struct event_file *f, bool on)
{
	const struct model *m = f->event->model;

	/* Relaxed: a hit may see it one event late, as in the kernel. */
	if (f->state && !m->restoring && !m->closing)
		atomic_store_explicit(&f->state->soft_disabled, on, memory_order_relaxed);
}

static int enable(struct event_file *f)
{
	bool was = f->enabled;
	int err = event_file_need_state(f);

	if (!err && !f->enable_saved)
		err = event_file_save(f, "enable", "1", NULL, 0, &f->enable_saved);
	if (err)
		return err;
	set_soft_disabled(f, false);
	f->enabled = true;
	model_event_asked(f->event);
	err = was ? 0 : event_publish(f->event);
	if (err) {
		f->enabled = false;
		saved_remove(f->event->model, &f->enable_saved);
	}
	return err;
}

static int disable(struct event_file *f)
{
	int err = 0;

	if (f->soft_mode) {
		set_soft_disabled(f, true);
	} else if (f->enabled) {
		f->enabled = false;
		err = event_publish(f->event);
		f->enabled = err != 0;
	}
	if (!err)
		saved_remove(f->event->model, &f->enable_saved);
	return err;
}

int event_file_enable(struct event_file *f, bool on)
{
	return on ? enable(f) : disable(f);
}

static int soft_begin(struct event_file *f)
{
	bool was = f->enabled;
	int err = event_file_need_state(f);

	if (err)
		return err;
	f->soft_mode = true;
	if (!was)
		set_soft_disabled(f, true);	/* before it is armed, so that it is not recorded */
	f->enabled = true;
	err = event_publish(f->event);
	if (err) {
		f->soft_mode = false;
		f->enabled = was;
		set_soft_disabled(f, false);
	}
	return err;
}

/* An event that is recorded stays so; one that was armed only for the soft mode is disarmed. */
static int soft_end(struct event_file *f)
{
	int err;

	f->soft_mode = false;
	if (event_file_soft_disabled(f)) {
		f->enabled = false;
		saved_remove(f->event->model, &f->enable_saved);
	}
	err = event_publish(f->event);
	set_soft_disabled(f, false);
	return err;
}

int event_file_soft(struct event_file *f, int refs)
{
	int err;

	f->soft_refs += (unsigned int)refs;
	if (refs < 0)
		return f->soft_refs ? event_publish(f->event) : soft_end(f);
	model_event_asked(f->event);
	err = f->soft_refs > 1 ? event_publish(f->event) : soft_begin(f);
	if (err)
		f->soft_refs--;
	return err;
}

int event_file_trigger_mode(struct event_file *f, int refs)
{
	int err;

	f->trigger_refs += (unsigned int)refs;
	if (refs > 0)
		model_event_asked(f->event);
	if (f->trigger_refs > (refs > 0))
		err = event_publish(f->event);
	else
		err = event_file_soft(f, refs);
	if (err && refs > 0)
		f->trigger_refs--;
	return err;
}

void event_file_print_enable(const struct event_file *f, FILE *out)
{
	bool off = f && event_file_soft_disabled(f);

	fputc(f && f->enabled && !off ? '1' : '0', out);
	if (f && (off || f->soft_mode))
		fputc('*', out);
}
