/* SPDX-License-Identifier: MIT */
/*
 * trigger.c - commands of the file `trigger`: parses, adds, removes and prints them
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/errlog.h"
#include "model/hist/merge.h"
#include "model/text.h"
#include "model/trigger/trigger.h"
#include "model/trigger/commands.h"

/* The order of the line "# Available triggers:". */
static const struct trigger_command *const trigger_commands[] = {
	&traceon_command, &traceoff_command, &snapshot_command, &stacktrace_command,
	&enable_event_command, &disable_event_command, &enable_hist_command, &disable_hist_command,
	&hist_command,
};

enum { NR_COMMANDS = sizeof(trigger_commands) / sizeof(trigger_commands[0]), COMMAND_MAX = 4096 };

static struct model *model_of(const struct trigger *t)
{
	return t->file->event->model;
}

static int take_state(struct trigger *t)
{
	struct model *m = model_of(t);
	data_ref restored = restored_ref(&t->restored, 0);
	int err = restored ? session_data_restore(m->session, restored, sizeof(*t->state)) : 0;

	if (err)
		return err;
	t->state_ref = restored ? restored : session_data_alloc(m->session, sizeof(*t->state));
	if (!t->state_ref)
		return -ENOMEM;
	t->state = session_data(m->session, t->state_ref, sizeof(*t->state));
	if (!t->state)
		return -EPROTO;
	/* Relaxed: the plan that leads to it is published later. */
	if (!restored)
		atomic_store_explicit(&t->state->count, t->count, memory_order_relaxed);
	t->refs[0] = t->state_ref;
	t->nr_refs = 1;
	return 0;
}

int trigger_create(const struct trigger_command *cmd, struct event_file *f, const char *command,
		   long count, struct trigger **out)
{
	struct trigger *t = calloc(1, sizeof(*t));
	int err;

	if (!t)
		return -ENOMEM;
	t->cmd = cmd;
	t->file = f;
	t->count = count;
	t->counted = count != -1;
	list_init(&t->node);
	t->command = command ? strdup(command) : NULL;
	err = command && !t->command ? -ENOMEM : 0;
	if (!err && command)
		err = event_file_restored(f, "trigger", command, &t->restored);
	if (!err)
		err = take_state(t);
	if (err) {
		free(t->command);
		free(t);
		return err;
	}
	*out = t;
	return 0;
}

void trigger_destroy(struct trigger *t)
{
	struct model *m = model_of(t);

	if (t->cmd->destroy)
		t->cmd->destroy(t);
	if (!m->closing) {
		if (t->filter_code)
			session_config_retire(m->session, t->filter_code, t->filter_size);
		session_data_retire(m->session, t->state_ref, sizeof(*t->state));
	}
	filter_destroy(t->filter);
	free(t->cond);
	free(t->name);
	free(t->command);
	free(t);
}

int trigger_set_filter(struct trigger *t, const char *cond)
{
	struct filter *filter = NULL;
	int err;

	if (!cond)
		return 0;
	err = filter_parse(t->file->event, cond, t->file->instance->errlog, &filter);
	if (!err)
		err = filter_compile(model_of(t), filter, &t->filter_code, &t->filter_size);
	if (!err) {
		t->cond = strdup(cond);
		err = t->cond ? 0 : -ENOMEM;
	}
	if (err) {
		filter_destroy(filter);
		return err;
	}
	t->filter = filter;
	return 0;
}

static int record(struct trigger *t)
{
	if (!t->command)
		return 0;
	return event_file_save(t->file, "trigger", t->command, t->refs, t->nr_refs, &t->saved);
}

static bool runs_code(const struct trigger *t)
{
	return t->cmd->kind == TRIGGER_HIST || t->cmd->kind == TRIGGER_PROBE;
}

int trigger_attach(struct trigger *t)
{
	struct event_file *f = t->file;
	int err = event_file_need_state(f);

	if (!err)
		err = record(t);
	if (err)
		return err;
	if (runs_code(t))
		list_add_tail(&t->node, &f->triggers);
	else
		list_add(&t->node, &f->triggers);
	err = merge_find(model_of(t), t);
	if (!err)
		err = event_file_trigger_mode(f, 1);
	if (!err) {
		err = merge_publish(model_of(t));
		if (err)
			(void)event_file_trigger_mode(f, -1);
	}
	if (err) {
		list_del(&t->node);
		(void)merge_find(model_of(t), NULL);
		(void)merge_publish(model_of(t));
		saved_remove(model_of(t), &t->saved);
	}
	return err;
}

void trigger_detach(struct trigger *t)
{
	struct event *e = t->file->event;
	config_ref plan = e->plan;

	list_del(&t->node);
	(void)merge_find(model_of(t), NULL);
	if (event_file_trigger_mode(t->file, -1))
		event_drop_plan(e, plan);
	/* Without memory, triggers that no longer need it go on merged. */
	(void)merge_publish(model_of(t));
	saved_remove(model_of(t), &t->saved);
	trigger_destroy(t);
}

bool trigger_needs_record(const struct trigger *t)
{
	return t->filter_code || runs_code(t) || trigger_kind_is_post(t->cmd->kind);
}

