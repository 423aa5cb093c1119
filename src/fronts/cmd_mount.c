/* SPDX-License-Identifier: MIT */
/*
 * cmd_mount.c - `tracefuse mount`: a session's files as a directory
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

static int run(int argc, char **argv)
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
	a = client_connect_to(&command_mount, name);
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
		status = client_print_mounts(a);
	access_close(a);
	return status;
}

const struct command command_mount = {
	.name = "mount",
	.summary = "serve a session's files as a directory (FUSE)",
	.run = run,
	.help =
"usage: tracefuse mount [SESSION [DIRECTORY]]\n"
"\n"
"Mounts a session's tracing directory at DIRECTORY, which is made when it does not\n"
"exist; without it inside the session's own directory, whose path is printed. A\n"
"session whose server died is re-opened with all that it had; mounts that a dead\n"
"server left behind are taken away. Needs /dev/fuse, and fusermount3 where you are\n"
"not root.\n",
};
