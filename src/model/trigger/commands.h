/* SPDX-License-Identifier: MIT */
/*
 * commands.h - the triggers other than hists, for the table in trigger.c
 */
#ifndef TRACEFUSE_MODEL_TRIGGER_COMMANDS_H
#define TRACEFUSE_MODEL_TRIGGER_COMMANDS_H

#include "model/trigger/trigger.h"

/* simple.c: NAME[:COUNT] [if FILTER] */
extern const struct trigger_command traceon_command;
extern const struct trigger_command traceoff_command;
extern const struct trigger_command snapshot_command;
extern const struct trigger_command stacktrace_command;

/* enable.c: NAME:SYSTEM:EVENT[:COUNT] [if FILTER] */
extern const struct trigger_command enable_event_command;
extern const struct trigger_command disable_event_command;
extern const struct trigger_command enable_hist_command;
extern const struct trigger_command disable_hist_command;

/* enable_hist or disable_hist: these two are removed when the file is opened with O_TRUNC. */
bool trigger_is_enable_hist(const struct trigger *t);

/* Cuts off the first word of `rest`. *cond is the text behind it, NULL: nothing. */
char *trigger_first_word(char *rest, char **cond);

#endif
