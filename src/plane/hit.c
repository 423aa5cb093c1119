/* SPDX-License-Identifier: MIT */
/*
 * hit.c - one record through one event's plan, in the order of R7
 *
 * H1  enter (hit.h) stores the slot's depth, then the epoch that it sees, then loads the plan.
 *     limbo.c is the server's side.
 * H2  The buffer is chosen before the triggers of step (c), so that the record of a hit that takes
 *     a snapshot goes to the snapshot, as in the kernel.
 * H3  The kernel fills a scratch record if the event may still be discarded (filter,
 *     soft-disabled); otherwise it reserves in the ring at once. In the first case tracing_on
 *     counts at the commit, in the second at (b). The message of a refused snapshot comes before
 *     the record in the first case, and after it in the second.
 * H4  Records of synthetic events wait for the record of their cause: see action/synth.c.
 * H5  is in hit.h: the words of the server and of hits that are relaxed.
 */
#include "plane/hit.h"
#include "plane/map/map.h"
#include "plane/ring/ring.h"
#include "plane/ring/short.h"

void hit_miss(struct slot *slot)
{
	/*
	 * Relaxed: a count. Atomic: the thread's signal handlers add to it, too, and threads
	 * without a slot add to the first slot.
	 */
	atomic_fetch_add_explicit(&slot->missed, 1, memory_order_relaxed);
}

/* ---- triggers ---- */

static void fire(struct run *r, const struct trigger_arm *t, struct instance_state *inst)
{
	if (t->kind == TRIGGER_HIST || t->kind == TRIGGER_PROBE)
		fold(r, t, inst);
	else if (t->flags & TRIGGER_FUNCTION)
		hit_function_command(r, t, inst);
	else
		hit_trigger(r, t, inst);
}

static bool trigger_paused(const struct run *r, const struct trigger_arm *t)
{
	return t->kind == TRIGGER_HIST && is_paused(r->p, t->state);
}

/* (a) */
static void fire_all(struct run *r, const struct trigger_arm *t, uint32_t nr,
		     struct instance_state *inst)
{
	for (uint32_t i = 0; i < nr; i++)
		fire(r, &t[i], inst);
}

/* (c). Returns the kinds of the post triggers that are to fire at (f), one bit each. */
static uint32_t fire_matching(struct run *r, const struct trigger_arm *t, uint32_t nr,
			      struct instance_state *inst)
{
	uint32_t post = 0;

	for (uint32_t i = 0; i < nr; i++) {
		if (trigger_paused(r, &t[i]))
			continue;
		if (t[i].filter && !filter_match(plane_config(r->p, t[i].filter), r->seen))
			continue;
		if (trigger_kind_is_post(t[i].kind))
			post |= 1u << t[i].kind;
		else
			fire(r, &t[i], inst);
	}
	return post;
}

/* (f). An event has at most one trigger of a post kind. */
void hit_fire_post(struct run *r, const struct trigger_arm *t, uint32_t nr, uint32_t post,
		   struct instance_state *inst)
{
	for (uint32_t i = 0; i < nr; i++)
		if (post >> t[i].kind & 1)
			fire(r, &t[i], inst);
}

/* ---- one instance ---- */

static bool soft_disabled(const struct plane *p, const struct arm *arm)
{
	const struct event_state *state;

	if (!(arm->flags & ARM_SOFT_MODE))
		return !(arm->flags & (ARM_RECORD | ARM_INTERNAL));
	state = plane_given(p, arm->state);
	return atomic_load_explicit(&state->soft_disabled, memory_order_relaxed);	/* H5 */
}

static inline void write_stacks(const struct run *r, struct instance_state *inst, data_ref buffer)
{
	/* H5 */
	const uint32_t flags = atomic_load_explicit(&inst->flags, memory_order_relaxed);

	if (flags & INSTANCE_STACKTRACE)
		hit_write_stack(r, inst, buffer);
	if (flags & INSTANCE_USERSTACKTRACE)
		hit_write_user_stack(r, inst, buffer);
}

/*
 * (e) and stacks behind the record: options stacktrace and userstacktrace; for functions,
 * func_stack_trace.
 */
