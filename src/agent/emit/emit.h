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
int event_snapshot(const char *file);

/* The common_type of the records of an entry of event_entry[]. */
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
 * Fills in the common fields of a record. It is one store of 8 bytes, so that a later load of these
 * bytes does not wait for several stores.
 */
static inline void emit_fill(const struct agent_thread *t, uint32_t entry, void *record)
{
	uint64_t word;

	__builtin_memcpy(&word, &t->no_rseq, sizeof(word));
	word = (word & ~0xffffull) | emit_type(entry);
	__builtin_memcpy(record, &word, sizeof(word));
}

/* Whether the entry is for function calls, of a group. */
static inline bool emit_is_function(uint32_t entry)
{
	return entry >= LAYOUT_GROUPS_AT && entry != LAYOUT_GRAPH_EXIT &&
	       (entry - LAYOUT_GROUPS_AT) % GROUP_ENTRIES == GROUP_FUNCTION;
}

/*
 * A hit of a thread with a slot that one instance records, or that is counted, and nothing else.
 * False: the hit needs more than that.
 */
bool emit_plain(struct agent_thread *t, uint32_t entry, void *record, uint32_t size);

/*
 * Whether the thread's last hit of the entry went into a ring, by the short way. Then a hit that
 * has more to do reads the counter first: much of what is behind the reading takes no time.
 */
static inline bool emit_wants_time(const struct agent_thread *t, uint32_t entry)
{
	return t->ways[entry % AGENT_WAYS].event == entry;
}

/* Whether a histogram counted it, and nothing else. agent_count() may do the next one. */
static inline bool emit_counts(const struct agent_thread *t, uint32_t entry)
{
	return t->counts[entry % AGENT_WAYS].event == entry;
}

uint64_t emit_counter(void) __attribute__((visibility("hidden")));
/* Only this short way, with the time of that reading. False: it has done nothing. */
bool emit_timed(struct agent_thread *t, uint32_t entry, void *record, uint32_t size,
		uint64_t counter) __attribute__((visibility("hidden")));

#define EMIT_ALL UINT64_MAX

/*
 * One hit by the short way, only in the instances of `mask`. -> the instances that recorded it; 0
 * also means that nothing was done. *time becomes its time, in ns of the clock `local`; it may be
 * part of the record. The record has 20, 24 or 48 bytes, and was stored in words of 8 bytes but for
 * a last one of 4.
 */
uint64_t emit_try(struct agent_thread *t, uint32_t entry, void *record, uint32_t size,
		  uint64_t *time, uint64_t mask) __attribute__((visibility("hidden")));

/* The short way that may be made for the thread's next hit: none, into a ring, into the profile. */
enum emit_next { EMIT_NEXT_LONG, EMIT_NEXT_WAY, EMIT_NEXT_PROFILE };

/*
 * A hit that is more than a record. The caller sets the entry, record and size of `h`, and what it
 * asks for (mask, ask, seen). *time becomes its time, as for emit_try(). If a stack is wanted, it
 * is walked from `frame`. Both may be NULL. -> the instances that recorded it, or want it
 */
uint64_t emit_hit(struct agent_thread *t, struct hit *h, uint64_t *time, const void *frame,
		  enum emit_next next);
/*
 * A function's site or its return is reached with this stack pointer. Hits that were left by
 * siglongjmp end here, as at any other hit (E2). sp is the frame that the function's short way
 * would note: the frames of C functions are deeper, and would not show a short hit at the same
 * place.
 */
void emit_levels_left(struct agent_thread *t, uintptr_t sp);

/* The system call of emit_stranger(). */
bool emit_refuses_stranger(struct agent_thread *t);
/*
 * Whether this is another task that has the thread's control block, and so finds its slot: its hit
 * counts as missed. Nothing of the thread may be read or changed before.
 */
static inline bool emit_stranger(struct agent_thread *t)
{
	return __builtin_expect(t->no_rseq == AGENT_SHARED, 0) && emit_refuses_stranger(t);
}

/* The time now, of that clock. */
uint64_t emit_time(void);

/* Whether a hit of that event wants a stack now. */
bool emit_wants_stack(uint32_t id);

/*
 * Memory of the thread for one large record; the last one taken is put back first. The
 * first one of a thread makes a system call. NULL: it is too large, too many are
 * inside each other, or there is no memory: counted as missed.
 */
void *large_get(struct agent_thread *t, uint32_t size);
void large_put(struct agent_thread *t, void *record);

#endif
