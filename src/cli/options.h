/* SPDX-License-Identifier: MIT */
/*
 * options.h - the option that most commands have: -s, --session NAME
 */
#ifndef TRACEFUSE_CLI_OPTIONS_H
#define TRACEFUSE_CLI_OPTIONS_H

#include <getopt.h>

#include "cli/command.h"

/*
 * Parses -s/--session NAME and the long flags in `flags` (names ending with
 * NULL, sets bit i of *seen; may be NULL). Returns a status; optind is then the
 * first argument that is no option. Stops there: TEXT may begin with a dash.
 */
int options_parse(const struct command *cmd, int argc, char **argv, const char **session,
		  const char *const *flags, unsigned int *seen);

#endif
