/* SPDX-License-Identifier: MIT */
/*
 * emit.c - one hit of the calling thread: emit -> fill -> hit()
 *
 * E1  What a plan and its instances want of a hit (a stack) is read before the hit
 *     enters. So the plan may be stale or freed: it decides only whether a stack
 *     is taken, and every index is checked.
 * E2  The frame of a level is stored before hit() enters the level. If a hit finds
 *     its slot inside another hit, these frames show whether that other one was
 *     left by siglongjmp (A6).
 */
#include "agent/emit/emit.h"
#include "agent/thread/guarded.h"
#include "agent/emit/shortcut.h"
#include "agent/graph/graph.h"
#include "agent/state.h"
#include "agent/syscall.h"
#include "agent/emit/way.h"
#include "plane/arch/counter.h"
#include "plane/arch/rseq_add.h"
#include "plane/clock.h"
#include "plane/code.h"
#include "plane/plan.h"
#include "plane/ring/ring.h"

enum { SYSTEM_MONO = 1 };	/* CLOCK_MONOTONIC */
enum { MAX_ARMS = 256, STACK_OPTIONS = INSTANCE_STACKTRACE | INSTANCE_USERSTACKTRACE };
/* Bytes of a handler's alternate stack: for hit(), and for a hit that walks the stack. */
enum { HIT_ROOM = 1280, WALK_ROOM = HIT_ROOM + 832 };

static uint32_t cpu_asked(void)
{
	uint32_t cpu = 0;

	if (!agent_restricted())
		agent_syscall(SYS_getcpu, &cpu, 0, 0);
	return cpu;
}

static inline uint32_t cpu_now(const struct agent_thread *t)
{
	int32_t cpu = *t->cpu;

	return cpu >= 0 && !t->no_rseq ? (uint32_t)cpu : cpu_asked();
}

/* ---- E1 ---- */

static __attribute__((noinline)) bool arms_want_stack(const struct plan *plan)
{
	const struct arm *arms = plan_arms(plan);
	uint32_t nr = plan->nr_arms < MAX_ARMS ? plan->nr_arms : MAX_ARMS;

	for (uint32_t i = 0; i < nr; i++) {
		uint32_t instance = arms[i].instance;

		/* Relaxed: E1. */
		if (instance < LAYOUT_MAX_INSTANCES &&
		    (atomic_load_explicit(&plane_instance(&agent.plane, instance)->flags,
					  memory_order_relaxed) &
		     STACK_OPTIONS))
			return true;
	}
	return false;
}

/* NULL: there is no plan, or its place is wrong. */
static inline const struct plan *plan_glimpse(uint32_t id)
{
	/* Relaxed: E1. */
	config_ref ref =
		atomic_load_explicit(&plane_event(&agent.plane, id)->plan, memory_order_relaxed);

	return ref && ref + sizeof(struct plan) + MAX_ARMS * sizeof(struct arm) <=
				       agent.plane.config_size
		       ? plane_config(&agent.plane, ref)
		       : NULL;
}

static inline bool wants_stack(uint32_t id)
{
	const struct plan *plan = plan_glimpse(id);

	if (!plan)
		return false;
	if (__builtin_expect(plan->wants & (PLAN_WANTS_STACK | PLAN_WANTS_DEPTH), 0))
		return true;
	/* A plain event has one arm, which records or counts: most events are like that. */
	if (__builtin_expect(plan->nr_arms == 1, 1)) {
		uint32_t instance = plan_arms(plan)->instance;

		/* Relaxed: E1. */
		return instance < LAYOUT_MAX_INSTANCES &&
		       (atomic_load_explicit(&plane_instance(&agent.plane, instance)->flags,
					     memory_order_relaxed) &
			STACK_OPTIONS);
	}
	return arms_want_stack(plan);
}

bool emit_wants_stack(uint32_t id)
{
	return wants_stack(id);
}

/* ---- E2 ---- */

/* Ends hits that were left. -> the level that is free */
static __attribute__((noinline)) uint32_t levels_left(struct agent_thread *t, struct slot *slot,
						      uint32_t depth, uintptr_t sp)
{
	const uint32_t level = stack_levels(t, t->frame, depth, sp);

	if (level == depth)
		return depth;
	if (!level)
		t->resume = 0;
	/* Release: pairs with the acquire in oldest_epoch(), as at the end of any hit. */
	atomic_store_explicit(&slot->depth, level, memory_order_release);
	return level;
}

