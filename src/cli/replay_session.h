/* SPDX-License-Identifier: MIT */
/* replay_session.h - a recording and its session */
#ifndef TRACEFUSE_CLI_REPLAY_SESSION_H
#define TRACEFUSE_CLI_REPLAY_SESSION_H

struct access;
struct model;
struct session;
struct source;
struct source_error;
struct source_params;
struct tree;

/* In the order in which they are made; NULL: not made. */
struct replay_session {
	struct source	*source;
	struct session	*session;
	struct model	*model;
	struct tree	*tree;
	struct access	*access;
};

/*
 * Opens a recording for a command that looks at it and passes no record to the session: its events
 * and tables. 0, or a negative number with a text in *err, which source_error_print() prints.
 * replay_session_destroy() in any case.
 */
int replay_session_open(struct replay_session *s, const struct source_params *params,
			struct source_error *err);
/* Says why a recording cannot be read, behind `command` if that is not NULL: COMMAND_FAILED. */
int replay_session_failed(const char *command, const struct source_error *err);
/* No server may use it any more. */
void replay_session_destroy(struct replay_session *s);

#endif
