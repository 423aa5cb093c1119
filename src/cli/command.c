/* SPDX-License-Identifier: MIT */
/* command.c - prints the error of wrong arguments */
#include <stdio.h>

#include "cli/command.h"

int command_usage(const struct command *cmd, const char *format, ...)
{
	va_list ap;

	fflush(stdout);
	fprintf(stderr, "tracefuse %s: ", cmd->name);
	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fprintf(stderr, "\nTry 'tracefuse %s --help'.\n", cmd->name);
	return COMMAND_USAGE;
}
