/* SPDX-License-Identifier: MIT */
/*
 * way.c - what a thread remembers of its hits' way into a ring
 *
 * An event that is only recorded goes from its plan to an arm, an instance, a
 * buffer and the ring of the CPU; a thread's next hit of it goes there again. So
 * the thread remembers the end of that way, and x86_64/emit.S takes it.
 *
 * W1  What a way leads to may be used while the epoch has not changed. The way is
 *     made inside a hit that saw epoch E, so what it leads to was published and not
 *     retired at E. Whatever is retired raises the epoch (limbo.c), and is freed
 *     only when no slot shows a depth with an older one. The short way stores
 *     its depth, loads the epoch and leaves unless it is E. So like any hit (H1),
 *     it either sees that something was retired or prevents that it is freed.
 *     Its slot's epoch is E already: way_make() or a hit after it stored it, and
 *     none is newer; an older one would only free less. The epoch also rises when
 *     the rings of another CPU change places. If each enter needs a fence of its
 *     own (config_header.fence), no way is made. A server that begins to need
 *     fences raises the epoch long before it frees.
 * W2  What hits change themselves is loaded each time: tracing_on, and which
 *     buffer is live. What only the server changes raises the epoch, published
 *     or not: the instance's options and clock, and whether the ring is disabled
 *     (by tracing_cpumask).
 * W3  A way is made at level 0 and with the depth stored, so the hits of a signal
 *     handler neither take nor make one meanwhile. `event` is stored last: a way
 *     that is not complete leads nowhere. A handler that runs before a short hit
 *     has stored its depth may make a way for another entry in the same place, or
 *     remove the way. So a short hit compares `seen` after that, one word with the
 *     entry and the epoch, and reads nothing of the way once its depth is 0 again.
 *     Plans and the settings of the graph tracer are published: those that a way
 *     was made from do not change while its epoch does not.
 * W4  A way is the thread's own memory, so R2, which is about the session's, does
 *     not hold for it. Its ring was found by a masked offset, and its inst by the
 *     config region, so both are in the mapping.
 */
#include "agent/graph/graph.h"
#include "agent/state.h"
#include "agent/emit/way.h"
#include "agent/x86_64/emit.h"
#include "plane/arch/ring_commit.h"
#include "plane/hit.h"
#include "plane/ring/ring.h"

_Static_assert(offsetof(struct tf_event, id) == EVENT_ID &&
		       offsetof(struct agent_thread, slot) == THREAD_SLOT &&
		       offsetof(struct agent_thread, no_rseq) == THREAD_WORD &&
		       offsetof(struct agent_thread, flags) == THREAD_WORD + 2 &&
		       offsetof(struct agent_thread, locks) == THREAD_WORD + 3 &&
		       offsetof(struct agent_thread, pid) == THREAD_WORD + 4 &&
		       offsetof(struct agent_thread, frame) == THREAD_FRAME &&
		       offsetof(struct agent_thread, ways) == THREAD_WAYS,
	       "emit.S knows the thread");
_Static_assert(sizeof(struct agent_way) == 1 << WAY_SHIFT && AGENT_WAYS == WAY_MASK + 1 &&
		       offsetof(struct agent_way, seen) == WAY_SEEN &&
		       offsetof(struct agent_way, on) == WAY_ON &&
		       offsetof(struct agent_way, event) == WAY_EVENT &&
		       offsetof(struct agent_way, inst) == WAY_INST &&
		       offsetof(struct agent_way, ring) == WAY_RING &&
		       offsetof(struct agent_way, mult) == WAY_MULT &&
		       offsetof(struct agent_way, offset) == WAY_OFFSET &&
		       offsetof(struct agent_way, subbuf_size) == WAY_SUBBUF &&
		       offsetof(struct agent_way, rseq) == WAY_RSEQ &&
		       offsetof(struct agent_way, bit) == WAY_BIT &&
		       offsetof(struct agent_way, type) == WAY_TYPE &&
		       offsetof(struct agent_way, plain) == WAY_PLAIN &&
		       offsetof(struct agent_way, room) == WAY_ROOM &&
		       offsetof(struct agent_way, slot) == WAY_SLOT &&
		       WAY_SEEN_SHIFT == SEEN_SHIFT && LAYOUT_MAX_EVENTS <= 1 << (64 - SEEN_SHIFT),
	       "emit.S knows the way");
