/* SPDX-License-Identifier: MIT */
/*
 * dir.c - `tracefuse dir`: prints where a session is mounted
 */

#include "cli/client.h"

static int dir_run(int argc, char **argv)
{
	struct access *a;
	int status = client_connect_arguments(&command_dir, argc, argv, &a);

	if (status)
		return status;
	status = client_print_mounts(a);
	if (status)
		message_error("dir: it is not mounted: `tracefuse mount` mounts it");
	access_close(a);
	return status;
}

const struct command command_dir = {
	.name = "dir",
	.summary = "print where a session is mounted: cd $(tracefuse dir)",
	.run = dir_run,
	.help =
"usage: tracefuse dir [SESSION]\n"
"\n"
"Prints the directories where a session is mounted.\n",
};
