/* SPDX-License-Identifier: MIT */
/*
 * state.h - inside the server: its state, and what its parts offer to the loop
 *
 *   server.c           the loop
 *   client.c           one connection of the control socket each
 *   request.c          what a request asks of the tree
 *   barrier.c             programs that wait until their session is set up
 *   boot_wait.c        settings of the session's start, some of which wait for programs
 *   fuse_*.c           one mount each (fuse/none.c in a build without FUSE)
 *
 * Everything here runs in the loop's thread. What calls the tree holds the lock.
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

struct tree_file;
struct attach_peer;
struct boot;

/* A program that waits until its session is set up. */
enum barrier_state { BARRIER_OFF, BARRIER_NEW, BARRIER_TOLD };

struct barrier {
	enum barrier_state	state;
	pid_t		by;		/* the client's process that it waits for */
};

struct server {
	/* set once, at create */
	struct session	*session;
	struct model	*model;
	struct tree	*tree;
	struct programs	*programs;	/* NULL: none */
	char		what[256];
	char		uname[256];	/* "": this machine's */
	bool		end_unmounted;
	int		listen_fd;
	int		signal_fd;
	int		stop_fd;	/* eventfd */

	pthread_mutex_t	lock;		/* the control lock */
	/* set before stop_fd is written; relaxed, the descriptor orders */
	_Atomic bool	stopping;
	_Atomic bool	stays;		/* WIRE_STAY; its answer orders it before the end */

	/* the loop */
	struct list_head clients;
	unsigned int	nr_clients;
	size_t		buffered;	/* bytes of requests and answers of all clients */
	struct list_head mounts;
	bool		was_mounted;
	/* commands cannot be accepted: not looked at until after the next wait */
	bool		deaf;
	unsigned int	nr_barriers;	/* clients that programs wait for */
	struct barrier	barriers[1 + LAYOUT_MAX_PROCESSES];	/* by number of the process */
	struct boot	*boot;		/* NULL: nobody gave any */
	bool		boot_waits;	/* something of it waits */
	uint64_t	boot_saved;	/* R4 */
};

/* ---- control socket ---- */

struct client_file {
	struct tree_file *file;		/* NULL: the handle is free */
	int		flags;
};

struct client {
	struct list_head node;		/* in server->clients */
	struct server	*server;
	int64_t		heard;		/* milliseconds: when it last sent or took something */
	int		fd;
	pid_t		pid;		/* who is at the other end */
	int		passed_fd;	/* came along with a request; -1: none */
	char		*in;		/* the request that is arriving */
	size_t		in_len, in_cap;
	char		*out;		/* what could not be sent yet */
	size_t		out_len, out_cap;
	bool		waiting;	/* the request in `in` is a read of an empty pipe */
	bool		gone;
	bool		has_barrier;	/* programs wait for it */
	struct client_file *files;	/* by handle */
	uint32_t	nr_files;
};

/*
 * Whether there may be one more; where there are too many, another one goes for it. Not while
 * clients are gone through.
 */
bool clients_room(struct server *srv);
/* NULL: out of memory (the descriptor is closed then). */
struct client *client_create(struct server *srv, int fd, pid_t pid);
void client_destroy(struct server *srv, struct client *c);
short client_events(const struct client *c);
/* Takes requests and sends answers; sets c->gone when the other end has closed. */
void client_serve(struct server *srv, struct client *c, short revents);
/* Tries a waiting read again. */
void client_retry(struct server *srv, struct client *c);
/* Queues an answer. */
void client_answer(struct client *c, int result, const void *body, size_t size);

/* ---- programs that wait until their session is set up: barrier.c ---- */

bool barrier_ready(void *arg, const struct attach_peer *peer);	/* programs_on_ready() */
int barrier_begin(struct server *srv, struct client *c);
/* Lets go who waits for this client. */
void barrier_end(struct server *srv, struct client *c);
/* The number of one that waits for this client, which was not told of it yet; 0: none. */
int barrier_next(struct server *srv, const struct client *c);
int barrier_go(struct server *srv, const char *number);

/* ---- settings of the start: boot_wait.c; all under the control lock ---- */

/*
 * Those of the text are given as far as they can be; what is wrong is written to `out`. 0, -ENOMEM
 */
int server_boot_add(struct server *srv, const char *text, FILE *out);
/* What waited when the server before died. */
int server_boot_restore(struct server *srv, const char *text, uint64_t saved);
/* A program is ready: what waits is tried again. */
void server_boot_ready(struct server *srv);
/* "boot NAME=VALUE", a line each of what waits. */
void server_boot_print(const struct server *srv, FILE *out);

/* Carries out the request; false: it has to wait. The body is 0-terminated. */
bool request_serve(struct server *srv, struct client *c, const struct wire_request *rq, char *body);

/* ---- mounts ---- */

struct mount_point;

struct mount_point *mount_point_of(struct list_head *node);
/*
 * Mounts at `dir` and adds to srv->mounts; with fd >= 0 takes over a /dev/fuse that somebody else
 * mounted there.
 */
int mount_point_create(struct server *srv, const char *dir, int fd);
void mount_point_destroy(struct mount_point *m);
const char *mount_point_dir(const struct mount_point *m);
int mount_point_fd(const struct mount_point *m);
/* Answers what is there to answer. False: it is no longer mounted. */
bool mount_point_serve(struct mount_point *m);
/* Tries waiting reads again and wakes pollers; returns whether anyone waits. */
bool mount_point_retry(struct mount_point *m);

#endif
