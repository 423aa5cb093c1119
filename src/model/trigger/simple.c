/* SPDX-License-Identifier: MIT */
/*
 * simple.c - traceon, traceoff, snapshot and stacktrace
 */
#include <errno.h>
#include <string.h>

#include "model/text.h"
#include "model/trigger/commands.h"

char *trigger_first_word(char *rest, char **cond)
{
	char *end = rest + strcspn(rest, " \t");

	*cond = NULL;
	if (*end) {
		*end = '\0';
		*cond = text_skip_spaces(end + 1);
		if (!**cond)
			*cond = NULL;
	}
	return rest;
}

/* traceon and traceoff exclude each other. */
static bool same_group(enum trigger_kind a, enum trigger_kind b)
{
	if (a == TRIGGER_TRACEOFF)
		a = TRIGGER_TRACEON;
	if (b == TRIGGER_TRACEOFF)
		b = TRIGGER_TRACEON;
	return a == b;
}

static struct trigger *simple_find(const struct trigger_command *cmd, struct event_file *f)
{
	struct trigger *t;

	list_each(t, &f->triggers, node)
		if (same_group(t->cmd->kind, cmd->kind))
			return t;
	return NULL;
}

/*
 * The text behind the name is a count if it begins with a digit. Otherwise all of it is the
 * condition.
 */
static int simple_split(char *rest, long *count, const char **filter)
{
	char *cond = rest, *number = NULL;
	int err;

	if (rest && text_is_digit(*rest))
		number = trigger_first_word(rest, &cond);
	err = trigger_parse_count(number, count);
	return err ? err : trigger_split_cond(cond, filter);
}

static int simple_attach(const struct trigger_command *cmd, struct trigger *t)
{
	int err;

	if (simple_find(cmd, t->file))
		return -EEXIST;
	err = cmd->kind == TRIGGER_SNAPSHOT ? instance_snapshot_alloc(t->file->instance) : 0;
	return err ? err : trigger_attach(t);
}

static int simple_add(const struct trigger_command *cmd, struct event_file *f, const char *text,
		      char *params, const char *cond)
{
	const char *filter;
	struct trigger *t;
	long count;
	int err = simple_split(params, &count, &filter);

	if (err)
		return err;
	err = trigger_create(cmd, f, text, count, &t);
	if (err)
		return err;
	err = trigger_set_filter(t, filter);
	if (!err)
		err = simple_attach(cmd, t);
	if (err)
		trigger_destroy(t);
	return err;
}

/*
 * As in the kernel, the text behind the name is not looked at, and it is no error if no trigger
 * matches.
 */
static int simple_remove_matching(const struct trigger_command *cmd, struct event_file *f,
				  const char *text, char *params, const char *cond)
{
	struct trigger *t = simple_find(cmd, f);

	if (t)
		trigger_detach(t);
	return 0;
}

static void simple_print(struct trigger *t, FILE *out)
{
	fputs(t->cmd->name, out);
	trigger_print_tail(t, out);
}

#define SIMPLE(variable, text, trigger)				\
	const struct trigger_command variable = {		\
		.name	= text,					\
		.kind	= trigger,				\
		.add	= simple_add,				\
		.remove	= simple_remove_matching,		\
		.print	= simple_print,				\
	}

SIMPLE(traceon_command, "traceon", TRIGGER_TRACEON);
SIMPLE(traceoff_command, "traceoff", TRIGGER_TRACEOFF);
SIMPLE(snapshot_command, "snapshot", TRIGGER_SNAPSHOT);
SIMPLE(stacktrace_command, "stacktrace", TRIGGER_STACKTRACE);
