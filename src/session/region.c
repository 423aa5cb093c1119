/* SPDX-License-Identifier: MIT */
/*
 * region.c - a sparse file on tmpfs, mapped whole and backed piece by piece
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "session/region.h"

static bool chunk_backed(const struct region *r, uint64_t chunk)
{
	return r->backed[chunk / 8] >> (chunk % 8) & 1;
}

static void chunk_mark(struct region *r, uint64_t chunk, bool on)
{
	uint8_t bit = (uint8_t)(1u << (chunk % 8));

	if (on)
		r->backed[chunk / 8] |= bit;
	else
		r->backed[chunk / 8] &= (uint8_t)~bit;
}

/* It is in use now, or it is given back. Returns whether it was prepared. */
static bool chunk_take(struct region *r, uint64_t chunk)
{
	const uint8_t bit = (uint8_t)(1u << (chunk % 8));

	if (!(r->prepared[chunk / 8] & bit))
		return false;
	r->prepared[chunk / 8] &= (uint8_t)~bit;
	r->nr_prepared--;
	return true;
}

/*
 * As spare_of() in agent/join/attach.c: room for each offset that the mask allows, and as much
 * again.
 */
static uint64_t spare_of(uint64_t size)
{
	uint64_t room = 4096;

	while (room < size)
		room <<= 1;
	return 2 * room - size;
}

uint64_t region_mask(const struct region *r)
{
	return (r->size + spare_of(r->size)) / 2 - 1;
}

