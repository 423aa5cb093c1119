/* SPDX-License-Identifier: MIT */
/*
 * ring_keep.c - what stays when the rings of a buffer change: resize, swap of one CPU
 *
 * A resized buffer takes the old one's rings over as sets that nobody writes
 * any more. They count against the size of the ring that succeeded them: what
 * is beyond it lies before `limit` and counts as overrun.
 *
 * K1  No hit looks at the words of kept sets, and a buffer that gets some is not
 *     published yet: relaxed.
 * K2  nr_sets and limit are the server's alone: relaxed, as is its own look at a
 *     word that nobody else stores.
 */
#include <errno.h>
#include "plane/ring.h"
#include "session/ring_access.h"
#include "session/state.h"

static _Atomic data_ref *ring_word(struct session *s, struct buffer *b, uint32_t set, uint32_t cpu)
{
	return &b->rings[(size_t)set * ring_cpus(s) + cpu];
}

static uint64_t bytes_of(const struct ring_view *v)
{
	uint64_t head = ring_head(v).pos, start = ring_start(v), first = ring_first_page(v) * v->subbuf_size;

	if (first > start)
		start = first;
	return head > start ? head - start : 0;
}

/* It has lost records: what is older than they would be a gap. */
static bool has_overrun(const struct ring_view *v)
{
	return ring_first_page(v) * v->subbuf_size > ring_start(v);
}

/* What the ring that writes now leaves to those that it succeeded. */
static uint64_t room_beside(struct session *s, data_ref buffer, const struct ring *kept, uint32_t cpu)
{
	struct ring_view v;
	uint64_t size, used;

	if (!ring_view(s, buffer, kept->set, cpu, &v) || has_overrun(&v))
		return 0;
	size = (uint64_t)(v.nr_pages - 1) * v.subbuf_size;
	used = bytes_of(&v);
	return size > used ? size - used : 0;
}

static void limit_to(const struct ring_view *v, uint64_t room)
{
	uint64_t head = ring_head(v).pos;

	if (bytes_of(v) > room)
		atomic_store_explicit(&v->ring->limit, head - room, memory_order_relaxed);	/* K2 */
}

void ring_keep_limits(struct session *s, data_ref buffer)
{
	struct buffer *b = ring_buffer(s, buffer);
	struct ring_view v, newer;

	if (!b || ring_sets(b) <= RING_SET_KEPT)
		return;
	for (uint32_t cpu = 0; cpu < ring_cpus(s); cpu++)
		for (uint32_t set = RING_SET_LEASES; set-- > RING_SET_KEPT;) {
			uint64_t room;

			if (!ring_view(s, buffer, set, cpu, &v))
				continue;
			room = room_beside(s, buffer, v.ring, cpu);
			for (uint32_t k = set + 1; k < RING_SET_LEASES; k++)
				if (ring_view(s, buffer, k, cpu, &newer) && newer.ring->set == v.ring->set)
					room = has_overrun(&newer) || bytes_of(&newer) > room ? 0 :
					       room - bytes_of(&newer);
			limit_to(&v, room);
		}
}

/* Puts a ring behind those kept already; when there is no place the oldest goes. */
static void keep(struct session *s, struct buffer *to, uint32_t cpu, data_ref ring)
{
	data_ref oldest;
	uint32_t set;

	for (set = RING_SET_KEPT; set < RING_SET_LEASES; set++)
		if (!atomic_load_explicit(ring_word(s, to, set, cpu), memory_order_relaxed))	/* K1 */
			break;
	if (set == RING_SET_LEASES) {
		oldest = atomic_load_explicit(ring_word(s, to, RING_SET_KEPT, cpu), memory_order_relaxed);
		ring_retire(s, oldest);
		for (set = RING_SET_KEPT; set + 1 < RING_SET_LEASES; set++)
			atomic_store_explicit(ring_word(s, to, set, cpu),
					      atomic_load_explicit(ring_word(s, to, set + 1, cpu), memory_order_relaxed),
					      memory_order_relaxed);	/* K1 */
	}
	atomic_store_explicit(ring_word(s, to, set, cpu), ring, memory_order_relaxed);	/* K1: not published yet */
	if (ring_sets(to) <= set)
		atomic_store_explicit(&to->nr_sets, set + 1, memory_order_relaxed);	/* K2 */
}

/* Leases last: their rings are many, and the order among sets of one kind is that of age. */
int buffer_keep(struct session *s, data_ref from, data_ref to)
{
	static const uint32_t order[][2] = {
		{ RING_SET_KEPT, RING_SET_LEASES }, { 0, RING_SET_KEPT }, { RING_SET_LEASES, BUFFER_MAX_SETS },
	};
	struct buffer *a = ring_buffer(s, from), *b = ring_buffer(s, to);
	struct ring_view v;

	if (!a || !b || a->subbuf_size != b->subbuf_size)
		return -EINVAL;
	for (unsigned int i = 0; i < 3; i++)
		for (uint32_t set = order[i][0]; set < order[i][1] && set < ring_sets(a); set++)
			for (uint32_t cpu = 0; cpu < ring_cpus(s); cpu++) {
				/* An unused ring goes with its buffer. */
				if (!ring_view(s, from, set, cpu, &v) || !ring_head(&v).pos)
					continue;
				/* K2 */
				keep(s, b, cpu, atomic_load_explicit(ring_word(s, a, set, cpu), memory_order_relaxed));
				if (i)
					v.ring->kept = 1;
				else
					/* K1: a kept set, no hit looks here. */
					atomic_store_explicit(ring_word(s, a, set, cpu), 0, memory_order_relaxed);
			}
	ring_keep_limits(s, to);
	return 0;
}

int buffer_swap_cpu(struct session *s, data_ref live, data_ref snapshot, uint32_t cpu)
{
	struct buffer *a = ring_buffer(s, live), *b = ring_buffer(s, snapshot);
	uint32_t sets;

	if (!a || !b || cpu >= ring_cpus(s) || a->subbuf_size != b->subbuf_size)
		return -EINVAL;
	sets = ring_sets(a) > ring_sets(b) ? ring_sets(a) : ring_sets(b);
	/* First: the next server, should this one die here, has to find all that hits do. */
	atomic_store_explicit(&a->nr_sets, sets, memory_order_relaxed);	/* K2 */
	atomic_store_explicit(&b->nr_sets, sets, memory_order_relaxed);
	for (uint32_t set = 0; set < sets; set++) {
		/* Relaxed: the server alone stores them. */
		data_ref mine = atomic_load_explicit(ring_word(s, a, set, cpu), memory_order_relaxed);
		data_ref other = atomic_load_explicit(ring_word(s, b, set, cpu), memory_order_relaxed);

		/* Pairs with the acquire in ring_of(): a hit that is on its way still ends in the old one. */
		atomic_store_explicit(ring_word(s, a, set, cpu), other, memory_order_release);
		atomic_store_explicit(ring_word(s, b, set, cpu), mine, memory_order_release);
	}
	/* Nothing is retired, but programs remember the rings (agent/way.c, W1). */
	atomic_fetch_add_explicit(&s->header->epoch, 1, memory_order_seq_cst);
	return 0;
}
