/* SPDX-License-Identifier: MIT */
/*
 * setup.h - setup scripts: shell lines that are run in a tracing directory (R29, R30)
 *
 * The built-in reader knows the commands of documentation: lists of echo, cat, mkdir and the like
 * (setup.c has the grammar). Paths below /sys/kernel/tracing and /sys/kernel/debug/tracing, and
 * relative paths, are files of the session. A script with anything else in it is run as a whole by
 * a real shell.
 *
 * If a line fails, the reader prints its error as bash does, and the new entries of error_log. The
 * script continues with the next line.
 */
#ifndef TRACEFUSE_SETUP_SETUP_H
#define TRACEFUSE_SETUP_SETUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct access;

struct setup_params {
	struct access	*access;	/* the session's files; the caller owns it */
	const char	*name;		/* in messages: "setup.sh" */
	/* A pasted text: if one command has a prompt, all have one */
	bool		document;
	/*
	 * The text is from elsewhere: files outside of the session and programs are refused,
	 * variables of the environment are not there, and what the text may do is limited
	 */
	bool		inside;
	/*
	 * Runs a text under a real shell. Returns its exit status, or -errno if there can be no
	 * such shell; then nothing was run. NULL: there is no real shell.
	 */
	int		(*shell)(void *arg, const char *name, const char *text);
	void		*shell_arg;
	FILE		*out;		/* NULL: stdout */
	FILE		*err;		/* NULL: stderr */
};

/*
 * Runs a file ("-": stdin). Returns the number of commands that failed, or -errno if the file
 * cannot be read. A real shell counts as 1 if its exit status is not 0. -ENOEXEC: nothing was run,
 * because the script has an error or needs a real shell that cannot be had; a message says so.
 */
int setup_run_file(const struct setup_params *params, const char *file);

/* The same for a text in memory. */
int setup_run_text(const struct setup_params *params, const char *text, size_t len);

#endif
