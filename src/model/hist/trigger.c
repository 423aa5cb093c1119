/* SPDX-License-Identifier: MIT */
/*
 * trigger.c - the command "hist" of the file `trigger`: add, change, remove
 *
 * A hist with a name is one hist_data that several triggers share. Others are compared with the
 * first trigger of the name.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/hist/hist.h"
#include "model/text.h"

static bool same_event_field(const struct field *a, const struct field *b)
{
	if (a == b)
		return true;
	return a && b && !strcmp(a->name, b->name) && !strcmp(a->type, b->type) &&
	       a->size == b->size && a->is_signed == b->is_signed;
}

static bool same_field(const struct hist_field *a, const struct hist_field *b)
{
	return a->flags == b->flags && same_event_field(a->field, b->field) &&
	       a->scale == b->scale && a->depth == b->depth && a->offset == b->offset &&
	       a->size == b->size &&
	       a->is_signed == b->is_signed && text_same(a->var.name, b->var.name);
}

static bool same_shape(const struct hist_data *a, const struct hist_data *b)
{
	if (a->n_vals != b->n_vals || a->n_fields != b->n_fields ||
	    a->n_sort_keys != b->n_sort_keys)
		return false;
	for (unsigned int i = 0; i < a->n_fields; i++)
		if (!same_field(a->fields[i], b->fields[i]))
			return false;
	for (unsigned int i = 0; i < a->n_sort_keys; i++)
		if (a->sort_keys[i].field_idx != b->sort_keys[i].field_idx ||
		    a->sort_keys[i].descending != b->sort_keys[i].descending)
			return false;
	return hist_actions_match(a, b);
}

/* The first trigger of that name in any event of any instance; NULL: none. */
static struct trigger *find_named(struct model *m, const char *name)
{
	struct instance *inst;
	struct event_file *f;
	struct trigger *t;

	if (!name)
		return NULL;
	list_each(inst, &m->instances, node)
		list_each(f, &inst->files, node)
			list_each(t, &f->triggers, node)
				if (t->cmd == &hist_command && t->name && !strcmp(t->name, name))
					return t;
	return NULL;
}

/* The trigger of the event that matches the new command. */
static struct trigger *find_match(struct event_file *f, const struct hist_data *hd,
				  const struct trigger *named, const char *cond)
{
	struct trigger *t;

	list_each(t, &f->triggers, node) {
		if (t->cmd != &hist_command)
			continue;
		if (named ? hist_of(t) != hist_of(named) : t->name != NULL)
			continue;
		if (same_shape(hd, hist_of(t)) && text_same(cond, t->cond))
			return t;
	}
	return NULL;
}

struct trigger *hist_trigger_of(struct event_file *f, const struct hist_data *hd)
{
	struct trigger *t;

	list_each(t, &f->triggers, node)
		if (t->cmd == &hist_command && hist_of(t) == hd)
			return t;
	return NULL;
}

/* The state of one command while it is carried out. */
struct command {
	const struct hist_command_text *text;
	struct hist_data *hd;		/* the command's own hist; freed unless a trigger took it */
	struct trigger	*named;		/* the trigger that has the name already */
	const char	*cond;
};

static int command_open(struct event_file *f, const struct hist_command_text *text, char *params,
			const char *cond, bool removes, struct command *c)
{
	char *offset;
	int err;

	*c = (struct command){ .text = text, .cond = cond };
	/* Rewritten, so that the parser of expressions does not take the '-' for an operator. */
	for (offset = params; (offset = strstr(offset, ".sym-offset"));
	     offset += strlen(".sym-offset"))
		offset[4] = 'X';
	err = hist_data_create(f, text, params, removes, &c->hd);
	if (!err)
		c->named = find_named(f->event->model, c->hd->attrs.name);
	return err;
}

static void command_close(struct command *c)
{
	if (c->hd)
		hist_data_destroy(c->hd);
}

/*
 * Relaxed: a hit uses the value that it finds, and enable_hist in a hit may change it at any time.
 */
static bool is_paused(const struct trigger *t)
{
	return atomic_load_explicit(&t->state->paused, memory_order_relaxed);
}

static void set_paused(struct trigger *t, bool paused)
{
	/* Relaxed: as in is_paused(). */
	atomic_store_explicit(&t->state->paused, paused, memory_order_relaxed);
}

