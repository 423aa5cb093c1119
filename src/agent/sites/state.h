/* SPDX-License-Identifier: MIT */
/*
 * state.h - the DSOs of this process that have sites
 *
 *     watch.c         which are loaded      dynamic linker -> seen[] -> known_find(), known_drop()
 *     dso.c           what is known of one  file -> sites -> prepared text, table of words
 *     unread.c        finds functions of a DSO in which no compiler left sites
 *     sites.c         what they are to do   site_control -> words, bytes -> site_answer
 *
 *     found -> prepared, numbered -> reported to the server -> obeys          (gone)
 *
 * Included by these files and static.c only. All of it is read and written under sites_lock().
 */
#ifndef TRACEFUSE_AGENT_SITES_STATE_H
#define TRACEFUSE_AGENT_SITES_STATE_H

#include "agent/sites/sites.h"
#include "agent/sites/hit.h"
#include "agent/state.h"

/* A file that is mapped; no bytes: none is. */
struct known_file {
	const void	*bytes;
	size_t		size;
};

struct known {
	/* Its dynamic section in memory, which identifies it; NULL: free. Stored last. */
	const void	*ld;
	struct site_dso	dso;
	size_t		room;		/* of dso.sites */
	uint64_t	mirror_room;	/* bytes of addresses for the mirror: room.c */
	uintptr_t	start, end;	/* mapped bytes */
	const char	*path;		/* the dynamic linker's text */
	uint32_t	number;		/* in the session's table of DSOs */
	bool		program;	/* the program itself: never unmapped */
	bool		alone;		/* its code has not run when it is prepared */
	bool		tried;		/* known_prepare() was called */
	/* It has no sites of a compiler, and somebody asks for its functions. */
	bool		unread;
	/* Opened by late_find(). `file` is mapped until the server has read it, too. */
	bool		late;
	struct known_file file;
	bool		looked_through;	/* site.jumps is final */
	/* It could not be prepared: its calls of mcount or __fentry__ come to us. */
	bool		calls;
	bool		returns;	/* some functions have return sites */
	bool		told;		/* the server knows it */
	bool		obeys;		/* a command was obeyed after that */
};

struct site_state {
	struct known	*known;		/* mapped for the first one */
	unsigned int	nr_known;	/* 0 or LAYOUT_MAX_DSOS */
	_Atomic uint32_t command;	/* the last one that was obeyed */
	int		failed;		/* 0, or why nothing is switched any more: -errno */
	/* The program drops capabilities from its bounding set, and so does the task. */
	bool		unbound;
	bool		permitted;	/* a task may begin */
	bool		untold;		/* sites_tell() has not run yet */
	/* Executed memory may be changed, as far as is known before sites_ask_memory(). */
	bool		may_patch;
	bool		memory_asked;
	bool		told_of_writes;	/* mprotect() calls agent_code_written() first */
	/* Calls of mcount and __fentry__ stay in the code, for gprof. */
	bool		profiled;
	bool		calls_come;	/* calls of mcount and __fentry__ come to this library */
	/*
	 * A DSO may be unmapped before that is known: only the program's own bytes are
	 * switched. A child forked at such a moment has it set for good.
	 */
	_Atomic bool	moving;
	/* Some sites were not switched because of it; or returns are no longer caught. */
	bool		postponed;
	/* Some object may call functions of libc that look at their caller (J1 of jumps.c). */
	bool		looked_at;
	/* and may call them past the interposers (J3) */
	bool		callers_hidden;
	_Atomic bool	binds_deep;	/* objects may have been loaded with RTLD_DEEPBIND */
	bool		watching;	/* watch.c sees all DSOs come and go */
	bool		plants;		/* the process plants probes */
	/* site_control.asked, when it was last looked who asks for functions */
	uint32_t	asked;
	uint32_t	nr_unopened;	/* files that could not be opened, with their functions */
	bool		forking;	/* the thread that forks has the lock */
};

extern struct site_state sites;

/* ---- sites.c ---- */

/* Waits as long as it takes: a thread that has the lock waits for no other. Signals blocked. */
void sites_lock(void);
void sites_unlock(void);
/* False: another thread has it, or this one. */
bool sites_lock_try(void);
/*
 * Prepares what has been found, reports it to the server and does what the server commands. Not
 * under the lock.
 */
void sites_go_on(void);
/* Does what was postponed. Under the lock. */
void sites_catch_up(void);
/* If callers_hidden is set: finds the functions that are not to be hooked. Under the lock. */
void sites_hidden(void);
/* Before the first text is changed: finds out whether memory may be changed. Under the lock. */
void sites_ask_memory(void);

/* glibc 2.32 and later. */
extern char __libc_single_threaded __attribute__((weak));

/* The program has no other thread. False: it may have. The agent's task does not count. */
static inline bool sites_one_thread(void)
{
	return &__libc_single_threaded && __libc_single_threaded;
}

static inline const struct site_control *sites_control(void)
{
	return plane_config(&agent.plane, plane_header(&agent.plane)->sites);
}

