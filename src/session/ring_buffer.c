/* SPDX-License-Identifier: MIT */
/*
 * ring_buffer.c - the server's side of a buffer: create, retire, clear, switch, count
 *
 * B1  nr_sets, and of a ring what stands under "the server" in ring_layout.h, are
 *     the server's, one thread at a time: relaxed.
 * B2  What hits look at of the server's (floor, taken, overwrite, disabled) is
 *     relaxed, too: each is one word, which a hit takes when it sees it.
 */
#include <errno.h>
#include <string.h>

#include "plane/ring.h"
#include "session/ring_access.h"
#include "session/session.h"

enum { HEAD_TRIES = 10000 };

static size_t buffer_bytes(uint32_t nr_cpus)
{
	return sizeof(struct buffer) + (size_t)BUFFER_MAX_SETS * nr_cpus * sizeof(data_ref);
}

uint32_t ring_cpus(struct session *s)
{
	return session_header(s)->nr_cpus;
}

/* Its own nr_cpus may change at any time: where its words lie is told by the session's. */
struct buffer *ring_buffer(struct session *s, data_ref ref)
{
	struct buffer *b = session_data(s, ref, buffer_bytes(ring_cpus(s)));

	return ref && b && !(ref % 64) && b->nr_cpus == ring_cpus(s) ? b : NULL;
}

static struct ring *ring_at(struct session *s, data_ref ref)
{
	struct ring *r = session_data(s, ref, sizeof(*r));

	return ref && !(ref % 64) ? r : NULL;
}

uint32_t ring_sets(const struct buffer *b)
{
	uint32_t nr = atomic_load_explicit(&b->nr_sets, memory_order_relaxed);	/* B1 */

	return nr < BUFFER_MAX_SETS ? nr : BUFFER_MAX_SETS;
}

/* A ring whose numbers hold together (R2): what is read is a copy that the programs cannot change. */
bool ring_view(struct session *s, data_ref buffer, uint32_t set, uint32_t cpu, struct ring_view *out)
{
	struct buffer *b = ring_buffer(s, buffer);
	data_ref ref, pages, descs;
	struct ring *r;

	if (!b || set >= BUFFER_MAX_SETS || cpu >= ring_cpus(s))
		return false;
	/* Pairs with the releases in buffer_add_set() and buffer_swap_cpu(), perhaps of the server before. */
	ref = atomic_load_explicit(&b->rings[(size_t)set * ring_cpus(s) + cpu], memory_order_acquire);
	r = ring_at(s, ref);
	if (!r)
		return false;
	*out = (struct ring_view){
		.ring = r, .cpu = cpu,
		.nr_pages = *(volatile uint32_t *)&r->nr_pages, .subbuf_size = *(volatile uint32_t *)&r->subbuf_size,
	};
	if (out->nr_pages < 2 || out->subbuf_size < 4096 || out->subbuf_size > 1u << 24 ||
	    out->subbuf_size != 1u << (r->page_shift & 31))
		return false;
	pages = *(volatile data_ref *)&r->pages;
	descs = *(volatile data_ref *)&r->descs;
	out->pages = session_data(s, pages, (size_t)out->nr_pages * out->subbuf_size);
	out->descs = session_data(s, descs, (size_t)out->nr_pages * sizeof(struct page_desc));
	return out->pages && out->descs && !(descs % 64) && !(pages % 64);
}

static uint32_t pages_for(uint64_t bytes, uint32_t subbuf_size)
{
	uint64_t n = (bytes + subbuf_size - RING_PAGE_HEADER - 1) / (subbuf_size - RING_PAGE_HEADER);

	if (n < 2)
		n = 2;
	return n > UINT32_MAX - 1 ? UINT32_MAX : (uint32_t)n + 1;
}

static void ring_free(struct session *s, data_ref ref, bool published)
{
	struct ring *r = ring_at(s, ref);
	void (*give)(struct session *, data_ref, size_t) = published ? session_data_retire : session_data_free;
	size_t pages, descs;

	if (!r)
		return;
	pages = (size_t)r->nr_pages * r->subbuf_size;
	descs = (size_t)r->nr_pages * sizeof(struct page_desc);
	if (r->pages)
		give(s, r->pages, pages);
	if (r->descs)
		give(s, r->descs, descs);
	give(s, ref, sizeof(*r));
}

