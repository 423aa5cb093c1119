/* SPDX-License-Identifier: MIT */
/*
 * sites.h - private to the source of running programs: their functions, and which of them to trace
 *
 *     dso_sites[number] --page--> the model's sites (ftrace.h)          by address, in the order of
 *                       --words-> uint32_t[nr] in the config region     the file: the same index
 *
 *     commands -> ftrace->changed -> words stored in place -> command raised -> programs' tasks
 *     obey, answer
 *                                                                               |
 *     end of the command, model->settle: waits for the answers, for a moment  <-+
 */
#ifndef TRACEFUSE_SOURCES_PROGRAM_SITES_H
#define TRACEFUSE_SOURCES_PROGRAM_SITES_H

#include "elf/file.h"
#include "layout/attach_wire.h"
#include "model/ftrace/ftrace.h"
#include "sources/program/programs_state.h"

/* The DSOs that a process last answered with. */
struct told_dsos {
	pid_t		pid;		/* 0: no answer yet */
	uint64_t	dsos[LAYOUT_MAX_DSOS / 64];
};

struct dso_sites {
	bool		read;		/* its file was read */
	bool		moved;		/* and then its sites were moved code */
	/* All processes have closed it, and none has opened it again */
	bool		gone;
	bool		sleds;		/* some of them are XRay's, so short functions have none */
	uint32_t	nr;		/* number of sites */
	uint32_t	skipped[SITE_SKIPS];	/* by enum site_skip */
	/* Why the file's code could not be read; NULL: it could */
	const char	*why;
	struct ftrace_page *page;
	_Atomic uint32_t *words;	/* NULL: no site was ever on */
};

/* A process that waits until files are read. */
struct sites_waiter {
	pid_t		pid;		/* 0: it does not wait */
	/*
	 * What it has asked with: READY waits for all files, DSO and PLACES for one. READY and DSO
	 * wait for probes in the process's files, too
	 */
	enum attach_kind kind;
	uint32_t	dso;		/* READY: those before it */
};

struct program_late {
	int64_t		looked;		/* session_now_ms(): for processes to knock at */
	uint32_t	asked;		/* session_asked() at that time */
	int64_t		since;		/* session_now_ms(): when it was raised */
	bool		knocks;		/* model_knock() */
};

struct program_sites {
	struct program_late late;
	struct dso_sites dsos[LAYOUT_MAX_DSOS];
	struct scans	*scans;
	struct sites_waiter waiting[1 + LAYOUT_MAX_PROCESSES];	/* by number of the process */
	bool		any_waits;
	struct told_dsos told[1 + LAYOUT_MAX_PROCESSES];	/* by number of the process */
	uint32_t	command;	/* number of the last command */
	bool		unsettled;	/* some processes have not answered it */
	bool		waited;		/* a writer has waited its full time for them */
	int		err;		/* the last error that made words wrong; 0: none */
};

/* ---- sites.c ---- */

int program_sites_create(struct programs *p);
/* Called when the model is restored: from now on changes reach programs. */
void program_sites_begin(struct programs *p);
void program_sites_destroy(struct programs *p);
/* A process has loaded this DSO. */
void program_sites_loaded(struct programs *p, uint32_t nr);
/* A process is READY. Returns whether it has to wait until its DSOs are read. */
bool program_sites_wait(struct programs *p, const struct attach_peer *peer);
/*
 * A process that asks with DSO or PLACES: whether it has to wait until that file is read. Then it
 * gets attach_go().
 */
bool program_sites_wait_for(struct programs *p, const struct attach_peer *peer,
			    enum attach_kind kind, uint32_t nr);
/* Another process has this number now. */
void program_sites_joined(struct programs *p, const struct attach_peer *peer);
/* Whether there are files that are to be read, or are being read. */
bool program_sites_unread(struct programs *p);
/* Waits for a moment, or until something comes from a process that reads a file. */
void program_sites_await(struct programs *p);
/* Readable when program_sites_tick() has something to do. */
int program_sites_fd(const struct programs *p);
/* True: there will be more to do soon. */
bool program_sites_tick(struct programs *p);
void program_sites_print(struct programs *p, FILE *out);
/* Notes which functions of a process that has ended were not traced. */
void program_sites_ended(struct programs *p, const struct attach_answer *a);

/* ---- late.c ---- */

/*
 * Has running processes look for functions that somebody asks for, and begin to plant that have no
 * task yet (agent/sites/late.c). Called regularly.
 */
void program_late_knock(struct programs *p);
/* ftrace->more: asks, and says whether processes that run may have more functions soon. */
bool program_late_more(void *programs);
/*
 * Prints a line for each process that has not looked for functions that somebody asks for, and for
 * each child that has not joined and lacks functions or probes.
 */
void program_late_print(struct programs *p, FILE *out);

/* ---- places.c ---- */

/* Publishes what was found in the DSO's file, for programs that load it. */
void program_places_publish(struct programs *p, uint32_t nr, const struct elf_sites *f);
/* Takes over those of a session whose server died. Call it before anything is freed. */
void program_places_restore(struct programs *p);

/* ---- words.c ---- */

/* ftrace->changed and ftrace->set */
void program_words_changed(void *programs, const struct ftrace_change *list, size_t nr);
void program_words_set(void *programs);
/* Which probes are to be planted may have changed: then programs are told. */
void program_words_probes(struct programs *p);
/* Programs are to read all words again. */
void program_words_raise(struct programs *p);
/* model->settle: returns 0 when programs have obeyed, or after a limit. */
uint64_t program_words_settle(void *programs, uint64_t until);
/* Does not wait. True: some processes have not answered yet. */
bool program_words_tick(struct programs *p);
/* The session ends: programs that go on get their code back as it was. */
void program_words_end(struct programs *p);
/* Takes over the words of a session whose server died. Call it before anything is freed. */
void program_words_restore(struct programs *p);
/*
 * Call program_words_find() when the DSO's sites are counted, and program_words_update() when the
 * model has them, or has none.
 */
void program_words_find(struct programs *p, uint32_t nr);
void program_words_update(struct programs *p, uint32_t nr);
/* No process has the DSO any more. */
void program_words_forget(struct programs *p, uint32_t nr);
void program_words_print(struct programs *p, FILE *out);

#endif
