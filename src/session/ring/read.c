/* SPDX-License-Identifier: MIT */
/*
 * read.c - reads a buffer: all its rings merged by time, with or without consuming
 *
 * Each ring is a stream with a copy of its current page. The merge takes the stream with the oldest
 * record. Of two records of the same time it takes that of the lower CPU, as the kernel does.
 *
 * D1  A ring's book says how far the ring was read (taken, floor and the counts with them). Only
 *     the server stores it, one thread at a time: plain stores.
 * D2  An iterator may go on in a process of the server's that only reads (tracefs/printer.h), while
 *     the server goes on here. Each page is looked at again after its copy (R14), and a clear
 *     raises the floor, which is read at each page.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "plane/ring/ring.h"
#include "session/array.h"
#include "session/ring/access.h"
#include "session/ring/cursor.h"
#include "session/session.h"

struct stream {
	struct ring_view view;
	struct ring_page page;
	struct ring_cursor cursor;
	bool		loaded;		/* page is the copy of page.seq */
	bool		ready;		/* cursor is on a record that was not returned yet */
	uint64_t	start;		/* position: nothing before it is read */
	uint64_t	stop;		/* position: where the iterator ends */
	/* Number of the next record, counted from the ring's birth */
	uint64_t	expected;
	uint64_t	lost;		/* how many were lost before the current record */
};

struct ring_iter {
	struct stream	*streams;
	unsigned int	nr;
	struct stream	*last;		/* the stream of the last record */
	int		err;		/* a ring is missing */
};

static uint64_t stream_pos(const struct stream *st)
{
	return st->page.seq * st->view.subbuf_size + st->cursor.at;
}

/* Loads the first intact page at or behind seq. False: there is none before the end. */
static bool stream_load(struct stream *st, uint64_t seq)
{
	const uint64_t first = ring_first_page(&st->view);
	/* No more pages can be intact, whatever head is by then */
	uint64_t tries = st->view.nr_pages + 1ull;
	int err = -EAGAIN;

	if (seq < first)
		seq = first;
	if (st->view.book->floor > st->start)
		st->start = st->view.book->floor;	/* D2 */
	for (; err == -EAGAIN && tries--; seq++) {
		if (seq >= UINT64_MAX / st->view.subbuf_size ||
		    seq * st->view.subbuf_size >= st->stop)
			return false;
		err = ring_page_copy(&st->view, seq, &st->page);
	}
	if (err)
		return false;
	ring_cursor_start(&st->cursor, st->page.data, st->page.end);
	st->loaded = true;
	if (st->page.entries > st->expected)
		st->lost += st->page.entries - st->expected;
	st->expected = st->page.entries;
	return true;
}

/* Moves the stream to its next record. */
static bool advance(struct stream *st)
{
	st->ready = false;
	if (!st->loaded && !stream_load(st, st->start / st->view.subbuf_size))
		return false;
	for (;;) {
		while (ring_cursor_next(&st->cursor)) {
			if (stream_pos(st) >= st->stop)
				return false;
			st->expected++;
			if (stream_pos(st) >= st->start)
				return st->ready = true;
		}
		if (!stream_load(st, st->page.seq + 1))
			return false;
	}
}

static struct stream *oldest(struct ring_iter *it)
{
	struct stream *best = NULL;

	for (unsigned int i = 0; i < it->nr; i++) {
		struct stream *st = &it->streams[i];

		if (st->ready &&
		    (!best || st->cursor.time < best->cursor.time ||
		     (st->cursor.time == best->cursor.time && st->view.cpu < best->view.cpu)))
			best = st;
	}
	return best;
}

/* The stream with the oldest record of one CPU. */
static struct stream *oldest_of(struct ring_iter *it, uint32_t cpu)
{
	struct stream *best = NULL;

	for (unsigned int i = 0; i < it->nr; i++) {
		struct stream *st = &it->streams[i];

		if (st->ready && st->view.cpu == cpu &&
		    (!best || st->cursor.time < best->cursor.time))
			best = st;
	}
	return best;
}

static void give(struct stream *st, struct ring_record *out)
{
	*out = (struct ring_record){
		.record = st->cursor.record, .size = st->cursor.size, .cpu = st->view.cpu,
		.time = st->cursor.time, .lost = st->lost,
	};
	st->lost = 0;
}

static uint64_t entries_at_start(const struct ring_book *r)
{
	return r->floor_entries + r->taken_entries + r->overrun;
}

/* A gap before the first record of a ring is reported as a loss, too. */
static void tell_start(struct ring_iter *it)
{
	for (unsigned int i = 0; i < it->nr; i++) {
		struct stream *st = &it->streams[i];
		uint64_t before = entries_at_start(st->view.book);

		if (st->ready && st->expected - 1 > before)
			st->lost = st->expected - 1 - before;
	}
}

