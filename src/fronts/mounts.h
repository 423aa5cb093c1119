/* SPDX-License-Identifier: MIT */
/*
 * mounts.h - mounts of sessions as the system knows them
 */
#ifndef TRACEFUSE_FRONTS_MOUNTS_H
#define TRACEFUSE_FRONTS_MOUNTS_H

#include <stdbool.h>

/* Calls fn for each tracefuse mount of this name space; stale: its server is gone. Returns how many there are. */
int mounts_each(void (*fn)(void *arg, const char *dir, bool stale), void *arg);

/* Takes a mount away, also one that is in use. 0 or -errno. */
int mounts_remove(const char *dir);

/* Takes every stale mount away; returns how many. */
int mounts_clean(void);

#endif