bool hit_commit(const struct run *r, const struct arm *arm, struct instance_state *inst,
		data_ref buffer)
{
	const struct hit *h = r->h;

	if (!buffer ||
	    ring_write(r->p, r->slot, buffer, h->writer, h->cpu, ring_time(r->p, h, inst),
		       h->record, h->size))
		return false;
	if (arm->flags & ARM_FUNCTION) {
		if (arm->flags & ARM_STACK)
			hit_write_stack(r, inst, buffer);
	} else if (!(arm->flags & ARM_INTERNAL)) {
		write_stacks(r, inst, buffer);
	}
	return true;
}

/* (d) to (f), after the triggers. `buffer` is 0 if tracing was off when a record is reserved. */
static bool arm_finish(struct run *r, const struct arm *arm, struct instance_state *inst,
		       const struct trigger_arm *t, data_ref buffer, uint32_t place, uint32_t post)
{
	bool wanted, committed = false;

	wanted = buffer && !soft_disabled(r->p, arm) && records(inst, r->h->cpu) &&
		 /* (d) */
		 (!arm->filter || filter_match(plane_config(r->p, arm->filter), r->seen));
	if (r->nest)
		return hit_pending_set(r, place, wanted ? buffer : 0, post);
	if (wanted)
		committed = hit_commit(r, arm, inst, buffer);				/* (e) */
	if (r->synth && r->synth->nr_pending)
		hit_pending_flush(r);
	if (post)
		hit_fire_post(r, t, arm->nr_triggers, post, inst);			/* (f) */
	return committed;
}

static bool run_arm(struct run *r, const struct plan *plan, const struct arm *arm,
		    struct instance_state *inst)
{
	const struct trigger_arm *t = plan_triggers(plan) + arm->first_trigger;
	const bool needs_record = arm->flags & ARM_NEED_RECORD;
	bool disabled = soft_disabled(r->p, arm), on, committed;
	uint32_t post = 0, place = NOT_PENDING;
	data_ref buffer;

	if (!needs_record) {
		fire_all(r, t, arm->nr_triggers, inst);					/* (a) */
		hit_snapshot_refused(r, inst);
		if (disabled)
			return false;
	}
	if ((arm->flags & ARM_PIDS) && hit_pids_refuse(r, plan, inst))			/* (b) */
		return false;
	buffer = live_buffer(inst);							/* H2 */
	on = arm->filter || disabled || records(inst, r->h->cpu);			/* H3 */
	if (r->nest)
		place = hit_pending_take(r, plan, arm);					/* H4 */
	if (needs_record)
		post = fire_matching(r, t, arm->nr_triggers, inst);			/* (c) */
	if (arm->filter || disabled)
		hit_snapshot_refused(r, inst);						/* H3 */
	committed = arm_finish(r, arm, inst, t, on ? buffer : 0, place, post);
	hit_snapshot_refused(r, inst);
	return committed;
}

/*
 * trace_marker: the record is reserved first, so that nothing fires while tracing is off. It is not
 * discarded after that.
 */
static bool run_internal(struct run *r, const struct plan *plan, const struct arm *arm,
			 struct instance_state *inst)
{
	const struct trigger_arm *t = plan_triggers(plan) + arm->first_trigger;
	data_ref buffer = live_buffer(inst);
	uint32_t post;
	bool committed;

	if (!records(inst, r->h->cpu))
		return false;
	post = fire_matching(r, t, arm->nr_triggers, inst);
	committed = hit_commit(r, arm, inst, buffer);
	if (r->synth && r->synth->nr_pending)
		hit_pending_flush(r);
	hit_snapshot_refused(r, inst);
	if (post)
		hit_fire_post(r, t, arm->nr_triggers, post, inst);
	return committed;
}

static void count_hit(const struct run *r, const struct arm *arm)
{
	struct event_state *state = plane_given(r->p, arm->state);

	/* Relaxed: a counter; place_hits() reads it alone. */
	atomic_fetch_add_explicit(&state->hits, 1, memory_order_relaxed);
}

