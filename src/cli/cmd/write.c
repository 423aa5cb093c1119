/* SPDX-License-Identifier: MIT */
/* write.c - `tracefuse write`: does what `echo TEXT > FILE` does in a mount */
#include <fcntl.h>

#include "cli/write.h"

static int write_run(int argc, char **argv)
{
	return client_write(&command_write, O_TRUNC, argc, argv);
}

const struct command command_write = {
	.name = "write",
	.summary = "write to a file of the session, as echo TEXT > FILE does",
	.run = write_run,
	.help =
"usage: tracefuse write [-s SESSION] FILE [TEXT...]\n"
"\n"
"Opens a file of a session's tracing directory with truncation, which clears what\n"
"can be cleared (a trigger file loses its triggers). Then writes TEXT and a newline;\n"
"without TEXT, the content of stdin. If the session refuses the text, prints the\n"
"error and, if the file error_log has it, the place of the error.\n"
"\n"
"  -s, --session NAME  the session; without it $TRACEFUSE_SESSION, else the only\n"
"                      one there is\n",
};
