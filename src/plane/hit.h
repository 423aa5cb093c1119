/* SPDX-License-Identifier: MIT */
/*
 * hit.h - what the files of a hit have in common: hit.c and hit_*.c include it
 *
 *     hit.c            which order: the plan, its arms, their triggers, the record; the short ways
 *     action/trigger.c  what each trigger does that is no program
 *     action/snapshot.c  snapshots, and what is recorded where none can be taken
 *     hit_pids.c       set_event_pid, set_ftrace_pid and their like, and who follows (event-fork,
 *                      function-fork)
 *     hit_function.c   what calls of functions have besides: sections, func-no-repeats, commands
 *     action/synth.c   synthetic events: a hit inside the hit, and its records, which wait
 *
 * H1 to H4 are in hit.c.
 *
 * H5  What hits and the server change of an instance, an event or a trigger
 *     (tracing_on, flags, soft_disabled, paused ...) is loaded and stored relaxed:
 *     each is one word that orders nothing else, and a hit takes it when it sees it.
 *     But tracing is switched off with release: who reads trace_pipe and sees it
 *     off finds all records from before (pairs with is_last_look(), tracefs/buffer_files.c).
 */
#ifndef TRACEFUSE_PLANE_HIT_H
#define TRACEFUSE_PLANE_HIT_H

#include "plane/arch/fence.h"
#include "plane/clock.h"
#include "plane/plan.h"
#include "plane/code.h"
#include "plane/run.h"

/* ---- enter and leave: what is published is not freed in between ---- */

static inline __attribute__((always_inline)) bool hit_enter(const struct plane *p,
							    struct slot *slot, unsigned int *level)
{
	/* Relaxed: its own */
	uint32_t depth = atomic_load_explicit(&slot->depth, memory_order_relaxed);
	const struct config_header *h = plane_header(p);

	if (depth >= LAYOUT_HIT_LEVELS) {
		hit_miss(slot);
		return false;
	}
	*level = depth;
	atomic_store_explicit(&slot->depth, depth + 1, memory_order_relaxed);
	/* H1: the rest of it is the server's membarrier */
	atomic_signal_fence(memory_order_seq_cst);
	if (__builtin_expect(atomic_load_explicit(&h->fence, memory_order_relaxed), 0))
		fence_full();	/* pairs with the fence in limbo_barrier() */
	/*
	 * H1: the load pairs with the raise in session_publish(), the store with the load in
	 * oldest_epoch().
	 */
	if (!depth)
		atomic_store_explicit(&slot->epoch,
				      atomic_load_explicit(&h->epoch, memory_order_acquire),
				      memory_order_release);
	return true;
}

static inline void hit_leave(struct slot *slot, unsigned int level)
{
	/*
	 * Release: all that the hit read was read before; pairs with the acquire in oldest_epoch().
	 */
	atomic_store_explicit(&slot->depth, level, memory_order_release);
}

/* ---- what an instance and an event say now ---- */

static inline bool records(struct instance_state *inst, uint32_t cpu)
{
	/* H5 */
	return atomic_load_explicit(&inst->tracing_on, memory_order_relaxed) &&
	       (__atomic_load_n(&inst->cpumask[cpu / 64], __ATOMIC_RELAXED) >> (cpu % 64) & 1);
}

static inline data_ref live_buffer(struct instance_state *inst)
{
	/*
	 * Relaxed: each ring has its own order (G3). A buffer that is just being taken away is 0:
	 * instance_snapshot_free().
	 */
	uint32_t live = atomic_load_explicit(&inst->live, memory_order_relaxed) & 1;

	/* Pairs with the release in session_publish(). */
	return atomic_load_explicit(&inst->buffers[live], memory_order_acquire);
}

static inline bool is_paused(const struct plane *p, data_ref trigger)
{
	const struct trigger_state *state = plane_given(p, trigger);

	return atomic_load_explicit(&state->paused, memory_order_relaxed);	/* H5 */
}

/* PLAN_COUNT: whether its trigger counts this record. */
static inline bool hist_takes(const struct plane *p, const struct plan *plan,
			      const struct hit *seen)
{
	const config_ref filter = plan_hist(plan)->filter;

	return !is_paused(p, plan->trigger_state) &&
	       (!filter || filter_match(p, plane_config(p, filter), seen));
}

/* ---- a run ---- */

static inline void run_begin(struct run *r, const struct plane *p, struct slot *slot,
			     unsigned int level, const struct hit *h)
{
	/* Each by itself: a compiler may fill the whole first. */
	r->p = p;
	r->slot = slot;
	r->level = level;
	r->nest = 0;
	r->only = 0;
	r->clock = CLOCK_ID_LOCAL;
	r->synth = NULL;
	r->h = r->seen = h;
	r->time = h->time;
	r->not_recorded = 0;
	r->refused = SNAPSHOT_NOT_REFUSED;
}

