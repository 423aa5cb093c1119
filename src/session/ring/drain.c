/* SPDX-License-Identifier: MIT */
/*
 * drain.c - see drain.h
 *
 * The descriptors of pages say how many records a page has. So no byte of a page is read here. They
 * are not trusted (R2): numbers that cannot be right send the reader to trace_pipe_raw, which
 * counts records itself.
 */
#include <errno.h>
#include <stdlib.h>

#include "session/ring/access.h"
#include "session/ring/drain.h"

/* The pages of a CPU that the reader writes now. */
struct given {
	config_ref	ring;		/* 0: none */
	uint32_t	set;
	uint64_t	first, next;	/* from page `first` up to `next` */
	uint64_t	taken, floor;	/* of the ring's book, then */
	uint64_t	entries, bytes, lost;
};

struct ring_drain {
	struct session	*session;
	uint64_t	number;		/* of the buffer that the pages are of */
	struct given	given[];	/* by CPU */
};

int ring_drain_open(struct session *s, struct ring_drain **out)
{
	struct ring_drain *d = calloc(1, sizeof(*d) + ring_cpus(s) * sizeof(d->given[0]));

	if (!d)
		return -ENOMEM;
	d->session = s;
	*out = d;
	return 0;
}

void ring_drain_close(struct ring_drain *d)
{
	free(d);
}

/* ---- takes what was written ---- */

/* Whether the pages are still those that the reader has found in memory. */
static bool still_there(const struct given *g, const struct ring_view *v)
{
	return v->book->taken == g->taken && v->book->floor == g->floor &&
	       ring_first_page(v) <= g->first;
}

static void drain_take(const struct given *g, const struct ring_view *v)
{
	struct ring_book *r = v->book;

	/* In the order of ring_take(). */
	r->overrun += g->lost;
	ring_taken_to(v, g->next * v->subbuf_size);
	atomic_signal_fence(memory_order_seq_cst);
	r->taken_entries += g->entries;
	r->taken_bytes += g->bytes;
}

/* False: the reader has to drop the pages. */
static bool take_given(struct ring_drain *d, data_ref buffer, uint32_t cpu)
{
	struct session *s = d->session;
	const struct buffer_book *b = buffer_book(s, buffer);
	struct given *g = &d->given[cpu];
	const config_ref ring = g->ring;
	struct ring_view v;

	g->ring = 0;
	if (!ring)
		return true;
	if (!b || buffer_number(s, buffer) != d->number || ring_ref_at(s, b, g->set, cpu) != ring ||
	    !ring_view_of(s, ring, &v) || !still_there(g, &v))
		return false;
	drain_take(g, &v);
	return true;
}

/* ---- finds what is next ---- */

/* The rings of a CPU that have unread records. */
struct unread {
	struct ring_view view;		/* of the last one */
	unsigned int	rings;
	uint64_t	bytes;
};

static void add_unread(struct ring_view *v, void *arg)
{
	struct unread *u = arg;
	const uint64_t head = ring_head(v).pos, first = ring_first_page(v) * v->subbuf_size;
	const uint64_t from = ring_start(v) > first ? ring_start(v) : first;

	if (head <= from)
		return;
	u->view = *v;
	u->rings++;
	u->bytes += head - from;
}

/* What the descriptor of a page says that its writer has left. */
struct page_facts {
	uint64_t	entries;	/* records before its first one */
	uint64_t	end;
};

/* False: it is not the descriptor of that page any more, or it is damaged. */
static bool page_facts(const struct ring_view *v, uint64_t seq, struct page_facts *out)
{
	const struct page_desc *d = &v->descs[seq % v->nr_pages];

	/* Acquire, and relaxed below: as ring_page_copy() */
	if (atomic_load_explicit(&d->seq, memory_order_acquire) != seq + 1)
		return false;
	out->entries = atomic_load_explicit(&d->entries, memory_order_relaxed);
	out->end = atomic_load_explicit(&d->end, memory_order_relaxed);
	return true;
}

