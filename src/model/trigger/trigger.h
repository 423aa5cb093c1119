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
#ifndef TRACEFUSE_MODEL_TRIGGER_TRIGGER_H
#define TRACEFUSE_MODEL_TRIGGER_TRIGGER_H

#include "model/event/file.h"
#include "model/filter/filter.h"

struct trigger;

struct trigger_command {
	const char	*name;
	enum trigger_kind kind;
	/*
	 * Adds the trigger that `text` describes. `text` is the whole command
	 * without the white space around it. For a hist, params is the part behind
	 * "hist:" up to " if " (NULL: none), cond the filter text (NULL: none). The
	 * others get all that stands behind the name and one ':' or blank in params
	 * (NULL: nothing) and split it themselves, cond is NULL. params may be
	 * changed. The command allocates the trigger and attaches it with
	 * trigger_attach().
	 */
	int	(*add)(const struct trigger_command *cmd, struct event_file *f, const char *text,
		       char *params, const char *cond);
	/* "!": removes the one that matches; -ENOENT as the kernel has it. */
	int	(*remove)(const struct trigger_command *cmd, struct event_file *f, const char *text,
			  char *params, const char *cond);
	/* one line without newline; NULL: no file shows it */
	void	(*print)(struct trigger *t, FILE *out);
	/* fills kind, flags, program, target */
	void	(*arm)(struct trigger *t, struct trigger_arm *out);
	/* Frees t->priv; while model->closing nothing in the session's memory is touched (R4). */
	void	(*destroy)(struct trigger *t);
	/* NULL, or -EBUSY for hists whose variables are referenced */
	int	(*may_remove)(struct trigger *t);
};

struct trigger {
	struct list_head	node;		/* in file->triggers */
	const struct trigger_command *cmd;
	struct event_file	*file;
	/* as given, -1: unlimited; what is left is state->count */
	long			count;
	bool			counted;	/* a count was given */
	char			*cond;		/* filter text as written, NULL */
	struct filter		*filter;
	config_ref		filter_program;
	size_t			filter_size;
	data_ref		state_ref;
	struct trigger_state	*state;
	bool			paused;		/* hist */
	char			*name;		/* hist:name=, NULL */
	void			*priv;		/* hist: struct hist_data *; enable_*: its target */
	/* as written, for the next server (R4); NULL: it is not kept */
	char			*command;
	/* R4: refs[0] the state; the command may add its own before it attaches */
	uint64_t		refs[6];
	unsigned int		nr_refs;
	uint64_t		saved;		/* R4 */
	struct restored	restored;	/* what it was made of; no saved text: the command is new */
};

/*
 * A trigger that is not attached; count -1 is unlimited. `command` is the whole command, which the
 * next server gets (R4); NULL: it gets none. While model_restore() gives the command again, the
 * trigger restores the state that is ref 0 of its saved text. trigger_destroy() frees it again.
 */
int trigger_create(const struct trigger_command *cmd, struct event_file *f, const char *command,
		   long count, struct trigger **out);
void trigger_destroy(struct trigger *t);
/* Parses and compiles the text behind "if " into the trigger; the error goes to the errlog. */
int trigger_set_filter(struct trigger *t, const char *cond);
/*
 * Links the trigger in the kernel's order (hists last, others first), takes the
 * event's soft mode, records its command with its refs (R4), publishes the event.
 */
int trigger_attach(struct trigger *t);
/* Unlinks, drops the soft mode, publishes, retires its memory, destroys. */
void trigger_detach(struct trigger *t);
/* An `if`, a hist, or a post trigger. */
bool trigger_needs_record(const struct trigger *t);
/* What hits find of it in a plan. */
void trigger_fill_arm(struct trigger *t, struct trigger_arm *out);
/* Prints ":unlimited" or ":count=N", and " if FILTER". */
void trigger_print_tail(const struct trigger *t, FILE *out);

/*
 * A condition "if FILTER": 0 and the filter behind "if", -EINVAL when it does
 * not begin with "if". NULL gives NULL.
 */
int trigger_split_cond(char *cond, const char **filter);
/* "N" or "N:...": a count. 0, -EINVAL, -ERANGE. NULL: -1. */
int trigger_parse_count(char *params, long *count);

extern const struct trigger_command hist_command;	/* model/hist/trigger.c */

#endif
