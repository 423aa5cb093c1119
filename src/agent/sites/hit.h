/* SPDX-License-Identifier: MIT */
/*
 * hit.h - a call of a traced function: what entry.S calls, and where a hit finds what its site is
 * to do
 *
 *     thread's last table -> word of the site -> group -> plans of its entries
 *
 *     site_table       words: one for each four bytes of code; pages without a site that is on take
 *                      no memory
 *     +-------+        +---+---+---+---+---+---
 *     | words |------->| 0 | 0 | w | 0 | 0 | ...     site at code + 8 .. 11
 *     +-------+        +---+---+---+---+---+---
 *
 * A site has five bytes at least, so no two sites share a word.
 *
 * Included by the C files of src/agent.
 */
#ifndef TRACEFUSE_AGENT_SITES_HIT_H
#define TRACEFUSE_AGENT_SITES_HIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include "agent/state.h"

/*
 * A DSO with sites. dso.c writes it: `size` is stored last, with release, and
 * first when the DSO goes. A free place is used again as late as possible, so a
 * thread that has read part of one DSO's table does not read the rest of another's.
 */
struct site_table {
	_Atomic uint64_t size;		/* bytes of code; 0: none */
	uintptr_t	code;
	_Atomic uint32_t *words;	/* enum site_word, by (address - code) / 4 */
	uint64_t	delta;		/* address in the session = address + delta */
	struct site_dso	*dso;
};

extern struct site_table *site_tables;	/* LAYOUT_MAX_DSOS of them; NULL before the first one */
extern _Atomic uint32_t nr_site_tables;	/* places that have been used */

static inline bool site_table_has(const struct site_table *table, uintptr_t addr)
{
	/* Acquire: the other fields are there. Pairs with the release in table_publish(). */
	uint64_t size = atomic_load_explicit(&table->size, memory_order_acquire);

	return addr - table->code < size;
}

/* What the site at ip is to do. Relaxed: a call during a change finds the old or the new word. */
static inline uint32_t site_word(const struct site_table *table, uintptr_t ip)
{
	return atomic_load_explicit(&table->words[(ip - table->code) >> 2], memory_order_relaxed);
}

/* NULL: there is no plan, or its place is wrong. */
static inline const struct plan *site_plan(uint32_t entry)
{
	/* Relaxed: E1 of emit.c. */
	const config_ref ref = atomic_load_explicit(&plane_event(&agent.plane, entry)->plan,
						    memory_order_relaxed);

	return ref && ref + sizeof(struct plan) <= agent.plane.config_size
		       ? plane_config(&agent.plane, ref) : NULL;
}

/*
 * Whether there is nothing to do: all instances want calls in sections only, and the thread is in
 * none; or only the stack tracer asks, and the stack is not that deep. What is read may be stale
 * (emit.c, E1).
 */
static inline bool site_out_of_section(const struct agent_thread *t, uint32_t entry)
{
	const struct plan *plan;

	if (t->section.on || section_wakeup_pending())
		return false;
	plan = site_plan(entry);
	if (!plan)
		return false;
	if (__builtin_expect(!(plan->wants & (PLAN_ONLY_SECTIONS | PLAN_ONLY_DEPTH)), 1))
		return false;
	return (plan->wants & PLAN_ONLY_SECTIONS) ||
	       !stack_may_be_deepest(t, plan, (uintptr_t)__builtin_frame_address(0));
}

/* The table with that address; NULL: none. */
const struct site_table *site_table_find(uintptr_t ip);

/*
 * The function whose site is at ip was called from parent. True: sites_hit_slow() is to be called,
 * with all registers saved and the thread marked busy. frame: for a stack walk that begins in the
 * function.
 */
bool sites_hit(uintptr_t ip, uintptr_t parent);
void sites_hit_slow(uintptr_t ip, uintptr_t parent, const void *frame);

/*
 * Whether the processor has xsave. Without it a hit that calls other code would change the upper
 * halves of vector registers. Set by sites_processor_look(), before the first jump is stored.
 */
extern bool patch_has_xsave;
/* Whether the base of %gs may be read without a system call. Set with it. */
extern bool sites_has_fsgsbase;
void sites_processor_look(void);

#endif
