/* SPDX-License-Identifier: MIT */
/*
 * synth.c - synthetic events and event probes: hits inside a hit
 *
 * H4  A synthetic event runs its plan inside the program that makes it, so that
 *     later triggers of its cause see what its own did. Only its records wait,
 *     with their post triggers, until the cause has been committed; the place
 *     in that queue is taken before its triggers run, so that a record comes
 *     before those that it causes itself.
 * H6  The queue lies in the data region (R38): its numbers are loaded once, and
 *     name an arm of a plan, which the server made, or nothing.
 */
#include "plane/hit.h"

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
 * H6. The plan may be another one by now: then its arm of the same instance,
 * which may stand elsewhere. NULL: the event is not armed there any more.
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

static void pending_write(struct run *r, const struct hit_pending *e)
{
	const struct plan *plan = plan_of(r->p, (uint16_t)e->event);
	const struct arm *arm =
		plan ? pending_arm(plan, word_once(&e->arm), word_once(&e->instance)) : NULL;
	struct instance_state *inst;

	if (!arm)
		return;
	inst = plane_instance(r->p, arm->instance);
	/* Asked again: a traceoff of a record before this one may have fired. */
	if (e->buffer && records(inst, r->h->cpu))
		hit_commit(r, arm, inst, e->buffer);
	if (e->post)
		hit_fire_post(r, plan_triggers(plan) + arm->first_trigger, arm->nr_triggers,
			      e->post, inst);
}

/* What a synthetic event has of its cause. */
static void synth_hit(struct hit *h, const struct hit *cause, const void *record, uint32_t size)
{
	*h = (struct hit){ .record = record, .size = size, .cpu = cause->cpu, .time = cause->time,
			   .comm = cause->comm, .stack = cause->stack, .nr_stack = cause->nr_stack,
			   .writer = cause->writer, .synth_preempt = cause->synth_preempt };
}

void hit_pending_flush(struct run *r)
{
	struct run w = { .p = r->p, .slot = r->slot, .level = r->level, .time = r->h->time };
	struct hit_synth *synth = r->synth;
	const uint32_t nr = word_once(&synth->nr_pending);
	struct hit h;

	for (uint32_t i = 0; i < nr && i < HIT_PENDING; i++) {
		const struct hit_pending *e = &synth->pending[i];
		const uint32_t at = word_once(&e->record), size = word_once(&e->size);

		if (at > HIT_ARENA || size > HIT_ARENA - at ||
		    size < sizeof(struct record_common)) {
			hit_miss(r->slot);	/* H6 */
			continue;
		}
		synth_hit(&h, r->h, synth->arena + at, size);
		w.h = w.seen = &h;
		pending_write(&w, e);
	}
	synth->nr_pending = 0;
	synth->used = 0;
}

/* The short way of an event that is not recorded and has one hist. */
static inline void synth_count(struct run *r, const struct plan *plan)
{
	if (hist_takes(r->p, plan, r->seen))
		fold(r, plan_hist(plan), plane_instance(r->p, plan_arms(plan)->instance));
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
	if ((plan->kind == PLAN_COUNT || plan->kind == PLAN_COUNT_KEY1) && only_counts(cause->p, plan) &&
	    !passed_over(&r, plan_arms(plan)))
		synth_count(&r, plan);
	else
		hit_run_arms(&r, plan);
	return r.synth->nr_pending > pending;
}
