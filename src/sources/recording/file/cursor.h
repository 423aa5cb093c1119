/* SPDX-License-Identifier: MIT */
/*
 * cursor.h - bounded reading of a recording's bytes
 *
 * A read beyond the end returns 0 (or NULL) and sets `bad`, which stays set, and the position
 * stays. So a parser reads a whole structure and checks once. `swap` says that the file has the
 * other byte order than this machine; then all numbers are swapped here.
 */
#ifndef TRACEFUSE_SOURCES_RECORDING_FILE_CURSOR_H
#define TRACEFUSE_SOURCES_RECORDING_FILE_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct cursor {
	const uint8_t	*start;
	const uint8_t	*at;
	const uint8_t	*end;
	uint64_t	offset;		/* offset of `start` in the file */
	bool		bad;
	bool		swap;
};

static inline struct cursor cursor_over(const void *data, size_t size, uint64_t offset)
{
	static const uint8_t nothing;
	const uint8_t *start = data ? data : &nothing;	/* an empty section has no data */

	return (struct cursor){
		.start = start, .at = start, .end = start + size, .offset = offset
	};
}

static inline size_t cursor_left(const struct cursor *c)
{
	return c->end - c->at;
}

static inline uint64_t cursor_offset(const struct cursor *c)
{
	return c->offset + (c->at - c->start);
}

/* Takes the next n bytes. NULL: there are fewer. */
static inline const uint8_t *cursor_take(struct cursor *c, uint64_t n)
{
	const uint8_t *p = c->at;

	if (c->bad || n > cursor_left(c)) {
		c->bad = true;
		return NULL;
	}
	c->at += n;
	return p;
}

static inline uint64_t cursor_number(struct cursor *c, size_t size)
{
	const uint8_t *p = cursor_take(c, size);
	uint64_t u64 = 0;
	uint32_t u32 = 0;
	uint16_t u16 = 0;

	if (!p)
		return 0;
	switch (size) {
	case 1:
		return *p;
	case 2:
		memcpy(&u16, p, 2);
		return c->swap ? __builtin_bswap16(u16) : u16;
	case 4:
		memcpy(&u32, p, 4);
		return c->swap ? __builtin_bswap32(u32) : u32;
	default:
		memcpy(&u64, p, 8);
		return c->swap ? __builtin_bswap64(u64) : u64;
	}
}

static inline uint16_t cursor_u16(struct cursor *c)
{
	return cursor_number(c, 2);
}

static inline uint32_t cursor_u32(struct cursor *c)
{
	return cursor_number(c, 4);
}

static inline uint64_t cursor_u64(struct cursor *c)
{
	return cursor_number(c, 8);
}

/* Takes a 0-terminated string. NULL: it has no end. */
static inline const char *cursor_string(struct cursor *c)
{
	const uint8_t *nul = c->bad ? NULL : memchr(c->at, 0, cursor_left(c));

	if (!nul) {
		c->bad = true;
		return NULL;
	}
	return (const char *)cursor_take(c, nul - c->at + 1);
}

/* Takes the next bytes if they are exactly these. */
static inline bool cursor_match(struct cursor *c, const void *bytes, size_t n)
{
	if (c->bad || cursor_left(c) < n || memcmp(c->at, bytes, n))
		return false;
	c->at += n;
	return true;
}

#endif
