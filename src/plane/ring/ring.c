/* SPDX-License-Identifier: MIT */
/*
 * ring.c - reserve and commit: one record into one ring (R11 .. R14)
 *
 * G1  All stores of a commit but the last go beyond head: bytes of the page, the descriptor of a
 *     page that is begun, the tail that head does not name. A writer that is killed or aborted
 *     leaves no trace.
 * G2  The last store is head. Set 0 stores it as the end of a restartable sequence that has checked
 *     CPU and head; a source and a lease are the only writers of their rings.
 * G3  head is stored with release and read by readers with acquire: all that lies before the
 *     position is then visible.
 * G4  A commit is not older than its predecessor: its time is read after head, or the section looks
 *     whether the last record is newer (ring_commit_short()). A time that the caller has read is
 *     used if the predecessor that head names is older. If the time of a source steps back, it is
 *     written as an absolute time.
 * G5  Page s + N is begun only when head has left page s + N - 1; for readers, page s is intact
 *     while s + N > page(head) + 1.
 * G6  Buffer, ring, descriptors and pages may say anything (R38). A pointer into them is
 *     plane_data() of the whole offset, so it lies in the region. A store begins at such a pointer
 *     and has at most RING_STORE_MAX bytes. The number of CPUs and of instances are the session's,
 *     not the buffer's.
 */
#include "plane/arch/counter.h"
#include "plane/clock.h"
#include "plane/plane.h"
#include "plane/code.h"
#include "plane/ring/ring.h"
#include "plane/ring/short.h"

/* A record that is being written. */
struct write {
	const struct plane *p;
	const struct buffer *buffer;
	struct ring	*ring;
	const void	*record;
	uint32_t	size;
	uint32_t	length;		/* in the page: with header, without extend */
	uint64_t	head;		/* the value that was read */
	uint64_t	time;
};

/*
 * The kernel's rb_calculate_event_length(): header, length word for large ones, multiple of 4,
 * never 12.
 */
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

/* The header and the word behind it are one store; the rest of the record is copied. */
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

/*
 * How the record's time is written: 0: as a delta, otherwise RING_TYPE_EXTEND or
 * RING_TYPE_ABSOLUTE.
 */
static uint32_t time_form(uint64_t last, uint64_t now)
{
	if (now < last)
		return RING_TYPE_ABSOLUTE;
	return (now - last) >> RING_DELTA_BITS ? RING_TYPE_EXTEND : 0;
}

/*
 * Both forms lack the upper bits of a time. If those change, as from a clock that counts from 1970
 * to one that counts from the machine's start, the time of a new page tells them.
 */
static bool needs_page(uint32_t form, uint64_t last, uint64_t now)
{
	return form && (last ^ now) >> RING_TIME_BITS;
}

/* The processor masks a shift in the same way, so this costs nothing. */
static inline uint32_t shift_of(const struct ring *r)
{
	return r->page_shift & 63;
}

/* No-overwrite: whether page `seq` may not be begun because its place is still unread. */
static bool full(const struct buffer *b, const struct ring *r, uint64_t seq)
{
	uint64_t floor, taken;

	/*
	 * Relaxed: the server stores all three. With an old value the ring only stays as it was a
	 * little longer.
	 */
	if (atomic_load_explicit(&b->overwrite, memory_order_relaxed))
		return false;
	floor = atomic_load_explicit(&r->floor, memory_order_relaxed);
	/*
	 * Relaxed: records that were taken were copied before. Other readers check the page of
	 * their copy again (G5).
	 */
	taken = atomic_load_explicit(&r->taken, memory_order_relaxed);
	if (taken > floor)
		floor = taken;
	return seq >= (floor >> shift_of(r)) + r->nr_pages - 1;
}

static uint32_t place_before(const struct ring *r, uint32_t place)
{
	return place ? place - 1 : r->nr_pages - 1;
}

/* G6, both. */
static char *page_at(const struct plane *p, const struct ring *r, uint32_t place, uint32_t off)
{
	return plane_data(p, r->pages + ((uint64_t)place << shift_of(r)) + off);
}

static struct page_desc *desc_at(const struct plane *p, const struct ring *r, uint32_t place)
{
	return plane_data(p, r->descs + place * sizeof(struct page_desc));
}

/*
 * Free bytes at the end of a page count as written if a record would have fitted, as in the kernel.
 */
