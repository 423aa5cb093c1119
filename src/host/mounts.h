/* SPDX-License-Identifier: MIT */
/*
 * mounts.h - mounts of sessions as the system knows them
 */
#ifndef TRACEFUSE_HOST_MOUNTS_H
#define TRACEFUSE_HOST_MOUNTS_H

#include <stdbool.h>

/*
 * Calls fn for each tracefuse mount of this name space. Asks no server. Returns the number of
 * mounts.
 */
int mounts_each(void (*fn)(void *arg, const char *dir), void *arg);

/*
 * Whether a file system of that type is mounted at `dir`, also if another one is mounted over it.
 * `from`: its source; NULL: any.
 */
bool mounts_have(const char *dir, const char *type, const char *from);

/*
 * Unmounts, also while the mount is in use, and unmounts the tracefs that mounts_prepare() has
 * mounted below. 0 or -errno.
 */
int mounts_remove(const char *dir);

/* Unmounts every stale mount; returns how many. */
int mounts_clean(void);

/*
 * Prepares a directory to mount at, and makes it if it does not exist. Writes its whole path to
 * `out` (PATH_MAX bytes). 0 or -errno: -ENOTDIR; -ENOTEMPTY, unless `force`; -EBUSY: a session is
 * mounted there. A mount of a dead server is removed. At /sys/kernel/tracing a tracefs is mounted
 * first, and the session over it: a tool that finds no tracefs would mount the kernel's over the
 * session. If that mount fails, a message says so.
 */
int mounts_prepare(const char *dir, bool force, char *out);

/*
 * Prints why a mount at `dir` failed (NULL: in the session's own directory). Returns
 * COMMAND_FAILED.
 */
int mounts_failed(const char *dir, int err);

#endif
