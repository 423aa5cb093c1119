/* SPDX-License-Identifier: MIT */
/*
 * synth.c - synthetic events and event probes: hits inside a hit
 *
 * H4  A synthetic event runs its plan inside the code that makes it. So later triggers of the cause
 *     see what the triggers of the synthetic event did. Only its records and their post triggers
 *     wait until the cause is committed. The place in that queue is taken before the event's
 *     triggers run, so that its record comes before the records that it causes itself. A record
 *     does not wait if the cause is not recorded and makes no other event.
 * H7  A synthetic event happens when its cause does. So the counter is read once for both: the
 *     event's histograms see that time, and its record has it if the ring's last record is older
 *     (ring_write()). Other clocks are read again.
 * H6  The queue lies in the data region (R38): its numbers are loaded once. They name an arm of a
 *     plan, which the server made, or nothing.
 */
#include "plane/hit.h"
#include "plane/ring/ring.h"

static inline uint32_t word_once(const uint32_t *at)
{
	return *(const volatile uint32_t *)at;
}

uint32_t hit_pending_take(const struct run *r, const struct plan *plan, const struct arm *arm)
{
	struct hit_synth *synth = r->synth;
	const uint32_t place = word_once(&synth->nr_pending);

	if (place >= HIT_PENDING) {
		hit_miss(r->slot);
		return NOT_PENDING;
	}
	synth->pending[place] = (struct hit_pending){
		.event = plan->event_id,
		.arm = (uint32_t)(arm - plan_arms(plan)),
		.instance = arm->instance,
		.record = (uint32_t)((const char *)r->h->record - synth->arena),
		.size = r->h->size,
	};
	synth->nr_pending = place + 1;
	return place;
}

bool hit_pending_set(const struct run *r, uint32_t place, data_ref buffer, uint32_t post)
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

/*
 * H6. The event may have another plan by now. Its arm of the same instance may then have another
 * place. NULL: the event is no longer armed there.
 */
static const struct arm *pending_arm(const struct plan *plan, uint32_t at, uint32_t instance)
{
	if (at < plan->nr_arms && plan_arms(plan)[at].instance == instance)
		return &plan_arms(plan)[at];
	for (uint32_t i = 0; i < plan->nr_arms; i++)
		if (plan_arms(plan)[i].instance == instance)
			return &plan_arms(plan)[i];
	return NULL;
}

/* H7 */
static bool time_is_shared(const struct run *cause)
{
	return cause->time && !cause->h->time && clock_is_counter(cause->clock);
}

/*
 * H7. 0: there is no time to share, or the record goes to a lease's ring. (That ring would take any
 * time for a source's.)
 */
static uint64_t pending_time(const struct run *cause, const struct instance_state *inst)
{
	/* H5 */
	return time_is_shared(cause) && !cause->h->writer &&
			       clock_is_counter(atomic_load_explicit(&inst->clock,
								     memory_order_relaxed)) ?
		       cause->time :
		       cause->h->time;
}

/* What a synthetic event takes from its cause. */
static void synth_hit(struct hit *h, const struct hit *cause, const void *record, uint32_t size)
{
	/* A recorded stack that comes later is not the synthetic event's. */
	const uint64_t *stack = cause->stack_wanted && !cause->nr_stack ? NULL : cause->stack;

	*h = (struct hit){ .record = record, .size = size, .cpu = cause->cpu, .time = cause->time,
			   .comm = cause->comm, .stack = stack, .nr_stack = cause->nr_stack,
			   .writer = cause->writer, .early = cause->early,
			   .synth_preempt = cause->synth_preempt };
}

static void pending_write(const struct run *cause, const struct hit_pending *e,
			  const void *record, uint32_t size)
{
	const struct plan *plan = plan_of(cause->p, (uint16_t)e->event);
	const struct arm *arm =
		plan ? pending_arm(plan, word_once(&e->arm), word_once(&e->instance)) : NULL;
	struct instance_state *inst;
	struct hit h;
	struct run r;

	if (!arm)
		return;
	inst = plane_instance(cause->p, arm->instance);
	synth_hit(&h, cause->h, record, size);
	h.time = pending_time(cause, inst);
	run_begin(&r, cause->p, cause->slot, cause->level, &h);
	/* Looked at again: a post trigger of an earlier record may have switched tracing off. */
	if (e->buffer && records(inst, h.cpu))
		hit_commit(&r, arm, inst, e->buffer);
	if (e->post)
		hit_fire_post(&r, plan_triggers(plan) + arm->first_trigger, arm->nr_triggers,
			      e->post, inst);
}

