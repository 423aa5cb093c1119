/* SPDX-License-Identifier: MIT */
/*
 * namespace.h - a process whose /sys/kernel/tracing is a session's directory
 *
 *     namespace_enter()       mounts of its own, a FUSE mount over /sys/kernel/tracing
 *       the descriptor goes to the server, which answers from then on
 *     namespace_cover()       the other places of the kernel's files; no way back to these
 *     exec                    the mount goes with the last process that sees it
 */
#ifndef TRACEFUSE_HOST_NAMESPACE_H
#define TRACEFUSE_HOST_NAMESPACE_H

#include <stdbool.h>

#define NAMESPACE_TRACING "/sys/kernel/tracing"

/*
 * Leaves the mount name space (with a user name space where one is not root) and mounts. 0 and the
 * open /dev/fuse, or -errno: -ENODEV no /dev/fuse, -EACCES not ours; -ENOENT no such directory,
 * -ENOTSUP it may not be mounted at; -EPERM no name space.
 */
int namespace_enter(int *fuse_fd);

/* When the mount is served. 0, or -errno: the kernel's own files would still be within reach. */
int namespace_cover(void);

/*
 * There is no tracefs below the session: tools that look for one in /proc/mounts do not find the
 * session, or mount the kernel's over it.
 */
bool namespace_misleads(void);

/* What a person should know about such an error. */
const char *namespace_error(int ret);

#endif
