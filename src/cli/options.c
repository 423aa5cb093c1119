/* SPDX-License-Identifier: MIT */
/*
 * options.c - -s, --session NAME and the flags of a command
 */

#include "cli/options.h"

enum { MAX_FLAGS = 8, OPT_FLAG = 256 };

int options_parse(const struct command *cmd, int argc, char **argv, const char **session,
		  const char *const *flags, unsigned int *seen)
{
	struct option table[MAX_FLAGS + 2] = { { "session", required_argument, NULL, 's' } };
	int opt;

	for (int i = 0; flags && flags[i] && i < MAX_FLAGS; i++)
		table[i + 1] = (struct option){ flags[i], no_argument, NULL, OPT_FLAG + i };
	optind = 0;
	while ((opt = getopt_long(argc, argv, "+:s:", table, NULL)) != -1) {
		if (opt == 's')
			*session = optarg;
		else if (opt >= OPT_FLAG)
			*seen |= 1u << (opt - OPT_FLAG);
		else if (opt == ':')
			return command_usage(cmd, "%s needs an argument", argv[optind - 1]);
		else
			return command_unknown_option(cmd, argv[optind - 1]);
	}
	return COMMAND_DONE;
}
