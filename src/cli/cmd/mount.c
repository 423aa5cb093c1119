/* SPDX-License-Identifier: MIT */
/*
 * mount.c - `tracefuse mount`: a session's files as a directory
 */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/asked.h"
#include "cli/client.h"
#include "host/mounts.h"
#include "server/server.h"
#include "access/wire.h"
#include "session/session.h"

/* Applies --boot to a session that this command made. */
static int mount_boot(struct access *a, bool made, const struct words *boots)
{
	char *text;
	int ret = 0;

	if (!made && boots->nr)
		return command_usage(&command_mount,
				     "--boot is for a new session: this one is there already");
	text = made ? asked_boot(boots) : NULL;
	if (text)
		ret = client_boot(a, text);
	free(text);
	return ret < 0 ? message_error("mount: the session's start: %s", strerror(-ret))
		       : COMMAND_DONE;
}

enum { OPT_BOOT = 256, OPT_FORCE };

static const struct option long_options[] = {
	{ "session", required_argument, NULL, 's' },
	{ "boot", required_argument, NULL, OPT_BOOT },
	{ "force", no_argument, NULL, OPT_FORCE },
	{ NULL, 0, NULL, 0 },
};

/* The command's arguments. */
struct mounting {
	const char	*session;	/* NULL: the only session */
	const char	*at;		/* NULL: inside the session's directory */
	/* Its whole path, because the server's current directory is another one */
	char		dir[PATH_MAX];
	bool		force;
	struct words	boots;
};

static int mount_parse(int argc, char **argv, struct mounting *m)
{
	int opt;

	optind = 0;
	while ((opt = getopt_long(argc, argv, "+:s:", long_options, NULL)) != -1) {
		if (opt == 's')
			m->session = optarg;
		else if (opt == OPT_FORCE)
			m->force = true;
		else if (opt == OPT_BOOT && words_add(&m->boots, optarg))
			return message_error("out of memory");
		else if (opt == ':')
			return command_usage(&command_mount, "%s needs an argument",
					     argv[optind - 1]);
		else if (opt == '?')
			return command_unknown_option(&command_mount, argv[optind - 1]);
	}
	if (!m->session && optind < argc)
		m->session = argv[optind++];
	if (optind < argc)
		m->at = argv[optind++];
	if (optind < argc)
		return command_usage(&command_mount, "too many arguments");
	return asked_boots_check(&m->boots, &command_mount);
}

static int mount_at(struct access *a, const struct mounting *m)
{
	int ret = access_request(a, WIRE_MOUNT, m->dir, -1, NULL);

	if (ret == -EBUSY && !*m->dir)
		ret = 0;	/* the session is mounted there already */
	if (ret < 0)
		return mounts_failed(m->at, ret);
	return *m->dir ? COMMAND_DONE : client_print_mounts(a);
}

static int mount_run(int argc, char **argv)
{
	struct mounting m = { .session = NULL };
	int status = mount_parse(argc, argv, &m), ret;
	struct access *a = NULL;
	bool made = false;

	if (!status) {
		ret = mounts_clean();
		if (ret)
			fprintf(stderr, "tracefuse: removed %d mount%s of dead servers\n", ret,
				ret > 1 ? "s" : "");
		ret = m.at ? mounts_prepare(m.at, m.force, m.dir) : 0;
		status = ret ? mounts_failed(m.at, ret) : COMMAND_DONE;
	}
	if (!status) {
		a = client_connect_or_make(&command_mount, m.session, &made);
		status = a ? mount_boot(a, made, &m.boots) : COMMAND_FAILED;
	}
	if (!status)
		status = mount_at(a, &m);
	/* The user did not ask for a session without a mount. */
	if (status && made && a)
		client_end(a);
	if (a)
		access_close(a);
	free(m.boots.v);
	return status;
}

const struct command command_mount = {
	.name = "mount",
	.summary = "serve a session's files as a directory (FUSE)",
	.run = mount_run,
	.help =
"usage: tracefuse mount [options] [SESSION [DIRECTORY]]\n"
"       tracefuse mount [options] -s SESSION [DIRECTORY]\n"
"\n"
"Mounts a session's tracing directory at DIRECTORY. DIRECTORY must be empty; mount\n"
"makes it if it does not exist. Without DIRECTORY it mounts inside the session's own\n"
"directory and prints the path. It restores a session whose server died, with all\n"
"that it had. It makes a session that does not exist, for programs that attach to it\n"
"by themselves (TRACEFUSE_SESSION). It removes mounts that a dead server left\n"
"behind. At /sys/kernel/tracing it mounts a tracefs below, because tools would mount\n"
"the kernel's over the session.\n"
"Needs /dev/fuse, and fusermount3 where you are not root.\n"
"\n"
"  -s, --session NAME          the session\n"
"  --boot 'NAME=VALUE ...'     settings of a new session, as on a kernel's command\n"
"                              line: see tracefuse-run(1)\n"
"  --force                     mount also at a directory that is not empty; the mount\n"
"                              hides what is in it\n",
};
