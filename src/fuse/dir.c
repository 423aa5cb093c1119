/* SPDX-License-Identifier: MIT */
/*
 * dir.c - FUSE: lookup, attributes, directories
 *
 * Files have size 0, as in tracefs. Commands add and remove synthetic events and probes. The
 * kernel's caches do not notice that, so these are not cached. The events that a session began with
 * are rarely removed, so the kernel may cache them.
 *
 * D1  It caches an instance's directory, too. If somebody removes the instance past this mount, or
 *     a command removes an event that the session began with (one of an event probe that was
 *     recorded), the nodes of its paths become stale: each request for one of them is answered by
 *     ESTALE. The kernel then goes along the whole path once more, and asks about each name
 *     (LOOKUP_REVAL). So the directory is gone, or it is the one of the same name that was made
 *     since. The kernel is told only to forget the attributes of these nodes (notify_inval_inode),
 *     for which it takes no lock of a directory. To make it forget a name (notify_inval_entry) it
 *     would wait for a lock that a caller holds while it waits for this server.
 *
 * D2  Since Linux 6.5 sendfile(2) and splice(2) read through the page cache, and nothing behind the
 *     size that the kernel has for a file. busybox's cat and Python's shutil take that for the end.
 *     So LOOKUP gives the kernel a size, and their READ gets EINVAL, by which they know that
 *     read(2) is the way. A caller of stat(2) gets 0 all the same: the kernel is told to forget the
 *     attributes, and then gets the answer to GETATTR. It gives the caller the size of the answer,
 *     and keeps its own. An open that empties a file and lseek() to its end take the size away, and
 *     LOOKUP brings it again. So only files without both may be cached.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuse/state.h"
#include "model/model.h"
#include "tracefs/tree.h"

enum { PATH_SIZE = 1024, FOR_EVER = 86400 };

static bool child_path(const struct node *parent, const char *name, char *out)
{
	return snprintf(out, PATH_SIZE, "%s%s%s", parent->path, *parent->path ? "/" : "", name) <
	       PATH_SIZE;
}

static bool stays(const struct event *e)
{
	return !e->dynamic && !e->late;
}

/*
 * Only the oldest event is looked at: there may be thousands of probes. If a command made it, the
 * kernel looks the system up each time, also where another event stays.
 */
static bool system_stays(const struct system *sys)
{
	return !list_empty(&sys->events) &&
	       stays(list_entry(sys->events.next, struct event, node));
}

/* The part of the path below an instance, "" for its directory; the path itself at the top. */
static const char *below_instance(const char *path)
{
	if (strncmp(path, "instances/", 10))
		return path;
	path += 10;
	path += strcspn(path, "/");
	return path + (*path == '/');
}

/*
 * Returns for how many seconds the kernel may cache the path: for ever if it is a directory outside
 * of events/ or below events/ and cannot be removed. This holds in an instance, too, and for the
 * instance's own directory (D1).
 */
static double lasting(struct mount_point *m, const char *path)
{
	char system[128], name[128];
	struct system *sys;
	struct event *e;
	int n;

	path = below_instance(path);
	if (!*path || !strcmp(path, "events") || !strcmp(path, "instances"))
		return FOR_EVER;
	n = sscanf(path, "events/%127[^/]/%127[^/]", system, name);
	sys = n > 0 ? model_find_system(m->srv->model, system) : NULL;
	if (!sys || !system_stays(sys))
		return 0;
	e = n == 2 ? model_find_event(m->srv->model, system, name) : NULL;
	/* events/SYSTEM and its files enable and filter; no event has their names. */
	return !e || stays(e) ? FOR_EVER : 0;
}

static int attributes(struct mount_point *m, const char *path, struct stat *out,
		      struct tree_stat *tree)
{
	struct tree_stat st = { 0 };
	int ret = tree_stat(m->srv->tree, path, &st);

	if (ret < 0)
		return ret;
	memset(out, 0, sizeof(*out));
	out->st_ino = st.ino;
	out->st_mode = st.mode;
	out->st_nlink = st.nlink;
	out->st_uid = geteuid();
	out->st_gid = getegid();
	out->st_blksize = 4096;
	out->st_atime = out->st_mtime = out->st_ctime = m->made;
	if (tree)
		*tree = st;
	return 0;
}

/* What the kernel has to have as the size (D2); 0: it is no file that can be read */
static off_t size_inside(const struct mount_point *m, const struct tree_stat *st)
{
	if (st->raw)
		return RAW_SIZE;
	return m->has_sizes && S_ISREG(st->mode) && (st->mode & 0444) ? TEXT_SIZE : 0;
}

