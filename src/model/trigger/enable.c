/* SPDX-License-Identifier: MIT */
/*
 * enable.c - enable_event, disable_event, enable_hist and disable_hist
 */
#include <errno.h>
#include <string.h>

#include "model/text.h"
#include "model/trigger/commands.h"

static bool switches_hists(enum trigger_kind kind)
{
	return kind == TRIGGER_ENABLE_HIST || kind == TRIGGER_DISABLE_HIST;
}

static bool switches_events(enum trigger_kind kind)
{
	return kind == TRIGGER_ENABLE_EVENT || kind == TRIGGER_DISABLE_EVENT;
}

bool trigger_is_enable_hist(const struct trigger *t)
{
	return switches_hists(t->cmd->kind);
}

/* Enabling and disabling an event exclude each other; so do enabling and disabling its hists. */
static struct trigger *enable_find(const struct trigger_command *cmd, struct event_file *f,
				   const struct event_file *target)
{
	struct trigger *t;

	list_each(t, &f->triggers, node) {
		if (t->priv != target)
			continue;
		if (switches_hists(cmd->kind) ? switches_hists(t->cmd->kind)
					      : switches_events(t->cmd->kind))
			return t;
	}
	return NULL;
}

struct parts {
	struct event_file	*target;
	char			*count;		/* "N"; NULL: none */
	char			*cond;		/* "if FILTER"; NULL: none */
};

static int enable_split(struct event_file *f, char *rest, struct parts *out)
{
	char *system, *name, *save;
	struct event *e;

	if (!rest)
		return -EINVAL;
	save = trigger_first_word(rest, &out->cond);
	system = strsep(&save, ":");
	if (!save)
		return -EINVAL;
	name = strsep(&save, ":");
	out->count = save;
	e = model_find_event(f->event->model, system, name);
	if (!e || !event_has_enable(e))
		return -EINVAL;
	out->target = event_file_get(f->instance, e);
	return out->target ? 0 : -ENOMEM;
}

/* After this, trigger_destroy() drops the target's soft mode. */
static int take_target(struct trigger *t, struct event_file *target)
{
	int err = event_file_soft(target, 1);

	if (!err)
		t->priv = target;
	return err;
}

static int enable_attach(const struct trigger_command *cmd, struct trigger *t,
			 struct event_file *target)
{
	bool exists = enable_find(cmd, t->file, target) != NULL;
	int err = exists ? -EEXIST : take_target(t, target);

	return err ? err : trigger_attach(t);
}

static int enable_add(const struct trigger_command *cmd, struct event_file *f, const char *text,
		      char *params, const char *cond)
{
	const char *filter;
	struct parts parts;
	struct trigger *t;
	long count;
	int err = enable_split(f, params, &parts);

	if (!err)
		err = trigger_parse_count(parts.count, &count);
	if (!err)
		err = trigger_split_cond(parts.cond, &filter);
	if (!err)
		err = trigger_create(cmd, f, text, count, &t);
	if (err)
		return err;
	err = trigger_set_filter(t, filter);
	if (!err)
		err = enable_attach(cmd, t, parts.target);
	if (err)
		trigger_destroy(t);
	return err;
}

static int enable_remove_matching(const struct trigger_command *cmd, struct event_file *f,
				  const char *text, char *params, const char *cond)
{
	struct parts parts;
	struct trigger *t;
	int err = enable_split(f, params, &parts);

	if (err)
		return err;
	t = enable_find(cmd, f, parts.target);
	if (t)
		trigger_detach(t);
	return 0;
}

static void enable_print(struct trigger *t, FILE *out)
{
	const struct event_file *target = t->priv;

	fprintf(out, "%s:%s:%s", t->cmd->name, target->event->system->name, target->event->name);
	trigger_print_tail(t, out);
}

static void enable_arm(struct trigger *t, struct trigger_arm *out)
{
	const struct event_file *target = t->priv;

	out->target = target->state_ref;
}

static void enable_destroy(struct trigger *t)
{
	struct event_file *target = t->priv;

	if (target && !target->event->model->closing)
		event_file_soft(target, -1);
}

#define ENABLE(variable, text, trigger)				\
	const struct trigger_command variable = {		\
		.name		= text,				\
		.kind		= trigger,			\
		.add		= enable_add,			\
		.remove		= enable_remove_matching,	\
		.print		= enable_print,			\
		.arm		= enable_arm,			\
		.destroy	= enable_destroy,		\
	}

ENABLE(enable_event_command, "enable_event", TRIGGER_ENABLE_EVENT);
ENABLE(disable_event_command, "disable_event", TRIGGER_DISABLE_EVENT);
ENABLE(enable_hist_command, "enable_hist", TRIGGER_ENABLE_HIST);
ENABLE(disable_hist_command, "disable_hist", TRIGGER_DISABLE_HIST);
