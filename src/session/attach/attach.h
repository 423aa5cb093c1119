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
 * attach_wire.h has the messages. The hooks decide what becomes of a program's events and when the
 * program may start: the session knows no model.
 *
 * The connection stays open while the process is attached. Only its pidfd says that a process is
 * gone. A program may close descriptors that it does not know, so the end of the connection alone
 * means nothing.
 */
#ifndef TRACEFUSE_SESSION_ATTACH_ATTACH_H
#define TRACEFUSE_SESSION_ATTACH_ATTACH_H

#include <stdbool.h>
#include <sys/types.h>
#include "session/session.h"

/* ---- Server: called from its loop, under the control lock ---- */

/* A descriptor to poll for POLLIN. It is readable when attach_serve() has something to do. */
int attach_fd(struct session *s);
/*
 * Accepts connections, answers, takes back what dead processes had, and gives rings to threads
 * without restartable sequences (session_reclaim() does that, too). Never waits.
 */
void attach_serve(struct session *s);
/*
 * Does the same for all that needs no hook. The loop calls it between the pieces of long work, as
 * often as it likes. Processes that need a hook wait, and see progress (config_header.served).
 */
void attach_step(struct session *s);
/*
 * Only raises config_header.served, at most once in a millisecond. Returns whether it did. For a
 * server that does not answer yet.
 */
bool attach_progress(struct session *s);
/* Calls fn for each attached process that lives (NULL: only counts them). Returns their number. */
unsigned int attach_processes(struct session *s,
			      void (*fn)(void *arg, pid_t pid, unsigned int slots), void *arg);

/*
 * Calls fn for each child of these that has not joined and could: fork() has left the session's
 * memory to it, and it has made no hit so far. So are children whose parent has ended. fn may be
 * NULL. Returns whether there are any.
 */
bool attach_children(struct session *s, void (*fn)(void *arg, pid_t pid), void *arg);

/*
 * Somebody has asked for what such children would have: the next attach_children() looks for those
 * whose parent has ended, too. Programs that have not joined end unnoticed.
 */
void attach_orphans_again(struct session *s);

/* ---- Programs that need not join before their first hit (quiet.c) ---- */

/* How many clients let programs wait that begin: none are quiet then. */
void attach_barriers(struct session *s, unsigned int nr);
/* The interposers of that version have the events from number `first` up to `end`. */
void attach_providers(struct session *s, uint64_t table, uint32_t first, uint32_t end);
/* The file of this program (attach_request.program) has no probes of its author. */
void attach_quiet(struct session *s, uint64_t program);
/* Whether programs may run that have begun so. */
bool attach_quiet_any(const struct session *s);

/*
 * What was lost because there was no slot, and which processes could not join: the sums of struct
 * losses and of the slots' counts.
 */
struct attach_losses {
	/* Hits in signal handlers that are nested too deep */
	uint64_t	deep;
	uint64_t	stacks_cut, stacks_deep, stacks_other;	/* as in struct slot */
	uint64_t	hits, threads, processes;
	uint64_t	untraced[UNTRACED_REASONS];
	uint64_t	gates[GATES_COUNTS];
	uint64_t	returnless;	/* as in struct losses */
};

void attach_losses(struct session *s, struct attach_losses *out);

struct attach_answer;

/* The process that asks: 1 + its index in the process table, and its pid as the server sees it. */
struct attach_peer {
	unsigned int	process;
	pid_t		pid;
};

/*
 * What the owner of the session decides. Each hook may be NULL. The texts come from a program: they
 * end in a 0 and are not checked otherwise, and they are only valid during the call.
 */
