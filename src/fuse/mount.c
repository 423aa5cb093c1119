/* SPDX-License-Identifier: MIT */
/* mount.c - a mount of the server: mount, serve, unmount */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "fuse/state.h"

enum { BATCH = 64 };	/* requests answered before the loop looks at others */

struct mount_point *mount_point_of(struct list_head *node)
{
	return list_entry(node, struct mount_point, node);
}

const char *mount_point_dir(const struct mount_point *m)
{
	return m->dir;
}

int mount_point_fd(const struct mount_point *m)
{
	return fuse_session_fd(m->se);
}

/*
 * Whether `dir` is inside a mount of this server. The kernel would ask this very thread about it,
 * and wait for ever.
 */
static bool is_mounted(struct server *srv, const char *dir)
{
	for (struct list_head *l = srv->mounts.next; l != &srv->mounts; l = l->next) {
		struct mount_point *m = mount_point_of(l);
		size_t n = strlen(m->dir);

		if (!m->adopted && !strncmp(dir, m->dir, n) && (dir[n] == '/' || !dir[n]))
			return true;
	}
	return false;
}

/* FUSE would also mount at a file, which is refused. */
static bool is_directory(const char *dir)
{
	int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* Since Linux 6.5 splice(2) of a file with direct_io goes through the page cache (D2 of dir.c). */
static bool splice_needs_size(void)
{
	unsigned int major, minor;
	struct utsname u;

	return uname(&u) || sscanf(u.release, "%u.%u", &major, &minor) != 2 || major > 6 ||
	       (major == 6 && minor >= 5);
}

static int open_session(struct mount_point *m, const char *target)
{
	char *argv[] = { "tracefuse", "-o", "fsname=tracefs,subtype=tracefuse", NULL };
	struct fuse_args args = FUSE_ARGS_INIT(3, argv);
	int fd;

	m->se = fuse_session_new(&args, &fuse_ops, sizeof(fuse_ops), m);
	fuse_opt_free_args(&args);
	if (!m->se)
		return -ENOMEM;
	if (fuse_session_mount(m->se, target)) {
		fuse_session_destroy(m->se);
		return access("/dev/fuse", F_OK) ? -ENODEV : -EPERM;
	}
	fd = fuse_session_fd(m->se);
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	return 0;
}

int mount_point_create(struct server *srv, const char *dir, int fd)
{
	struct mount_point *m = calloc(1, sizeof(*m));
	char target[32];
	int ret = -ENOMEM;

	if (!m)
		goto close_fd;
	m->srv = srv;
	m->adopted = fd >= 0;
	m->made = time(NULL);
	m->has_sizes = splice_needs_size();
	m->root.path = "";
	list_init(&m->alone);
	list_init(&m->waits);
	list_init(&m->files);
	m->dir = strdup(dir);
	if (!m->dir)
		goto free_mount;
	ret = -EBUSY;
	if (fd < 0 && is_mounted(srv, dir))
		goto free_mount;
	ret = -ENOTDIR;
	if (fd < 0 && !is_directory(dir))
		goto free_mount;
	snprintf(target, sizeof(target), "/dev/fd/%d", fd);
	ret = open_session(m, fd >= 0 ? target : dir);
	if (ret)
		goto free_mount;
	list_add_tail(&m->node, &srv->mounts);
	return 0;

free_mount:
	free(m->dir);
	free(m);
close_fd:
	if (fd >= 0)
		close(fd);
	return ret;
}

void mount_point_destroy(struct mount_point *m)
{
	struct fuse_wait *w, *next;

	list_each_safe(w, next, &m->waits, node) {
		w->interrupted = w->unmounts = true;
		fuse_wait_retry(w);
	}
	/* If a mount is removed while files are open, the kernel sends no RELEASE for them. */
	while (!list_empty(&m->files))
		open_file_destroy(list_entry(m->files.next, struct open_file, node));
	fuse_session_unmount(m->se);
	fuse_session_destroy(m->se);
	nodes_destroy(m);
	list_del(&m->node);
	free(m->buf.mem);
	free(m->dir);
	free(m);
}

void mount_points_forget(struct server *srv, const char *dir, const struct mount_point *by)
{
	for (struct list_head *l = srv->mounts.next; l != &srv->mounts; l = l->next) {
		struct mount_point *m = mount_point_of(l);

		nodes_forget(m, dir, m == by ? NODE_REMOVED : NODE_STALE);
	}
}

bool mount_point_serve(struct mount_point *m)
{
	for (int i = 0; i < BATCH; i++) {
		int n = fuse_session_receive_buf(m->se, &m->buf);

		if (n == -EINTR || n == -EAGAIN)
			return true;
		if (n <= 0 || fuse_session_exited(m->se))
			return false;
		fuse_session_process_buf(m->se, &m->buf);
	}
	return true;
}

bool mount_point_retry(struct mount_point *m)
{
	struct fuse_wait *w, *next_wait;
	struct open_file *f;
	bool waiting = false;

	list_each_safe(w, next_wait, &m->waits, node)
		fuse_wait_retry(w);
	list_each(f, &m->files, node)
		waiting |= open_file_wake(f);
	return waiting || !list_empty(&m->waits);
}
