/* SPDX-License-Identifier: MIT */
/* has.c - whether the window has a record of an event: reads pages, and does not move it */
#include <stdlib.h>

#include "sources/recording/file/unpack.h"
#include "sources/recording/file/window.h"

#define WHOLE (UINT64_MAX >> 1)		/* bytes of a piece that is the whole stream */

/* 1, 0; -EPROTO: damage, before any record of the event */
static int page_has(struct subbuf *page, uint32_t id)
{
	struct subbuf_record r = { 0 };
	int ret;

	while ((ret = subbuf_next(page, &r)) > 0)
		if (r.type == id)
			return 1;
	return ret;
}

static int part_has(struct stream *part, uint32_t id)
{
	struct source_error err;
	int ret;

	while ((ret = stream_next_page(part, &err)) > 0) {
		ret = page_has(&part->page, id);
		if (ret)
			return ret;
	}
	return ret;
}

/* Makes what stream_piece_open() wants. False: out of memory. */
static bool part_make(struct stream *part, const struct stream *s, uint32_t largest)
{
	struct stream_chunk *chunk = &part->chunk[0];

	chunk->room = stream_piece_room(s, largest);
	chunk->bytes = malloc(chunk->room);
	return chunk->bytes &&
	       (!s->compressed || !unpacker_create(s->dat->algorithm, &part->unpacker));
}

static bool stream_has(const struct stream *s, uint32_t id)
{
	struct unpacker *unpacker;
	struct stream_piece p = { 0 };
	struct stream part = { 0 };
	uint32_t largest;
	bool has = true;

	if (s->dat->foreign)
		return true;
	if (stream_piece_next(s, &p, WHOLE, &largest) <= 0)
		return false;
	if (part_make(&part, s, largest)) {
		stream_piece_open(&part, s, &p);
		has = part_has(&part, id) > 0;
	}
	unpacker = part.unpacker;
	stream_close(&part);
	unpacker_destroy(unpacker);
	return has;
}

bool window_has(const struct window *w, uint32_t id)
{
	for (unsigned int i = 0; i < w->nr_streams; i++)
		if (stream_has(&w->streams[i], id))
			return true;
	return false;
}
