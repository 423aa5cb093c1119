/* SPDX-License-Identifier: MIT */
/*
 * stage.c - hits that wait for their place in the order of time (R28)
 *
 *     hit -> ring of staged hits -> the server, in the order of times -> hit_merged()
 *
 * Triggers that look at variables of another source's events do not run at the hit: the other
 * source may be behind. The hit is written whole (struct staged) into the ring of an instance that
 * no file shows. The event's plan names the plan of these triggers (plan->merged), so both are
 * published by one store.
 */
#include "plane/hit.h"
#include "plane/ring/ring.h"

static void copy_bytes(char *to, const char *from, uint32_t size)
{
	uint32_t i = 0;

	for (; i + 8 <= size; i += 8)
		__builtin_memcpy(to + i, from + i, 8);
	for (; i < size; i++)
		to[i] = from[i];
}

static uint32_t rounded(uint32_t size)
{
	return (size + 7) / 8 * 8;
}

/* The room is that of synthetic records: no code of this level runs meanwhile. */
static char *stage_room(const struct plane *p, struct slot *slot, unsigned int level)
{
	return plane_scratch(p, slot, level)->synth.arena;
}

/* 0: it does not fit. */
static uint32_t stage_fill(char *room, const struct hit *h, uint32_t only, bool stack)
{
	struct staged *to = (struct staged *)room;
	const uint32_t nr = stack && h->stack ? h->nr_stack : 0;
	uint64_t size = sizeof(*to) + (uint64_t)rounded(h->size) + nr * 8ull;

	if (size > HIT_ARENA || h->size > HIT_ARENA)
		return 0;
	to->common = *(const struct record_common *)h->record;
	if (h->comm)
		copy_bytes(to->comm, h->comm, sizeof(to->comm));
	else
		to->comm[0] = '\0';
	to->size = h->size;
	to->nr_stack = nr;
	to->only = only;
	to->pad = 0;
	copy_bytes((char *)(to + 1), h->record, h->size);
	copy_bytes((char *)(to + 1) + rounded(h->size), (const char *)h->stack, nr * 8);
	return (uint32_t)size;
}

static void stage_write(const struct run *r, const struct hit *h, uint32_t instance, uint32_t only,
			bool stack, uint64_t time)
{
	const data_ref buffer = live_buffer(plane_instance(r->p, instance));
	char *room = stage_room(r->p, r->slot, r->level);
	const uint32_t size = stage_fill(room, h, only, stack);

	if (size && buffer)
		ring_write(r->p, r->slot, buffer, h->writer, h->cpu, time, room, size);
	else
		hit_miss(r->slot);
}

void hit_stage(const struct run *r, const struct arm *arm)
{
	uint32_t only = 0;

	if (arm->flags & ARM_STAGE_ONE) {
		only = r->h->only ? r->h->only : 1;
		/* As in run_internal(): with tracing off nothing fires. */
		if (!records(plane_instance(r->p, only - 1), r->h->cpu))
			return;
	}
	if (arm->filter && !filter_match(plane_config(r->p, arm->filter), r->seen))
		return;
	stage_write(r, r->seen, arm->instance, only, arm->flags & ARM_STACK, r->h->time);
}

bool hit_stage_source(const struct plane *p, struct slot *slot, const struct hit *h,
		      uint32_t instance, uint64_t time)
{
	const struct plan *plan;
	unsigned int level;
	bool merged;
	struct run r;

	if (h->cpu >= plane_header(p)->nr_cpus || h->size < sizeof(struct record_common) ||
	    !hit_enter(p, slot, &level))
		return false;
	plan = plan_of(p, ((const struct record_common *)h->record)->type);
	merged = plan && plan->merged;
	if (merged) {
		const struct plan *of = plane_config(p, plan->merged);

		run_begin(&r, p, slot, level, h);
		stage_write(&r, h, instance, 0, of->wants & PLAN_WANTS_STACK, time);
	}
	hit_leave(slot, level);
	return merged;
}

void hit_merged(const struct plane *p, struct slot *slot, const struct hit *h, uint32_t only)
{
	const struct plan *plan;
	unsigned int level;
	struct run r;

	if (h->cpu >= plane_header(p)->nr_cpus || h->size < sizeof(struct record_common) ||
	    !hit_enter(p, slot, &level))
		return;
	plan = plan_of(p, ((const struct record_common *)h->record)->type);
	if (plan && plan->merged) {
		run_begin(&r, p, slot, level, h);
		r.only = only;
		hit_run_arms(&r, plane_config(p, plan->merged));
	}
	hit_leave(slot, level);
}
