/* SPDX-License-Identifier: MIT */
/*
 * hit.c - one record through one event's plan, in the order of R7
 *
 * H1  enter stores the slot's depth, then the epoch that it sees, then loads
 *     the plan. The server's side of this is limbo.c.
 * H2  The buffer is chosen before the triggers of step (c), so that the record
 *     of a hit that takes a snapshot lands in the snapshot, as in the kernel.
 * H3  Like the kernel, which fills a scratch record when an event may yet be
 *     discarded (filter, soft-disabled) and else reserves in the ring at once:
 *     in the first case tracing_on counts at the commit, in the second at (b).
 * H4  A synthetic event runs its plan inside the program that makes it, so that
 *     later triggers of its cause see what its own did. Only its records wait,
 *     with their post triggers, until the cause has been committed; the place
 *     in that queue is taken before its triggers run, so that a record comes
 *     before those that it causes itself.
 */
#include "plane/arch/fence.h"
#include "plane/clock.h"
#include "plane/map.h"
#include "plane/plane.h"
#include "plane/program.h"
#include "plane/ring.h"
#include "plane/run.h"

void hit_miss(struct slot *slot)
{
	atomic_store_explicit(&slot->missed, atomic_load_explicit(&slot->missed, memory_order_relaxed) + 1,
			      memory_order_relaxed);
}

static bool hit_enter(const struct plane *p, struct slot *slot, unsigned int *level)
{
	uint32_t depth = atomic_load_explicit(&slot->depth, memory_order_relaxed);
	const struct config_header *h = plane_header(p);

	if (depth >= LAYOUT_HIT_LEVELS) {
		hit_miss(slot);
		return false;
	}
	*level = depth;
	atomic_store_explicit(&slot->depth, depth + 1, memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst);	/* H1: the rest of it is the server's membarrier */
	if (__builtin_expect(atomic_load_explicit(&h->fence, memory_order_relaxed), 0))
		fence_full();	/* pairs with the fence in limbo_barrier() */
	if (!depth)
		atomic_store_explicit(&slot->epoch, atomic_load_explicit(&h->epoch, memory_order_acquire),
				      memory_order_release);
	return true;
}

static void hit_leave(struct slot *slot, unsigned int level)
{
	/* Release: all that the hit read was read before; pairs with the acquire in oldest_epoch(). */
	atomic_store_explicit(&slot->depth, level, memory_order_release);
}

/* ---- pid sets ---- */

static uint64_t *pid_word(const struct plane *p, _Atomic data_ref *word, uint32_t pid)
{
	data_ref ref = atomic_load_explicit(word, memory_order_acquire);	/* pairs with session_publish() */

	return ref ? &((struct pid_set *)plane_data(p, ref))->bits[pid % 4194304 / 64] : NULL;
}

static bool pid_listed(const uint64_t *word, uint32_t pid)
{
	return __atomic_load_n(word, __ATOMIC_RELAXED) >> (pid % 64) & 1;
}

static bool pid_missing(const struct plane *p, struct instance_state *inst, uint32_t pid)
{
	const uint64_t *word = pid_word(p, &inst->pids, pid);

	return word && !pid_listed(word, pid);
}

static bool pid_unwanted(const struct plane *p, struct instance_state *inst, uint32_t pid)
{
	const uint64_t *word = pid_word(p, &inst->no_pids, pid);

	return word && pid_listed(word, pid);
}

static uint32_t other_pid(const struct plan *plan, const struct hit *h)
{
	uint32_t pid = 0;

	if (plan->other_pid + sizeof(pid) <= h->size)
		pid = *(const uint32_t *)((const char *)h->record + plan->other_pid);
	return pid;
}

/* set_event_pid and set_event_notrace_pid say no to this record. */
static bool pid_filtered(const struct run *r, const struct plan *plan, struct instance_state *inst)
{
	uint32_t pid = (uint32_t)((const struct record_common *)r->h->record)->pid;
	bool missing = pid_missing(r->p, inst, pid), unwanted = pid_unwanted(r->p, inst, pid);
	uint32_t other;

	if (plan->other_kind == OTHER_PID_NONE || !(missing || unwanted))
		return missing || unwanted;
	other = other_pid(plan, r->h);
	if (plan->other_kind == OTHER_PID_SWITCH)
		return (missing && pid_missing(r->p, inst, other)) ||
		       (unwanted && pid_unwanted(r->p, inst, other));
	return pid_missing(r->p, inst, other) || pid_unwanted(r->p, inst, other);
}

