/* SPDX-License-Identifier: MIT */
/*
 * programs.h - the running programs of a session as a source of events
 *
 * Running programs make their hits themselves, in the session's memory. The server does the rest:
 *
 *     attach socket:  definitions of events ------> the model          events.c
 *                     READY ----------------------> wait at a barrier   (for `run`)
 *     data region:    log of tasks ---------------> saved_cmdlines     names.c
 *                     table of DSOs, their files -> kallsyms           symbols.c
 *     settings of events that do not exist yet ---> pending            pending.c
 *     functions of those files -------------------> the model's sites  sites.c
 *     which of them are traced <------------------- words, commands    words.c
 *
 * The order of a life, under the control lock:
 *
 *     session_create(), model_create(), tree_create()
 *     programs_create()            or programs_restored() behind model_restore()
 *     programs_tick() ...          by the loop of the server
 *     programs_end()               when the session ends
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
 * Makes the session one of running programs: adds the events of system ftrace and of the providers,
 * and the file kallsyms. 0; -EINVAL: no such system; -ENOMEM ...
 */
int programs_create(struct model *m, struct tree *t, const struct programs_params *params,
		    struct programs **out);
/* The session ends: programs that go on have their code as it was. p may be NULL. */
void programs_end(struct programs *p);
void programs_destroy(struct programs *p);

/* Adds systems of providers that a later `run` in the same session wants. Returns as above. */
int programs_add_systems(struct programs *p, const struct programs_params *params);
/*
 * The first name in a list of systems that is no system, which the caller frees. NULL: all exist.
 */
char *programs_unknown_system(const char *systems);
/* The name of system call `i` that programs have events of; NULL: there are not so many. */
const char *programs_system_call(unsigned int i);

/* ---- A session whose server died ---- */

#define PROGRAMS_SAVED \
	"#programs" /* path of the saved text (model.h) with the session's providers */
/* The number in syscall_user_buf_size: the first one that is not 0, and the last one */
#define PROGRAMS_CALL_TEXTS "#call_texts"
#define PROGRAMS_PENDING "#kept/"	/* prefix of the paths of pending settings */

/*
 * Called while model_restore() runs: takes a saved text with one of these paths. 1: the path is
 * another one; 0; -ENOMEM.
 */
int programs_restore(struct programs **p, struct model *m, struct tree *t, const char *path,
		     const char *text);
/* Called after model_restore(). p may be NULL if it is no session of programs. */
void programs_restored(struct programs *p);

/* ---- Running ---- */

/* Readable when programs_tick() has something to do. */
int programs_fd(const struct programs *p);
/* Does the work that has come up. Returns after how many milliseconds to call it again. */
int programs_tick(struct programs *p);

/*
 * Sets the function that decides whether a program waits at its barrier. If it returns true, the
 * program waits until attach_go(). NULL: no program waits.
 */
void programs_on_ready(struct programs *p, bool (*ready)(void *arg, const struct attach_peer *peer),
		       void *arg);

/*
 * Sets the function that saves the session for a program: attach_hooks.snapshot. NULL: the program
 * is refused.
 */
void programs_on_snapshot(struct programs *p, void (*snapshot)(void *arg, int sock), void *arg);

/*
 * Adds a pending setting of an event that does not exist:
 * events/SYSTEM/EVENT/{enable,filter,trigger}, also below instances/NAME. It is written when a
 * program defines the event, and it is saved for the next server. events/SYSTEM/enable of a system
 * that does not exist applies to each later event of the system. Settings are written in their
 * order; a truncating one of a trigger removes the earlier ones. 0; -ENOENT: the path is another
 * one, the event exists, or its system is a provider's that has no such event; -ENOMEM.
 */
int programs_pend(struct programs *p, const char *path, bool truncates, const char *text,
		  size_t len);

/*
 * Prints for `tracefuse doctor`, one line each: "refused TEXT" for a definition that was refused;
 * "kept PATH TEXT [# ERROR]" for a pending setting; "missed N" for hits that found no room; "sites
 * N DSO[; N REASON]..." for each DSO whose functions can be traced, with how many cannot; "answer
 * PID sites N skipped N on N error ERRNO[ late][; N REASON]..." for each process that has sites;
 * "sleds DSO" for one with sites of XRay; "sites-none DSO: WHY" for a file whose code could not be
 * read; "functions-none PID[ never]" for each process that has not looked for functions that are
 * asked for; "ended-functions", "ended-lost" and "ended-probes" for what was refused in processes
 * that have ended, and "ended-more N" (ended.c); "full N" if no further program or library gets an
 * address; "sites-error ERRNO" if some functions are not traced as they should be. For `run` it
 * prints "threads N" and "processes N" that made hits since the server began.
 */
void programs_print(struct programs *p, FILE *out);

#endif
