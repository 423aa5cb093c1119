/* SPDX-License-Identifier: MIT */
/*
 * session.h - a session's shared memory, as its server and attached processes use it
 *
 * Included by the server, the sources and the commands; never by src/plane.
 *
 *   create -> (alloc, publish, retire)* -> close            the files stay: the session can be
 *                                                           restored
 *                                       -> destroy          the files are removed
 *
 * Only one thread at a time may call the functions of a session (the server holds its control
 * lock). Hits in this process and in others happen meanwhile.
 */
#ifndef TRACEFUSE_SESSION_SESSION_H
#define TRACEFUSE_SESSION_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include "layout/layout.h"

struct session;
struct plane;
struct hit;

struct session_params {
	uint32_t	nr_cpus;	/* 0: as many as the machine can have */
	uint32_t	nr_slots;	/* 0: LAYOUT_MAX_SLOTS */
	uint64_t	memory;		/* address space of the data region in bytes, 0: 4 GiB */
	bool		no_membarrier;	/* for tests: as if the system refused membarrier */
};

/*
 * Makes the session `name` (NULL: a private one with a made-up name that is destroyed at close).
 * Returns 0 and the session, or -EEXIST when there is a session of that name (live or stale:
 * session_remove_stale() or session_open() first), -EINVAL for a bad name, -ENOTSUP when there is
 * no tmpfs, -ENOMEM, -ENOSPC, -EACCES ... session_error() has the words.
 */
int session_create(const char *name, const struct session_params *params, struct session **out);

/*
 * Opens a session whose server died. -EBUSY: the server lives, or another process is making or
 * restoring the session; -ENOENT; -EPROTO: the files are damaged.
 */
int session_open(const char *name, struct session **out);
/* The server answers commands from now on: session_await() returns. */
void session_served(struct session *s);
/*
 * Waits while another process makes or restores the session. 0: none does (any more), or there is
 * no such session; -ETIMEDOUT: one still does after `ms`.
 */
int session_await(const char *name, unsigned int ms);
/* Unmaps the memory; a named session's files stay */
void session_close(struct session *s);
void session_destroy(struct session *s);	/* Removes the files, then closes */

/* A message to the user for an error of the functions above. */
const char *session_error(int err);

/* How much room the session's tmpfs has. */
struct session_room {
	uint64_t	total, free;	/* bytes; both 0: no limit of its own */
	bool		full;		/* since the server began, something found no room there */
	bool		used_up;	/* or found no room in the session's own addresses */
};

void session_room(const struct session *s, struct session_room *out);

/* 1 to 63 of letters, digits, '_', '-', '.', not starting with '.' or '-'. */
bool session_name_valid(const char *name);

/*
 * Calls fn for each named session of this user. Stops at the first return value that is not 0, and
 * returns it. -errno: they cannot be looked for.
 */
int session_list(int (*fn)(void *arg, const char *name, const char *dir, bool alive), void *arg);
/* Removes a session whose server died. -EBUSY when it lives, -ENOENT when there is none. */
int session_remove_stale(const char *name);

/*
 * Makes this process the owner of the session: when it and the server are gone, the next command
 * removes the session. Returns a descriptor, which stays open until session_disown(), or -errno.
 */
int session_own(const char *name);
void session_disown(const char *name, int owner);

/* Milliseconds of the monotonic clock. */
int64_t session_now_ms(void);

const char *session_name(const struct session *s);
const char *session_dir(const struct session *s);	/* directory with config, data and socket */
struct config_header *session_header(struct session *s);
/* enum shortcuts_off: whether shortcuts of one of these kinds are switched off. */
bool session_shortcuts_off(const struct session *s, uint32_t kinds);

/* The plane of this process over the same memory, for sources inside the server. */
struct plane *session_plane(struct session *s);
/*
 * A slot for a thread of the server that makes hits (a source, trace_marker). NULL: none is left.
 */
struct slot *session_slot_get(struct session *s);
void session_slot_put(struct session *s, struct slot *slot);
/*
 * Makes a hit of the server itself, one at a time. Also returns 0 when the hit met a wrong number
 * that a program wrote into the region.
 */
uint64_t session_hit(struct session *s, struct slot *slot, const struct hit *h);

/* NULL if [ref, ref + size) does not lie inside the region. */
void *session_config(struct session *s, config_ref ref, size_t size);
void *session_data(struct session *s, data_ref ref, size_t size);

