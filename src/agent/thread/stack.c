/* SPDX-License-Identifier: MIT */
/*
 * stack.c - who called: return addresses by .eh_frame or frame pointers, and which stack an address
 * is on
 *
 * S1  Only memory that is certainly mapped is read: from the first frame upwards
 *     within the thread's own stack, or, on another one (an alternate stack, a
 *     coroutine), within the page of the first frame.
 * S2  A program need not have frame pointers: a walk goes by the rows of .eh_frame
 *     (unwind.c). It begins with the walk's own registers, because only they are
 *     all known, and passes our own frames. Code without a row is left by the
 *     frame pointer. If the first frame is not found, the walk goes by frame
 *     pointers alone. Each return address must be in the code of a DSO, and each
 *     frame above the one before. The first that is not ends the stack, and
 *     LAYOUT_STACK_CUT says so.
 * S3  An alternate stack may be part of the thread's own, as an array of a function
 *     that has not returned. While handlers run there, and only then, its
 *     addresses count as another stack's (agent_alternate()).
 * S4  If a function's return is caught, its true return address is elsewhere (graph.h).
 */
#include <string.h>
#include "agent/graph/frame.h"
#include "agent/probes/probes.h"
#include "agent/state.h"
#include "agent/syscall.h"
#include "agent/thread/unwind.h"
#include "agent/x86_64/entry.h"
#include <sys/resource.h>

