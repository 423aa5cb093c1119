/* SPDX-License-Identifier: MIT */
/*
 * ring_wire.c - consumed records as sub-buffers in the kernel's wire format
 *
 * What goes out is made anew from the merge of all rings of a CPU, so a reader
 * sees one ring, whatever wrote it. The commit word counts the bytes of
 * records; bit 31 says that events were missed before the page, bit 30 that their
 * number stands behind the records.
 */
#include <errno.h>
#include <string.h>

#include "plane/ring.h"
#include "plane/ring_layout.h"

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

/* 0: the delta is told in the record's header. */
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

int ring_consume_page(struct ring_consumer *c, data_ref buffer, void *page, uint32_t subbuf_size)
{
	uint32_t used = RING_PAGE_HEADER;
	uint64_t last = 0, lost = 0, commit;
	struct ring_record r;
	int rc;

	while ((rc = ring_peek(c, buffer, &r)) == 1) {
		const bool first = used == RING_PAGE_HEADER;

		if (first) {
			memcpy(page, &r.time, sizeof(r.time));
			lost = r.lost;
			last = r.time;
		}
		if (used + record_length(r.size) + (time_form(last, r.time) ? RING_LEN_EXTEND : 0) > subbuf_size) {
			rc = -EINVAL;	/* only where there is nothing before it: a page smaller than the ring's own */
			break;
		}
		if (!first && r.lost)
			break;
		used += put_record((char *)page + used, &r, last);
		last = r.time;
		ring_take(c);
	}
	if (used == RING_PAGE_HEADER)
		return rc < 0 ? rc : 0;
	commit = used - RING_PAGE_HEADER;
	if (lost) {
		commit |= MISSED_EVENTS;
		if (used + sizeof(lost) <= subbuf_size) {
			memcpy((char *)page + used, &lost, sizeof(lost));
			used += sizeof(lost);
			commit |= MISSED_STORED;
		}
	}
	memcpy((char *)page + 8, &commit, sizeof(commit));
	memset((char *)page + used, 0, subbuf_size - used);
	return 1;
}
