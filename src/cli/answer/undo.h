/* SPDX-License-Identifier: MIT */
/*
 * undo.h - a process that undoes what a command has set up in a session, if the command is killed
 *
 *     command  undo_begin() -> undo_line() -> a line -> undo_done() ... -> undo_end()
 *                  |fork          |a byte                  |a byte            |a byte
 *     process      +--------------+------------------------+------------------+-> ends
 *                                       the socket ends, as the command was killed -> undoes
 *
 * A line that was begun may have been refused, because another command has the same. Such a line is
 * undone only in the command's own instance, where nobody else has anything.
 *
 * Without it a command that is killed by SIGKILL would leave its probes and triggers, and the next
 * one could not make its own.
 */
#ifndef TRACEFUSE_CLI_ANSWER_UNDO_H
#define TRACEFUSE_CLI_ANSWER_UNDO_H

#include <sys/types.h>

#include "cli/answer/answer.h"

struct setup_params;

struct undo {
	int		fd;		/* -1: there is no such process */
	pid_t		pid;
};

/* Undoes the first `nr` lines, the last one first. -> the number of lines that failed */
int undo_lines(const struct answer *a, const struct setup_params *params, unsigned int nr);

/*
 * SIGPIPE is blocked. `mine` is the command's connection. Where there can be no process, the
 * command goes on without one.
 */
void undo_begin(struct undo *u, const struct answer *a, struct access *mine);
/* The next line is about to run. */
void undo_line(const struct undo *u);
/* It was accepted. */
void undo_done(const struct undo *u);
/* Nothing is left to be undone. */
void undo_end(struct undo *u);

#endif
