/* SPDX-License-Identifier: MIT */
/*
 * stream.h - the records of one CPU of one buffer of one file, one after another
 *
 * A stream is one record ahead: `record` is the present one, and stream_next()
 * makes the following one present. The bytes of the record before stay valid
 * until the call after that, so that a caller can look at what follows before
 * it passes a record on.
 *
 *     uncompressed   pages in the mapped file
 *     compressed     u32 count, (u32 packed, u32 size, packed bytes)*: chunk -> chunk[0] or
 *                    chunk[1], whichever the record before does not lie in
 */
#ifndef TRACEFUSE_SOURCES_RECORDING_FILE_STREAM_H
#define TRACEFUSE_SOURCES_RECORDING_FILE_STREAM_H

#include "sources/recording/file/subbuf.h"
#include "sources/recording/file/trace_dat.h"

struct stream_chunk {
	uint8_t		*bytes;
	size_t		room;		/* taken from the file's memory */
};

/* What became of the last record that was made in a context; masks of instances. */
struct stream_context {
	uint64_t	fate;		/* who recorded it */
	uint64_t	stack_wanted;	/* who wants the stack that follows */
};

struct stream {
	/* the merge looks at these */
	struct subbuf_record record;
	uint32_t	cpu;
	uint32_t	leaf;		/* the window's */

	/* in the present page */
	struct subbuf	page;
	const uint8_t	*page_start;

	/* pages in memory */
	const uint8_t	*pages;
	const uint8_t	*pages_end;

	/* in the file */
	struct trace_dat *dat;
	uint32_t	page_size;
	bool		compressed;
	uint64_t	start;
	/* compressed: the size in the file does not count the count */
	uint64_t	end;
	uint64_t	next;		/* offset of the next page or chunk */
	uint64_t	chunk_offset;	/* of the chunk in use */
	uint32_t	chunks_left;
	struct stream_chunk chunk[2];
	unsigned int	in_use;		/* the chunk that holds the present page */
	struct unpacker	*unpacker;	/* its own; NULL: the file's */
	bool		reads;		/* pages that are not packed are read into chunk[0] */

	/* the caller's, by context (task, softirq, hardirq, NMI) */
	struct stream_context context[4];

	/* losses */
	uint64_t	lost;		/* lost before the present record: the page said so */
	uint64_t	lost_total;
};

/* 0; -ENOTSUP: it is packed in a way that is unknown. */
int stream_open(struct stream *s, struct trace_dat *dat, const struct dat_buffer *buffer,
		const struct dat_cpu *cpu);
void stream_close(struct stream *s);
/* Before the first record. */
void stream_rewind(struct stream *s);

/* 1: s->record is the next one; 0: the end; -EPROTO with *err filled, -ENOMEM. */
int stream_next(struct stream *s, struct source_error *err);
/* In two steps: 1, or what the second one is to be told. */
static inline int stream_next_quickly(struct stream *s)
{
	s->lost = 0;
	return subbuf_next(&s->page, &s->record);
}
int stream_next_slowly(struct stream *s, int ret, struct source_error *err);

/*
 * A stretch of a stream that is read apart from the rest: whole pages, or whole
 * chunks. Each page says its own time, so any thread may read any piece.
 */
struct stream_piece {
	uint64_t	at, end;	/* in the file */
	uint32_t	chunks, passed;	/* in it, and before it */
};

/*
 * Puts the piece that follows `p` into it; zeros: the first one is next. It has at least `bytes`
 * unpacked bytes, but at the end. *largest: of its chunks, unpacked. 1; 0: none is left; -EPROTO:
 * damage.
 */
int stream_piece_next(const struct stream *s, struct stream_piece *p, uint64_t bytes,
		      uint32_t *largest);
/*
 * Makes `part` a stream over a piece of `s`. It keeps its first chunk, which has room for all that
 * it needs, whole pages or the largest chunk, and its unpacker. It goes by pages:
 * stream_next_page(), subbuf_next(). Pages are read, not mapped: that costs half of the faults, and
 * they come into the cache at once.
 */
void stream_piece_open(struct stream *part, const struct stream *s, const struct stream_piece *p);
/* 1: s->page stands before its first record; 0: the end; -EPROTO with *err filled, -ENOMEM. */
int stream_next_page(struct stream *s, struct source_error *err);
/* Behind the last record; what was lost before it is not known. */
void stream_finish(struct stream *s);

/* Looks at what follows the present record without going on, as far as it is in memory. */
struct stream_peek {
	struct subbuf	page;
	const uint8_t	*pages;
};
void stream_peek_start(const struct stream *s, struct stream_peek *peek);
bool stream_peek_next(const struct stream *s, struct stream_peek *peek, struct subbuf_record *r);

/* Bytes of the file that lie behind the stream, for progress. */
uint64_t stream_passed(const struct stream *s);
/* An upper bound of the bytes of all its pages when unpacked. */
uint64_t stream_unpacked(const struct stream *s);

#endif
