/* SPDX-License-Identifier: MIT */
/*
 * debug_file.c - finds the file that has the symbols and the debug information of a stripped file
 *
 *     its build-id     /usr/lib/debug/.build-id/xx/yyyy.debug
 *     .gnu_debuglink   NAME beside the file, in .debug there, and below /usr/lib/debug
 *
 * A file that has a build-id is found by .gnu_debuglink, too, if the other one has the same id.
 * Without an id the checksum of .gnu_debuglink decides.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "elf/file.h"

#define DEBUG_DIR "/usr/lib/debug"

enum {
	CRC_BLOCK	= 1 << 16,
	CRC_MAX		= 1 << 27,	/* bytes of a file without build-id: about half a second */
};

struct debug_search {
	const uint8_t	*id;		/* NULL: the file has none */
	size_t		id_len;
	uint32_t	crc;
	struct elf_file	*out;
};

const uint8_t *elf_build_id(const struct image *im, size_t *len)
{
	for (unsigned int i = 0; i < im->nr_phdrs; i++) {
		const Elf64_Phdr *p = &im->phdrs[i];
		const void *notes, *id;

		if (p->p_type != PT_NOTE || p->p_filesz > ELF_SEGMENT_MAX)
			continue;
		notes = image_bytes(im, p->p_offset, p->p_filesz);
		id = notes ? image_note(notes, p->p_filesz, p->p_align, "GNU", NT_GNU_BUILD_ID,
					len) : NULL;
		if (id)
			return id;
	}
	return NULL;
}

/* ---- Whether it is the right one ---- */

/* The checksum of .gnu_debuglink: CRC-32, as in Ethernet, by halves of bytes. */
static uint32_t crc_of(uint32_t crc, const uint8_t *bytes, size_t len)
{
	static const uint32_t table[16] = {
		0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4, 0x4db26158,
		0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c, 0x9b64c2b0, 0x86d3d2d4,
		0xa00ae278, 0xbdbdf21c,
	};

	crc = ~crc;
	for (size_t i = 0; i < len; i++) {
		crc ^= bytes[i];
		crc = crc >> 4 ^ table[crc & 15];
		crc = crc >> 4 ^ table[crc & 15];
	}
	return ~crc;
}

static bool has_crc(const struct elf_file *f, uint32_t want)
{
	const uint64_t size = f->image.size;
	uint32_t crc = 0;

	if (size > CRC_MAX)
		return false;
	for (uint64_t at = 0; at < size; at += CRC_BLOCK) {
		const uint64_t left = size - at, len = left < CRC_BLOCK ? left : CRC_BLOCK;
		const void *bytes = image_bytes(&f->image, at, len);

		if (!bytes)
			return false;
		crc = crc_of(crc, bytes, len);
	}
	return crc == want;
}

static bool debug_is_right(const struct debug_search *s)
{
	const uint8_t *id;
	size_t len = 0;

	if (!s->id)
		return has_crc(s->out, s->crc);
	id = elf_build_id(&s->out->image, &len);
	return id && len == s->id_len && !memcmp(id, s->id, len);
}

static bool debug_try(const struct debug_search *s, const char *path)
{
	if (elf_file_open(path, NULL, s->out))
		return false;
	if (debug_is_right(s))
		return true;
	elf_file_close(s->out);
	return false;
}

/* ---- Where it may be ---- */

bool elf_debug_path(const uint8_t *id, size_t len, char *out, size_t size)
{
	int at = snprintf(out, size, DEBUG_DIR "/.build-id/");

	if (len < 2 || len > 64)
		return false;
	for (size_t i = 0; i < len && (size_t)at < size; i++)
		at += snprintf(out + at, size - (size_t)at, i == 1 ? "/%02x" : "%02x", id[i]);
	return (size_t)at < size &&
	       (size_t)snprintf(out + at, size - (size_t)at, ".debug") < size - (size_t)at;
}

static bool try_id(const struct debug_search *s)
{
	char path[PATH_MAX];

	return s->id && elf_debug_path(s->id, s->id_len, path, sizeof(path)) &&
	       debug_try(s, path);
}

/* The name in .gnu_debuglink; NULL: there is none. */
static const char *link_of(const struct image *im, uint32_t *crc)
{
	for (unsigned int i = 0; i < im->nr_shdrs; i++) {
		const Elf64_Shdr *s = &im->shdrs[i];
		const char *text;
		size_t size, end;

		if (!im->names || s->sh_size > NAME_MAX + 8 ||
		    strcmp(image_string(im, im->names, s->sh_name), ".gnu_debuglink"))
			continue;
		text = image_section(im, s, &size);
		end = text ? strnlen(text, size) : 0;
		if (!end || end / 4 * 4 + 8 > size || memchr(text, '/', end))
			return NULL;
		memcpy(crc, text + end / 4 * 4 + 4, 4);
		return text;
	}
	return NULL;
}

static bool try_link(struct debug_search *s, const struct elf_file *f)
{
	static const char *const below[][2] = {
		{ "", "" }, { "", "/.debug" }, { DEBUG_DIR, "" },
	};
	const char *name = link_of(&f->image, &s->crc);
	char fd[64], dir[PATH_MAX], path[PATH_MAX];
	ssize_t n;

	snprintf(fd, sizeof(fd), "/proc/self/fd/%d", f->fd);
	n = name ? readlink(fd, dir, sizeof(dir) - 1) : -1;
	if (n < 0)
		return false;
	dir[n] = '\0';
	*(strrchr(dir, '/') ?: dir) = '\0';
	for (size_t i = 0; i < sizeof(below) / sizeof(below[0]); i++)
		if (snprintf(path, sizeof(path), "%s%s%s/%s", below[i][0], dir, below[i][1],
			     name) < (int)sizeof(path) && debug_try(s, path))
			return true;
	return false;
}

int elf_file_open_debug(const struct elf_file *f, struct elf_file *out)
{
	struct debug_search s = { .out = out };

	s.id = elf_build_id(&f->image, &s.id_len);
	return try_id(&s) || try_link(&s, f) ? 0 : -ENOENT;
}
