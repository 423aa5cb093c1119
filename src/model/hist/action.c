/* SPDX-License-Identifier: MIT */
/*
 * action.c - finds or makes what actions refer to: variables, variables made of fields, synthetic
 * events
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/hist/hist.h"
#include "model/dynamic/synth.h"

/* An argument of an action: "[system.event.]name" or "[system.event.]$name". */
struct param {
	char		*copy;
	char		*system, *event, *name;
};

static int split_param(const char *text, struct param *out)
{
	*out = (struct param){ .copy = strdup(text) };
	if (!out->copy)
		return -ENOMEM;
	out->name = out->copy;
	if (!strchr(text, '.'))
		return 0;
	out->system = strsep(&out->name, ".");
	out->event = strsep(&out->name, ".");
	if (out->name)
		return 0;
	free(out->copy);
	return -EINVAL;
}

/* Whether the argument names this hist's own event, or no event. */
static bool is_own(const struct hist_data *hd, const struct param *p)
{
	return !p->system ||
	       (!strcmp(p->system, hd->event->system->name) && !strcmp(p->event, hd->event->name));
}

/* An argument without an event belongs to the event of onmatch(). */
static void default_event(const struct hist_action *a, const struct param *p, const char **system,
			  const char **event)
{
	const bool match = !p->system && a->handler == HIST_ONMATCH;

	*system = match ? a->match.system : p->system;
	*event = match ? a->match.event : p->event;
}

static struct hist_field *find_var(struct hist_data *hd, const struct hist_command_text *cmd,
				   const struct hist_action *a, const struct param *p)
{
	const char *name = p->name + 1, *system, *event;
	struct hist_field *var = is_own(hd, p) ? hist_find_own_var(hd, name) : NULL;

	if (!var) {
		default_event(a, p, &system, &event);
		var = hist_find_event_var(hd, cmd, system, event, name);
	}
	if (!var)
		hist_error(cmd, "Couldn't find param", name);
	return var;
}

static void keep_field_var(struct hist_data *hd, struct hist_field_var *fv)
{
	hd->field_vars[hd->n_field_vars++] = fv;
	if (fv->val->content != HIST_NUMBER)
		fv->var->block = hist_map_block(hd, STRING_ROOM);
}

static struct hist_field *make_var(struct hist_data *hd, const struct hist_command_text *cmd,
				   const struct hist_action *a, const struct param *p, int *err)
{
	const char *system, *event;
	struct hist_field_var *fv = NULL;

	*err = -EINVAL;
	if (is_own(hd, p))
		fv = hist_field_var_create(hd, cmd, p->name, err);
	if (fv) {
		keep_field_var(hd, fv);
		return fv->var;
	}
	if (*err == -ENOMEM)
		return NULL;
	*err = -EINVAL;
	default_event(a, p, &system, &event);
	return event ? hist_hidden_create(hd, cmd, system, event, p->name, err) : NULL;
}

/* Compares as the kernel does: by the text of the type, or by size and sign. */
static bool hist_action_fits(const struct synth_field *field, const struct hist_field *var)
{
	if (strstr(var->type, "char[") && field->is_string && field->is_dynamic)
		return true;
	if (!(var->flags & HIST_STACKTRACE) == field->is_stack)
		return false;
	if (field->is_stack || !strcmp(field->type, var->type))
		return true;
	/* A value of variable length is one word in the record. */
	return (field->is_dynamic ? 8 : field->size) == var->size &&
	       (field->is_string || field->is_signed == var->is_signed);
}

static int add_argument(struct hist_data *hd, const struct hist_command_text *cmd,
			struct hist_action *a, const struct synth_event *synth, unsigned int i)
{
	struct hist_field *var, *ref;
	struct param p;
	int err = split_param(a->params[i], &p);

	if (err)
		return err;
	err = -EINVAL;
	var = *p.name == '$' ? find_var(hd, cmd, a, &p) : make_var(hd, cmd, a, &p, &err);
	if (var && (i >= synth->nr_fields || !hist_action_fits(&synth->fields[i], var))) {
		err = -EINVAL;
		hist_error(cmd, "Param type doesn't match synthetic event field type", p.name);
	} else if (var) {
		ref = hist_ref_create(hd, var, p.system, p.event);
		err = ref ? 0 : -ENOMEM;
		if (ref)
			a->var_ref_idx[i] = ref->var_ref_idx;
	}
	free(p.copy);
	return err;
}

