/* SPDX-License-Identifier: MIT */
/*
 * limbo.c - publication and reclamation (R5)
 *
 * L1  A hit stores its depth, then its epoch, then loads a plan; the server stores the new plan,
 *     then raises the epoch. So a hit whose epoch is at least E sees all that was published before
 *     the epoch became E.
 * L2  The store of depth and the load of the plan in a hit have no fence between them. membarrier()
 *     executes one in every running thread: after it, a hit that may see the old plan shows a depth
 *     of at least 1. Without membarrier, config_header.fence makes each hit_enter() execute a
 *     fence.
 * L3  So memory retired at epoch E is free when, after a barrier later than E, every slot has depth
 *     0 or an epoch of at least E.
 *
 * A thread that is stopped in a hit only keeps memory from being freed.
 */
#include <errno.h>
#include <linux/membarrier.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "plane/arch/fence.h"
#include "plane/code.h"
#include "plane/plan.h"
#include "plane/ring/ring.h"
#include "session/array.h"
#include "session/state.h"

enum { UNPREPARE_MS = 1000, LIMBO_STILL_MS = 1000 };

/* Of memory that is backed, or given back, in one call: one or two milliseconds. */
#define SESSION_AT_ONCE (16ull << 20)

static void kind_find(struct session *s, config_ref ref)
{
	struct plan *plan = session_config(s, ref, sizeof(*plan));

	if (plan && !session_shortcuts_off(s, SHORTCUTS_OFF_PLANS))
		plan_find_kind(session_plane(s), plan,
			       session_config(s, plan_code(plan),
					      sizeof(struct code) + sizeof(struct op)));
}

static bool is_event_word(const struct session *s, const _Atomic uint64_t *word)
{
	const char *events = s->config.base + s->header->events;

	return (size_t)((const char *)word - events) <
	       LAYOUT_MAX_EVENTS * sizeof(struct event_entry);
}

void session_publish(struct session *s, _Atomic uint64_t *word, uint64_t ref)
{
	if (ref && is_event_word(s, word))
		kind_find(s, ref);
	/* L1. Release: pairs with the loads in hit_enter() (epoch) and plan_of() (plan). */
	atomic_store_explicit(word, ref, memory_order_release);
	atomic_fetch_add_explicit(&s->header->epoch, 1, memory_order_seq_cst);
}

void session_settings_changed(struct session *s)
{
	/* L1, for a setting. Pairs with the acquire of epoch in hit_enter(). */
	atomic_fetch_add_explicit(&s->header->epoch, 1, memory_order_seq_cst);
}

int limbo_add(struct session *s, struct heap *heap, uint64_t off, uint64_t len)
{
	struct limbo *l = &s->limbo;
	uint64_t epoch;

	if (!off || array_room(&l->v, l->nr, sizeof(*l->v)))
		return -ENOMEM;		/* lost until the session ends, but never freed too early */
	/*
	 * The epoch is raised here, too, because there are other ways to unpublish. L1: pairs with
	 * the load in hit_enter().
	 */
	epoch = atomic_fetch_add_explicit(&s->header->epoch, 1, memory_order_seq_cst) + 1;
	if (!l->nr)
		l->moved_at = session_now_ms();
	l->v[l->nr++] = (struct limbo_entry){ heap, off, len, epoch };
	return 0;
}

static uint64_t rounded(size_t size)
{
	uint64_t to = size >= 4096 ? 4096 : 64;

	return ((size ? size : 1) + to - 1) / to * to;
}

void session_config_retire(struct session *s, config_ref ref, size_t size)
{
	limbo_add(s, &s->config_heap, ref, rounded(size));
}

void session_data_retire(struct session *s, data_ref ref, size_t size)
{
	limbo_add(s, &s->data_heap, ref, rounded(size));
}

/* L2. False: the kernel refused it, and nothing may be freed now. */
static bool limbo_barrier(struct session *s)
{
	if (!s->membarrier) {
		fence_full();	/* pairs with fence_full() in hit_enter() */
		return true;
	}
	return !syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0) ||
	       !syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
}

/* The oldest epoch that a running hit may have seen; UINT64_MAX: no hit is running. */
static uint64_t oldest_epoch(struct session *s)
{
	uint64_t oldest = UINT64_MAX;

	for (uint32_t i = 0; i < slots_end(s); i++) {
		struct slot *slot = plane_slot(&s->plane, i);
		uint64_t epoch;

		/* Slots that belong to no process may hold anything: the region is not trusted. */
		/*
		 * L3. Acquire: pairs with the release in hit_leave(). All that a finished hit read
		 * was read before.
		 */
		if (s->slot_process[i] == SLOT_FREE ||
		    !atomic_load_explicit(&slot->depth, memory_order_acquire))
			continue;
		/*
		 * L3. Acquire: pairs with the release in hit_enter(). The hit before this one is
		 * over.
		 */
		epoch = atomic_load_explicit(&slot->epoch, memory_order_acquire);
		oldest = epoch < oldest ? epoch : oldest;
	}
	return oldest;
}

void session_hold(struct session *s, bool on)
{
	s->holds += on ? 1 : -1;
}

/* R35: a large piece takes some calls. Returns whether it is free. */
static bool limbo_free(struct limbo_entry *e, uint64_t *budget)
{
	const uint64_t len = e->len < *budget ? e->len : *budget;

	heap_free_extent(e->heap, e->off, len);
	e->off += len;
	e->len -= len;
	*budget -= len;
	return !e->len;
}

/* What a command that was given up has left. */
static void unprepare(struct session *s)
{
	if (s->data.nr_prepared && session_now_ms() - s->prepared_at >= UNPREPARE_MS)
		region_unprepare(&s->data, SESSION_AT_ONCE);
}

/* A thread that is stopped in a hit may keep all of it for ever. */
static bool limbo_moves(const struct limbo *l)
{
	return l->nr && session_now_ms() - l->moved_at < LIMBO_STILL_MS;
}

bool session_data_prepare(struct session *s, const uint64_t *sizes, size_t nr)
{
	uint64_t budget = SESSION_AT_ONCE, sum = 0;
	struct session_room room;

	for (size_t i = 0; i < nr; i++)
		sum += sizes[i];
	session_room(s, &room);
	s->prepared_at = session_now_ms();
	/* What is prepared already is no longer free. What is in limbo will be. */
	if ((room.total && sum >= room.free + s->data.nr_prepared * REGION_CHUNK) ||
	    !heap_prepare(&s->data_heap, sizes, nr, &budget))
		return limbo_moves(&s->limbo);
	return budget < REGION_CHUNK;
}

size_t session_reclaim(struct session *s)
{
	struct limbo *l = &s->limbo;
	uint64_t oldest, budget = SESSION_AT_ONCE;
	size_t done = 0;

	/*
	 * Threads ask for a ring in their slot, not on the socket. This function is called
	 * regularly.
	 */
	ring_leases_serve(s);
	unprepare(s);
	attach_restore(s);
	attach_settle(s);
	if (!l->nr || s->holds || !limbo_barrier(s))
		return l->nr;
	oldest = oldest_epoch(s);
	while (done < l->nr && budget && l->v[done].epoch <= oldest)
		done += limbo_free(&l->v[done], &budget);
	if (budget != SESSION_AT_ONCE)
		l->moved_at = session_now_ms();
	session_heaps_changed(s);
	for (size_t i = done; i < l->nr; i++)
		l->v[i - done] = l->v[i];
	l->nr -= done;
	return l->nr;
}

void limbo_destroy(struct limbo *l)
{
	free(l->v);
	*l = (struct limbo){ 0 };
}
