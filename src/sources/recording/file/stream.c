/* SPDX-License-Identifier: MIT */
/* stream.c - see stream.h */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "sources/recording/file/foreign.h"
#include "sources/recording/file/stream.h"

enum { READ_BYTES = 128 << 10 };	/* uncompressed bytes to read at once: they stay in L2 */

static int damage(const struct stream *s, struct source_error *err, uint64_t offset,
		  const char *what)
{
	return error_set_at(err, -EPROTO, s->dat->path, offset, "damaged: %s of CPU %u", what,
			    s->cpu);
}

/*
 * The file's offset of a place in the present page, or of its chunk if that was unpacked or read.
 */
static uint64_t place(const struct stream *s, const uint8_t *at)
{
	if (s->dat->foreign && s->page_start)
		at = s->page_start;
	return s->compressed || s->reads ? s->chunk_offset : (uint64_t)(at - s->dat->map);
}

void stream_rewind(struct stream *s)
{
	struct cursor c = trace_dat_cursor(s->dat, s->start);

	s->next = s->start;
	s->chunks_left = 0;
	s->page = (struct subbuf){ 0 };
	s->page_start = NULL;
	s->record = (struct subbuf_record){ 0 };
	memset(s->context, 0, sizeof(s->context));
	s->lost = s->lost_total = 0;
	s->pages = s->pages_end = NULL;
	if (s->start == s->end)
		return;
	if (s->compressed) {
		s->chunks_left = cursor_u32(&c);
		s->next += 4;
	} else {
		s->pages = s->dat->map + s->start;
		s->pages_end = s->dat->map + s->end;
	}
}

int stream_open(struct stream *s, struct trace_dat *dat, const struct dat_buffer *buffer,
		const struct dat_cpu *cpu)
{
	*s = (struct stream){
		.cpu = cpu->cpu,
		.dat = dat,
		.page_size = buffer->page_size,
		.compressed = buffer->compressed,
		.start = cpu->offset,
		.end = cpu->offset + cpu->size,
	};
	stream_rewind(s);
	return s->compressed && cpu->size && !unpacker_knows(dat->algorithm) ? -ENOTSUP : 0;
}

void stream_close(struct stream *s)
{
	free(s->chunk[0].bytes);
	free(s->chunk[1].bytes);
	for (unsigned int i = 0; i < 3; i++)
		free(s->converted[i].bytes);
}

/* Makes room in a chunk, whose contents are lost. -EFBIG: more than the recording may take. */
static int chunk_reserve(struct stream *s, struct stream_chunk *chunk, size_t size)
{
	if (chunk->room >= size)
		return 0;
	free(chunk->bytes);
	source_memory_give(s->dat->memory, chunk->room);
	*chunk = (struct stream_chunk){ 0 };
	if (!trace_dat_memory(s->dat, size))
		return -EFBIG;
	chunk->bytes = malloc(size);
	chunk->room = chunk->bytes ? size : 0;
	if (!chunk->bytes)
		source_memory_give(s->dat->memory, size);
	return chunk->bytes ? 0 : -ENOMEM;
}

static bool chunk_holds(const struct stream_chunk *chunk, const uint8_t *p)
{
	return chunk->bytes && p >= chunk->bytes && p < chunk->bytes + chunk->room;
}

static bool chunk_size_valid(const struct stream *s, uint32_t size)
{
	return size && size <= UNPACK_MAX && !(size % s->page_size);
}

/* Unpacks the next chunk. It does not overwrite the chunk of the present record. */
static int load_chunk(struct stream *s, struct source_error *err)
{
	struct cursor c = trace_dat_cursor(s->dat, s->next);
	struct stream_chunk *chunk;
	struct unpacker *unpacker;
	uint32_t packed, size;
	const uint8_t *data;
	int ret;

	packed = cursor_u32(&c);
	size = cursor_u32(&c);
	data = cursor_take(&c, packed);
	if (!data)
		return damage(s, err, s->next, "cut off, a chunk");
	if (!chunk_size_valid(s, size))
		return damage(s, err, s->next, "the size of a chunk");
	s->in_use = chunk_holds(&s->chunk[0], s->record.data);
	chunk = &s->chunk[s->in_use];
	ret = chunk_reserve(s, chunk, size);
	if (ret == -EFBIG)
		return error_set_at(err, -EPROTO, s->dat->path, s->next,
				    "a chunk of %u bytes of CPU %u is " SOURCE_MEMORY_TEXT,
				    size, s->cpu);
	unpacker = s->unpacker ? s->unpacker : trace_dat_unpacker(s->dat);
	if (ret || !unpacker)
		return error_set(err, -ENOMEM, s->dat->path, "out of memory");
	if (unpacker_run(unpacker, data, packed, chunk->bytes, size))
		return damage(s, err, s->next, "a chunk that cannot be unpacked");
	s->chunk_offset = s->next;
	s->next = cursor_offset(&c);
	s->chunks_left--;
	s->pages = chunk->bytes;
	s->pages_end = chunk->bytes + size;
	return 1;
}

