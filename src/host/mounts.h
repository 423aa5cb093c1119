/* SPDX-License-Identifier: MIT */
/*
 * mounts.h - mounts of sessions as the system knows them
 */
#ifndef TRACEFUSE_HOST_MOUNTS_H
#define TRACEFUSE_HOST_MOUNTS_H

#include <stdbool.h>

/*
 * Calls fn for each tracefuse mount of this name space; stale: its server is gone. Returns how many
 * there are.
 */
int mounts_each(void (*fn)(void *arg, const char *dir, bool stale), void *arg);

/*
 * Whether a file system of that type is mounted at `dir`, be it below another one; from: its
 * source, NULL: any.
 */
bool mounts_have(const char *dir, const char *type, const char *from);

/*
 * Takes a mount away, also one that is in use, and what mounts_prepare() has put below it. 0 or
 * -errno.
 */
int mounts_remove(const char *dir);

/* Takes every stale mount away; returns how many. */
int mounts_clean(void);

/*
 * A directory to mount at, made when it does not exist: its whole path into `out` (PATH_MAX
 * bytes). 0 or -errno: -ENOTDIR; -ENOTEMPTY, not with `force`; -EBUSY when a session is mounted
 * there. A mount of a dead server is taken away. At /sys/kernel/tracing a tracefs is mounted, to
 * lie below: tools that find none mount the kernel's over the session. Where that cannot be, it is
 * said.
 */
int mounts_prepare(const char *dir, bool force, char *out);

/* Says why it cannot be mounted there (NULL: in the session's own directory): COMMAND_FAILED. */
int mounts_failed(const char *dir, int err);

#endif
