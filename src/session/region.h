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
	uint64_t	spare;		/* bytes of addresses behind it where nothing is */
	uint8_t		*backed;	/* one bit a chunk; the server's private memory */
	bool		full;		/* its tmpfs had no room once */
};

/*
 * Takes over fd, also on failure. -errno. spared: addresses follow, so that an
 * offset that anybody may have written, masked with region_mask(), and what a hit
 * adds to it, lead to nothing else of the server's.
 */
int region_create(struct region *r, int fd, uint64_t size, bool spared);
/* An existing file; nothing is known to be backed. size 0: the file's. */
int region_open(struct region *r, int fd, uint64_t size, bool spared);
void region_close(struct region *r);

/* Backs [off, off + len) and zeroes it; -ENOSPC, -ENOMEM. */
int region_back(struct region *r, uint64_t off, uint64_t len);
/* Backs what is there already and leaves the contents alone. */
int region_keep(struct region *r, uint64_t off, uint64_t len);
/* [off, off + len) is not in use: gives whole chunks inside it back to the system. */
void region_release(struct region *r, uint64_t off, uint64_t len);

/* The same, and all of it reads as zeros. */
void region_wipe(struct region *r, uint64_t off, uint64_t len);

/* NULL unless [off, off + len) lies inside. */
static inline void *region_at(const struct region *r, uint64_t off, uint64_t len)
{
	return off && off <= r->size && len <= r->size - off ? r->base + off : NULL;
}

/* Of offsets in it these bits count. */
uint64_t region_mask(const struct region *r);

/*
 * R2: a file that somebody truncated reads as zeros instead of ending the
 * server with SIGBUS, and `spare` bytes behind it take what is written there
 * and mean nothing. The first call installs the handlers.
 */
int guard_add(const void *base, size_t size, size_t spare);
void guard_remove(const void *base);

#endif
