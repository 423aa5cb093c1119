/* SPDX-License-Identifier: MIT */
/* replay_summary.h - what a recording has, for a replay that was asked for nothing */
#ifndef TRACEFUSE_CLI_REPLAY_SUMMARY_H
#define TRACEFUSE_CLI_REPLAY_SUMMARY_H

struct replay_session;
struct words;

/*
 * Reads the recording, and prints to stderr what it has and commands that fit. `files`: their names
 * in these commands. An exit status.
 */
int replay_summary(const struct replay_session *s, const struct words *files);

#endif
