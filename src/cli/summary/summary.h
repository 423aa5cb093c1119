/* SPDX-License-Identifier: MIT */
/*
 * summary.h - what was recorded, for a replay or a run that was asked for nothing
 *
 *     summary.c     events, functions and waits
 *     next.c        three commands that fit them
 *
 * run/next.c decides whether a run prints it.
 */
#ifndef TRACEFUSE_CLI_SUMMARY_SUMMARY_H
#define TRACEFUSE_CLI_SUMMARY_SUMMARY_H

#include "cli/asked.h"

struct export_summary;
struct replay_session;

/*
 * Reads the recording, and prints to stderr what it has and commands that fit. `files`: their names
 * in these commands. An exit status.
 */
int replay_summary(const struct replay_session *s, const struct words *files);

/* Prints the events, functions and waits of a summary to stderr. */
void summary_print(const struct export_summary *s);

/* ---- next.c ---- */

/* The commands that were printed so far. They end with the words: files, or a program. */
struct next {
	struct words	words;
	bool		program;
	unsigned int	printed;
};

/* Prints a command, with `rest` behind the words. Nothing, if three were printed. */
void summary_next(struct next *n, const char *rest, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* The commands that fit a recording, or what a program has recorded. */
void summary_next_replay(const struct export_summary *s, const struct words *files);
void summary_next_program(struct next *n, const struct export_summary *s);
/* Prints a word of a command to stderr, in quotes where a shell needs them. */
void summary_word(const char *word);

#endif
