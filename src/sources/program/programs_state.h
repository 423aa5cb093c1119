/* SPDX-License-Identifier: MIT */
/*
 * programs_state.h - inside the source of running programs
 */
#ifndef TRACEFUSE_SOURCES_PROGRAM_PROGRAMS_STATE_H
#define TRACEFUSE_SOURCES_PROGRAM_PROGRAMS_STATE_H

#include "model/list.h"
#include "model/model.h"
#include "elf/file.h"
#include "sources/program/programs.h"

enum { REFUSALS = 16 };

/* A setting that waits for its event. */
struct pending_setting {
	struct list_head node;		/* in programs->pending, oldest first */
	char		*path;
	char		*text;
	/* its event is there, but it was refused: why; NULL: not tried */
	char		*error;
	uint64_t	saved;		/* R4 */
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

	/* events.c: definitions that were refused, the newest REFUSALS of them */
	char		*refused[REFUSALS];
	unsigned int	nr_refused;

	/* names.c */
	uint64_t	next_task;	/* number of the entry of the log to read next */
	unsigned int	unwritten;	/* times that it was found half written */
	struct seen_pids *seen;

	/* symbols.c: of which DSOs the symbols are there */
	bool		dso_read[LAYOUT_MAX_DSOS];

	struct program_sites *sites;	/* sites.h */

	struct list_head pending;
	int64_t		threads_checked;	/* milliseconds of the clock */
};

/* ---- internal.c ---- */

/* The events of system ftrace. */
int program_internal_add(struct model *m);

/* ---- events.c ---- */

int program_events_choose(struct programs *p, const struct programs_params *params);
/* Hook of the attach socket: the id, or -errno. */
int program_events_define(struct programs *p, const struct attach_peer *peer, const char *system,
			  const char *name, const char *body);
void program_events_destroy(struct programs *p);

/* ---- names.c ---- */

/* Takes in what came since; returns how many entries. */
unsigned int program_names_drain(struct programs *p);
/* A process has joined: it and its first thread count from now on. */
void program_names_joined(struct programs *p, pid_t pid);
/* How many there were since the server began. */
unsigned int program_names_threads(const struct programs *p);
unsigned int program_names_processes(const struct programs *p);
void program_names_destroy(struct programs *p);
/* Bytes that would break a line become '?'. */
void program_text_clean(char *text);

/* ---- dso.c ---- */

/* A copy of an entry of the table: programs may change theirs at any time. */
struct program_dso {
	uint32_t	nr;
	uint32_t	pid;
	uint64_t	size, load;
	uint32_t	id_len;
	uint8_t		id[24];
	char		path[256];
};

/* False: there is none, or it is nonsense. */
bool program_dso_copy(struct programs *p, uint32_t nr, struct program_dso *out);
/* The name of its file, for people. */
const char *program_dso_name(const struct program_dso *d, char out[256]);
/* Where its first mapped byte lies in the session. */
static inline uint64_t program_dso_base(const struct program_dso *d)
{
	return LAYOUT_DSO_BASE + ((uint64_t)d->nr << LAYOUT_DSO_SHIFT);
}
/*
 * Tries read() on files that may be the DSO's: as its process sees it, then as
 * we do, then as processes do that live elsewhere. False: none was the one.
 */
bool program_dso_read(struct programs *p, const struct program_dso *d, elf_reader read, void *out);

/* ---- dump.c ---- */

/* Writes what functions' commands dumped since; whether there was something. */
bool program_dump(struct programs *p);

/* ---- symbols.c ---- */

/* Loader of model->symbols: the DSO that the address lies in, 0: all. */
void program_symbols_load(struct programs *p, uint64_t addr);
/* Those of a DSO whose file has been read. */
void program_symbols_take(struct programs *p, const struct program_dso *d,
			  const struct elf_symbols *symbols);

/* ---- sums.c ---- */

/* "hits", what histograms counted, "dropped", what they did not, and "note" lines for a summary. */
void program_sums_print(struct programs *p, FILE *out);

/* ---- pending.c ---- */

/* An event has been defined: writes what can be written now. */
void program_pending_new(struct programs *p, const struct event *e);
/* All that can be written now, but for settings of whole systems. */
void program_pending_apply(struct programs *p);
/* Whether it is still to be written, or was refused. */
bool program_pending_waits(struct programs *p, const struct pending_setting *k);
int program_pending_restore(struct programs *p, const char *path, const char *text);
void program_pending_destroy(struct programs *p);

#endif
