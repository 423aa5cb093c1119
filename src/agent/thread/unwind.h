/* SPDX-License-Identifier: MIT */
/*
 * unwind.h - the callers of code without frame pointers, by .eh_frame (unwind.c)
 *
 * Included by stack.c.
 */
#ifndef TRACEFUSE_AGENT_THREAD_UNWIND_H
#define TRACEFUSE_AGENT_THREAD_UNWIND_H

#include "agent/agent.h"

/* The registers of a function that is at `ip`. */
struct unwind_registers {
	uintptr_t	ip, sp, bp, bx;
};

struct unwind_walk {
	struct agent_thread *thread;
	struct unwind_registers r;
	/* The stack's memory that is certainly mapped, from the first frame upwards (S1). */
	uintptr_t	low, high;
	uintptr_t	slot;		/* where the return address was */
	bool		exact;		/* ip is not behind a call: the function was interrupted */
	bool		has_bx;		/* the value of rbx is known */
};

enum unwind_step {
	UNWIND_STEPPED,
	UNWIND_WHOLE,		/* the function has no caller */
	UNWIND_CUT,		/* its caller is not known */
};

/* Goes to the caller. In a hit. */
enum unwind_step unwind_step(struct unwind_walk *w);
/*
 * The row of `ip`, from the tables of its object; 0: none. The second one can be left by the guard:
 * *resume as in guarded.h.
 */
uint64_t unwind_read(uintptr_t ip, bool exact);
uint64_t guarded_unwind_read(uintptr_t ip, bool exact, uintptr_t *resume);
/* What of the stack at w->r.sp may be read. */
void unwind_bounds(struct unwind_walk *w);

#endif
