/* SPDX-License-Identifier: MIT */
/*
 * mounts.c - mounts of sessions: /proc/self/mounts, and taking them away
 */
#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fronts/mounts.h"
#include "fronts/output.h"

/* The kernel answers for a mount whose server is gone. */
static bool is_stale(const char *dir)
{
	struct stat st;

	return stat(dir, &st) && (errno == ENOTCONN || errno == ECONNABORTED);
}

int mounts_each(void (*fn)(void *arg, const char *dir, bool stale), void *arg)
{
	FILE *f = setmntent("/proc/self/mounts", "re");
	struct mntent *m;
	int nr = 0;

	while (f && (m = getmntent(f))) {
		if (strcmp(m->mnt_type, "fuse.tracefuse"))
			continue;
		nr++;
		if (fn)
			fn(arg, m->mnt_dir, is_stale(m->mnt_dir));
	}
	if (f)
		endmntent(f);
	return nr;
}

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

int mounts_remove(const char *dir)
{
	if (!umount2(dir, MNT_DETACH | UMOUNT_NOFOLLOW))
		return 0;
	return errno == EPERM ? run_fusermount(dir) : -errno;
}

static void remove_stale(void *arg, const char *dir, bool stale)
{
	if (stale && !mounts_remove(dir))
		++*(int *)arg;
}

int mounts_clean(void)
{
	int nr = 0;

	mounts_each(remove_stale, &nr);
	return nr;
}