static int publish_anew(struct event *e)
{
	config_ref plan = e->plan;
	int err = event_publish(e);

	if (err)
		event_drop_plan(e, plan);
	return err;
}

/* All triggers that share the hist get its new code. The old code is retired in any case. */
static int republish(const struct hist_data *hd)
{
	struct model *m = hd->event->model;
	struct instance *inst;
	struct event_file *f;
	struct trigger *t;
	int err, first = 0;

	list_each(inst, &m->instances, node)
		list_each(f, &inst->files, node)
			list_each(t, &f->triggers, node)
				if (t->cmd == &hist_command && hist_of(t) == hd) {
					err = publish_anew(f->event);
					first = first ? first : err;
				}
	return first;
}

static int hist_command_clear(struct trigger *t)
{
	struct hist_data *hd = hist_of(t);
	int err = hist_map_renew(hd);

	return err ? err : republish(hd);
}

/* Carries out pause, cont or clear for an existing hist. Returns false if there is none. */
static bool update(struct command *c, struct event_file *f, int *err)
{
	const struct hist_attrs *a = &c->hd->attrs;
	struct trigger *t;

	if (!a->pause && !a->cont && !a->clear)
		return false;
	if (a->name && (!c->named || !same_shape(c->hd, hist_of(c->named))))
		return false;
	t = find_match(f, c->hd, c->named, c->cond);
	if (!t)
		return false;
	*err = 0;
	if (a->pause)
		set_paused(t, true);
	else if (a->cont)
		set_paused(t, false);
	else
		*err = hist_command_clear(t);
	return true;
}

static int check_new(struct command *c, struct event_file *f)
{
	const struct hist_attrs *a = &c->hd->attrs;

	if (c->named && !same_shape(c->hd, hist_of(c->named)))
		return hist_refuse(c->text,
				   "Named hist trigger doesn't match existing named trigger "
				   "(includes variables)",
				   a->name);
	if ((!a->name || c->named) && find_match(f, c->hd, c->named, c->cond)) {
		hist_error(c->text, "Hist trigger already exists", NULL);
		return -EEXIST;
	}
	if (a->cont || a->clear) {
		hist_error(c->text, "Can't clear or continue a nonexistent hist trigger", NULL);
		return -ENOENT;
	}
	return 0;
}

/*
 * A hist that uses the time sets the instance's clock. If that was another one, the buffer is
 * emptied. As in the kernel, nothing sets the clock back. A recording's time stamps do not change:
 * there the clock only changes what is printed. A restored hist does not set the clock, which may
 * have been changed since.
 */
static int hist_command_set_clock(struct command *c, struct event_file *f)
{
	struct instance *inst = f->instance;
	uint32_t id;

	if (!c->hd->enable_timestamps)
		return 0;
	id = clock_find(c->hd->attrs.clock);
	if (id == CLOCK_ID_COUNT)
		return hist_refuse(c->text, "Couldn't set trace_clock", c->hd->attrs.clock);
	if (instance_clock(inst) != id && !inst->model->restoring)
		instance_set_clock(inst, id);
	return 0;
}

/* Gives the trigger its hist: the named one, or the command's own hist with a map. */
static int take_hist(struct command *c, struct trigger *t)
{
	struct hist_data *hd = c->named ? hist_of(c->named) : c->hd;
	int err = 0;

	if (!c->named) {
		err = hist_map_create(hd, restored_ref(&t->restored, 1));
		if (err)
			return err;
		hist_vars_add(hd);
		c->hd = NULL;
	}
	hd->refs++;
	t->priv = hd;
	t->refs[1] = hd->cell;
	t->nr_refs = 2;
	if (hd->attrs.name) {
		t->name = strdup(hd->attrs.name);
		if (!t->name)
			return -ENOMEM;
	}
	set_paused(t, t->restored.saved ? is_paused(t) : hd->attrs.pause && !c->named);
	return 0;
}

/* Checks in the kernel's order, so that of two errors the same one is reported. */
static int add_new(struct command *c, struct event_file *f, struct trigger *t)
{
	bool paused = c->hd->attrs.pause;
	int err = hist_actions_create(c->hd, c->text);

	if (!err)
		err = check_new(c, f);
	if (!err)
		err = hist_command_set_clock(c, f);
	if (!err)
		err = take_hist(c, t);
	if (!err && paused)
		set_paused(t, true);
	return err ? err : trigger_attach(t);
}

