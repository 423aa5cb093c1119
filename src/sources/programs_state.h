/* SPDX-License-Identifier: MIT */
/*
 * programs_state.h - inside the source of running programs
 */
#ifndef TRACEFUSE_SOURCES_PROGRAMS_STATE_H
#define TRACEFUSE_SOURCES_PROGRAMS_STATE_H

#include "model/list.h"
#include "model/model.h"
#include "sources/programs.h"

enum { REFUSALS = 16 };

/* A setting that waits for its event. */
struct kept_setting {
	struct list_head node;		/* in programs->kept, oldest first */
	char		*path;
	char		*text;
	char		*error;		/* its event is there, but it was refused: why; NULL: not tried */
	uint64_t	object;		/* R4 */
};

struct programs {
	/* set once */
	struct model	*model;
	struct tree	*tree;
	uint32_t	first_id;	/* of the providers' table */
	uint32_t	count;		/* of its events */
	uint64_t	table;		/* its version */

	bool		(*ready)(void *arg, const struct attach_peer *peer);
	void		*ready_arg;

	/* program_events.c: definitions that were refused, the newest REFUSALS of them */
	char		*refused[REFUSALS];
	unsigned int	nr_refused;

	/* program_names.c */
	uint64_t	next_task;	/* number of the entry of the log to read next */
	unsigned int	unwritten;	/* times that it was found half written */
	struct seen_pids *seen;

	/* program_symbols.c: of which DSOs the symbols are there */
	bool		dso_read[LAYOUT_MAX_DSOS];

	struct list_head kept;
	int64_t		threads_checked;	/* milliseconds of the clock */
};

/* ---- program_internal.c ---- */

/* The events of system ftrace. */
int program_internal_add(struct model *m);

/* ---- program_events.c ---- */

int program_events_choose(struct programs *p, const struct programs_params *params);
/* Hook of the attach socket: the id, or -errno. */
int program_events_define(struct programs *p, const struct attach_peer *peer, const char *system,
			  const char *name, const char *body);
void program_events_destroy(struct programs *p);

/* ---- program_names.c ---- */

/* Takes in what came since; returns how many entries. */
unsigned int program_names_drain(struct programs *p);
/* How many there were since the server began. */
unsigned int program_names_threads(const struct programs *p);
unsigned int program_names_processes(const struct programs *p);
void program_names_destroy(struct programs *p);
/* Bytes that would break a line become '?'. */
void program_text_clean(char *text);

/* ---- program_symbols.c ---- */

/* Loader of model->symbols: the DSO that the address lies in, 0: all. */
void program_symbols_load(struct programs *p, uint64_t addr);

/* ---- program_kept.c ---- */

/* An event has been defined: writes what can be written now. */
void program_kept_new(struct programs *p, const struct event *e);
/* All that can be written now, but for settings of whole systems. */
void program_kept_apply(struct programs *p);
/* Whether it is still to be written, or was refused. */
bool program_kept_waits(struct programs *p, const struct kept_setting *k);
int program_kept_restore(struct programs *p, const char *path, const char *text);
void program_kept_destroy(struct programs *p);

#endif
