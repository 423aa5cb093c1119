/* SPDX-License-Identifier: MIT */
/* asked.h - the options that the commands run and replay have in common */
#ifndef TRACEFUSE_CLI_ASKED_H
#define TRACEFUSE_CLI_ASKED_H

#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>

#include "cli/command.h"

struct access;

struct words {
	const char	**v;
	unsigned int	nr;
};

struct asked {
	const char	*session_name;	/* NULL: none */
	const char	*mount_dir;	/* NULL: none */
	const char	*save_dir;	/* NULL: results go to stdout */
	const char	*dat_file;	/* -o; NULL: none */
	const char	*hist_form;	/* --as; NULL: histograms are printed as they are */
	uint64_t	buffer_kb;	/* --buffer-size, for each CPU; 0: not given */
	bool		compress, hist_legacy, force, draw;
	struct words	setups, cats;
	struct words	events;		/* of -e, name by name */
	/* Copies of the arguments of -e; the names point into them */
	struct words	lists;
	struct words	boots;
};

/* Numbers of long options; 'e' and 'o' are the others. A command's own begin at ASKED_OWN. */
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
	ASKED_DRAW,
	ASKED_AS,
	ASKED_BUFFER_SIZE,
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
	{ "draw", no_argument, NULL, ASKED_DRAW },			\
	{ "as", required_argument, NULL, ASKED_AS },			\
	{ "save", required_argument, NULL, ASKED_SAVE },		\
	{ "buffer-size", required_argument, NULL, ASKED_BUFFER_SIZE },	\
	{ "output", required_argument, NULL, 'o' },			\
	{ "compress", no_argument, NULL, ASKED_COMPRESS },		\
	{ "hist-legacy", no_argument, NULL, ASKED_HIST_LEGACY }

/* Adds a word without copying it. 0, -ENOMEM */
int words_add(struct words *w, const char *word);
/* Adds the names of a list NAME,NAME to `names`; `a` has their memory. 0, -ENOMEM */
int asked_add_names(struct asked *a, struct words *names, const char *list);
void asked_free(struct asked *a);

/* Reads "512M", "4G", or a number of bytes. False: it is no such text. */
bool asked_size(const char *text, uint64_t *bytes);
/* Gives the session's buffer the size of --buffer-size. Prints what is wrong. An exit status. */
int asked_buffer_set(const struct asked *a, struct access *access);

/* Handles an option that the command itself does not know. Returns an exit status. */
int asked_option(struct asked *a, const struct command *cmd, int opt, char **argv);
/*
 * The parameters for the session's start (boot.h): $TRACEFUSE_BOOT, then those of --boot. The
 * caller frees them. NULL: none, or no memory.
 */
char *asked_boot(const struct words *boots);
/* Call it after all options: checks that they can be combined. Returns an exit status. */
int asked_check(const struct asked *a, const struct command *cmd);
/* Checks that all parameters of --boot exist. Returns an exit status. */
int asked_boots_check(const struct words *boots, const struct command *cmd);
/*
 * Checks the mount: its directory goes to `out` (PATH_MAX bytes), "" without --mount. Returns an
 * exit status.
 */
int asked_mount(const struct asked *a, char *out);

#endif
