/* SPDX-License-Identifier: MIT */
/*
 * events.h - events that commands make: synthetic events (s:) and event probes (e:)
 *
 *     synthetic_events --lines--> synth_command()  ---+
 *                                                     +--> dynamic_event, in model->dynamic_events
 *     dynamic_events  --lines--> dynamic_command() ---+    with an event (model.h) each
 *
 * Both files list them in the order of their making. A kind's commands, its
 * texts and its rules are in synth.c and eprobe.c.
 */
#ifndef TRACEFUSE_MODEL_DYNAMIC_EVENTS_H
#define TRACEFUSE_MODEL_DYNAMIC_EVENTS_H

#include "model/model.h"

struct dynamic_event;

struct dynamic_kind {
	/* A line of dynamic_events. -ECANCELED: it is for another kind; else 0 or -errno. */
	int	(*create)(struct model *m, const char *command, unsigned int id);
	/* one line of dynamic_events */
	void	(*print)(const struct dynamic_event *d, FILE *out);
	unsigned int (*nr_fields)(const struct dynamic_event *d);
	/*
	 * The parts of field `i` in the event's format file: its line, "print fmt"'s text, the
	 * arguments to that.
	 */
	void	(*format_field)(const struct dynamic_event *d, unsigned int i, FILE *out);
	void	(*format_text)(const struct dynamic_event *d, unsigned int i, FILE *out);
	void	(*format_arguments)(const struct dynamic_event *d, unsigned int i, FILE *out);
	bool	(*is_busy)(const struct dynamic_event *d);
	int	(*remove)(struct dynamic_event *d);			/* -EBUSY */
	/* memory only; the event is gone or goes */
	void	(*destroy)(struct dynamic_event *d);
	/* system NULL: any; words: what stands behind the name in "-:NAME ...". */
	bool	(*matches)(const struct dynamic_event *d, const char *system, const char *event,
			   char *const *words, unsigned int nr_words);
};

/* First member of synth_event and eprobe. */
struct dynamic_event {
	struct list_head	node;		/* in model->dynamic_events */
	const struct dynamic_kind *kind;
	struct event		*event;
};

/*
 * White space splits a text into words. *nr may be 0. The caller frees with words_free(). NULL: no
 * memory.
 */
char **words_split(const char *text, unsigned int *nr);
void words_free(char **words);

/* A letter or '_', then letters, digits and '_'. */
bool dynamic_name_is_good(const char *name);

/*
 * One write(2) of several lines: runs `command` with each, comments cut off,
 * up to the first error. 0 or -errno. `text` is changed; it may hold zeros.
 */
int dynamic_lines(struct model *m, char *text, size_t len,
		  int (*command)(struct model *m, const char *line));

/* A line of the file dynamic_events. */
int dynamic_command(struct model *m, const char *line);

/* Truncation removes all of a kind (NULL: of all): -EBUSY while one is in use. */
int dynamic_remove_all(struct model *m, const struct dynamic_kind *kind);

void dynamic_print(struct model *m, FILE *out);

/* The event's format file behind its line "format:". The caller frees; NULL: no memory. */
char *dynamic_format(const struct dynamic_event *d);

/*
 * A new event that is in the lists and, with its command, among the session's
 * saved texts (R4), from where dynamic_restore() has it. 0, -ENOMEM
 */
int dynamic_add(struct dynamic_event *d, const char *command);
/* model_restore(): gives a saved text again. `path` is not one of a dynamic event: -ENOENT. */
int dynamic_restore(struct model *m, const char *path, const char *text);

/* Removes the event and unlinks. -EBUSY: nothing was changed; else the caller frees the rest. */
int dynamic_remove(struct dynamic_event *d);

/* The model ends. */
void dynamic_events_destroy(struct model *m);

extern const struct dynamic_kind synth_kind;	/* synth.c */
extern const struct dynamic_kind eprobe_kind;	/* eprobe.c */

#endif
