/* SPDX-License-Identifier: MIT */
/*
 * cmd_mount.c - `tracefuse mount`, `umount` and `dir`: a session's files as a directory
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fronts/client.h"
#include "fronts/mounts.h"
#include "fronts/options.h"
#include "fronts/wire.h"

static struct access *connect_to(const struct command *cmd, const char *name)
{
	char *session = client_session(cmd, name);
	struct access *a = session ? client_connect(cmd, session) : NULL;

	free(session);
	return a;
}

static int explain_mount(const char *dir, int ret)
{
	if (ret == -ENODEV)
		return command_error("mount: there is no /dev/fuse here; `tracefuse ls`, `cat`, `write` and "
				     "`append` do without");
	if (ret == -ENOTSUP)
		return command_error("mount: built without FUSE; `tracefuse ls`, `cat`, `write` and `append` "
				     "do without");
	if (ret == -EPERM)
		return command_error("mount: not permitted: is fusermount3 installed, and %s yours?",
				     dir ? dir : "the directory");
	return command_error("mount: %s: %s", dir ? dir : "the session's directory", strerror(-ret));
}

/* The server has another working directory. */
static bool whole_path(const char *dir, char *out)
{
	if (mkdir(dir, 0755) && errno != EEXIST) {
		command_error("mount: %s: %s", dir, strerror(errno));
		return false;
	}
	if (realpath(dir, out))
		return true;
	command_error("mount: %s: %s", dir, strerror(errno));
	return false;
}

static int print_mounts(struct access *a, unsigned int from)
{
	char *info, dir[PATH_MAX];
	int ret = client_request(a, WIRE_INFO, "", -1, &info);
	unsigned int nr = from;

	if (ret < 0)
		return command_error("the server does not answer: %s", strerror(-ret));
	while (client_info(info, "mount", nr, dir, sizeof(dir))) {
		printf("%s\n", dir);
		nr++;
	}
	free(info);
	return nr == from ? COMMAND_FAILED : COMMAND_DONE;
}

static int run_mount(int argc, char **argv)
{
	const char *name = NULL;
	int status = options_parse(&command_mount, argc, argv, &name, NULL, NULL);
	char dir[PATH_MAX] = "";
	struct access *a;
	int ret;

	if (status)
		return status;
	if (argc - optind > 2)
		return command_usage(&command_mount, "too many arguments");
	if (optind < argc)
		name = argv[optind];
	ret = mounts_clean();
	if (ret)
		fprintf(stderr, "tracefuse: took away %d mount%s of dead servers\n", ret, ret > 1 ? "s" : "");
	a = connect_to(&command_mount, name);
	if (!a)
		return COMMAND_FAILED;
	if (optind + 1 < argc && !whole_path(argv[optind + 1], dir)) {
		access_close(a);
		return COMMAND_FAILED;
	}
	ret = client_request(a, WIRE_MOUNT, dir, -1, NULL);
	if (ret == -EBUSY && !*dir)
		ret = 0;	/* it is mounted there already */
	if (ret < 0)
		status = explain_mount(*dir ? dir : NULL, ret);
	else if (!*dir)
		status = print_mounts(a, 0);
	access_close(a);
	return status;
}

static int unmount_all(struct access *a, unsigned int *nr)
{
	char *info, dir[PATH_MAX];
	int ret = client_request(a, WIRE_INFO, "", -1, &info), status = COMMAND_DONE;

	if (ret < 0)
		return command_error("umount: the server does not answer: %s", strerror(-ret));
	for (*nr = 0; client_info(info, "mount", *nr, dir, sizeof(dir)); (*nr)++) {
		ret = mounts_remove(dir);
		/* -EINVAL: not a mount point of this name space, as in another shell's. */
		if (ret && ret != -EINVAL)
			status = command_error("umount: %s: %s", dir, strerror(-ret));
	}
	free(info);
	return status;
}

struct wanted {
	const char	*dir;
	bool		found;
};

static void match_dir(void *arg, const char *dir, bool stale)
{
	struct wanted *w = arg;

	(void)stale;
	w->found |= !strcmp(dir, w->dir);
}

/* DIR where a session is mounted, stale or not. */
static bool is_mount(const char *argument, char *dir)
{
	struct wanted w = { .dir = dir };
	char parent[PATH_MAX];
	const char *slash = strrchr(argument, '/');

	if (!slash)
		return false;
	/* Not realpath(argument): a stale mount cannot be looked at. */
	snprintf(parent, sizeof(parent), "%.*s", (int)(slash - argument), argument);
	if (!realpath(*parent ? parent : "/", dir))
		return false;
	snprintf(dir + strlen(dir), PATH_MAX - strlen(dir), "%s", slash + (dir[1] == '\0'));
	mounts_each(match_dir, &w);
	return w.found;
}

static int run_umount(int argc, char **argv)
{
	const char *name = NULL;
	int status = options_parse(&command_umount, argc, argv, &name, NULL, NULL);
	char dir[PATH_MAX];
	struct access *a;
	unsigned int nr = 0;
	int ret;

	if (status)
		return status;
	if (argc - optind > 1)
		return command_usage(&command_umount, "too many arguments");
	if (optind < argc && is_mount(argv[optind], dir)) {
		ret = mounts_remove(dir);
		return ret ? command_error("umount: %s: %s", dir, strerror(-ret)) : COMMAND_DONE;
	}
	ret = mounts_clean();
	a = connect_to(&command_umount, optind < argc ? argv[optind] : name);
	if (!a)
		return COMMAND_FAILED;
	status = unmount_all(a, &nr);
	if (!nr && !ret)
		status = command_error("umount: it is not mounted");
	access_close(a);
	return status;
}

static int run_dir(int argc, char **argv)
{
	const char *name = NULL;
	int status = options_parse(&command_dir, argc, argv, &name, NULL, NULL);
	struct access *a;

	if (status)
		return status;
	if (argc - optind > 1)
		return command_usage(&command_dir, "too many arguments");
	a = connect_to(&command_dir, optind < argc ? argv[optind] : name);
	if (!a)
		return COMMAND_FAILED;
	status = print_mounts(a, 0);
	if (status)
		command_error("dir: it is not mounted: `tracefuse mount` mounts it");
	access_close(a);
	return status;
}

const struct command command_mount = {
	.name = "mount",
	.summary = "serve a session's files as a directory (FUSE)",
	.run = run_mount,
	.help =
"usage: tracefuse mount [SESSION [DIRECTORY]]\n"
"\n"
"Mounts a session's tracing directory at DIRECTORY, which is made when it does not\n"
"exist; without it inside the session's own directory, whose path is printed. A\n"
"session whose server died is re-opened with all that it had; mounts that a dead\n"
"server left behind are taken away. Needs /dev/fuse, and fusermount3 where you are\n"
"not root.\n",
};

const struct command command_umount = {
	.name = "umount",
	.summary = "take a mount away",
	.run = run_umount,
	.help =
"usage: tracefuse umount [SESSION | DIRECTORY]\n"
"\n"
"Takes away the mounts of a session, or the one at DIRECTORY, also while files in it\n"
"are open and when its server is dead. A session that was made for a mount only\n"
"(replay --mount without --session) ends with its last mount.\n",
};

const struct command command_dir = {
	.name = "dir",
	.summary = "print where a session is mounted: cd $(tracefuse dir)",
	.run = run_dir,
	.help =
"usage: tracefuse dir [SESSION]\n"
"\n"
"Prints the directories where a session is mounted.\n",
};
