/* SPDX-License-Identifier: MIT */
/*
 * dir.c - `tracefuse dir`: prints where a session is mounted
 */
#include <string.h>

#include "cli/client.h"
#include "cli/options.h"

static int run(int argc, char **argv)
{
	const char *name = NULL;
	int status = options_parse(&command_dir, argc, argv, &name, NULL, NULL);
	struct access *a;

	if (status)
		return status;
	if (argc - optind > 1)
		return command_usage(&command_dir, "too many arguments");
	a = client_connect_to(&command_dir, optind < argc ? argv[optind] : name);
	if (!a)
		return COMMAND_FAILED;
	status = client_print_mounts(a);
	if (status)
		message_error("dir: it is not mounted: `tracefuse mount` mounts it");
	access_close(a);
	return status;
}

const struct command command_dir = {
	.name = "dir",
	.summary = "print where a session is mounted: cd $(tracefuse dir)",
	.run = run,
	.help =
"usage: tracefuse dir [SESSION]\n"
"\n"
"Prints the directories where a session is mounted.\n",
};