int hist_trigger_add(struct event_file *f, const struct hist_command_text *text, char *params,
		     const char *cond)
{
	struct trigger *t = NULL;
	bool updated = false;
	struct command c;
	int err = command_open(f, text, params, cond, false, &c);

	if (err)
		return err;
	err = trigger_create(&hist_command, f, text->command, -1, &t);
	if (!err)
		err = trigger_set_filter(t, cond);
	if (!err)
		updated = update(&c, f, &err);
	if (!err && !updated)
		err = add_new(&c, f, t);
	if (t && (err || updated))
		trigger_destroy(t);
	command_close(&c);
	return err;
}

/* The command behind its name, as error_log shows it. */
static int command_text(struct event_file *f, const char *text, struct hist_command_text *out)
{
	const char *rest = text + strcspn(text, ": \t");

	*out = (struct hist_command_text){ .file = f, .command = text };
	hist_legacy_error_clear(f);
	if (!*rest || asprintf(&out->text, "hist:%s", text_skip_spaces(rest + 1)) < 0)
		return *rest ? -ENOMEM : -EINVAL;
	return 0;
}

/* The errno of a command. */
static int as_kernel(int err)
{
	return err == HIST_NO_VALUE ? -ENOMEM : err;
}

static int hist_command_add(const struct trigger_command *cmd, struct event_file *f,
			    const char *text, char *params, const char *cond)
{
	struct hist_command_text line;
	int err = params ? command_text(f, text, &line) : -EINVAL;

	if (err)
		return err;
	err = as_kernel(hist_trigger_add(f, &line, params, cond));
	free(line.text);
	return err;
}

/* A command that only removes must be correct, too. */
static int check_filter(struct event_file *f, const char *cond)
{
	struct filter *filter = NULL;
	int err = cond ? filter_parse(f->event, cond, f->instance->errlog, &filter) : 0;

	filter_destroy(filter);
	return err;
}

static int remove_found(struct trigger *t)
{
	if (!t)
		return 0;
	if (hist_is_referenced(hist_of(t)))
		return -EBUSY;
	trigger_detach(t);
	return 0;
}

static int hist_command_remove_matching(const struct trigger_command *cmd, struct event_file *f,
					const char *text, char *params, const char *cond)
{
	struct hist_command_text line;
	struct command c;
	int err = params ? command_text(f, text, &line) : -EINVAL;

	if (err)
		return err;
	err = as_kernel(command_open(f, &line, params, cond, true, &c));
	if (!err) {
		err = check_filter(f, cond);
		if (!err)
			err = remove_found(find_match(f, c.hd, c.named, cond));
		command_close(&c);
	}
	free(line.text);
	return err;
}

static int may_remove(struct trigger *t)
{
	return hist_is_referenced(hist_of(t)) ? -EBUSY : 0;
}

static void hist_command_arm(struct trigger *t, struct trigger_arm *out)
{
	out->code = hist_of(t)->code;
}

/* A hist with a name may outlive the instance in which it was made. */
static void move_to_other_instance(struct hist_data *hd)
{
	struct instance *inst;
	struct event_file *f;
	struct trigger *t;

	list_each(inst, &hd->event->model->instances, node)
		list_each(f, &inst->files, node)
			list_each(t, &f->triggers, node)
				if (t->cmd == &hist_command && hist_of(t) == hd &&
				    list_empty(&hd->vars_node))
					hd->instance = inst;
}

static void hist_command_destroy(struct trigger *t)
{
	struct hist_data *hd = hist_of(t);

	if (!hd)
		return;
	if (!--hd->refs)
		hist_data_destroy(hd);
	else if (hd->instance == t->file->instance)
		move_to_other_instance(hd);
}

const struct trigger_command hist_command = {
	.name		= "hist",
	.kind		= TRIGGER_HIST,
	.add		= hist_command_add,
	.remove		= hist_command_remove_matching,
	.print		= hist_trigger_print,
	.arm		= hist_command_arm,
	.destroy	= hist_command_destroy,
	.may_remove	= may_remove,
};
