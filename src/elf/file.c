/* SPDX-License-Identifier: MIT */
/*
 * file.c - the file of a DSO: checks that it is the right one, and reads its bytes on demand
 *
 * The image has an address for each byte of the file. Most of a large file is debug information
 * that is never read, so a block of a large file gets memory only when it is read. A small file
 * gets all its memory at once.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "elf/file.h"
#include "layout/layout.h"

enum { BLOCK = 1 << 12, SMALL_MAX = 1 << 20, ID_MAX = sizeof(((struct dso_entry *)0)->id) };

#define FILE_MAX (1ull << 40)
/* At most so many bytes are read of one file. The file itself may be larger, by holes. */
#define TAKEN_MAX (2ull << 30)
/* At most so many requests for blocks, because many sections may share one large table of names. */
#define ASKED_MAX (1ull << 26)

/* ---- its bytes ---- */

static bool has_block(const struct elf_file *f, uint64_t block)
{
	return f->has[block / 8] >> block % 8 & 1;
}

static int read_bytes(const struct elf_file *f, char *to, uint64_t off, uint64_t len)
{
	while (len) {
		ssize_t n = pread(f->fd, to, len, (off_t)off);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EINVAL;
		to += n;
		off += (uint64_t)n;
		len -= (uint64_t)n;
	}
	return 0;
}

static int read_blocks(struct elf_file *f, uint64_t block, uint64_t end)
{
	const uint64_t size = f->image.size, off = block * BLOCK;
	const uint64_t len = (end * BLOCK < size ? end * BLOCK : size) - off;
	char *to = (char *)f->image.file + off;
	int err;

	f->taken += len;
	if (f->taken > TAKEN_MAX)
		return -E2BIG;
	if (size > SMALL_MAX && mprotect(to, len, PROT_READ | PROT_WRITE))
		return -errno;
	err = read_bytes(f, to, off, len);
	for (; !err && block < end; block++)
		f->has[block / 8] |= (uint8_t)(1u << block % 8);
	return err;
}

static bool file_take(void *arg, uint64_t offset, uint64_t len)
{
	uint64_t block = offset / BLOCK, end = (offset + len + BLOCK - 1) / BLOCK, last;
	struct elf_file *f = arg;

	f->asked += end - block;
	if (f->asked > ASKED_MAX && !f->err)
		f->err = -E2BIG;
	for (; len && !f->err && block < end; block = last) {
		const bool has = has_block(f, block);

		for (last = block + 1; last < end && has_block(f, last) == has; last++)
			;
		if (!has)
			f->err = read_blocks(f, block, last);
	}
	return !f->err;
}

/* ---- open ---- */

/*
 * A large file gets only a range of addresses, which takes no memory. An access to bytes that were
 * not read faults.
 */
static int image_reserve(struct elf_file *f, uint64_t size)
{
	void *at;

	if (size < sizeof(Elf64_Ehdr) || size > FILE_MAX)
		return -EINVAL;
	if (size <= SMALL_MAX)
		at = malloc(size);
	else
		at = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
			  0);
	if (!at || at == MAP_FAILED)
		return -ENOMEM;
	f->image = (struct image){ .file = at, .size = size, .take = file_take, .take_arg = f };
	f->has = calloc(1, size / BLOCK / 8 + 1);
	return f->has ? 0 : -ENOMEM;
}

/* Devices and pipes must not block the server. */
static int file_open(const char *path, struct elf_file *f)
{
	int err;

	*f = (struct elf_file){ .fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) };
	if (f->fd < 0)
		return -errno;
	err = fstat(f->fd, &f->status) || !S_ISREG(f->status.st_mode) ?
	      -EINVAL : image_reserve(f, (uint64_t)f->status.st_size);
	if (!err && !image_headers(&f->image))
		err = f->err ? f->err : -EINVAL;
	if (err)
		elf_file_close(f);
	return err;
}

void elf_file_close(struct elf_file *f)
{
	if (f->image.size <= SMALL_MAX)
		free((void *)f->image.file);
	else
		munmap((void *)f->image.file, f->image.size);
	free(f->has);
	close(f->fd);
}

/* ---- is it the right file? ---- */

/* Whether its build-id is the one that is wanted; *found: it has a build-id. */
static bool has_id(const struct image *im, const struct elf_want *want, bool *found)
{
	size_t len;
	const uint8_t *id = elf_build_id(im, &len);

	/* As in the program, which has no room for a longer id. */
	*found = id && len <= ID_MAX;
	return *found && len == want->id_len && !memcmp(id, want->id, len);
}

/* For a file without a build-id: whether it spans the same addresses. */
static bool has_span(const struct image *im, const struct elf_want *want)
{
	uint64_t low, high;

	if (!image_span(im->phdrs, im->nr_phdrs, &low, &high))
		return false;
	low &= ~4095ull;
	return low == want->load &&
	       ((high - low + 4095) & ~4095ull) == ((want->size + 4095) & ~4095ull);
}

int elf_file_open(const char *path, const struct elf_want *want, struct elf_file *out)
{
	int err = file_open(path, out);
	bool found;

	if (!err && want && !has_id(&out->image, want, &found) &&
	    (found || !has_span(&out->image, want))) {
		elf_file_close(out);
		err = -ESTALE;
	}
	return err;
}
