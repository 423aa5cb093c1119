/* SPDX-License-Identifier: MIT */
/*
 * links.h - resolves paths that a command writes to, without following another user's links
 *
 * Included by output.c, mounts.c and the setup reader. The rule is the one of
 * fs.protected_symlinks: in a directory that is sticky and writable by others (/tmp), a link is
 * followed only if it belongs to the user or to the directory's owner. The rule applies to each
 * component of the path. The kernel itself follows links of /proc.
 */
#ifndef TRACEFUSE_HOST_LINKS_H
#define TRACEFUSE_HOST_LINKS_H

#include <limits.h>
#include <sys/types.h>

/*
 * Finds the directory that `path` leads to, and the name in it, which is not a link. Returns an
 * O_PATH descriptor of the directory, which the caller closes, or -errno: -EACCES for another
 * user's link, -EISDIR for a path that ends in "." or "..".
 */
int links_resolve(const char *path, char name[NAME_MAX + 1]);

/* Like open() with O_CLOEXEC. Returns a descriptor or -errno. */
int links_open(const char *path, int flags, mode_t mode);

/* Like mkdir(). 0 or -errno. */
int links_mkdir(const char *path, mode_t mode);

#endif