void hit_pending_flush(struct run *r)
{
	struct hit_synth *synth = r->synth;
	const uint32_t nr = word_once(&synth->nr_pending);

	for (uint32_t i = 0; i < nr && i < HIT_PENDING; i++) {
		const struct hit_pending *e = &synth->pending[i];
		const uint32_t at = word_once(&e->record), size = word_once(&e->size);

		if (at > HIT_ARENA || size > HIT_ARENA - at || size < sizeof(struct record_common))
			hit_miss(r->slot);	/* H6 */
		else
			pending_write(r, e, synth->arena + at, size);
	}
	synth->nr_pending = 0;
	synth->used = 0;
}

/*
 * Writes the record of an event that is only recorded and need not wait. False: the record has to
 * wait.
 */
static bool record_now(const struct run *cause, const struct plan *plan, const void *record,
		       uint32_t size, uint32_t only)
{
	const uint32_t instance = plan_arms(plan)->instance;
	const struct hit *h = cause->h;
	struct instance_state *inst;
	data_ref buffer;

	if (plan->kind != PLAN_RECORD || (only && instance != only - 1))
		return false;
	inst = plane_instance(cause->p, instance);
	/* H5 */
	if (atomic_load_explicit(&inst->flags, memory_order_relaxed) &
	    (INSTANCE_STACKTRACE | INSTANCE_USERSTACKTRACE))
		return false;
	buffer = live_buffer(inst);
	if (records(inst, h->cpu) && buffer)
		ring_write(cause->p, cause->slot, buffer, h->writer, h->cpu,
			   pending_time(cause, inst) - (instance ? 0 : h->early), record, size);
	return true;
}

/* The event is not recorded and has one hist. */
static inline bool counts_now(const struct run *cause, const struct plan *plan, uint32_t only)
{
	return plan_counts(plan) &&
	       plan_only_counts(cause->p, plan) && (!only || plan_arms(plan)->instance == only - 1);
}

/* Counts by integers that are in the record. False: the hist needs more of the hit. */
static inline bool count_keys(const struct run *cause, const struct plan *plan, const void *record,
			      uint32_t size)
{
	const struct trigger_arm *t = plan_hist(plan);
	const struct code *code = plane_config(cause->p, t->code);
	struct hit h; /* only the fields that are read */

	if (t->filter || !code_is_keys(code))
		return false;
	h.record = record;
	h.size = size;
	h.cpu = cause->h->cpu;
	h.writer = cause->h->writer;
	if (!is_paused(cause->p, plan->trigger_state))
		hist_fold_keys(cause->p, code, cause->slot, &h);
	return true;
}

/* Counts by any key. */
static void count_any(struct run *r, const struct plan *plan)
{
	if (hist_takes(r->p, plan, r->seen))
		fold(r, plan_hist(plan), plane_instance(r->p, plan_arms(plan)->instance));
}

/*
 * Runs the plan of the synthetic record. The mask that hit() returns has only the cause's records.
 */
bool hit_synth(struct run *cause, const void *record, uint32_t size, uint32_t only, bool at_once)
{
	const struct plan *plan =
		plan_of(cause->p, ((const struct record_common *)record)->type);
	uint32_t pending = cause->synth->nr_pending;
	bool counts;
	struct hit h;
	struct run r;

	if (!plan)
		return false;
	if (at_once && record_now(cause, plan, record, size, only))
		return false;
	/* The deepest event may run its plan, but has no frame: fold() counts it as missed. */
	if (__builtin_expect(cause->nest >= HIT_FRAMES, 0)) {
		hit_miss(cause->slot);
		return false;
	}
	counts = counts_now(cause, plan, only);
	if (counts && cause->nest + 1 < HIT_FRAMES && count_keys(cause, plan, record, size))
		return false;
	synth_hit(&h, cause->h, record, size);
	run_begin(&r, cause->p, cause->slot, cause->level, &h);
	if (time_is_shared(cause)) {
		r.time = cause->time;
		r.clock = cause->clock;
	}
	r.nest = cause->nest + 1;
	r.synth = cause->synth;
	r.only = only;
	if (counts)
		count_any(&r, plan);
	else
		hit_run_arms(&r, plan);
	return r.synth->nr_pending > pending;
}
