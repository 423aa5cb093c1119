/* SPDX-License-Identifier: MIT */
/*
 * field_var.c - variables that actions need and no command names
 *
 *     onmatch(sched.sched_waking).trace(wl,$lat,next_pid,prio)
 *
 *     next_pid  is a field of the event itself: a field variable of this hist
 *     prio      is one of the matched event: a hidden hist there, with the keys and
 *               the filter of one whose keys fit, and a variable synthetic_prio
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/hist/hist.h"
#include "model/text_memory.h"

int hist_map_var(struct hist_data *hd)
{
	return hd->n_map_vars < HIST_VARS_MAX ? (int)hd->n_map_vars++ : -1;
}

unsigned int hist_map_block(struct hist_data *hd, unsigned int size)
{
	hd->shape.block_size[hd->shape.nr_blocks] = size;
	return hd->shape.nr_blocks++;
}

struct hist_field *hist_var_create(struct hist_data *hd, const char *name, unsigned int size,
				   const char *type, int *err)
{
	struct hist_field *var;
	int idx;

	*err = -EINVAL;
	if (hist_find_var(hd, name) && !hd->removes)
		return NULL;
	idx = hist_map_var(hd);
	if (idx < 0)
		return NULL;
	*err = -ENOMEM;
	var = hist_field_create(hd, NULL, HIST_VAR | HIST_ALIAS);
	if (!var)
		return NULL;
	var->flags = HIST_VAR;
	var->size = size;
	var->type = strdup(type);
	var->var.name = strdup(name);
	var->var.idx = (unsigned int)idx;
	var->var.hist_data = hd;
	if (var->type && var->var.name)
		return var;
	hist_field_free(var);
	return NULL;
}

void hist_field_var_free(struct hist_field_var *fv)
{
	if (!fv)
		return;
	hist_field_free(fv->var);
	hist_field_free(fv->val);
	free(fv);
}

static struct hist_field_var *make_pair(struct hist_field *var, struct hist_field *val)
{
	struct hist_field_var *fv = calloc(1, sizeof(*fv));

	if (!fv) {
		hist_field_free(var);
		hist_field_free(val);
		return NULL;
	}
	var->flags |= val->flags & HIST_STACKTRACE;
	var->content = val->content;
	fv->var = var;
	fv->val = val;
	return fv;
}

struct hist_field_var *hist_field_var_create(struct hist_data *hd,
					     const struct hist_command_text *cmd, char *name,
					     int *err)
{
	struct hist_field *val, *var;

	*err = -EINVAL;
	if (hd->n_field_vars == HIST_PARAMS_MAX) {
		hist_error(cmd, "Too many field variables defined", name);
		return NULL;
	}
	val = hist_field_parse(hd, cmd, name, HIST_VAR | HIST_FIELD_OF_ACTION, err);
	if (!val) {
		hist_say(*err, cmd, "Couldn't parse field variable", name);
		return NULL;
	}
	var = hist_var_create(hd, name, val->size, val->type, err);
	if (!var) {
		hist_say(*err, cmd, "Couldn't create or find variable", name);
		hist_field_free(val);
		return NULL;
	}
	*err = -ENOMEM;
	return make_pair(var, val);
}

/* ---- Hidden hists ---- */

static bool same_key(const struct hist_field *a, const struct hist_field *b)
{
	return !strcmp(a->type, b->type) && a->size == b->size && a->is_signed == b->is_signed;
}

static bool same_keys(const struct hist_data *a, const struct hist_data *b)
{
	if (a->n_keys != b->n_keys)
		return false;
	for (unsigned int i = 0; i < a->n_keys; i++)
		if (!same_key(a->fields[a->n_vals + i], b->fields[b->n_vals + i]))
			return false;
	return true;
}

/* The first hist of the event in which our keys can be looked up. */
static struct trigger *find_compatible(struct event_file *f, const struct hist_data *hd)
{
	struct trigger *t;

	list_each(t, &f->triggers, node)
		if (t->cmd == &hist_command && same_keys(hd, hist_of(t)))
			return t;
	return NULL;
}

