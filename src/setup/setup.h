/* SPDX-License-Identifier: MIT */
/*
 * setup.h - setup scripts: shell lines that are run in a tracing directory (R29, R30)
 *
 * The built-in reader does what a page of documentation has: lists of echo, cat, mkdir
 * and the like (setup.c has the grammar). Paths below /sys/kernel/tracing and
 * /sys/kernel/debug/tracing, and relative ones, mean the session. A script with anything else
 * in it goes to a real shell as a whole.
 *
 * A line that fails prints its error as bash does and what error_log got by it; the rest goes on.
 */
#ifndef TRACEFUSE_SETUP_SETUP_H
#define TRACEFUSE_SETUP_SETUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct access;

struct setup_params {
	struct access	*access;	/* where the files are; stays the caller's */
	const char	*name;		/* in messages: "setup.sh" */
	bool		document;	/* a pasted text: once a command has a prompt, all have */
	/*
	 * Runs a text under a real shell: its exit status, or -errno when there can be none and
	 * nothing was run. NULL: there is none.
	 */
	int		(*shell)(void *arg, const char *name, const char *text);
	void		*shell_arg;
	FILE		*out;		/* NULL: stdout */
	FILE		*err;		/* NULL: stderr */
};

/*
 * Runs a file ("-": stdin). Returns the number of commands that failed, of a real shell 1 when its
 * exit status is not 0; or -errno when the file cannot be read. -ENOEXEC: nothing was run, for the
 * script needs a shell that there is not, or is broken; that has been said.
 */
int setup_run_file(const struct setup_params *params, const char *file);

/* The same with text in memory. */
int setup_run_text(const struct setup_params *params, const char *text, size_t len);

#endif
