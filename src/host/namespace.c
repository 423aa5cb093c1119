/* SPDX-License-Identifier: MIT */
/*
 * namespace.c - a process whose /sys/kernel/tracing is a session's directory
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "host/mounts.h"
#include "host/namespace.h"

#define TRACING NAMESPACE_TRACING
#define DEBUG_TRACING "/sys/kernel/debug/tracing"

static int write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : write(fd, text, strlen(text));

	if (fd >= 0)
		close(fd);
	return n < 0 ? -errno : 0;
}

/* After this call the process has mounts of its own. 0 or -errno. */
static int leave_namespaces(void)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();
	char map[64];
	int ret;

	if (unshare(uid ? CLONE_NEWNS | CLONE_NEWUSER : CLONE_NEWNS))
		return errno == ENOSPC ? -EPERM : -errno;	/* user.max_user_namespaces */
	if (uid) {
		write_file("/proc/self/setgroups", "deny");
		snprintf(map, sizeof(map), "0 %u 1\n", (unsigned int)uid);
		ret = write_file("/proc/self/uid_map", map);
		if (ret)
			return ret;
		snprintf(map, sizeof(map), "0 %u 1\n", (unsigned int)gid);
		ret = write_file("/proc/self/gid_map", map);
		if (ret)
			return ret;
	}
	return mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ? -errno : 0;
}

/*
 * Tools look for a line of type tracefs in /proc/mounts. If there is none, they mount the kernel's
 * tracefs over the session. So the kernel's tracefs is mounted first, and the session covers it. It
 * is read-only, in case a script unmounts the session.
 */
static void mount_below(void)
{
	const unsigned long kept = MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_NOATIME | MS_NODIRATIME;
	unsigned long flags = MS_REMOUNT | MS_BIND | MS_RDONLY;
	struct statfs st;

	if (access(TRACING "/README", F_OK))
		mount("nodev", TRACING, "tracefs", 0, NULL);
	if (statfs(TRACING, &st) || st.f_type != TRACEFS_MAGIC)
		return;
	/*
	 * The ST_* bits of f_flags equal these MS_* bits. Only this mount changes, no mount of the
	 * host.
	 */
	flags |= (unsigned long)st.f_flags & kept;
	if (mount(NULL, TRACING, NULL, flags, NULL))
		errno = 0;	/* not a mount: on this host it is a plain directory */
}

static int mount_session(int *fuse_fd)
{
	char options[128];
	int fd;

	mount_below();
	fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT || errno == ENXIO ? -ENODEV :
		       errno == EPERM ? -EACCES : -errno;
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=%u,group_id=%u", fd,
		 (unsigned int)geteuid(), (unsigned int)getegid());
	if (mount("tracefs", TRACING, "fuse.tracefuse", MS_NOSUID | MS_NODEV, options)) {
		int ret = errno == EPERM || errno == EACCES ? -ENOTSUP : -errno;

		close(fd);
		return ret;
	}
	*fuse_fd = fd;
	return 0;
}

/* Mounts what trace-cmd and perf-tools use besides. The rest works without these mounts. */
static void mount_extras(void)
{
	char name[] = "/tmp/tracefuse-XXXXXX";
	int fd;

	if (!access("/sys/kernel/debug", X_OK)) {
		if (access(DEBUG_TRACING, F_OK))
			mount("nodev", "/sys/kernel/debug", "debugfs", 0, NULL);
		if (mount(TRACING, DEBUG_TRACING, NULL, MS_BIND, NULL))
			errno = 0;	/* this kernel has no such directory */
	}
	/*
	 * trace-cmd records symbols from /proc/kallsyms: these shall be the session's, if it has
	 * any.
	 */
	if (!access(TRACING "/kallsyms", F_OK))
		mount(TRACING "/kallsyms", "/proc/kallsyms", NULL, MS_BIND, NULL);
	/* trace-cmd stack switches the stack tracer there, on kernels that have one. */
	if (!access(TRACING "/stack_tracer_enabled", F_OK))
		mount(TRACING "/stack_tracer_enabled", "/proc/sys/kernel/stack_tracer_enabled",
		      NULL, MS_BIND, NULL);
	fd = mkstemp(name);
	if (fd < 0)
		return;
	if (write(fd, "1\n", 2) == 2)
		mount(name, "/proc/sys/kernel/ftrace_enabled", NULL, MS_BIND, NULL);
	close(fd);
	unlink(name);
}

int namespace_enter(int *fuse_fd)
{
	int ret = leave_namespaces();

	return ret ? ret : mount_session(fuse_fd);
}

int namespace_cover(void)
{
	static const char *const places[] = { TRACING, DEBUG_TRACING };
	struct statfs st;

	mount_extras();
	for (int i = 0; i < 2; i++)
		if (!statfs(places[i], &st) && st.f_type == TRACEFS_MAGIC)
			return -EBUSY;
	return 0;
}

const char *namespace_error(int ret)
{
	switch (-ret) {
	case ENODEV:	return "there is no /dev/fuse here: root can `modprobe fuse`";
	case ENOENT:	return "there is no directory " TRACING " here to mount at";
	case EACCES:	return "/dev/fuse may not be opened: root can `chmod 666 /dev/fuse`";
	case EPERM:	return "a mount name space of your own is not permitted here: root can, or "
			       "`sysctl user.max_user_namespaces` is 0";
	case ENOTSUP:	return "a session may not be mounted at " TRACING " here";
	case EBUSY:	return "the kernel's own tracing files cannot be covered";
	default:	return strerror(-ret);
	}
}

bool namespace_misleads(void)
{
	return !mounts_have(TRACING, "tracefs", NULL);
}
