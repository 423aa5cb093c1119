/* SPDX-License-Identifier: MIT */
/*
 * tree.c - a session's files when their tree is in this process
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "access/access.h"
#include "session/array.h"
#include "tracefs/tree.h"

struct here {
	struct access	access;
	struct tree	*tree;
	pthread_mutex_t	*lock;		/* NULL: nobody else uses the tree */
};

struct here_file {
	struct access_file file;
	struct tree_file *tf;
	bool		wait;
};

static struct here *here_of(struct access *a)
{
	struct here *h = (struct here *)a;

	if (h->lock)
		pthread_mutex_lock(h->lock);
	return h;
}

static int tree_leave(struct here *h, int ret)
{
	if (h->lock)
		pthread_mutex_unlock(h->lock);
	return ret;
}

/* Without a lock, nothing happens to the tree while a write waits. */
static int patience_of(const struct here *h, int flags)
{
	return h->lock || (flags & O_ACCMODE) == O_RDONLY ? 0 : O_NONBLOCK;
}

static int here_open(struct access *a, const char *path, int flags, struct access_file **out)
{
	struct here_file *f = calloc(1, sizeof(*f));
	struct here *h;
	int ret;

	if (!f)
		return -ENOMEM;
	h = here_of(a);
	ret = tree_leave(h, tree_open(h->tree, path, flags | patience_of(h, flags), &f->tf));
	if (ret < 0) {
		free(f);
		return ret;
	}
	f->file.access = a;
	f->wait = !(flags & O_NONBLOCK);
	*out = &f->file;
	return 0;
}

static void here_pause(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
}

static ssize_t here_read(struct access_file *file, char *buf, size_t size, off_t off)
{
	struct here_file *f = (struct here_file *)file;
	ssize_t ret;

	for (;;) {
		struct here *h = here_of(file->access);

		ret = tree_read(f->tf, buf, size, off);
		tree_leave(h, 0);
		if (ret != -EINPROGRESS && (ret != -EAGAIN || !f->wait))
			return ret;
		here_pause();
	}
}

static ssize_t here_write(struct access_file *file, const char *buf, size_t size)
{
	struct tree_wrote wrote = { 0 };
	ssize_t ret;

	for (;;) {
		struct here *h = here_of(file->access);

		ret = tree_write_by(((struct here_file *)file)->tf, 0, buf, size, &wrote);
		tree_leave(h, 0);
		if (ret != -EINPROGRESS)
			return ret;
		here_pause();
	}
}

static int here_release(struct access_file *file)
{
	struct here *h = here_of(file->access);
	int ret = tree_leave(h, tree_release(((struct here_file *)file)->tf));

	free(file);
	return ret;
}

struct names {
	struct name {
		char	*name;
		bool	is_dir;
	} *v;
	size_t		nr;
};

static int here_name_add(void *arg, const char *name, bool is_dir)
{
	struct names *n = arg;
	struct name *next;

	if (array_room(&n->v, n->nr, sizeof(*n->v)))
		return -ENOMEM;
	next = &n->v[n->nr];
	*next = (struct name){ strdup(name), is_dir };
	n->nr += next->name != NULL;
	return next->name ? 0 : -ENOMEM;
}

/* fn may use the files, which takes the lock again. */
static int here_list(struct access *a, const char *path,
		     int (*fn)(void *arg, const char *name, bool is_dir), void *arg)
{
	struct here *h = here_of(a);
	struct names n = { 0 };
	int ret = tree_leave(h, tree_list(h->tree, path, here_name_add, &n));

	for (size_t i = 0; i < n.nr; i++) {
		ret = ret ? ret : fn(arg, n.v[i].name, n.v[i].is_dir);
		free(n.v[i].name);
	}
	free(n.v);
	return ret;
}

static int here_stat(struct access *a, const char *path, mode_t *mode)
{
	struct here *h = here_of(a);
	struct tree_stat st = { 0 };
	int ret = tree_leave(h, tree_stat(h->tree, path, &st));

	*mode = st.mode;
	return ret;
}

static int here_mkdir(struct access *a, const char *path)
{
	struct here *h = here_of(a);

	return tree_leave(h, tree_mkdir(h->tree, path));
}

static int here_rmdir(struct access *a, const char *path)
{
	struct here *h = here_of(a);

	return tree_leave(h, tree_rmdir(h->tree, path));
}

static void here_close(struct access *a)
{
	free(a);
}

static const struct access_ops here_ops = {
	.open = here_open, .read = here_read, .write = here_write, .release = here_release,
	.list = here_list, .stat = here_stat, .mkdir = here_mkdir, .rmdir = here_rmdir,
	.close = here_close,
};

struct access *access_tree(struct tree *t, pthread_mutex_t *lock)
{
	struct here *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->access.ops = &here_ops;
	h->tree = t;
	h->lock = lock;
	return &h->access;
}
