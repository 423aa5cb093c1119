/* SPDX-License-Identifier: MIT */
/*
 * paste.c - `tracefuse paste`: the commands of a pasted terminal session or document
 */
#include <stdlib.h>
#include <string.h>

#include "cli/client.h"
#include "host/input.h"
#include "cli/options.h"
#include "setup/setup.h"

static int run(int argc, char **argv)
{
	const char *name = NULL;
	int status = options_parse(&command_paste, argc, argv, &name, NULL, NULL);
	struct setup_params params = { .name = "paste", .document = true, .programs = true };
	const char *file;
	char *session;
	int failed;

	if (status)
		return status;
	if (argc - optind > 1)
		return command_usage(&command_paste, "one file at a time");
	file = optind < argc ? argv[optind] : "-";
	session = client_session(&command_paste, name);
	params.access = session ? client_connect(&command_paste, session) : NULL;
	free(session);
	if (!params.access)
		return COMMAND_FAILED;
	failed = setup_run_file(&params, file);
	access_close(params.access);
	if (failed < 0)
		return message_error("paste: %s: %s", file, input_error(-failed));
	return failed ? COMMAND_FAILED : COMMAND_DONE;
}

const struct command command_paste = {
	.name = "paste",
	.summary = "run commands pasted from a document or a terminal",
	.run = run,
	.help =
"usage: tracefuse paste [-s SESSION] [FILE]\n"
"\n"
"Runs shell lines (echo, cat, mkdir, rmdir, cd, for ..., grep, head and the like) in\n"
"the session's tracing directory. FILE, or stdin until its end, may be something\n"
"copied from a document: where commands have a prompt (`# echo ...`), only they are\n"
"run, with the lines that continue them; output and prose between them is passed\n"
"over. In a text without any prompt every line is a command. A refused line prints\n"
"its error and what error_log says of it, the rest goes on, and the exit status is\n"
"1 then. Paths below /sys/kernel/tracing and /sys/kernel/debug/tracing mean the session.\n"
"\n"
"  -s, --session NAME  the session; without it $TRACEFUSE_SESSION, else the only\n"
"                      one there is\n",
};
