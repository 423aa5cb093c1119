/* SPDX-License-Identifier: MIT */
/* command.c - prints the error of wrong arguments */
#include <ctype.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"

/* Tools that trace from outside of a program take its number. */
static bool names_process(const char *option)
{
	static const char *const options[] = { "-p", "--pid", "--attach" };

	for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++)
		if (!strncmp(option, options[i], strlen(options[i])) &&
		    !isalpha((unsigned char)option[strlen(options[i])]))
			return true;
	return false;
}

int command_unknown_option(const struct command *cmd, const char *word)
{
	const char letter[] = { '-', (char)optopt, '\0' };
	const char *option = isprint(optopt) && strncmp(word, "--", 2) ? letter : word;

	if (names_process(option))
		return command_usage(cmd, "unknown option %s: a program that runs already joins a "
				     "session by `tracefuse attach`", option);
	return command_usage(cmd, "unknown option %s", option);
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
