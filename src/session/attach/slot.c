/* SPDX-License-Identifier: MIT */
/*
 * slot.c - thread slots: which process has which slot, and their scratch memory
 *
 * slot_process[] in the server's memory decides. The slot's book has a copy of it for the next
 * server (processes_restore()), and the place of the scratch memory. A program reads a slot only
 * after the server's answer on the socket, so the stores of slot_prepare() are relaxed.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include "plane/arch/ring_commit.h"
#include "plane/ring/ring.h"
#include "session/state.h"

enum { SCRATCH_BYTES = sizeof(struct hit_scratch) * LAYOUT_HIT_LEVELS };

uint32_t slots_end(const struct session *s)
{
	/* Relaxed: only the server stores it. */
	return atomic_load_explicit(&s->header->slots_high, memory_order_relaxed);
}

/* The process of a number in slot_process[]. NULL: none, or the server itself. */
static struct process *slot_owner(struct session *s, uint32_t process)
{
	return process && process <= LAYOUT_MAX_PROCESSES ? &s->processes[process - 1] : NULL;
}

struct slot_book *slot_book(struct session *s, uint32_t index)
{
	return (struct slot_book *)(s->config.base + s->header->slot_books) + index;
}

void slot_assign(struct session *s, uint32_t index, uint32_t process)
{
	struct process *old = slot_owner(s, s->slot_process[index]), *new = slot_owner(s, process);

	if (old)
		old->nr_slots--;
	if (new)
		new->nr_slots++;
	s->slot_process[index] = process;
	slot_book(s, index)->process = process == SLOT_SERVER ? 0 : process;
}

int slots_create(struct session *s)
{
	s->nr_slots = s->header->nr_slots;
	s->slot_process = calloc(s->nr_slots, sizeof(*s->slot_process));
	return s->slot_process ? 0 : -ENOMEM;
}

void slots_destroy(struct session *s)
{
	free(s->slot_process);
	s->slot_process = NULL;
}

/* A thread that was killed while it waited no longer waits. */
static void waiter_forget(struct session *s, uint32_t index)
{
	struct program_tables *tables = session_data(s, s->header->programs, sizeof(*tables));

	if (!tables || index >= LAYOUT_MAX_SLOTS)
		return;
	/* Relaxed: a thread that still sees the waiter wakes no thread. */
	atomic_store_explicit(&tables->waiters[index].addr, 0, memory_order_relaxed);
	atomic_store_explicit(&tables->waiters[index].mark_state, MARK_NONE, memory_order_relaxed);
}

/* No thread runs on the slot any more. Makes it ready for the next thread. */
void slot_recycle(struct session *s, uint32_t index)
{
	struct slot *slot = plane_slot(&s->plane, index);

	waiter_forget(s, index);
	/* Relaxed: stored before the release of owner. */
	atomic_store_explicit(&slot->depth, 0, memory_order_relaxed);
	atomic_store_explicit(&slot->process, 0, memory_order_relaxed);
	/* The lease stays with the slot. A request of the dead thread does not. */
	atomic_store_explicit(&slot->lease, slot_book(s, index)->lease, memory_order_relaxed);
	/*
	 * Release: pairs with the acquire of the next owner, in slot_claim() of
	 * agent/thread/thread.c.
	 */
	atomic_store_explicit(&slot->owner, 0, memory_order_release);
	slot_assign(s, index, SLOT_FREE);
}

/* Gives a slot memory, for itself and for its waiter, when it is given for the first time. */
static int slot_back(struct session *s, uint32_t index)
{
	const struct config_header *h = s->header;
	uint64_t waiter = h->programs + offsetof(struct program_tables, waiters) +
			  index * sizeof(struct waiter);
	int err =
		region_keep(&s->data, h->slots + index * sizeof(struct slot), sizeof(struct slot));

	if (!err)
		err = region_keep(&s->data, waiter, sizeof(struct waiter));
	if (!err)
		/* Relaxed: only the next server reads it, when this one is dead. */
		atomic_store_explicit(&s->header->slots_high, index + 1, memory_order_relaxed);
	return err;
}

