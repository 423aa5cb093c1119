/* SPDX-License-Identifier: MIT */
/*
 * state.h - inside the mount by FUSE: one mount, its nodes, its open files
 *
 *   mount.c         mount, unmount, take requests, answer requests that wait
 *   node.c          the number by which the kernel knows a path
 *   dir.c           lookup, attributes, directories, mkdir and rmdir
 *   file.c          open, read, write, poll, release
 *   raw.c           trace_pipe_raw, by offset, so that splice(2) may read it
 *
 * These files use libfuse's low-level interface: a reader of trace_pipe may have to wait without
 * blocking a thread, and a signal must be able to interrupt it.
 */
#ifndef TRACEFUSE_FUSE_STATE_H
#define TRACEFUSE_FUSE_STATE_H

#define FUSE_USE_VERSION 314
#include <fuse3/fuse_lowlevel.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "server/state.h"

struct node {
	char		*path;		/* the key in mount_point.nodes */
	/* Not in mount_point.nodes: of trace_pipe_raw (P2), or of an instance that is removed */
	bool		alone;
	struct list_head others;	/* and then in mount_point.alone */
	uint64_t	lookups;	/* the kernel's references */
	struct stat	last;		/* what the kernel was told at the last lookup */
	struct node	*next;		/* inside nodes_forget() */
};

struct mount_point {
	struct list_head node;		/* in server->mounts */
	struct server	*srv;
	struct fuse_session *se;
	struct fuse_buf	buf;
	char		*dir;
	time_t		made;		/* the time of all its files */
	bool		has_sizes;	/* D2 of dir.c */
	bool		adopted;	/* mounted by a client, in a name space of its own */
	void		*nodes;		/* tsearch() tree of struct node by path */
	struct list_head alone;		/* all other struct node */
	struct node	root;
	struct list_head waits;		/* struct fuse_wait */
	struct list_head files;		/* struct open_file */
};

struct raw_pages;

/* The size of an open trace_pipe_raw (P1). */
#define RAW_SIZE ((off_t)1 << 62)
/*
 * What the kernel has as the size of a text (D2). An append is made there for the kernel, which
 * compares it with the program's RLIMIT_FSIZE.
 */
#define TEXT_SIZE ((off_t)4096)
/*
 * The kernel's page, and how many bytes it may ask for before splice wants them: as many as the
 * kernel's read-ahead allows.
 */
enum { RAW_PAGE = 4096, RAW_AHEAD = 32 * RAW_PAGE };
/* An answer has parts of at most so many pages; the first one may be cut. */
enum { RAW_PARTS = RAW_AHEAD / RAW_PAGE + 1 };

/* What a READ gets, in the memory of struct raw_pages. */
struct raw_answer {
	struct iovec	parts[RAW_PARTS];
	int		nr;		/* 0: the end */
};

struct open_file {
	struct list_head node;		/* in mount_point.files */
	struct tree_file *file;
	struct raw_pages *pages;	/* of trace_pipe_raw; NULL: another file */
	bool		only_read;
	bool		was_read;
	off_t		next;		/* where the last read ended */
	/* F8: where the descriptor is on tracefs, and how much further for the kernel */
	off_t		position, moved;
	fuse_ino_t	ino;
	pid_t		reader;		/* the thread that opened it */
	off_t		end;		/* where its reader is, who was at the end; -1: not yet */
	bool		named;		/* its reader's last request has looked the path up */
	struct fuse_pollhandle *poll;	/* of the processes that poll; NULL: none does */
	unsigned int	poll_events;	/* what they wait for */
};

/*
 * A read or a write. One of an empty pipe, or of a name that programs may know soon, is put aside
 * until there is an answer.
 */
struct fuse_wait {
	struct list_head node;
	fuse_req_t	req;
	struct open_file *file;
	size_t		size;
	off_t		off;
	bool		page_cache;	/* for splice(2): trace_pipe_raw only */
	/* P3: when a read-ahead fails, in ms of the monotonic clock; 0: it waits for its answer */
	int64_t		until;
	/* Set inside libfuse's dispatch; the loop then answers it */
	bool		interrupted;
	bool		unmounts;	/* its mount ends, and it with it */
	char		*text;		/* of a write; NULL: a read */
	pid_t		writer;
	bool		appends;
	struct tree_wrote wrote;
};