_Static_assert(offsetof(struct agent, plane) == 0 &&
		       offsetof(struct plane, config) == PLANE_CONFIG &&
		       offsetof(struct plane, data) == PLANE_DATA &&
		       offsetof(struct plane, data_mask) == PLANE_MASK &&
		       offsetof(struct config_header, epoch) == CONFIG_EPOCH,
	       "emit.S knows the session");
_Static_assert(offsetof(struct slot, depth) == SLOT_DEPTH &&
		       offsetof(struct slot, epoch) == SLOT_EPOCH &&
		       offsetof(struct instance_state, tracing_on) == INST_ON &&
		       offsetof(struct instance_state, live) == INST_ON + 4,
	       "emit.S knows slots and instances");
_Static_assert(offsetof(struct ring, cpu) == RING_CPU && offsetof(struct ring, head) == RING_HEAD &&
		       offsetof(struct ring, tail[0].time) == RING_TAIL_TIME &&
		       offsetof(struct ring, tail[0].entries) == RING_TAIL_ENTRIES &&
		       sizeof(struct ring_tail) == RING_TAIL_SIZE &&
		       offsetof(struct ring, page_end) == RING_PAGE_END &&
		       offsetof(struct ring, base) == RING_BASE && RING_MAX_SMALL == 112 &&
		       RING_SHORT_MIN == 12,
	       "emit.S knows the ring");
_Static_assert(offsetof(struct rseq_area, cpu_id) == RSEQ_CPU &&
		       offsetof(struct rseq_area, rseq_cs) == RSEQ_CS,
	       "emit.S knows the area of restartable sequences");

/* Two adjacent words, in the form in which the short way compares them. */
static uint64_t words_at(const volatile void *at)
{
	const volatile uint32_t *word = at;

	return word[0] | (uint64_t)word[1] << 32;
}

/*
 * The instance, if only one instance records the event and does nothing else: see plain_record().
 */
static struct instance_state *only_recorded(uint32_t id, uint32_t *instance)
{
	const struct plane *p = &agent.plane;
	const struct plan *plan = plan_of(p, (uint16_t)id);

	if (!plan || !plan_only_records(plan) || plan_arms(plan)->instance >= LAYOUT_MAX_INSTANCES)
		return NULL;
	*instance = plan_arms(plan)->instance;
	return plane_instance(p, *instance);
}

static struct ring *ring_to(const struct instance_state *inst, uint32_t live, uint32_t cpu)
{
	const struct plane *p = &agent.plane;
	/* Pairs with the release in session_publish(). */
	data_ref ref = atomic_load_explicit(&inst->buffers[live & 1], memory_order_acquire);
	const struct buffer *b = plane_data(p, ref);

	if (!ref || cpu >= b->nr_cpus ||
	    plane_instance(p, b->instance % LAYOUT_MAX_INSTANCES) != inst)
		return NULL;
	/* Pairs with the releases in buffer_add_set() and buffer_swap_cpu(). */
	ref = atomic_load_explicit(&b->rings[cpu], memory_order_acquire);
	return ref ? plane_data(p, ref) : NULL;
}

/* Bytes of a record with its header. */
static uint32_t size_of(uint32_t type)
{
	return 4 + (type == LAYOUT_FUNCTION_ID ? SIZE_FUNCTION :
		    type == LAYOUT_GRAPH_ENTRY_ID ? SIZE_CALLED : SIZE_RETURNED);
}

static bool way_find(struct agent_way *w, uint32_t id, uint32_t cpu)
{
	uint32_t instance;
	struct instance_state *inst = only_recorded(id, &instance);
	struct ring *r;

	if (!inst)
		return false;
	w->on = words_at(&inst->tracing_on);
	/* Relaxed, all three: W2, and the epoch was loaded before. */
	if (!(uint32_t)w->on ||
	    !clock_is_counter(atomic_load_explicit(&inst->clock, memory_order_relaxed)) ||
	    (atomic_load_explicit(&inst->flags, memory_order_relaxed) &
	     (INSTANCE_STACKTRACE | INSTANCE_USERSTACKTRACE)))
		return false;
	r = ring_to(inst, (uint32_t)(w->on >> 32), cpu);
	if (!r || r->cpu != cpu || atomic_load_explicit(&r->disabled, memory_order_relaxed))
		return false;
	w->inst = inst;
	w->bit = instance < LAYOUT_GRAPH_INSTANCES ? 1ull << instance : 0;
	w->type = emit_type(id);
	w->ring = r;
	w->subbuf_size = r->subbuf_size;
	w->room = w->subbuf_size - size_of(w->type);
	return true;
}

