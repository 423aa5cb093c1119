/* SPDX-License-Identifier: MIT */
/*
 * ring.c - reserve and commit: one record into one ring (R11 .. R14)
 *
 * G1  Everything of a commit but its last store lies beyond head: bytes of the
 *     page, the descriptor of a page that is begun, the tail that head does not
 *     name. A writer that is killed or aborted leaves no trace.
 * G2  The last store is head. Set 0 stores it as the end of a restartable
 *     sequence that has checked CPU and head; a source and a lease are alone.
 * G3  head is stored with release and read by readers with acquire: what lies
 *     before the position is then visible.
 * G4  Time is read after head, so a commit that succeeds is not older than its
 *     predecessor. A source's time that steps back is written as an absolute one.
 * G5  Page s + N is begun only when head has left page s + N - 1; readers take
 *     page s for intact while s + N > page(head) + 1.
 */
#include "plane/clock.h"
#include "plane/plane.h"
#include "plane/ring.h"
#include "plane/arch/ring_commit.h"

/* One record on its way. */
struct write {
	const struct plane *p;
	const struct buffer *buffer;
	struct ring	*ring;
	const void	*record;
	uint32_t	size;
	uint32_t	length;		/* in the page: with header, without extend */
	uint64_t	head;		/* as read */
	uint64_t	time;
};

/* The kernel's rb_calculate_event_length(): header, length word for large ones, multiple of 4, never 12. */
static uint32_t event_length(uint32_t size)
{
	uint32_t length = size ? size : 1;

	if (length > RING_MAX_SMALL)
		length += 4;
	length = (length + 4 + 3) & ~3u;
	return length == 12 ? 16 : length;
}

static void add_store(struct ring_commit *c, void *at, uint64_t v)
{
	c->stores[c->nr_stores].at = at;
	c->stores[c->nr_stores++].value = v;
}

static uint64_t event_header(uint32_t type, uint64_t time, uint64_t word)
{
	return (type | (time & ((1u << RING_DELTA_BITS) - 1)) << 5) | word << 32;
}

/* Header and the word behind it are one store; the rest of the record is copied. */
static void add_record(struct ring_commit *c, char *at, const struct write *w, uint64_t delta)
{
	const char *src = w->record;
	uint32_t payload = w->length - 4, left = w->size, first = 0;

	if (w->size > RING_MAX_SMALL) {
		add_store(c, at, event_header(0, delta, payload));
	} else {
		uint32_t n = left < 4 ? left : 4;

		for (uint32_t i = 0; i < n; i++)
			first |= (uint32_t)(unsigned char)src[i] << 8 * i;
		add_store(c, at, event_header(payload / 4, delta, first));
		src += n;
		left -= n;
	}
	c->dst = at + 8;
	c->src = src;
	c->words = left / 8;
	c->bytes = left % 8;
}

/* How the record's time is told: 0 by its delta, else RING_TYPE_EXTEND or RING_TYPE_ABSOLUTE. */
static uint32_t time_form(uint64_t last, uint64_t now)
{
	if (now < last)
		return RING_TYPE_ABSOLUTE;
	return (now - last) >> RING_DELTA_BITS ? RING_TYPE_EXTEND : 0;
}

/* No-overwrite: whether page `seq` may not be begun because its place is still unread. */
static bool full(const struct buffer *b, const struct ring *r, uint64_t seq)
{
	uint64_t floor, taken;

	if (atomic_load_explicit(&b->overwrite, memory_order_relaxed))
		return false;
	/* Relaxed: an old value only keeps the ring full a little longer. */
	floor = atomic_load_explicit(&r->floor, memory_order_relaxed);
	taken = atomic_load_explicit(&r->taken, memory_order_relaxed);
	if (taken > floor)
		floor = taken;
	return seq >= floor / r->subbuf_size + r->nr_pages - 1;
}

static void add_page(struct ring_commit *c, const struct write *w, uint64_t seq, uint64_t old_pos)
{
	struct ring *r = w->ring;
	const struct ring_tail *old = &r->tail[w->head & 1];
	struct page_desc *descs = plane_data(w->p, r->descs);
	struct page_desc *d = &descs[seq % r->nr_pages];
	uint64_t used = old_pos % r->subbuf_size;

	/* In this order: readers look at seq before and after they copy (G5). */
	add_store(c, (void *)&d->seq, 0);
	if (seq)
		add_store(c, (void *)&descs[(seq - 1) % r->nr_pages].end, used ? used : r->subbuf_size);
	add_store(c, (void *)&d->entries, old->entries);
	add_store(c, (void *)&d->bytes, old->bytes);
	add_store(c, (char *)plane_data(w->p, r->pages) + seq % r->nr_pages * r->subbuf_size, w->time);
	add_store(c, (void *)&d->seq, seq + 1);
}

