/* SPDX-License-Identifier: MIT */
/*
 * session.h - an answer from a session that is there: the lines, a wait, the file, the lines that
 * undo them
 */
#ifndef TRACEFUSE_CLI_ANSWER_SESSION_H
#define TRACEFUSE_CLI_ANSWER_SESSION_H

#include "cli/answer/answer.h"

/* Ends at Ctrl-C or after --for. An exit status. */
int answer_in_session(struct answer *a);

#endif
