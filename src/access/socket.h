/* SPDX-License-Identifier: MIT */
/*
 * socket.h - what a session's server is asked besides its files (access.h)
 */
#ifndef TRACEFUSE_ACCESS_SOCKET_H
#define TRACEFUSE_ACCESS_SOCKET_H

#include "access/access.h"

/*
 * One request without a file. 0 or -errno; *text (may be NULL) is the answer, the caller's to free.
 */
int access_request(struct access *a, unsigned int op, const char *path, int fd, char **text);

/*
 * The same in two steps, for one that the server answers when there is something: access_fd() is
 * readable then.
 */
int access_fd(struct access *a);
int access_ask(struct access *a, unsigned int op);
int access_hear(struct access *a);

#endif