void trigger_print_tail(const struct trigger *t, FILE *out)
{
	/* Relaxed: hits decrement it; any recent value will do. */
	long left = (long)atomic_load_explicit(&t->state->count, memory_order_relaxed);

	if (left == -1)
		fputs(":unlimited", out);
	else
		fprintf(out, ":count=%ld", left);
	if (t->cond)
		fprintf(out, " if %s", t->cond);
}

int trigger_split_cond(char *cond, const char **filter)
{
	*filter = NULL;
	if (!cond)
		return 0;
	if (strncmp(cond, "if", 2) || (cond[2] != ' ' && cond[2] != '\t'))
		return -EINVAL;
	*filter = cond + 3;
	return 0;
}

int trigger_parse_count(char *params, long *count)
{
	uint64_t v;
	int err;

	*count = -1;
	if (!params)
		return 0;
	params[strcspn(params, ":")] = '\0';
	err = text_to_u64(params, 0, &v);
	if (!err)
		*count = (long)v;
	return err;
}

static const struct trigger_command *find_command(const char *name)
{
	for (unsigned int i = 0; i < NR_COMMANDS; i++)
		if (!strcmp(trigger_commands[i]->name, name))
			return trigger_commands[i];
	return NULL;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/*
 * A hist's condition begins at the first "if" between blanks, because its parameters may contain
 * blanks, too. Cuts the condition off `params`.
 */
static int split_hist(char **params, char **cond)
{
	char *p = *params;

	*cond = NULL;
	while (p && (p = strstr(p, "if"))) {
		if (p == *params)
			return -EINVAL;
		if (is_blank(p[-1])) {
			if (strlen(p) < 4)
				return -EINVAL;
			if (is_blank(p[2]))
				break;
		}
		p++;
	}
	if (!p)
		return 0;
	p[-1] = '\0';
	*cond = p + 3;
	*params = text_strip(*params);
	return 0;
}

/* `name` and `rest` are parts of a copy of the command. */
static int carry_out(struct event_file *f, char *copy, const char *text)
{
	const struct trigger_command *cmd;
	char *name = copy, *rest = copy + strcspn(copy, ": \t");
	char *cond = NULL;
	bool removes = *name == '!';
	int err;

	if (*rest) {
		*rest++ = '\0';
		rest = text_skip_spaces(rest);
	}
	if (!*rest)
		rest = NULL;
	cmd = find_command(removes ? name + 1 : name);
	if (!cmd)
		return -EINVAL;
	err = cmd->kind == TRIGGER_HIST ? split_hist(&rest, &cond) : 0;
	return err ? err : (removes ? cmd->remove : cmd->add)(cmd, f, text, rest, cond);
}

int event_file_trigger_write(struct event_file *f, const char *text)
{
	char *stripped, *copy;
	int err;

	if (strlen(text) >= COMMAND_MAX)
		return -EINVAL;
	stripped = strdup(text);
	if (!stripped)
		return -ENOMEM;
	copy = strdup(text_strip(stripped));
	if (copy) {
		err = carry_out(f, copy, text_skip_spaces(stripped));
		free(copy);
	} else {
		err = -ENOMEM;
	}
	free(stripped);
	return err;
}

/*
 * The next trigger that truncation removes. The search begins again each time, because a hist can
 * take hidden ones with it.
 */
static struct trigger *first_to_go(struct event_file *f, bool hists_stay)
{
	struct trigger *t;

	list_each(t, &f->triggers, node)
		if (t->cmd->kind == TRIGGER_HIST ? !hists_stay : trigger_is_enable_hist(t))
			return t;
	return NULL;
}

void event_file_trigger_truncate(struct event_file *f)
{
	struct trigger *t;
	bool hists_stay = false;

	list_each(t, &f->triggers, node)
		if (t->cmd->may_remove && t->cmd->may_remove(t))
			hists_stay = true;
	while ((t = first_to_go(f, hists_stay)))
		trigger_detach(t);
}

/* The trigger of an event probe is in no file. */
static bool has_visible(const struct event_file *f)
{
	const struct trigger *t;

	list_each(t, &f->triggers, node)
		if (t->cmd->print)
			return true;
	return false;
}

void event_file_trigger_print_named(struct event_file *f, FILE *out)
{
	struct trigger *t;

	list_each(t, &f->triggers, node) {
		if (!t->cmd->print)
			continue;
		fprintf(out, "%s:%s\t", f->event->system->name, f->event->name);
		t->cmd->print(t, out);
		fputc('\n', out);
	}
}

void event_file_trigger_print(struct event_file *f, FILE *out)
{
	struct trigger *t;

	if (!f || !has_visible(f)) {
		fputs("# Available triggers:\n#", out);
		for (unsigned int i = 0; i < NR_COMMANDS; i++)
			fprintf(out, " %s", trigger_commands[i]->name);
		fputc('\n', out);
		return;
	}
	list_each(t, &f->triggers, node) {
		if (!t->cmd->print)
			continue;
		t->cmd->print(t, out);
		fputc('\n', out);
	}
}
