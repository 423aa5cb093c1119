/* SPDX-License-Identifier: MIT */
/*
 * hit.h - what the files of a hit have in common: hit.c and hit_*.c include it
 *
 *     hit.c              the order of plan, arms, triggers and record; the short ways
 *     action/trigger.c   what each trigger without code does
 *     action/snapshot.c  snapshots, and what is recorded where none can be taken
 *     hit_pids.c         set_event_pid, set_ftrace_pid and their like; children that follow
 *                        (event-fork, function-fork)
 *     hit_function.c     what only calls of functions have: sections, func-no-repeats, commands
 *     action/deepest.c   the stack tracer: the deepest stack at a call
 *     action/stage.c     hits that go whole to a ring, for triggers that run later (R28)
 *     action/synth.c     synthetic events: a hit inside the hit, and its records, which wait
 *
 * H1 to H4 are in hit.c.
 *
 * H5  The words of an instance, an event or a trigger that hits and the server change (tracing_on,
 *     flags, soft_disabled, paused ...) are loaded and stored relaxed. Each is one word that orders
 *     nothing else; a hit uses the value that it finds. But tracing is switched off with release: a
 *     reader of trace_pipe that sees tracing off finds all earlier records (pairs with
 *     is_last_look(), tracefs/buffer_files.c).
 */
#ifndef TRACEFUSE_PLANE_HIT_H
#define TRACEFUSE_PLANE_HIT_H

#include "plane/arch/fence.h"
#include "plane/clock.h"
#include "plane/plan.h"
#include "plane/code.h"
#include "plane/run.h"

/* ---- enter and leave: nothing that is published is freed between them ---- */

static inline __attribute__((always_inline)) bool hit_enter(const struct plane *p,
							    struct slot *slot, unsigned int *level)
{
	/* Relaxed: the thread's own */
	uint32_t depth = atomic_load_explicit(&slot->depth, memory_order_relaxed);
	const struct config_header *h = plane_header(p);

	if (depth >= LAYOUT_HIT_LEVELS) {
		hit_miss(slot);
		return false;
	}
	*level = depth;
	atomic_store_explicit(&slot->depth, depth + 1, memory_order_relaxed);
	/* H1: the server's membarrier makes it a full fence. Pairs with limbo_barrier(). */
	atomic_signal_fence(memory_order_seq_cst);
	if (__builtin_expect(atomic_load_explicit(&h->fence, memory_order_relaxed), 0))
		fence_full();	/* pairs with the fence in limbo_barrier() */
	/*
	 * H1: the acquire pairs with the raise in session_publish(), the release with the load in
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
	/* Release: the hit has read all that it needs. Pairs with the acquire in oldest_epoch(). */
	atomic_store_explicit(&slot->depth, level, memory_order_release);
}

/* ---- what an instance and an event say now ---- */

/* 1, or 0: not */
static inline uint32_t tracing_on(struct instance_state *inst)
{
	return atomic_load_explicit(&inst->tracing_on, memory_order_relaxed);	/* H5 */
}

static inline bool records(struct instance_state *inst, uint32_t cpu)
{
	return tracing_on(inst) &&
	       (__atomic_load_n(&inst->cpumask[cpu / 64], __ATOMIC_RELAXED) >> (cpu % 64) & 1);
}

static inline data_ref live_buffer(struct instance_state *inst)
{
	/*
	 * Relaxed: each ring has its own order (G3). The place of a buffer that is being taken away
	 * holds 0: instance_snapshot_free().
	 */
	uint32_t live = atomic_load_explicit(&inst->live, memory_order_relaxed) & 1;

	/* Pairs with the release in session_publish(). */
	return atomic_load_explicit(&inst->buffers[live], memory_order_acquire);
}

/* The time of a hit's record in the ring of that instance (see hit.early). */
static inline uint64_t ring_time(const struct plane *p, const struct hit *h,
				 const struct instance_state *inst)
{
	return inst == plane_instance(p, 0) ? h->time - h->early : h->time;
}

static inline bool is_paused(const struct plane *p, data_ref trigger)
{
	const struct trigger_state *state = plane_given(p, trigger);

	return atomic_load_explicit(&state->paused, memory_order_relaxed);	/* H5 */
}

