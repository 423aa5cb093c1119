/* SPDX-License-Identifier: MIT */
/*
 * ls.c - `tracefuse ls`: names in a directory of a session
 */
#include <errno.h>
#include <string.h>

#include "cli/client.h"
#include "cli/options.h"

static int ls_print_name(void *arg, const char *name, bool is_dir)
{
	(void)arg;
	printf("%s%s\n", name, is_dir ? "/" : "");
	return 0;
}

static int list(struct access *a, const char *argument, bool headed)
{
	char path[1024];
	int ret;

	if (!client_path(argument, path, sizeof(path)))
		return COMMAND_FAILED;
	if (headed)
		printf("%s:\n", argument);
	ret = a->ops->list(a, path, ls_print_name, NULL);
	if (ret == -ENOTDIR) {
		printf("%s\n", argument);
		ret = 0;
	}
	return ret < 0 ? message_error("ls: %s: %s", argument, strerror(-ret)) : COMMAND_DONE;
}

static int ls_run(int argc, char **argv)
{
	const char *name = NULL;
	int status = options_parse(&command_ls, argc, argv, &name, NULL, NULL);
	struct access *a;

	if (status)
		return status;
	a = client_connect_to(&command_ls, name);
	if (!a)
		return COMMAND_FAILED;
	if (optind == argc)
		status = list(a, ".", false);
	for (int i = optind; i < argc; i++)
		status |= list(a, argv[i], argc - optind > 1);
	access_close(a);
	return status;
}

const struct command command_ls = {
	.name = "ls",
	.summary = "list a directory of the session's files",
	.run = ls_run,
	.help =
"usage: tracefuse ls [-s SESSION] [DIRECTORY...]\n"
"\n"
"Lists the names in a directory of a session's tracing directory; a directory has a\n"
"slash. Without DIRECTORY it lists the top.\n"
"\n"
"  -s, --session NAME  the session; without it $TRACEFUSE_SESSION, else the only\n"
"                      one there is\n",
};
