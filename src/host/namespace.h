/* SPDX-License-Identifier: MIT */
/*
 * namespace.h - a process whose /sys/kernel/tracing is a session's directory
 *
 *     namespace_enter()       mounts of its own, a FUSE mount over /sys/kernel/tracing
 *       the descriptor goes to the server, which answers from then on
 *     namespace_cover()       the other places of the kernel's files; no way back to these
 *     exec                    the mount ends with the last process that sees it
 */
#ifndef TRACEFUSE_HOST_NAMESPACE_H
#define TRACEFUSE_HOST_NAMESPACE_H

#include <stdbool.h>

#define NAMESPACE_TRACING "/sys/kernel/tracing"

/*
 * Makes a mount name space (and a user name space if the user is not root) and mounts. 0 and the
 * open /dev/fuse, or -errno. -ENODEV: no /dev/fuse; -EACCES: it may not be opened; -ENOENT: no such
 * directory; -ENOTSUP: a mount there is not permitted; -EPERM: no name space.
 */
int namespace_enter(int *fuse_fd);

/* Call it when the mount is served. 0, or -errno: the kernel's own files could still be reached. */
int namespace_cover(void);

/*
 * Whether there is no tracefs below the session. Then tools that look for one in /proc/mounts do
 * not find the session, or mount the kernel's tracefs over it.
 */
bool namespace_misleads(void);

/* The text of a message about such an error. */
const char *namespace_error(int ret);

#endif