/* Reads pages of an uncompressed piece, as many as the chunk has room for. */
static int read_pages(struct stream *s, struct source_error *err)
{
	struct stream_chunk *chunk = &s->chunk[0];
	const uint64_t left = s->end - s->next, size = left < chunk->room ? left : chunk->room;

	if (pread(s->dat->fd, chunk->bytes, size, (off_t)s->next) != (ssize_t)size)
		return damage(s, err, s->next, "cut off, a page");
	s->chunk_offset = s->next;
	s->pages = chunk->bytes;
	s->pages_end = chunk->bytes + size;
	return 1;
}

/* Returns 1 if there are pages, 0 at the end. */
static int more_pages(struct stream *s, struct source_error *err)
{
	if (s->reads)
		return s->next < s->end ? read_pages(s, err) : 0;
	return s->chunks_left ? load_chunk(s, err) : 0;
}

enum { CONVERTED_PEEK = 2 };

/* Makes room for converted pages. Returns 1, -EPROTO with *err filled, or -ENOMEM. */
static int reserve_converted(struct stream *s, struct source_error *err)
{
	const uint32_t room = foreign_room(s->dat->foreign, s->page_size);
	int ret = 0;

	for (unsigned int i = 0; i < 3 && !ret; i++)
		ret = chunk_reserve(s, &s->converted[i], room);
	if (ret == -EFBIG)
		return error_set_at(err, -EPROTO, s->dat->path, place(s, s->page_start),
				    "a page of %u bytes of CPU %u is " SOURCE_MEMORY_TEXT,
				    s->page_size, s->cpu);
	return ret ? error_set(err, -ENOMEM, s->dat->path, "out of memory") : 1;
}

/* Starts a converted page in one of s->converted. */
static int start_converted(const struct stream *s, unsigned int i, const uint8_t *page,
			   struct subbuf *out, uint64_t *lost)
{
	const struct foreign *f = s->dat->foreign;
	uint8_t *bytes = s->converted[i].bytes;

	if (foreign_page(f, s->cpu, page, s->page_size, bytes))
		return -EPROTO;
	return subbuf_start(out, bytes, foreign_room(f, s->page_size), lost);
}

/* Starts the page at s->page_start. It does not overwrite the page of the present record. */
static int start_foreign(struct stream *s, struct source_error *err, uint64_t *lost)
{
	const unsigned int free_one = chunk_holds(&s->converted[0], s->record.data);
	int ret = reserve_converted(s, err);

	if (ret < 0)
		return ret;
	if (start_converted(s, free_one, s->page_start, &s->page, lost))
		return damage(s, err, place(s, s->page_start), "a page's head");
	return 1;
}

int stream_next_page(struct stream *s, struct source_error *err)
{
	uint64_t lost;
	int ret;

	if (s->pages == s->pages_end) {
		ret = more_pages(s, err);
		if (ret <= 0)
			return ret;
	}
	if ((size_t)(s->pages_end - s->pages) < s->page_size)
		return damage(s, err, place(s, s->pages), "cut off, a page");
	s->page_start = s->pages;
	s->pages += s->page_size;
	if (!s->compressed)
		s->next += s->page_size;
	if (s->dat->foreign) {
		ret = start_foreign(s, err, &lost);
		if (ret < 0)
			return ret;
	} else if (subbuf_start(&s->page, s->page_start, s->page_size, &lost)) {
		return damage(s, err, place(s, s->page_start), "a page's head");
	}
	s->lost += lost;
	s->lost_total += lost;
	return 1;
}

int stream_next_slowly(struct stream *s, int ret, struct source_error *err)
{
	while (ret <= 0) {
		if (ret < 0)
			return damage(s, err, place(s, s->page.at), "a record");
		ret = stream_next_page(s, err);
		if (ret <= 0)
			return ret;
		ret = subbuf_next(&s->page, &s->record);
	}
	return ret;
}

int stream_next(struct stream *s, struct source_error *err)
{
	const int ret = stream_next_quickly(s);

	return ret > 0 ? ret : stream_next_slowly(s, ret, err);
}

