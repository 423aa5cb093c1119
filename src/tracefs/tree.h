/* SPDX-License-Identifier: MIT */
/*
 * tree.h - the tracing directory as a table of nodes, without FUSE or sockets
 *
 * FUSE, the control socket and the command line call these functions. A path is relative to the
 * tracing directory, without a leading slash; "" is the root. All calls are made under the server's
 * control lock. No call waits: a read of trace_pipe returns -EAGAIN if it would have to, and the
 * caller waits with tree_poll().
 *
 *   lookup/list -> open (O_TRUNC clears here) -> read at any offset of what was
 *   fixed at open -> write (parses here, errors here) -> release
 */
#ifndef TRACEFUSE_TRACEFS_TREE_H
#define TRACEFUSE_TRACEFS_TREE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct tree;
struct tree_file;
struct model;

struct tree_stat {
	mode_t		mode;		/* S_IFDIR | 0750 ..., S_IFREG | 0640 / 0440 / 0220 */
	uint64_t	ino;
	unsigned int	nlink;
	bool		raw;		/* its content is sub-buffers: tree_raw_size() */
	bool		endless;	/* lseek() to its end is EINVAL */
	bool		follows;	/* tree_follows() */
};

struct tree *tree_create(struct model *m);
void tree_destroy(struct tree *t);
/*
 * From now on other processes print long texts (R35): a read may return -EINPROGRESS, and can be
 * tried again when the descriptor is readable that is returned here. -ENOMEM: all stays as it is.
 */
int tree_use_printers(struct tree *t);
/* To be called when the descriptor is readable, and now and then. */
void tree_tend(struct tree *t);

/*
 * As fork(), but -errno. The copy has the files as they are now, prints all texts itself, and may
 * only read. It has no descriptor but `fd`, as standard output, and ends with the server.
 */
pid_t tree_fork(struct tree *t, int fd);

/* 0, -ENOENT, -ENOTDIR */
int tree_stat(struct tree *t, const char *path, struct tree_stat *out);
/* Calls fn for each name of a directory, in ftrace's order. Stops when fn returns non-zero. */
int tree_list(struct tree *t, const char *path, int (*fn)(void *arg, const char *name, bool is_dir),
	      void *arg);
int tree_mkdir(struct tree *t, const char *path);
int tree_rmdir(struct tree *t, const char *path);

/* flags: O_RDONLY, O_WRONLY, O_RDWR, O_TRUNC, O_APPEND, O_NONBLOCK. */
int tree_open(struct tree *t, const char *path, int flags, struct tree_file **out);
/*
 * Returns the number of bytes, 0 at the end, -EAGAIN if a pipe is empty, -EINPROGRESS as above, or
 * -errno.
 */
ssize_t tree_read(struct tree_file *f, char *buf, size_t size, off_t off);
/* The next read finds the content of that moment. A long text stays, unless it begins before. */
void tree_read_anew(struct tree_file *f);
/* fcntl(F_SETFL) may have changed O_NONBLOCK. */
void tree_set_nonblock(struct tree_file *f, bool on);
/*
 * Returns what the kernel's write(2) would return, which may be a short count. Offsets do not
 * matter. -EINPROGRESS: programs may know soon what was written. Nothing was taken, and the same
 * write is to be tried again. A file that was opened with O_NONBLOCK does not return it.
 */
ssize_t tree_write(struct tree_file *f, const char *buf, size_t size);

/*
 * A write of which a piece was carried out, or all, and which waits until programs can obey that.
 * Begin with zeros.
 */
struct tree_wrote {
	uint64_t	until;		/* model.settle; 0: it does not wait */
	ssize_t		n;		/* what it returns then */
	bool		more;		/* there are more pieces */
};

/*
 * The same for a task; 0: the calling one. An event of trace_marker has the number of its writer.
 * -EINPROGRESS also while a file with probes is read, and after a piece of a long write. Then, too,
 * the same write is to be tried again, with the same *wrote: it is carried out once. NULL: it does
 * not wait for that.
 */
ssize_t tree_write_by(struct tree_file *f, pid_t writer, const char *buf, size_t size,
		      struct tree_wrote *wrote);
/* The write is not tried again. What is left of it is not carried out. */
void tree_write_end(struct tree_file *f, struct tree_wrote *w);
/*
 * A descriptor of the file was closed, maybe the last one. Does the part of the file's release that
 * has the same effect now as later.
 */
void tree_flush(struct tree_file *f);
/*
 * Returns what close(2) would return. It parses only a command that waited for its next line (R30).
 */
int tree_release(struct tree_file *f);
/* Returns what poll(2) would. A file that poll(2) waits for may count the call as a look at it. */
unsigned int tree_poll(struct tree_file *f);
/* The same for a caller that waits already: it is no look at the file, and may be some ms old. */
unsigned int tree_poll_again(struct tree_file *f);
/* Whether reads of the file may have to wait for events. */
bool tree_is_pipe(const struct tree_file *f);
/* Whether a read at its end gets what has come since (tail -f). */
bool tree_follows(const struct tree_file *f);
/* Whether the file has no offset: lseek(), pread() and pwrite() are ESPIPE. */
bool tree_is_stream(const struct tree_file *f);

/*
 * The size of a sub-buffer, if each read of the file takes one (trace_pipe_raw, snapshot_raw). 0:
 * another file.
 */
size_t tree_raw_size(const struct tree_file *f);
/* How many bytes of such a file there are to read. */
uint64_t tree_raw_unread(const struct tree_file *f);

/* A source may add files at the root (replay control); see sources/. */
struct tree_extra {
	const char	*name;
	mode_t		mode;
	int		(*print)(void *arg, void *file_stream);
	ssize_t		(*write)(void *arg, const char *text, size_t len);
	void		*arg;
};
int tree_add_extra(struct tree *t, const struct tree_extra *extra);

#endif
