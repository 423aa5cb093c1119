/* SPDX-License-Identifier: MIT */
/* none.c - `tracefuse web` in a build without libmicrohttpd: it says so */
#include "cli/command.h"

static int web_none_run(int argc, char **argv)
{
	return message_error("web: this tracefuse was built without libmicrohttpd");
}

const struct command command_web = {
	.name = "web",
	.summary = "show the session in a browser, and to Prometheus",
	.run = web_none_run,
	.help =
"usage: tracefuse web [options] [SESSION]\n"
"\n"
"Serves a page that shows a session. This tracefuse was built without libmicrohttpd,\n"
"which that needs.\n",
};
