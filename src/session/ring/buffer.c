/* SPDX-License-Identifier: MIT */
/*
 * buffer.c - the server's side of a buffer: create, publish, retire, clear, switch, count
 *
 * B1  Only the server uses the books (book.h), one thread at a time: plain stores. Where the next
 *     server has to see stores in order, the later one is a release.
 * B2  The words of the server that hits read (floor, taken, overwrite, disabled) are relaxed: each
 *     is one word, and a hit uses the value that it finds.
 */
#include <errno.h>

#include "plane/ring/ring.h"
#include "session/ring/access.h"
#include "session/state.h"

enum { HEAD_TRIES = 10000 };

static size_t buffer_bytes(struct session *s)
{
	return sizeof(struct buffer) + (size_t)BUFFER_MAX_SETS * ring_cpus(s) * sizeof(data_ref);
}

static size_t book_bytes(struct session *s)
{
	return sizeof(struct buffer_book) + ring_cpus(s) * sizeof(struct left_out);
}

/* The struct that hits see; NULL: the book names no memory. */
static struct buffer *hits_of(struct session *s, const struct buffer_book *b)
{
	return b ? session_data(s, b->buffer, buffer_bytes(s)) : NULL;
}

bool ring_view_of(struct session *s, config_ref ring, struct ring_view *out)
{
	struct ring_book *r = session_config(s, ring, sizeof(*r));

	if (!r)
		return false;
	*out = (struct ring_view){
		.book = r, .cpu = r->cpu, .nr_pages = r->nr_pages, .subbuf_size = r->subbuf_size,
		.ring = session_data(s, r->ring, sizeof(struct ring)),
		.pages = session_data(s, r->pages, (size_t)r->nr_pages * r->subbuf_size),
		.descs = session_data(s, r->descs, (size_t)r->nr_pages * sizeof(struct page_desc)),
	};
	return out->ring && out->pages && out->descs;
}

bool ring_view(struct session *s, const struct buffer_book *b, uint32_t set, uint32_t cpu,
	       struct ring_view *out)
{
	return ring_view_of(s, ring_ref_at(s, b, set, cpu), out);
}

static uint32_t pages_for(uint64_t bytes, uint32_t subbuf_size)
{
	uint64_t n =
		(bytes + subbuf_size - RING_PAGE_HEADER - 1) / (subbuf_size - RING_PAGE_HEADER);

	if (n < 2)
		n = 2;
	return n > UINT32_MAX - 1 ? UINT32_MAX : (uint32_t)n + 1;
}

void ring_memory_for(uint64_t bytes, uint32_t subbuf_size, uint64_t sizes[2])
{
	const uint64_t nr_pages = pages_for(bytes, subbuf_size);

	sizes[0] = nr_pages * subbuf_size;
	sizes[1] = nr_pages * sizeof(struct page_desc);
}

static void ring_free(struct session *s, config_ref ref, bool published)
{
	const struct ring_book *r = session_config(s, ref, sizeof(*r));
	void (*give)(struct session *, data_ref, size_t) =
		published ? session_data_retire : session_data_free;

	if (!r)
		return;
	if (r->pages)
		give(s, r->pages, (size_t)r->nr_pages * r->subbuf_size);
	if (r->descs)
		give(s, r->descs, (size_t)r->nr_pages * sizeof(struct page_desc));
	if (r->ring)
		give(s, r->ring, sizeof(struct ring));
	session_config_free(s, ref, sizeof(*r));
}

void ring_retire(struct session *s, config_ref ring)
{
	ring_free(s, ring, true);
}

/* Writes for hits what the ring's book says. */
static void ring_describe(struct session *s, const struct ring_book *book)
{
	struct ring *r = session_data(s, book->ring, sizeof(*r));

	if (!r)
		return;
	r->cpu = book->cpu;
	r->set = book->set;
	r->subbuf_size = book->subbuf_size;
	r->page_shift = (uint32_t)__builtin_ctz(book->subbuf_size);
	r->nr_pages = book->nr_pages;
	r->pages = book->pages;
	r->descs = book->descs;
	atomic_store_explicit(&r->floor, book->floor, memory_order_relaxed);	/* Both: B2 */
	atomic_store_explicit(&r->taken, book->taken, memory_order_relaxed);
}