void ring_retire(struct session *s, data_ref ring)
{
	ring_free(s, ring, true);
}

static data_ref ring_create(struct session *s, uint32_t set, uint32_t cpu, uint32_t subbuf_size, uint64_t bytes)
{
	data_ref ref = session_data_alloc(s, sizeof(struct ring));
	struct ring *r = ref ? session_data(s, ref, sizeof(*r)) : NULL;

	if (!r)
		return 0;
	r->cpu = cpu;
	r->set = set;
	r->subbuf_size = subbuf_size;
	r->page_shift = (uint32_t)__builtin_ctz(subbuf_size);
	r->nr_pages = pages_for(bytes, subbuf_size);
	r->pages = session_data_alloc(s, (size_t)r->nr_pages * subbuf_size);
	if (r->pages)
		r->descs = session_data_alloc(s, (size_t)r->nr_pages * sizeof(struct page_desc));
	if (r->pages && r->descs)
		return ref;
	ring_free(s, ref, false);
	return 0;
}

static bool subbuf_valid(uint32_t size)
{
	return size >= 4096 && size <= 1u << 24 && !(size & (size - 1));
}

int buffer_add_set(struct session *s, data_ref buffer, uint32_t set, const uint64_t *bytes_per_cpu)
{
	struct buffer *b = ring_buffer(s, buffer);
	uint32_t subbuf_size;

	if (!b || set >= BUFFER_MAX_SETS)
		return -EINVAL;
	subbuf_size = *(volatile uint32_t *)&b->subbuf_size;
	if (set >= ring_sets(b))
		atomic_store_explicit(&b->nr_sets, set + 1, memory_order_relaxed);	/* B1: read in ring_sets() */
	for (uint32_t cpu = 0; cpu < ring_cpus(s); cpu++) {
		_Atomic data_ref *word = &b->rings[(size_t)set * ring_cpus(s) + cpu];
		data_ref ring;

		if (atomic_load_explicit(word, memory_order_relaxed))	/* Relaxed: only the server stores it. */
			continue;
		ring = subbuf_valid(subbuf_size) ? ring_create(s, set, cpu, subbuf_size, bytes_per_cpu[cpu]) : 0;
		if (!ring)
			return -ENOMEM;
		atomic_store_explicit(word, ring, memory_order_release);	/* pairs with ring_of() */
	}
	return 0;
}

int buffer_create(struct session *s, uint32_t instance, uint32_t nr_cpus, uint32_t subbuf_size,
		  const uint64_t *bytes_per_cpu, uint32_t nr_sets, bool overwrite, data_ref *out)
{
	data_ref ref = session_data_alloc(s, buffer_bytes(nr_cpus));
	struct buffer *b = ref ? session_data(s, ref, buffer_bytes(nr_cpus)) : NULL;
	int err = 0;

	if (!b)
		return -ENOMEM;
	b->nr_cpus = nr_cpus;
	b->subbuf_size = subbuf_size;
	b->instance = instance;
	atomic_store_explicit(&b->overwrite, overwrite, memory_order_relaxed);	/* Relaxed: not published yet. */
	for (uint32_t set = 0; set < nr_sets && !err; set++)
		err = buffer_add_set(s, ref, set, bytes_per_cpu);
	if (!err)
		err = ring_leases_add(s, ref, bytes_per_cpu);
	if (err)
		buffer_free(s, ref);
	else
		*out = ref;
	return err;
}

/* buffer_keep() gave it to the buffer's successor. */
static bool moved_on(struct session *s, data_ref ref, uint32_t set)
{
	const struct ring *r = ring_at(s, ref);

	return r && r->kept && (set < RING_SET_KEPT || set >= RING_SET_LEASES);
}

static void buffer_give(struct session *s, data_ref ref, bool published)
{
	struct buffer *b = ring_buffer(s, ref);

	if (!b)
		return;
	for (size_t i = 0; i < (size_t)ring_sets(b) * ring_cpus(s); i++) {
		/* Relaxed: the words are the server's own stores. */
		data_ref ring = atomic_load_explicit(&b->rings[i], memory_order_relaxed);

		if (ring && !moved_on(s, ring, (uint32_t)(i / ring_cpus(s))))
			ring_free(s, ring, published);
	}
	if (published)
		session_data_retire(s, ref, buffer_bytes(ring_cpus(s)));
	else
		session_data_free(s, ref, buffer_bytes(ring_cpus(s)));
}

