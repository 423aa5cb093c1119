/* SPDX-License-Identifier: MIT */
/*
 * events.h - events that commands make: synthetic events (s:) and probes (e:, p:, r:)
 *
 *     synthetic_events --lines--> synth_command()  ---+
 *     kprobe_events   --lines--> kprobe_command()  ---+
 *     uprobe_events   --lines--> uprobe_command()  ---+--> dynamic_event, in model->dynamic_events
 *     dynamic_events  --lines--> dynamic_command() ---+    with an event (model.h)
 *
 * The files list them in the order in which they were made. synth.c, eprobe.c, kprobe.c and
 * uprobe.c have the commands, texts and rules of each kind. Several kprobes may have one event, and
 * so may several uprobes.
 */
#ifndef TRACEFUSE_MODEL_DYNAMIC_EVENTS_H
#define TRACEFUSE_MODEL_DYNAMIC_EVENTS_H

#include "model/model.h"
#include "model/pieces.h"

struct dynamic_event;

struct dynamic_kind {
	/*
	 * Carries out a line of dynamic_events. -ECANCELED: it is for another kind; otherwise 0 or
	 * -errno.
	 */
	int	(*create)(struct model *m, const char *command, unsigned int id);
	/* Prints its line of dynamic_events */
	void	(*print)(const struct dynamic_event *d, FILE *out);
	unsigned int (*nr_fields)(const struct dynamic_event *d);
	/*
	 * Prints the parts of field `i` in the event's format file: its line, its text in "print
	 * fmt", its argument there.
	 */
	void	(*format_field)(const struct dynamic_event *d, unsigned int i, FILE *out);
	void	(*format_text)(const struct dynamic_event *d, unsigned int i, FILE *out);
	void	(*format_arguments)(const struct dynamic_event *d, unsigned int i, FILE *out);
	bool	(*is_busy)(const struct dynamic_event *d);
	int	(*remove)(struct dynamic_event *d);			/* -EBUSY if it is in use */
	/* Frees the memory; the event is gone already or is removed by the caller */
	void	(*destroy)(struct dynamic_event *d);
	/*
	 * Whether a command that removes names the event: 1, 0, or -ENOMEM. system NULL: any;
	 * words: the words after the name in "-:NAME ...".
	 */
	int	(*matches)(const struct dynamic_event *d, const char *system, const char *event,
			   char *const *words, unsigned int nr_words);
};

/* The hash of those whose events have that name, in model->dynamic_names. */
uint64_t dynamic_name_hash(const char *name);
/* Whether code of other events' triggers makes the event: a synthetic event or an event probe. */
bool event_is_made(const struct event *e);

/* The first member of synth_event and probe. */
struct dynamic_event {
	struct list_head	node;		/* in model->dynamic_events */
	struct lookup_node	named;		/* in model->dynamic_names */
	const struct dynamic_kind *kind;
	struct event		*event;
	uint64_t		saved;		/* R4 */
};

/*
 * Splits a text at white space. *nr may be 0. The caller frees with words_free(). NULL: no memory.
 */
char **words_split(const char *text, unsigned int *nr);
void words_free(char **words);

/* A name is a letter or '_', then letters, digits and '_'. */
bool dynamic_name_is_good(const char *name);

/*
 * One write(2) of several lines: runs `command` with each line, without comments, up to the first
 * error. 0 or -errno. `text` is changed; it may contain zeros. -EINPROGRESS: to be called again
 * with the same text. pieces NULL: it does not stop before the end.
 */
int dynamic_lines(struct model *m, char *text, size_t len,
		  int (*command)(struct model *m, const char *line), struct pieces *pieces);

/* Carries out a line of the file dynamic_events. */
int dynamic_command(struct model *m, const char *line);
/* The same for a file of one kind, where "-" removes only events of that kind. */
int dynamic_command_of(struct model *m, const char *line, const struct dynamic_kind *kind);

/* Truncation removes all events of a kind (NULL: of every kind). -EBUSY: one is in use. */
int dynamic_remove_all(struct model *m, const struct dynamic_kind *kind);

void dynamic_print(struct model *m, FILE *out);
/* The same for one kind. */
void dynamic_print_of(struct model *m, const struct dynamic_kind *kind, FILE *out);

/* The event's format file, behind the line "format:". The caller frees; NULL: no memory. */
char *dynamic_format(const struct dynamic_event *d);

/*
 * Adds a new event to the lists and saves its command (R4); dynamic_restore() gives it again from
 * there. 0, -ENOMEM
 */
int dynamic_add(struct dynamic_event *d, const char *command);
/*
 * Called by model_restore(): gives a saved text again. -ENOENT: `path` is not that of a dynamic
 * event.
 */
int dynamic_restore(struct model *m, const char *path, const char *text);

/*
 * Unlinks it, and removes the event if no other one has it. -EBUSY: nothing was changed. Otherwise
 * the caller frees the rest.
 */
int dynamic_remove(struct dynamic_event *d);

/* Called at the model's end. */
void dynamic_events_destroy(struct model *m);

extern const struct dynamic_kind synth_kind;	/* synth.c */
extern const struct dynamic_kind eprobe_kind;	/* eprobe.c */
extern const struct dynamic_kind kprobe_kind;	/* kprobe.c */
extern const struct dynamic_kind uprobe_kind;	/* uprobe.c */

#endif
