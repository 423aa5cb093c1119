/* SPDX-License-Identifier: MIT */
/*
 * output.h - a file that a command writes at its end: what is in the way is found at the start
 *
 *     output_open()      before anything runs: resolves the path (links.h), tries to make a file
 *     output_begin()     at the end: a file beside it
 *     output_end()       it takes the place of FILE when it is whole, in one step
 *     output_close()
 *
 * So a full disk costs no older file, and FILE may be the one that is read.
 * The directory is the one that was there at the start, whatever its path means
 * later. What is there and no regular file (/dev/null), or mounted by itself, is written to as it
 * is.
 */
#ifndef TRACEFUSE_HOST_OUTPUT_H
#define TRACEFUSE_HOST_OUTPUT_H

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>

struct output;

/* 0 or -errno; nothing has changed. -ESPIPE: a pipe, a socket or a terminal. */
int output_open(const char *path, struct output **out);
/* NULL: errno says why. */
FILE *output_begin(struct output *o);
/* `whole`: it takes its place, else it is gone. 0 or -errno, of a full disk, too. */
int output_end(struct output *o, bool whole);
void output_close(struct output *o);		/* may be NULL */

/*
 * A pipe that nobody reads, or a limit of a file's size, ends no command that has something to
 * save: SIGPIPE and SIGXFSZ are ignored from now on. A child calls output_signals_restore() before
 * it executes another program.
 */
void output_signals_ignore(void);
void output_signals_restore(void);

/*
 * From here on HUP, INT, QUIT and TERM wait: what a program's run has recorded is saved first.
 * `given`: the mask that comes back with output_signals_let_in(), which does nothing without this.
 */
void output_signals_hold(const sigset_t *given);
void output_signals_let_in(void);

#endif
