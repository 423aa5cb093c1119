/* SPDX-License-Identifier: MIT */
/*
 * sites.h - inside the source of running programs: their functions, and what they are told of them
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

#include "model/ftrace/ftrace.h"
#include "sources/program/programs_state.h"

/* What a process told of its DSOs last. */
struct told_dsos {
	pid_t		pid;		/* 0: nothing */
	uint64_t	dsos[LAYOUT_MAX_DSOS / 64];
};

struct dso_sites {
	bool		read;		/* its file was looked at */
	bool		gone;		/* all processes closed it; until one opens it again */
	uint32_t	nr;		/* 0: it has none */
	uint32_t	skipped[SITE_SKIPS];	/* by enum site_skip */
	struct ftrace_page *page;
	_Atomic uint32_t *words;	/* NULL: none was ever on */
};

struct program_sites {
	struct dso_sites dsos[LAYOUT_MAX_DSOS];
	/* READY, until its DSOs were looked at; 0: it does not */
	pid_t		waiting[1 + LAYOUT_MAX_PROCESSES];
	unsigned int	nr_waiting;
	struct told_dsos told[1 + LAYOUT_MAX_PROCESSES];	/* by number of the process */
	uint32_t	command;	/* the last one that was raised */
	bool		unsettled;	/* not everybody has answered it */
	bool		waited;		/* nor in the time that a writer waits */
	int		err;		/* the last that made words wrong; 0: none */
};

/* ---- sites.c ---- */

int program_sites_create(struct programs *p);
/* When the model is back: from now on changes reach programs. */
void program_sites_begin(struct programs *p);
void program_sites_destroy(struct programs *p);
/* A process has loaded this one. */
void program_sites_loaded(struct programs *p, uint32_t nr);
/* A process is ready: whether it has to wait until that is done. */
bool program_sites_hold(struct programs *p, const struct attach_peer *peer);
/* True: there will be more to do soon. */
bool program_sites_tick(struct programs *p);
void program_sites_print(struct programs *p, FILE *out);

/* ---- words.c ---- */

/* ftrace->changed and ftrace->set */
void program_words_changed(void *programs, const struct ftrace_change *list, size_t nr);
void program_words_set(void *programs);
/* model->settle: returns when programs have obeyed, or after a limit. */
void program_words_settle(void *programs);
/* Without waiting. True: some have not answered yet. */
bool program_words_tick(struct programs *p);
/* A session whose server died: its words are kept, before anything else is freed; */
void program_words_restore(struct programs *p);
/*
 * found again when a DSO's sites are counted; and brought up to date when the model has them, or
 * there are none.
 */
void program_words_find(struct programs *p, uint32_t nr);
void program_words_update(struct programs *p, uint32_t nr);
/* Nobody has the DSO any more. */
void program_words_forget(struct programs *p, uint32_t nr);
void program_words_print(struct programs *p, FILE *out);

#endif
