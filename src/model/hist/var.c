/* SPDX-License-Identifier: MIT */
/*
 * var.c - variables of hists, by name, and references to them
 *
 *     sched_waking   hist:keys=pid:ts0=common_timestamp
 *                                   ^ variable: a field with a name
 *     sched_switch   hist:keys=next_pid:lat=common_timestamp-$ts0
 *                                                            ^ reference: var_refs[0]
 *
 * A name alone is searched first in the events of onmatch(), then in all events of the instance,
 * where only one event may have it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/hist/hist.h"

static bool is_ref(const char *text)
{
	return text && text[0] == '$' && text[1];
}

struct hist_field *hist_find_own_var(const struct hist_data *hd, const char *name)
{
	for (unsigned int i = 0; i < hd->n_fields; i++) {
		struct hist_field *f = hd->fields[i];

		if ((f->flags & HIST_VAR) && f->var.name && !strcmp(f->var.name, name))
			return f;
	}
	return NULL;
}

static struct hist_field *find_in_file(struct event_file *f, const char *name)
{
	struct hist_field *var = NULL;
	struct trigger *t;

	list_each(t, &f->triggers, node) {
		if (t->cmd == &hist_command)
			var = hist_find_own_var(hist_of(t), name);
		if (var)
			break;
	}
	return var;
}

struct hist_field *hist_find_var(const struct hist_data *hd, const char *name)
{
	struct hist_field *var = hist_find_own_var(hd, name);
	struct event_file *f = event_file_find(hd->instance, hd->event);

	return var || !f ? var : find_in_file(f, name);
}

static struct event_file *find_file(struct instance *inst, const char *system, const char *event)
{
	struct event *e = event ? model_find_event(inst->model, system, event) : NULL;

	return e ? event_file_find(inst, e) : NULL;
}

/* The event file whose hists define the variable. *ambiguous: several do. */
static struct event_file *find_var_file(struct instance *inst, const char *name, bool *ambiguous)
{
	struct event_file *found = NULL;
	struct hist_data *hd;

	list_each(hd, &inst->hist_vars, vars_node) {
		struct event_file *f = event_file_find(inst, hd->event);

		if (f == found || !hist_find_own_var(hd, name))
			continue;
		if (found) {
			*ambiguous = true;
			return NULL;
		}
		found = f;
	}
	return found;
}

static void not_unique(const struct hist_command_text *cmd, const char *name)
{
	hist_error(cmd,
		   "Variable name not unique, need to use fully qualified name (subsys.event.var) "
		   "for variable",
		   name);
}

/* Searches the events that onmatch() names. */
static struct hist_field *find_match_var(struct hist_data *hd, const struct hist_command_text *cmd,
					 const char *name, bool *ambiguous)
{
	struct hist_field *found = NULL;

	for (unsigned int i = 0; i < hd->n_actions; i++) {
		const struct hist_action *a = hd->actions[i];
		struct event_file *f = NULL;
		struct hist_field *var;

		if (a->handler == HIST_ONMATCH)
			f = find_file(hd->instance, a->match.system, a->match.event);
		var = f ? find_in_file(f, name) : NULL;
		if (var && found) {
			not_unique(cmd, name);
			*ambiguous = true;
			return NULL;
		}
		if (var)
			found = var;
	}
	return found;
}

struct hist_field *hist_find_event_var(struct hist_data *hd, const struct hist_command_text *cmd,
				       const char *system, const char *event, const char *name)
{
	struct hist_field *var = NULL;
	bool ambiguous = false;
	struct event_file *f;

	if (!system || !event)
		var = find_match_var(hd, cmd, name, &ambiguous);
	if (var || ambiguous)
		return var;
	f = system ? find_file(hd->instance, system, event)
		   : find_var_file(hd->instance, name, &ambiguous);
	if (ambiguous)
		not_unique(cmd, name);
	return f ? find_in_file(f, name) : NULL;
}

/* ---- References ---- */

static bool hist_var_copy_text(char **to, const char *from)
{
	*to = from ? strdup(from) : NULL;
	return !from || *to;
}

/* A reference, or an alias, takes its properties from the variable. */
static bool take_after(struct hist_field *f, const struct hist_field *var, const char *system,
		       const char *event)
{
	f->var.idx = var->var.idx;
	f->var.hist_data = var->hist_data;
	f->size = var->size;
	f->is_signed = var->is_signed;
	f->content = var->content;
	f->block = var->block;
	f->flags |= var->flags & (HIST_TIMESTAMP | HIST_USECS | HIST_STACKTRACE);
	if (!hist_var_copy_text(&f->system, system) || !hist_var_copy_text(&f->event_name, event) ||
	    !hist_var_copy_text(&f->name, var->var.name ? var->var.name : var->name) ||
	    !hist_var_copy_text(&f->type, var->type))
		return false;
	return !system ||
	       asprintf(&f->full_name, "%s.%s.$%s", system, event ? event : "", f->name) >= 0;
}

