/* SPDX-License-Identifier: MIT */
/*
 * region.h - one of a session's two sparse files, mapped whole (R3)
 *
 * Included by src/session only. Memory is backed in chunks before anybody
 * gets to see a reference to it, so that running out of memory is an error of
 * the command that asked and never a SIGBUS in a traced program.
 */
#ifndef TRACEFUSE_SESSION_REGION_H
#define TRACEFUSE_SESSION_REGION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { REGION_CHUNK = 65536 };

struct region {
	int		fd;
	char		*base;
	uint64_t	size;
	uint8_t		*backed;	/* one bit a chunk; the server's private memory */
};

/* Takes over fd, also on failure. -errno. */
int region_create(struct region *r, int fd, uint64_t size);
/* An existing file; nothing is known to be backed. size 0: the file's. */
int region_open(struct region *r, int fd, uint64_t size);
void region_close(struct region *r);

/* Backs [off, off + len) and zeroes it; -ENOSPC, -ENOMEM. */
int region_back(struct region *r, uint64_t off, uint64_t len);
/* Backs what is there already and leaves the contents alone. */
int region_keep(struct region *r, uint64_t off, uint64_t len);
/* [off, off + len) is not in use: gives whole chunks inside it back to the system. */
void region_release(struct region *r, uint64_t off, uint64_t len);

/* NULL unless [off, off + len) lies inside. */
static inline void *region_at(const struct region *r, uint64_t off, uint64_t len)
{
	return off && off <= r->size && len <= r->size - off ? r->base + off : NULL;
}

/*
 * R2: a file that somebody truncated reads as zeros instead of ending the
 * server with SIGBUS. The first call installs the handler.
 */
int guard_add(const void *base, size_t size);
void guard_remove(const void *base);

#endif
