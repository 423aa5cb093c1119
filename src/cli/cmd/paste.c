/* SPDX-License-Identifier: MIT */
/* paste.c - `tracefuse paste`: runs the commands of a pasted terminal session or document */
#include <errno.h>
#include <stdlib.h>

#include "cli/client.h"
#include "host/input.h"
#include "cli/options.h"
#include "setup/setup.h"

static int paste_run(int argc, char **argv)
{
	const char *name = NULL;
	int status = options_parse(&command_paste, argc, argv, &name, NULL, NULL);
	struct setup_params params = { .name = "paste", .document = true };
	const char *file;
	int failed;

	if (status)
		return status;
	if (argc - optind > 1)
		return command_usage(&command_paste, "one file at a time");
	file = optind < argc ? argv[optind] : "-";
	params.access = client_connect_to(&command_paste, name);
	if (!params.access)
		return COMMAND_FAILED;
	failed = setup_run_file(&params, file);
	access_close(params.access);
	if (failed < 0 && failed != -ENOEXEC)
		return message_error("paste: %s: %s", file, input_error(-failed));
	return failed ? COMMAND_FAILED : COMMAND_DONE;
}

const struct command command_paste = {
	.name = "paste",
	.summary = "run commands pasted from a document or a terminal",
	.run = paste_run,
	.help =
"usage: tracefuse paste [-s SESSION] [FILE]\n"
"\n"
"Runs shell lines (echo, cat, mkdir, rmdir, cd, ls, for) in the session's tracing\n"
"directory. FILE, or stdin until its end, may be copied from a document. If commands\n"
"have a prompt (`# echo ...`), only they are run, with the lines that continue them;\n"
"output and prose between them is skipped. In a text without any prompt every line\n"
"is a command. A refused line prints its error and its entry of error_log; the rest\n"
"is run, and the exit status is 1. If a command needs more of a shell, the message\n"
"names it and no line is run: `tracefuse shell` has a shell. Paths below\n"
"/sys/kernel/tracing and /sys/kernel/debug/tracing mean the session.\n"
"\n"
"  -s, --session NAME  the session; without it $TRACEFUSE_SESSION, else the only\n"
"                      one there is\n",
};