void emit_levels_left(struct agent_thread *t, uintptr_t sp)
{
	struct slot *slot = agent_slot(t);
	/* Relaxed: only this thread writes it. */
	uint32_t depth = slot ? atomic_load_explicit(&slot->depth, memory_order_relaxed) : 0;

	if (__builtin_expect(depth, 0))
		levels_left(t, slot, depth, sp);
}

/* Where the calling function's return address is: the short way stores the same. */
static inline __attribute__((always_inline)) uintptr_t frame_here(void)
{
	return (uintptr_t)__builtin_frame_address(0) + sizeof(void *);
}

static inline void level_note(struct agent_thread *t, struct slot *slot, uintptr_t frame)
{
	/* Relaxed: only this thread writes it. */
	uint32_t depth = atomic_load_explicit(&slot->depth, memory_order_relaxed);

	if (__builtin_expect(depth, 0))
		depth = levels_left(t, slot, depth, frame);
	if (depth < LAYOUT_HIT_LEVELS)
		t->frame[depth] = frame;
}

/* ---- A child of vfork() ---- */

/*
 * The parent's thread waits. The child's CPU is not the one in the parent's rseq area. The parent
 * has hits, too: before and behind the child in posix_spawn(), and in handlers during system().
 */
static void borrow(const struct agent_thread *t, struct slot *slot, struct record_common *common,
		   struct hit *h)
{
	const bool asks = !agent_restricted();
	const uint32_t tid = asks ? (uint32_t)agent_syscall(SYS_gettid) : 0;

	/*
	 * Relaxed: only this thread writes the depth, and ring_of() acquires what the lease leads
	 * to.
	 */
	uint64_t lease = atomic_load_explicit(&slot->lease, memory_order_relaxed);
	uint32_t depth = atomic_load_explicit(&slot->depth, memory_order_relaxed);

	if (tid == t->tid)
		return;
	if (!agent.here->other_pids && asks)
		common->pid = (int32_t)tid;
	if ((uint32_t)lease) {
		h->writer = RING_SET_LEASES + ((uint32_t)lease - 1) * LAYOUT_HIT_LEVELS +
			    (depth < LAYOUT_HIT_LEVELS ? depth : 0);
		return;
	}
	/*
	 * No ring has this number: the record is counted as missed, and the server grants a lease
	 * for the next one.
	 */
	h->writer = BUFFER_MAX_SETS;
	/* Pairs with the acquire in ring_leases_serve(). */
	atomic_store_explicit(&slot->lease, lease | RING_LEASE_WANTED, memory_order_release);
}

__attribute__((cold)) bool emit_refuses_stranger(struct agent_thread *t)
{
	struct slot *slot = agent_slot(t);

	if (!agent_restricted() && (uint32_t)agent_syscall(SYS_gettid) == t->tid)
		return false;
	/* Relaxed: a count. */
	if (slot)
		atomic_fetch_add_explicit(&slot->missed, 1, memory_order_relaxed);
	return true;
}

/* ---- A hit ---- */

/*
 * Any access to the data region may fault; then the guard (guard.c) replaces the
 * region, and a hit must not begin in the replacement. The guard leaves a hit
 * that has begun.
 */
static inline bool slot_stays(const struct agent_thread *t)
{
	return __builtin_expect(agent_slot(t) != NULL, 1);
}

/*
 * For the stack tracer, whose hits are calls of functions. NULL: it does not ask, or there is no
 * memory, which is counted.
 */
static struct stack_depths *depths_take(struct agent_thread *t, const struct hit *h,
					const void *frame)
{
	const struct plan *plan = plan_glimpse(h->entry);
	const struct site_call *c =
		(const void *)((const char *)frame - offsetof(struct site_call, next));
	const uintptr_t sp = (uintptr_t)c->slot - sizeof(void *);
	struct stack_depths *depths;

	if (!plan || !(plan->wants & PLAN_WANTS_DEPTH) || !emit_is_function(h->entry))
		return NULL;
	if (!stack_may_be_deepest(t, plan, sp)) {
		stack_call_left(t, sp);
		return NULL;
	}
	depths = large_get(t, sizeof(*depths));
	if (depths)
		stack_depths(t, frame, (uintptr_t)c->slot, depths);
	return depths;
}

