/* SPDX-License-Identifier: MIT */
/*
 * output.h - a file that a command writes at its end; problems are found at the start
 *
 *     output_open()      before anything runs: resolves the path (links.h), tries to make a file
 *     output_begin()     at the end: makes a new file in the same directory
 *     output_end()       the new file replaces FILE in one step, if it is complete
 *     output_close()
 *
 * So a full disk destroys no older file, and FILE may be the file that the command reads. The
 * directory is opened at the start; a later change of the path has no effect. A file that is no
 * regular file (/dev/null), or that is a mount point, is written in place.
 */
#ifndef TRACEFUSE_HOST_OUTPUT_H
#define TRACEFUSE_HOST_OUTPUT_H

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>

struct output;

/* Changes nothing yet. 0 or -errno; -ESPIPE: a pipe, a socket or a terminal. */
int output_open(const char *path, struct output **out);
/* Returns NULL with errno set if the file cannot be made. */
FILE *output_begin(struct output *o);
/*
 * With `whole` the new file replaces FILE, else it is removed. 0 or -errno, also for a full disk.
 */
int output_end(struct output *o, bool whole);
void output_close(struct output *o);		/* may be NULL */
/*
 * Makes a file without a name in the same directory, for what FILE will have. A descriptor to read
 * and write; -errno; -EINVAL: FILE is written in place.
 */
int output_spare(struct output *o);

/*
 * From now on SIGPIPE and SIGXFSZ are ignored. So neither a pipe that nobody reads nor a limit of
 * the file size ends a command that has something to save. A child calls output_signals_restore()
 * before it executes another program.
 */
void output_signals_ignore(void);
void output_signals_restore(void);
/* Ends the process by SIGPIPE, as if it had not been ignored; returns if it was before, too. */
void output_signals_die(void);

/*
 * Blocks HUP, INT, QUIT and TERM, so that the records of a program's run are saved first. `given`:
 * the mask that output_signals_let_in() restores. Without this call that function does nothing.
 */
void output_signals_hold(const sigset_t *given);
void output_signals_let_in(void);

#endif