/* PLAN_COUNT: whether the plan's trigger counts this record. */
static inline bool hist_takes(const struct plane *p, const struct plan *plan,
			      const struct hit *seen)
{
	const config_ref filter = plan_hist(plan)->filter;

	return !is_paused(p, plan->trigger_state) &&
	       (!filter || filter_match(plane_config(p, filter), seen));
}

/* ---- a run ---- */

static inline void run_begin(struct run *r, const struct plane *p, struct slot *slot,
			     unsigned int level, const struct hit *h)
{
	/* One by one: for an initialiser a compiler may fill the whole struct first. */
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

/* H7: sets the time of this hit by the instance's clock, for code. */
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

/* Runs all arms that are not passed over. Returns what hit() returns. */
uint64_t hit_run_arms(struct run *r, const struct plan *plan);
/* (e) and a stack, if one is wanted. Returns whether the record is in the ring. */
bool hit_commit(const struct run *r, const struct arm *arm, struct instance_state *inst,
		data_ref buffer);
/* (f): the triggers whose kind has its bit in `post`. */
void hit_fire_post(struct run *r, const struct trigger_arm *t, uint32_t nr, uint32_t post,
		   struct instance_state *inst);

/* ---- action/trigger.c ---- */

/* Any kind that fold() does not run. */
void hit_trigger(struct run *r, const struct trigger_arm *t, struct instance_state *inst);
/* Writes the stack that came with the hit, behind its record. */
void hit_write_stack(const struct run *r, struct instance_state *inst, data_ref buffer);
/* Likewise with the option userstacktrace: for a hit of a program, not of a recording. */
void hit_write_user_stack(const struct run *r, struct instance_state *inst, data_ref buffer);

/* ---- action/snapshot.c ---- */

/*
 * The live buffer and the other one change places. If they may not, r->refused gets the reason, for
 * hit_snapshot_refused().
 */
void hit_take_snapshot(struct run *r, struct instance_state *inst);
/* Records the message, if there is one. */
void hit_say_refusal(struct run *r, struct instance_state *inst);

static inline void hit_snapshot_refused(struct run *r, struct instance_state *inst)
{
	if (__builtin_expect(r->refused != SNAPSHOT_NOT_REFUSED, 0))
		hit_say_refusal(r, inst);
}

/* ---- hit_pids.c ---- */

/* Whether set_event_pid or set_event_notrace_pid refuses this record. */
bool hit_pids_refuse(const struct run *r, const struct plan *plan, struct instance_state *inst);
/* The same for set_ftrace_pid and set_ftrace_notrace_pid. */
bool hit_function_pids_refuse(const struct run *r, struct instance_state *inst);
/* event-fork: a child joins its parent's sets, or leaves them when it ends. */
void hit_pids_follow(const struct run *r, const struct plan *plan, struct instance_state *inst,
		     bool join);

/* ---- hit_function.c ---- */

enum { FUNCTION_CONDITIONS = ARM_FUNC_PIDS | ARM_NO_REPEATS | ARM_SECTION };

/* Whether this arm has nothing to do. Asked before any trigger fires. */
bool hit_function_refuse(const struct run *r, const struct arm *arm, struct instance_state *inst);
/* hit.ask: a bit for each instance that wants the record. */
uint64_t hit_function_ask(const struct run *r, const struct plan *plan);
/* TRIGGER_FUNCTION. */
void hit_function_command(struct run *r, const struct trigger_arm *t, struct instance_state *inst);

/* ---- action/deepest.c ---- */

/* TRIGGER_DEEPEST: keeps the call's stack if it is the deepest one. */
void hit_deepest(const struct run *r, const struct trigger_arm *t);

/* ---- action/stage.c ---- */

/* ARM_STAGE */
void hit_stage(const struct run *r, const struct arm *arm);

/* ---- action/synth.c ---- */

enum { NOT_PENDING = HIT_PENDING };

/*
 * H4: takes a place for a synthetic event's record. The record is written only after
 * hit_pending_set().
 */
uint32_t hit_pending_take(const struct run *r, const struct plan *plan, const struct arm *arm);
/*
 * Says where the record goes and which post triggers fire. Gives the place back if there is nothing
 * to do. Returns whether there is a record to write.
 */
bool hit_pending_set(const struct run *r, uint32_t place, data_ref buffer, uint32_t post);
/* (e): writes the records of synthetic events. */
void hit_pending_flush(struct run *r);

#endif