static __attribute__((noinline)) uint64_t hit_with_stack(struct agent_thread *t, struct slot *slot,
							 struct hit *h, const void *frame)
{
	struct stack_depths *depths = depths_take(t, h, frame);
	uint64_t stack[AGENT_STACK], done;

	h->nr_stack = stack_walk(t, frame, stack, AGENT_STACK);
	h->stack = stack;
	h->depths = depths;
	done = slot_stays(t) ? guarded_hit(&agent.plane, slot, h, &t->resume) : 0;
	if (depths)
		large_put(t, depths);
	return done;
}

/* Before hit(). False: there must be no hit. */
static inline __attribute__((always_inline)) bool
hit_begin(struct agent_thread *t, struct slot *slot, uint32_t entry, void *record, struct hit *h)
{
	if (!slot || emit_stranger(t))
		return false;
	if ((t->flags & AGENT_HANDLER) && agent_signal_flags)
		t->flags = agent_signal_flags(t, __builtin_frame_address(0));
		/* Below the end of a small alternate stack is other memory of the program. */
	if ((t->flags & AGENT_HANDLER) &&
	    !stack_has_room((uintptr_t)__builtin_frame_address(0), HIT_ROOM)) {
		hit_miss(slot);
		return false;
	}
	emit_fill(t, entry, record);
	level_note(t, slot, frame_here());
	/* The owner of a control block that others share is registered for it; they are not. */
	if (t->no_rseq && t->no_rseq != AGENT_SHARED)
		borrow(t, slot, record, h);
	return true;
}

uint64_t emit_time(void)
{
	const struct clock_scale *scale = &plane_header(&agent.plane)->tsc;

	if (__builtin_expect(scale->valid, 1))
		return clock_scaled(scale, counter_read());
	return clock_system(SYSTEM_MONO);
}

static bool is_one(uint64_t mask)
{
	return mask && !(mask & (mask - 1));
}

/*
 * No short way leads to several instances. There is none for a signal handler, nor for a thread
 * whose slot others use.
 */
static inline void next_make(struct agent_thread *t, struct slot *slot, const struct hit *h,
			     enum emit_next next, uint64_t done)
{
	if (next == EMIT_NEXT_LONG || t->no_rseq || (t->flags & AGENT_HANDLER) || !slot_stays(t))
		return;
	if (next == EMIT_NEXT_PROFILE)
		guarded_profile_make(t, slot, h->entry, &t->resume);
	else if (is_one(done))
		guarded_way_make(t, slot, h->entry, &t->resume);
}

static inline __attribute__((always_inline)) uint64_t
hit_long(struct agent_thread *t, struct hit *h, uint64_t *time, const void *frame,
	 enum emit_next next)
{
	struct slot *slot = agent_slot(t);
	uint64_t done;

	h->cpu = cpu_now(t);
	h->comm = t->comm;
	h->section = t->section.on;
	h->woken = section_wakeup_pending();
	if (time)
		*time = emit_time();
	if (!hit_begin(t, slot, h->entry, (void *)h->record, h))
		return 0;
	if (frame && wants_stack(h->entry) &&
	    stack_has_room((uintptr_t)__builtin_frame_address(0), WALK_ROOM))
		return hit_with_stack(t, slot, h, frame);
	if (!slot_stays(t))
		return 0;
	done = guarded_hit(&agent.plane, slot, h, &t->resume);
	next_make(t, slot, h, next, done);
	return done;
}

/* T4 of thread.c. In a child of vfork() it would be the parent's memory. */
static inline bool rseq_is_wanted(const struct agent_thread *t)
{
	return __builtin_expect(*t->cpu == RSEQ_NOT_YET, 0) && t->rseq_missing && !t->no_rseq;
}

