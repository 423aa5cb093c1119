/* SPDX-License-Identifier: MIT */
/*
 * emit.h - the ways of a record from the agent's own callers to hit()
 *
 * Included by the C files of src/agent only.
 */
#ifndef TRACEFUSE_AGENT_EMIT_EMIT_H
#define TRACEFUSE_AGENT_EMIT_EMIT_H

#include "agent/agent.h"
#include "plane/plane.h"
#include "tracefuse/base.h"

/* struct tf_ops */
void event_emit(const struct tf_event *ev, void *record, uint32_t size, const void *frame);
void *event_reserve(uint32_t size);
void event_emit_large(const struct tf_event *ev, void *record, uint32_t size, const void *frame);
int print_formatted(const void *ip, const char *format, va_list args);
int print_text(const void *ip, const char *text, size_t size);

/* The type of the records of an entry of event_entry[]. */
static inline uint16_t emit_type(uint32_t entry)
{
	if (entry < LAYOUT_GROUPS_AT)
		return (uint16_t)entry;
	if (entry == LAYOUT_GRAPH_EXIT)
		return LAYOUT_GRAPH_EXIT_ID;
	return (entry - LAYOUT_GROUPS_AT) % GROUP_ENTRIES == GROUP_GRAPH ? LAYOUT_GRAPH_ENTRY_ID
									 : LAYOUT_FUNCTION_ID;
}

/*
 * The common fields of a record. One store of 8 bytes: those who load the fields again do not wait
 * for it.
 */
static inline void emit_fill(const struct agent_thread *t, uint32_t entry, void *record)
{
	uint64_t word;

	__builtin_memcpy(&word, &t->no_rseq, sizeof(word));
	word = (word & ~0xffffull) | emit_type(entry);
	__builtin_memcpy(record, &word, sizeof(word));
}

/* Calls of functions: a group's. */
static inline bool emit_is_function(uint32_t entry)
{
	return entry >= LAYOUT_GROUPS_AT && entry != LAYOUT_GRAPH_EXIT &&
	       (entry - LAYOUT_GROUPS_AT) % GROUP_ENTRIES == GROUP_FUNCTION;
}

/*
 * A hit of a thread with a slot that is recorded in one instance, or counted, and no more. False:
 * it is more than that.
 */
bool emit_plain(struct agent_thread *t, uint32_t entry, void *record, uint32_t size);

#define EMIT_ALL UINT64_MAX

/*
 * One hit the short way, only in the instances of `mask`; says in which of them it was recorded.
 * *time becomes its time, in ns of the clock `local`; it may lie in the record. 0 says that nothing
 * has been done, too. Its records have 20, 24 or 48 bytes and were stored in words of 8 bytes, but
 * for a last one of 4.
 */
uint64_t emit_try(struct agent_thread *t, uint32_t entry, void *record, uint32_t size,
		  uint64_t *time, uint64_t mask) __attribute__((visibility("hidden")));

/*
 * What the thread's next hit of the entry may take: nothing, the way into a ring, that into the
 * profile.
 */
enum emit_next { EMIT_NEXT_LONG, EMIT_NEXT_WAY, EMIT_NEXT_PROFILE };

/*
 * A hit that is more than a record: `h` has its entry, record and size, and what is asked for
 * (mask, ask, seen); the rest is filled in here. *time becomes its time, as by emit_try(); the
 * stack is walked from `frame`, where one is wanted; either may be NULL. Says in which instances it
 * was recorded, or is wanted.
 */
uint64_t emit_hit(struct agent_thread *t, struct hit *h, uint64_t *time, const void *frame,
		  enum emit_next next);
/*
 * A function's site, or its return, is there with this stack pointer, which is the frame that its
 * short way would note: hits that were left by siglongjmp end, as at any other hit (E2). The frames
 * of the C functions from here on lie deeper, and would not tell of a short hit at the same place.
 */
void emit_levels_left(struct agent_thread *t, uintptr_t sp);

/* The time now, of that clock. */
uint64_t emit_time(void);

/* Whether a stack is wanted of a hit of that event just now. */
bool emit_wants_stack(uint32_t id);

/*
 * Memory of the thread for one large record; the last one that was taken goes
 * first. The thread's first one makes a system call. NULL: too large, too
 * many inside each other, no memory: counted as missed.
 */
void *large_get(struct agent_thread *t, uint32_t size);
void large_put(struct agent_thread *t, void *record);

#endif
