/* SPDX-License-Identifier: MIT */
/* append.c - `tracefuse append`: does what `echo TEXT >> FILE` does in a mount */
#include <fcntl.h>

#include "cli/write.h"

static int append_run(int argc, char **argv)
{
	return client_write(&command_append, O_APPEND, argc, argv);
}

const struct command command_append = {
	.name = "append",
	.summary = "append to a file of the session, as echo TEXT >> FILE does",
	.run = append_run,
	.help =
"usage: tracefuse append [-s SESSION] FILE [TEXT...]\n"
"\n"
"Like write, but clears nothing: it adds a trigger to the existing ones.\n"
"\n"
"  -s, --session NAME  the session; without it $TRACEFUSE_SESSION, else the only\n"
"                      one there is\n",
};
