/* SPDX-License-Identifier: MIT */
/*
 * keep.c - which rings stay when a buffer changes: resize, swap of one CPU
 *
 * A resized buffer takes over the old one's rings, as sets without a writer. Their records count
 * against the size of the ring that succeeded them. Records for which there is no room lie before
 * `limit` and count as overrun. What the oldest rings have counted, for which there is no place,
 * goes on in `left_out`.
 *
 * K1  Hits see the old buffer until the new one is published, and write into its rings until then.
 *     So a ring for which there is no place stays with the old buffer and is freed with it. No hit
 *     uses the sets of older rings (RING_SET_KEPT).
 *
 * K2  A ring that was taken over goes when it has no record that can be read. No hit writes into it
 *     any more once nothing is in limbo, where the buffer was that hits had found it in. What the
 *     ring has counted and its place are in the book before anything changes, so the next server
 *     does the same again.
 */
#include <errno.h>
#include "plane/ring/ring.h"
#include "session/ring/access.h"
#include "session/state.h"

static uint64_t bytes_of(const struct ring_view *v)
{
	uint64_t head = ring_head(v).pos, start = ring_start(v),
		 first = ring_first_page(v) * v->subbuf_size;

	if (first > start)
		start = first;
	return head > start ? head - start : 0;
}

/* Whether the ring has lost records. Older records in another ring would then leave a gap. */
static bool has_overrun(const struct ring_view *v)
{
	return ring_first_page(v) * v->subbuf_size > ring_start(v);
}

/* How much room the ring that is written now leaves to the rings before it. */
static uint64_t room_beside(struct session *s, const struct buffer_book *b, uint32_t set,
			    uint32_t cpu)
{
	struct ring_view v;
	uint64_t size, used;

	if (!ring_view(s, b, set, cpu, &v) || has_overrun(&v))
		return 0;
	size = (uint64_t)(v.nr_pages - 1) * v.subbuf_size;
	used = bytes_of(&v);
	return size > used ? size - used : 0;
}

static void limit_to(const struct ring_view *v, uint64_t room)
{
	uint64_t head = ring_head(v).pos;

	if (bytes_of(v) > room)
		v->book->limit = head - room;
}

void ring_keep_limits(struct session *s, data_ref buffer)
{
	const struct buffer_book *b = buffer_book(s, buffer);
	struct ring_view v, newer;

	if (!b || b->nr_sets <= RING_SET_KEPT)
		return;
	for (uint32_t cpu = 0; cpu < ring_cpus(s); cpu++)
		for (uint32_t set = RING_SET_LEASES; set-- > RING_SET_KEPT;) {
			uint64_t room;

			if (!ring_view(s, b, set, cpu, &v))
				continue;
			room = room_beside(s, b, v.book->set, cpu);
			for (uint32_t k = set + 1; k < RING_SET_LEASES; k++)
				if (ring_view(s, b, k, cpu, &newer) &&
				    newer.book->set == v.book->set)
					room = has_overrun(&newer) || bytes_of(&newer) > room ? 0 :
					       room - bytes_of(&newer);
			limit_to(&v, room);
		}
}

/* The rings of one CPU that have records, the oldest first. */
struct line {
	config_ref	rings[BUFFER_MAX_SETS];
	uint32_t	nr;
};

/* Leases come last, because they have many rings. Within a kind of set, the order is by age. */
static void line_up(struct session *s, const struct buffer_book *b, uint32_t cpu, struct line *out)
{
	static const uint32_t order[][2] = {
		{ RING_SET_KEPT, RING_SET_LEASES },
		{ 0, RING_SET_KEPT },
		{ RING_SET_LEASES, BUFFER_MAX_SETS },
	};
	struct ring_view v;

	out->nr = 0;
	for (unsigned int i = 0; i < 3; i++)
		for (uint32_t set = order[i][0]; set < order[i][1] && set < b->nr_sets; set++)
			/* An unused ring is freed with its buffer. */
			if (ring_view(s, b, set, cpu, &v) && ring_head(&v).pos)
				out->rings[out->nr++] = ring_ref_at(s, b, set, cpu);
}

static void hand_on(struct session *s, struct buffer_book *to, config_ref owner, uint32_t set,
		    uint32_t cpu, config_ref ring)
{
	struct ring_book *r = session_config(s, ring, sizeof(*r));

	r->owner = owner;
	ring_note(s, to, set, cpu, ring);
	ring_tell(s, to, set, cpu);
}

static void keep_cpu(struct session *s, const struct buffer_book *from, struct buffer_book *to,
		     config_ref owner, uint32_t cpu)
{
	enum { PLACES = RING_SET_LEASES - RING_SET_KEPT };
	struct left_out left_out = from->left_out[cpu];
	struct line line;
	uint32_t i = 0;

	line_up(s, from, cpu, &line);
	for (; line.nr - i > PLACES; i++)
		ring_leave_out(s, line.rings[i], &left_out);
	to->left_out[cpu] = left_out;
	for (uint32_t set = RING_SET_KEPT; i < line.nr; i++, set++)
		hand_on(s, to, owner, set, cpu, line.rings[i]);
}