static void reply_entry(fuse_req_t req, fuse_ino_t parent, const char *path)
{
	struct fuse_entry_param e = { 0 };
	struct mount_point *m = mount_of(req);
	struct tree_stat st = { 0 };
	int ret = attributes(m, path, &e.attr, &st);
	struct node *n;

	if (ret < 0) {
		fuse_reply_err(req, node_error(node_of(m, parent), -ret));
		return;
	}
	n = st.raw ? node_get_raw(m, path) : node_get(m, path);
	if (!n) {
		fuse_reply_err(req, ENOMEM);
		return;
	}
	n->last = e.attr;
	e.ino = (fuse_ino_t)(uintptr_t)n;
	if (st.follows)
		open_files_named(req, e.ino, true);
	e.attr.st_size = size_inside(m, &st);
	if (!e.attr.st_size || st.endless)
		e.entry_timeout = lasting(m, path);
	if (!e.attr.st_size)
		e.attr_timeout = e.entry_timeout;
	if (fuse_reply_entry(req, &e))
		node_put(m, n, 1);
}

void fuse_on_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	char path[PATH_SIZE];

	if (child_path(node_of(mount_of(req), parent), name, path))
		reply_entry(req, parent, path);
	else
		fuse_reply_err(req, ENAMETOOLONG);
}

void fuse_on_forget(fuse_req_t req, fuse_ino_t ino, uint64_t lookups)
{
	struct mount_point *m = mount_of(req);

	node_put(m, node_of(m, ino), lookups);
	fuse_reply_none(req);
}

void fuse_on_forget_multi(fuse_req_t req, size_t count, struct fuse_forget_data *forgets)
{
	struct mount_point *m = mount_of(req);

	for (size_t i = 0; i < count; i++)
		node_put(m, node_of(m, forgets[i].ino), forgets[i].nlookup);
	fuse_reply_none(req);
}

void fuse_on_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct mount_point *m = mount_of(req);
	struct stat st;
	const struct node *n = node_of(m, ino);
	struct tree_stat tree = { 0 };
	int ret = attributes(m, n->path, &st, &tree);
	const off_t size = size_inside(m, &tree);

	/* fstat(2) of a file that is open succeeds, also if its event or instance is gone. */
	if (ret < 0 && open_file_is(m, ino)) {
		st = n->last;
		st.st_nlink = 0;
		fuse_reply_attr(req, &st, 0);
		return;
	}
	if (ret < 0) {
		fuse_reply_err(req, node_error(n, -ret));
		return;
	}
	/* lseek() asks for the end with the open file, and is no reader as in F5 of file.c. */
	if (fi && tree.endless) {
		fuse_reply_err(req, EINVAL);
		return;
	}
	st.st_size = fi && !tree.raw ? 0 : open_file_size(req, ino);
	if (tree.follows)
		open_files_named(req, ino, false);
	if (size == TEXT_SIZE && !fi)
		fuse_lowlevel_notify_inval_inode(m->se, ino, -1, 0);	/* D2 */
	if (size)
		fuse_reply_attr(req, &st, 0);
	else
		fuse_reply_attr(req, &st, lasting(m, n->path));
}

/*
 * Sent for access(2) and chdir(2), which find a directory in the cache. No file can be executed,
 * also by root.
 */
void fuse_on_access(fuse_req_t req, fuse_ino_t ino, int mask)
{
	struct mount_point *m = mount_of(req);
	const struct node *n = node_of(m, ino);
	struct stat st;

	open_files_named(req, ino, false);
	if (node_is_stale(n))
		fuse_reply_err(req, ESTALE);
	else if ((mask & X_OK) && !attributes(m, n->path, &st, NULL) && S_ISREG(st.st_mode))
		fuse_reply_err(req, EACCES);
	else
		fuse_reply_err(req, 0);
}

/* There are none: a copy with attributes (cp -a) asks for them. */
void fuse_on_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size)
{
	(void)ino;
	if (size)
		fuse_reply_buf(req, NULL, 0);
	else
		fuse_reply_xattr(req, 0);
}

/* Whether the call would change mode or owner. Both are the session's. */
static bool wants_other_rights(const struct stat *now, const struct stat *attr, int to_set)
{
	return ((to_set & FUSE_SET_ATTR_MODE) && ((attr->st_mode ^ now->st_mode) & 07777)) ||
	       ((to_set & FUSE_SET_ATTR_UID) && attr->st_uid != now->st_uid) ||
	       ((to_set & FUSE_SET_ATTR_GID) && attr->st_gid != now->st_gid);
}

/*
 * truncate(2) and touch(1) succeed and change nothing; only open(O_TRUNC) empties a file. Rights
 * cannot be changed: a wider mode would let nobody else into the session.
 */