extern const struct fuse_lowlevel_ops fuse_ops;

struct node *node_of(struct mount_point *m, fuse_ino_t ino);
/* Counts one lookup; NULL: out of memory. */
struct node *node_get(struct mount_point *m, const char *path);
/* Another node of the path, which no other lookup gets (P2). */
struct node *node_get_raw(struct mount_point *m, const char *path);

/* The first byte of the path of what is removed. */
enum node_mark {
	NODE_REMOVED = 1,	/* by this mount: the kernel knows */
	NODE_STALE,		/* past it: the kernel may still have it (D1 of dir.c) */
};

/*
 * The directory is removed. What its paths name from now on gets other nodes: the kernel finds
 * nothing in a directory that it has removed, as long as somebody has it open or is in it.
 */
void nodes_forget(struct mount_point *m, const char *dir, enum node_mark mark);
bool node_is_stale(const struct node *n);
/* Returns the error to answer, where the tree's is `err` for the node or for a path below it. */
int node_error(const struct node *n, int err);
void node_put(struct mount_point *m, struct node *n, uint64_t lookups);
void nodes_destroy(struct mount_point *m);

static inline struct mount_point *mount_of(fuse_req_t req)
{
	return fuse_req_userdata(req);
}

/*
 * signals.c: whether the task, which a signal has interrupted, is to end. False: it was for a
 * handler, or there is none any more.
 */
bool task_ends(pid_t tid);

/* dir.c */
void fuse_on_lookup(fuse_req_t req, fuse_ino_t parent, const char *name);
void fuse_on_forget(fuse_req_t req, fuse_ino_t ino, uint64_t lookups);
void fuse_on_forget_multi(fuse_req_t req, size_t count, struct fuse_forget_data *forgets);
void fuse_on_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void fuse_on_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr, int to_set,
			struct fuse_file_info *fi);
void fuse_on_access(fuse_req_t req, fuse_ino_t ino, int mask);
void fuse_on_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size);
void fuse_on_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void fuse_on_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
			struct fuse_file_info *fi);
void fuse_on_releasedir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void fuse_on_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode);
void fuse_on_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name);
void fuse_on_unlink(fuse_req_t req, fuse_ino_t parent, const char *name);
void fuse_on_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t device);
void fuse_on_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t to,
		    const char *new_name, unsigned int flags);
void fuse_on_symlink(fuse_req_t req, const char *target, fuse_ino_t parent, const char *name);
void fuse_on_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
		       struct fuse_file_info *fi);

/* raw.c */
struct raw_pages *raw_pages_create(void);
void raw_pages_destroy(struct raw_pages *p);
/*
 * What a read(2) gets: the rest of a sub-buffer; -EAGAIN: there is none yet. 0: *out is valid until
 * the next call.
 */
int raw_read(struct open_file *f, struct raw_answer *out, size_t size, off_t off);
/* What the page cache gets: all `size` bytes, or -EAGAIN. */
int raw_read_whole(struct open_file *f, struct raw_answer *out, size_t size, off_t off);
/* Whether a splice may succeed without a READ. `p` may be NULL. */
bool raw_ahead(const struct raw_pages *p);

/* file.c */
/* The size that a reader as in F5 has to see; 0: the caller is no such reader. */
off_t open_file_size(fuse_req_t req, fuse_ino_t ino);
/* The caller has looked up the path of a file that can be followed, or has done something since. */
void open_files_named(fuse_req_t req, fuse_ino_t ino, bool named);
/* Whether somebody has it open, also after it was removed. */
bool open_file_is(const struct mount_point *m, fuse_ino_t ino);
/* Answers a request that waits when it can be answered; true: it is done and freed. */
bool fuse_wait_retry(struct fuse_wait *w);
/* Notifies a poller if its file is ready. True: the poller still waits. */
bool open_file_wake(struct open_file *f);
/* Releases the file of the tree. No request of the file may be waiting. */
void open_file_destroy(struct open_file *f);

#endif