void buffer_free(struct session *s, data_ref buffer)
{
	buffer_give(s, buffer, false);
}

void buffer_retire(struct session *s, data_ref buffer)
{
	buffer_give(s, buffer, true);
}

/* Calls fn for every ring of a CPU (cpu -1: of all). */
void ring_each(struct session *s, data_ref buffer, int cpu, void (*fn)(struct ring_view *v, void *arg), void *arg)
{
	struct buffer *b = ring_buffer(s, buffer);
	struct ring_view v;

	if (!b)
		return;
	for (uint32_t set = 0; set < ring_sets(b); set++)
		for (uint32_t c = 0; c < ring_cpus(s); c++)
			if ((cpu < 0 || (uint32_t)cpu == c) && ring_view(s, buffer, set, c, &v))
				fn(&v, arg);
}

/* What lies before pos: the tail tells the records, the page's descriptor and pos the bytes. */
static struct ring_point point_at(const struct ring_view *v, uint64_t head)
{
	const struct ring_tail tail = *(volatile struct ring_tail *)&v->ring->tail[head & 1];
	struct ring_point at = { .pos = head >> 1, .entries = tail.entries, .time = tail.time };
	const struct page_desc *d;

	if (at.pos) {
		d = &v->descs[(at.pos - 1) / v->subbuf_size % v->nr_pages];
		/* Relaxed: stored before head was (G3), and judged by ring_head()'s second look. */
		at.bytes = atomic_load_explicit(&d->bytes, memory_order_relaxed) +
			   (at.pos - 1) % v->subbuf_size + 1 - RING_PAGE_HEADER;
	}
	return at;
}

struct ring_point ring_head(const struct ring_view *v)
{
	struct ring_point at;
	uint64_t head;
	int tries = HEAD_TRIES;		/* a head that never stands still is no ring's */

	do {
		head = atomic_load_explicit(&v->ring->head, memory_order_acquire);	/* G3 */
		at = point_at(v, head);
		atomic_thread_fence(memory_order_acquire);	/* the copy before the second look */
	} while (atomic_load_explicit(&v->ring->head, memory_order_relaxed) != head && --tries);
	return at;
}

static void clear_ring(struct ring_view *v, void *arg)
{
	struct ring *r = v->ring;
	struct ring_point at = ring_head(v);

	/* Relaxed: the server alone stores and reads them (B1); late is harmless where writers look (B2). */
	atomic_store_explicit(&r->floor_entries, at.entries, memory_order_relaxed);
	atomic_store_explicit(&r->floor_bytes, at.bytes, memory_order_relaxed);
	atomic_store_explicit(&r->taken_entries, 0, memory_order_relaxed);
	atomic_store_explicit(&r->taken_bytes, 0, memory_order_relaxed);
	atomic_store_explicit(&r->overrun, 0, memory_order_relaxed);	/* B1 */
	atomic_store_explicit(&r->dropped, 0, memory_order_relaxed);	/* Relaxed: a count of the writers'. */
	atomic_store_explicit(&r->taken, at.pos, memory_order_relaxed);
	atomic_store_explicit(&r->floor, at.pos, memory_order_relaxed);	/* B2 */
}

void buffer_clear(struct session *s, data_ref buffer, int cpu)
{
	ring_each(s, buffer, cpu, clear_ring, NULL);
}

void buffer_set_overwrite(struct session *s, data_ref buffer, bool on)
{
	struct buffer *b = ring_buffer(s, buffer);

	if (b)
		atomic_store_explicit(&b->overwrite, on, memory_order_relaxed);	/* B2 */
}

static void set_recording(struct ring_view *v, void *arg)
{
	atomic_store_explicit(&v->ring->disabled, !*(bool *)arg, memory_order_relaxed);	/* B2 */
}

void buffer_set_cpu_recording(struct session *s, data_ref buffer, uint32_t cpu, bool on)
{
	ring_each(s, buffer, (int)cpu, set_recording, &on);
}