/* "keys=pid:synthetic_prio=prio" */
static char *hidden_params(const struct hist_data *like, const char *field)
{
	char *text = NULL;
	size_t size;
	FILE *out = text_memory_open(&text, &size);

	if (!out)
		return NULL;
	fputs("keys=", out);
	for (unsigned int i = like->n_vals; i < like->n_fields; i++) {
		if (i > like->n_vals)
			fputc(',', out);
		hist_operand_print(like->fields[i], out);
	}
	fprintf(out, ":synthetic_%s=%s", field, field);
	fclose(out);
	return text;
}

/* The saved command, for the next server (R4), is that of the hidden hist itself. */
static int add_hidden(struct event_file *f, const struct hist_command_text *cmd,
		      const struct trigger *like, const char *field)
{
	struct hist_command_text own = *cmd;
	char *params = hidden_params(hist_of(like), field), *command = NULL;
	int err = -ENOMEM;

	if (params && asprintf(&command, "hist:%s%s%s", params, like->cond ? " if " : "",
			       like->cond ? like->cond : "") < 0)
		command = NULL;
	if (command) {
		own.command = command;
		err = hist_trigger_add(f, &own, params, like->cond);
	}
	free(command);
	free(params);
	return err;
}

static void own_hidden(struct hist_data *hd, struct hist_data *hidden)
{
	hidden->is_hidden = true;
	hd->hidden[hd->n_hidden++] = hidden;
}

/* The variable `hidden` of the event's hists, or of a new hidden one. */
static struct hist_field *find_or_add(struct hist_data *hd, const struct hist_command_text *cmd,
				      struct event_file *f, const struct trigger *like,
				      const char *hidden, const char *name, int *err)
{
	const char *system = f->event->system->name, *event = f->event->name;
	struct hist_field *var = hist_find_event_var(hd, cmd, system, event, hidden);

	if (var) {
		/* A new server makes the hidden hist first, by its own command. */
		if (f->event->model->restoring && !var->hist_data->is_hidden)
			own_hidden(hd, var->hist_data);
		return var;
	}
	*err = add_hidden(f, cmd, like, name);
	if (*err) {
		hist_say(*err, cmd, "Couldn't create histogram for field", name);
		*err = *err == -ENOMEM ? -ENOMEM : -EINVAL;
		return NULL;
	}
	*err = -EINVAL;
	var = hist_find_event_var(hd, cmd, system, event, hidden);
	if (var)
		own_hidden(hd, var->hist_data);
	else
		hist_error(cmd, "Couldn't find synthetic variable", name);
	return var;
}

struct hist_field *hist_hidden_create(struct hist_data *hd, const struct hist_command_text *cmd,
				      const char *system, const char *event, const char *name,
				      int *err)
{
	struct event *e = model_find_event(hd->event->model, system, event);
	struct event_file *f = e ? event_file_get(hd->instance, e) : NULL;
	struct hist_field *var;
	struct trigger *like;
	char *hidden;

	*err = e && !f ? -ENOMEM : -EINVAL;
	if (hd->n_hidden == HIST_PARAMS_MAX)
		return hist_error(cmd, "Too many field variables defined", name), NULL;
	if (!f)
		return hist_say(*err, cmd, "Event file not found", name), NULL;
	like = find_compatible(f, hd);
	if (!like)
		return hist_error(cmd, "Matching event histogram not found", name), NULL;
	/* Once: behind the new hist nothing may fail that would leave it without an owner. */
	if (asprintf(&hidden, "synthetic_%s", name) < 0)
		return *err = -ENOMEM, NULL;
	var = find_or_add(hd, cmd, f, like, hidden, name, err);
	free(hidden);
	return var;
}

void hist_hidden_remove(struct hist_data *hd)
{
	for (unsigned int i = 0; i < hd->n_hidden; i++) {
		struct hist_data *hidden = hd->hidden[i];
		struct event_file *f =
			hidden ? event_file_find(hidden->instance, hidden->event) : NULL;
		struct trigger *t = f ? hist_trigger_of(f, hidden) : NULL;

		if (!t)
			continue;
		hidden->is_hidden = false;
		if (!hist_is_referenced(hidden))
			trigger_detach(t);
	}
	hd->n_hidden = 0;
}