/* If addresses are scarce (ulimit -v), there is no spare. */
static void *map_spared(int fd, uint64_t size, uint64_t *spare)
{
	char *at = *spare ? mmap(NULL, size + *spare, PROT_NONE,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
			  : MAP_FAILED;
	void *base;

	if (at == MAP_FAILED)
		*spare = 0;
	base = mmap(at == MAP_FAILED ? NULL : at, size, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_NORESERVE | (at == MAP_FAILED ? 0 : MAP_FIXED), fd, 0);
	if (base == MAP_FAILED && at != MAP_FAILED)
		munmap(at, size + *spare);
	return base;
}

static int region_map(struct region *r, int fd, uint64_t size, bool spared)
{
	uint64_t spare = spared ? spare_of(size) : 0;
	void *base = map_spared(fd, size, &spare);
	int err;

	if (base == MAP_FAILED)
		return -errno;
	r->backed = calloc(size / REGION_CHUNK / 8 + 1, 1);
	r->prepared = calloc(size / REGION_CHUNK / 8 + 1, 1);
	r->nr_prepared = 0;
	err = r->backed && r->prepared ? guard_add(base, size, spare) : -ENOMEM;
	if (err) {
		free(r->backed);
		free(r->prepared);
		munmap(base, size + spare);
		return err;
	}
	/* A core file of a server or a program must not hold gigabytes of trace. */
	madvise(base, size + spare, MADV_DONTDUMP);
	r->fd = fd;
	r->base = base;
	r->size = size;
	r->spare = spare;
	return 0;
}

int region_create(struct region *r, int fd, uint64_t size, bool spared)
{
	int err = ftruncate(fd, (off_t)size) ? -errno : region_map(r, fd, size, spared);

	if (err)
		close(fd);
	return err;
}

int region_open(struct region *r, int fd, uint64_t size, bool spared)
{
	struct stat st;
	int err;

	if (fstat(fd, &st))
		err = -errno;
	else if (st.st_size < REGION_CHUNK || (size && (uint64_t)st.st_size != size))
		err = -EPROTO;
	else
		err = region_map(r, fd, (uint64_t)st.st_size, spared);
	if (err)
		close(fd);
	return err;
}

void region_close(struct region *r)
{
	if (!r->base)
		return;
	guard_remove(r->base);
	munmap(r->base, r->size + r->spare);
	close(r->fd);
	free(r->backed);
	free(r->prepared);
	memset(r, 0, sizeof(*r));
	r->fd = -1;
}

/*
 * There is no room: what is prepared for later is given back first. Keeps errno. False: nothing is.
 */
static bool region_spares(struct region *r)
{
	const int err = errno;
	const bool any = r->nr_prepared;

	region_unprepare(r, UINT64_MAX);
	errno = err;
	return any;
}

/* Backs the run of unbacked chunks from `chunk` to at most `last`; returns the chunk after it. */
static int back_run(struct region *r, uint64_t chunk, uint64_t last, uint64_t *next)
{
	uint64_t end = chunk, off = chunk * REGION_CHUNK, stop;

	while (end <= last && !chunk_backed(r, end))
		end++;
	stop = end * REGION_CHUNK < r->size ? end * REGION_CHUNK : r->size;
	while (fallocate(r->fd, 0, (off_t)off, (off_t)(stop - off)))
		if (errno != EINTR && !region_spares(r)) {
			r->full = true;
			return -errno;
		}
	for (*next = end; chunk < end; chunk++)
		chunk_mark(r, chunk, true);
	return 0;
}

static void zero_overlap(struct region *r, uint64_t chunk, uint64_t off, uint64_t len)
{
	uint64_t lo = chunk * REGION_CHUNK, hi = lo + REGION_CHUNK;

	lo = lo < off ? off : lo;
	hi = hi > off + len ? off + len : hi;
	memset(r->base + lo, 0, hi - lo);
}

static int back(struct region *r, uint64_t off, uint64_t len, bool zero)
{
	uint64_t chunk = off / REGION_CHUNK, last = (off + len - 1) / REGION_CHUNK;
	int err;

	while (chunk <= last) {
		if (chunk_backed(r, chunk)) {
			if (!chunk_take(r, chunk) && zero)
				zero_overlap(r, chunk, off, len);
			chunk++;
			continue;
		}
		err = back_run(r, chunk, last, &chunk);
		if (err)
			return err;
	}
	return 0;
}

int region_back(struct region *r, uint64_t off, uint64_t len)
{
	return len ? back(r, off, len, true) : 0;
}

int region_keep(struct region *r, uint64_t off, uint64_t len)
{
	return len ? back(r, off, len, false) : 0;
}

void region_release(struct region *r, uint64_t off, uint64_t len)
{
	uint64_t first = (off + REGION_CHUNK - 1) / REGION_CHUNK, end = (off + len) / REGION_CHUNK;

	if (first >= end)
		return;
	if (fallocate(r->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
		      (off_t)(first * REGION_CHUNK), (off_t)((end - first) * REGION_CHUNK)))
		return;		/* stays backed, and is zeroed when it is used again */
	for (; first < end; first++) {
		chunk_mark(r, first, false);
		chunk_take(r, first);
	}
}

/* Backs the chunks up to `end`, of which none is backed. */
static bool chunks_prepare(struct region *r, uint64_t chunk, uint64_t end)
{
	const off_t off = (off_t)(chunk * REGION_CHUNK);

	while (fallocate(r->fd, 0, off, (off_t)(end * REGION_CHUNK) - off))
		if (errno != EINTR)
			return false;
	r->nr_prepared += end - chunk;
	for (; chunk < end; chunk++) {
		chunk_mark(r, chunk, true);
		r->prepared[chunk / 8] |= (uint8_t)(1u << (chunk % 8));
	}
	return true;
}

bool region_prepare(struct region *r, uint64_t off, uint64_t len, uint64_t *budget)
{
	uint64_t chunk = (off + REGION_CHUNK - 1) / REGION_CHUNK, end = (off + len) / REGION_CHUNK;

	while (chunk < end && *budget >= REGION_CHUNK) {
		const uint64_t most = chunk + *budget / REGION_CHUNK;
		uint64_t stop = chunk;

		while (stop < end && stop < most && !chunk_backed(r, stop))
			stop++;
		if (stop > chunk && !chunks_prepare(r, chunk, stop))
			return false;
		*budget -= (stop - chunk) * REGION_CHUNK;
		chunk = stop > chunk ? stop : chunk + 1;
	}
	return true;
}

void region_unprepare(struct region *r, uint64_t budget)
{
	const uint64_t end = r->size / REGION_CHUNK;
	uint64_t left = budget / REGION_CHUNK;

	for (uint64_t chunk = 0; r->nr_prepared && left && chunk < end; chunk++) {
		if (!(r->prepared[chunk / 8] >> (chunk % 8) & 1))
			continue;
		left--;
		region_release(r, chunk * REGION_CHUNK, REGION_CHUNK);
		/* Where that cannot be, it stays backed, with zeros. */
		chunk_take(r, chunk);
	}
}

/*
 * Zeroes a part of a chunk. A chunk that is not known to be backed may still have contents, from
 * another server.
 */
static void wipe_part(struct region *r, uint64_t off, uint64_t end)
{
	if (off >= end)
		return;
	if (chunk_backed(r, off / REGION_CHUNK) ||
	    fallocate(r->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)off,
		      (off_t)(end - off)))
		memset(r->base + off, 0, end - off);
}

void region_wipe(struct region *r, uint64_t off, uint64_t len)
{
	const uint64_t end = off + len,
		       first = (off + REGION_CHUNK - 1) / REGION_CHUNK * REGION_CHUNK;
	const uint64_t last = end / REGION_CHUNK * REGION_CHUNK;

	region_release(r, off, len);
	wipe_part(r, off, first < end ? first : end);
	wipe_part(r, last > first ? last : first, end);
}
