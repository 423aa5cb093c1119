/* SPDX-License-Identifier: MIT */
/*
 * eprobe_arm.c - the trigger that an event probe has at its base event
 *
 * It is in the event's list of triggers, takes the soft mode and fires with the others. But the
 * file `trigger` does not show it, and truncating that file does not remove it.
 */
#include <errno.h>
#include <stdlib.h>

#include "model/dynamic/eprobe.h"
#include "model/trigger/trigger.h"

struct probe_trigger {
	const struct eprobe	*probe;		/* only compared once the model closes */
	config_ref		code;
	size_t			size;
};

static void eprobe_trigger_arm(struct trigger *t, struct trigger_arm *out)
{
	const struct probe_trigger *pt = t->priv;

	out->code = pt->code;
}

static void eprobe_trigger_destroy(struct trigger *t)
{
	struct probe_trigger *pt = t->priv;
	struct model *m = t->file->event->model;

	if (pt && pt->code && !m->closing)
		session_config_retire(m->session, pt->code, pt->size);
	free(pt);
}

static const struct trigger_command probe_command = {
	.name		= "eprobe",
	.kind		= TRIGGER_PROBE,
	.arm		= eprobe_trigger_arm,
	.destroy	= eprobe_trigger_destroy,
};

const struct event *eprobe_trigger_event(const struct trigger *t)
{
	return ((const struct probe_trigger *)t->priv)->probe->probe.dyn.event;
}

static struct trigger *eprobe_trigger_find(struct event_file *base, const struct eprobe *p)
{
	struct trigger *t;

	list_each(t, &base->triggers, node)
		if (t->cmd == &probe_command && ((struct probe_trigger *)t->priv)->probe == p)
			return t;
	return NULL;
}

static int eprobe_trigger_prepare(struct trigger *t, struct eprobe *p)
{
	struct probe_trigger *pt = calloc(1, sizeof(*pt));
	int err;

	if (!pt)
		return -ENOMEM;
	t->priv = pt;
	pt->probe = p;
	err = eprobe_compile(p, t->file->instance, &pt->code, &pt->size);
	/* The records of a recording have passed the filter. */
	return err || p->recorded ? err : trigger_set_filter(t, p->cond);
}

/* No command makes this trigger: the probe's own command is saved. */
static int eprobe_trigger_attach(struct eprobe *p, struct event_file *base)
{
	struct trigger *t;
	int err = trigger_create(&probe_command, base, NULL, -1, &t);

	if (err)
		return err;
	err = eprobe_trigger_prepare(t, p);
	if (!err)
		err = trigger_attach(t);
	if (err)
		trigger_destroy(t);
	return err;
}

static bool is_armed(const struct eprobe *p, const struct instance *inst)
{
	const struct event_file *f = event_file_find(inst, p->probe.dyn.event);

	return f && f->enabled;
}

int eprobe_sync(struct eprobe *p)
{
	struct event_file *f, *base;
	struct trigger *t;
	int err = 0;

	list_each(base, &p->probe.base->files, event_node) {
		t = eprobe_trigger_find(base, p);
		if (t && !is_armed(p, base->instance))
			trigger_detach(t);
	}
	list_each(f, &p->probe.dyn.event->files, event_node) {
		if (err || !f->enabled)
			continue;
		base = event_file_get(f->instance, p->probe.base);
		if (!base)
			err = -ENOMEM;
		else if (!eprobe_trigger_find(base, p))
			err = eprobe_trigger_attach(p, base);
	}
	return err;
}

int eprobe_sync_all(struct model *m)
{
	struct dynamic_event *d;
	int err = 0;

	list_each(d, &m->dynamic_events, node)
		if (!err && d->kind == &eprobe_kind)
			err = eprobe_sync(eprobe_of_event(d->event));
	return err;
}
