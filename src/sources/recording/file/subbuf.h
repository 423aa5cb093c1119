/* SPDX-License-Identifier: MIT */
/*
 * subbuf.h - walks the events of one ring buffer page in the kernel's format
 *
 *     0        8                    16
 *     +--------+--------------------+-------+---------+-- ... --+
 *     | time   | commit (low 30 bit | event | event   |         |
 *     |        |  size, flags 30 31)|       |         |         |
 *     +--------+--------------------+-------+---------+-- ... --+
 *
 *     event: u32 = time delta << 5 | type
 *       1..28    data of type * 4 bytes
 *       0        u32 n, then n - 4 bytes of data
 *       29       delta 0: the rest is empty; else u32 n: skip n bytes of a discarded event. Its
 *                delta counts, because the next event's begins there. 1 stands for 0.
 *       30       u32 t: time += t << 27 | delta
 *       31       u32 t: time  = t << 27 | delta, its upper 5 bits those of the time before
 *
 * The kernel's files of text leave out the delta of a discarded event: what follows it on the page
 * is too early there (`early`), and so in the ring of a replay. Histograms in the kernel have the
 * right time, and so has trace-cmd.
 *
 * Included by stream.c and by fuzzers; trusts nothing in the page.
 */
#ifndef TRACEFUSE_SOURCES_RECORDING_FILE_SUBBUF_H
#define TRACEFUSE_SOURCES_RECORDING_FILE_SUBBUF_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
	SUBBUF_HEADER		= 16,
	SUBBUF_COMMIT_MASK	= (1 << 30) - 1,
	/* the number of lost events is stored behind the data */
	SUBBUF_STORED		= 1 << 30,
	SUBBUF_RECORD_MIN	= 8,		/* the common fields */
};

#define SUBBUF_MISSED		(1u << 31)	/* events were lost before this page */
#define SUBBUF_TIME_TOP		(0xf8ull << 56)	/* the bits that an absolute time stamp lacks */

enum subbuf_type {
	SUBBUF_DATA_MAX		= 28,
	SUBBUF_PADDING		= 29,
	SUBBUF_TIME_EXTEND	= 30,
	SUBBUF_TIME_STAMP	= 31,
};

struct subbuf {
	const uint8_t	*at;
	const uint8_t	*end;
	uint64_t	time;
	uint64_t	skipped;	/* the part of time that the kernel leaves out */
};

struct subbuf_record {
	const uint8_t	*data;
	uint32_t	size;
	uint32_t	type;		/* common_type */
	uint64_t	time;
	uint64_t	early;		/* how much earlier it is in the kernel's files of text */
};

static inline uint32_t subbuf_u32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, 4);
	return v;
}

/*
 * Starts a page of `size` bytes. *lost: number of events lost before it, at least 1 if the page
 * says that events were lost.
 */
static inline int subbuf_start(struct subbuf *b, const uint8_t *page, uint32_t size, uint64_t *lost)
{
	uint32_t flags = subbuf_u32(page + 8);
	uint32_t commit = flags & SUBBUF_COMMIT_MASK;

	*lost = 0;
	if (commit > size - SUBBUF_HEADER)
		return -EPROTO;
	memcpy(&b->time, page, 8);
	b->skipped = 0;
	b->at = page + SUBBUF_HEADER;
	b->end = b->at + commit;
	if (flags & SUBBUF_MISSED) {
		*lost = 1;
		if (flags & SUBBUF_STORED && commit + 8 <= size - SUBBUF_HEADER)
			memcpy(lost, b->end, 8);
	}
	return 0;
}

/*
 * The same when *b is at the end of what was read before from the same CPU. A page that is being
 * written is read in pieces. A later piece has the time that the kernel's reader has reached, which
 * lacks what *b has of discarded events.
 */
static inline int subbuf_start_behind(struct subbuf *b, const uint8_t *page, uint32_t size,
				      uint64_t *lost)
{
	const struct subbuf before = *b;
	const int err = subbuf_start(b, page, size, lost);

	if (!err && b->time == before.time - before.skipped) {
		b->time = before.time;
		b->skipped = before.skipped;
	}
	return err;
}

static inline uint64_t subbuf_absolute(uint64_t stamp, uint64_t before)
{
	if (before & SUBBUF_TIME_TOP) {
		stamp |= before & SUBBUF_TIME_TOP;
		if (stamp < before)
			stamp += 1ull << 59;
	}
	return stamp;
}

static inline int subbuf_fill(struct subbuf *b, struct subbuf_record *r, const uint8_t *data,
			      uint32_t size, uint32_t delta)
{
	uint16_t type;

	if (size < SUBBUF_RECORD_MIN || size > (size_t)(b->end - data))
		return -EPROTO;
	memcpy(&type, data, 2);
	b->time += delta;
	b->at = data + ((size + 3) & ~3u);
	r->data = data;
	r->size = size;
	r->type = type;
	r->time = b->time;
	r->early = b->skipped;
	return 1;
}

/*
 * Skips padding and time between records. Returns 1 to go on, 0 at the end of the page, or -EPROTO.
 */
static inline int subbuf_skip(struct subbuf *b, uint32_t type, uint32_t delta)
{
	uint32_t value;

	if (type == SUBBUF_PADDING && !delta)
		return 0;
	if (b->end - b->at < 8)
		return -EPROTO;
	value = subbuf_u32(b->at + 4);
	switch (type) {
	case SUBBUF_PADDING:
		if (value < 4 || value > (size_t)(b->end - b->at) - 4)
			return -EPROTO;
		b->at += 4 + (size_t)value;
		b->time += delta > 1 ? delta : 0;
		b->skipped += delta > 1 ? delta : 0;
		return 1;
	case SUBBUF_TIME_EXTEND:
		b->time += ((uint64_t)value << 27) + delta;
		break;
	default:
		b->time = subbuf_absolute(((uint64_t)value << 27) + delta, b->time);
		b->skipped = 0;
		break;
	}
	b->at += 8;
	return 1;
}

/* Returns 1 and the next record, 0 at the end of the page, or -EPROTO for damage at b->at. */
static inline int subbuf_next(struct subbuf *b, struct subbuf_record *r)
{
	uint32_t head, type, size;
	int ret;

	while (b->end - b->at >= 4) {
		head = subbuf_u32(b->at);
		type = head & 31;
		if (type - 1 < SUBBUF_DATA_MAX)
			return subbuf_fill(b, r, b->at + 4, type * 4, head >> 5);
		if (!type) {
			if (b->end - b->at < 8)
				return -EPROTO;
			size = subbuf_u32(b->at + 4);
			return size < 4 ? -EPROTO
					: subbuf_fill(b, r, b->at + 8, size - 4, head >> 5);
		}
		ret = subbuf_skip(b, type, head >> 5);
		if (ret <= 0)
			return ret;
	}
	return 0;
}

#endif
