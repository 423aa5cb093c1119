/* SPDX-License-Identifier: MIT */
/*
 * way.h - the short way of a hit (way.c)
 *
 * Included by the C files of src/agent only.
 */
#ifndef TRACEFUSE_AGENT_EMIT_WAY_H
#define TRACEFUSE_AGENT_EMIT_WAY_H

#include "agent/emit/emit.h"
#include "tracefuse/base.h"

enum { WAY_SEEN_SHIFT = 48 };	/* no session reaches that many epochs */

/* After a hit of entry `id` that went into a ring: the next one may be short. Under the guard. */
void way_make(struct agent_thread *t, struct slot *slot, uint32_t id);
/* The same, by guarded.S. */
void guarded_way_make(struct agent_thread *t, struct slot *slot, uint32_t id, uintptr_t *resume);

/*
 * For all that remember a way: whether one of entry `id` can be made now (W1, W3). It is made
 * inside a hit: way_enter() -> the epoch that this hit saw.
 */
bool way_may(const struct slot *slot, uint32_t id);
/* The same for a way that leads to a CPU's memory and reads the counter. */
bool way_may_with_time(const struct slot *slot, uint32_t cpu, uint32_t id);
uint64_t way_enter(struct slot *slot);
void way_leave(struct slot *slot);

/* Identifies a way of entry `id` that was made in this epoch; 0: it leads nowhere. */
static inline uint64_t way_seen(uint64_t epoch, uint32_t id)
{
	return epoch + ((uint64_t)id << WAY_SEEN_SHIFT);
}

/*
 * Removes the way of an entry that is not recorded any more: entry.S would try it first. In a hit.
 */
static inline void way_forget(struct agent_thread *t, uint32_t id)
{
	struct agent_way *w = &t->ways[id % AGENT_WAYS];

	if (w->event == id)
		w->seen = w->event = w->plain = 0;
}

/* Like way_make(), after a call or a return in the function profile (profile.c). */
void profile_make(struct agent_thread *t, struct slot *slot, uint32_t entry);
void guarded_profile_make(struct agent_thread *t, struct slot *slot, uint32_t entry,
			  uintptr_t *resume);

/* A hit that has left the short way before it had done anything. */
void emit_long(struct agent_thread *t, uint32_t id, void *record, uint32_t size, const void *frame)
	__attribute__((visibility("hidden")));

/* The instructions of the short ways, and the place to leave them for. They are not functions. */
#define SHORT_WAY(name) \
	extern const char name##_short_begin[] __attribute__((visibility("hidden"))); \
	extern const char name##_short_end[] __attribute__((visibility("hidden"))); \
	extern const char name##_short_left[] __attribute__((visibility("hidden")))
SHORT_WAY(emit);	/* to leave it returns 0 to the caller */
SHORT_WAY(entry);
SHORT_WAY(graph);
SHORT_WAY(return);

#endif
