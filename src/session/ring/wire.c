/* SPDX-License-Identifier: MIT */
/*
 * wire.c - records as sub-buffers in the kernel's wire format
 *
 * All rings of a CPU are merged and encoded again, so a reader sees one ring, whichever threads
 * wrote. If only one ring has records, its pages go as they are, as soon as their writer has left
 * them: a ring's page has the same format. The commit word counts the bytes of records; bit 31 says
 * that events were missed before the page, bit 30 that their number follows the records.
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "plane/ring/ring.h"
#include "layout/ring.h"
#include "session/ring/access.h"

#define MISSED_EVENTS	(1ull << 31)
#define MISSED_STORED	(1ull << 30)

static void put32(char *at, uint32_t v)
{
	memcpy(at, &v, sizeof(v));
}

static uint32_t record_length(uint32_t size)
{
	return size > RING_MAX_SMALL ? size + 8 : size + 4;
}

/* 0: the record's header has the delta. */
static uint32_t time_form(uint64_t last, uint64_t time)
{
	if (time < last)
		return RING_TYPE_ABSOLUTE;
	return (time - last) >> RING_DELTA_BITS ? RING_TYPE_EXTEND : 0;
}

static uint32_t put_record(char *at, const struct ring_record *r, uint64_t last)
{
	const uint32_t form = time_form(last, r->time);
	const uint64_t t = form == RING_TYPE_ABSOLUTE ? r->time : r->time - last;
	const uint32_t delta = (uint32_t)(t & ((1u << RING_DELTA_BITS) - 1));
	char *start = at;

	if (form) {
		put32(at, form | delta << 5);
		put32(at + 4, (uint32_t)(t >> RING_DELTA_BITS));
		at += RING_LEN_EXTEND;
	}
	if (r->size > RING_MAX_SMALL) {
		put32(at, form ? 0 : delta << 5);
		put32(at + 4, r->size + 4);
		at += 8;
	} else {
		put32(at, r->size / 4 | (form ? 0 : delta << 5));
		at += 4;
	}
	memcpy(at, r->record, r->size);
	return (uint32_t)(at + r->size - start);
}

/* A sub-buffer that is being filled. */
struct wire_page {
	char		*page;
	uint32_t	size, used;
	uint64_t	last;		/* time of the last record */
	uint64_t	lost;		/* how many records, before the first one */
};

static bool page_empty(const struct wire_page *w)
{
	return w->used == RING_PAGE_HEADER;
}

/*
 * False: there is no room, or a loss or the upper bits of a time have to be told, which only the
 * start of a page can do.
 */
static bool page_add(struct wire_page *w, const struct ring_record *r)
{
	const bool first = page_empty(w);

	if (first) {
		memcpy(w->page, &r->time, sizeof(r->time));
		w->lost = r->lost;
		w->last = r->time;
	} else if (r->lost || (w->last ^ r->time) >> RING_TIME_BITS) {
		return false;
	}
	if (w->used + record_length(r->size) + (time_form(w->last, r->time) ? RING_LEN_EXTEND : 0) >
	    w->size)
		return false;
	w->used += put_record(w->page + w->used, r, w->last);
	w->last = r->time;
	return true;
}

static void page_end(struct wire_page *w)
{
	uint64_t commit = w->used - RING_PAGE_HEADER;

	if (w->lost) {
		commit |= MISSED_EVENTS;
		if (w->used + sizeof(w->lost) <= w->size) {
			memcpy(w->page + w->used, &w->lost, sizeof(w->lost));
			w->used += sizeof(w->lost);
			commit |= MISSED_STORED;
		}
	}
	memcpy(w->page + 8, &commit, sizeof(commit));
	memset(w->page + w->used, 0, w->size - w->used);
}

/* Takes the ring's page as it is. */
static void page_take_whole(struct ring_consumer *c, struct wire_page *w,
			    const struct ring_whole *from)
{
	memcpy(w->page, from->page, from->end);
	w->used = from->end;
	w->lost = from->lost;
	ring_take_page(c, from);
}

int ring_consume_page(struct ring_consumer *c, data_ref buffer, void *page, uint32_t subbuf_size)
{
	struct wire_page w = { .page = page, .size = subbuf_size, .used = RING_PAGE_HEADER };
	struct ring_whole whole, first = { 0 };
	struct ring_record r;
	bool alone = false;
	int rc;

	while ((rc = ring_peek(c, buffer, &r)) == 1) {
		const bool one = ring_peek_page(c, &whole);

		if (page_empty(&w)) {
			alone = one;
			first = whole;
			if (one && whole.end && whole.end <= subbuf_size) {
				page_take_whole(c, &w, &whole);
				break;
			}
		} else if (alone && one && whole.seq != first.seq) {
			break;		/* what follows is a page of its own */
		}
		if (!page_add(&w, &r)) {
			/* Only for the first record: the page is smaller than one of the ring */
			rc = -EINVAL;
			break;
		}
		ring_take(c);
	}
	if (page_empty(&w))
		return rc < 0 ? rc : 0;
	page_end(&w);
	return 1;
}

/* The next record of that time. */
static int next_between(struct ring_iter *it, const struct ring_times *times,
			struct ring_record *out)
{
	int rc;

	while ((rc = ring_iter_next(it, out)) == 1 && out->time < times->from)
		;
	if (rc == 1 && out->time > times->to) {
		out->record = NULL;
		rc = 0;
	}
	return rc;
}

int ring_iter_page(struct ring_iter *it, const struct ring_times *times, struct ring_record *rest,
		   void *page, uint32_t subbuf_size)
{
	struct wire_page w = { .page = page, .size = subbuf_size, .used = RING_PAGE_HEADER };
	int rc = 1;

	while (rest->record || (rc = next_between(it, times, rest)) == 1) {
		if (!page_add(&w, rest)) {
			rc = -EINVAL;
			break;
		}
		rest->record = NULL;
	}
	if (page_empty(&w))
		return rc < 0 ? rc : 0;
	page_end(&w);
	return 1;
}
