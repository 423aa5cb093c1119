/* SPDX-License-Identifier: MIT */
/*
 * parse.c - parses the parts of a hist command between its colons
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/errlog.h"
#include "model/hist/percentiles.h"
#include "model/text.h"

/* Only the first error of a command counts. */
static void keep_legacy(const struct hist_command_text *cmd, const char *error, const char *at)
{
	struct event_file *f = cmd->file;

	if (f->hist_error)
		return;
	if (asprintf(&f->hist_error, "%s: %s", error, at ? at : "") < 0)
		f->hist_error = NULL;
	free(f->hist_command);
	f->hist_command = strdup(cmd->text + strlen("hist:"));
}

void hist_legacy_error_clear(struct event_file *f)
{
	free(f->hist_error);
	free(f->hist_command);
	f->hist_error = f->hist_command = NULL;
}

void hist_error(const struct hist_command_text *cmd, const char *error, const char *at)
{
	const struct event *e = cmd->file->event;
	const char *found = at && *at ? strstr(cmd->text, at) : NULL;
	char *loc;

	if (e->model->hist_legacy)
		keep_legacy(cmd, error, at);
	if (asprintf(&loc, "hist:%s:%s", e->system->name, e->name) < 0)
		return;
	errlog_add(cmd->file->instance->errlog, loc, cmd->text, error,
		   found ? (unsigned int)(found - cmd->text) : 0);
	free(loc);
}

void hist_say(int err, const struct hist_command_text *cmd, const char *error, const char *at)
{
	if (err != -ENOMEM)
		hist_error(cmd, error, at);
}

int hist_refuse(const struct hist_command_text *cmd, const char *error, const char *at)
{
	hist_error(cmd, error, at);
	return -EINVAL;
}

void hist_attrs_free_vars(struct hist_attrs *a)
{
	for (unsigned int i = 0; i < a->n_vars; i++) {
		free(a->var_names[i]);
		free(a->var_exprs[i]);
	}
	a->n_vars = 0;
}

void hist_attrs_free(struct hist_attrs *a)
{
	for (unsigned int i = 0; i < a->n_assignments; i++)
		free(a->assignments[i]);
	for (unsigned int i = 0; i < a->n_actions; i++)
		free(a->actions[i]);
	hist_attrs_free_vars(a);
	free(a->keys);
	free(a->vals);
	free(a->sort);
	free(a->name);
	free(a->clock);
	free(a->percents);
	*a = (struct hist_attrs){ 0 };
}

static const char *behind(const char *s, const char *prefix)
{
	size_t n = strlen(prefix);

	return strncmp(s, prefix, n) ? NULL : s + n;
}

static int parse_size(const char *text, unsigned int *bits)
{
	uint64_t size;
	unsigned int n = 0;
	int err = text_to_u64(text, 0, &size);

	if (err)
		return err;
	while (n < 63 && (1ull << n) < size)
		n++;
	if (n < HIST_BITS_MIN || n > HIST_BITS_MAX)
		return -EINVAL;
	*bits = n;
	return 0;
}

/* A later assignment of the same kind replaces an earlier one. */
static int parse_assignment(const struct hist_command_text *cmd, char *s, struct hist_attrs *a)
{
	const char *value;

	if ((value = behind(s, "key=")) || (value = behind(s, "keys=")))
		return text_set(&a->keys, value);
	if ((value = behind(s, "val=")) || (value = behind(s, "vals=")) ||
	    (value = behind(s, "values=")))
		return text_set(&a->vals, value);
	if ((value = behind(s, "sort=")))
		return text_set(&a->sort, value);
	if (behind(s, "name="))
		return text_set(&a->name, s);
	if (behind(s, "clock="))
		return text_set(&a->clock, text_strip(s + strlen("clock=")));
	if ((value = behind(s, "size=")))
		return parse_size(value, &a->map_bits);
	if ((value = behind(s, "pct=")) && percentiles_is_list(value))
		return text_set(&a->percents, value);
	if (a->n_assignments == HIST_VARS_MAX)
		return hist_refuse(cmd, "Too many variables defined", s);
	return text_set(&a->assignments[a->n_assignments++], s);
}

static int hist_parse_action(const char *s, struct hist_attrs *a)
{
	if (a->n_actions == HIST_ACTIONS_MAX ||
	    (!behind(s, "onmatch(") && !behind(s, "onmax(") && !behind(s, "onchange(")))
		return -EINVAL;
	return text_set(&a->actions[a->n_actions++], s);
}

static int parse_part(const struct hist_command_text *cmd, char *s, struct hist_attrs *a)
{
	const char *equals = strchr(s, '=');

	if (equals && !equals[1])
		return hist_refuse(cmd, "Empty assignment", s);
	if (equals)
		return parse_assignment(cmd, s, a);
	if (!strcmp(s, "nohitcount") || !strcmp(s, "NOHC"))
		return a->no_hitcount = true, 0;
	if (!strcmp(s, "pause"))
		return a->pause = true, 0;
	if (!strcmp(s, "cont") || !strcmp(s, "continue"))
		return a->cont = true, 0;
	if (!strcmp(s, "clear"))
		return a->clear = true, 0;
	return hist_parse_action(s, a);
}

int hist_attrs_parse(const struct hist_command_text *cmd, char *params, struct hist_attrs *out)
{
	char *part;
	int err = 0;

	*out = (struct hist_attrs){ 0 };
	while (!err && (part = strsep(&params, ":")))
		err = parse_part(cmd, part, out);
	if (!err && !out->keys)
		err = -EINVAL;
	if (!err && !out->clock)
		err = text_set(&out->clock, "global");
	if (err)
		hist_attrs_free(out);
	return err;
}
