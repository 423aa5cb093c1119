/* SPDX-License-Identifier: MIT */
/*
 * trigger.h - event triggers: one command of the file `trigger` each
 *
 * A trigger_command is what stands before the first colon. trigger.c splits
 * "[!]name[:params] [if filter]" and calls the command's add or remove.
 * Commands are listed in one table, trigger_commands[] of trigger.c:
 * traceon traceoff snapshot stacktrace enable_event disable_event
 * enable_hist disable_hist (model/trigger_*.c) and hist (model/hist/).
 */
#ifndef TRACEFUSE_MODEL_TRIGGER_H
#define TRACEFUSE_MODEL_TRIGGER_H

#include "model/event_file.h"
#include "model/filter.h"

struct trigger;

struct trigger_command {
	const char	*name;
	enum trigger_kind kind;
	/*
	 * Adds the trigger that `text` describes. `text` is the whole command as
	 * written, params the part behind "name:" up to " if " (NULL: none), cond
	 * the filter text (NULL: none). The command allocates the trigger, attaches
	 * it with trigger_attach() and takes the event's soft mode.
	 */
	int	(*add)(const struct trigger_command *cmd, struct event_file *f, const char *text,
		       char *params, const char *cond);
	/* "!": removes the one that matches; -ENOENT as the kernel has it. */
	int	(*remove)(const struct trigger_command *cmd, struct event_file *f, const char *text,
			  char *params, const char *cond);
	void	(*print)(struct trigger *t, FILE *out);		/* one line without newline */
	void	(*arm)(struct trigger *t, struct trigger_arm *out);	/* fills kind, flags, program, target */
	void	(*destroy)(struct trigger *t);			/* frees t->priv */
	int	(*may_remove)(struct trigger *t);		/* NULL, or -EBUSY for hists whose variables are referenced */
};

struct trigger {
	struct list_head	node;		/* in file->triggers */
	const struct trigger_command *cmd;
	struct event_file	*file;
	long			count;		/* -1: unlimited */
	char			*cond;		/* filter text as written, NULL */
	struct filter		*filter;
	config_ref		filter_program;
	size_t			filter_size;
	data_ref		state_ref;
	struct trigger_state	*state;
	bool			paused;		/* hist */
	char			*name;		/* hist:name=, NULL */
	void			*priv;		/* hist: struct hist_data *; enable_*: its target */
	uint64_t		object;		/* R4 */
};

int trigger_create(const struct trigger_command *cmd, struct event_file *f, long count, struct trigger **out);
/* Parses and compiles cond into the trigger. */
int trigger_set_filter(struct trigger *t, const char *cond);
/* Links the trigger in the kernel's order and publishes the event. */
int trigger_attach(struct trigger *t);
/* Unlinks, publishes, retires its memory, destroys. */
void trigger_detach(struct trigger *t);

extern const struct trigger_command hist_command;	/* model/hist/trigger.c */

#endif
