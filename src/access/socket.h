/* SPDX-License-Identifier: MIT */
/* socket.h - requests to a session's server that are not about files (those are in access.h) */
#ifndef TRACEFUSE_ACCESS_SOCKET_H
#define TRACEFUSE_ACCESS_SOCKET_H

#include "access/access.h"

/*
 * Sends a request that has no file. 0 or -errno; *text (may be NULL) is the answer, which the
 * caller frees.
 */
int access_request(struct access *a, unsigned int op, const char *path, int fd, char **text);

/* The server's process, and whether it is stopped. 0: not known. */
int access_server(struct access *a, bool *stopped);

/*
 * A request in two steps, for one whose answer may come late: access_fd() becomes readable
 * when the answer is there.
 */
int access_fd(struct access *a);
int access_ask(struct access *a, unsigned int op);
int access_hear(struct access *a);

#endif