int buffer_save_books(struct session *s, config_ref from, config_ref to)
{
	const struct buffer_book *a = session_config(s, from, sizeof(*a));
	struct buffer_book *b = session_config(s, to, sizeof(*b));
	int err = a && b && a->subbuf_size == b->subbuf_size ? 0 : -EINVAL;

	for (uint32_t set = RING_SET_KEPT; !err && set < RING_SET_LEASES; set++)
		err = ring_set_room(s, b, set);
	for (uint32_t cpu = 0; !err && cpu < ring_cpus(s); cpu++)
		keep_cpu(s, a, b, to, cpu);
	if (!err)
		ring_keep_limits(s, b->buffer);
	return err;
}

int buffer_keep(struct session *s, data_ref from, data_ref to)
{
	return buffer_save_books(s, buffer_book_ref(s, from), buffer_book_ref(s, to));
}

void buffer_drop_finish(struct session *s, struct buffer_book *b)
{
	const uint32_t set = b->leaving_set, cpu = b->leaving_cpu;

	if (!set || cpu >= ring_cpus(s))
		return;
	b->left_out[cpu] = b->leaving;
	ring_note(s, b, set, cpu, 0);
	ring_tell(s, b, set, cpu);
	/* K2. Release: as in leave(). */
	__atomic_store_n(&b->leaving_set, 0, __ATOMIC_RELEASE);
}

static void leave(struct session *s, struct buffer_book *b, uint32_t set, uint32_t cpu)
{
	const config_ref ring = ring_ref_at(s, b, set, cpu);

	b->leaving = b->left_out[cpu];
	ring_leave_out(s, ring, &b->leaving);
	b->leaving_cpu = cpu;
	/* K2. Release: pairs with buffer_drop_finish() of the next server. */
	__atomic_store_n(&b->leaving_set, set, __ATOMIC_RELEASE);
	buffer_drop_finish(s, b);
	ring_retire(s, ring);
}

/* K0: the buffer's own. */
static bool is_spent(struct session *s, const struct buffer_book *b, config_ref owner, uint32_t set,
		     uint32_t cpu)
{
	struct ring_view v;

	return ring_view(s, b, set, cpu, &v) && v.book->owner == owner && !bytes_of(&v);
}

bool buffer_drop_kept(struct session *s, data_ref buffer)
{
	const config_ref owner = buffer_book_ref(s, buffer);
	struct buffer_book *b = buffer_book(s, buffer);
	bool dropped = false;

	if (!b || b->nr_sets <= RING_SET_KEPT || s->limbo.nr || s->holds)
		return false;
	ring_keep_limits(s, buffer);
	for (uint32_t set = RING_SET_KEPT; set < RING_SET_LEASES; set++)
		for (uint32_t cpu = 0; cpu < ring_cpus(s); cpu++)
			if (is_spent(s, b, owner, set, cpu)) {
				leave(s, b, set, cpu);
				dropped = true;
			}
	if (dropped)
		buffer_renumber(s, buffer);
	return dropped;
}

/* Both buffers name the rings meanwhile. The book stored last in `owner` owns them (K0). */
static void swap_set(struct session *s, struct buffer_book *a, struct buffer_book *b,
		     config_ref owners[2], uint32_t set, uint32_t cpu)
{
	const config_ref mine = ring_ref_at(s, a, set, cpu), other = ring_ref_at(s, b, set, cpu);
	struct ring_book *r;

	ring_note(s, a, set, cpu, other);
	ring_note(s, b, set, cpu, mine);
	r = session_config(s, mine, sizeof(*r));
	if (r)
		r->owner = owners[1];
	r = session_config(s, other, sizeof(*r));
	if (r)
		r->owner = owners[0];
	/* A hit that is already on its way still writes into the old ring. */
	ring_tell(s, a, set, cpu);
	ring_tell(s, b, set, cpu);
}

int buffer_swap_cpu(struct session *s, data_ref live, data_ref snapshot, uint32_t cpu)
{
	config_ref owners[2] = { buffer_book_ref(s, live), buffer_book_ref(s, snapshot) };
	struct buffer_book *a = buffer_book(s, live), *b = buffer_book(s, snapshot);
	struct left_out left_out;
	uint32_t sets;

	if (!a || !b || cpu >= ring_cpus(s) || a->subbuf_size != b->subbuf_size)
		return -EINVAL;
	sets = a->nr_sets > b->nr_sets ? a->nr_sets : b->nr_sets;
	for (uint32_t set = 0; set < sets; set++)
		if ((a->sets[set] || b->sets[set]) &&
		    (ring_set_room(s, a, set) || ring_set_room(s, b, set)))
			return -ENOMEM;
	for (uint32_t set = 0; set < sets; set++)
		swap_set(s, a, b, owners, set, cpu);
	left_out = a->left_out[cpu];
	a->left_out[cpu] = b->left_out[cpu];
	b->left_out[cpu] = left_out;
	/* Nothing is retired, but programs remember rings (agent/emit/way.c, W1). */
	atomic_fetch_add_explicit(&s->header->epoch, 1, memory_order_seq_cst);
	return 0;
}
