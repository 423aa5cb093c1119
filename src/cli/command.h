/* SPDX-License-Identifier: MIT */
/*
 * command.h - the commands of the command line: one table, one file a command (cmd/NAME.c)
 *
 * Included by main.c and all files of cmd/. A command gets its arguments, with its name as argv[0];
 * nothing was read or printed before. main.c itself answers --help with the text here.
 */
#ifndef TRACEFUSE_CLI_COMMAND_H
#define TRACEFUSE_CLI_COMMAND_H

#include "host/message.h"

struct command {
	const char	*name;
	const char	*summary;	/* one line without a full stop, for the list of commands */
	const char	*help;		/* the text of --help: "usage: ...\n\n..." */
	int		(*run)(int argc, char **argv);	/* returns an exit status */
};

extern const struct command command_run;	/* cmd/run.c */
extern const struct command command_attach;
extern const struct command command_hist;
extern const struct command command_latency;
extern const struct command command_report;
extern const struct command command_top;
extern const struct command command_syscalls;
extern const struct command command_heap;
extern const struct command command_locks;
extern const struct command command_live;
extern const struct command command_replay;
extern const struct command command_mount;
extern const struct command command_umount;
extern const struct command command_dir;
extern const struct command command_ls;
extern const struct command command_cat;
extern const struct command command_write;
extern const struct command command_append;
extern const struct command command_paste;
extern const struct command command_explain;
extern const struct command command_list;
extern const struct command command_save;
extern const struct command command_export;
extern const struct command command_shell;
extern const struct command command_sessions;
extern const struct command command_doctor;
extern const struct command command_reset;
extern const struct command command_web;

/*
 * `tracefuse replay` with these arguments, for a command whose own lines are the setup: where one
 * of them is refused, no record is read. `needs`: what is said then, besides; NULL: nothing. An
 * exit status.
 */
int replay_for(const struct command *cmd, const char *needs, int argc, char **argv);

/*
 * A usage error for an option that the command does not have, after getopt_long(). `word`: the
 * argument before optind. getopt_long() may not have passed a word with several letters.
 */
int command_unknown_option(const struct command *cmd, const char *word);

/* Prints "tracefuse NAME: TEXT" and a hint at --help. Returns COMMAND_USAGE. */
int command_usage(const struct command *cmd, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
