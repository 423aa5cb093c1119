/* SPDX-License-Identifier: MIT */
/*
 * options.h - the option that most commands have: -s, --session NAME
 */
#ifndef TRACEFUSE_CLI_OPTIONS_H
#define TRACEFUSE_CLI_OPTIONS_H

#include <getopt.h>

#include "cli/command.h"

/*
 * Parses -s/--session NAME and the long options in `flags` (names, ended by NULL; may be NULL), and
 * sets bit i of *seen for flags[i]. Returns an exit status; optind is then the first argument that
 * is no option. Parsing stops there, because TEXT may begin with a dash.
 */
int options_parse(const struct command *cmd, int argc, char **argv, const char **session,
		  const char *const *flags, unsigned int *seen);

#endif