static bool run_one(struct run *r, const struct plan *plan, const struct arm *arm)
{
	struct instance_state *inst = plane_instance(r->p, arm->instance);
	bool committed = false;

	if (arm->flags & (ARM_FOLLOW_FREE | ARM_COUNTED)) {
		if (arm->flags & ARM_COUNTED)
			count_hit(r, arm);
		else
			hit_pids_follow(r, plan, inst, false);
	}
	if ((arm->flags & ARM_INTERNAL) && arm->instance != (r->h->only ? r->h->only - 1 : 0))
		return false;
	if ((arm->flags & FUNCTION_CONDITIONS) && hit_function_refuse(r, arm, inst))
		return false;
	if (arm->flags & ARM_INTERNAL)
		committed = run_internal(r, plan, arm, inst);
	else if (!(arm->flags & (ARM_WATCH | ARM_STAGE)))
		committed = run_arm(r, plan, arm, inst);
	else if (arm->flags & ARM_STAGE)
		hit_stage(r, arm);
	if (arm->flags & ARM_FOLLOW_FORK)
		hit_pids_follow(r, plan, inst, true);
	return committed;
}

uint64_t hit_run_arms(struct run *r, const struct plan *plan)
{
	const struct arm *arms = plan_arms(plan);
	uint64_t committed = 0;

	for (uint32_t i = 0; i < plan->nr_arms; i++)
		if (!passed_over(r, &arms[i]) && run_one(r, plan, &arms[i]) &&
		    arms[i].instance < LAYOUT_GRAPH_INSTANCES)
			committed |= 1ull << arms[i].instance;
	return committed;
}

/* Not inline, so that hit() saves few registers and needs little stack in the plain case. */
static __attribute__((noinline)) uint64_t run_plan(const struct plane *p, struct slot *slot,
						   unsigned int level, const struct plan *plan,
						   const struct hit *h)
{
	struct hit seen;
	struct run r;

	run_begin(&r, p, slot, level, h);
	if (h->ask)
		return hit_function_ask(&r, plan);
	if (h->seen) {
		seen = *h;
		seen.record = h->seen;
		seen.size = h->seen_size;
		r.seen = &seen;
	}
	return hit_run_arms(&r, plan);
}

/* Not 0: it does. */
static inline uint32_t wants_stack(struct instance_state *inst)
{
	/* H5 */
	return atomic_load_explicit(&inst->flags, memory_order_relaxed) &
	       (INSTANCE_STACKTRACE | INSTANCE_USERSTACKTRACE);
}

/*
 * PLAN_RECORD and PLAN_RECORD_IF: whether record_short() may do it. One branch for all conditions:
 * they are many.
 */
static inline __attribute__((always_inline)) bool may_be_short(const struct plane *p,
							       const struct slot *slot,
							       const struct plan *plan,
							       uint64_t special)
{
	struct instance_state *inst = plane_given(p, plan->instance);

	return !(special | wants_stack(inst) | (tracing_on(inst) ^ 1) | ring_lease_only(slot));
}

/* What ring_write_short() returns; -1 also without a buffer. */
static inline __attribute__((always_inline)) int record_short(const struct plane *p,
							      const struct plan *plan,
							      const void *record, uint32_t size)
{
	struct instance_state *inst = plane_given(p, plan->instance);
	const data_ref buffer = live_buffer(inst);

	return buffer ? ring_write_short(p, inst, plane_data(p, buffer), record, size) : -1;
}

/* PLAN_RECORD */
static uint64_t run_record(const struct plane *p, struct slot *slot, unsigned int level,
			   const struct plan *plan, const struct hit *h)
{
	struct instance_state *inst = plane_instance(p, plan_arms(plan)->instance);
	data_ref buffer = live_buffer(inst);

	if (__builtin_expect(wants_stack(inst), 0))
		return run_plan(p, slot, level, plan, h);
	if (!records(inst, h->cpu) || !buffer ||
	    ring_write(p, slot, buffer, h->writer, h->cpu, ring_time(p, h, inst), h->record,
		       h->size))
		return 0;
	return plan->committed;
}

/*
 * What follows the code of a hit that is not recorded. Synthetic events may be pending, or a
 * trigger of one may have changed whether this event is recorded.
 */
static inline __attribute__((always_inline)) uint64_t
hist_finish(struct run *r, const struct plan *plan, struct instance_state *inst)
{
	const struct arm *arm = plan_arms(plan);

	if (!r->synth || (!r->synth->nr_pending && soft_disabled(r->p, arm)))
		return 0;
	if (!arm_finish(r, arm, inst, plan_hist(plan), live_buffer(inst), NOT_PENDING, 0))
		return 0;
	return arm->instance < LAYOUT_GRAPH_INSTANCES ? 1ull << arm->instance : 0;
}