static inline bool passed_over(const struct run *r, const struct arm *arm)
{
	if (r->h->mask &&
	    !(arm->instance < LAYOUT_GRAPH_INSTANCES && r->h->mask >> arm->instance & 1))
		return true;
	return r->only && arm->instance != r->only - 1;
}

/* H7: the time of this hit, as code of the instance sees it. */
static inline void run_take_time(struct run *r, struct instance_state *inst)
{
	/* H5 */
	const uint32_t clock = atomic_load_explicit(&inst->clock, memory_order_relaxed);

	if (r->time && (r->h->time || r->clock == clock))
		return;
	r->time = clock_read_by(&plane_header(r->p)->tsc, inst, clock);
	r->clock = clock;
}

/* TRIGGER_HIST, TRIGGER_PROBE */
static inline void fold(struct run *r, const struct trigger_arm *t, struct instance_state *inst)
{
	const struct code *code = plane_config(r->p, t->code);

	if (__builtin_expect(r->nest >= HIT_FRAMES, 0)) {
		hit_miss(r->slot);
		return;
	}
	if (code->flags & CODE_NEEDS_TIME)
		run_take_time(r, inst);
	hist_fold(code, r);
}

/* ---- hit.c ---- */

/* All arms that are not passed over; what hit() returns. */
uint64_t hit_run_arms(struct run *r, const struct plan *plan);
/* (e) and the option stacktrace; whether the record is in the ring. */
bool hit_commit(const struct run *r, const struct arm *arm, struct instance_state *inst,
		data_ref buffer);
/* (f): the triggers whose kind has its bit in `post`. */
void hit_fire_post(struct run *r, const struct trigger_arm *t, uint32_t nr, uint32_t post,
		   struct instance_state *inst);

/* ---- action/trigger.c ---- */

/* Any kind but those that fold() is for. */
void hit_trigger(struct run *r, const struct trigger_arm *t, struct instance_state *inst);
/* The stack that came with the hit, behind its record. */
void hit_write_stack(const struct run *r, struct instance_state *inst, data_ref buffer);

/* ---- action/snapshot.c ---- */

/*
 * Live and other buffer change places; where they may not, r->refused says why, for
 * hit_snapshot_refused().
 */
void hit_take_snapshot(struct run *r, struct instance_state *inst);
/* Records that, where there is something to be said. */
void hit_say_refusal(struct run *r, struct instance_state *inst);

static inline void hit_snapshot_refused(struct run *r, struct instance_state *inst)
{
	if (__builtin_expect(r->refused != SNAPSHOT_NOT_REFUSED, 0))
		hit_say_refusal(r, inst);
}

/* ---- hit_pids.c ---- */

/* set_event_pid and set_event_notrace_pid say no to this record. */
bool hit_pids_refuse(const struct run *r, const struct plan *plan, struct instance_state *inst);
/* set_ftrace_pid and set_ftrace_notrace_pid. */
bool hit_function_pids_refuse(const struct run *r, struct instance_state *inst);
/* event-fork: a child joins its parent's sets, or leaves them when it ends. */
void hit_pids_follow(const struct run *r, const struct plan *plan, struct instance_state *inst,
		     bool join);

/* ---- hit_function.c ---- */

enum { FUNCTION_CONDITIONS = ARM_FUNC_PIDS | ARM_NO_REPEATS | ARM_SECTION };

/* Whether nothing is to be done in this arm: before any trigger fires. */
bool hit_function_refuse(const struct run *r, const struct arm *arm, struct instance_state *inst);
/* hit.ask: a bit for each instance that wants the record. */
uint64_t hit_function_ask(const struct run *r, const struct plan *plan);
/* TRIGGER_FUNCTION. */
void hit_function_command(struct run *r, const struct trigger_arm *t, struct instance_state *inst);

/* ---- action/synth.c ---- */

enum { NOT_PENDING = HIT_PENDING };

/*
 * H4: the place of a synthetic event's record; it is not to be written until hit_pending_set() says
 * so.
 */
uint32_t hit_pending_take(const struct run *r, const struct plan *plan, const struct arm *arm);
/* Gives the place back where nothing is to be done. Returns whether there is a record to write. */
bool hit_pending_set(const struct run *r, uint32_t place, data_ref buffer, uint32_t post);
/* (e): the records of synthetic events. */
void hit_pending_flush(struct run *r);

#endif
