/* SPDX-License-Identifier: MIT */
/*
 * attach.h - how a process joins a session, and how the server knows that it left (R5, R20)
 *
 *   process                     socket `attach` in the session's directory            server
 *   joins          ---- hello {version, membarrier?} ------------------------>  accept, pidfd
 *                  <--- welcome {errno, process, first slot, slots} ----------  slots given
 *   a thread's hit ---- more ------------------------------------------>  (when all are in use)
 *   leaves         ---- bye ------------------------------------------------>  slots taken back
 *
 * The process's side is src/agent/join/attach.c.
 *
 * attach_wire.h has the messages. What a program says of its events, and when
 * it may start, is decided by the hooks: the session knows no model.
 *
 * The connection stays open while the process is attached. That a process is
 * gone is told by its pidfd alone: a program may close descriptors it does not
 * know, so the end of the connection means nothing by itself.
 */
#ifndef TRACEFUSE_SESSION_ATTACH_ATTACH_H
#define TRACEFUSE_SESSION_ATTACH_ATTACH_H

#include <stdbool.h>
#include <sys/types.h>
#include "session/session.h"

/* ---- Server: called from its loop, under the control lock ---- */

/* A descriptor to wait on with POLLIN; it is readable when attach_serve() has something to do. */
int attach_fd(struct session *s);
/*
 * Takes connections, answers, takes back what dead processes had, gives rings
 * to threads without restartable sequences (as does session_reclaim()). Never waits.
 */
void attach_serve(struct session *s);
/*
 * Between the pieces of long work of the loop, as often as one likes: the same for what needs no
 * hook. Processes that want something of the hooks wait, and see that there is progress
 * (config_header.served).
 */
void attach_step(struct session *s);
/* Tells that alone, once in a millisecond: whether it did. For a server that answers nobody yet. */
bool attach_progress(struct session *s);
/* Attached processes that live; calls fn for each (NULL: only counts). */
unsigned int attach_processes(struct session *s,
			      void (*fn)(void *arg, pid_t pid, unsigned int slots), void *arg);

/*
 * What was lost for want of a slot, and who could not join at all: struct losses and the slots'
 * counts.
 */
struct attach_losses {
	/* hits in signal handlers that are too deep inside each other */
	uint64_t	deep;
	uint64_t	hits, threads, processes;
	uint64_t	untraced[UNTRACED_REASONS];
};

void attach_losses(struct session *s, struct attach_losses *out);

/* One that asks: 1 + its index in the process table, and its pid as the server sees it. */
struct attach_peer {
	unsigned int	process;
	pid_t		pid;
};

/*
 * What the owner of the session answers; each may be NULL. The texts come from
 * a program, 0-terminated but not checked otherwise, and are gone after the call.
 */
struct attach_hooks {
	void		*arg;
	/*
	 * HELLO of an agent with this table of providers' events: the id of the first one, 0: it
	 * has to do without.
	 */
	uint32_t	(*table)(void *arg, const struct attach_peer *peer, uint64_t version);
	/* HELLO: a process has joined. */
	void		(*joined)(void *arg, const struct attach_peer *peer);
	/* EVENTS: the event's id, or -errno. */
	int (*define)(void *arg, const struct attach_peer *peer, const char *system,
		      const char *name, const char *body);
	/* READY: true: it waits until attach_go(). */
	bool		(*ready)(void *arg, const struct attach_peer *peer);
	/*
	 * DSO: the process has loaded it; what of it is to be traced is published when this
	 * returns. true: it waits until attach_go(), a second at most.
	 */
	bool		(*dso)(void *arg, const struct attach_peer *peer, uint32_t number);
};

/* copied; NULL: none */
void attach_set_hooks(struct session *s, const struct attach_hooks *hooks);
/*
 * Lets a process go on that waits after READY or DSO. -ESRCH: there is none that waits under this
 * number.
 */
int attach_go(struct session *s, unsigned int process);

/* ---- Words of sites (layout.h): told, and obeyed ---- */

/* Wakes all programs because words have changed; the number of this command. */
uint32_t attach_command(struct session *s);

/* Living processes that have not answered a command, or a later one. */
struct attach_behind {
	unsigned int	late;
	unsigned int	slow;	/* given up before, and not heard of since */
	/* attached just now and never answered: it may be reading the words, or has no sites */
	unsigned int	fresh;
};

void attach_behind(struct session *s, uint32_t command, struct attach_behind *out);
/* Those that are late are slow from now on, until they answer. */
void attach_give_up(struct session *s, uint32_t command);

/* What a process says of its sites (struct site_answer), believed by nobody. */
struct attach_answer {
	struct attach_peer peer;
	uint32_t	nr_sites, nr_skipped, nr_on;
	uint32_t	skipped[SITE_SKIPS];	/* by enum site_skip */
	int32_t		err;
	bool		slow;
	uint64_t	dsos[LAYOUT_MAX_DSOS / 64];
};

/* Of each process that has said something. */
void attach_answers(struct session *s, void (*fn)(void *arg, const struct attach_answer *a),
		    void *arg);

/*
 * Takes back the slots of threads that are gone from living processes, and
 * finishes what they left half done; every few seconds. Returns how many.
 */
unsigned int attach_check_threads(struct session *s);

#endif
