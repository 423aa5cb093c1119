/* SPDX-License-Identifier: MIT */
/*
 * stream.h - the records of one CPU of one buffer of one file, one after another
 *
 * `record` is the present record, and stream_next() makes the next one present. The bytes of the
 * previous record stay valid until the call after that. So a caller can look at the next record
 * before it passes one on.
 *
 *     uncompressed   pages in the mapped file
 *     compressed     u32 count, (u32 packed, u32 size, packed bytes)*: unpacked into chunk[0] or
 *                    chunk[1], the one without the previous record
 */
#ifndef TRACEFUSE_SOURCES_RECORDING_FILE_STREAM_H
#define TRACEFUSE_SOURCES_RECORDING_FILE_STREAM_H

#include "sources/recording/file/subbuf.h"
#include "sources/recording/file/trace_dat.h"

struct stream_chunk {
	uint8_t		*bytes;
	size_t		room;		/* bytes, taken from the file's memory */
};

/* What instances did with the last record of a context. Both are masks of instances. */
struct stream_context {
	uint64_t	fate;		/* instances that recorded it */
	uint64_t	stack_wanted;	/* instances that want the next stack */
	bool		has_stack;	/* that stack was passed with the record */
	bool		has_pair;	/* two stacks follow: the option's, the trigger's */
};

struct stream {
	/* used by the merge */
	struct subbuf_record record;
	uint32_t	cpu;
	uint32_t	leaf;		/* its leaf in the window */

	/* The present page. */
	struct subbuf	page;
	const uint8_t	*page_start;

	/* Pages in memory. */
	const uint8_t	*pages;
	const uint8_t	*pages_end;

	/* The stream in the file. */
	struct trace_dat *dat;
	uint32_t	page_size;
	bool		compressed;
	uint64_t	start;
	/* If compressed, the size in the file does not include the 4 bytes of the count. */
	uint64_t	end;
	uint64_t	next;		/* offset of the next page or chunk */
	uint64_t	chunk_offset;	/* offset of the chunk in use */
	uint32_t	chunks_left;
	struct stream_chunk chunk[2];
	unsigned int	in_use;		/* the chunk that holds the present page */
	struct unpacker	*unpacker;	/* its own unpacker; NULL: the file's */
	bool		reads;		/* uncompressed pages are read into chunk[0], not mapped */

	/* For the caller, by context: task, softirq, hardirq, NMI. */
	struct stream_context context[4];

	/* losses */
	/* Number of records lost before the present one, as the page says */
	uint64_t	lost;
	uint64_t	lost_total;

	/*
	 * If the file is foreign: the converted present page, the one with the previous record, and
	 * one for stream_peek_next().
	 */
	struct stream_chunk converted[3];
};

/* 0; -ENOTSUP: unknown compression. */
int stream_open(struct stream *s, struct trace_dat *dat, const struct dat_buffer *buffer,
		const struct dat_cpu *cpu);
void stream_close(struct stream *s);
/* Goes to before the first record. */
void stream_rewind(struct stream *s);

/* Returns 1 if s->record is the next record, 0 at the end, -EPROTO with *err filled, or -ENOMEM. */
int stream_next(struct stream *s, struct source_error *err);
/* Bytes. Each record says where the next one is, so its load waits: the CPU fetches ahead. */
enum { STREAM_AHEAD = 256 };

/* The same in two steps. The first one returns 1, or the argument of the second one. */
static inline int stream_next_quickly(struct stream *s)
{
	s->lost = 0;
	/* The address may lie behind the file. */
	__builtin_prefetch((const void *)((uintptr_t)s->page.at + STREAM_AHEAD));
	return subbuf_next(&s->page, &s->record);
}
int stream_next_slowly(struct stream *s, int ret, struct source_error *err);

/*
 * A part of a stream that is read by itself: whole pages, or whole chunks. Each page contains its
 * own time, so any thread may read any piece.
 */
struct stream_piece {
	uint64_t	at, end;	/* in the file */
	uint32_t	chunks, passed;	/* number of chunks in it, and before it */
};

/*
 * Replaces *p by the piece behind it; zeros: by the first piece. A piece has at least `bytes`
 * unpacked bytes, except the last one. *largest: the unpacked size of its largest chunk. Returns 1;
 * 0: there are no more pieces; -EPROTO: damage.
 */
int stream_piece_next(const struct stream *s, struct stream_piece *p, uint64_t bytes,
		      uint32_t *largest);
/* Room of the chunk that such a piece is read into. `largest`: as of stream_piece_next(). */
uint32_t stream_piece_room(const struct stream *s, uint32_t largest);
/*
 * Makes `part` a stream over a piece of `s`. The caller has given `part` an unpacker, and a first
 * chunk with room for whole pages or for the largest chunk; both stay. Such a stream is read page
 * by page with stream_next_page() and subbuf_next(). Pages are read, not mapped: that halves the
 * faults, and puts them into the cache at once.
 */
void stream_piece_open(struct stream *part, const struct stream *s, const struct stream_piece *p);
/*
 * Returns 1 if s->page is before its first record, 0 at the end, -EPROTO with *err filled, or
 * -ENOMEM.
 */
int stream_next_page(struct stream *s, struct source_error *err);
/* Goes to behind the last record. How many records were lost before it is not known. */
void stream_finish(struct stream *s);

/*
 * Looks at the records behind the present one, as far as they are in memory, without moving the
 * stream.
 */
struct stream_peek {
	struct subbuf	page;
	const uint8_t	*pages;
};
void stream_peek_start(const struct stream *s, struct stream_peek *peek);
bool stream_peek_next(const struct stream *s, struct stream_peek *peek, struct subbuf_record *r);

/* Bytes of the file that the stream has passed, for progress. */
uint64_t stream_passed(const struct stream *s);
/* The size of a page that its records need. */
uint32_t stream_page_size(const struct stream *s);
/* An upper limit of the unpacked bytes of all its pages. */
uint64_t stream_unpacked(const struct stream *s);

#endif
