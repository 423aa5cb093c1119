/* SPDX-License-Identifier: MIT */
/*
 * server.h - the server process of a session: control socket, attach socket, FUSE, reclamation
 *
 * Included by the commands that make or open a session. One thread, one poll
 * loop; only that thread calls into the tree, but a source may step in a thread
 * of its own and takes the control lock where it calls the model:
 *
 *     control socket --+
 *     attach socket  --+--> poll loop --(control lock)--> tree
 *     /dev/fuse ...  --+        | every few ms: session_reclaim(), waiting readers of trace_pipe
 *
 * Life of a command that leaves a session behind:
 *
 *     server_background()                 the parent waits, the child goes on
 *       session_create, model_create, import, tree_create, setup ...   errors still go to stderr
 *     server_create(), server_mount()
 *     source_serve(.., server_lock())
 *     server_ready()                      the parent exits 0 now
 *     server_run()                        until server_stop(), SIGTERM, or `tracefuse umount` of a
 *                                         session
 *     server_destroy()                    that nobody else needs
 */
#ifndef TRACEFUSE_SERVER_SERVER_H
#define TRACEFUSE_SERVER_SERVER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct server;
struct session;
struct model;
struct tree;
struct programs;
struct programs_params;

/*
 * Forks. The parent waits until the child has called server_ready() or ended,
 * and exits with its status: this returns in the child only (0), or -errno when
 * the fork failed. Call it before any thread, session or source is made. All
 * descriptors that are open now but `keep` (-1: none) are closed by server_ready().
 */
int server_background(int keep);
/*
 * Calls run(arg) in a server's process; returns when it is ready or has failed: 0 or -errno.
 */
int server_start(int (*run)(const void *arg), const void *arg, int keep);

/*
 * In the child: what was promised to stand stands. stdin, stdout and stderr go to /dev/null, and
 * what the command was given is closed: a reader of such a pipe would wait for the server.
 */
void server_ready(void);

/*
 * Brings the session `name`, whose server died, back with a new server in the
 * background: its events, triggers, filters, counts and buffers. 0 or -errno.
 */
int server_restore(const char *name);

struct server_make_params {
	const char	*name;		/* of the session */
	const struct programs_params *programs;
	const char	*what;		/* as in server_params */
	bool		hist_legacy;
	bool		end_unmounted;
	/* a pipe: the session ends when its other end is closed; -1: it stays */
	int		life_fd;
};

/*
 * Makes a session for running programs, which attach to it by themselves, with
 * a server in the background, which keeps none of the caller's descriptors.
 * 0 or -errno: -EEXIST.
 */
int server_make(const struct server_make_params *params);

/* R4: a saved text of the model under this path: the option --hist-legacy was given. */
#define SERVER_HIST_LEGACY "#hist_legacy"

/* R4: what of boot.h waits. */
#define SERVER_BOOT "#boot"

struct server_params {
	struct session	*session;	/* all three stay the caller's */
	struct model	*model;
	struct tree	*tree;
	/* stays the caller's too; NULL: no session of running programs */
	struct programs	*programs;
	const char	*what;		/* one line for `tracefuse sessions`: "replay trace.dat" */
	const char	*uname;		/* of the machine of a recording; NULL: this one */
	const char	*boot;		/* the saved text SERVER_BOOT and */
	uint64_t	boot_saved;	/* its id; NULL: there was none */
	bool		end_unmounted;	/* server_run() returns when the last mount is gone */
};

/* Opens the control socket in the session's directory. 0 or -errno. */
int server_create(const struct server_params *params, struct server **out);
void server_destroy(struct server *srv);	/* unmounts, closes the sockets */

/* Held by server_run() while it calls into the tree. */
pthread_mutex_t *server_lock(struct server *srv);

/*
 * Mounts the tree at `dir` (made when it does not exist; NULL: "mnt" in the
 * session's directory). -ENOTSUP: built without FUSE; -ENODEV: no /dev/fuse.
 */
int server_mount(struct server *srv, const char *dir);

/* Ends all mounts: who waits for an answer there has an error. Not while server_run() runs. */
void server_unmount(struct server *srv);

/* Serves until told to end. 0 or -errno. */
int server_run(struct server *srv);

/* Makes server_run() return soon; may be called from any thread and from a signal handler. */
void server_stop(struct server *srv);

/* Who made the session is gone: the same, unless WIRE_STAY came before. From any thread. */
void server_orphaned(struct server *srv);

#endif
