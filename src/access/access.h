/* SPDX-License-Identifier: MIT */
/*
 * access.h - the files of a session, wherever their tree is
 *
 * The commands and the setup reader use files through this small table of
 * functions, so that they need not know where the tree is:
 *
 *     access_tree()     the tree is in this process (replay without a server)
 *     access_connect()  it is in a server: over the session's control socket
 *
 * Paths are relative to the tracing directory, without a leading slash; "" is the root. All
 * functions return what the file system call would return: a count or 0, or the -errno of the step
 * that failed.
 */
#ifndef TRACEFUSE_ACCESS_ACCESS_H
#define TRACEFUSE_ACCESS_ACCESS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

struct access;
struct access_file;
struct tree;

struct access_ops {
	int	(*open)(struct access *a, const char *path, int flags, struct access_file **out);
	/* Waits for events when the file is a pipe, unless it was opened with O_NONBLOCK. */
	ssize_t	(*read)(struct access_file *f, char *buf, size_t size, off_t off);
	ssize_t	(*write)(struct access_file *f, const char *buf, size_t size);
	int	(*release)(struct access_file *f);
	/* fn may use the files. */
	int	(*list)(struct access *a, const char *path,
			int (*fn)(void *arg, const char *name, bool is_dir), void *arg);
	int	(*stat)(struct access *a, const char *path, mode_t *mode);
	int	(*mkdir)(struct access *a, const char *path);
	int	(*rmdir)(struct access *a, const char *path);
	/* For access_pend(). NULL: no setting can wait for its event. */
	int (*pend)(struct access *a, const char *path, bool truncates, const char *text,
		    size_t len);
	void	(*close)(struct access *a);
};

struct access {
	const struct access_ops *ops;
};

struct access_file {
	struct access	*access;
};

/*
 * Each call into the tree is made under `lock`, which may be NULL if nobody else uses the tree.
 * Returns NULL if out of memory.
 */
struct access *access_tree(struct tree *t, pthread_mutex_t *lock);

/*
 * Connects to the server of session `name`. -ENOENT: no such session; -ECONNREFUSED: its server is
 * dead; another -errno: it cannot be known.
 */
int access_connect(const char *name, struct access **out);
/* The same, but -ETIMEDOUT after so many ms, also of each request: no read may wait for events. */
int access_connect_within(const char *name, unsigned int ms, struct access **out);
/* The same by the session's directory, for a session that has no name and is in no list. */
int access_connect_at(const char *dir, struct access **out);

void access_close(struct access *a);

/*
 * Finds the path inside the tracing directory that `path` means if the current directory is `cwd`
 * inside it. /sys/kernel/tracing/X and /sys/kernel/debug/tracing/X are X; "." and ".." are
 * resolved. Returns false if the path leads outside: the file is an ordinary file of the host.
 */
bool access_path(const char *cwd, const char *path, char *out, size_t size);

/*
 * Reads a whole file into memory that the caller frees; *len without the 0 behind it. 0 or -errno.
 */
int access_read_all(struct access *a, const char *path, char **text, size_t *len);

/*
 * Opens for writing as a shell's redirection does. A redirection asks to create a file that does
 * not exist, and a tracing directory answers -EACCES to that, not -ENOENT.
 */
int access_create(struct access *a, const char *path, int flags, struct access_file **out);

/*
 * Opens with O_WRONLY and `flags`, writes the whole text, and releases. After a short write it
 * writes the rest. Returns 0 or the first -errno; *step (may be NULL) then names the step that
 * failed: "open", "write" or "close".
 */
int access_write_all(struct access *a, const char *path, int flags, const char *text, size_t len,
		     const char **step);

/*
 * A setting of an event that no program has defined yet:
 * events/SYSTEM/EVENT/{enable,filter,trigger}. It is pending, and is written when a program defines
 * the event. An empty text asks whether a setting would be pending, and truncates. -ENOENT: no
 * setting of that file can be pending.
 */
int access_pend(struct access *a, const char *path, bool truncates, const char *text, size_t len);

/*
 * Prints the entries that a write added to error_log. The caller calls access_errors_mark() before
 * the write and access_errors_print() after it. `path` is the file that is written to; it decides
 * which instance's log is read.
 */
char *access_errors_mark(struct access *a, const char *path);
/* Frees the mark. */
void access_errors_print(struct access *a, const char *path, char *mark, FILE *out);
/*
 * What error_log says of a command that was refused; the caller frees it. *at is where its caret is
 * in the command; NULL: nobody asks. NULL: error_log says nothing.
 */
char *access_errors_reason(struct access *a, const char *path, const char *command, size_t *at);

#endif
