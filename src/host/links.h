/* SPDX-License-Identifier: MIT */
/*
 * links.h - paths that a command writes to, without somebody else's links
 *
 * Included by output.c, mounts.c and the setup reader. A link in a directory that
 * is sticky and writable by others (/tmp) is followed only where the kernel with
 * fs.protected_symlinks follows it: when it is the user's own or that of the
 * directory's owner. Any component of the path may be such a link. Links of
 * /proc are the kernel's to follow.
 */
#ifndef TRACEFUSE_HOST_LINKS_H
#define TRACEFUSE_HOST_LINKS_H

#include <limits.h>
#include <sys/types.h>

/*
 * The directory (O_PATH) of what `path` means, and the name in it, which is no link. A descriptor
 * of the caller's or -errno: -EACCES for somebody else's link, -EISDIR for a path that ends in
 * "." or "..".
 */
int links_resolve(const char *path, char name[NAME_MAX + 1]);

/* As open(), O_CLOEXEC: a descriptor or -errno. */
int links_open(const char *path, int flags, mode_t mode);

/* As mkdir(): 0 or -errno. */
int links_mkdir(const char *path, mode_t mode);

#endif