static uint64_t bytes_before(const struct ring *r, const struct page_desc *d, uint64_t used)
{
	if (r->subbuf_size - used >= RING_MIN_LENGTH)
		used = r->subbuf_size;
	/* Relaxed: it was stored before the head that was read (G3). */
	return atomic_load_explicit(&d->bytes, memory_order_relaxed) + used - RING_PAGE_HEADER;
}

static void add_page(struct ring_commit *c, const struct write *w, uint64_t seq, uint32_t place,
		     uint64_t old_pos)
{
	struct ring *r = w->ring;
	struct page_desc *d = desc_at(w->p, r, place),
			 *before = desc_at(w->p, r, place_before(r, place));
	uint64_t used = old_pos & (r->subbuf_size - 1);

	if (!used)
		used = r->subbuf_size;
	/* In this order: readers load seq before and after they copy (G5). */
	add_store(c, (void *)&d->seq, 0);
	if (seq)
		add_store(c, (void *)&before->end, used);
	add_store(c, (void *)&d->entries, r->tail[w->head & 1].entries);
	add_store(c, (void *)&d->bytes, seq ? bytes_before(r, before, used) : 0);
	add_store(c, page_at(w->p, r, place, 0), w->time);
	add_store(c, (void *)&d->seq, seq + 1);
	add_store(c, &r->page_end, 0);
	add_store(c, &r->base, r->pages + ((uint64_t)place << shift_of(r)) - (seq << shift_of(r)));
	add_store(c, &r->page_end, (seq + 1) << shift_of(r));
}

static void add_tail(struct ring_commit *c, const struct write *w)
{
	struct ring_tail *tail = &w->ring->tail[!(w->head & 1)];

	add_store(c, &tail->time, w->time);
	add_store(c, &tail->entries, w->ring->tail[w->head & 1].entries + 1);
}

static void add_time(struct ring_commit *c, char *at, uint32_t form, uint64_t last, uint64_t now)
{
	uint64_t t = form == RING_TYPE_EXTEND ? now - last : now;

	add_store(c, at, event_header(form, t, (uint32_t)(t >> RING_DELTA_BITS)));
}

/* Whether prepare() would find the ring full, whatever the time is: then no clock is read. */
static bool has_no_room(const struct write *w)
{
	const struct ring *r = w->ring;
	const uint64_t pos = w->head >> 1;
	const uint32_t off = (uint32_t)(pos & (r->subbuf_size - 1));

	return (!off || off + w->length > r->subbuf_size) &&
	       full(w->buffer, r, (pos >> shift_of(r)) + (off != 0));
}

/*
 * After so many aborts of the section the record is dropped. A thread that is preempted or migrated
 * aborts once or twice; one that is single-stepped would never get to the end.
 */
enum { RING_TRIES = 4 };

/* Lists the stores of a commit (G1). False: the ring is full or has no pages. */
static bool prepare(const struct write *w, struct ring_commit *c)
{
	struct ring *r = w->ring;
	const uint64_t pos = w->head >> 1, last = r->tail[w->head & 1].time;
	const uint32_t nr_pages = *(const volatile uint32_t *)&r->nr_pages;
	uint64_t seq = pos >> shift_of(r), delta = w->time - last;
	uint32_t off = (uint32_t)(pos & (r->subbuf_size - 1)), form = time_form(last, w->time);
	char *at;

	if (!nr_pages)
		return false;	/* G6 */
	c->nr_stores = 0;
	if (!off || off + w->length + (form ? RING_LEN_EXTEND : 0) > r->subbuf_size ||
	    needs_page(form, last, w->time)) {
		seq += off != 0;
		if (full(w->buffer, r, seq))
			return false;
		add_page(c, w, seq, (uint32_t)(seq % nr_pages), pos);
		off = RING_PAGE_HEADER;
		form = 0;
		delta = 0;
	}
	at = page_at(w->p, r, (uint32_t)(seq % nr_pages), off);
	if (form) {
		add_time(c, at, form, last, w->time);
		at += RING_LEN_EXTEND;
		off += RING_LEN_EXTEND;
		delta = 0;
	}
	add_record(c, at, w, delta);
	add_tail(c, w);
	c->head_at = (uint64_t *)&r->head;
	c->head = w->head;
	c->next_head = ((seq << shift_of(r)) + off + w->length) << 1 | !(w->head & 1);
	return true;
}

static int drop(struct ring *r)
{
	/* Relaxed: a counter. */
	atomic_fetch_add_explicit(&r->dropped, 1, memory_order_relaxed);
	return 1;
}