static config_ref ring_create(struct session *s, config_ref owner, uint32_t set, uint32_t cpu,
			      uint32_t subbuf_size, uint64_t bytes)
{
	config_ref ref = session_config_alloc(s, sizeof(struct ring_book));
	struct ring_book *r = session_config(s, ref, sizeof(*r));

	if (!r)
		return 0;
	r->owner = owner;
	r->cpu = cpu;
	r->set = set;
	r->subbuf_size = subbuf_size;
	r->nr_pages = pages_for(bytes, subbuf_size);
	r->ring = session_data_alloc(s, sizeof(struct ring));
	if (r->ring)
		r->pages = session_data_alloc(s, (size_t)r->nr_pages * subbuf_size);
	if (r->pages)
		r->descs = session_data_alloc(s, (size_t)r->nr_pages * sizeof(struct page_desc));
	if (r->descs) {
		ring_describe(s, r);
		return ref;
	}
	ring_free(s, ref, false);
	return 0;
}

static bool subbuf_valid(uint32_t size)
{
	return size >= 4096 && size <= 1u << 24 && !(size & (size - 1));
}

/* A set that is added records on the CPUs on which the buffer does (buffer_set_cpu_recording()). */
static void record_as_set_0(struct session *s, const struct buffer_book *b, uint32_t set,
			    uint32_t cpu)
{
	const struct ring_book *first = ring_book_at(s, b, 0, cpu);
	const struct ring_book *added = ring_book_at(s, b, set, cpu);
	const struct ring *from = first ? session_data(s, first->ring, sizeof(*from)) : NULL;
	struct ring *to = added ? session_data(s, added->ring, sizeof(*to)) : NULL;

	/* Both relaxed: B2 */
	if (from && to)
		atomic_store_explicit(&to->disabled,
				      atomic_load_explicit(&from->disabled, memory_order_relaxed),
				      memory_order_relaxed);
}

int buffer_add_set(struct session *s, data_ref buffer, uint32_t set, const uint64_t *bytes_per_cpu)
{
	config_ref owner = buffer_book_ref(s, buffer);
	struct buffer_book *b = buffer_book(s, buffer);

	if (!b || set >= BUFFER_MAX_SETS)
		return -EINVAL;
	if (ring_set_room(s, b, set))
		return -ENOMEM;
	for (uint32_t cpu = 0; cpu < ring_cpus(s); cpu++) {
		config_ref ring;

		if (ring_ref_at(s, b, set, cpu))
			continue;
		ring = ring_create(s, owner, set, cpu, b->subbuf_size, bytes_per_cpu[cpu]);
		if (!ring)
			return -ENOMEM;
		ring_note(s, b, set, cpu, ring);
		record_as_set_0(s, b, set, cpu);
		ring_tell(s, b, set, cpu);
	}
	return 0;
}

static void buffer_describe(struct session *s, const struct buffer_book *b)
{
	struct buffer *hits = hits_of(s, b);

	if (!hits)
		return;
	hits->nr_cpus = ring_cpus(s);
	hits->subbuf_size = b->subbuf_size;
	hits->instance = b->instance;
}

/* Makes a buffer without rings. */
static int buffer_begin(struct session *s, uint32_t instance, uint32_t subbuf_size, data_ref *out)
{
	config_ref ref = session_config_alloc(s, book_bytes(s));
	struct buffer_book *b = session_config(s, ref, sizeof(*b));
	int err = -ENOMEM;

	if (!b)
		return -ENOMEM;
	b->instance = instance;
	b->subbuf_size = subbuf_size;
	b->buffer = session_data_alloc(s, buffer_bytes(s));
	if (b->buffer)
		err = buffer_note(s, b->buffer, ref);
	if (err) {
		if (b->buffer)
			session_data_free(s, b->buffer, buffer_bytes(s));
		session_config_free(s, ref, book_bytes(s));
		return err;
	}
	buffer_describe(s, b);
	*out = b->buffer;
	return 0;
}

