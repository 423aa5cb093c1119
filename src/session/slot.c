/* SPDX-License-Identifier: MIT */
/*
 * slot.c - thread slots: who has which, and their scratch memory
 *
 * slot_process[] in the server's memory is what counts; slot.process in the
 * data region is a copy for the next server, which reads it when this one is
 * dead (processes_restore()). What a program sees of a slot before it is the
 * slot's owner came with the server's answer on the socket, so the stores of
 * slot_prepare() are relaxed.
 */
#include <errno.h>
#include <stdlib.h>
#include "plane/arch/ring_commit.h"
#include "plane/ring.h"
#include "session/state.h"

enum { SCRATCH_BYTES = sizeof(struct hit_scratch) * LAYOUT_HIT_LEVELS };

int slots_create(struct session *s, bool fresh)
{
	s->nr_slots = s->header->nr_slots;
	s->slot_process = calloc(s->nr_slots, sizeof(*s->slot_process));
	if (!s->slot_process)
		return -ENOMEM;
	for (uint32_t i = 0; fresh && i < s->nr_slots; i++)
		plane_slot(&s->plane, i)->index = i;
	return 0;
}

void slots_destroy(struct session *s)
{
	free(s->slot_process);
	s->slot_process = NULL;
}

/* Who was killed while it waited does not wait any more. */
static void waiter_forget(struct session *s, uint32_t index)
{
	struct program_tables *tables = session_data(s, s->header->programs, sizeof(*tables));

	if (!tables || index >= LAYOUT_MAX_SLOTS)
		return;
	/* Relaxed: whoever still finds it wakes nobody. */
	atomic_store_explicit(&tables->waiters[index].addr, 0, memory_order_relaxed);
	atomic_store_explicit(&tables->waiters[index].mark_state, MARK_NONE, memory_order_relaxed);
}

/* Nobody runs on it any more: ready for the next thread. */
void slot_recycle(struct session *s, uint32_t index)
{
	struct slot *slot = plane_slot(&s->plane, index);

	waiter_forget(s, index);
	/* Relaxed: in front of the release of owner. */
	atomic_store_explicit(&slot->depth, 0, memory_order_relaxed);
	atomic_store_explicit(&slot->process, 0, memory_order_relaxed);
	/* The lease itself stays with the slot, what the dead thread wished does not. */
	atomic_fetch_and_explicit(&slot->lease, UINT32_MAX, memory_order_relaxed);
	/* Pairs with the acquire of the next owner (agent/thread.c). */
	atomic_store_explicit(&slot->owner, 0, memory_order_release);
	s->slot_process[index] = SLOT_FREE;
}

/* Scratch memory stays with a slot once it has some; what the region says is not believed. */
static int slot_prepare(struct session *s, uint32_t index, uint32_t process)
{
	struct slot *slot = plane_slot(&s->plane, index);

	if (!slot->scratch || !region_at(&s->data, slot->scratch, SCRATCH_BYTES)) {
		slot->scratch = session_data_alloc(s, SCRATCH_BYTES);
		if (!slot->scratch)
			return -ENOMEM;
	}
	slot->index = index;
	/* Relaxed: the server's answer on the socket comes behind them. */
	atomic_store_explicit(&slot->depth, 0, memory_order_relaxed);
	atomic_store_explicit(&slot->owner, 0, memory_order_relaxed);
	atomic_store_explicit(&slot->process, process, memory_order_relaxed);
	s->slot_process[index] = process;
	return 0;
}

unsigned int slots_give(struct session *s, uint32_t process, unsigned int nr, uint32_t *out)
{
	unsigned int given = 0;

	for (uint32_t i = 0; i < s->nr_slots && given < nr; i++) {
		if (s->slot_process[i] != SLOT_FREE)
			continue;
		if (slot_prepare(s, i, process))
			break;
		out[given++] = i;
	}
	return given;
}

void slots_take_back(struct session *s, uint32_t process)
{
	for (uint32_t i = 0; i < s->nr_slots; i++)
		if (s->slot_process[i] == process)
			slot_recycle(s, i);
}

struct slot *session_slot_get(struct session *s)
{
	uint32_t index;

	if (!slots_give(s, SLOT_SERVER, 1, &index))
		return NULL;
	/* Relaxed: no program looks at a slot of the server's. */
	atomic_store_explicit(&plane_slot(&s->plane, index)->owner, 1, memory_order_relaxed);
	if (rseq_cpu() < 0)
		ring_lease_give(s, index);	/* without one its hits are counted as missed */
	return plane_slot(&s->plane, index);
}

void session_slot_put(struct session *s, struct slot *slot)
{
	uint32_t index = (uint32_t)(slot - plane_slot(&s->plane, 0));

	if (index < s->nr_slots && s->slot_process[index] == SLOT_SERVER)
		slot_recycle(s, index);
}
