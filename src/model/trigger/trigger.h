/* SPDX-License-Identifier: MIT */
/*
 * trigger.h - event triggers: each is one command of the file `trigger`
 *
 * A trigger_command is the word before the first colon. trigger.c splits "[!]name[:params] [if
 * filter]" and calls the command's add or remove. The commands are in one table, trigger_commands[]
 * of trigger.c: traceon traceoff snapshot stacktrace enable_event disable_event enable_hist
 * disable_hist (simple.c, enable.c) and hist (model/hist/).
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
	 * Adds the trigger that `text` describes. `text` is the whole command without white space
	 * around it. For a hist, params is the part behind "hist:" up to " if " (NULL: none), and
	 * cond is the text of the filter (NULL: none). For the others, params is all that follows
	 * the name and one ':' or blank (NULL: nothing), which they split themselves; cond is NULL.
	 * params may be changed. The command allocates the trigger and attaches it with
	 * trigger_attach().
	 */
	int	(*add)(const struct trigger_command *cmd, struct event_file *f, const char *text,
		       char *params, const char *cond);
	/* For "!": removes the trigger that matches. -ENOENT as in the kernel. */
	int	(*remove)(const struct trigger_command *cmd, struct event_file *f, const char *text,
			  char *params, const char *cond);
	/* Prints one line without newline; NULL: no file shows the trigger */
	void	(*print)(struct trigger *t, FILE *out);
	/* Fills kind, flags, code, target */
	void	(*arm)(struct trigger *t, struct trigger_arm *out);
	/* Frees t->priv. While model->closing, it does not touch the session's memory (R4). */
	void	(*destroy)(struct trigger *t);
	/* NULL, or returns -EBUSY for hists whose variables are referenced */
	int	(*may_remove)(struct trigger *t);
};

struct trigger {
	struct list_head	node;		/* in file->triggers */
	const struct trigger_command *cmd;
	struct event_file	*file;
	/* The count that was given, -1: unlimited. state->count is what is left of it */
	long			count;
	bool			counted;	/* a count was given */
	char			*cond;		/* text of the filter as written; NULL: none */
	struct filter		*filter;
	config_ref		filter_code;
	size_t			filter_size;
	data_ref		state_ref;
	struct trigger_state	*state;
	bool			paused;		/* for a hist */
	bool			merged;		/* R28: hist/merge.h */
	bool			turned;		/* it was not, before the present command */
	char			*name;		/* hist:name=; NULL: none */
	void			*priv;		/* hist: struct hist_data *; enable_*: its target */
	/* The command as written, for the next server (R4); NULL: it is not saved */
	char			*command;
	/* R4: refs[0] is the state; a command may add its own refs before it attaches */
	uint64_t		refs[6];
	unsigned int		nr_refs;
	uint64_t		saved;		/* R4 */
	/* The saved text that it was made of; without one the command is new */
	struct restored	restored;
};

/*
 * Makes a trigger that is not attached yet. count -1 is unlimited. `command` is the whole command,
 * which is saved for the next server (R4); NULL: it is not saved. While model_restore() gives the
 * command again, the trigger restores the state that is ref 0 of its saved text. trigger_destroy()
 * frees the trigger.
 */
int trigger_create(const struct trigger_command *cmd, struct event_file *f, const char *command,
		   long count, struct trigger **out);
void trigger_destroy(struct trigger *t);
/* Parses the text behind "if " and compiles it for the trigger. An error goes to the errlog. */
int trigger_set_filter(struct trigger *t, const char *cond);
/*
 * Links the trigger in the kernel's order (hists last, others first), takes the event's soft mode,
 * saves the command with its refs (R4) and publishes the event.
 */
int trigger_attach(struct trigger *t);
/* Unlinks, drops the soft mode, publishes, retires the memory, destroys. */
void trigger_detach(struct trigger *t);
/* True for an `if`, a hist, or a post trigger. */
bool trigger_needs_record(const struct trigger *t);
/* Fills in the trigger for a plan. */
void trigger_fill_arm(struct trigger *t, struct trigger_arm *out);
/* Prints ":unlimited" or ":count=N", and " if FILTER". */
void trigger_print_tail(const struct trigger *t, FILE *out);

/*
 * Splits a condition "if FILTER". 0 and the filter behind "if"; -EINVAL: it does not begin with
 * "if". NULL gives NULL.
 */
int trigger_split_cond(char *cond, const char **filter);
/* Parses a count: "N" or "N:...". 0, -EINVAL, -ERANGE. NULL: -1. */
int trigger_parse_count(char *params, long *count);

extern const struct trigger_command hist_command;	/* model/hist/trigger.c */

#endif
