/* SPDX-License-Identifier: MIT */
/*
 * large.c - memory for records that are too large for a program's stack
 *
 * One page for the thread and one for each nested signal handler, used like a stack. A
 * record that siglongjmp left half filled is found as a hit is (A6): by its frame.
 */
#include <sys/mman.h>
#include "agent/emit/emit.h"
#include "agent/state.h"
#include "agent/syscall.h"

enum { LARGE = 4096 };

_Static_assert(TF_RECORD_MAX + TF_RECORD_SPARE_ <= LARGE, "one_line.h may write behind a record");

static char *large_map(struct agent_thread *t)
{
	long at;

	if (t->large)
		return t->large;
	at = agent_syscall(SYS_mmap, 0, LARGE * LAYOUT_HIT_LEVELS, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if ((unsigned long)at > -4096ul)
		return NULL;
	if (t->large)	/* a signal handler has mapped it meanwhile */
		agent_syscall(SYS_munmap, at, LARGE * LAYOUT_HIT_LEVELS);
	else
		t->large = (char *)at;
	return t->large;
}

void *large_get(struct agent_thread *t, uint32_t size)
{
	uintptr_t sp = (uintptr_t)__builtin_frame_address(0);
	uint32_t level = stack_levels(t, t->large_frame, t->nr_large, sp);

	if (level >= LAYOUT_HIT_LEVELS || size > TF_RECORD_MAX || !large_map(t)) {
		struct slot *slot = agent_slot(t);

		/* Relaxed: a count. */
		if (slot)
			atomic_fetch_add_explicit(&slot->missed, 1, memory_order_relaxed);
		return NULL;
	}
	t->large_frame[level] = sp;
	t->nr_large = level + 1;
	return t->large + level * LARGE;
}

void large_put(struct agent_thread *t, void *record)
{
	t->nr_large = (uint32_t)(((char *)record - t->large) / LARGE);
}
