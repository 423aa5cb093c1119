/* SPDX-License-Identifier: MIT */
/*
 * cat.c - `tracefuse cat`: prints files of a session
 *
 * A read of trace_pipe follows the pipe until Ctrl-C. The server closes the pipe when the
 * connection closes.
 */
#include <fcntl.h>
#include <string.h>

#include "cli/client.h"
#include "cli/draw/draw.h"
#include "cli/options.h"
#include "host/pager.h"

enum { CAT_JSON = 1 << 0, CAT_DRAW = 1 << 1 };

static int print_file(struct access *a, const char *argument)
{
	static char buf[65536];
	struct access_file *f;
	char path[1024];
	ssize_t ret;
	off_t off = 0;

	if (!client_path(argument, path, sizeof(path)))
		return COMMAND_FAILED;
	ret = a->ops->open(a, path, O_RDONLY, &f);
	if (ret < 0)
		return message_error("cat: %s: %s", argument, strerror((int)-ret));
	while ((ret = a->ops->read(f, buf, sizeof(buf), off)) > 0) {
		off += ret;
		if (message_print(buf, (size_t)ret) || message_flush())
			break;
	}
	a->ops->release(f);
	if (ret > 0)
		return COMMAND_FAILED;
	return ret < 0 ? message_error("cat: %s: %s", argument, strerror((int)-ret)) : COMMAND_DONE;
}

/* The JSON of a hist is a file beside it. */
static int print_json(struct access *a, const char *argument)
{
	size_t n = strlen(argument);
	char path[1024];

	if (n < 5 || strcmp(argument + n - 5, "/hist"))
		return message_error(
			"cat: %s: only histograms (events/SYSTEM/EVENT/hist) have JSON", argument);
	snprintf(path, sizeof(path), "%s.json", argument);
	return print_file(a, path);
}

static int cat_draw(struct access *a, const char *argument)
{
	char path[1024];

	if (!draw_is_hist(argument))
		return message_error(
			"cat: %s: only histograms (events/SYSTEM/EVENT/hist) are drawn", argument);
	return client_path(argument, path, sizeof(path)) ? draw_file(a, path) : COMMAND_FAILED;
}

/* What follows a pipe is shown as it comes. */
static void cat_page(char **names)
{
	for (; *names; names++)
		if (strstr(*names, "pipe"))
			return;
	pager_begin();
}

static int cat_run(int argc, char **argv)
{
	static const char *const flags[] = { "json", "draw", NULL };
	const char *name = NULL;
	unsigned int seen = 0;
	int status = options_parse(&command_cat, argc, argv, &name, flags, &seen);
	struct access *a;

	if (status)
		return status;
	if (optind == argc)
		return command_usage(&command_cat, "which file?");
	a = client_connect_to(&command_cat, name);
	if (!a)
		return COMMAND_FAILED;
	cat_page(argv + optind);
	for (int i = optind; i < argc; i++)
		status |= seen & CAT_DRAW ? cat_draw(a, argv[i])
			  : seen	  ? print_json(a, argv[i])
					  : print_file(a, argv[i]);
	access_close(a);
	return status;
}

const struct command command_cat = {
	.name = "cat",
	.summary = "print files of the session",
	.run = cat_run,
	.help =
"usage: tracefuse cat [-s SESSION] [--json | --draw] FILE...\n"
"\n"
"Prints files of a session's tracing directory: trace, events/sched/sched_switch/hist.\n"
"trace_pipe is followed until Ctrl-C.\n"
"\n"
"  -s, --session NAME  the session; without it $TRACEFUSE_SESSION, else the only\n"
"                      one there is\n"
"      --json          histograms (files hist) as JSON: an array with an object for\n"
"                      each trigger; the files are there as hist.json, too\n"
"      --draw          histograms as bars\n",
};
