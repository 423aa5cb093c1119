/* SPDX-License-Identifier: MIT */
/*
 * programs.h - the running programs of a session as a source of events
 *
 * Unlike a recording they make their hits themselves, in the session's memory.
 * What is left for the server:
 *
 *     attach socket:  definitions of events ------> the model          events.c
 *                     READY ----------------------> held, for `run`
 *     data region:    log of tasks ---------------> saved_cmdlines     names.c
 *                     table of DSOs, their files -> kallsyms           symbols.c
 *     settings of events that are not there yet --> pending            pending.c
 *     functions of those files -------------------> the model's sites  sites.c
 *     which of them are traced <------------------- words, commands    words.c
 *
 * The order of a life, under the control lock:
 *
 *     session_create(), model_create(), tree_create()
 *     programs_create()            or programs_restored() behind model_restore()
 *     programs_tick() ...          by the loop of the server
 *     programs_destroy()           before tree, model and session
 */
#ifndef TRACEFUSE_SOURCES_PROGRAM_PROGRAMS_H
#define TRACEFUSE_SOURCES_PROGRAM_PROGRAMS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include "session/attach/attach.h"

struct programs;
struct model;
struct tree;

struct programs_params {
	const char	*systems;	/* providers: "heap,lock"; NULL: all, "": none */
	bool		kernel_names;	/* kmem and sched as well */
};

/*
 * Makes the session one of running programs: the events of system ftrace, those
 * of the providers, the file kallsyms. 0; -EINVAL: a system that there is not; -ENOMEM ...
 */
int programs_create(struct model *m, struct tree *t, const struct programs_params *params,
		    struct programs **out);
void programs_destroy(struct programs *p);

/* Systems of providers that a later `run` in the same session wants. As above. */
int programs_add_systems(struct programs *p, const struct programs_params *params);
/*
 * The name of a system that there is not, in a list of systems; NULL: all are there. The caller
 * frees it.
 */
char *programs_unknown_system(const char *systems);

/* ---- A session whose server died ---- */

#define PROGRAMS_SAVED \
	"#programs" /* path of the saved text (model.h) that says what the session has */
#define PROGRAMS_PENDING "#kept/"	/* and of each setting that is kept, before its path */

/*
 * While model_restore() runs: keeps a saved text of one of these paths; 1: it is none of them, 0,
 * -ENOMEM.
 */
int programs_restore(struct programs **p, struct model *m, struct tree *t, const char *path,
		     const char *text);
/* Behind model_restore(). p may be NULL: it is no session of programs. */
int programs_restored(struct programs *p);

/* ---- Running ---- */

/* What there is to do now; returns after how many milliseconds there may be more. */
int programs_tick(struct programs *p);

/*
 * Who decides whether a program that is ready has to wait: true holds it until
 * attach_go(). NULL: nobody waits.
 */
void programs_on_ready(struct programs *p, bool (*ready)(void *arg, const struct attach_peer *peer),
		       void *arg);

/*
 * A setting of an event that is not there: events/SYSTEM/EVENT/{enable,filter,trigger},
 * also below instances/NAME. It is written when a program defines the event, and
 * is kept over the death of the server. events/SYSTEM/enable of a system that is not there stays
 * for all of its events that come. Several are written in their order; a truncating one of a
 * trigger drops the earlier ones. 0; -ENOENT: the path is none of these, or the event is there;
 * -ENOMEM.
 */
int programs_pend(struct programs *p, const char *path, bool truncates, const char *text,
		  size_t len);

/*
 * For `tracefuse doctor`, a line each: "refused TEXT" for definitions that were
 * refused, "kept PATH TEXT [# ERROR]", "missed N" hits that found no room, "sites N
 * DSO[; N REASON]..." for each DSO whose functions can be traced, and how many cannot,
 * "answer PID sites N skipped N on N error ERRNO[ late][; N REASON]..." of each process that has
 * some, "full N": no further program or library gets an address, "sites-error ERRNO": some
 * functions are not traced as they should be; and for `run` "threads N", "processes N" that made
 * hits since the server began.
 */
void programs_print(struct programs *p, FILE *out);

#endif
