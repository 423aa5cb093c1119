/* SPDX-License-Identifier: MIT */
/* mounts.c - mounts of sessions: finds them in /proc/self/mounts, prepares and removes them */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/message.h"
#include "host/links.h"
#include "host/mounts.h"
#include "host/namespace.h"
#include "host/output.h"

enum { ANSWER_MS = 1000 };

/* It has no descriptor but `out`: nobody is to wait for the end of its output. */
static _Noreturn void ask_mount(const char *dir, int out)
{
	struct stat st;

	dup2(out, STDIN_FILENO);
	if (syscall(SYS_close_range, STDOUT_FILENO, ~0u, 0))
		for (int fd = (int)sysconf(_SC_OPEN_MAX); fd >= STDOUT_FILENO; fd--)
			close(fd);
	if (stat(dir, &st) && (errno == ENOTCONN || errno == ECONNABORTED))
		(void)!write(STDIN_FILENO, "s", 1);
	_exit(0);
}

/* Returns at once. Who asks is nobody's child here, so that nobody waits for it. */
static void ask_beside(const char *dir, int out)
{
	const pid_t child = fork();

	if (!child) {
		if (!fork())
			ask_mount(dir, out);
		_exit(0);
	}
	while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
}

/*
 * If the server of a mount is gone, the kernel itself answers with ENOTCONN. A server that is
 * stopped or hangs does not answer, and it is not gone. A task that asks it cannot even be killed.
 */
static bool is_stale(const char *dir)
{
	struct pollfd answer = { .events = POLLIN };
	char stale = 0;
	int fds[2];

	if (pipe2(fds, O_CLOEXEC))
		return false;
	ask_beside(dir, fds[1]);
	close(fds[1]);
	answer.fd = fds[0];
	if (poll(&answer, 1, ANSWER_MS) == 1)
		(void)!read(fds[0], &stale, 1);
	close(fds[0]);
	return stale;
}

int mounts_each(void (*fn)(void *arg, const char *dir), void *arg)
{
	FILE *f = setmntent("/proc/self/mounts", "re");
	struct mntent *m;
	int nr = 0;

	while (f && (m = getmntent(f))) {
		if (strcmp(m->mnt_type, "fuse.tracefuse"))
			continue;
		nr++;
		if (fn)
			fn(arg, m->mnt_dir);
	}
	if (f)
		endmntent(f);
	return nr;
}

bool mounts_have(const char *dir, const char *type, const char *from)
{
	FILE *f = setmntent("/proc/self/mounts", "re");
	struct mntent *m;
	bool found = false;

	while (f && !found && (m = getmntent(f)))
		found = !strcmp(m->mnt_dir, dir) && !strcmp(m->mnt_type, type) &&
			(!from || !strcmp(m->mnt_fsname, from));
	if (f)
		endmntent(f);
	return found;
}

/* ---- a tracefs below the session ---- */

static const char below_source[] = "tracefuse";

/* Whether the topmost mount at `dir` is a tracefs that remove_below() may remove. */
static bool is_below(const char *dir)
{
	struct statfs st;

	return mounts_have(dir, "tracefs", below_source) && !statfs(dir, &st) &&
	       st.f_type == TRACEFS_MAGIC;
}

static void remove_below(const char *dir)
{
	if (is_below(dir))
		umount2(dir, MNT_DETACH | UMOUNT_NOFOLLOW);
}

static void put_below(const char *dir)
{
	if (strcmp(dir, NAMESPACE_TRACING) || mounts_have(dir, "tracefs", NULL) ||
	    !mount(below_source, dir, "tracefs", 0, NULL))
		return;
	fprintf(stderr,
		"tracefuse: no tracefs could be mounted below %s: %s; trace-cmd, run by root, "
		"would mount the kernel's files over the session: use `tracefuse shell`\n",
		dir, strerror(errno));
}

/* ---- unmount ---- */

static int run_fusermount(const char *dir)
{
	pid_t child = fork();
	int status;

	if (child < 0)
		return -errno;
	if (!child) {
		output_signals_restore();
		execlp("fusermount3", "fusermount3", "-u", "-z", "--", dir, (char *)NULL);
		_exit(127);
	}
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) && !WEXITSTATUS(status) ? 0 : -EPERM;
}

static int remove_mount(const char *dir)
{
	if (!umount2(dir, MNT_DETACH | UMOUNT_NOFOLLOW))
		return 0;
	return errno == EPERM ? run_fusermount(dir) : -errno;
}

int mounts_remove(const char *dir)
{
	int ret = remove_mount(dir);

	if (!ret)
		remove_below(dir);
	return ret;
}

static void remove_stale(void *arg, const char *dir)
{
	if (is_stale(dir) && !mounts_remove(dir))
		++*(int *)arg;
}

int mounts_clean(void)
{
	int nr = 0;

	mounts_each(remove_stale, &nr);
	/* The session that was mounted over it may have ended by itself. */
	remove_below(NAMESPACE_TRACING);
	return nr;
}

/* ---- where to mount ---- */

struct place {
	const char	*dir;
	bool		mounted, stale;
};

static void mounts_look_at(void *arg, const char *dir)
{
	struct place *p = arg;

	if (strcmp(dir, p->dir))
		return;
	p->mounted = true;
	p->stale = is_stale(dir);
}

/* A mount would hide the files that are in the directory. */
static int check_empty(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *d;
	int err = dir ? 0 : -errno;

	while (dir && !err && (d = readdir(dir)))
		if (strcmp(d->d_name, ".") && strcmp(d->d_name, ".."))
			err = -ENOTEMPTY;
	if (dir)
		closedir(dir);
	return err;
}

int mounts_prepare(const char *dir, bool force, char *out)
{
	struct place p = { .dir = out };
	struct stat st;
	int ret = links_mkdir(dir, 0755);

	if (ret && ret != -EEXIST)
		return ret;
	if (!realpath(dir, out))
		return -errno;
	mounts_each(mounts_look_at, &p);
	if (p.mounted && !p.stale)
		return -EBUSY;
	if (p.stale)
		mounts_remove(out);
	if (stat(out, &st))
		return -errno;
	if (!S_ISDIR(st.st_mode))
		return -ENOTDIR;
	remove_below(out);
	ret = force ? 0 : check_empty(out);
	if (!ret)
		put_below(out);
	return ret;
}

static const char *mount_error(int err)
{
	switch (-err) {
	case ENODEV:
		return "there is no /dev/fuse here; `tracefuse ls`, `cat`, `write` and `append` "
		       "work without it";
	case ENOTSUP:	return "built without FUSE; `tracefuse ls`, `cat`, `write` and `append` "
			       "work without it";
	case EPERM:
		return access("/dev/fuse", R_OK | W_OK)
			       ? "you may not open /dev/fuse; `tracefuse ls`, `cat`, `write` and "
				 "`append` work without it"
			       : "not permitted: is fusermount3 installed, and is the directory "
				 "yours?";
	case ENOTEMPTY:	return "it is not empty; --force hides what is there";
	case EBUSY:	return "a session is mounted there";
	default:	return strerror(-err);
	}
}

int mounts_failed(const char *dir, int err)
{
	remove_below(NAMESPACE_TRACING);
	return message_error("cannot mount at %s: %s", dir ? dir : "the session's directory",
			     mount_error(err));
}
