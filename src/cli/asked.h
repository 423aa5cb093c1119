/* SPDX-License-Identifier: MIT */
/*
 * asked.h - what the commands that make a session (run, replay) are asked for in common
 */
#ifndef TRACEFUSE_CLI_ASKED_H
#define TRACEFUSE_CLI_ASKED_H

#include <getopt.h>
#include <stdbool.h>

#include "cli/command.h"

struct words {
	const char	**v;
	unsigned int	nr;
};

struct asked {
	const char	*session_name;	/* NULL: none */
	const char	*mount_dir;	/* NULL: none */
	const char	*save_dir;	/* NULL: results go to stdout */
	const char	*dat_file;	/* -o; NULL: none */
	bool		compress, hist_legacy, force;
	struct words	setups, cats;
	struct words	events;		/* -e, each name for itself */
	struct words	lists;		/* copies of what -e was given, which the names are in */
	struct words	boots;
};

/* 'e' and 'o' are the others; a command's own begin at ASKED_OWN. */
enum {
	ASKED_SESSION = 256,
	ASKED_MOUNT,
	ASKED_SETUP,
	ASKED_CAT,
	ASKED_SAVE,
	ASKED_COMPRESS,
	ASKED_HIST_LEGACY,
	ASKED_BOOT,
	ASKED_FORCE,
	ASKED_OWN
};

/* For the command's table of long options. */
#define ASKED_OPTIONS							\
	{ "session", required_argument, NULL, ASKED_SESSION },		\
	{ "mount", required_argument, NULL, ASKED_MOUNT },		\
	{ "force", no_argument, NULL, ASKED_FORCE },			\
	{ "setup", required_argument, NULL, ASKED_SETUP },		\
	{ "event", required_argument, NULL, 'e' },			\
	{ "boot", required_argument, NULL, ASKED_BOOT },		\
	{ "cat", required_argument, NULL, ASKED_CAT },			\
	{ "save", required_argument, NULL, ASKED_SAVE },		\
	{ "output", required_argument, NULL, 'o' },			\
	{ "compress", no_argument, NULL, ASKED_COMPRESS },		\
	{ "hist-legacy", no_argument, NULL, ASKED_HIST_LEGACY }

/* 0, -ENOMEM. The word itself stays whose it is. */
int words_add(struct words *w, const char *word);
void asked_free(struct asked *a);

/* What getopt_long() gave, that the command does not know itself: an exit status. */
int asked_option(struct asked *a, const struct command *cmd, int opt, char **argv);
/*
 * Parameters for the session's start (boot.h): $TRACEFUSE_BOOT, then those that were asked for. The
 * caller frees it; NULL: there are none, or no memory.
 */
char *asked_boot(const struct words *boots);
/* At the end of the options: whether they go together. An exit status. */
int asked_check(const struct asked *a, const struct command *cmd);
/* Whether all that --boot names is there. An exit status. */
int asked_boots_check(const struct words *boots, const struct command *cmd);
/* Whether there can be a mount: its directory (PATH_MAX bytes), or "": none. An exit status. */
int asked_mount(const struct asked *a, char *out);

#endif