struct attach_hooks {
	void		*arg;
	/*
	 * HELLO of an agent with this table of providers' events: returns the id of the first
	 * event, or 0: the agent has to do without them.
	 */
	uint32_t	(*table)(void *arg, const struct attach_peer *peer, uint64_t version);
	/* HELLO: a process has joined. */
	void		(*joined)(void *arg, const struct attach_peer *peer);
	/* EVENTS: returns the event's id, or -errno. dso: attach_request.program */
	int (*define)(void *arg, const struct attach_peer *peer, uint64_t dso, const char *system,
		      const char *name, const char *body);
	/* READY: returns true if the process has to wait until attach_go(). */
	bool		(*ready)(void *arg, const struct attach_peer *peer);
	/*
	 * DSO: the process has loaded it. When this returns, the words of its traced functions are
	 * published. Returns true if the process has to wait until attach_go(), at most a second.
	 */
	bool		(*dso)(void *arg, const struct attach_peer *peer, uint32_t number);
	/*
	 * PLACES: what was found in the DSO's file is published. Returns true if it will be: the
	 * process gets its answer by attach_go().
	 */
	bool		(*places)(void *arg, const struct attach_peer *peer, uint32_t number);
	/*
	 * Called before `ready`. True: probes may be planted in the process while it runs, though
	 * none was defined so far.
	 */
	bool		(*has_probes)(void *arg, const struct attach_peer *peer,
					      uint64_t program);
	/*
	 * A process that has answered has ended: its last answer. It may be called at any time,
	 * also in attach_step(): the hook only takes notes.
	 */
	void		(*ended)(void *arg, const struct attach_answer *a);
	/* SNAPSHOT: the hook closes the socket, on which it answers. */
	void		(*snapshot)(void *arg, int sock);
};

/* The hooks are copied; NULL: none */
void attach_set_hooks(struct session *s, const struct attach_hooks *hooks);
/*
 * Lets a process continue that waits after READY, DSO or PLACES. -ESRCH: no process with this
 * number waits.
 */
int attach_go(struct session *s, unsigned int process);
/* The process waits after READY, and has_probes() would be true by now: attach_go() says so. */
void attach_found_probes(struct session *s, const struct attach_peer *peer);

/* ---- Words of sites (layout.h): commands and answers ---- */

/* Wakes all programs because words have changed. Returns the number of this command. */
uint32_t attach_command(struct session *s);

/* Living processes that have answered neither this command nor a later one. */
struct attach_behind {
	unsigned int	late;
	unsigned int	slow;	/* they were given up before, and have not answered since */
	/*
	 * They attached a moment ago and have never answered: they may be reading the words, or
	 * have no sites
	 */
	unsigned int	fresh;
};

void attach_behind(struct session *s, uint32_t command, struct attach_behind *out);
/* Processes that have not answered count as slow from now on, until they answer. */
void attach_give_up(struct session *s, uint32_t command);

/* What a process says of its sites (struct site_answer). It may be wrong. */
struct attach_answer {
	struct attach_peer peer;
	uint32_t	nr_sites, nr_skipped, nr_on;
	uint32_t	skipped[SITE_SKIPS];	/* by enum site_skip */
	int32_t		err;
	bool		behind;		/* it has not carried out the last command */
	bool		slow;
	bool		plants;		/* it has a task that plants probes */
	bool		plants_never;	/* it cannot have one */
	uint32_t	asked;		/* site_answer.asked */
	uint32_t	nr_probes, nr_probes_refused;
	uint32_t	nr_unopened;	/* files that it cannot open */
	uint32_t	nr_unseen;	/* objects of which it knows nothing */
	struct site_refused probe_refused[PROBE_REFUSALS];
	uint64_t	left[SITES_LEFT];	/* as in site_answer */
	uint64_t	dsos[LAYOUT_MAX_DSOS / 64];
};

/*
 * Finds out which processes have left in the last milliseconds. The functions that count processes
 * call it themselves.
 */
void attach_settle_left(struct session *s);
/* Calls fn for each process that has answered, also if it has left since attach_settle_left(). */
void attach_answers(struct session *s, void (*fn)(void *arg, const struct attach_answer *a),
		    void *arg);

/*
 * Takes back the slots of dead threads of living processes, and finishes what these threads left
 * half done. Called every few seconds. Returns how many there were.
 */
unsigned int attach_check_threads(struct session *s);

#endif
