/* SPDX-License-Identifier: MIT */
/* save.c - `tracefuse save`: writes the records of a session as a trace.dat */
#include <getopt.h>

#include "cli/client.h"
#include "cli/options.h"
#include "host/output.h"
#include "cli/save_dat.h"

static int save(const char *session, const char *file, bool compress)
{
	char uname[400];
	struct save_dat what = { .file = file, .uname = uname, .compress = compress };
	int status = save_dat_open(NULL, file, &what.out);
	struct access *a;

	if (status)
		return status;
	a = client_connect_to(&command_save, session);
	if (a) {
		client_machine(a, uname, sizeof(uname));
		status = save_dat(a, &what);
		access_close(a);
	}
	output_close(what.out);
	return a ? status : COMMAND_FAILED;
}

static int save_run(int argc, char **argv)
{
	static const char *const flags[] = { "compress", NULL };
	const char *name = NULL;
	unsigned int seen = 0;
	int status = options_parse(&command_save, argc, argv, &name, flags, &seen);

	if (status)
		return status;
	if (optind + 1 != argc)
		return command_usage(&command_save, "into which file?");
	output_signals_ignore();
	return save(name, argv[optind], seen);
}

const struct command command_save = {
	.name = "save",
	.summary = "write what the session has recorded as a trace.dat",
	.run = save_run,
	.help =
"usage: tracefuse save [-s SESSION] [--compress] FILE\n"
"\n"
"Writes the records in the buffers of all instances of a session as a trace.dat\n"
"(version 7) for trace-cmd, KernelShark or `tracefuse replay`. The session keeps\n"
"its records and goes on. FILE appears when it is complete, and then replaces a\n"
"file of that name.\n"
"\n"
"  -s, --session NAME  the session; without it $TRACEFUSE_SESSION, else the only\n"
"                      one there is\n"
"      --compress      packed with zstd\n",
};