/*
 * Runs the code of a hit that is not recorded and that no filter refused. Inline in both callers: a
 * call costs as much as short code.
 */
static inline __attribute__((always_inline)) uint64_t
run_hist(const struct plane *p, struct slot *slot, unsigned int level, const struct plan *plan,
	 const struct hit *h)
{
	struct instance_state *inst = plane_instance(p, plan_arms(plan)->instance);
	struct run r;

	run_begin(&r, p, slot, level, h);
	r.not_recorded = 1;
	fold(&r, plan_hist(plan), inst);
	return hist_finish(&r, plan, inst);
}

void hit_count(const struct plane *p, struct slot *slot, const struct plan *plan,
	       const struct hit *h, bool matched)
{
	const config_ref filter = plan_hist(plan)->filter;

	if (matched || !filter || filter_match(plane_config(p, filter), h))
		run_hist(p, slot, 0, plan, h);
}

static uint64_t count_rest(const struct plane *p, struct slot *slot, unsigned int level,
			   const struct plan *plan, const struct hit *h,
			   const struct hit_since *done)
{
	const struct code *code = plane_config(p, plan_hist(plan)->code);
	struct run r;

	run_begin(&r, p, slot, level, h);
	r.not_recorded = 1;
	r.time = done->now;
	r.clock = done->clock;
	if (code->flags & CODE_LATENCY)
		hist_event_rest(code, &r, done->elt, done->value);
	else
		hist_fold_rest(code, &r, done->elt, done->value);
	return hist_finish(&r, plan, plane_instance(p, plan_arms(plan)->instance));
}

void hit_count_rest(const struct plane *p, struct slot *slot, const struct plan *plan,
		    const struct hit *h, const struct hit_since *done)
{
	count_rest(p, slot, 0, plan, h, done);
}

/* What run_take_time() does, without a run. */
static inline uint64_t time_of(const struct plane *p, const struct plan *plan, const struct hit *h,
			       uint32_t *clock)
{
	struct instance_state *inst = plane_instance(p, plan_arms(plan)->instance);

	*clock = CLOCK_ID_LOCAL;
	if (h->time)
		return h->time;
	/* H5 */
	*clock = atomic_load_explicit(&inst->clock, memory_order_relaxed);
	return clock_read_by(&plane_header(p)->tsc, inst, *clock);
}

/*
 * Code with a short way of its own. A latency needs a run only when there is one: most events that
 * may end one do not.
 */
static inline __attribute__((always_inline)) bool
count_quickly(const struct plane *p, struct slot *slot, unsigned int level,
	      const struct plan *plan, const struct code *code, const struct hit *h,
	      uint64_t *committed)
{
	struct hit_since done;

	*committed = 0;

	if (code_is_keys(code)) {
		hist_fold_keys(p, code, slot, h);
		return true;
	}
	if (code->ops[0].kind == OP_HIST_TIME) {
		hist_fold_time(p, code, slot, h, time_of(p, plan, h, &done.clock));
		return true;
	}
	if (!(code->flags & CODE_LATENCY))
		return false;
	done.now = time_of(p, plan, h, &done.clock);
	if (hist_fold_since(p, code, slot, h, &done))
		*committed = count_rest(p, slot, level, plan, h, &done);
	return true;
}

/* PLAN_COUNT */
static __attribute__((noinline)) uint64_t
run_count(const struct plane *p, struct slot *slot, unsigned int level, const struct plan *plan,
	  const struct hit *h)
{
	const struct code *code = plane_config(p, plan_hist(plan)->code);
	uint64_t committed;

	if (!plan_only_counts(p, plan))
		return run_plan(p, slot, level, plan, h);
	if (!hist_takes(p, plan, h))
		return 0;
	if (count_quickly(p, slot, level, plan, code, h, &committed))
		return committed;
	return run_hist(p, slot, level, plan, h);
}

/*
 * PLAN_COUNT_KEY1: does what hist_fold() does for OP_HIST_KEY1, for a record that has the key, but
 * without the way there. Loads are as wide as the field: a wider load would wait for the stores
 * that filled the record.
 */
