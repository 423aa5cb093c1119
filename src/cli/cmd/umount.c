/* SPDX-License-Identifier: MIT */
/* umount.c - `tracefuse umount`: removes the mounts of a session */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "cli/client.h"
#include "host/mounts.h"
#include "cli/options.h"
#include "access/wire.h"

static int unmount_all(struct access *a, unsigned int *nr)
{
	char *info, dir[PATH_MAX];
	int ret = access_request(a, WIRE_INFO, "", -1, &info), status = COMMAND_DONE;

	if (ret < 0)
		return message_error("umount: the server does not answer: %s", strerror(-ret));
	for (*nr = 0; client_info(info, "mount", *nr, dir, sizeof(dir)); (*nr)++) {
		ret = mounts_remove(dir);
		/*
		 * -EINVAL: the mount point is in another name space, such as that of `tracefuse
		 * shell`.
		 */
		if (ret && ret != -EINVAL)
			status = message_error("umount: %s: %s", dir, strerror(-ret));
	}
	free(info);
	return status;
}

struct wanted {
	const char	*dir;
	bool		found;
};

static void match_dir(void *arg, const char *dir)
{
	struct wanted *w = arg;

	w->found |= !strcmp(dir, w->dir);
}

/* Whether a session is mounted at the argument, stale or not. Writes its path to `dir`. */
static bool is_mount(const char *argument, char *dir)
{
	struct wanted w = { .dir = dir };
	char parent[PATH_MAX];
	const char *slash = strrchr(argument, '/'), *last = slash ? slash + 1 : argument;

	/* realpath() of the argument itself would fail at a stale mount. */
	snprintf(parent, sizeof(parent), "%.*s", (int)(last - argument), argument);
	if (!realpath(slash ? parent : ".", dir))
		return false;
	snprintf(dir + strlen(dir), PATH_MAX - strlen(dir), "%s%s", dir[1] ? "/" : "", last);
	mounts_each(match_dir, &w);
	return w.found;
}

static int umount_run(int argc, char **argv)
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
		return ret ? message_error("umount: %s: %s", dir, strerror(-ret)) : COMMAND_DONE;
	}
	ret = mounts_clean();
	a = client_connect_to(&command_umount, optind < argc ? argv[optind] : name);
	if (!a)
		return COMMAND_FAILED;
	status = unmount_all(a, &nr);
	if (!nr && !ret)
		status = message_error("umount: it is not mounted");
	access_close(a);
	return status;
}

const struct command command_umount = {
	.name = "umount",
	.summary = "remove a mount",
	.run = umount_run,
	.help =
"usage: tracefuse umount [SESSION | DIRECTORY]\n"
"\n"
"Removes the mounts of a session, or the one at DIRECTORY, even if files in it are\n"
"open or its server is dead. A session that was made for a mount only\n"
"(replay --mount without --session) ends with its last mount.\n",
};
