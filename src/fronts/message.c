/* SPDX-License-Identifier: MIT */
/*
 * message.c - what commands say when something is wrong
 */
#include <stdio.h>

#include "fronts/command.h"

int command_error(const char *format, ...)
{
	va_list ap;

	fflush(stdout);
	fputs("tracefuse: ", stderr);
	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fputc('\n', stderr);
	return COMMAND_FAILED;
}

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
