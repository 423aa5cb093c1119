/* SPDX-License-Identifier: MIT */
/*
 * action_parse.c - parses the text of actions: HANDLER(what).ACTION(arguments)
 *
 * Only the event of onmatch() is looked up here. action.c looks up variables, fields and synthetic
 * events when the hist is added; a command that removes one does not.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/hist/hist.h"
#include "model/dynamic/synth.h"
#include "model/text.h"

static bool action_parse_begins(const char *s, const char *prefix)
{
	return !strncmp(s, prefix, strlen(prefix));
}

static int parse_param(const struct hist_command_text *cmd, struct hist_action *a, char *param,
		       bool first)
{
	param = text_strip(param);
	if (strlen(param) < 2)
		return hist_refuse(cmd, "Invalid action param", param);
	if (first && a->use_trace_keyword)
		return text_set(&a->synth_name, param);
	return text_set(&a->params[a->n_params++], param);
}

static int parse_params(const struct hist_command_text *cmd, struct hist_action *a, char *params)
{
	bool first = true;
	int err = 0;

	while (!err && params) {
		if (a->n_params == HIST_PARAMS_MAX)
			return hist_refuse(cmd, "Too many action params", NULL);
		err = parse_param(cmd, a, strsep(&params, ","), first);
		first = false;
	}
	return err;
}

/* save() and snapshot() need an onmax() or onchange(). */
static int check_tracks(const struct hist_command_text *cmd, const struct hist_action *a,
			const char *name)
{
	return a->handler == HIST_ONMATCH ? hist_refuse(cmd, "Handler doesn't support action", name)
					  : 0;
}

static int parse_save(const struct hist_command_text *cmd, struct hist_action *a, const char *name,
		      char *rest)
{
	int err = parse_params(cmd, a, strsep(&rest, ")"));

	a->kind = HIST_SAVE;
	return err ? err : check_tracks(cmd, a, name);
}

static int parse_snapshot(const struct hist_command_text *cmd, struct hist_action *a,
			  const char *name, char *rest)
{
	const char *params = strsep(&rest, ")");

	a->kind = HIST_SNAPSHOT;
	return rest ? check_tracks(cmd, a, name)
		    : hist_refuse(cmd, "No closing paren found", params);
}

static int parse_trace(const struct hist_command_text *cmd, struct hist_action *a, const char *name,
		       char *rest)
{
	a->kind = HIST_TRACE;
	a->use_trace_keyword = action_parse_begins(name, "trace");
	return parse_params(cmd, a, strsep(&rest, ")"));
}

/* Parses ".ACTION(arguments)" behind the handler */
static int action_parse_call(const struct hist_command_text *cmd, struct hist_action *a, char *s)
{
	const char *name;
	int err;

	strsep(&s, ".");
	name = s ? strsep(&s, "(") : NULL;
	if (!s)
		return hist_refuse(cmd, "No action found", NULL);
	if (action_parse_begins(name, "save"))
		err = parse_save(cmd, a, name, s);
	else if (action_parse_begins(name, "snapshot"))
		err = parse_snapshot(cmd, a, name, s);
	else
		err = parse_trace(cmd, a, name, s);
	return err ? err : text_set(&a->name, name);
}

/* "system.event).ACTION(...)" */
static int parse_onmatch(struct hist_data *hd, const struct hist_command_text *cmd,
			 struct hist_action *a, char *s)
{
	char *event = strsep(&s, ")"), *system;
	int err;

	if (!s)
		return hist_refuse(cmd, "No closing paren found", event);
	system = strsep(&event, ".");
	if (!event)
		return hist_refuse(cmd, "Missing subsystem", system);
	if (!model_find_event(hd->event->model, system, event))
		return hist_refuse(cmd, "Invalid subsystem or event name", event);
	err = text_set(&a->match.system, system);
	if (!err)
		err = text_set(&a->match.event, event);
	return err ? err : action_parse_call(cmd, a, s);
}

/* "$var).ACTION(...)" */
static int parse_track(const struct hist_command_text *cmd, struct hist_action *a, char *s)
{
	const char *var = strsep(&s, ")");
	int err;

	if (!s)
		return -EINVAL;
	err = text_set(&a->track.var_str, var);
	return err ? err : action_parse_call(cmd, a, s);
}

static int parse_handler(struct hist_data *hd, const struct hist_command_text *cmd,
			 struct hist_action *a, char *s)
{
	char *rest = strchr(s, '(') + 1;

	if (action_parse_begins(s, "onmatch(")) {
		a->handler = HIST_ONMATCH;
		return parse_onmatch(hd, cmd, a, rest);
	}
	a->handler = action_parse_begins(s, "onmax(") ? HIST_ONMAX : HIST_ONCHANGE;
	return parse_track(cmd, a, rest);
}

int hist_actions_parse(struct hist_data *hd, const struct hist_command_text *cmd)
{
	int err = 0;

	for (unsigned int i = 0; !err && i < hd->attrs.n_actions; i++) {
		struct hist_action *a = calloc(1, sizeof(*a));
		char *copy = strdup(hd->attrs.actions[i]);

		if (a)
			hd->actions[hd->n_actions++] = a;
		err = a && copy ? parse_handler(hd, cmd, a, copy) : -ENOMEM;
		free(copy);
	}
	return err;
}

void hist_action_free(struct hist_action *a)
{
	if (a->synth)
		synth_put(a->synth);
	for (unsigned int i = 0; i < a->n_params; i++)
		free(a->params[i]);
	free(a->name);
	free(a->synth_name);
	free(a->match.system);
	free(a->match.event);
	free(a->track.var_str);
	hist_field_free(a->track.track_var);
	free(a);
}

static const char *target_name(const struct hist_action *a)
{
	return a->use_trace_keyword ? a->synth_name : a->name;
}

static bool actions_equal(const struct hist_action *a, const struct hist_action *b)
{
	if (a->handler != b->handler || a->kind != b->kind || a->n_params != b->n_params)
		return false;
	for (unsigned int i = 0; i < a->n_params; i++)
		if (strcmp(a->params[i], b->params[i]))
			return false;
	return text_same(target_name(a), target_name(b)) &&
	       text_same(a->match.system, b->match.system) &&
	       text_same(a->match.event, b->match.event) &&
	       text_same(a->track.var_str, b->track.var_str);
}

bool hist_actions_match(const struct hist_data *a, const struct hist_data *b)
{
	if (a->n_actions != b->n_actions)
		return false;
	for (unsigned int i = 0; i < a->n_actions; i++)
		if (!actions_equal(a->actions[i], b->actions[i]))
			return false;
	return true;
}
