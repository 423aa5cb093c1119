/* SPDX-License-Identifier: MIT */
/* programs_state.h - private to the source of running programs */
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
	/* Why it was refused although its event exists; NULL: not tried yet. */
	char		*error;
	uint64_t	saved;		/* R4 */
};

struct programs {
	/* set once */
	struct model	*model;
	struct tree	*tree;
	uint32_t	first_id;	/* of the first event of the providers' table */
	uint32_t	count;		/* of the table's events */
	uint64_t	table;		/* version of the table */

	bool		(*ready)(void *arg, const struct attach_peer *peer);
	void		*ready_arg;
	void		(*snapshot)(void *arg, int sock);
	void		*snapshot_arg;

	/* events.c: the newest definitions that were refused */
	char		*refused[REFUSALS];
	unsigned int	nr_refused;

	/* PROGRAMS_CALL_TEXTS (R4): the first one comes before all that needs the formats */
	uint64_t	texts_begun, texts_saved;

	/* names.c */
	uint64_t	next_task;	/* number of the log entry to read next */
	unsigned int	unwritten;	/* how often that entry was found half written */
	struct seen_pids *seen;

	/* symbols.c: the DSO's symbols are loaded */
	bool		dso_read[LAYOUT_MAX_DSOS];
	struct list_head names;		/* struct names_reading */
	pid_t		pid;		/* the server's: a printer is a copy of it */
	bool		cut_is_named;	/* LAYOUT_STACK_CUT has its name */

	struct program_sites *sites;	/* sites.h */
	struct program_probes *probes;	/* probes.h */
	struct program_ended *ended;	/* ended.c; NULL: nothing so far */
	struct program_parameters *parameters;	/* parameters.c; NULL: not used so far */

	struct list_head pending;
	int64_t		threads_checked;	/* time of the last check, in milliseconds */
};

/* ---- internal.c ---- */

/* Adds the events of system ftrace. */
int program_internal_add(struct model *m);

/* ---- events.c ---- */

int program_events_choose(struct programs *p, const struct programs_params *params);
/* Whether the system is one that every program has, and has no such event. */
bool program_events_lack(const char *system, const char *event);
/* Hook of the attach socket. Returns the event's id, or -errno. */
int program_events_define(struct programs *p, const struct attach_peer *peer, uint64_t dso,
			  const char *system, const char *name, const char *body);
/* model.set_call_texts */
int program_events_set_texts(struct programs *p, uint32_t bytes);
void program_events_destroy(struct programs *p);

/* ---- names.c ---- */

/* Reads new entries of the log; returns how many. */
unsigned int program_names_drain(struct programs *p);
/* A process has joined: from now on it and its first thread count. */
void program_names_joined(struct programs *p, pid_t pid);
/* The number since the server began. */
unsigned int program_names_threads(const struct programs *p);
unsigned int program_names_processes(const struct programs *p);
void program_names_destroy(struct programs *p);
/* Replaces bytes that would break a line by '?'. */
void program_text_clean(char *text);

/* ---- dso.c ---- */

/* A copy of an entry of the table, because programs may change the entry at any time. */
struct program_dso {
	uint32_t	nr;
	uint32_t	pid;
	uint64_t	size, load;
	uint32_t	id_len;
	uint32_t	moved;		/* enum dso_moved; 0: its sites are no moved code */
	uint8_t		id[24];
	char		path[LAYOUT_PATH];
};

/* Copies an entry. False: there is none, or its values are invalid. */
bool program_dso_copy(struct programs *p, uint32_t nr, struct program_dso *out);
/* The name of the DSO's file, for messages and lists. */
const char *program_dso_name(const struct program_dso *d, char out[256]);
/* The session's address for the DSO's first mapped byte. */
static inline uint64_t program_dso_base(const struct program_dso *d)
{
	return layout_dso_base(d->nr);
}

enum { PROGRAM_OWNERS = 16 };

/* The processes in whose roots the file is looked for. */
struct program_owners {
	pid_t		first;		/* that entered the DSO; 0: it is gone */
	pid_t		others[PROGRAM_OWNERS];
	unsigned int	nr;
	/* The server's own mounts, where it would wait for itself */
	const char	*own_mounts;
};

/*
 * Calls read() with files that may be the DSO's, until one is right: the path as its process sees
 * it, then as the server does, then as other processes do. False: no file was right.
 */
bool program_dso_read(struct programs *p, const struct program_dso *d, elf_reader read, void *out);
/* The same in two steps. A copy of the server can do the second one without a descriptor. */
void program_dso_owners(struct programs *p, const struct program_dso *d,
			struct program_owners *out);
bool program_dso_try(const struct program_dso *d, const struct program_owners *o, elf_reader read,
		     void *out);

/* ---- dump.c ---- */

/* Prints the buffer if a function command asked for a dump. Returns whether one did. */
bool program_dump(struct programs *p);

/* ---- symbols.c ---- */

/* Loader of model->symbols: loads the DSO of the address; 0: all DSOs. */
void program_symbols_load(struct programs *p, uint64_t addr);
/* Takes what was read meanwhile. Returns whether more is being read. */
bool program_symbols_tend(struct programs *p);
void program_symbols_destroy(struct programs *p);
/* Adds the symbols of a DSO whose file has been read. */
void program_symbols_take(struct programs *p, const struct program_dso *d,
			  const struct elf_symbols *symbols);

/* ---- ended.c ---- */

enum ended_what { ENDED_FUNCTIONS, ENDED_LOST, ENDED_PROBES };

/* Notes what was refused in a process that has ended. */
void program_ended_note(struct programs *p, enum ended_what what, pid_t pid, const char *text);
/*
 * Prints "ended-functions NR PID NAME\tTEXT" for functions of NR processes that were left out, of
 * which PID ended last; "ended-lost ..." for processes that lost more than single functions;
 * "ended-probes ..."; "ended-more NR": how often there was no room for a note.
 */
void program_ended_print(struct programs *p, FILE *out);
void program_ended_destroy(struct programs *p);

/* ---- parameters.c ---- */

/* What the function at an address of the session has as parameters. NULL: not known. */
const struct parameters *program_parameters_of(struct programs *p, uint64_t func);
/* Ends what was not used for a while. now: session_now_ms() */
void program_parameters_tick(struct programs *p, int64_t now);
void program_parameters_destroy(struct programs *p);

/* ---- sums.c ---- */

/*
 * Prints lines for a summary: "hits" that histograms counted, "dropped" ones that they did not, and
 * "note" lines.
 */
void program_sums_print(struct programs *p, FILE *out);

/* ---- pending.c ---- */

/* An event has been defined: writes the settings that can be written now. */
void program_pending_new(struct programs *p, const struct event *e);
/* Writes all settings that can be written now, except those of whole systems. */
void program_pending_apply(struct programs *p);
/* Whether the setting is still to be written, or was refused. */
bool program_pending_waits(struct programs *p, const struct pending_setting *k);
int program_pending_restore(struct programs *p, const char *path, const char *text);
void program_pending_destroy(struct programs *p);

#endif
