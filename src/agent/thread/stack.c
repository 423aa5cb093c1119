/* SPDX-License-Identifier: MIT */
/*
 * stack.c - who called: return addresses by frame pointers, and which stack an address is on
 *
 * S1  Only memory that is certainly mapped is read: from the first frame upwards
 *     within the thread's own stack, or, on another one (an alternate stack, a
 *     coroutine), within the page of the first frame.
 * S2  A program need not have frame pointers. Each return address must be in the
 *     code of a DSO, and each frame above the one before. The first that is not
 *     ends the stack.
 * S3  An alternate stack may be part of the thread's own, as an array of a function
 *     that has not returned. While handlers run there, and only then, its
 *     addresses count as another stack's (agent_alternate()).
 * S4  If a function's return is caught, its true return address is elsewhere (graph.h).
 */
#include <string.h>
#include "agent/graph/graph.h"
#include "agent/state.h"
#include "agent/syscall.h"
#include <sys/resource.h>

enum {
	/* These first bytes of struct pthread are in any glibc of this architecture. */
	PTHREAD_BYTES	= 2048,
	/* The largest distance between the thread pointer and the end of the stack. */
	TOP_MOST	= 65536,
	PAGE		= 4096,
};

#define MAIN_STACK_MOST	(128ul << 20)

/*
 * glibc puts struct pthread on top of a thread's stack, and the thread pointer points
 * to it. It has the start of the memory, its size, and the size of the guard. To ask
 * for them (pthread_getattr_np) would allocate, so these words are recognised by
 * their values.
 */
static bool bounds_of_thread(struct agent_thread *t, uintptr_t tp)
{
	for (uintptr_t at = tp; at + 24 <= tp + PTHREAD_BYTES; at += 8) {
		uintptr_t v[3];

		memcpy(v, (const void *)at, sizeof(v));
		if (v[0] && v[0] < tp && v[1] <= tp - v[0] + TOP_MOST &&
		    v[0] + v[1] > tp + PTHREAD_BYTES && v[2] < v[1] && !(v[2] % PAGE) &&
		    v[1] >= PAGE) {
			t->stack_low = v[0] + v[2];
			t->stack_high = tp;
			return true;
		}
	}
	return false;
}

/* The first thread's stack grows downwards from the arguments as far as its limit. */
static void bounds_of_main(struct agent_thread *t, uintptr_t sp)
{
	struct rlimit r;
	uintptr_t size = MAIN_STACK_MOST;

	if (!agent_syscall(SYS_prlimit64, 0, RLIMIT_STACK, 0, &r) && r.rlim_cur < size)
		size = r.rlim_cur;
	if (agent.main_stack - sp >= size)
		return;
	t->stack_low = agent.main_stack - size;
	t->stack_high = agent.main_stack;
}

void stack_bounds(struct agent_thread *t)
{
	t->stack_low = t->stack_high = 0;
	if (!bounds_of_thread(t, (uintptr_t)__builtin_thread_pointer()))
		bounds_of_main(t, (uintptr_t)__builtin_frame_address(0));
}

static bool on_own(const struct agent_thread *t, uintptr_t addr)
{
	return addr - t->stack_low < t->stack_high - t->stack_low;
}

/*
 * Whether a function with its frame at `frame` cannot be running when the stack pointer is `sp`
 * (A6).
 */
static bool stack_left(const struct agent_thread *t, uintptr_t frame, uintptr_t sp)
{
	bool other = stack_alternate(sp), own = on_own(t, sp);

	if (other != stack_alternate(frame))
		return !other && own;	/* S3: a handler there was left; false: has begun */
	if (own != on_own(t, frame))
		/* True: a handler on an alternate stack has ended; false: one has begun. */
		return own;
	if (!own && (frame ^ sp) / PAGE)
		return false;	/* on two stacks of which nothing is known */
	/* A hit that is still running is above a function that interrupted it. */
	return frame <= sp;
}

uint32_t stack_levels(const struct agent_thread *t, const uintptr_t *frames, uint32_t nr,
		      uintptr_t sp)
{
	for (uint32_t i = 0; i < nr && i < LAYOUT_HIT_LEVELS; i++)
		if (stack_left(t, frames[i], sp))
			return i;
	return nr;
}

/* at NULL: nobody asks where they lie. */
static uint32_t walk(struct agent_thread *t, const void *frame, uint64_t *out, uint32_t *at,
		     uint32_t max)
{
	uintptr_t fp = (uintptr_t)frame,
		  end = on_own(t, fp) ? t->stack_high : (fp | (PAGE - 1)) + 1;
	uint32_t nr = 0;

	while (nr < max && !(fp % 8) && fp < end && end - fp >= 16) {
		const uintptr_t *word = (const uintptr_t *)fp;
		/* The first one may be a copy (hooks.h). */
		uintptr_t ret = nr ? word[1] : graph_caller(t, word[1], fp);

		if (!dso_code(t, (ret == word[1] ? graph_looked_up(&word[1]) : ret) - 1, &out[nr]))
			break;
		if (at)
			at[nr] = (uint32_t)(t->stack_high - (uintptr_t)&word[1]);
		out[nr++]++;
		if (word[0] <= fp)
			break;
		fp = word[0];
	}
	return nr;
}

uint32_t stack_walk(struct agent_thread *t, const void *frame, uint64_t *out, uint32_t max)
{
	return walk(t, frame, out, NULL, max);
}

/*
 * S5  As in the kernel, the function itself counts from the word below its return address: nothing
 *     of its own frame is there yet. The first frames of the walk are the agent's copies, below the
 *     slot, so they count as being there.
 */
void stack_depths(struct agent_thread *t, const void *frame, uintptr_t slot,
		  struct stack_depths *out)
{
	const uintptr_t own = t->stack_high - slot;

	out->nr = 0;
	if (!on_own(t, slot) || stack_alternate(slot) || own > UINT32_MAX / 2)
		return;
	out->nr = walk(t, frame, out->ip, out->at, STACK_DEEPEST);
	for (uint32_t i = 0; i < out->nr && out->at[i] > own; i++)
		out->at[i] = (uint32_t)own;
	if (out->nr)
		out->at[0] = (uint32_t)(own + sizeof(void *));
}

bool stack_may_be_deepest(const struct agent_thread *t, const struct plan *plan, uintptr_t sp)
{
	const struct stack_deepest *d;

	/* 0: the plan is stale. */
	if (!plan->deepest || plan->deepest + sizeof(*d) > agent.plane.data_size)
		return true;
	d = plane_given(&agent.plane, plan->deepest);
	/* Relaxed: hit_deepest() looks again. */
	return on_own(t, sp) && !stack_alternate(sp) &&
	       t->stack_high - sp > stack_word_bytes(atomic_load_explicit(&d->word,
									  memory_order_relaxed));
}

struct agent_region *agent_alternate(void)
{
	return &agent_self.alternate;
}

bool stack_has_room(uintptr_t sp, size_t bytes)
{
	return !stack_alternate(sp) || sp - agent_self.alternate.start >= bytes;
}
