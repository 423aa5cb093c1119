/* SPDX-License-Identifier: MIT */
/*
 * uprobe_args.h - $argN and $arg* of a uprobe at a function that its command names
 *
 * Only uprobe.c includes it. The debug information of the file says what the function's arguments
 * are (debug/prototype.h). Without it the calling convention of integers and pointers applies.
 */
#ifndef TRACEFUSE_MODEL_DYNAMIC_UPROBE_ARGS_H
#define TRACEFUSE_MODEL_DYNAMIC_UPROBE_ARGS_H

#include "model/dynamic/place.h"

/*
 * *out: the command with NAME=$argN for each argument of the function in place of $arg*, which the
 * caller frees. NULL: the command has no $arg*, or nothing is known of the function. 0, -ENOMEM
 */
int uprobe_args_all(struct model *m, const char *command, char **out);

/*
 * Replaces $argN in the words by registers. An argument $argN without a type gets that of the
 * function. Part of place_kind.
 */
int uprobe_args_expand(struct probe_place *p, struct probe_log *log, char **texts);

#endif
