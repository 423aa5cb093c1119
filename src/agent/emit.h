/* SPDX-License-Identifier: MIT */
/*
 * emit.h - the ways of a record from the agent's own callers to hit()
 *
 * Included by the C files of src/agent only.
 */
#ifndef TRACEFUSE_AGENT_EMIT_H
#define TRACEFUSE_AGENT_EMIT_H

#include "agent/agent.h"
#include "tracefuse/base.h"

/* struct tf_ops */
void event_emit(const struct tf_event *ev, void *record, uint32_t size, const void *frame);
void *event_reserve(uint32_t size);
void event_emit_large(const struct tf_event *ev, void *record, uint32_t size, const void *frame);
int print_formatted(const void *ip, const char *format, va_list args);
int print_text(const void *ip, const char *text, size_t size);

/* As agent_emit() of an event with that type, by the plan of another entry of event_entry[]. */
void agent_emit_as(struct agent_thread *t, uint32_t entry, uint32_t type, void *record, uint32_t size,
		   const void *frame);

/* Whether a stack is wanted of a hit of that event just now. */
bool emit_wants_stack(uint32_t id);

/* One hit whose triggers see only the first `seen` bytes of the record. True: recorded in the top instance. */
bool emit_seen(struct agent_thread *t, uint32_t id, void *record, uint32_t size, uint32_t seen);

/*
 * Memory of the thread for one large record; the last one that was taken goes
 * first. The thread's first one makes a system call. NULL: too large, too
 * many inside each other, no memory: counted as missed.
 */
void *large_get(struct agent_thread *t, uint32_t size);
void large_put(struct agent_thread *t, void *record);

#endif