/* A slot keeps its scratch memory once it has some. */
static int slot_prepare(struct session *s, uint32_t index, uint32_t process)
{
	struct slot *slot = plane_slot(&s->plane, index);
	struct slot_book *b = slot_book(s, index);
	int err = index >= slots_end(s) ? slot_back(s, index) : 0;

	if (err)
		return err;
	if (!b->scratch)
		b->scratch = session_data_alloc(s, SCRATCH_BYTES);
	if (!b->scratch)
		return -ENOMEM;
	slot->scratch = b->scratch;
	slot->index = index;
	/* Relaxed: the process reads the slot after the server's answer on the socket. */
	atomic_store_explicit(&slot->depth, 0, memory_order_relaxed);
	atomic_store_explicit(&slot->owner, 0, memory_order_relaxed);
	atomic_store_explicit(&slot->process, process, memory_order_relaxed);
	slot_assign(s, index, process);
	return 0;
}

static unsigned int slots_free(const struct session *s)
{
	unsigned int nr = 0;

	for (uint32_t i = 0; i < slots_end(s); i++)
		nr += s->slot_process[i] == SLOT_FREE;
	return nr;
}

unsigned int slots_give(struct session *s, uint32_t process, unsigned int nr, uint32_t *out)
{
	unsigned int given = 0;

	/* Processes that have left may have some with memory. Their ends may wait to be served. */
	if (slots_free(s) < nr) {
		attach_see_ends(s, process);
		attach_settle_left(s);
	}
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
	for (uint32_t i = 0; i < slots_end(s); i++)
		if (s->slot_process[i] == process)
			slot_recycle(s, i);
}

/* Relaxed, all of them: counts. The next owner of a slot continues them. */
static void losses_add(const struct slot *slot, struct attach_losses *out)
{
	out->deep += atomic_load_explicit(&slot->missed, memory_order_relaxed);
	out->stacks_cut += atomic_load_explicit(&slot->stacks_cut, memory_order_relaxed);
	out->stacks_deep += atomic_load_explicit(&slot->stacks_deep, memory_order_relaxed);
	out->stacks_other += atomic_load_explicit(&slot->stacks_other, memory_order_relaxed);
}

void attach_losses(struct session *s, struct attach_losses *out)
{
	const struct losses *l = &((const struct data_header *)s->data.base)->losses;

	/* Relaxed, all of them: counts. */
	*out = (struct attach_losses){
		.hits = atomic_load_explicit(&l->hits, memory_order_relaxed),
		.threads = atomic_load_explicit(&l->threads, memory_order_relaxed),
		.processes = atomic_load_explicit(&l->processes, memory_order_relaxed),
		.returnless = atomic_load_explicit(&l->returnless, memory_order_relaxed),
	};
	for (unsigned int i = 0; i < UNTRACED_REASONS; i++)
		out->untraced[i] = atomic_load_explicit(&l->untraced[i], memory_order_relaxed);
	for (unsigned int i = 0; i < GATES_COUNTS; i++)
		out->gates[i] = atomic_load_explicit(&l->gates[i], memory_order_relaxed);
	for (uint32_t i = 0; i < slots_end(s); i++)
		losses_add(plane_slot(&s->plane, i), out);
}

struct slot *session_slot_get(struct session *s)
{
	uint32_t index;

	if (!slots_give(s, SLOT_SERVER, 1, &index))
		return NULL;
	/* Relaxed: no program looks at a slot of the server. */
	atomic_store_explicit(&plane_slot(&s->plane, index)->owner, 1, memory_order_relaxed);
	if (rseq_cpu() < 0)
		ring_lease_give(s, index);	/* if that fails, its hits are counted as missed */
	return plane_slot(&s->plane, index);
}

void session_slot_put(struct session *s, struct slot *slot)
{
	uint32_t index = (uint32_t)(slot - plane_slot(&s->plane, 0));

	if (index < s->nr_slots && s->slot_process[index] == SLOT_SERVER)
		slot_recycle(s, index);
}