void fuse_on_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr, int to_set,
			struct fuse_file_info *fi)
{
	struct mount_point *m = mount_of(req);
	struct stat now;

	(void)fi;
	if ((to_set & (FUSE_SET_ATTR_MODE | FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID)) &&
	    attributes(m, node_of(m, ino)->path, &now, NULL) >= 0 &&
	    wants_other_rights(&now, attr, to_set))
		fuse_reply_err(req, EPERM);
	else
		fuse_on_getattr(req, ino, NULL);
}

/* ---- directories: open makes the whole list ---- */

struct listing {
	fuse_req_t	req;
	char		*bytes;
	size_t		len;
	bool		failed;
};

static int dir_add_name(void *arg, const char *name, bool is_dir)
{
	struct listing *l = arg;
	struct stat st = { .st_ino = 1, .st_mode = is_dir ? S_IFDIR : S_IFREG };
	size_t size = fuse_add_direntry(l->req, NULL, 0, name, NULL, 0);
	char *more = realloc(l->bytes, l->len + size);

	if (!more) {
		l->failed = true;
		return -ENOMEM;
	}
	l->bytes = more;
	fuse_add_direntry(l->req, l->bytes + l->len, size, name, &st, (off_t)(l->len + size));
	l->len += size;
	return 0;
}

static void listing_free(struct listing *l)
{
	free(l->bytes);
	free(l);
}

void fuse_on_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct mount_point *m = mount_of(req);
	struct listing *l = calloc(1, sizeof(*l));
	int ret = l ? 0 : -ENOMEM;

	if (l) {
		l->req = req;
		dir_add_name(l, ".", true);
		dir_add_name(l, "..", true);
		ret = tree_list(m->srv->tree, node_of(m, ino)->path, dir_add_name, l);
	}
	if (ret < 0) {
		if (l)
			listing_free(l);
		fuse_reply_err(req, node_error(node_of(m, ino), -ret));
		return;
	}
	l->req = NULL;
	fi->fh = (uintptr_t)l;
	if (fuse_reply_open(req, fi))
		listing_free(l);
}

void fuse_on_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
			struct fuse_file_info *fi)
{
	struct listing *l = (struct listing *)(uintptr_t)fi->fh;
	size_t left = (size_t)off < l->len ? l->len - (size_t)off : 0;

	(void)ino;
	fuse_reply_buf(req, left ? l->bytes + off : NULL, left < size ? left : size);
}

void fuse_on_releasedir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	(void)ino;
	listing_free((struct listing *)(uintptr_t)fi->fh);
	fuse_reply_err(req, 0);
}

void fuse_on_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
	struct mount_point *m = mount_of(req);
	char path[PATH_SIZE];
	int ret = -ENAMETOOLONG;

	(void)mode;
	if (child_path(node_of(m, parent), name, path))
		ret = tree_mkdir(m->srv->tree, path);
	if (ret < 0)
		fuse_reply_err(req, node_error(node_of(m, parent), -ret));
	else
		reply_entry(req, parent, path);
}

void fuse_on_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct mount_point *m = mount_of(req);
	char path[PATH_SIZE];
	int ret = -ENAMETOOLONG;

	if (child_path(node_of(m, parent), name, path))
		ret = tree_rmdir(m->srv->tree, path);
	if (!ret)
		mount_points_forget(m->srv, path, m);
	fuse_reply_err(req, node_error(node_of(m, parent), -ret));
}

/* Returns what tracefs returns to `echo x > nosuchfile`. */
void fuse_on_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
		       struct fuse_file_info *fi)
{
	(void)parent;
	(void)name;
	(void)mode;
	(void)fi;
	fuse_reply_err(req, EACCES);
}

void fuse_on_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t device)
{
	(void)parent;
	(void)name;
	(void)device;
	/* The kernel knows no way to make a file there, and no way at all to make another node. */
	fuse_reply_err(req, S_ISREG(mode) ? EACCES : EPERM);
}

/* Files of tracefs cannot be removed. */
void fuse_on_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	(void)parent;
	(void)name;
	fuse_reply_err(req, EPERM);
}

void fuse_on_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t to,
		    const char *new_name, unsigned int flags)
{
	(void)parent;
	(void)name;
	(void)to;
	(void)new_name;
	(void)flags;
	fuse_reply_err(req, EPERM);
}

void fuse_on_symlink(fuse_req_t req, const char *target, fuse_ino_t parent, const char *name)
{
	(void)target;
	(void)parent;
	(void)name;
	fuse_reply_err(req, EPERM);
}