static void pid_follow_one(const struct plane *p, _Atomic data_ref *set, uint32_t parent, uint32_t child, bool join)
{
	const uint64_t *of_parent = pid_word(p, set, parent);
	uint64_t *of_child = pid_word(p, set, child);
	uint64_t bit = 1ull << (child % 64);

	if (!of_child)
		return;
	/* Relaxed: a bit orders nothing. */
	if (!join)
		__atomic_fetch_and(of_child, ~bit, __ATOMIC_RELAXED);
	else if (pid_listed(of_parent, parent))
		__atomic_fetch_or(of_child, bit, __ATOMIC_RELAXED);
}

static void pid_follow(const struct run *r, const struct plan *plan, struct instance_state *inst, bool join)
{
	uint32_t parent = (uint32_t)((const struct record_common *)r->h->record)->pid;
	uint32_t child = other_pid(plan, r->h);

	pid_follow_one(r->p, &inst->pids, parent, child, join);
	pid_follow_one(r->p, &inst->no_pids, parent, child, join);
}

/* ---- triggers ---- */

/* Takes one of the firings that are left. Relaxed: only that each is taken once matters. */
static bool count_take(struct trigger_state *state)
{
	int64_t left = atomic_load_explicit(&state->count, memory_order_relaxed);

	while (left > 0)
		if (atomic_compare_exchange_weak_explicit(&state->count, &left, left - 1,
							  memory_order_relaxed, memory_order_relaxed))
			return true;
	return false;
}

static bool may_fire(const struct run *r, const struct trigger_arm *t)
{
	return !(t->flags & TRIGGER_COUNTED) || count_take(plane_data(r->p, t->state));
}

static void fire_tracing(const struct run *r, const struct trigger_arm *t, struct instance_state *inst, uint32_t on)
{
	/* As in the kernel a firing that changes nothing does not use up the count. */
	if (atomic_load_explicit(&inst->tracing_on, memory_order_relaxed) != on && may_fire(r, t))
		atomic_store_explicit(&inst->tracing_on, on, memory_order_relaxed);
}

static void swap_buffers(struct instance_state *inst)
{
	if (!atomic_load_explicit(&inst->buffers[1], memory_order_relaxed))
		return;
	/* Relaxed: both buffers are there all the time, readers go by `snapshots`. */
	atomic_fetch_xor_explicit(&inst->live, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&inst->snapshots, 1, memory_order_release);
}

static void fire_snapshot(const struct run *r, const struct trigger_arm *t, struct instance_state *inst)
{
	if (may_fire(r, t))
		swap_buffers(inst);
}

void hit_snapshot(struct run *cause, uint32_t instance)
{
	if (instance < LAYOUT_MAX_INSTANCES)
		swap_buffers(plane_instance(cause->p, instance));
}

static void fire_switch_event(const struct run *r, const struct trigger_arm *t, uint32_t disabled)
{
	struct event_state *target = plane_data(r->p, t->target);

	if (atomic_load_explicit(&target->soft_disabled, memory_order_relaxed) != disabled && may_fire(r, t))
		atomic_store_explicit(&target->soft_disabled, disabled, memory_order_relaxed);
}

static const struct arm *plan_arms(const struct plan *plan)
{
	return (const struct arm *)(plan + 1);
}

static const struct trigger_arm *plan_triggers(const struct plan *plan)
{
	return (const struct trigger_arm *)(plan_arms(plan) + plan->nr_arms);
}

static const struct plan *plan_of(const struct plane *p, uint16_t event_id)
{
	config_ref ref;

	/* H1: pairs with the release in session_publish(). */
	ref = atomic_load_explicit(&plane_event(p, event_id)->plan, memory_order_acquire);
	return ref ? plane_config(p, ref) : NULL;
}

