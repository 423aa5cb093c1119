/* SPDX-License-Identifier: MIT */
/*
 * cmd_shell.c - `tracefuse shell`: a program that sees the session at /sys/kernel/tracing
 *
 * In a mount name space of its own (with a user name space where one is not
 * root) /dev/fuse is opened and mounted here, and the descriptor goes to the
 * session's server, which serves it. When the program ends, the name space
 * and the mount are gone.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fronts/client.h"
#include "fronts/options.h"
#include "fronts/wire.h"

#define TRACING "/sys/kernel/tracing"
#define DEBUG_TRACING "/sys/kernel/debug/tracing"

static int write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : write(fd, text, strlen(text));

	if (fd >= 0)
		close(fd);
	return n < 0 ? -errno : 0;
}

/* 0 or -errno; afterwards mounts are this process's own. */
static int leave_namespaces(void)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();
	char map[64];
	int ret;

	if (unshare(uid ? CLONE_NEWNS | CLONE_NEWUSER : CLONE_NEWNS))
		return -errno;
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
 * Tools look for a line of type tracefs in /proc/mounts, and mount the real one
 * over everything when there is none: so the real one lies below, covered.
 */
static int mount_session(int *fuse_fd)
{
	char options[128];
	int fd;

	if (access(TRACING "/README", F_OK))
		mount("nodev", TRACING, "tracefs", 0, NULL);
	fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=%u,group_id=%u", fd,
		 (unsigned int)geteuid(), (unsigned int)getegid());
	if (mount("tracefs", TRACING, "fuse.tracefuse", MS_NOSUID | MS_NODEV, options)) {
		int ret = -errno;

		close(fd);
		return ret;
	}
	*fuse_fd = fd;
	return 0;
}

/* What trace-cmd and perf-tools want besides; without them the rest works. */
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
	fd = mkstemp(name);
	if (fd < 0)
		return;
	if (write(fd, "1\n", 2) == 2)
		mount(name, "/proc/sys/kernel/ftrace_enabled", NULL, MS_BIND, NULL);
	close(fd);
	unlink(name);
}

static int explain(int ret)
{
	if (ret == -ENOENT || ret == -ENODEV || ret == -ENXIO)
		return command_error("shell: there is no /dev/fuse or no " TRACING " here; `tracefuse ls`, "
				     "`cat`, `write`, `append` and `paste` do without");
	if (ret == -EPERM || ret == -EACCES)
		return command_error("shell: name spaces or /dev/fuse are not permitted here; `tracefuse ls`, "
				     "`cat`, `write`, `append` and `paste` do without");
	return command_error("shell: %s", strerror(-ret));
}

static int run_program(char **argv)
{
	const char *shell = getenv("SHELL");
	char *just_shell[] = { (char *)(shell && *shell ? shell : "/bin/sh"), NULL };

	if (!*argv)
		argv = just_shell;
	if (chdir(TRACING))
		return command_error("shell: " TRACING ": %s", strerror(errno));
	execvp(argv[0], argv);
	command_error("shell: %s: %s", argv[0], strerror(errno));
	return errno == ENOENT ? 127 : 126;
}

static int enter(struct access *a)
{
	int fd = -1, ret = leave_namespaces();

	if (!ret)
		ret = mount_session(&fd);
	if (ret)
		return explain(ret);
	ret = client_request(a, WIRE_ADOPT, TRACING, fd, NULL);
	close(fd);
	if (ret < 0)
		return command_error("shell: the server cannot serve the mount: %s", strerror(-ret));
	mount_extras();
	return COMMAND_DONE;
}

static int run(int argc, char **argv)
{
	const char *name = NULL;
	int status = options_parse(&command_shell, argc, argv, &name, NULL, NULL);
	struct access *a;
	char *session;

	if (status)
		return status;
	/* getopt steps over "--": a word before it is the session. */
	if (optind < argc && strcmp(argv[optind - 1], "--")) {
		name = argv[optind++];
		if (optind < argc && strcmp(argv[optind++], "--"))
			return command_usage(&command_shell, "the command comes behind --");
	}
	session = client_session(&command_shell, name);
	a = session ? client_connect(&command_shell, session) : NULL;
	if (!a) {
		free(session);
		return COMMAND_FAILED;
	}
	setenv("TRACEFUSE_SESSION", session, 1);
	free(session);
	status = enter(a);
	access_close(a);
	return status ? status : run_program(argv + optind);
}

const struct command command_shell = {
	.name = "shell",
	.summary = "run a program that sees the session at /sys/kernel/tracing",
	.run = run,
	.help =
"usage: tracefuse shell [SESSION] [-- COMMAND ARGUMENTS...]\n"
"\n"
"Runs COMMAND (without one your shell) in a private mount name space where the\n"
"session's files are at /sys/kernel/tracing, and in that directory: trace-cmd and\n"
"other tools work on the session and do not reach the kernel's own files. Needs\n"
"/dev/fuse, and user name spaces where you are not root.\n"
"\n"
"    tracefuse shell -- trace-cmd list -e\n",
};
