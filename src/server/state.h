/* SPDX-License-Identifier: MIT */
/*
 * state.h - the server's state, and the functions of its parts
 *
 *   server.c           the loop
 *   client.c           one connection of the control socket each
 *   request.c          what a request asks of the tree
 *   barrier.c             programs that wait until their session is set up
 *   snapshot.c         programs that save the session (tf_snapshot())
 *   boot_wait.c        settings that the session begins with; some wait for programs
 *   fuse_*.c           one mount each (fuse/none.c in a build without FUSE)
 *
 * Everything here runs in the loop's thread. A function that calls the tree has the lock.
 */
#ifndef TRACEFUSE_SERVER_STATE_H
#define TRACEFUSE_SERVER_STATE_H

#include <poll.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

#include "server/server.h"
#include "access/wire.h"
#include "model/list.h"
#include "layout/layout.h"
#include "tracefs/tree.h"

struct live;
struct tree_file;
struct attach_peer;
struct boot;

/* A program that waits until its session is set up. */
enum barrier_state { BARRIER_OFF, BARRIER_NEW, BARRIER_TOLD };

struct barrier {
	enum barrier_state	state;
	pid_t		by;		/* the process of the client that it waits for */
};

enum { SERVER_SNAPSHOTS = 8 };	/* how many may be written at the same time */

struct server {
	/* Set once, at create */
	struct session	*session;
	struct model	*model;
	struct tree	*tree;
	struct programs	*programs;	/* NULL: none */
	struct live	*live;		/* the running kernel; NULL: nobody asked for it */
	uint64_t	live_saved;	/* R4 */
	char		what[256];
	char		uname[256];	/* "": this machine's */
	bool		end_unmounted;
	int		listen_fd;
	int		signal_fd;
	int		stop_fd;	/* eventfd */
	int		printers_fd;	/* of the tree; negative: it has none */

	pthread_mutex_t	lock;		/* the control lock */
	/* Set before stop_fd is written. Relaxed: the descriptor orders it */
	_Atomic bool	stopping;
	/* WIRE_STAY; the client has its answer before it closes its end */
	_Atomic bool	stays;

	/* The loop */
	struct list_head clients;
	unsigned int	nr_clients;
	/* How many bytes the requests and answers of all clients have */
	size_t		buffered;
	struct list_head mounts;
	bool		was_mounted;
	int64_t		kept_looked;	/* session_now_ms(): for rings that go */
	/*
	 * The control socket cannot be accepted from: it is not looked at until after the next wait
	 */
	bool		deaf;
	unsigned int	nr_barriers;	/* how many clients programs wait for */
	struct barrier	barriers[1 + LAYOUT_MAX_PROCESSES];	/* by the number of the process */
	/* The processes that write snapshots; 0: none */
	pid_t		snapshots[SERVER_SNAPSHOTS];
	struct boot	*boot;		/* NULL: none were given */
	bool		boot_waits;	/* one of them waits */
	uint64_t	boot_saved;	/* R4 */
};

/* ---- control socket ---- */

struct client_file {
	struct tree_file *file;		/* NULL: this handle is free */
	int		flags;
	struct tree_wrote wrote;	/* the write that waits */
};

struct client {
	struct list_head node;		/* in server->clients */
	struct server	*server;
	int64_t		heard;		/* Milliseconds: when it last sent or read something */
	int		fd;
	pid_t		pid;		/* the process at the other end */
	int		passed_fd;	/* a descriptor that came with a request; -1: none */
	char		*in;		/* the request that is arriving */
	size_t		in_len, in_cap;
	char		*out;		/* the answer that could not be sent yet */
	size_t		out_len, out_cap;
	bool		waiting;	/* the request in `in` reads an empty pipe */
	bool		gone;
	bool		has_barrier;	/* programs wait for it */
	bool		new_events;	/* only those that bring events */
	uint64_t	events_made;	/* then: model.events_made when it was last looked at */
	struct client_file *files;	/* by the handle */
	uint32_t	nr_files;
};

/*
 * Whether there may be one more client. If there are too many, another one is closed for it. Not to
 * be called while a list of clients is in use.
 */
bool clients_room(struct server *srv);
/* NULL: out of memory; the descriptor is then closed. */
struct client *client_create(struct server *srv, int fd, pid_t pid);
void client_destroy(struct server *srv, struct client *c);
short client_events(const struct client *c);
/* Reads requests and sends answers. Sets c->gone when the other end has closed. */
void client_serve(struct server *srv, struct client *c, short revents);
/* Tries a waiting read again. */
void client_retry(struct server *srv, struct client *c);
/* Queues an answer. */
void client_answer(struct client *c, int result, const void *body, size_t size);

/* ---- programs that wait until their session is set up: barrier.c ---- */

bool barrier_ready(void *arg, const struct attach_peer *peer);	/* programs_on_ready() */
int barrier_begin(struct server *srv, struct client *c, const char *what);
/* what: "functions", and on lines behind it the libraries whose functions are wanted, too. */
int barrier_functions_ask(struct server *srv, const char *what);
/* Lets the programs continue that wait for this client. */
void barrier_end(struct server *srv, struct client *c);
/* The number of a program that waits for this client and was not reported to it yet; 0: none. */
int barrier_next(struct server *srv, const struct client *c);
int barrier_go(struct server *srv, const char *number);

/* ---- programs that save the session: snapshot.c ---- */

/* programs_on_snapshot(): has the session written into the file that waits in `sock`. */
void snapshot_begin(void *arg, int sock);
/* Notices which are written. */
void snapshot_tend(struct server *srv);
/* Ends all that are being written. */
void snapshot_end_all(struct server *srv);

/* ---- settings that the session begins with: boot_wait.c; all need the control lock ---- */

/*
 * Gives the settings of the text as far as that is possible now; errors are written to `out`. 0,
 * -ENOMEM
 */
int server_boot_add(struct server *srv, const char *text, FILE *out);
/* Takes over the settings that waited when the last server died. */
int server_boot_restore(struct server *srv, const char *text, uint64_t saved);
/* A program is ready: the settings that wait are tried again. */
void server_boot_ready(struct server *srv);
/* Prints a line "boot NAME=VALUE" for each setting that waits. */
void server_boot_print(const struct server *srv, FILE *out);

/* Carries out the request. False: it has to wait. The body ends in a 0. */
bool request_serve(struct server *srv, struct client *c, const struct wire_request *rq, char *body);

/* ---- mounts ---- */

struct mount_point;

struct mount_point *mount_point_of(struct list_head *node);
/*
 * Mounts at `dir` and adds the mount to srv->mounts. With fd >= 0 it takes over a /dev/fuse that
 * another process mounted there.
 */
int mount_point_create(struct server *srv, const char *dir, int fd);
void mount_point_destroy(struct mount_point *m);
const char *mount_point_dir(const struct mount_point *m);
int mount_point_fd(const struct mount_point *m);
/*
 * The directory, of an instance, an event or a system, was removed by a caller of `by`; NULL: past
 * all mounts, as an event always is.
 */
void mount_points_forget(struct server *srv, const char *dir, const struct mount_point *by);
/* Answers the requests that have arrived. False: it is no longer mounted. */
bool mount_point_serve(struct mount_point *m);
/* Tries waiting reads again and wakes pollers. Returns whether any reader waits. */
bool mount_point_retry(struct mount_point *m);

#endif