static void add_stream(struct ring_view *v, void *arg)
{
	struct ring_iter *it = arg;
	struct stream *st;

	if (!ring_head(v).pos)
		return;		/* the ring has no writer */
	if (array_room(&it->streams, it->nr, sizeof(*it->streams))) {
		it->err = -ENOMEM;
		return;
	}
	st = &it->streams[it->nr];
	*st = (struct stream){ .view = *v, .page.data = malloc(v->subbuf_size),
		.stop = ring_head(v).pos };
	if (!st->page.data) {
		it->err = -ENOMEM;
		return;
	}
	st->start = ring_start(v);
	/* Records lost before the first one are no gap */
	st->expected = UINT64_MAX;
	it->nr++;
}

int ring_iter_open(struct session *s, data_ref buffer, int cpu, struct ring_iter **out)
{
	struct ring_iter *it = calloc(1, sizeof(*it));

	if (!it)
		return -ENOMEM;
	ring_keep_limits(s, buffer);
	ring_each(s, buffer, cpu, add_stream, it);
	if (it->err) {
		ring_iter_close(it);
		return -ENOMEM;
	}
	for (unsigned int i = 0; i < it->nr; i++)
		advance(&it->streams[i]);
	*out = it;
	return 0;
}

int ring_iter_open_told(struct session *s, data_ref buffer, struct ring_iter **out)
{
	int err = ring_iter_open(s, buffer, -1, out);

	if (!err)
		tell_start(*out);
	return err;
}

/* The record that was returned last is no longer needed: the caller has copied it. */
static void finish_last(struct ring_iter *it)
{
	if (it->last)
		advance(it->last);
	it->last = NULL;
}

int ring_iter_next(struct ring_iter *it, struct ring_record *out)
{
	struct stream *st;

	finish_last(it);
	it->last = st = oldest(it);
	if (!st)
		return 0;
	give(st, out);
	return 1;
}

/* Returns the record without passing over it; it also leaves the number of lost records. */
static bool peek(struct stream *st, struct ring_record *out)
{
	uint64_t lost;

	if (!st)
		return false;
	lost = st->lost;
	give(st, out);
	st->lost = lost;
	return true;
}

bool ring_iter_peek_cpu(struct ring_iter *it, uint32_t cpu, struct ring_record *out)
{
	finish_last(it);
	return peek(oldest_of(it, cpu), out);
}

void ring_iter_skip_cpu(struct ring_iter *it, uint32_t cpu)
{
	struct stream *st;

	finish_last(it);
	st = oldest_of(it, cpu);
	if (st)
		advance(st);
}

void ring_iter_close(struct ring_iter *it)
{
	if (!it)
		return;
	for (unsigned int i = 0; i < it->nr; i++)
		free(it->streams[i].page.data);
	free(it->streams);
	free(it);
}

/* ---- Consuming ---- */

struct ring_consumer {
	struct session	*session;
	int		cpu;
	char		*record;	/* a copy of the last record */
	size_t		cap;
	struct ring_iter *peeked;	/* the streams as of the last look */
	/* The number of the buffer that `peeked` is of: a new buffer may have the same place */
	uint64_t	number;
};

int ring_consumer_open(struct session *s, int cpu, struct ring_consumer **out)
{
	struct ring_consumer *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->session = s;
	c->cpu = cpu;
	*out = c;
	return 0;
}

void ring_consumer_close(struct ring_consumer *c)
{
	if (!c)
		return;
	ring_iter_close(c->peeked);
	free(c->record);
	free(c);
}

void ring_consumer_refresh(struct ring_consumer *c)
{
	ring_iter_close(c->peeked);
	c->peeked = NULL;
}

/*
 * The streams are where the last look left them. Another reader or a clear may have moved the
 * start.
 */
static int stream_look(struct ring_consumer *c, data_ref buffer)
{
	const uint64_t number = buffer_number(c->session, buffer);

	if (c->peeked && c->number == number && c->peeked->last) {
		const struct stream *st = c->peeked->last;

		/* The other reader was another call, not another thread (D1). */
		if (st->view.book->taken == stream_pos(st) &&
		    st->view.book->floor <= stream_pos(st))
			return 1;
	}
	ring_iter_close(c->peeked);
	c->peeked = NULL;
	if (ring_iter_open(c->session, buffer, c->cpu, &c->peeked))
		return -ENOMEM;
	c->number = number;
	tell_start(c->peeked);
	c->peeked->last = oldest(c->peeked);
	return c->peeked->last != NULL;
}

int ring_peek(struct ring_consumer *c, data_ref buffer, struct ring_record *out)
{
	uint64_t lost;
	int rc = stream_look(c, buffer);

	if (rc <= 0)
		return rc;
	lost = c->peeked->last->lost;
	give(c->peeked->last, out);
	c->peeked->last->lost = lost;
	return 1;
}

void ring_taken_to(const struct ring_view *v, uint64_t pos)
{
	v->book->taken = pos;
	/* Relaxed: writers use it only to see whether a full ring has room again. */
	atomic_store_explicit(&v->ring->taken, pos, memory_order_relaxed);
}