__attribute__((noinline)) uint64_t emit_hit(struct agent_thread *t, struct hit *h, uint64_t *time,
					    const void *frame, enum emit_next next)
{
	const bool lent = rseq_is_wanted(t) && thread_rseq_begin();
	const uint64_t done = hit_long(t, h, time, frame, next);

	if (lent)
		thread_rseq_end();
	return done;
}

/* Whether hit_plain() would return HIT_LONG at once. */
static inline bool is_long(uint32_t entry)
{
	const struct plan *plan = plan_glimpse(entry);

	return plan && plan_is_long(plan);
}

/* See emit_plain(). */
static inline __attribute__((always_inline)) bool plain(struct agent_thread *t, uint32_t entry,
							void *record, uint32_t size)
{
	struct slot *slot = agent_slot(t);
	const int32_t cpu = *t->cpu;
	enum hit_plain done;

	if (__builtin_expect(!slot || cpu < 0 || t->no_rseq || (t->flags & AGENT_HANDLER), 0) ||
	    is_long(entry))
		return false;
	emit_fill(t, entry, record);
	level_note(t, slot, frame_here());
	if (!slot_stays(t))
		return true;
	done = guarded_hit_plain(&agent.plane, slot, record, size, hit_where((uint32_t)cpu, entry),
				 &t->resume);
	if (done == HIT_RECORDED && slot_stays(t))
		guarded_way_make(t, slot, entry, &t->resume);
	else if (done == HIT_COUNTED && count_wanted(t, entry) && slot_stays(t))
		guarded_count_make(t, slot, entry, &t->resume);
	return done != HIT_LONG;
}

/* Like plain(): a hit that is_long() has sent the long way may have a shortcut next time. */
static inline void long_counted(struct agent_thread *t, uint32_t entry)
{
	const struct plan *plan = plan_glimpse(entry);
	struct slot *slot = agent_slot(t);

	if (plan && plan->kind == PLAN_COUNT && count_wanted(t, entry) && slot && !t->no_rseq &&
	    !(t->flags & AGENT_HANDLER))
		guarded_count_make(t, slot, entry, &t->resume);
}

bool emit_plain(struct agent_thread *t, uint32_t entry, void *record, uint32_t size)
{
	return plain(t, entry, record, size);
}

/* The server knocks. -> whether nobody else asks for the event */
static __attribute__((noinline, cold)) bool knocked(const struct agent_thread *t, uint32_t id)
{
	/* Relaxed: the plan is not looked at. */
	const config_ref plan =
		atomic_load_explicit(&plane_event(&agent.plane, id)->plan, memory_order_relaxed);

	if (atomic_load_explicit(&late_done, memory_order_relaxed) != late_wanted())
		late_begin(t);
	return plan == late_plan();
}

/* agent_emit() and event_emit() are in x86_64/emit.S: hits that leave the short way come here. */
void emit_long(struct agent_thread *t, uint32_t id, void *record, uint32_t size, const void *frame)
{
	if (__builtin_expect(!t || !t->slot, 0)) {
		t = agent_thread();
		if (!t)
			return;
	}
	if (__builtin_expect(late_knock() != 0, 0) && knocked(t, id))
		return;
	if (__builtin_expect(!plain(t, id, record, size), 0)) {
		/* Here: the short way noted this frame, and the one of emit_hit() is deeper. */
		emit_levels_left(t, frame_here());
		emit_hit(t, &(struct hit){ .entry = id, .record = record, .size = size }, NULL,
			 frame, EMIT_NEXT_LONG);
		long_counted(t, id);
	}
}

/* ---- Static events ---- */

void *event_reserve(uint32_t size)
{
	struct agent_thread *t = agent_thread();

	return t ? large_get(t, size) : NULL;
}

void event_emit_large(const struct tf_event *ev, void *record, uint32_t size, const void *frame)
{
	struct agent_thread *t = agent_thread();

	if (!t)
		return;
	emit_long(t, ev->id, record, size, frame);
	large_put(t, record);
}

/* ---- For interposers ---- */

struct agent_thread *agent_enter(void)
{
	struct agent_thread *t = agent_thread();

	if (!t || emit_stranger(t) || t->busy)
		return NULL;
	t->busy = 1;
	return t;
}

void agent_leave(struct agent_thread *t)
{
	t->busy = 0;
}
