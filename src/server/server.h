/* SPDX-License-Identifier: MIT */
/*
 * server.h - the server process of a session: control socket, attach socket, FUSE, reclamation
 *
 * Included by the commands that make or open a session. There is one thread with one poll loop, and
 * only that thread calls into the tree. A source may step in a thread of its own; it takes the
 * control lock when it calls the model:
 *
 *     control socket --+
 *     attach socket  --+--> poll loop --(control lock)--> tree
 *     /dev/fuse ...  --+        | every few ms: session_reclaim(), waiting readers of trace_pipe
 *
 * Life of a command that leaves a session behind:
 *
 *     server_background()                 the parent waits, the child continues
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
 * Forks. The parent waits until the child calls server_ready() or ends, and exits with its status.
 * So the function returns only in the child (0), or with -errno if the fork failed. Call it before
 * any thread, session or source is made. server_ready() closes all descriptors that are open now,
 * except `keep` (-1: none).
 */
int server_background(int keep);
enum { SERVER_KEPT = 40 };
/* A descriptor that servers of this process need, besides `keep`; up to SERVER_KEPT. */
void server_keep(int fd);
/*
 * Keeps what libraries of LD_PRELOAD have opened: they would use the number when it is another
 * file's. Call it first: what is closed at exec() was opened since.
 */
void server_keep_libraries(void);
/*
 * Calls run(arg) in a server's process. Returns when the server is ready or has failed: 0 or
 * -errno.
 */
int server_start(int (*run)(const void *arg), const void *arg, int keep);

/*
 * Called in the child when the server is ready. stdin, stdout and stderr go to /dev/null. The
 * descriptors that the command was given are closed: a reader of such a pipe would wait for the
 * server.
 */
void server_ready(void);

/*
 * Restores the session `name`, whose server died, with a new server in the background: its events,
 * triggers, filters, counts and buffers. 0 or -errno.
 */
int server_restore(const char *name);

struct server_make_params {
	const char	*name;		/* of the session */
	const struct programs_params *programs;
	const char	*what;		/* as in server_params */
	bool		hist_legacy;
	bool		end_unmounted;
	/* A pipe: the session ends when its other end is closed; a pidfd; -1: it stays */
	int		life_fd;
	int		linger_ms;	/* the session ends so much later */
};

/*
 * Makes a session for running programs, which attach by themselves. Its server runs in the
 * background and keeps no descriptor of the caller. 0 or -errno: -EEXIST.
 */
int server_make(const struct server_make_params *params);

/* R4: the path of the saved text that says: the option --hist-legacy was given. */
#define SERVER_HIST_LEGACY "#hist_legacy"

/* R4: the path of the saved settings of boot.h that wait. */
#define SERVER_BOOT "#boot"

/* R4: the session has the running kernel. The text is as in WIRE_KERNEL */
#define SERVER_LIVE "#live"

struct server_params {
	struct session	*session;	/* all three belong to the caller */
	struct model	*model;
	struct tree	*tree;
	/* Belongs to the caller, too; NULL: no session of running programs */
	struct programs	*programs;
	bool		live;		/* the server before had the running kernel */
	uint64_t	live_saved;
	const char	*what;		/* one line for `tracefuse sessions`: "replay trace.dat" */
	const char	*uname;		/* of the recording's machine; NULL: this one */
	const char	*boot;		/* the saved text SERVER_BOOT, and */
	uint64_t	boot_saved;	/* its id; NULL: there was none */
	bool		end_unmounted;	/* server_run() returns when the last mount is gone */
};

/* Opens the control socket in the session's directory. 0 or -errno. */
int server_create(const struct server_params *params, struct server **out);
void server_destroy(struct server *srv);	/* Unmounts, closes the sockets */

/* server_run() takes it while it calls into the tree. */
pthread_mutex_t *server_lock(struct server *srv);

/*
 * Mounts the tree at `dir`, which is made if it does not exist (NULL: "mnt" in the session's
 * directory). -ENOTSUP: built without FUSE; -ENODEV: no /dev/fuse.
 */
int server_mount(struct server *srv, const char *dir);

/* Ends all mounts. A request that waits there fails. Not to be called while server_run() runs. */
void server_unmount(struct server *srv);

/* Serves until it is asked to end. 0 or -errno. */
int server_run(struct server *srv);

/* Makes server_run() return soon. Any thread and any signal handler may call it. */
void server_stop(struct server *srv);

/*
 * Does the same because the process that made the session is gone, unless WIRE_STAY came before.
 * Any thread may call it.
 */
void server_orphaned(struct server *srv);

#endif