int buffer_create(struct session *s, uint32_t instance, uint32_t nr_cpus, uint32_t subbuf_size,
		  const uint64_t *bytes_per_cpu, uint32_t nr_sets, bool overwrite, data_ref *out)
{
	data_ref ref = 0;
	int err = nr_cpus == ring_cpus(s) && subbuf_valid(subbuf_size)
			  ? buffer_begin(s, instance, subbuf_size, &ref)
			  : -EINVAL;

	if (err)
		return err;
	buffer_set_overwrite(s, ref, overwrite);
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

/* K0: a ring that the buffer does not own stays. */
static void set_give(struct session *s, const struct buffer_book *b, config_ref owner, uint32_t set,
		     bool published)
{
	for (uint32_t cpu = 0; cpu < ring_cpus(s); cpu++) {
		const struct ring_book *r = ring_book_at(s, b, set, cpu);

		if (r && r->owner == owner)
			ring_free(s, ring_ref_at(s, b, set, cpu), published);
	}
	session_config_free(s, b->sets[set], ring_cpus(s) * sizeof(config_ref));
}

static void buffer_give(struct session *s, data_ref ref, bool published)
{
	config_ref book = buffer_book_ref(s, ref);
	struct buffer_book *b = buffer_book(s, ref);

	if (!b)
		return;
	for (uint32_t set = 0; set < b->nr_sets; set++)
		if (b->sets[set])
			set_give(s, b, book, set, published);
	if (published)
		session_data_retire(s, ref, buffer_bytes(s));
	else
		session_data_free(s, ref, buffer_bytes(s));
	buffer_forget(s, ref);
	session_config_free(s, book, book_bytes(s));
}

void buffer_free(struct session *s, data_ref buffer)
{
	buffer_give(s, buffer, false);
}

void buffer_retire(struct session *s, data_ref buffer)
{
	buffer_give(s, buffer, true);
}

/* ---- published ---- */

static _Atomic data_ref *word_of(struct session *s, uint32_t instance, uint32_t which)
{
	return &plane_instance(&s->plane, instance)->buffers[which];
}

data_ref buffer_published(struct session *s, uint32_t instance, uint32_t which)
{
	const struct instance_book *ib = instance_book(s, instance);
	const struct buffer_book *b = ib ? session_config(s, ib->buffers[which], sizeof(*b)) : NULL;

	return b ? b->buffer : 0;
}

static void store(config_ref *word, config_ref ref)
{
	/* B1. Release: pairs with buffer_restore() of the next server */
	__atomic_store_n(word, ref, __ATOMIC_RELEASE);
}

/* `next` is stored. From here on the next server would do the same. */
static void succeed(struct session *s, struct instance_book *ib, uint32_t instance, uint32_t which)
{
	const config_ref next = ib->next[which];
	const struct buffer_book *b = session_config(s, next, sizeof(*b));

	if (b && ib->buffers[which])
		buffer_save_books(s, ib->buffers[which], next);
	session_publish(s, word_of(s, instance, which), b ? b->buffer : 0);
	store(&ib->buffers[which], b ? next : 0);
	store(&ib->next[which], 0);
}

void buffer_publish(struct session *s, uint32_t instance, uint32_t which, data_ref buffer)
{
	struct instance_book *ib = instance_book(s, instance);
	data_ref old = buffer_published(s, instance, which);

	if (!ib)
		return;
	if (buffer) {
		store(&ib->next[which], buffer_book_ref(s, buffer));
		succeed(s, ib, instance, which);
	} else {
		store(&ib->next[which], 0);
		store(&ib->buffers[which], 0);
		session_publish(s, word_of(s, instance, which), 0);
	}
	if (old)
		buffer_retire(s, old);
}

/*
 * The server died in buffer_swap_cpu(), and the other buffer also names the ring. This buffer gets
 * an empty ring of the same size. The records of its own ring are lost.
 */
static int ring_instead(struct session *s, struct buffer_book *b, config_ref owner, uint32_t set,
			uint32_t cpu)
{
	const struct ring_book *r = ring_book_at(s, b, set, cpu);
	config_ref ring =
		ring_create(s, owner, r->set, cpu, r->subbuf_size,
			    (uint64_t)(r->nr_pages - 1) * (r->subbuf_size - RING_PAGE_HEADER));

	if (!ring)
		return -ENOMEM;
	ring_note(s, b, set, cpu, ring);
	return 0;
}

/* Writes again for hits what programs may have spoiled. */
static int buffer_restore_one(struct session *s, struct buffer_book *b, config_ref owner)
{
	int err = 0;

	buffer_describe(s, b);
	for (uint32_t set = 0; set < b->nr_sets; set++)
		for (uint32_t cpu = 0; !err && cpu < ring_cpus(s); cpu++) {
			const struct ring_book *r = ring_book_at(s, b, set, cpu);

			if (r && r->owner != owner)
				err = ring_instead(s, b, owner, set, cpu);
			else if (r)
				ring_describe(s, r);
			ring_tell(s, b, set, cpu);
		}
	return err;
}

int buffer_restore(struct session *s, uint32_t instance, uint32_t which)
{
	struct instance_book *ib = instance_book(s, instance);
	config_ref ref = ib ? ib->next[which] ? ib->next[which] : ib->buffers[which] : 0;
	struct buffer_book *b = session_config(s, ref, sizeof(*b));
	int err;

	if (!ref) {
		session_publish(s, word_of(s, instance, which), 0);
		return 0;
	}
	/*
	 * The server died in succeed(). The rest of the older buffer is freed with all that is not
	 * restored.
	 */
	if (b && ib->next[which] && ib->buffers[which] && ib->buffers[which] != ref)
		buffer_save_books(s, ib->buffers[which], ref);
	if (b)
		buffer_drop_finish(s, b);
	err = b ? buffer_book_restore(s, ref) : -EPROTO;
	if (!err)
		err = session_data_restore(s, b->buffer, buffer_bytes(s));
	if (!err)
		err = buffer_restore_one(s, b, ref);
	if (err)
		return err;
	session_publish(s, word_of(s, instance, which), b->buffer);
	store(&ib->buffers[which], ref);
	store(&ib->next[which], 0);
	return 0;
}

/* Calls fn for every ring of a CPU (cpu -1: of all CPUs). */
void ring_each(struct session *s, data_ref buffer, int cpu,
	       void (*fn)(struct ring_view *v, void *arg), void *arg)
{
	const struct buffer_book *b = buffer_book(s, buffer);
	struct ring_view v;

	if (!b)
		return;
	for (uint32_t set = 0; set < b->nr_sets; set++)
		for (uint32_t c = 0; c < ring_cpus(s); c++)
			if ((cpu < 0 || (uint32_t)cpu == c) && ring_view(s, b, set, c, &v))
				fn(&v, arg);
}

/*
 * How much lies before pos: the tail has the records, the page's descriptor and pos give the bytes.
 */
static struct ring_point point_at(const struct ring_view *v, uint64_t head)
{
	const struct ring_tail tail = *(volatile struct ring_tail *)&v->ring->tail[head & 1];
	struct ring_point at = { .pos = head >> 1, .entries = tail.entries, .time = tail.time };
	const struct page_desc *d;

	if (at.pos) {
		d = &v->descs[(at.pos - 1) / v->subbuf_size % v->nr_pages];
		/*
		 * Relaxed: it was stored before head (G3), and the second look in ring_head()
		 * checks it.
		 */
		at.bytes = atomic_load_explicit(&d->bytes, memory_order_relaxed) +
			   (at.pos - 1) % v->subbuf_size + 1 - RING_PAGE_HEADER;
	}
	return at;
}

struct ring_point ring_head(const struct ring_view *v)
{
	struct ring_point at;
	uint64_t head;
	int tries = HEAD_TRIES;		/* if the head changes each time, this is not a real ring */

	do {
		/* G3. Pairs with the releases in plane/ring/ring.c. */
		head = atomic_load_explicit(&v->ring->head, memory_order_acquire);
		at = point_at(v, head);
		/* The copy comes before the second load of head */
		atomic_thread_fence(memory_order_acquire);
	} while (atomic_load_explicit(&v->ring->head, memory_order_relaxed) != head && --tries);
	return at;
}

struct stats_sum {
	struct ring_stats *stats;
	int		err;
};

static void add_entries(const struct ring_view *v, const struct ring_point *head,
			struct stats_sum *to)
{
	struct ring_stats *sum = to->stats;
	const struct ring_book *r = v->book;
	struct ring_point oldest;
	int found = ring_oldest(v, &oldest);

	if (found < 0)
		to->err = found;
	/* Hits may have overwritten all up to `head` meanwhile. */
	if (found <= 0 || oldest.entries > head->entries)
		oldest = *head;
	sum->entries += head->entries - oldest.entries;
	sum->bytes += head->bytes - oldest.bytes;
	/* Records that are neither in the ring nor read were overrun. */
	if (oldest.entries - r->floor_entries > r->taken_entries)
		sum->overrun += oldest.entries - r->floor_entries - r->taken_entries;
	sum->read += r->taken_entries;
	if (oldest.time && head->entries > oldest.entries &&
	    (!sum->oldest_ts || oldest.time < sum->oldest_ts))
		sum->oldest_ts = oldest.time;
}

/* `stats_sum`: what the ring has counted until the very moment of its clearing. */
static void clear_ring(struct ring_view *v, void *stats_sum)
{
	struct stats_sum *sum = stats_sum;
	struct ring_book *r = v->book;
	struct ring_point at = ring_head(v);

	add_entries(v, &at, sum);
	r->floor_entries = at.entries;
	r->taken_entries = r->taken_bytes = r->overrun = 0;
	r->floor = r->taken = at.pos;
	/* Relaxed: a count that writers raise. */
	sum->stats->dropped +=
		atomic_exchange_explicit(&v->ring->dropped, 0, memory_order_relaxed);
	atomic_store_explicit(&v->ring->taken, at.pos, memory_order_relaxed);	/* Both: B2 */
	atomic_store_explicit(&v->ring->floor, at.pos, memory_order_relaxed);
}

static void add_left_out(const struct left_out *o, struct ring_stats *to)
{
	to->overrun += o->overrun;
	to->dropped += o->dropped;
	to->read += o->read;
}

static bool is_live(struct session *s, const struct buffer_book *b, data_ref buffer)
{
	const struct instance_state *inst = plane_instance(&s->plane, b->instance);
	/* Relaxed: hits may exchange the buffers at any time. */
	const uint32_t live = atomic_load_explicit(&inst->live, memory_order_relaxed) & 1;

	return buffer_published(s, b->instance, live) == buffer;
}

static void count_cleared(struct session *s, const struct ring_stats *st)
{
	struct cleared_records *c = &session_header(s)->cleared;

	c->entries += st->entries;
	c->overrun += st->overrun;
	c->dropped += st->dropped;
	c->read += st->read;
}

void buffer_clear(struct session *s, data_ref buffer, int cpu)
{
	struct buffer_book *b = buffer_book(s, buffer);
	struct ring_stats st = { 0 };
	struct stats_sum sum = { .stats = &st };

	ring_each(s, buffer, cpu, clear_ring, &sum);
	for (uint32_t c = 0; b && c < ring_cpus(s); c++)
		if (cpu < 0 || (uint32_t)cpu == c) {
			add_left_out(&b->left_out[c], &st);
			b->left_out[c] = (struct left_out){ 0 };
		}
	if (b && is_live(s, b, buffer))
		count_cleared(s, &st);
}

void buffer_set_overwrite(struct session *s, data_ref buffer, bool on)
{
	struct buffer *hits = hits_of(s, buffer_book(s, buffer));

	if (hits)
		atomic_store_explicit(&hits->overwrite, on, memory_order_relaxed);	/* B2 */
}

static void set_recording(struct ring_view *v, void *arg)
{
	atomic_store_explicit(&v->ring->disabled, !*(bool *)arg, memory_order_relaxed);	/* B2 */
}

void buffer_set_cpu_recording(struct session *s, data_ref buffer, uint32_t cpu, bool on)
{
	ring_each(s, buffer, (int)cpu, set_recording, &on);
	session_settings_changed(s);
}

static void add_stats(struct ring_view *v, void *stats_sum)
{
	const struct ring_point head = ring_head(v);
	struct stats_sum *sum = stats_sum;

	add_entries(v, &head, sum);
	/* Relaxed: a count. */
	sum->stats->dropped += atomic_load_explicit(&v->ring->dropped, memory_order_relaxed);
}

void ring_leave_out(struct session *s, config_ref ring, struct left_out *to)
{
	struct ring_stats st = { 0 };
	struct stats_sum sum = { .stats = &st };
	struct ring_view v;

	if (!ring_view_of(s, ring, &v))
		return;
	add_stats(&v, &sum);
	to->overrun += st.entries + st.overrun;
	to->dropped += st.dropped;
	to->read += st.read;
}

int buffer_stats(struct session *s, data_ref buffer, uint32_t cpu, struct ring_stats *out)
{
	const struct buffer_book *b = buffer_book(s, buffer);
	struct stats_sum sum = { .stats = out };

	*out = (struct ring_stats){ 0 };
	if (!b || cpu >= ring_cpus(s))
		return -EINVAL;
	ring_keep_limits(s, buffer);
	ring_each(s, buffer, (int)cpu, add_stats, &sum);
	add_left_out(&b->left_out[cpu], out);
	return sum.err;
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
