/* SPDX-License-Identifier: MIT */
/* replay_session.h - a recording and its session */
#ifndef TRACEFUSE_CLI_REPLAY_SESSION_H
#define TRACEFUSE_CLI_REPLAY_SESSION_H

struct access;
struct model;
struct session;
struct source;
struct tree;

/* In the order in which they are made; NULL: not made. */
struct replay_session {
	struct source	*source;
	struct session	*session;
	struct model	*model;
	struct tree	*tree;
	struct access	*access;
};

/* No server may use it any more. */
void replay_session_destroy(struct replay_session *s);

#endif
