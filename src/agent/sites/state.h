/* SPDX-License-Identifier: MIT */
/*
 * state.h - the DSOs of this process that have sites
 *
 *     watch.c         which there are       dynamic linker -> seen[] -> known_find(), known_drop()
 *     dso.c           what is known of one  file -> sites -> prepared text, table of words
 *     sites.c         what they are to do   site_control -> words, bytes -> site_answer
 *
 *     found -> prepared, numbered -> told to the server -> obeys          (gone)
 *
 * Included by these and static.c only. All of it is read and written under sites_lock().
 */
#ifndef TRACEFUSE_AGENT_SITES_STATE_H
#define TRACEFUSE_AGENT_SITES_STATE_H

#include "agent/sites/sites.h"
#include "agent/sites/hit.h"
#include "agent/state.h"

struct known {
	/* its dynamic section in memory: who it is; NULL: free. Stored last */
	const void	*ld;
	struct site_dso	dso;
	size_t		room;		/* of dso.sites */
	uint64_t	mirror_room;	/* bytes of addresses */
	uintptr_t	start, end;	/* mapped bytes */
	const char	*path;		/* the dynamic linker's, until it has been prepared */
	uint32_t	number;		/* in the session's table */
	bool		program;	/* it stays */
	bool		alone;		/* its code has not run when it is prepared */
	bool		tried;		/* to prepare it */
	/* it could not be prepared: its calls of mcount or __fentry__ come to us */
	bool		calls;
	bool		returns;	/* some functions have return sites */
	bool		told;
	bool		obeys;
};

struct site_state {
	struct known	*known;		/* mapped for the first one */
	unsigned int	nr_known;	/* 0 or LAYOUT_MAX_DSOS */
	_Atomic uint32_t command;	/* that was obeyed last */
	int		failed;		/* 0, or why nothing is switched any more: -errno */
	/* the program drops capabilities from its bounding set: so does the task */
	bool		unbound;
	bool		permitted;	/* to have a task */
	bool		untold;		/* sites_tell() has not run yet */
	/* to change memory that is executed, as far as is known before sites_ask_memory() */
	bool		may_patch;
	bool		memory_asked;
	bool		told_of_writes;	/* mprotect() comes to agent_code_written() first */
	/* what calls mcount or __fentry__ goes on doing so, for gprof */
	bool		profiled;
	bool		calls_come;	/* calls of mcount and __fentry__ come to this library */
	/*
	 * DSOs may be gone before it is known: only the program's bytes are
	 * switched. A child that was forked meanwhile finds it so for good.
	 */
	_Atomic bool	moving;
	/* for that something was not switched; or no return is caught any more */
	bool		postponed;
	/* objects may call functions of libc that look at who called */
	bool		looked_at;
	bool		watching;	/* watch.c sees all DSOs come and go */
};

extern struct site_state sites;

/* ---- sites.c ---- */

/* Waits for as long as it takes: its owner waits for nobody. With signals blocked. */
void sites_lock(void);
void sites_unlock(void);
/* Prepares what has been found, tells the server of it and does as it says. Not under the lock. */
void sites_go_on(void);
/* What was postponed. Under the lock. */
void sites_catch_up(void);
/* Before the first text is changed: whether memory may be. Under the lock. */
void sites_ask_memory(void);

static inline const struct site_control *sites_control(void)
{
	return plane_config(&agent.plane, plane_header(&agent.plane)->sites);
}

/* The task's: does what the server says. Under the lock. */
void sites_obey(void);
/*
 * In a child of fork(), which may have come between a byte and what is known of it. Under the lock.
 */
void sites_look_again(void);
/* What the server commands cannot be done any more: the answer says why. */
void sites_fail(int err);
/* The same without a word to the program's user. */
void sites_note_failure(int err);

/* ---- task.c ---- */

/* With signals blocked. */
void task_begin(void);
/*
 * shed.c: the calling thread gives up its rights; *stat_fd is the descriptor of its process's
 * stat, or negative. 0, or -errno: it still has some, and must end.
 */
int task_shed(int *stat_fd);
/* For a task that shares its program's descriptors. */
int task_stat_open(void);
/*
 * Whether a sandbox that was there before the program lets the task do its work, and change code.
 */
bool task_permitted(bool patch);

/* ---- dso.c ---- */

/* The DSO's sites, from its file. NULL: it has none, or nobody can know. */
struct known *known_find(const void *ld, uintptr_t bias, const char *path, bool alone);
/* 0: its sites can be switched, -errno: never. */
int known_prepare(struct known *k);
void known_drop(struct known *k);

/* ---- static.c ---- */

extern _Atomic uint32_t static_sites __attribute__((visibility("hidden")));
/* Whether a program's calls of them come to this library. */
bool static_is_called(void);

static inline bool site_is_called(const struct known *k, const struct site *s)
{
	return sites.calls_come && (s->kind == SITE_CALL || s->kind == SITE_CALL_LATE) &&
	       (s->skip == SITE_SPLIT || s->skip == SITE_COUNTED || (k->calls && !s->skip));
}

/* ---- watch.c ---- */

/*
 * Looks at all DSOs that are loaded, and from now on at each that comes and goes, where that can be
 * seen.
 */
void watch_start(bool alone);
/* At load: nobody looks any more. */
void watch_stop(void);
/* In a child of fork(). */
void watch_again(void);

/* In a sandbox that the program has entered: no system call that it did not ask for. */
static inline bool sites_quiet(void)
{
	return agent_restricted() || agent_filtered();
}

#endif
