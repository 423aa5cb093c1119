/* SPDX-License-Identifier: MIT */
/* replay_summary.h - what was recorded, for a replay or a run that was asked for nothing */
#ifndef TRACEFUSE_CLI_REPLAY_SUMMARY_H
#define TRACEFUSE_CLI_REPLAY_SUMMARY_H

struct event;
struct replay_session;
struct words;

/*
 * Reads the recording, and prints to stderr what it has and commands that fit. `files`: their names
 * in these commands. An exit status.
 */
int replay_summary(const struct replay_session *s, const struct words *files);

struct export_summary;

/* Prints the events, functions and waits of a summary to stderr. */
void summary_print(const struct export_summary *s);
/*
 * The most frequent event that can have a histogram, and whose name needs no quotes in a shell.
 * NULL: there is none.
 */
const struct event *summary_event(const struct export_summary *s);
/* Prints a word of a command to stderr, in quotes where a shell needs them. */
void summary_word(const char *word);

#endif