static void add_tail(struct ring_commit *c, const struct write *w, uint32_t length)
{
	const struct ring_tail *old = &w->ring->tail[w->head & 1];
	struct ring_tail *tail = &w->ring->tail[!(w->head & 1)];

	add_store(c, &tail->time, w->time);
	add_store(c, &tail->entries, old->entries + 1);
	add_store(c, &tail->bytes, old->bytes + length);
}

/* Lists the stores of a commit (G1); false when the ring is full. */
static bool prepare(const struct write *w, struct ring_commit *c)
{
	struct ring *r = w->ring;
	const uint64_t pos = w->head >> 1, last = r->tail[w->head & 1].time;
	uint64_t seq = pos / r->subbuf_size;
	uint32_t off = (uint32_t)(pos % r->subbuf_size), form = time_form(last, w->time);
	uint32_t length = w->length + (form ? RING_LEN_EXTEND : 0);
	char *at;

	c->nr_stores = 0;
	if (!off || off + length > r->subbuf_size) {
		seq += off != 0;
		if (full(w->buffer, r, seq))
			return false;
		add_page(c, w, seq, pos);
		off = RING_PAGE_HEADER;
		form = 0;
		length = w->length;
	}
	at = (char *)plane_data(w->p, r->pages) + seq % r->nr_pages * r->subbuf_size + off;
	if (form == RING_TYPE_EXTEND)
		add_store(c, at, event_header(form, w->time - last, (w->time - last) >> RING_DELTA_BITS));
	else if (form)
		add_store(c, at, event_header(form, w->time, (uint32_t)(w->time >> RING_DELTA_BITS)));
	add_record(c, form ? at + RING_LEN_EXTEND : at, w,
		   form || off == RING_PAGE_HEADER ? 0 : w->time - last);
	add_tail(c, w, length);
	c->head_at = (uint64_t *)&r->head;
	c->head = w->head;
	c->next_head = (seq * r->subbuf_size + off + length) << 1 | !(w->head & 1);
	return true;
}

static int drop(struct ring *r)
{
	atomic_fetch_add_explicit(&r->dropped, 1, memory_order_relaxed);	/* a counter, no partner */
	return 1;
}

static struct ring *ring_of(const struct plane *p, const struct buffer *b, uint32_t set, uint32_t cpu)
{
	data_ref ref;

	if (set >= BUFFER_MAX_SETS || cpu >= b->nr_cpus)
		return NULL;
	ref = atomic_load_explicit(&b->rings[set * b->nr_cpus + cpu], memory_order_acquire);	/* buffer_add_set() */
	return ref ? plane_data(p, ref) : NULL;
}

static uint64_t now(const struct plane *p, const struct buffer *b)
{
	return clock_now(&plane_header(p)->tsc, plane_instance(p, b->instance));
}

/* The only writer of its ring. */
static int write_alone(struct write *w, uint64_t time)
{
	struct ring_commit c;

	w->head = atomic_load_explicit(&w->ring->head, memory_order_relaxed);	/* its own */
	w->time = time ? time : now(w->p, w->buffer);
	if (!prepare(w, &c))
		return drop(w->ring);
	ring_commit_stores(&c);
	atomic_store_explicit(&w->ring->head, c.next_head, memory_order_release);	/* G3 */
	return 0;
}

/* Set 0: all stores lie in the restartable section, so none comes late from a thread that was moved away. */
static int write_restartable(struct write *w)
{
	struct ring_commit c;

	for (;;) {
		int cpu = rseq_cpu();

		w->ring = cpu < 0 ? NULL : ring_of(w->p, w->buffer, 0, (uint32_t)cpu);
		if (!w->ring || atomic_load_explicit(&w->ring->disabled, memory_order_relaxed))
			return 1;
		w->head = atomic_load_explicit(&w->ring->head, memory_order_acquire);	/* G3 */
		w->time = now(w->p, w->buffer);						/* G4 */
		if (!prepare(w, &c))
			return drop(w->ring);
		if (ring_commit_rseq(&c, cpu))
			return 0;
	}
}

int ring_write(const struct plane *p, struct slot *slot, data_ref buffer, uint32_t set, uint32_t cpu,
	       uint64_t time, const void *record, uint32_t size)
{
	struct write w = {
		.p = p, .buffer = plane_data(p, buffer), .record = record, .size = size,
		.length = event_length(size),
	};

	if (w.length > w.buffer->subbuf_size - RING_PAGE_HEADER) {
		w.ring = ring_of(p, w.buffer, set, cpu);
		return w.ring ? drop(w.ring) : 1;
	}
	if (!set && rseq_cpu() >= 0)
		return write_restartable(&w);
	if (!set)	/* no restartable sequences here: the ring that the thread has leased */
		set = (uint32_t)atomic_load_explicit(&slot->lease, memory_order_relaxed);
	w.ring = set ? ring_of(p, w.buffer, set, cpu) : NULL;
	if (!w.ring || atomic_load_explicit(&w.ring->disabled, memory_order_relaxed))
		return 1;
	return write_alone(&w, time);
}
