/* SPDX-License-Identifier: MIT */
/* write.h - the common part of the commands write and append */
#ifndef TRACEFUSE_CLI_WRITE_H
#define TRACEFUSE_CLI_WRITE_H

#include "cli/command.h"

/*
 * Runs "[-s SESSION] FILE [TEXT...]" with the open flags O_TRUNC or O_APPEND. Returns an exit
 * status.
 */
int client_write(const struct command *cmd, int flags, int argc, char **argv);

#endif
