/* SPDX-License-Identifier: MIT */
/*
 * region.h - one of a session's two sparse files, mapped whole (R3)
 *
 * Included by src/session only. A chunk of memory is backed before any reference to it is
 * published. So if memory runs out, the command that asked for it fails, and a traced program never
 * gets a SIGBUS.
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
	uint64_t	spare;		/* bytes of address space behind it that no file backs */
	uint8_t		*backed;	/* a bit for each chunk; the server's private memory */
	uint8_t		*prepared;	/* likewise: backed, zeros, and not in use */
	uint64_t	nr_prepared;	/* how many of them */
	bool		full;		/* once, its tmpfs had no room */
};

/*
 * Takes over fd, also on failure. -errno. spared: unused addresses follow the region. Any process
 * may have written an offset; masked with region_mask() and increased by a hit, it then leads to no
 * other memory of the server.
 */
int region_create(struct region *r, int fd, uint64_t size, bool spared);
/* Opens an existing file. Nothing is known to be backed. size 0: the file's size. */
int region_open(struct region *r, int fd, uint64_t size, bool spared);
void region_close(struct region *r);

/* Backs [off, off + len) and zeroes it. -ENOSPC, -ENOMEM. */
int region_back(struct region *r, uint64_t off, uint64_t len);
/* The same for memory that has contents, which stay. */
int region_keep(struct region *r, uint64_t off, uint64_t len);
/*
 * Backs the chunks inside of [off, off + len), which is not in use, before region_back() needs
 * them. *budget: at most so many bytes, less what was backed. False: there is no room.
 */
bool region_prepare(struct region *r, uint64_t off, uint64_t len, uint64_t *budget);
/* Gives back what was prepared and not used since, about `budget` bytes. */
void region_unprepare(struct region *r, uint64_t budget);
/* [off, off + len) is not in use: gives the whole chunks inside it back to the system. */
void region_release(struct region *r, uint64_t off, uint64_t len);

/* The same; afterwards all of it reads as zeros. */
void region_wipe(struct region *r, uint64_t off, uint64_t len);

/* NULL if [off, off + len) does not lie inside the region. */
static inline void *region_at(const struct region *r, uint64_t off, uint64_t len)
{
	return off && off <= r->size && len <= r->size - off ? r->base + off : NULL;
}

/* The mask of the bits that count in an offset of the region. */
uint64_t region_mask(const struct region *r);

/*
 * R2: a file that another process truncated then reads as zeros, and does not end the server with
 * SIGBUS. `spare` bytes behind it take stores that mean nothing. The first call installs the
 * handlers.
 */
int guard_add(const void *base, size_t size, size_t spare);
void guard_remove(const void *base);

#endif