static inline uint64_t now(const struct plane *p, const struct buffer *b)
{
	/* G6 */
	struct instance_state *inst = plane_instance(p, b->instance % LAYOUT_MAX_INSTANCES);

	return clock_read(&plane_header(p)->tsc, inst);
}

/*
 * G4, for set 0: called after the load of head. `time`: what the caller has read in this hit, or 0
 */
static inline uint64_t time_behind(const struct plane *p, const struct buffer *b,
				   const struct ring *r, uint64_t head, uint64_t time)
{
	return __builtin_expect(time > r->tail[head & 1].time, 0) ? time : now(p, b);
}

/* For the only writer of a ring. */
static int write_alone(struct write *w, uint64_t time)
{
	struct ring_commit c;

	/* Relaxed: its own (G2). */
	w->head = atomic_load_explicit(&w->ring->head, memory_order_relaxed);
	w->time = time ? time : now(w->p, w->buffer);
	if (!prepare(w, &c))
		return drop(w->ring);
	ring_commit_stores(&c);
	atomic_store_explicit(&w->ring->head, c.next_head, memory_order_release);	/* G3 */
	return 0;
}

/*
 * Set 0: all stores are in the restartable section. So a thread that was migrated to another CPU
 * cannot store late.
 */
static int write_restartable(struct write *w, uint64_t time)
{
	struct ring_commit c;

	for (unsigned int i = 0; i < RING_TRIES; i++) {
		int cpu = rseq_cpu();

		w->ring = cpu < 0 ? NULL : ring_of(w->p, w->buffer, 0, (uint32_t)cpu);
		if (!w->ring || ring_is_disabled(w->ring))
			return 1;
		w->head = atomic_load_explicit(&w->ring->head, memory_order_acquire);	/* G3 */
		if (has_no_room(w))
			return drop(w->ring);
		w->time = time_behind(w->p, w->buffer, w->ring, w->head, time);
		if (!prepare(w, &c))
			return drop(w->ring);
		if (ring_commit_rseq(&c, cpu))
			return 0;
	}
	return drop(w->ring);
}

/* ---- The short way ---- */

/*
 * Where the header goes if the record goes behind the last one, into the same page; else NULL.
 * `base` is loaded before `page_end`: a thread that begins a page and is killed before it stores
 * head leaves both changed and head unchanged. An old base with the new page_end gives an address
 * one page too far; a new base with the old page_end would give one outside the ring.
 */
static inline char *aim(const struct plane *p, const struct ring *r, uint64_t head, uint32_t size)
{
	const uint64_t pos = head >> 1;
	const uint64_t base = *(const volatile uint64_t *)&r->base;
	const uint64_t left = *(const volatile uint64_t *)&r->page_end - pos;

	/*
	 * The page is not begun, or page_end belongs to another page: left is 0 or at least a page.
	 */
	return left < 4 + size || left >= r->subbuf_size ? NULL : plane_data(p, base + pos);
}

/* A size that ring_is_short() takes: words of 8, of which the last two may overlap. */
static inline void copy_short(char *to, const char *from, uint32_t size)
{
	for (uint32_t i = 0; i < size - 8; i += 8)
		__builtin_memcpy(to + i, from + i, 8);
	__builtin_memcpy(to + size - 8, from + size - 8, 8);
}

/*
 * This function and the next one return 0: committed, 1: not recorded, -1: it has to go the long
 * way. It does what ring_write_short() does, for any clock and for a time that the caller has read.
 */
static int write_short(const struct plane *p, const struct buffer *b, uint64_t time,
		       const void *record, uint32_t size)
{
	struct ring *r;
	uint64_t head;
	int rc = ring_short_find(p, b, size, &r);

	if (rc)
		return rc;
	/* Relaxed: a glance. The section loads it again, and looks whether the time is older. */
	head = atomic_load_explicit(&r->head, memory_order_relaxed);
	/* To read a clock is expensive, and `counter` counts that. */
	if (*(const volatile uint64_t *)&r->page_end - (head >> 1) < 4 + size)
		return -1;
	time = time_behind(p, b, r, head, time);
	return ring_commit_short(p, r, time, record, size) ? 0 : -1;
}

