/* SPDX-License-Identifier: MIT */
/*
 * setup.h - setup scripts: shell lines that are run in a tracing directory (R29, R30)
 *
 * The built-in reader understands what one finds in such scripts: echo, printf,
 * cat, mkdir, rmdir, cd, true, false, sleep, :, for/do/done, if/then/else/fi
 * with [ ], variables, $(cat FILE), quotes, backslashes, comments, > >> | && || ;
 * and a `# ` prompt before a command; besides programs that only read: grep,
 * head, wc, sort ... Paths below /sys/kernel/tracing and
 * /sys/kernel/debug/tracing, and relative ones, mean the session.
 *
 *     text -> lines (held together by quotes, backslashes) -> words -> commands on access.h
 *
 * A script that needs more than that (functions, arithmetic, other programs) goes
 * to a shell as a whole, where params->shell has one.
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
	bool		document;	/* a pasted text: where commands have a prompt, nothing else is one */
	bool		programs;	/* grep, head and their kin may run */
	/* Runs a text under a real shell: its exit status, or -errno when there can be none. NULL: there is none. */
	int		(*shell)(void *arg, const char *name, const char *text);
	void		*shell_arg;
	FILE		*out;		/* NULL: stdout */
	FILE		*err;		/* NULL: stderr */
};

/*
 * Runs a file ("-": stdin). Returns the number of commands that failed and to whose failure the
 * script has no answer (||, if, 2>/dev/null); or -errno when it cannot be read.
 */
int setup_run_file(const struct setup_params *params, const char *file);

/* The same with text in memory. */
int setup_run_text(const struct setup_params *params, const char *text, size_t len);

#endif
