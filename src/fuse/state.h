/* SPDX-License-Identifier: MIT */
/*
 * state.h - inside the mount by FUSE: one mount, its nodes, its open files
 *
 *   mount.c         mount, unmount, taking requests, waking those who wait
 *   node.c          what the kernel knows by number: a path each
 *   dir.c           lookup, attributes, directories, mkdir and rmdir
 *   file.c          open, read, write, poll, release
 *
 * libfuse's low-level interface, because a reader of trace_pipe may have to
 * wait without holding a thread, and has to be interruptible.
 */
#ifndef TRACEFUSE_FUSE_STATE_H
#define TRACEFUSE_FUSE_STATE_H

#define FUSE_USE_VERSION 314
#include <fuse3/fuse_lowlevel.h>

#include "server/state.h"

struct node {
	char		*path;		/* the key in mount_point.nodes */
	uint64_t	lookups;	/* the kernel's references */
};

struct mount_point {
	struct list_head node;		/* in server->mounts */
	struct server	*srv;
	struct fuse_session *se;
	struct fuse_buf	buf;
	char		*dir;
	bool		adopted;	/* mounted by a client, in a name space of its own */
	void		*nodes;		/* tsearch() tree of struct node by path */
	struct node	root;
	struct list_head waits;		/* struct read_wait */
	struct list_head files;		/* struct open_file */
};

struct open_file {
	struct list_head node;		/* in mount_point.files */
	struct tree_file *file;
	bool		only_read;
	bool		was_read;
	fuse_ino_t	ino;
	pid_t		reader;		/* thread that opened it */
	off_t		end;		/* where its reader found nothing more; -1: not there */
	struct fuse_pollhandle *poll;	/* somebody polls; NULL: nobody */
};

/* A read of an empty pipe that has not been answered. */
struct read_wait {
	struct list_head node;
	fuse_req_t	req;
	struct open_file *file;
	size_t		size;
	bool		interrupted;	/* set inside libfuse's dispatch, answered by the loop */
};

extern const struct fuse_lowlevel_ops fuse_ops;

struct node *node_of(struct mount_point *m, fuse_ino_t ino);
/* Counts one lookup; NULL: out of memory. */
struct node *node_get(struct mount_point *m, const char *path);
void node_put(struct mount_point *m, struct node *n, uint64_t lookups);
void nodes_destroy(struct mount_point *m);

static inline struct mount_point *mount_of(fuse_req_t req)
{
	return fuse_req_userdata(req);
}

/* dir.c */
void fuse_front_lookup(fuse_req_t req, fuse_ino_t parent, const char *name);
void fuse_front_forget(fuse_req_t req, fuse_ino_t ino, uint64_t lookups);
void fuse_front_forget_multi(fuse_req_t req, size_t count, struct fuse_forget_data *forgets);
void fuse_front_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void fuse_front_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr, int to_set,
			struct fuse_file_info *fi);
void fuse_front_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void fuse_front_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
			struct fuse_file_info *fi);
void fuse_front_releasedir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void fuse_front_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode);
void fuse_front_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name);
void fuse_front_unlink(fuse_req_t req, fuse_ino_t parent, const char *name);
void fuse_front_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
		       struct fuse_file_info *fi);

/* file.c */
/* The size that a follower has to see (F5); 0: who asks follows nothing. */
off_t open_file_size(fuse_req_t req, fuse_ino_t ino);
/* Answers a waiting read when it can be answered; true: it is done and freed. */
bool read_wait_retry(struct read_wait *w);
/* Tells a poller that its file is ready; true: it has to wait on. */
bool open_file_wake(struct open_file *f);
/* Releases the file of the tree; no read of it waits. */
void open_file_destroy(struct open_file *f);

#endif