static inline __attribute__((always_inline)) void key1_add(const struct plane *p, struct slot *slot,
							   const struct plan *plan,
							   const void *record, uint32_t writer)
{
	const char *at = (const char *)record + plan->key_off;
	const struct map_view map =
		map_view_of(p, plan->map, (const void *)((const char *)plan + plan->layout));
	uint32_t word, elt;
	uint64_t key;

	if (is_paused(p, plan->trigger_state))
		return;
	if (plan->key_load == OP_LOAD_U64) {
		__builtin_memcpy(&key, at, 8);
	} else {
		__builtin_memcpy(&word, at, 4);
		key = plan->key_load == OP_LOAD_U32 ? word : (uint64_t)(int64_t)(int32_t)word;
	}
	elt = map_insert_word(map, slot, key);
	if (elt)
		map_add(map, elt, 0, 1, writer);
}

static uint64_t run_count_key1(const struct plane *p, struct slot *slot, unsigned int level,
			       const struct plan *plan, const struct hit *h)
{
	if (!plan_only_counts(p, plan) || plan->key_end > h->size)
		return run_plan(p, slot, level, plan, h);
	key1_add(p, slot, plan, h->record, h->writer);
	return 0;
}

/* ---- hit(): the kinds of plans, each with the end of the hit ---- */

/*
 * None of them is inline: hit() ends with a jump to one of them, so it saves no registers, and each
 * of them saves only its own.
 */
#define HIT_KIND static __attribute__((noinline, aligned(64))) uint64_t

HIT_KIND hit_by_plan(const struct plane *p, struct slot *slot, unsigned int level,
		     const struct plan *plan, const struct hit *h)
{
	const uint64_t committed = run_plan(p, slot, level, plan, h);

	hit_leave(slot, level);
	return committed;
}

/* What keeps a hit from the short way: somebody else's ring, or not all of its plan. */
static inline uint64_t is_special(const struct hit *h)
{
	return h->mask | h->ask | h->time | h->writer;
}

HIT_KIND hit_record_long(const struct plane *p, struct slot *slot, unsigned int level,
			 const struct plan *plan, const struct hit *h)
{
	const uint64_t committed = h->mask || h->ask ? run_plan(p, slot, level, plan, h)
						     : run_record(p, slot, level, plan, h);

	hit_leave(slot, level);
	return committed;
}

HIT_KIND hit_record_short(const struct plane *p, struct slot *slot, unsigned int level,
			  const struct plan *plan, const struct hit *h)
{
	const int rc = record_short(p, plan, h->record, h->size);

	if (rc < 0)
		return hit_record_long(p, slot, level, plan, h);
	hit_leave(slot, level);
	return rc ? 0 : plan->committed;
}

static inline __attribute__((always_inline)) uint64_t
hit_record(const struct plane *p, struct slot *slot, unsigned int level, const struct plan *plan,
	   const struct hit *h)
{
	return __builtin_expect(may_be_short(p, slot, plan, is_special(h)), 1)
		       ? hit_record_short(p, slot, level, plan, h)
		       : hit_record_long(p, slot, level, plan, h);
}

HIT_KIND hit_record_if(const struct plane *p, struct slot *slot, unsigned int level,
		       const struct plan *plan, const struct hit *h)
{
	if (!filter_match(plane_config(p, plan_arms(plan)->filter), h)) {
		hit_leave(slot, level);
		return 0;
	}
	return hit_record(p, slot, level, plan, h);
}

HIT_KIND hit_count_key1(const struct plane *p, struct slot *slot, unsigned int level,
			const struct plan *plan, const struct hit *h)
{
	const uint64_t committed = run_count_key1(p, slot, level, plan, h);

	hit_leave(slot, level);
	return committed;
}

HIT_KIND hit_count_all(const struct plane *p, struct slot *slot, unsigned int level,
		       const struct plan *plan, const struct hit *h)
{
	const uint64_t committed = run_count(p, slot, level, plan, h);

	hit_leave(slot, level);
	return committed;
}

/*
 * Aligned: for an event that is not armed, the time to load this function's code is the whole cost.
 */