/*
 * Whether a new way would lead to the same place. W2: after a swap of the buffers
 * the old way does not fit. While tracing is off, a new way would be no better.
 */
static bool way_fits(const struct agent_way *w, uint32_t id, uint32_t cpu, uint64_t epoch)
{
	uint64_t on;

	if (w->event != id || w->cpu != cpu || w->epoch != epoch)
		return false;
	on = words_at(&w->inst->tracing_on);
	return !(uint32_t)on || w->on == on;
}

static bool is_plain_graph(const struct agent_way *w, uint32_t id)
{
	return w->bit && w->type == LAYOUT_GRAPH_ENTRY_ID && graph_is_plain() &&
	       !plan_of(&agent.plane, (uint16_t)(id - GROUP_GRAPH));
}

bool way_may(const struct slot *slot, uint32_t id)
{
	const struct config_header *h = plane_header(&agent.plane);

	/*
	 * Relaxed: only this thread writes the depth; W1 is about the fence; shortcuts_off does not
	 * change while there is something to take; only this thread sets the lease's flag.
	 */
	return !atomic_load_explicit(&slot->depth, memory_order_relaxed) &&
	       !atomic_load_explicit(&h->fence, memory_order_relaxed) &&
	       !(atomic_load_explicit(&h->shortcuts_off, memory_order_relaxed) &
		 SHORTCUTS_OFF_WAYS) &&
	       id < LAYOUT_MAX_EVENTS && !ring_lease_only(slot);
}

bool way_may_with_time(const struct slot *slot, uint32_t cpu, uint32_t id)
{
	const struct config_header *h = plane_header(&agent.plane);

	return h->tsc.valid && h->tsc.shift == 64 && cpu < h->nr_cpus && way_may(slot, id);
}

uint64_t way_enter(struct slot *slot)
{
	const struct config_header *h = plane_header(&agent.plane);
	uint64_t epoch;

	atomic_store_explicit(&slot->depth, 1, memory_order_relaxed);	/* W3 */
	atomic_signal_fence(memory_order_seq_cst);	/* H1 */
	/* H1: pairs with the raise in session_publish(). */
	epoch = atomic_load_explicit(&h->epoch, memory_order_acquire);
	atomic_store_explicit(&slot->epoch, epoch, memory_order_release);
	return epoch;
}

void way_leave(struct slot *slot)
{
	/* Release: as at the end of any hit, pairs with the acquire in oldest_epoch(). */
	atomic_store_explicit(&slot->depth, 0, memory_order_release);
}

void way_make(struct agent_thread *t, struct slot *slot, uint32_t id)
{
	uint32_t cpu = (uint32_t)*t->cpu;
	const struct config_header *h = plane_header(&agent.plane);
	/* Acquire: H1, pairs with the raise in session_publish(). */
	uint64_t epoch = atomic_load_explicit(&h->epoch, memory_order_acquire);
	struct agent_way *w = &t->ways[id % AGENT_WAYS];

	if (!way_may_with_time(slot, cpu, id) || way_fits(w, id, cpu, epoch))
		return;
	epoch = way_enter(slot);
	w->seen = w->event = w->plain = 0;
	atomic_signal_fence(memory_order_seq_cst);	/* W3 */
	w->epoch = epoch;
	w->cpu = cpu;
	w->mult = h->tsc.mult;
	w->offset = (uint64_t)h->tsc.offset;
	w->rseq = rseq_area();
	w->slot = slot;
	if (way_find(w, id, cpu)) {
		atomic_signal_fence(memory_order_seq_cst);	/* W3 */
		w->seen = way_seen(epoch, id);
		w->event = id;
		w->plain = is_plain_graph(w, id) ? id : 0;
		t->graph.counted = NULL;	/* entry.S would try it first */
	}
	way_leave(slot);
}