/* All hists of the target event in the target's instance. */
static void switch_hists(const struct run *r, data_ref target, uint32_t paused)
{
	const struct plan *plan = plan_of(r->p, (uint16_t)((struct event_state *)plane_data(r->p, target))->event_id);

	for (uint32_t i = 0; plan && i < plan->nr_arms; i++) {
		const struct arm *arm = &plan_arms(plan)[i];
		const struct trigger_arm *t = plan_triggers(plan) + arm->first_trigger;

		for (uint32_t k = 0; arm->state == target && k < arm->nr_triggers; k++) {
			struct trigger_state *state = plane_data(r->p, t[k].state);

			if (t[k].kind == TRIGGER_HIST)
				atomic_store_explicit(&state->paused, paused, memory_order_relaxed);
		}
	}
}

static void fire_switch_hist(const struct run *r, const struct trigger_arm *t, uint32_t paused)
{
	if (may_fire(r, t))
		switch_hists(r, t->target, paused);
}

static inline bool records(struct instance_state *inst, uint32_t cpu)
{
	return atomic_load_explicit(&inst->tracing_on, memory_order_relaxed) &&
	       (__atomic_load_n(&inst->cpumask[cpu / 64], __ATOMIC_RELAXED) >> (cpu % 64) & 1);
}

static void write_stack(const struct run *r, struct instance_state *inst, data_ref buffer)
{
	struct stack_record *rec = &plane_scratch(r->p, r->slot, r->level)->stack;
	const struct record_common *common = r->h->record;
	uint32_t nr = r->h->nr_stack < LAYOUT_STACK_MAX ? r->h->nr_stack : LAYOUT_STACK_MAX;

	if (!r->h->stack || !buffer || !records(inst, r->h->cpu))
		return;
	if (r->h->stack_wanted) {
		if (inst - plane_instance(r->p, 0) < 64)
			*r->h->stack_wanted |= 1ull << (inst - plane_instance(r->p, 0));
		return;
	}
	if (r->h->stack_record) {
		ring_write(r->p, r->slot, buffer, r->h->writer, r->h->cpu, r->h->stack_time, r->h->stack_record,
			   r->h->stack_size);
		return;
	}
	rec->type = LAYOUT_STACK_ID;
	rec->flags = common->flags;
	rec->preempt_count = common->preempt_count;
	rec->pid = common->pid;
	rec->size = (int32_t)nr;
	for (uint32_t i = 0; i < nr; i++)
		rec->caller[i] = r->h->stack[i];
	ring_write(r->p, r->slot, buffer, r->h->writer, r->h->cpu, r->h->time, rec,
		   (uint32_t)offsetof(struct stack_record, caller) + nr * 8);
}

static data_ref live_buffer(struct instance_state *inst)
{
	uint32_t live = atomic_load_explicit(&inst->live, memory_order_relaxed) & 1;

	/* Pairs with the release in session_publish(). */
	return atomic_load_explicit(&inst->buffers[live], memory_order_acquire);
}

static inline void fold(struct run *r, const struct trigger_arm *t, struct instance_state *inst)
{
	const struct program *prog = plane_config(r->p, t->program);

	if (__builtin_expect(r->nest >= HIT_FRAMES, 0)) {
		hit_miss(r->slot);
		return;
	}
	if ((prog->flags & PROGRAM_NEEDS_TIME) && !r->time)
		r->time = clock_now(&plane_header(r->p)->tsc, inst);
	hist_fold(prog, r);
}

static void fire(struct run *r, const struct trigger_arm *t, struct instance_state *inst)
{
	switch ((enum trigger_kind)t->kind) {
	case TRIGGER_TRACEON:
	case TRIGGER_TRACEOFF:
		fire_tracing(r, t, inst, t->kind == TRIGGER_TRACEON);
		break;
	case TRIGGER_SNAPSHOT:
		fire_snapshot(r, t, inst);
		break;
	case TRIGGER_STACKTRACE:
		if (may_fire(r, t))
			write_stack(r, inst, live_buffer(inst));
		break;
	case TRIGGER_ENABLE_EVENT:
	case TRIGGER_DISABLE_EVENT:
		fire_switch_event(r, t, t->kind == TRIGGER_DISABLE_EVENT);
		break;
	case TRIGGER_ENABLE_HIST:
	case TRIGGER_DISABLE_HIST:
		fire_switch_hist(r, t, t->kind == TRIGGER_DISABLE_HIST);
		break;
	case TRIGGER_HIST:
	case TRIGGER_PROBE:
		fold(r, t, inst);
		break;
	}
}