static inline int write_short_alone(const struct plane *p, const struct buffer *b, struct ring *r,
				    uint64_t time, const void *record, uint32_t size)
{
	/* Relaxed: its own (G2). */
	const uint64_t head = atomic_load_explicit(&r->head, memory_order_relaxed);
	const struct ring_tail *old = &r->tail[head & 1];
	struct ring_tail *next = &r->tail[!(head & 1)];
	char *at = aim(p, r, head, size);
	uint32_t header;

	if (!at)
		return -1;
	time = time ? time : now(p, b);
	if ((time - old->time) >> RING_DELTA_BITS)
		return -1;
	header = size / 4 | (uint32_t)(time - old->time) << 5;
	__builtin_memcpy(at, &header, 4);
	copy_short(at + 4, record, size);
	next->time = time;
	next->entries = old->entries + 1;
	/* G3 */
	atomic_store_explicit(&r->head, (head + ((4 + size) << 1)) ^ 1, memory_order_release);
	return 0;
}

/* ---- */

/*
 * The writer set of a thread without restartable sequences: one for each level, so that no signal
 * handler comes between its stores.
 */
static uint32_t lease_set(struct slot *slot)
{
	/* Relaxed: the lease belongs to the thread for good, and the depth is its own. */
	uint64_t lease = atomic_load_explicit(&slot->lease, memory_order_relaxed);
	uint32_t number = (uint32_t)lease,
		 depth = atomic_load_explicit(&slot->depth, memory_order_relaxed);

	/* Relaxed: a request; ring_leases_serve() looks regularly. */
	if (!number) {
		atomic_store_explicit(&slot->lease, lease | RING_LEASE_WANTED,
				      memory_order_relaxed);
		return BUFFER_MAX_SETS;
	}
	return RING_SET_LEASES + (number - 1) * LAYOUT_HIT_LEVELS + (depth ? depth - 1 : 0);
}

static bool restartable(const struct slot *slot)
{
	return rseq_cpu() >= 0 && !ring_lease_only(slot);
}

static int lose(struct slot *slot)
{
	hit_miss(slot);
	return 1;
}

/* The record does not fit into a sub-buffer of this buffer: it is counted as dropped in `r`. */
static int write_none(struct slot *slot, struct ring *r)
{
	return r ? drop(r) : lose(slot);
}

static bool fits(const struct buffer *b, uint32_t size, uint32_t length)
{
	const uint32_t subbuf_size = *(const volatile uint32_t *)&b->subbuf_size;

	/* G6 */
	return size <= RING_STORE_MAX && size <= subbuf_size &&
	       length <= subbuf_size - RING_PAGE_HEADER;
}

/* `r`: the ring of a source or a lease; NULL: set 0 */
static __attribute__((noinline)) int write_long(const struct plane *p, struct slot *slot,
						const struct buffer *b, struct ring *r,
						uint32_t cpu, uint64_t time, const void *record,
						uint32_t size)
{
	struct write w = {
		.p = p,
		.buffer = b,
		.ring = r,
		.record = record,
		.size = size,
		.length = event_length(size),
	};

	if (!fits(b, size, w.length))
		return write_none(slot, r ? r : ring_of(p, b, 0, cpu));
	return r ? write_alone(&w, time) : write_restartable(&w, time);
}

/* For sources and leases. */
static __attribute__((noinline)) int write_owned(const struct plane *p, struct slot *slot,
						 const struct buffer *b, uint32_t set, uint32_t cpu,
						 uint64_t time, const void *record, uint32_t size)
{
	struct ring *r;
	int rc = -1;

	if (!set) {
		set = lease_set(slot);
		time = 0; /* the time that the hit has read may be older than the last record */
	}
	r = ring_of(p, b, set, cpu);
	if (!r)
		return lose(slot);
	if (ring_is_disabled(r))
		return 1;
	if (ring_is_short(size))
		rc = write_short_alone(p, b, r, time, record, size);
	return rc < 0 ? write_long(p, slot, b, r, cpu, time, record, size) : rc;
}

int ring_write(const struct plane *p, struct slot *slot, data_ref buffer, uint32_t set,
	       uint32_t cpu, uint64_t time, const void *record, uint32_t size)
{
	const struct buffer *b = plane_data(p, buffer);
	int rc = -1;

	if (__builtin_expect(set || !restartable(slot), 0))
		return write_owned(p, slot, b, set, cpu, time, record, size);
	rc = write_short(p, b, time, record, size);
	return __builtin_expect(rc < 0, 0) ? write_long(p, slot, b, NULL, cpu, time, record, size)
					   : rc;
}
