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
#include "fronts/server.h"
#include "fronts/wire.h"
#include "session/session.h"

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

/* A session that is named and not there is made: programs attach to it by themselves. */
static struct access *connect_or_make(const char *name)
{
	struct access *a;
	int ret = name ? access_connect(name, &a) : 0;

	if (ret == -ENOENT) {
		ret = server_make(&(struct server_make_params){
			.name = name, .what = "running programs", .life_fd = -1,
		});
		if (!ret)
			fprintf(stderr, "tracefuse: there was no session %s: made one for running programs\n", name);
		else if (ret != -EEXIST) {
			command_error("mount: cannot make the session %s: %s", name, session_error(ret));
			return NULL;
		}
	} else if (name && !ret) {
		return a;
	}
	return client_connect_to(&command_mount, name);
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
	a = connect_or_make(name);
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
"session whose server died is re-opened with all that it had; one that does not\n"
"exist is made, for programs that attach to it by themselves (TRACEFUSE_SESSION).\n"
"Mounts that a dead server left behind are taken away. Needs /dev/fuse, and\n"
"fusermount3 where you are not root.\n",
};