static bool trigger_paused(const struct run *r, const struct trigger_arm *t)
{
	const struct trigger_state *state = plane_data(r->p, t->state);

	return t->kind == TRIGGER_HIST && atomic_load_explicit(&state->paused, memory_order_relaxed);
}

/* (a) */
static void fire_all(struct run *r, const struct trigger_arm *t, uint32_t nr, struct instance_state *inst)
{
	for (uint32_t i = 0; i < nr; i++)
		fire(r, &t[i], inst);
}

/* (c). Returns the kinds of the post triggers that are to fire at (f), one bit each. */
static uint32_t fire_matching(struct run *r, const struct trigger_arm *t, uint32_t nr, struct instance_state *inst)
{
	uint32_t post = 0;

	for (uint32_t i = 0; i < nr; i++) {
		if (trigger_paused(r, &t[i]))
			continue;
		if (t[i].filter && !filter_match(r->p, plane_config(r->p, t[i].filter), r->seen))
			continue;
		if (trigger_kind_is_post(t[i].kind))
			post |= 1u << t[i].kind;
		else
			fire(r, &t[i], inst);
	}
	return post;
}

/* (f). An event has at most one trigger of a post kind. */
static void fire_post(struct run *r, const struct trigger_arm *t, uint32_t nr, uint32_t post,
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
	state = plane_data(p, arm->state);
	return atomic_load_explicit(&state->soft_disabled, memory_order_relaxed);
}

/* (e) and the option stacktrace. */
static bool commit(const struct run *r, const struct arm *arm, struct instance_state *inst, data_ref buffer)
{
	const struct hit *h = r->h;

	if (!buffer || ring_write(r->p, r->slot, buffer, h->writer, h->cpu, h->time, h->record, h->size))
		return false;
	if ((atomic_load_explicit(&inst->flags, memory_order_relaxed) & INSTANCE_STACKTRACE) &&
	    !(arm->flags & ARM_INTERNAL))
		write_stack(r, inst, buffer);
	return true;
}

enum { NOT_PENDING = HIT_PENDING };

/* H4: the place of a synthetic event's record; it is not to be written until pending_set() says so. */
static uint32_t pending_take(const struct run *r, const struct arm *arm, const struct trigger_arm *t)
{
	struct hit_synth *synth = r->synth;

	if (synth->nr_pending >= HIT_PENDING) {
		hit_miss(r->slot);
		return NOT_PENDING;
	}
	synth->pending[synth->nr_pending] = (struct hit_pending){
		.arm = (config_ref)((const char *)arm - r->p->config),
		.triggers = (config_ref)((const char *)t - r->p->config),
		.record = (uint32_t)((const char *)r->h->record - synth->arena), .size = r->h->size,
	};
	return synth->nr_pending++;
}

/* Gives the place back where nothing is to be done. */
static bool pending_set(const struct run *r, uint32_t place, data_ref buffer, uint32_t post)
{
	struct hit_synth *synth = r->synth;

	if (place == NOT_PENDING)
		return false;
	synth->pending[place].buffer = buffer;
	synth->pending[place].post = post;
	if (!buffer && !post && place == synth->nr_pending - 1)
		synth->nr_pending--;
	return buffer;
}

static void pending_write(struct run *r, const struct hit_pending *e)
{
	const struct arm *arm = plane_config(r->p, e->arm);
	struct instance_state *inst = plane_instance(r->p, arm->instance);

	/* Asked again: a traceoff of a record before this one may have fired. */
	if (e->buffer && records(inst, r->h->cpu))
		commit(r, arm, inst, e->buffer);
	if (e->post)
		fire_post(r, plane_config(r->p, e->triggers), arm->nr_triggers, e->post, inst);
}

/* What a synthetic event has of its cause. */
static void synth_hit(struct hit *h, const struct hit *cause, const void *record, uint32_t size)
{
	*h = (struct hit){ .record = record, .size = size, .cpu = cause->cpu, .time = cause->time,
			   .comm = cause->comm, .stack = cause->stack, .nr_stack = cause->nr_stack,
			   .writer = cause->writer, .synth_preempt = cause->synth_preempt };
}