/* How many records page `seq` has; 0: its numbers cannot be right. */
static uint64_t page_records(const struct ring_view *v, uint64_t seq, struct page_facts *out)
{
	struct page_facts next;
	uint64_t n;

	if (!page_facts(v, seq, out) || !page_facts(v, seq + 1, &next) ||
	    out->end <= RING_PAGE_HEADER || out->end > v->subbuf_size)
		return 0;
	n = next.entries - out->entries;
	return n <= (out->end - RING_PAGE_HEADER) / RING_MIN_LENGTH ? n : 0;
}

/*
 * The first page that nothing of was taken. False: a part of the oldest page was taken, and records
 * of it are left.
 */
static bool first_whole(const struct ring_view *v, uint64_t head_page, uint64_t *out)
{
	const uint64_t seq = ring_first_page(v), start = ring_start(v);
	struct page_facts facts;

	*out = seq;
	/* A merging reader that comes to a page has its place behind the page's header. */
	if (start <= seq * v->subbuf_size + RING_PAGE_HEADER)
		return true;
	if (seq >= head_page || !page_facts(v, seq, &facts) ||
	    start - seq * v->subbuf_size < facts.end)
		return false;
	*out = seq + 1;
	return true;
}

/* Fills `out` with pages up to `head_page`, which is still written. */
static uint32_t give_pages(struct given *g, const struct ring_view *v, uint64_t head_page,
			   struct drain_page *out, uint32_t max)
{
	const struct ring_book *r = v->book;
	uint64_t expected = r->floor_entries + r->taken_entries + r->overrun;
	struct page_facts facts;
	uint32_t nr = 0;

	for (; nr < max && g->next < head_page; g->next++) {
		const uint64_t n = page_records(v, g->next, &facts);
		struct drain_page *page = &out[nr];

		if (!n)
			break;
		*page = (struct drain_page){
			.at = r->pages + g->next % v->nr_pages * v->subbuf_size, .cpu = v->cpu,
			.end = (uint32_t)facts.end,
			.lost = facts.entries > expected ? facts.entries - expected : 0,
		};
		g->lost += page->lost;
		g->entries += n;
		g->bytes += facts.end - RING_PAGE_HEADER;
		expected = facts.entries + n;
		nr++;
	}
	return nr;
}

static uint32_t drain_give(struct ring_drain *d, const struct buffer_book *b, data_ref buffer,
		     uint32_t cpu, struct drain_page *out, uint32_t max)
{
	struct given *g = &d->given[cpu];
	struct unread u = { .rings = 0 };
	uint64_t head_page;
	uint32_t nr = 0;

	ring_each(d->session, buffer, (int)cpu, add_unread, &u);
	if (!u.rings)
		return 0;
	head_page = (ring_head(&u.view).pos - 1) / u.view.subbuf_size;
	*g = (struct given){ .set = u.view.book->set, .taken = u.view.book->taken,
		.floor = u.view.book->floor };
	if (u.rings == 1 && first_whole(&u.view, head_page, &g->first)) {
		g->next = g->first;
		if (g->first >= head_page)
			return 0;	/* nothing is whole yet */
		nr = give_pages(g, &u.view, head_page, out, max);
	}
	if (nr)
		g->ring = ring_ref_at(d->session, b, g->set, cpu);
	else if (u.bytes >= u.view.subbuf_size)
		out[nr++] = (struct drain_page){ .end = DRAIN_MERGE, .cpu = cpu,
			.at = u.bytes / u.view.subbuf_size };
	return nr;
}

uint32_t ring_drain_next(struct ring_drain *d, data_ref buffer, struct drain_page *out,
			 uint32_t max)
{
	const uint32_t nr_cpus = ring_cpus(d->session);
	const struct buffer_book *b;
	uint32_t nr = 0;

	if (max < 2 * nr_cpus)
		return 0;
	for (uint32_t cpu = 0; cpu < nr_cpus; cpu++)
		if (!take_given(d, buffer, cpu))
			out[nr++] = (struct drain_page){ .end = DRAIN_REFUSED, .cpu = cpu };
	if (buffer)
		ring_keep_limits(d->session, buffer);
	b = buffer_book(d->session, buffer);
	d->number = buffer_number(d->session, buffer);
	for (uint32_t cpu = 0; b && cpu < nr_cpus; cpu++)
		nr += drain_give(d, b, buffer, cpu, out + nr, (max - nr) / (nr_cpus - cpu));
	return nr;
}