__attribute__((aligned(64))) uint64_t hit(const struct plane *p, struct slot *slot,
					  const struct hit *h)
{
	const struct record_common *common = h->record;
	const struct plan *plan;
	unsigned int level;

	if (h->cpu >= plane_header(p)->nr_cpus || h->size < sizeof(*common) ||
	    !hit_enter(p, slot, &level))
		return 0;
	plan = plan_of(p, h->entry ? (uint16_t)h->entry : common->type);
	if (!plan) {
		hit_leave(slot, level);
		return 0;
	}
	if (plan->kind == PLAN_RECORD)
		return hit_record(p, slot, level, plan, h);
	if (__builtin_expect(h->mask || h->ask, 0))
		return hit_by_plan(p, slot, level, plan, h);
	if (plan->kind == PLAN_RECORD_IF)
		return hit_record_if(p, slot, level, plan, h);
	if (plan->kind == PLAN_COUNT_KEY1)
		return hit_count_key1(p, slot, level, plan, h);
	if (plan->kind == PLAN_COUNT)
		return hit_count_all(p, slot, level, plan, h);
	return hit_by_plan(p, slot, level, plan, h);
}

/* ---- What most hits of a running thread are ---- */

static inline void record_plainly(const struct plane *p, struct slot *slot,
				  struct instance_state *inst, const void *record, uint32_t size,
				  uint32_t cpu)
{
	data_ref buffer = live_buffer(inst);

	if (records(inst, cpu) && buffer)
		ring_write(p, slot, buffer, 0, cpu, 0, record, size);
}

static inline enum hit_plain plain_record(const struct plane *p, struct slot *slot,
					  const struct plan *plan, const void *record,
					  uint32_t size, uint32_t cpu)
{
	struct instance_state *inst = plane_instance(p, plan_arms(plan)->instance);

	if (__builtin_expect(wants_stack(inst), 0))
		return HIT_LONG;
	record_plainly(p, slot, inst, record, size, cpu);
	return HIT_RECORDED;
}

/* PLAN_COUNT_KEY1, recorded or not: counting does not change whether it is recorded. */
static inline enum hit_plain plain_key1(const struct plane *p, struct slot *slot,
					const struct plan *plan, const void *record, uint32_t size,
					uint32_t cpu)
{
	struct instance_state *inst = plane_instance(p, plan_arms(plan)->instance);
	const bool recorded = !plan_only_counts(p, plan);

	if (plan->key_end > size || (recorded && wants_stack(inst)))
		return HIT_LONG;
	key1_add(p, slot, plan, record, 0);
	if (!recorded)
		return HIT_COUNTED;
	record_plainly(p, slot, inst, record, size, cpu);
	return HIT_DONE;
}

/* PLAN_FUNCTION */
static __attribute__((noinline)) void plain_function(const struct plane *p, struct slot *slot,
						     unsigned int level, const struct plan *plan,
						     const void *record, uint32_t size,
						     uint32_t cpu)
{
	const struct hit h = { .record = record, .size = size, .cpu = cpu };
	struct run r;

	run_begin(&r, p, slot, level, &h);
	hit_run_arms(&r, plan);
}

enum hit_plain hit_plain(const struct plane *p, struct slot *slot, const void *record,
			 uint32_t size, uint64_t where)
{
	const struct record_common *common = record;
	const uint32_t cpu = (uint32_t)where, entry = (uint32_t)(where >> 32);
	const struct plan *plan;
	unsigned int level;
	enum hit_plain done = HIT_DONE;

	if (cpu >= plane_header(p)->nr_cpus || !hit_enter(p, slot, &level))
		return HIT_DONE;
	plan = plan_of(p, entry ? (uint16_t)entry : common->type);
	if (!plan)
		;
	else if (plan->wants)
		done = HIT_LONG;
	else if (plan->kind == PLAN_RECORD)
		done = plain_record(p, slot, plan, record, size, cpu);
	else if (plan->kind == PLAN_COUNT_KEY1)
		done = plain_key1(p, slot, plan, record, size, cpu);
	else if (plan->kind == PLAN_FUNCTION)
		plain_function(p, slot, level, plan, record, size, cpu);
	else
		done = HIT_LONG;
	hit_leave(slot, level);
	return done;
}