/* (e): the records of synthetic events. */
static __attribute__((noinline)) void pending_flush(struct run *r)
{
	struct run w = { .p = r->p, .slot = r->slot, .level = r->level, .time = r->h->time };
	struct hit_synth *synth = r->synth;
	struct hit h;

	for (uint32_t i = 0; i < synth->nr_pending; i++) {
		const struct hit_pending *e = &synth->pending[i];

		synth_hit(&h, r->h, synth->arena + e->record, e->size);
		w.h = w.seen = &h;
		pending_write(&w, e);
	}
	synth->nr_pending = 0;
	synth->used = 0;
}

/* (d) to (f), after the triggers. `buffer` is 0 when it was no time to reserve. */
static bool arm_finish(struct run *r, const struct arm *arm, struct instance_state *inst,
		       const struct trigger_arm *t, data_ref buffer, uint32_t place, uint32_t post)
{
	bool wanted, committed = false;

	wanted = buffer && !soft_disabled(r->p, arm) && records(inst, r->h->cpu) &&
		 (!arm->filter || filter_match(r->p, plane_config(r->p, arm->filter), r->seen));	/* (d) */
	if (r->nest)
		return pending_set(r, place, wanted ? buffer : 0, post);
	if (wanted)
		committed = commit(r, arm, inst, buffer);				/* (e) */
	if (r->synth && r->synth->nr_pending)
		pending_flush(r);
	if (post)
		fire_post(r, t, arm->nr_triggers, post, inst);				/* (f) */
	return committed;
}

static bool run_arm(struct run *r, const struct plan *plan, const struct arm *arm, struct instance_state *inst)
{
	const struct trigger_arm *t = plan_triggers(plan) + arm->first_trigger;
	const bool needs_record = arm->flags & ARM_NEED_RECORD;
	bool disabled = soft_disabled(r->p, arm), on;
	uint32_t post = 0, place = NOT_PENDING;
	data_ref buffer;

	if (!needs_record) {
		fire_all(r, t, arm->nr_triggers, inst);					/* (a) */
		if (disabled)
			return false;
	}
	if ((arm->flags & ARM_PIDS) && pid_filtered(r, plan, inst))			/* (b) */
		return false;
	buffer = live_buffer(inst);							/* H2 */
	on = arm->filter || disabled || records(inst, r->h->cpu);			/* H3 */
	if (r->nest)
		place = pending_take(r, arm, t);					/* H4 */
	if (needs_record)
		post = fire_matching(r, t, arm->nr_triggers, inst);			/* (c) */
	return arm_finish(r, arm, inst, t, on ? buffer : 0, place, post);
}

/* trace_marker: reserved first, so that with tracing off nothing fires; never discarded after that. */
static bool run_internal(struct run *r, const struct plan *plan, const struct arm *arm, struct instance_state *inst)
{
	const struct trigger_arm *t = plan_triggers(plan) + arm->first_trigger;
	data_ref buffer = live_buffer(inst);
	uint32_t post;
	bool committed;

	if (!records(inst, r->h->cpu))
		return false;
	post = fire_matching(r, t, arm->nr_triggers, inst);
	committed = commit(r, arm, inst, buffer);
	if (r->synth && r->synth->nr_pending)
		pending_flush(r);
	if (post)
		fire_post(r, t, arm->nr_triggers, post, inst);
	return committed;
}

static bool run_one(struct run *r, const struct plan *plan, const struct arm *arm)
{
	struct instance_state *inst = plane_instance(r->p, arm->instance);
	bool committed = false;

	if (arm->flags & ARM_FOLLOW_FREE)
		pid_follow(r, plan, inst, false);
	if ((arm->flags & ARM_INTERNAL) && arm->instance != (r->h->only ? r->h->only - 1 : 0))
		return false;
	if (arm->flags & ARM_INTERNAL)
		committed = run_internal(r, plan, arm, inst);
	else if (!(arm->flags & ARM_WATCH))
		committed = run_arm(r, plan, arm, inst);
	if (arm->flags & ARM_FOLLOW_FORK)
		pid_follow(r, plan, inst, true);
	return committed;
}

static inline void run_begin(struct run *r, const struct plane *p, struct slot *slot, unsigned int level,
			     const struct hit *h)
{
	*r = (struct run){ .p = p, .slot = slot, .level = level, .h = h, .seen = h, .time = h->time };
}

