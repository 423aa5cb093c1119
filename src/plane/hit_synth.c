/* SPDX-License-Identifier: MIT */
/*
 * hit_synth.c - synthetic events and event probes: hits inside a hit
 *
 * H4  A synthetic event runs its plan inside the program that makes it, so that
 *     later triggers of its cause see what its own did. Only its records wait,
 *     with their post triggers, until the cause has been committed; the place
 *     in that queue is taken before its triggers run, so that a record comes
 *     before those that it causes itself.
 */
#include "plane/hit.h"

uint32_t hit_pending_take(const struct run *r, const struct arm *arm, const struct trigger_arm *t)
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

static void pending_write(struct run *r, const struct hit_pending *e)
{
	const struct arm *arm = plane_config(r->p, e->arm);
	struct instance_state *inst = plane_instance(r->p, arm->instance);

	/* Asked again: a traceoff of a record before this one may have fired. */
	if (e->buffer && records(inst, r->h->cpu))
		hit_commit(r, arm, inst, e->buffer);
	if (e->post)
		hit_fire_post(r, plane_config(r->p, e->triggers), arm->nr_triggers, e->post, inst);
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
	if ((plan->shape == PLAN_COUNT || plan->shape == PLAN_COUNT_KEY1) && only_counts(cause->p, plan) &&
	    !passed_over(&r, plan_arms(plan)))
		synth_count(&r, plan);
	else
		hit_run_arms(&r, plan);
	return r.synth->nr_pending > pending;
}
