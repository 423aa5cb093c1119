/* SPDX-License-Identifier: MIT */
/* stream.c - see stream.h */
#include <errno.h>
#include <stdlib.h>

#include "sources/stream.h"

static int damage(const struct stream *s, struct source_error *err, uint64_t offset,
		  const char *what)
{
	return error_set_at(err, -EPROTO, s->dat->path, offset, "damaged: %s of CPU %u", what, s->cpu);
}

/* Offset of a place in the present page, or of its chunk when that is compressed. */
static uint64_t place(const struct stream *s, const uint8_t *at)
{
	return s->compressed ? s->chunk_offset : (uint64_t)(at - s->dat->map);
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
		.cpu = cpu->cpu, .dat = dat, .page_size = buffer->page_size,
		.compressed = buffer->compressed, .start = cpu->offset, .end = cpu->offset + cpu->size,
	};
	stream_rewind(s);
	return s->compressed && cpu->size && !unpacker_knows(dat->algorithm) ? -ENOTSUP : 0;
}

void stream_close(struct stream *s)
{
	free(s->chunk[0].bytes);
	free(s->chunk[1].bytes);
}

/* What was in it is of no use any more. -EFBIG: more than the recording may take. */
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

/* Unpacks the next chunk, not over the one that the present record lies in. */
static int load_chunk(struct stream *s, struct source_error *err)
{
	struct cursor c = trace_dat_cursor(s->dat, s->next);
	struct stream_chunk *chunk;
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
	if (ret || !trace_dat_unpacker(s->dat))
		return error_set(err, -ENOMEM, s->dat->path, "out of memory");
	if (unpacker_run(s->dat->unpacker, data, packed, chunk->bytes, size))
		return damage(s, err, s->next, "a chunk that cannot be unpacked");
	s->chunk_offset = s->next;
	s->next = cursor_offset(&c);
	s->chunks_left--;
	s->pages = chunk->bytes;
	s->pages_end = chunk->bytes + size;
	return 1;
}

static int next_page(struct stream *s, struct source_error *err)
{
	uint64_t lost;
	int ret;

	if (s->pages == s->pages_end) {
		if (!s->chunks_left)
			return 0;
		ret = load_chunk(s, err);
		if (ret < 0)
			return ret;
	}
	if ((size_t)(s->pages_end - s->pages) < s->page_size)
		return damage(s, err, place(s, s->pages), "cut off, a page");
	s->page_start = s->pages;
	s->pages += s->page_size;
	if (!s->compressed)
		s->next += s->page_size;
	if (subbuf_start(&s->page, s->page_start, s->page_size, &lost))
		return damage(s, err, place(s, s->page_start), "a page's head");
	s->lost += lost;
	s->lost_total += lost;
	return 1;
}

int stream_next(struct stream *s, struct source_error *err)
{
	int ret;

	s->lost = 0;
	for (;;) {
		ret = subbuf_next(&s->page, &s->record);
		if (__builtin_expect(ret > 0, 1))
			return ret;
		if (ret < 0)
			return damage(s, err, place(s, s->page.at), "a record");
		ret = next_page(s, err);
		if (ret <= 0)
			return ret;
	}
}

void stream_peek_start(const struct stream *s, struct stream_peek *peek)
{
	peek->page = s->page;
	peek->pages = s->pages;
}

bool stream_peek_next(const struct stream *s, struct stream_peek *peek, struct subbuf_record *r)
{
	uint64_t lost;
	int ret;

	while (!(ret = subbuf_next(&peek->page, r))) {
		if ((size_t)(s->pages_end - peek->pages) < s->page_size ||
		    subbuf_start(&peek->page, peek->pages, s->page_size, &lost))
			return false;
		peek->pages += s->page_size;
	}
	return ret > 0;
}

uint64_t stream_passed(const struct stream *s)
{
	return s->next < s->end ? s->next - s->start : s->end - s->start;
}

uint64_t stream_unpacked(const struct stream *s)
{
	struct cursor c = trace_dat_cursor(s->dat, s->start);
	uint32_t chunks, packed, size;
	uint64_t total = 0;

	if (!s->compressed)
		return s->end - s->start;
	for (chunks = cursor_u32(&c); chunks && !c.bad; chunks--) {
		packed = cursor_u32(&c);
		size = cursor_u32(&c);
		/* The stream ends there: what a damaged size says must not make rings. */
		if (!chunk_size_valid(s, size) || !cursor_take(&c, packed))
			break;
		total += size;
	}
	return total;
}