static bool passed_over(const struct run *r, const struct arm *arm)
{
	return r->only && arm->instance != r->only - 1;
}

static uint64_t run_arms(struct run *r, const struct plan *plan)
{
	const struct arm *arms = plan_arms(plan);
	uint64_t committed = 0;

	for (uint32_t i = 0; i < plan->nr_arms; i++)
		if (!passed_over(r, &arms[i]) && run_one(r, plan, &arms[i]) && arms[i].instance < 64)
			committed |= 1ull << arms[i].instance;
	return committed;
}

/* Kept out of hit() so that the plain case saves few registers and needs little stack. */
static __attribute__((noinline)) uint64_t run_plan(const struct plane *p, struct slot *slot, unsigned int level,
						   const struct plan *plan, const struct hit *h)
{
	struct hit seen;
	struct run r;

	run_begin(&r, p, slot, level, h);
	if (h->seen) {
		seen = *h;
		seen.record = h->seen;
		seen.size = h->seen_size;
		r.seen = &seen;
	}
	return run_arms(&r, plan);
}

/* PLAN_RECORD */
static uint64_t run_record(const struct plane *p, struct slot *slot, unsigned int level, const struct plan *plan,
			   const struct hit *h)
{
	struct instance_state *inst = plane_instance(p, plan_arms(plan)->instance);
	uint32_t instance = plan_arms(plan)->instance;
	data_ref buffer = live_buffer(inst);

	if (__builtin_expect(atomic_load_explicit(&inst->flags, memory_order_relaxed) & INSTANCE_STACKTRACE, 0))
		return run_plan(p, slot, level, plan, h);
	if (!records(inst, h->cpu) || !buffer ||
	    ring_write(p, slot, buffer, h->writer, h->cpu, h->time, h->record, h->size))
		return 0;
	return instance < 64 ? 1ull << instance : 0;
}

/* Whether PLAN_COUNT may take the short way: the event is not recorded. */
static bool only_counts(const struct plane *p, const struct plan *plan)
{
	const struct event_state *state = plane_data(p, plan->arm_state);

	if (!(plan->arm_flags & ARM_SOFT_MODE))
		return !(plan->arm_flags & ARM_RECORD);
	return atomic_load_explicit(&state->soft_disabled, memory_order_relaxed);
}

static bool is_paused(const struct plane *p, const struct plan *plan)
{
	const struct trigger_state *state = plane_data(p, plan->trigger_state);

	return atomic_load_explicit(&state->paused, memory_order_relaxed);
}

/* PLAN_COUNT */
static uint64_t run_count(const struct plane *p, struct slot *slot, unsigned int level, const struct plan *plan,
			  const struct hit *h)
{
	const struct arm *arm = plan_arms(plan);
	const struct trigger_arm *t = (const struct trigger_arm *)(arm + 1);
	struct instance_state *inst = plane_instance(p, arm->instance);
	struct run r;

	if (!only_counts(p, plan))
		return run_plan(p, slot, level, plan, h);
	if (is_paused(p, plan))
		return 0;
	run_begin(&r, p, slot, level, h);
	fold(&r, t, inst);
	/* Synthetic events wait, and they may even have changed whether this one is recorded. */
	if (!r.synth || !arm_finish(&r, arm, inst, t, live_buffer(inst), NOT_PENDING, 0))
		return 0;
	return arm->instance < 64 ? 1ull << arm->instance : 0;
}

/*
 * PLAN_COUNT_KEY1: what hist_fold() does for OP_HIST_KEY1, without the way
 * there. Loads are as wide as the field: a wider one would wait for the stores
 * that filled the record. False: this hit has to go the long way.
 */
static inline bool count_key1(const struct plane *p, struct slot *slot, const struct plan *plan, const void *record,
			      uint32_t size, uint32_t cpu, uint32_t writer)
{
	const char *at = (const char *)record + plan->key_off;
	struct map *map = plane_data(p, plan->map);
	uint32_t word, elt;
	uint64_t key;

	if (!only_counts(p, plan) || plan->key_off + 8u > size)
		return false;
	if (is_paused(p, plan))
		return true;
	if (plan->key_load == OP_LOAD_U64) {
		__builtin_memcpy(&key, at, 8);
	} else {
		__builtin_memcpy(&word, at, 4);
		key = plan->key_load == OP_LOAD_U32 ? word : (uint64_t)(int64_t)(int32_t)word;
	}
	elt = map_insert(map, slot, &key);
	if (elt)
		map_add(map, elt, 0, 1, cpu, writer);
	return true;
}