static int create_trace(struct hist_data *hd, const struct hist_command_text *cmd,
			struct hist_action *a)
{
	const char *name = a->use_trace_keyword ? a->synth_name : a->name;
	struct synth_event *synth = synth_find(hd->event->model, name);
	int err = 0;

	if (!synth)
		return hist_refuse(cmd, "Couldn't find synthetic event", name);
	for (unsigned int i = 0; !err && i < a->n_params; i++)
		err = add_argument(hd, cmd, a, synth, i);
	if (!err && a->n_params != synth->nr_fields)
		err = hist_refuse(cmd, "Param count doesn't match synthetic event field count",
				  synth->name);
	if (err)
		return err;
	synth_get(synth);
	a->synth = synth;
	return 0;
}

static int save_field(struct hist_data *hd, const struct hist_command_text *cmd, const char *text)
{
	char *name = strdup(text);
	struct hist_field_var *fv;
	int err = -ENOMEM;

	fv = name ? hist_field_var_create(hd, cmd, name, &err) : NULL;
	if (fv)
		hd->save_vars[hd->n_save_vars++] = fv;
	else
		hist_say(err, cmd, "Couldn't create field variable", name);
	free(name);
	return fv ? 0 : err;
}

static int create_save(struct hist_data *hd, const struct hist_command_text *cmd,
		       const struct hist_action *a)
{
	int err = 0;

	if (hd->n_save_vars) {
		hist_error(cmd, "Can't have more than one save() action per hist", NULL);
		return -EEXIST;
	}
	for (unsigned int i = 0; !err && i < a->n_params; i++)
		err = save_field(hd, cmd, a->params[i]);
	return err;
}

/* One hist of an instance decides when its buffers are swapped, if no tracer does. */
static int create_snapshot(struct hist_data *hd)
{
	if (hd->instance->max_used || hd->instance->snapshot_hist)
		return -EBUSY;
	hd->instance->snapshot_hist = hd;
	return instance_snapshot_alloc(hd->instance);
}

static int create_one(struct hist_data *hd, const struct hist_command_text *cmd,
		      struct hist_action *a)
{
	if (a->kind == HIST_TRACE)
		return create_trace(hd, cmd, a);
	return a->kind == HIST_SAVE ? create_save(hd, cmd, a) : create_snapshot(hd);
}

static int create_track(struct hist_data *hd, const struct hist_command_text *cmd,
			struct hist_action *a)
{
	const char *name = a->track.var_str;
	struct hist_field *var;
	int err;

	if (*name != '$')
		return hist_refuse(cmd, "For onmax(x) or onchange(x), x must be a variable", name);
	var = hist_find_own_var(hd, ++name);
	if (!var)
		return hist_refuse(cmd, "Couldn't find onmax or onchange variable", name);
	a->track.var_ref = hist_ref_create(hd, var, NULL, NULL);
	if (!a->track.var_ref)
		return -ENOMEM;
	a->track.track_var = hist_var_create(hd, a->handler == HIST_ONMAX ? "__max" : "__change", 8,
					     "u64", &err);
	if (!a->track.track_var) {
		hist_say(err, cmd, "Couldn't create onmax or onchange variable", NULL);
		return err;
	}
	return create_one(hd, cmd, a);
}

/* The sizes of the blocks are known when all saved values are. */
static void make_blocks(struct hist_data *hd)
{
	for (unsigned int i = 0; i < hd->n_actions; i++) {
		struct hist_action *a = hd->actions[i];

		if (a->handler == HIST_ONMATCH)
			continue;
		a->track.block = hist_map_block(hd, a->kind == HIST_SAVE ? hist_save_size(hd)
									 : HIST_TRACK_VALUES);
		if (a->kind == HIST_SNAPSHOT)
			a->track.snapshot_block = hist_map_block(
				hd, HIST_TRACK_VALUES + LAYOUT_COMM_LEN + hd->key_size);
	}
}

int hist_actions_create(struct hist_data *hd, const struct hist_command_text *cmd)
{
	int err = 0;

	for (unsigned int i = 0; !err && i < hd->n_actions; i++)
		err = hd->actions[i]->handler == HIST_ONMATCH
			      ? create_one(hd, cmd, hd->actions[i])
			      : create_track(hd, cmd, hd->actions[i]);
	if (!err)
		make_blocks(hd);
	return err;
}
