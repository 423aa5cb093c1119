/* SPDX-License-Identifier: MIT */
/*
 * namespace.h - a process whose /sys/kernel/tracing is a session's directory
 *
 *     namespace_enter()       mounts of its own, a FUSE mount over /sys/kernel/tracing
 *       the descriptor goes to the server, which answers from then on
 *     namespace_cover()       the other places of the kernel's files; no way back to these
 *     exec                    the mount goes with the last process that sees it
 */
#ifndef TRACEFUSE_FRONTS_NAMESPACE_H
#define TRACEFUSE_FRONTS_NAMESPACE_H

#define NAMESPACE_TRACING "/sys/kernel/tracing"

/*
 * Leaves the mount name space (with a user name space where one is not root) and mounts. 0 and the open
 * /dev/fuse, or -errno: -ENOENT, -ENODEV, -ENXIO there is no /dev/fuse or no such directory; -EPERM, -EACCES.
 */
int namespace_enter(int *fuse_fd);

/* When the mount is served. 0, or -errno: the kernel's own files would still be within reach. */
int namespace_cover(void);

/* What a person should know about such an error. */
const char *namespace_error(int ret);

#endif