static uint64_t run_count_key1(const struct plane *p, struct slot *slot, unsigned int level,
			       const struct plan *plan, const struct hit *h)
{
	if (count_key1(p, slot, plan, h->record, h->size, h->cpu, h->writer))
		return 0;
	return run_count(p, slot, level, plan, h);
}

/* The short way of an event that is not recorded and has one hist. */
static inline void synth_count(struct run *r, const struct plan *plan)
{
	const struct arm *arm = plan_arms(plan);

	if (!is_paused(r->p, plan))
		fold(r, (const struct trigger_arm *)(arm + 1), plane_instance(r->p, arm->instance));
}

/* The record's own arms and nothing of its cause's: the mask that hit() returns is the cause's alone. */
bool hit_synth(struct run *cause, const void *record, uint32_t size, uint32_t only)
{
	const struct plan *plan = plan_of(cause->p, ((const struct record_common *)record)->type);
	uint32_t pending = cause->synth->nr_pending;
	struct hit h;
	struct run r;

	if (!plan)
		return false;
	if (__builtin_expect(cause->nest >= HIT_FRAMES, 0)) {
		hit_miss(cause->slot);
		return false;
	}
	synth_hit(&h, cause->h, record, size);
	run_begin(&r, cause->p, cause->slot, cause->level, &h);
	r.nest = cause->nest + 1;
	r.synth = cause->synth;
	r.only = only;
	if ((plan->shape == PLAN_COUNT || plan->shape == PLAN_COUNT_KEY1) && only_counts(cause->p, plan) &&
	    !passed_over(&r, plan_arms(plan)))
		synth_count(&r, plan);
	else
		run_arms(&r, plan);
	return r.synth->nr_pending > pending;
}

uint64_t hit(const struct plane *p, struct slot *slot, const struct hit *h)
{
	const struct record_common *common = h->record;
	const struct plan *plan;
	uint64_t committed = 0;
	unsigned int level;

	if (h->cpu >= plane_header(p)->nr_cpus || h->size < sizeof(*common) || !hit_enter(p, slot, &level))
		return 0;
	plan = plan_of(p, common->type);
	if (!plan)
		;
	else if (plan->shape == PLAN_RECORD)
		committed = run_record(p, slot, level, plan, h);
	else if (plan->shape == PLAN_COUNT_KEY1)
		committed = run_count_key1(p, slot, level, plan, h);
	else if (plan->shape == PLAN_COUNT)
		committed = run_count(p, slot, level, plan, h);
	else
		committed = run_plan(p, slot, level, plan, h);
	hit_leave(slot, level);
	return committed;
}

/* ---- What most hits of a running thread are ---- */

static inline bool plain_record(const struct plane *p, struct slot *slot, const struct plan *plan, const void *record,
				uint32_t size, uint32_t cpu)
{
	struct instance_state *inst = plane_instance(p, plan_arms(plan)->instance);
	data_ref buffer = live_buffer(inst);

	if (__builtin_expect(atomic_load_explicit(&inst->flags, memory_order_relaxed) &
			     (INSTANCE_STACKTRACE | INSTANCE_USERSTACKTRACE), 0))
		return false;
	if (records(inst, cpu) && buffer)
		ring_write(p, slot, buffer, 0, cpu, 0, record, size);
	return true;
}

bool hit_plain(const struct plane *p, struct slot *slot, const void *record, uint32_t size, uint32_t cpu)
{
	const struct record_common *common = record;
	const struct plan *plan;
	unsigned int level;
	bool done = true;

	if (cpu >= plane_header(p)->nr_cpus || !hit_enter(p, slot, &level))
		return true;
	plan = plan_of(p, common->type);
	if (!plan)
		;
	else if (plan->wants)
		done = false;
	else if (plan->shape == PLAN_RECORD)
		done = plain_record(p, slot, plan, record, size, cpu);
	else if (plan->shape == PLAN_COUNT_KEY1)
		done = count_key1(p, slot, plan, record, size, cpu, 0);
	else
		done = false;
	hit_leave(slot, level);
	return done;
}
