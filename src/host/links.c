/* SPDX-License-Identifier: MIT */
/*
 * links.c - walks a path component by component, and checks each link before it follows it
 *
 * Each step uses O_NOFOLLOW, so a component that becomes a link after the check is refused.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "host/links.h"

enum { LINKS_MAX = 40, STEP = O_PATH | O_DIRECTORY | O_CLOEXEC };

struct walk {
	int		dir;		/* O_PATH */
	char		*path;		/* allocated; the rest of the path is in it */
	char		*rest;		/* in `path`: where the rest begins */
	unsigned int	links;
};

static bool in_proc(int dir)
{
	struct statfs fs;

	return !fstatfs(dir, &fs) && fs.f_type == PROC_SUPER_MAGIC;
}

/* The rule of protected_symlinks. */
static bool may_follow(int dir, const char *name)
{
	struct stat d, l;

	if (fstat(dir, &d) || fstatat(dir, name, &l, AT_SYMLINK_NOFOLLOW))
		return false;
	if (!(d.st_mode & S_ISVTX) || !(d.st_mode & S_IWOTH))
		return true;
	return l.st_uid == geteuid() || l.st_uid == d.st_uid;
}

static int links_enter(struct walk *w, int dir)
{
	if (dir < 0)
		return -errno;
	if (w->dir >= 0)
		close(w->dir);
	w->dir = dir;
	return 0;
}

/* Puts the link's target in front of the rest of the path, and goes on with that. */
static int follow(struct walk *w, const char *name, const char *target)
{
	char *path;

	if (!may_follow(w->dir, name))
		return -EACCES;
	if (++w->links > LINKS_MAX)
		return -ELOOP;
	if (asprintf(&path, "%s%s", target, w->rest) < 0)
		return -ENOMEM;
	free(w->path);
	w->path = w->rest = path;
	return *path == '/' ? links_enter(w, open("/", STEP)) : 0;
}

/* Cuts the next component off. After that w->rest begins with the slash behind it. */
static int next_name(struct walk *w, char name[NAME_MAX + 1])
{
	size_t n;

	w->rest += strspn(w->rest, "/");
	n = strcspn(w->rest, "/");
	if (n > NAME_MAX)
		return -ENAMETOOLONG;
	memcpy(name, w->rest, n);
	name[n] = '\0';
	w->rest += n;
	return 0;
}

/*
 * Takes one step. Returns 1 if `name` is the last component and no link to follow, else 0 or
 * -errno.
 */
static int links_step(struct walk *w, char name[NAME_MAX + 1])
{
	const bool proc = in_proc(w->dir);
	char target[PATH_MAX];
	ssize_t n;
	int ret = next_name(w, name);

	if (ret)
		return ret;
	if (!*name)
		return -EISDIR;
	n = proc ? -1 : readlinkat(w->dir, name, target, sizeof(target) - 1);
	if (n >= 0) {
		target[n] = '\0';
		return follow(w, name, target);
	}
	if (!*w->rest)
		return strcmp(name, ".") && strcmp(name, "..") ? 1 : -EISDIR;
	return links_enter(w, openat(w->dir, name, STEP | (proc ? 0 : O_NOFOLLOW)));
}

int links_resolve(const char *path, char name[NAME_MAX + 1])
{
	struct walk w = { .dir = -1, .path = strdup(path) };
	int ret = !w.path ? -ENOMEM : *path ? 0 : -ENOENT;

	w.rest = w.path;
	if (!ret)
		ret = links_enter(&w, open(*path == '/' ? "/" : ".", STEP));
	while (!ret)
		ret = links_step(&w, name);
	free(w.path);
	if (ret < 0 && w.dir >= 0)
		close(w.dir);
	return ret < 0 ? ret : w.dir;
}

int links_open(const char *path, int flags, mode_t mode)
{
	char name[NAME_MAX + 1];
	int dir = links_resolve(path, name), fd;

	if (dir < 0)
		return dir;
	fd = openat(dir, name, flags | O_CLOEXEC | (in_proc(dir) ? 0 : O_NOFOLLOW), mode);
	fd = fd < 0 ? -errno : fd;
	close(dir);
	return fd;
}

int links_mkdir(const char *path, mode_t mode)
{
	char *copy = strdup(path), name[NAME_MAX + 1];
	size_t n = copy ? strlen(copy) : 0;
	int dir, ret;

	if (!copy)
		return -ENOMEM;
	while (n > 1 && copy[n - 1] == '/')
		copy[--n] = '\0';
	dir = links_resolve(copy, name);
	free(copy);
	if (dir < 0)
		return dir == -EISDIR ? -EEXIST : dir;
	ret = mkdirat(dir, name, mode) ? -errno : 0;
	close(dir);
	return ret;
}