struct hist_field *hist_ref_create(struct hist_data *hd, struct hist_field *var, const char *system,
				   const char *event)
{
	struct hist_field *ref;

	for (unsigned int i = 0; i < hd->n_var_refs; i++) {
		ref = hd->var_refs[i];
		if (ref->var.idx == var->var.idx && ref->var.hist_data == var->hist_data)
			return ref;
	}
	if (hd->n_var_refs == HIST_VARS_MAX)
		return NULL;
	ref = hist_field_create(var->hist_data, NULL, HIST_VAR_REF);
	if (!ref)
		return NULL;
	if (!take_after(ref, var, system, event)) {
		hist_ref_free(ref);
		return NULL;
	}
	hd->var_refs[hd->n_var_refs] = ref;
	ref->var_ref_idx = hd->n_var_refs++;
	return ref;
}

struct hist_field *hist_ref_parse(struct hist_data *hd, const struct hist_command_text *cmd,
				  const char *system, const char *event, const char *text, int *err)
{
	struct hist_field *var, *ref = NULL;

	*err = 0;
	if (!is_ref(text))
		return NULL;
	var = hist_find_event_var(hd, cmd, system, event, text + 1);
	if (var)
		ref = hist_ref_create(hd, var, system, event);
	if (!ref && var && hd->n_var_refs < HIST_VARS_MAX)
		*err = -ENOMEM;
	else if (!ref)
		hist_error(cmd, "Couldn't find variable", text + 1);
	return ref;
}

struct hist_field *hist_alias_create(struct hist_data *hd, struct hist_field *ref)
{
	struct hist_field *alias = hist_field_create(hd, NULL, HIST_ALIAS | HIST_VAR);

	if (!alias)
		return NULL;
	alias->operands[0] = ref;
	alias->var_ref_idx = ref->var_ref_idx;
	if (take_after(alias, ref, ref->system, ref->event_name))
		return alias;
	hist_field_free(alias);
	return NULL;
}

static bool has_operator(const char *text)
{
	return strpbrk(text, "+-*/");
}

const char *hist_local_field(const struct hist_data *hd, const char *system, const char *event,
			     const char *text)
{
	const struct hist_attrs *a = &hd->attrs;

	if (system && event &&
	    (strcmp(system, hd->event->system->name) || strcmp(event, hd->event->name)))
		return NULL;
	if (!system != !event || !is_ref(text))
		return NULL;
	for (unsigned int i = 0; i < a->n_vars; i++)
		if (!strcmp(a->var_names[i], text + 1) && !has_operator(a->var_exprs[i]) &&
		    !is_ref(a->var_exprs[i]))
			return a->var_exprs[i];
	return NULL;
}

/* ---- References from other hists ---- */

static bool refers_to(const struct hist_data *hd, const struct hist_data *target, unsigned int idx)
{
	for (unsigned int i = 0; i < hd->n_var_refs; i++)
		if (hd->var_refs[i]->var.hist_data == target && hd->var_refs[i]->var.idx == idx)
			return true;
	return false;
}

bool hist_is_referenced(const struct hist_data *hd)
{
	struct hist_data *other;

	list_each(other, &hd->instance->hist_vars, vars_node)
		for (unsigned int i = 0; other != hd && i < hd->n_fields; i++)
			if ((hd->fields[i]->flags & HIST_VAR) &&
			    refers_to(other, hd, hd->fields[i]->var.idx))
				return true;
	return false;
}

bool hist_field_has_vars(const struct hist_field *f)
{
	if (!f)
		return false;
	return (f->flags & (HIST_VAR | HIST_VAR_REF)) || hist_field_has_vars(f->operands[0]) ||
	       hist_field_has_vars(f->operands[1]);
}

void hist_vars_add(struct hist_data *hd)
{
	bool any = hd->n_var_refs;

	for (unsigned int i = 0; i < hd->n_fields; i++)
		any |= hist_field_has_vars(hd->fields[i]);
	if (!any || !list_empty(&hd->vars_node))
		return;
	list_add(&hd->vars_node, &hd->instance->hist_vars);
	hd->instance->refs++;
}

void hist_vars_remove(struct hist_data *hd)
{
	if (list_empty(&hd->vars_node))
		return;
	list_del(&hd->vars_node);
	hd->instance->refs--;
}