void ring_take(struct ring_consumer *c)
{
	struct stream *st = c->peeked->last, *other;
	struct ring_book *r = st->view.book;

	/*
	 * In this order: a server that dies in between leaves a record that counts as lost, and not
	 * one that was taken twice.
	 */
	r->overrun += st->lost;
	ring_taken_to(&st->view, st->page.seq * st->view.subbuf_size + st->cursor.next);
	atomic_signal_fence(memory_order_seq_cst);
	r->taken_entries++;
	r->taken_bytes += st->cursor.next - st->cursor.at;
	st->lost = 0;
	advance(st);
	other = oldest(c->peeked);
	c->peeked->last = other;
	/*
	 * Nothing was taken yet from a stream at the start of its page: its `taken` is that of the
	 * page (D1).
	 */
	if (other)
		ring_taken_to(&other->view, stream_pos(other));
}

/* The only stream that has records; NULL: several have. */
static struct stream *only(const struct ring_iter *it)
{
	for (unsigned int i = 0; i < it->nr; i++)
		if (it->streams[i].ready && &it->streams[i] != it->last)
			return NULL;
	return it->last;
}

bool ring_peek_page(struct ring_consumer *c, struct ring_whole *out)
{
	const struct stream *st = only(c->peeked);
	const uint64_t size = st ? st->view.subbuf_size : 0;

	if (!st)
		return false;
	*out = (struct ring_whole){ .page = st->page.data, .seq = st->page.seq, .lost = st->lost };
	/* The writer has left the page, and no record of it is taken. */
	if (st->cursor.at == RING_PAGE_HEADER && st->stop >= (st->page.seq + 1) * size) {
		out->end = st->page.end;
		out->entries = ring_page_entries(st->page.data, &out->end);
	}
	return true;
}

void ring_take_page(struct ring_consumer *c, const struct ring_whole *whole)
{
	struct stream *st = c->peeked->last;
	struct ring_book *r = st->view.book;

	r->overrun += st->lost;
	r->taken_entries += whole->entries;
	r->taken_bytes += whole->end - RING_PAGE_HEADER;
	ring_taken_to(&st->view, (st->page.seq + 1) * st->view.subbuf_size);
	st->lost = 0;
	st->expected += whole->entries - 1;	/* advance() has counted the first one */
	st->cursor.next = st->cursor.end;
	advance(st);
	c->peeked->last = st->ready ? st : NULL;
	if (st->ready)
		ring_taken_to(&st->view, stream_pos(st));
}

bool ring_peek_cpu(struct ring_consumer *c, uint32_t cpu, struct ring_record *out)
{
	return peek(c->peeked ? oldest_of(c->peeked, cpu) : NULL, out);
}

void ring_take_cpu(struct ring_consumer *c, uint32_t cpu)
{
	struct stream *st = c->peeked ? oldest_of(c->peeked, cpu) : NULL;

	if (!st)
		return;
	c->peeked->last = st;
	ring_take(c);
}

int ring_consume(struct ring_consumer *c, data_ref buffer, struct ring_record *out)
{
	struct ring_record r;
	int rc = ring_peek(c, buffer, &r);

	if (rc <= 0)
		return rc;
	if (r.size > c->cap) {
		char *copy = realloc(c->record, r.size);

		if (!copy)
			return -ENOMEM;
		c->record = copy;
		c->cap = r.size;
	}
	memcpy(c->record, r.record, r.size);
	*out = r;
	out->record = c->record;
	ring_take(c);
	return 1;
}

/* ---- Readable ---- */

struct fill_level {
	uint64_t	used, total;
	uint64_t	left;		/* of the used bytes: pages that their writers have left */
	unsigned int	rings;		/* that have unread records */
};

static void add_level(struct ring_view *v, void *arg)
{
	struct fill_level *sum = arg;
	uint64_t head = ring_head(v).pos, first = ring_first_page(v) * v->subbuf_size;

	if (ring_start(v) > first)
		first = ring_start(v);
	if (!head)
		return;		/* this set has no writer */
	if (head > first) {
		sum->used += head - first;
		sum->left += (head / v->subbuf_size - first / v->subbuf_size) * v->subbuf_size;
		sum->rings++;
	}
	sum->total += (uint64_t)(v->nr_pages - 1) * v->subbuf_size;
}

uint64_t ring_unread(struct session *s, data_ref buffer, int cpu)
{
	struct fill_level level = { 0 };

	ring_each(s, buffer, cpu, add_level, &level);
	return level.rings == 1 ? level.left : level.used;
}

bool ring_readable(struct session *s, data_ref buffer, int cpu, unsigned int percent)
{
	struct fill_level level = { 0 };

	ring_each(s, buffer, cpu, add_level, &level);
	return level.used && level.used * 100 >= level.total * percent;
}
