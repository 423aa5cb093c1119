/* SPDX-License-Identifier: MIT */
/*
 * lease.c - private rings for threads that have no restartable sequences (R12)
 *
 * A lease is LAYOUT_HIT_LEVELS writer sets, one for the thread and one for each nested signal
 * handler, so each ring has one writer, and no handler writes into a ring whose writer it
 * interrupted. A lease stays with its slot: a record that a dead thread did not commit does not
 * exist (G1), so the slot's next owner simply continues. When all leases are given, a slot takes
 * that of a free slot in the same way.
 */
#include <errno.h>
#include <stdlib.h>
#include "plane/ring/ring.h"
#include "plane/arch/ring_commit.h"
#include "session/ring/access.h"
#include "session/state.h"

enum { LEASE_BYTES = 256 << 10, HANDLER_PAGES = 2 };

static uint32_t lease_of(struct session *s, uint32_t slot)
{
	return slot_book(s, slot)->lease;
}

/* Adds the rings of one lease to one buffer. They are no larger than the user wants rings to be. */
static int add_lease(struct session *s, data_ref buffer, uint32_t lease,
		     const uint64_t *bytes_per_cpu)
{
	const struct buffer_book *b = buffer_book(s, buffer);
	uint64_t *bytes = b ? calloc(ring_cpus(s), sizeof(*bytes)) : NULL;
	int err = 0;

	if (!bytes)
		return -ENOMEM;
	for (uint32_t level = 0; level < LAYOUT_HIT_LEVELS && !err; level++) {
		uint64_t most = level ? (uint64_t)HANDLER_PAGES * b->subbuf_size : LEASE_BYTES;

		for (uint32_t cpu = 0; cpu < ring_cpus(s); cpu++)
			bytes[cpu] = bytes_per_cpu[cpu] < most ? bytes_per_cpu[cpu] : most;
		err = buffer_add_set(s, buffer,
				     RING_SET_LEASES + (lease - 1) * LAYOUT_HIT_LEVELS + level,
				     bytes);
	}
	free(bytes);
	return err;
}

int ring_leases_add(struct session *s, data_ref buffer, const uint64_t *bytes_per_cpu)
{
	int err = 0;

	for (uint32_t i = 0; i < slots_end(s) && !err; i++) {
		uint32_t lease = lease_of(s, i);

		if (lease)
			err = add_lease(s, buffer, lease, bytes_per_cpu);
	}
	return err;
}

/* With rings of the size that the CPUs' rings have there. */
static int add_lease_to(struct session *s, data_ref buffer, uint32_t lease)
{
	const struct buffer_book *b = buffer_book(s, buffer);
	uint64_t *bytes;
	struct ring_view v;
	int err;

	if (!b)
		return 0;
	bytes = calloc(ring_cpus(s), sizeof(*bytes));
	if (!bytes)
		return -ENOMEM;
	for (uint32_t cpu = 0; cpu < ring_cpus(s); cpu++)
		if (ring_view(s, b, 0, cpu, &v))
			bytes[cpu] = (uint64_t)(v.nr_pages - 1) * v.subbuf_size;
	err = add_lease(s, buffer, lease, bytes);
	free(bytes);
	return err;
}

/*
 * The lease of a slot that nobody has: what it wrote goes on in another one. It is taken away
 * before it is given: if the server dies in between, no slot has it. 0: there is none.
 */
static uint32_t lease_take_back(struct session *s)
{
	for (uint32_t i = 0; i < slots_end(s); i++) {
		uint32_t lease = lease_of(s, i);

		if (!lease || s->slot_process[i] != SLOT_FREE)
			continue;
		/* Relaxed: it is stored before the slot is given. */
		atomic_store_explicit(&plane_slot(&s->plane, i)->lease, 0, memory_order_relaxed);
		slot_book(s, i)->lease = 0;
		return lease;
	}
	return 0;
}

/* The lowest number that no slot has, or that of a free slot; 0: none is left. */
static uint32_t lease_free(struct session *s)
{
	bool given[RING_MAX_LEASES + 1] = { true };

	for (uint32_t i = 0; i < slots_end(s); i++)
		given[lease_of(s, i)] = true;
	for (uint32_t lease = 1; lease <= RING_MAX_LEASES; lease++)
		if (!given[lease])
			return lease;
	return lease_take_back(s);
}

int ring_lease_give(struct session *s, uint32_t index)
{
	struct slot *slot = plane_slot(&s->plane, index);
	uint32_t lease = lease_of(s, index) ? lease_of(s, index) : lease_free(s);
	/* Relaxed: the thread itself has stored it. */
	uint64_t only = atomic_load_explicit(&slot->lease, memory_order_relaxed) & RING_LEASE_ONLY;

	if (!lease)
		return -ENOSPC;
	for (uint32_t i = 0; i < LAYOUT_MAX_INSTANCES; i++) {
		for (uint32_t k = 0; k < 2; k++) {
			data_ref buffer = buffer_published(s, i, k);
			int err = buffer ? add_lease_to(s, buffer, lease) : 0;

			if (err)
				return err;
		}
	}
	slot_book(s, index)->lease = lease;
	/*
	 * Release: the rings are made. Pairs with the acquires in lease_await() and lease_take() of
	 * agent/thread/thread.c.
	 */
	atomic_store_explicit(&slot->lease, lease | only, memory_order_release);
	return 0;
}

void ring_leases_serve(struct session *s)
{
	for (uint32_t i = 0; i < slots_end(s); i++) {
		struct slot *slot = plane_slot(&s->plane, i);

		/*
		 * Acquire: pairs with the release in lease_await() of agent/thread/thread.c. A
		 * lease that is refused now is tried again later.
		 */
		if (s->slot_process[i] != SLOT_FREE &&
		    (atomic_load_explicit(&slot->lease, memory_order_acquire) &
		     RING_LEASE_WANTED) &&
		    ring_lease_give(s, i) == -ENOSPC)
			return;
	}
}