static void add_stats(struct ring_view *v, void *arg)
{
	struct ring_stats *sum = arg;
	struct ring *r = v->ring;
	struct ring_point head = ring_head(v), oldest;
	/* Relaxed: the server's own stores, in clear_ring() and ring_read.c. */
	uint64_t read = atomic_load_explicit(&r->taken_entries, memory_order_relaxed);
	uint64_t floor_entries = atomic_load_explicit(&r->floor_entries, memory_order_relaxed);

	if (!ring_oldest(v, &oldest))
		oldest = head;
	sum->entries += head.entries - oldest.entries;
	sum->bytes += head.bytes - oldest.bytes;
	/* What is neither there nor read was overrun. */
	if (oldest.entries - floor_entries > read)
		sum->overrun += oldest.entries - floor_entries - read;
	sum->dropped += atomic_load_explicit(&r->dropped, memory_order_relaxed);	/* Relaxed: a count. */
	sum->read += read;
	if (oldest.time && head.entries > oldest.entries && (!sum->oldest_ts || oldest.time < sum->oldest_ts))
		sum->oldest_ts = oldest.time;
}

int buffer_stats(struct session *s, data_ref buffer, uint32_t cpu, struct ring_stats *out)
{
	struct buffer *b = ring_buffer(s, buffer);

	*out = (struct ring_stats){ 0 };
	if (!b || cpu >= ring_cpus(s))
		return -EINVAL;
	ring_keep_limits(s, buffer);
	ring_each(s, buffer, (int)cpu, add_stats, out);
	return 0;
}

static void add_size(struct ring_view *v, void *arg)
{
	*(uint64_t *)arg += (uint64_t)(v->nr_pages - 1) * v->subbuf_size;
}

uint64_t buffer_ring_bytes(struct session *s, data_ref buffer, uint32_t cpu)
{
	uint64_t bytes = 0;

	ring_each(s, buffer, (int)cpu, add_size, &bytes);
	return bytes;
}

static int adopt_ring(struct session *s, data_ref ref)
{
	struct ring *r = ring_at(s, ref);
	int err;

	if (!r)
		return -EPROTO;
	err = session_data_adopt(s, ref, sizeof(*r));
	if (!err)
		err = session_data_adopt(s, r->pages, (size_t)r->nr_pages * r->subbuf_size);
	if (!err)
		err = session_data_adopt(s, r->descs, (size_t)r->nr_pages * sizeof(struct page_desc));
	/* The server may have died behind buffer_keep(), before the successor was published: then there is none. */
	if (!err)
		r->kept = 0;
	return err;
}

/*
 * The server died in buffer_swap_cpu(), and the other buffer has the ring, too:
 * this one gets an empty one as large. What it had is lost.
 */
static int ring_instead(struct session *s, data_ref buffer, uint32_t set, uint32_t cpu)
{
	struct buffer *b = ring_buffer(s, buffer);
	struct ring_view v;
	data_ref ring;

	if (!b || !ring_view(s, buffer, set, cpu, &v))
		return -EEXIST;
	ring = ring_create(s, v.ring->set, cpu, v.subbuf_size,
			   (uint64_t)(v.nr_pages - 1) * (v.subbuf_size - RING_PAGE_HEADER));
	if (!ring)
		return -ENOMEM;
	/* Pairs with ring_of(): a hit that is on its way ends in the other buffer. */
	atomic_store_explicit(&b->rings[(size_t)set * ring_cpus(s) + cpu], ring, memory_order_release);
	return 0;
}

int buffer_adopt(struct session *s, data_ref buffer)
{
	struct buffer *b = ring_buffer(s, buffer);
	int err = b ? session_data_adopt(s, buffer, buffer_bytes(ring_cpus(s))) : -EPROTO;

	for (size_t i = 0; !err && i < (size_t)ring_sets(b) * ring_cpus(s); i++) {
		/* Relaxed: who stored the words is dead, which session_take_over() has seen. */
		data_ref ring = atomic_load_explicit(&b->rings[i], memory_order_relaxed);

		if (ring)
			err = adopt_ring(s, ring);
		if (err == -EEXIST)
			err = ring_instead(s, buffer, (uint32_t)(i / ring_cpus(s)), (uint32_t)(i % ring_cpus(s)));
	}
	return err;
}