/* Zeroed, 64-byte aligned (page aligned from 4096 bytes on), backed by memory. 0: out of memory. */
config_ref session_config_alloc(struct session *s, size_t size);
data_ref session_data_alloc(struct session *s, size_t size);
/* Frees at once; only for memory that was never published. */
void session_config_free(struct session *s, config_ref ref, size_t size);
void session_data_free(struct session *s, data_ref ref, size_t size);
/*
 * For a restored session: [ref, ref + size) is in use. All that the old server had stays until
 * session_restore_done(), because programs still run on it. Then the plans that were not published
 * again are taken out. What was not restored is freed when no hit sees it any more. -EINVAL: it
 * does not lie inside what the old server used.
 */
int session_config_restore(struct session *s, config_ref ref, size_t size);
int session_data_restore(struct session *s, data_ref ref, size_t size);
void session_restore_done(struct session *s);

/*
 * Stores `ref` with release into a word of the config or data region, and raises the epoch. If the
 * word is an event's entry, `ref` is a plan: its kind is set, too.
 */
void session_publish(struct session *s, _Atomic uint64_t *word, uint64_t ref);
/*
 * A setting has changed that a shortcut does not load: an instance's options or clock, whether a
 * ring is disabled (W2 of agent/emit/way.c). Raises the epoch, so that programs look at it again.
 */
void session_settings_changed(struct session *s);
/* The memory is freed when no hit can see it any more (R5). Never waits. */
void session_config_retire(struct session *s, config_ref ref, size_t size);
void session_data_retire(struct session *s, data_ref ref, size_t size);
/*
 * R35: backs a part of the memory that pieces of these sizes will need, so that to allocate them
 * takes no long time. True: call it again, after others had their turn. What is not used within a
 * second is given back. It is a help only: without room it returns false.
 */
bool session_data_prepare(struct session *s, const uint64_t *sizes, size_t nr);
/* The sizes of the two large pieces of memory of a ring that holds at least `bytes`. */
void ring_memory_for(uint64_t bytes, uint32_t subbuf_size, uint64_t sizes[2]);
/*
 * Frees memory whose grace period is over, and gives rings to threads that ask for one
 * (ring_leases_serve()). The server calls it every few milliseconds. Returns how much is left in
 * limbo.
 */
size_t session_reclaim(struct session *s);

/*
 * As long as somebody holds it, memory that is retired is not freed: a process of the server's
 * reads what hits may not see any more. Each call with `on` needs one without.
 */
void session_hold(struct session *s, bool on);

/*
 * What the server notes of its instances, by their index. It lies in the config region, where only
 * the server writes, and the next server reads it. The data region has a copy for hits.
 */
bool session_instance_used(struct session *s, uint32_t instance);
void session_instance_use(struct session *s, uint32_t instance, bool used);
/* Sets of pids, in the order of struct pids_family; 0: none. */
void session_pids_publish(struct session *s, uint32_t instance, unsigned int set, data_ref ref);
/* New tasks join the sets in `sets`, a bit each. */
void session_pids_follow(struct session *s, uint32_t instance, uint32_t sets);

/*
 * `on`: some instance has event-fork or function-fork, so new processes join the sets of pids of
 * their creators.
 */
void session_follow(struct session *s, bool on);
/* From now on programs without sites of a compiler make some. NULL: nothing happens. */
void session_functions_asked(struct session *s);
/* Raised whenever somebody asks for more (site_control.asked). */
uint32_t session_asked(struct session *s);
/* From now on programs that begin can plant probes while they run. NULL: nothing happens. */
void session_probes_defined(struct session *s);
/*
 * The number of hits of such a probe's event, for probe_point.hits; 0: no memory. How often it was
 * hit since it was cleared.
 */
data_ref session_hits_at(struct session *s, uint32_t event);
uint64_t session_hits(struct session *s, uint32_t event);
void session_hits_clear(struct session *s, uint32_t event);
/* For session_restore_done(). */
void session_hits_restore(struct session *s);
/*
 * Somebody has asked for the functions of the libraries with such a file name: a pattern as behind
 * :mod:. For good, as above. 0; -ENOSPC: too many patterns; -EINVAL: it is too long for one
 */
int session_libraries_asked(struct session *s, const char *pattern);

/* R4. The id does not change while the server lives. */
int session_saved_add(struct session *s, const char *path, const char *text,
		       const uint64_t *refs, unsigned int nr_refs, uint64_t *id);
void session_saved_remove(struct session *s, uint64_t id);
/* The text takes the place of the older text `to`, which is removed. 0, -ENOMEM, -ENOENT */
int session_saved_move(struct session *s, uint64_t *id, uint64_t to);
/*
 * Calls fn for each live saved text in order of serial. Stops at the first return value that is not
 * 0.
 */
int session_saved_each(struct session *s,
		       int (*fn)(struct session *s, uint64_t id, const struct saved *o,
				 const char *path, const char *text, void *arg),
		       void *arg);

#endif
