/* SPDX-License-Identifier: MIT */
/*
 * page.c - copies a ring's pages and finds the records in them
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "session/ring/access.h"
#include "session/ring/cursor.h"

/* The page of the last byte before head. */
static uint64_t head_page(const struct ring_view *v, uint64_t pos)
{
	return (pos - 1) / v->subbuf_size;
}

uint64_t ring_start(const struct ring_view *v)
{
	uint64_t start = v->book->floor;

	if (v->book->taken > start)
		start = v->book->taken;
	return v->book->limit > start ? v->book->limit : start;
}

uint64_t ring_first_page(const struct ring_view *v)
{
	uint64_t pos = ring_head(v).pos, start = ring_start(v), page = start / v->subbuf_size;

	if (!pos)
		return page;
	/* A start at the very end of a page means the next page. */
	if (head_page(v, pos) + 2 > v->nr_pages && head_page(v, pos) + 2 - v->nr_pages > page)
		page = head_page(v, pos) + 2 - v->nr_pages;
	return page;
}

static bool intact(const struct ring_view *v, uint64_t seq)
{
	uint64_t pos = ring_head(v).pos;

	return seq + v->nr_pages > head_page(v, pos) + 1;	/* G5 */
}

int ring_page_copy(const struct ring_view *v, uint64_t seq, struct ring_page *out)
{
	struct page_desc *d = &v->descs[seq % v->nr_pages];
	uint64_t pos = ring_head(v).pos, end;

	if (!pos || seq > head_page(v, pos))
		return -ENOENT;
	/* Acquire: pairs with the stores of a commit (add_page() in plane/ring/ring.c) */
	if (atomic_load_explicit(&d->seq, memory_order_acquire) != seq + 1)
		return -EAGAIN;
	end = seq == head_page(v, pos) ? (pos - 1) % v->subbuf_size + 1 :
					 atomic_load_explicit(&d->end, memory_order_relaxed);
	if (end < RING_PAGE_HEADER || end > v->subbuf_size)
		return -EAGAIN;
	out->seq = seq;
	out->end = (uint32_t)end;
	/* Relaxed: loaded after the acquire of seq above; the second look below checks it. */
	out->entries = atomic_load_explicit(&d->entries, memory_order_relaxed);
	out->bytes = atomic_load_explicit(&d->bytes, memory_order_relaxed);
	memcpy(out->data, v->pages + seq % v->nr_pages * v->subbuf_size, end);
	/*
	 * The copy comes before the second look (G5). Pairs with the releases of head in
	 * plane/ring/ring.c (G3).
	 */
	atomic_thread_fence(memory_order_acquire);
	return intact(v, seq) ? 0 : -EAGAIN;
}

void ring_cursor_start(struct ring_cursor *c, const char *page, uint32_t end)
{
	*c = (struct ring_cursor){ .page = page, .end = end, .next = RING_PAGE_HEADER };
	memcpy(&c->time, page, sizeof(c->time));
}

static uint32_t word_at(const struct ring_cursor *c, uint32_t off)
{
	uint32_t v;

	memcpy(&v, c->page + off, sizeof(v));
	return v;
}

static bool take_time(struct ring_cursor *c, uint32_t type, uint32_t delta)
{
	uint64_t t;

	if (c->next + RING_LEN_EXTEND > c->end)
		return false;
	t = (uint64_t)word_at(c, c->next + 4) << RING_DELTA_BITS | delta;
	if (type == RING_TYPE_ABSOLUTE)
		c->time = (c->time & 31ull << RING_TIME_BITS) |
			  (t & ((1ull << RING_TIME_BITS) - 1));
	else
		c->time += t;
	c->next += RING_LEN_EXTEND;
	return true;
}

static inline bool next_record(struct ring_cursor *c)
{
	c->at = c->next;
	while (c->next + 4 <= c->end) {
		uint32_t header = word_at(c, c->next), type = header & 31, delta = header >> 5,
			 payload;

		if (type == RING_TYPE_PADDING)
			return false;
		if (type >= RING_TYPE_EXTEND) {
			if (!take_time(c, type, delta))
				return false;
			continue;
		}
		if (type) {
			payload = c->next + 4;
			c->size = type * 4;
		} else {
			if (c->next + 8 > c->end)
				return false;
			payload = c->next + 8;
			c->size = word_at(c, c->next + 4) - 4;
		}
		if (c->size > c->end || payload + c->size > c->end)
			return false;
		c->record = c->page + payload;
		c->time += delta;
		c->next = payload + c->size;
		return true;
	}
	return false;
}

bool ring_cursor_next(struct ring_cursor *c)
{
	return next_record(c);
}

uint32_t ring_page_entries(const char *page, uint32_t *end)
{
	struct ring_cursor c;
	uint32_t n = 0, last = RING_PAGE_HEADER;

	ring_cursor_start(&c, page, *end);
	for (; next_record(&c); n++)
		last = c.next;
	*end = last;
	return n;
}

int ring_oldest(const struct ring_view *v, struct ring_point *out)
{
	struct ring_page page = { .data = malloc(v->subbuf_size) };
	uint64_t start = ring_start(v), head = ring_head(v).pos, seq = ring_first_page(v);
	uint64_t tries = v->nr_pages + 1ull;	/* no more pages can be intact */
	bool found = false;

	if (!page.data)
		return -ENOMEM;
	for (; head && seq <= head_page(v, head) && !found && tries--; seq++) {
		struct ring_cursor c;

		if (ring_page_copy(v, seq, &page))
			continue;
		ring_cursor_start(&c, page.data, page.end);
		*out = (struct ring_point){ 0, page.entries, page.bytes, 0 };
		while (ring_cursor_next(&c)) {
			out->pos = seq * v->subbuf_size + c.at;
			out->time = c.time;
			if (out->pos >= start) {
				found = true;
				break;
			}
			out->entries++;
			out->bytes += c.next - c.at;
		}
	}
	free(page.data);
	return found;
}
