/* SPDX-License-Identifier: MIT */
/*
 * snapshot.c - snapshots that hits take, and what is recorded where none can be taken
 *
 * As in the kernel, a trigger that may not swap the buffers records a message in the live buffer.
 * Either a latency tracer uses the other buffer, or there is no other buffer (0 was written to
 * snapshot, or a latency tracer took the buffer with it). Without another buffer tracing is
 * switched off, so that the records that the snapshot was for are not overwritten.
 */
#include "plane/hit.h"
#include "plane/ring/ring.h"

enum { PRINT_ID = 5, SAYING_MAX = 48 };

/*
 * A record of ftrace:print. It is one byte longer than its text: the kernel makes room for a
 * newline.
 */
struct saying {
	struct record_common common;
	uint64_t	ip;
	char		text[SAYING_MAX];
};

static uint32_t flags_of(struct instance_state *inst)
{
	return atomic_load_explicit(&inst->flags, memory_order_relaxed);	/* H5 of hit.h */
}

/*
 * Acquire: pairs with the release in instance_snapshot_free(): the hit then sees that the buffer is
 * gone.
 */
static uint32_t live_of(struct instance_state *inst)
{
	return atomic_load_explicit(&inst->live, memory_order_acquire);
}

/* Why no snapshot can be taken now. */
static enum snapshot_refusal refusal(struct instance_state *inst, uint32_t live)
{
	/* Relaxed: only whether there is a buffer matters; nothing in it is read. */
	if (!atomic_load_explicit(&inst->buffers[!(live & 1)], memory_order_relaxed))
		return SNAPSHOT_NO_BUFFER;
	return flags_of(inst) & INSTANCE_MAX_USED ? SNAPSHOT_MAX_USED : SNAPSHOT_NOT_REFUSED;
}

void hit_take_snapshot(struct run *r, struct instance_state *inst)
{
	uint32_t live = live_of(inst);

	do {
		r->refused = refusal(inst, live);
		if (r->refused != SNAPSHOT_NOT_REFUSED || (flags_of(inst) & INSTANCE_STOPPED))
			return;
		/*
		 * Fails if the other buffer was taken away meanwhile. Acquire: pairs as in
		 * live_of().
		 */
	} while (!atomic_compare_exchange_weak_explicit(
		&inst->live, &live, live ^ 1, memory_order_acquire, memory_order_acquire));
	/* Relaxed: a count. */
	atomic_fetch_add_explicit(&inst->snapshots, 1, memory_order_relaxed);
}

bool hit_snapshot_is_possible(const struct run *r, uint32_t instance)
{
	struct instance_state *inst = plane_instance(r->p, instance);

	return !(flags_of(inst) & INSTANCE_STOPPED) &&
	       refusal(inst, live_of(inst)) == SNAPSHOT_NOT_REFUSED;
}

void hit_snapshot(struct run *cause, uint32_t instance)
{
	if (instance < LAYOUT_MAX_INSTANCES)
		hit_take_snapshot(cause, plane_instance(cause->p, instance));
}

/* As the kernel's trace_array_puts(): no filter and no trigger. */
static void say(const struct run *r, struct instance_state *inst, const char *text)
{
	struct saying s = { .common = *(const struct record_common *)r->h->record,
			   .ip = plane_header(r->p)->snapshot_ip };
	data_ref buffer = live_buffer(inst);
	uint32_t len = 0;

	if (!buffer || !records(inst, r->h->cpu) || !(flags_of(inst) & INSTANCE_PRINTS))
		return;
	s.common.type = PRINT_ID;
	for (; text[len] && len < SAYING_MAX - 2; len++)
		s.text[len] = text[len];
	len += (uint32_t)offsetof(struct saying, text) + 2;
	if (!ring_write(r->p, r->slot, buffer, r->h->writer, r->h->cpu,
			ring_time(r->p, r->h, inst), &s, len) &&
	    (flags_of(inst) & INSTANCE_STACKTRACE))
		hit_write_stack(r, inst, buffer);
}

/* Cold: a refused snapshot is rare. */
__attribute__((cold)) void hit_say_refusal(struct run *r, struct instance_state *inst)
{
	if (r->refused == SNAPSHOT_MAX_USED) {
		say(r, inst, "*** LATENCY TRACER ACTIVE ***\n");
		say(r, inst, "*** Can not use snapshot (sorry) ***\n");
	} else {
		say(r, inst, "*** SNAPSHOT NOT ALLOCATED ***\n");
		say(r, inst, "*** stopping trace here!   ***\n");
		/* H5 of hit.h */
		atomic_store_explicit(&inst->tracing_on, 0, memory_order_release);
	}
	r->refused = SNAPSHOT_NOT_REFUSED;
}
