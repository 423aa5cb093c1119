/* SPDX-License-Identifier: MIT */
/* none.c - the functions of mounts in a build without FUSE: none can be made */
#include <errno.h>
#include <stddef.h>
#include <unistd.h>

#include "server/state.h"

struct mount_point *mount_point_of(struct list_head *node)
{
	(void)node;
	return NULL;
}

int mount_point_create(struct server *srv, const char *dir, int fd)
{
	(void)srv;
	(void)dir;
	if (fd >= 0)
		close(fd);
	return -ENOTSUP;
}

void mount_point_destroy(struct mount_point *m)
{
	(void)m;
}

const char *mount_point_dir(const struct mount_point *m)
{
	(void)m;
	return "";
}

int mount_point_fd(const struct mount_point *m)
{
	(void)m;
	return -1;
}

void mount_points_forget(struct server *srv, const char *dir, const struct mount_point *by)
{
	(void)srv;
	(void)dir;
	(void)by;
}

bool mount_point_serve(struct mount_point *m)
{
	(void)m;
	return false;
}

bool mount_point_retry(struct mount_point *m)
{
	(void)m;
	return false;
}