void stream_peek_start(const struct stream *s, struct stream_peek *peek)
{
	peek->page = s->page;
	peek->pages = s->pages;
}

static bool peek_page(const struct stream *s, struct stream_peek *peek)
{
	const uint8_t *page = peek->pages;
	uint64_t lost;

	if ((size_t)(s->pages_end - page) < s->page_size)
		return false;
	peek->pages += s->page_size;
	if (s->dat->foreign)
		return !start_converted(s, CONVERTED_PEEK, page, &peek->page, &lost);
	return !subbuf_start(&peek->page, page, s->page_size, &lost);
}

bool stream_peek_next(const struct stream *s, struct stream_peek *peek, struct subbuf_record *r)
{
	int ret;

	while (!(ret = subbuf_next(&peek->page, r)))
		if (!peek_page(s, peek))
			return false;
	return ret > 0;
}

/* ---- Pieces ---- */

static int next_pages(const struct stream *s, struct stream_piece *p, uint64_t bytes)
{
	const uint64_t whole = (bytes + s->page_size - 1) / s->page_size * s->page_size;

	p->at = p->end ? p->end : s->start;
	p->end = s->end - p->at < whole ? s->end : p->at + whole;
	return p->at < s->end;
}

static int next_chunks(const struct stream *s, struct stream_piece *p, uint64_t bytes,
		       uint32_t *largest)
{
	struct cursor c = trace_dat_cursor(s->dat, s->start);
	const uint32_t all = cursor_u32(&c), passed = p->end ? p->chunks + p->passed : 0;
	uint64_t unpacked = 0;
	uint32_t packed, size;

	*p = (struct stream_piece){ .at = p->end ? p->end : s->start + 4, .passed = passed };
	c = trace_dat_cursor(s->dat, p->at);
	while (p->passed + p->chunks < all && unpacked < bytes) {
		packed = cursor_u32(&c);
		size = cursor_u32(&c);
		if (!chunk_size_valid(s, size) || !cursor_take(&c, packed))
			return -EPROTO;
		unpacked += size;
		*largest = size > *largest ? size : *largest;
		p->chunks++;
	}
	p->end = cursor_offset(&c);
	return p->chunks > 0;
}

int stream_piece_next(const struct stream *s, struct stream_piece *p, uint64_t bytes,
		      uint32_t *largest)
{
	*largest = 0;
	if (s->start == s->end)
		return 0;
	return s->compressed ? next_chunks(s, p, bytes, largest) : next_pages(s, p, bytes);
}

uint32_t stream_piece_room(const struct stream *s, uint32_t largest)
{
	if (s->compressed)
		return largest;
	return s->page_size > READ_BYTES ? s->page_size : READ_BYTES / s->page_size * s->page_size;
}

void stream_piece_open(struct stream *part, const struct stream *s, const struct stream_piece *p)
{
	*part = (struct stream){
		.cpu = s->cpu, .dat = s->dat, .page_size = s->page_size,
		.compressed = s->compressed, .start = p->at, .end = p->end, .next = p->at,
		.chunks_left = p->chunks, .chunk[0] = part->chunk[0], .unpacker = part->unpacker,
		.reads = !s->compressed,
	};
}

void stream_finish(struct stream *s)
{
	s->page = (struct subbuf){ 0 };
	s->record = (struct subbuf_record){ 0 };
	s->pages = s->pages_end = NULL;
	s->chunks_left = 0;
	s->next = s->end;
	s->lost = s->lost_total = 0;
}

uint64_t stream_passed(const struct stream *s)
{
	return s->next < s->end ? s->next - s->start : s->end - s->start;
}

uint32_t stream_page_size(const struct stream *s)
{
	return foreign_page_size(s->dat->foreign, s->page_size);
}

static uint64_t stream_file_bytes(const struct stream *s)
{
	struct cursor c = trace_dat_cursor(s->dat, s->start);
	uint32_t chunks, packed, size;
	uint64_t total = 0;

	if (!s->compressed)
		return s->end - s->start;
	for (chunks = cursor_u32(&c); chunks && !c.bad; chunks--) {
		packed = cursor_u32(&c);
		size = cursor_u32(&c);
		/* The stream ends there. A damaged size must not decide the size of rings. */
		if (!chunk_size_valid(s, size) || !cursor_take(&c, packed))
			break;
		total += size;
	}
	return total;
}

uint64_t stream_unpacked(const struct stream *s)
{
	return stream_file_bytes(s) * foreign_growth(s->dat->foreign);
}