/* For the task: does what the server commands. Under the lock. */
void sites_obey(void);
/*
 * In a child of fork(): the fork may have come between the store of a byte and the note of it.
 * Under the lock.
 */
void sites_look_again(void);
/*
 * For late.c: finds functions that somebody asks for now. A process that has no task yet begins
 * one, if there is anything to do, and plants. False: it cannot. The second function tells the
 * server so. Under the lock.
 */
bool sites_begin_late(void);
void sites_never_plants(void);
/* Plants probes in objects that have just been loaded. Under the lock. */
void sites_probe(void);
/* Whether code of the object that is loaded there was changed for its functions. Under the lock. */
bool sites_have_changed(uintptr_t bias);
/* Whether the jump of a function of moved code stands there. Under the lock. */
bool sites_are_moved_at(uintptr_t at);
/*
 * A thread has met a byte that traps. -> where it goes on; 0: it is in no site. Async-signal-safe.
 */
uintptr_t sites_lead(uintptr_t ip);
/* Nothing is switched any more: the answer gives the reason, and so does a message. */
void sites_fail(int err);
/* The same without a message. */
void sites_note_failure(int err);
/* A file of the process could not be opened. */
void sites_note_unopened(void);

/* ---- task.c ---- */

/* With signals blocked. */
void task_begin(void);
/*
 * shed.c: the calling thread gives up its rights; *stat_fd is the descriptor of its process's
 * stat, or negative. 0, or -errno: it still has some, and must end.
 */
int task_shed(int *stat_fd);
/* A descriptor of the same file, for a task that shares its program's descriptors. */
int task_stat_open(void);
/*
 * Whether a sandbox from before the program's start lets the task do its work; patch: and change
 * code.
 */
bool task_permitted(bool patch);

/* ---- dso.c ---- */

/* Finds the DSO's sites in its file. NULL: it has none, or the file cannot be read. */
struct known *known_find(const void *ld, uintptr_t bias, const char *path, bool alone);
/*
 * Has the server read the file of a DSO that is `unread`, and so find its functions. With the
 * process's connection; not under the lock.
 */
void known_ask(struct known *k);
/* Finds the functions of a DSO that is `unread`. -> whether there are some */
bool known_read(struct known *k);
/*
 * The objects that are loaded, and whose functions somebody asks for now, become known. -> whether
 * there are some. Not in the task.
 */
bool late_find(void);
/* If the server has found the functions of a DSO of late_find(): prepares them. */
void late_ready(struct known *k);
/* 0: its sites can be switched; -errno: never. */
int known_prepare(struct known *k);
/* Finds who may end in a jump out of it, where that matters. */
void known_look_through(struct known *k);
void known_drop(struct known *k);
/* Of a dynamic section. NULL: it has none. */
struct known *known_of(const void *ld);

/* The rest is for unread.c. */

bool known_file_map(const char *path, struct known_file *f);
/* Whether this file was loaded. Fills in the texts and the mapped bytes. */
bool known_is_loaded(struct known *k, const struct known_file *f);
struct site *known_site_memory(size_t nr);
/* A free entry, which is not used so far. NULL: there is none. */
struct known *known_free(void);
/* The DSO's number in the session's table. An `unread` one is noted there. */
bool known_number(struct known *k, struct dso_place *place);
/* Whether it gets sites if the compiler has made none. path "": the program. */
bool known_is_asked(const char *path);
/* From now on calls of its functions can be found; all words are 0. NULL: no memory. */
struct site_table *known_table_publish(const struct dso_place *place, struct site_dso *dso);

/* ---- static.c ---- */

extern _Atomic uint32_t static_sites __attribute__((visibility("hidden")));
/* Whether calls of mcount and __fentry__ come to this library. */
bool static_is_called(void);

static inline bool site_is_called(const struct known *k, const struct site *s)
{
	return sites.calls_come && (s->kind == SITE_CALL || s->kind == SITE_CALL_LATE) &&
	       (s->skip == SITE_SPLIT || s->skip == SITE_COUNTED || (k->calls && !s->skip));
}

/* ---- watch.c ---- */

/*
 * Looks at all DSOs that are loaded. From then on it looks at each one that comes or goes, if that
 * can be seen.
 */
void watch_start(bool alone);
/* At load: ends that. */
void watch_stop(void);
/* An object that is loaded. */
struct watched {
	const void	*ld;
	uintptr_t	bias;
	const char	*path;
	bool		fresh;		/* its code has not run */
};

/* For all of them. Under the lock. */
void watch_objects(void (*see)(const struct watched *w));
/* How many are not among them, because there was no memory. Under the lock. */
unsigned int watch_unseen(void);
/* The code of all of them may run from now on. Under the lock. */
void watch_age(void);
/* In a child of fork(). */
void watch_again(void);

/* In a sandbox that the program has entered: the agent makes no system call of its own. */
static inline bool sites_quiet(void)
{
	return agent_restricted() || agent_filtered();
}

#endif