enum {
	/* These first bytes of struct pthread are in any glibc of this architecture. */
	PTHREAD_BYTES	= 2048,
	/* The largest distance between the thread pointer and the end of the stack. */
	TOP_MOST	= 65536,
	PAGE		= 4096,
	/* Functions of ours between a program's and the walk, at most. */
	OWN_FRAMES	= 32,
	/* What entry.S takes from the address behind a site of moved code. */
	MOVED_LESS	= 4,
	/* Bytes below its stack pointer that a function may use. */
	RED_ZONE	= 128,
	/* Registers that probe_left has pushed (probe.S), and two of them */
	LEFT_PUSHED	= 7,
	LEFT_RBX	= 1,
	LEFT_RBP	= 6,
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
	/* A handler's own stack may be the first one that is seen. */
	if (agent.main_stack - sp >= size && !stack_alternate(sp))
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

/*
 * Whether a function with its frame at `frame` cannot be running when the stack pointer is `sp`
 * (A6).
 */
static bool stack_left(const struct agent_thread *t, uintptr_t frame, uintptr_t sp)
{
	bool other = stack_alternate(sp), own = is_own(t, sp);

	if (other != stack_alternate(frame))
		return !other && own;	/* S3: a handler there was left; false: has begun */
	if (own != is_own(t, frame))
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

/* ---- A walk ---- */

/* at NULL: nobody asks where they lie. */
struct callers {
	uint64_t	*out;
	uint32_t	*at;
	uint32_t	nr, max;
	uint32_t	left_out;	/* frames of ours between those of the program */
	bool		is_cut, is_deep;	/* there are more; not known, or not kept */
	uintptr_t	first;		/* the first address; a site's row has another one */
	bool		is_in_ours;	/* the first one is ours */
};

/* The bounds of this library's code. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char etext[] __attribute__((visibility("hidden")));

static bool code_has(uintptr_t begin, const char *end, uintptr_t ip)
{
	return ip - begin < (uintptr_t)end - begin;
}

static bool code_is_ours(uintptr_t ip)
{
	return code_has((uintptr_t)__ehdr_start, etext, ip);
}

/*
 * The registers of the caller of this function's caller. It must be called at once: what has been
 * called since must not have changed them.
 */
static inline __attribute__((always_inline)) void registers_now(struct unwind_registers *r)
{
	__asm__ volatile("leaq 0(%%rip), %0\n\tmovq %%rsp, %1\n\tmovq %%rbp, %2\n\tmovq %%rbx, %3"
			 : "=&r"(r->ip), "=m"(r->sp), "=m"(r->bp), "=m"(r->bx));
}

/* The stub of a system call (gates.S) is in no object. It has left the function its red zone. */
static bool is_in_stub(const struct unwind_walk *w)
{
	uint64_t at;

	return !code_is_ours(w->r.ip) && !dso_code(w->thread, w->r.ip, &at);
}

/* In probe_entry: the registers of the probe's place. */
static void walk_from_probe(struct unwind_walk *w, uintptr_t ip)
{
	const uintptr_t at = w->r.ip > (uintptr_t)probe_entry_slow ? w->r.bx : w->r.sp;
	const uint64_t *regs = ((const struct probe_registers *)at)->r;

	w->r = (struct unwind_registers){ ip, regs[FETCH_RSP], regs[FETCH_RBP], regs[FETCH_RBX] };
	w->exact = true;
	w->slot = w->r.sp;
}

/*
 * In probe_left: the function has returned, and its caller has these registers. Above those that
 * probe_left has pushed are its return address and what graph_returned_late has saved, as far as
 * the slot of the function's own return address.
 */
static void walk_from_return(struct unwind_walk *w, uintptr_t ip)
{
	const uint64_t *pushed = (const uint64_t *)w->r.bx;

	w->slot = (uintptr_t)(pushed + LEFT_PUSHED + 1) + SAVED - 8;
	w->r = (struct unwind_registers){ ip, w->slot + 8, pushed[LEFT_RBP], pushed[LEFT_RBX] };
	w->exact = false;
}

/*
 * Below the first frame are frames of ours, and of what our headers made in the program. The first
 * return address that is the frame's leads to the program. A probe, and that of a return, have
 * none: their places have all registers.
 */
static bool walk_begin(struct unwind_walk *w, const uintptr_t *frame)
{
	for (unsigned int i = 0; i < OWN_FRAMES; i++) {
		if (code_has((uintptr_t)probe_entry, probe_entry_end, w->r.ip)) {
			walk_from_probe(w, frame[1]);
			return true;
		}
		if (code_has((uintptr_t)probe_left, probe_left_end, w->r.ip)) {
			walk_from_return(w, frame[1]);
			return true;
		}
		if (unwind_step(w) != UNWIND_STEPPED)
			return false;
		if (*(const uintptr_t *)w->slot == frame[1] || w->r.ip + MOVED_LESS == frame[1])
			return true;
		if (is_in_stub(w)) {
			w->r.ip = frame[1];
			w->r.sp += RED_ZONE;
			w->exact = true;
			return true;
		}
	}
	return false;
}

/*
 * The functions that we begin threads and handlers with are left out, because the program has not
 * called them. A program that the agent is linked into keeps them. False: the address is in no
 * code.
 */
static bool caller_add(struct callers *c, const struct unwind_walk *w)
{
	if (c->nr && code_is_ours(w->r.ip) && c->left_out < OWN_FRAMES && !c->is_in_ours) {
		c->left_out++;
		return true;
	}
	if (!dso_code(w->thread, (c->nr ? w->r.ip : c->first) - 1, &c->out[c->nr]))
		return false;
	if (c->at)
		c->at[c->nr] = (uint32_t)(w->thread->stack_high - w->slot);
	c->is_in_ours |= !c->nr && code_is_ours(c->first);
	c->out[c->nr++]++;
	return true;
}

/* There is room for it. */
static void cut_add(struct callers *c)
{
	c->is_cut = true;
	if (!c->at)
		c->out[c->nr++] = LAYOUT_STACK_CUT;
}

/* By .eh_frame. False: the first frame was not found. */
static bool walk_rows(struct unwind_walk *w, const uintptr_t *frame, struct callers *c)
{
	enum unwind_step step = UNWIND_STEPPED;

	unwind_bounds(w);
	if (!walk_begin(w, frame))
		return false;
	c->first = is_label(frame[1]) ? w->r.ip : frame[1];
	do {
		if (!caller_add(c, w))
			step = UNWIND_CUT;
		else if (c->nr < c->max)
			step = unwind_step(w);
	} while (step == UNWIND_STEPPED && c->nr < c->max);
	if (step == UNWIND_CUT && c->nr < c->max)
		cut_add(c);
	else if (step == UNWIND_STEPPED)
		step = unwind_step(w);	/* all places are taken: is it the last one? */
	c->is_deep = step == UNWIND_STEPPED;
	c->is_cut = step == UNWIND_CUT;
	return true;
}

static bool is_frame(uintptr_t fp, uintptr_t end)
{
	return !(fp % 8) && fp < end && end - fp >= 16;
}

/* By frame pointers. */
static void walk_frames(struct agent_thread *t, uintptr_t fp, uintptr_t end, struct callers *c)
{
	while (c->nr < c->max && is_frame(fp, end)) {
		const uintptr_t *word = (const uintptr_t *)fp;
		/* The first one may be a copy (hooks.h). */
		uintptr_t ret = c->nr ? word[1] : graph_caller(t, word[1], fp);

		if (!dso_code(t, (ret == word[1] ? graph_looked_up(&word[1]) : ret) - 1,
			      &c->out[c->nr]))
			break;
		if (c->at)
			c->at[c->nr] = (uint32_t)(t->stack_high - (uintptr_t)&word[1]);
		c->out[c->nr++]++;
		if (word[0] <= fp)
			break;
		fp = word[0];
	}
}

/* Relaxed, both: counts. A handler may interrupt the thread. The stack tracer keeps no cut one. */
static void callers_count(struct agent_thread *t, const struct callers *c)
{
	struct slot *slot = c->at || !(c->is_cut || c->is_deep) ? NULL : agent_slot(t);

	if (!slot)
		return;
	atomic_fetch_add_explicit(c->is_cut ? &slot->stacks_cut : &slot->stacks_deep, 1,
				  memory_order_relaxed);
}

/* noinline: registers_now() has what this function's own rows say. */
static __attribute__((noinline)) uint32_t walk(struct agent_thread *t, const void *frame,
					       struct callers c)
{
	struct unwind_walk w = { .thread = t, .exact = true, .has_bx = true };
	const uintptr_t fp = (uintptr_t)frame;
	const uintptr_t end = is_own(t, fp) ? t->stack_high : (fp | (PAGE - 1)) + 1;

	registers_now(&w.r);
	if (is_frame(fp, end) && walk_rows(&w, frame, &c)) {
		callers_count(t, &c);
		return c.nr;
	}
	walk_frames(t, fp, end, &c);
	/* Frame pointers do not say whether this was all. */
	if (c.nr && c.nr < c.max)
		cut_add(&c);
	callers_count(t, &c);
	return c.nr;
}

uint32_t stack_walk(struct agent_thread *t, const void *frame, uint64_t *out, uint32_t max)
{
	return walk(t, frame, (struct callers){ .out = out, .max = max });
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
	if (!is_own(t, slot) || stack_alternate(slot) || own > UINT32_MAX / 2)
		return;
	out->nr = walk(t, frame, (struct callers){ .out = out->ip, .at = out->at,
						   .max = STACK_DEEPEST });
	for (uint32_t i = 0; i < out->nr && out->at[i] > own; i++)
		out->at[i] = (uint32_t)own;
	if (out->nr)
		out->at[0] = (uint32_t)(own + sizeof(void *));
}

bool stack_call_left(const struct agent_thread *t, uintptr_t sp)
{
	struct slot *slot = agent_slot(t);

	if (is_own(t, sp) && !stack_alternate(sp))
		return true;
	/* Relaxed: a count; losses_add() of the server reads it. */
	if (slot)
		atomic_fetch_add_explicit(&slot->stacks_other, 1, memory_order_relaxed);
	return slot != NULL;
}

bool stack_may_be_deepest(const struct agent_thread *t, const struct plan *plan, uintptr_t sp)
{
	const struct stack_deepest *d;

	/* 0: the plan is stale. */
	if (!plan->deepest || plan->deepest + sizeof(*d) > agent.plane.data_size)
		return true;
	d = plane_given(&agent.plane, plan->deepest);
	/* Relaxed: hit_deepest() looks again. */
	return is_own(t, sp) && !stack_alternate(sp) &&
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
