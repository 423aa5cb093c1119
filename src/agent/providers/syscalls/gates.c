/* SPDX-License-Identifier: MIT */
/*
 * gates.c - a hooked `syscall` instruction is reached, and left
 *
 * It may be anywhere in libc and the dynamic linker, with any lock held, and in a task whose
 * control block is not complete. Vector registers have the program's values: the compiler knows
 * that a system call keeps them. So the fast functions use general registers only, and what needs
 * libc is done by the slow ones (gates.S).
 *
 * C1  The number of a call is in %rax before it and its result behind it. Most gates have only one
 *     number. For the others a hit notes the number by the stack pointer, which is the same behind
 *     the call, but not in a child of clone() with another stack: that makes no event.
 * C2  A child of fork() makes the event of its return, as the kernel does. A new thread makes none:
 *     it has no rseq area yet. So its registration, which comes first, is recorded behind the call.
 * C3  After a thread's last destructors libc makes calls: its slot is given back at SYS_exit.
 * C4  A program may make a task with a control block of its own, in which there is nothing of ours.
 *     From then on each hit asks the kernel for the task's block.
 */
#include <asm/prctl.h>
#include <sched.h>
#include "agent/emit/emit.h"
#include "agent/providers/syscalls/gates.h"
#include "agent/providers/syscalls/syscalls.h"
#include "agent/state.h"
#include "agent/syscall.h"
#include "elf/gates.h"
#include "plane/code.h"

enum { NUMBERS = 512, NOTED = 8, FOREIGN = 8 };

_Atomic uint8_t gates_state;

/* By number: 1 + the index of the call, or 0; how many arguments it has; whether it is special. */
static uint16_t index_of[NUMBERS];
static uint8_t args_of[NUMBERS];
static bool special[NUMBERS];

/* C1 */
static __thread struct noted {
	uintptr_t	sp;
	int32_t		number;
} noted[NOTED] __attribute__((tls_model("initial-exec")));
static __thread uint32_t nr_noted __attribute__((tls_model("initial-exec")));

void gates_prepare(void)
{
	static const uint16_t specials[] = {
		SYS_clone, SYS_clone3, SYS_fork, SYS_vfork, SYS_exit, SYS_rseq,
	};

	for (unsigned int nr = 0; nr < NUMBERS; nr++) {
		index_of[nr] = (uint16_t)syscall_index(nr);
		args_of[nr] = index_of[nr] ? (uint8_t)syscall_nr_args(index_of[nr] - 1u) : 0;
	}
	for (unsigned int i = 0; i < sizeof(specials) / sizeof(specials[0]); i++)
		special[specials[i]] = true;
}

/* ---- Control blocks of the program (C4) ---- */

static uint64_t foreign[FOREIGN];
static _Atomic uint32_t nr_foreign;	/* more than FOREIGN: nobody knows */

static void foreign_note(uint64_t block)
{
	/* Relaxed: the new task begins after the system call. */
	const uint32_t nr = atomic_fetch_add_explicit(&nr_foreign, 1, memory_order_relaxed);

	if (nr < FOREIGN)
		foreign[nr] = block;
}

static __attribute__((noinline)) bool is_foreign_now(uint32_t nr)
{
	uint64_t block = 0;

	if (nr > FOREIGN || agent_syscall(SYS_arch_prctl, ARCH_GET_FS, &block))
		return true;
	for (uint32_t i = 0; i < nr; i++)
		if (foreign[i] == block)
			return true;
	return false;
}

/* Whether the task has another control block than libc's. It may have no memory for ours. */
static inline bool is_foreign(void)
{
	/* Relaxed: as above. */
	const uint32_t nr = atomic_load_explicit(&nr_foreign, memory_order_relaxed);

	return __builtin_expect(nr != 0, 0) && is_foreign_now(nr);
}

/* ---- The number (C1) ---- */

static uintptr_t stack_of(const struct gate_call *c)
{
	return (uintptr_t)c + GATE_STACK;
}

static void number_note(uintptr_t sp, int32_t number)
{
	struct noted *n = &noted[nr_noted++ % NOTED];

	n->sp = sp;
	n->number = number;
}

/* The last one with that stack pointer; GATE_NO_NUMBER: none */
static int32_t number_noted(uintptr_t sp)
{
	for (uint32_t i = 1; i <= NOTED; i++) {
		const struct noted *n = &noted[(nr_noted - i) % NOTED];

		if (n->sp == sp)
			return n->number;
	}
	return GATE_NO_NUMBER;
}

static int64_t gate_number(const struct gate_call *c)
{
	return c->site->number == GATE_NO_NUMBER ? number_noted(stack_of(c)) : c->site->number;
}

/* ---- Events ---- */

/* Like CALL_FRAME: the caller's frame pointer, and where it continues. */
#define GATE_FRAME(c) ((const void *[2]){ (void *)(c)->bp, (void *)(c)->site->ip })

/* emit_hit() looks whether there is room, but is 600 bytes further down a handler's stack. */
enum { QUICK_ROOM = 1920 };

static bool gate_is_cramped(const struct agent_thread *t, const struct gate_call *c)
{
	return (t->flags & AGENT_HANDLER) && !stack_has_room((uintptr_t)c, QUICK_ROOM);
}

/* If the stack has no room for the quick way, it has none for the slow one (gate_has_room()). */
static bool gate_needs_slow(const struct agent_thread *t, const struct gate_call *c,
			    unsigned int event)
{
	return !t || !t->slot || late_knock() || emit_wants_stack(agent_provider_id + event) ||
	       gate_is_cramped(t, c);
}

/* Whether the slow function can be called. A handler's stack may have no room: that is missed. */
static bool gate_has_room(const struct agent_thread *t, const struct gate_call *c,
			  unsigned int event)
{
	struct slot *slot = t ? agent_slot(t) : NULL;

	if (stack_has_room((uintptr_t)c, slot ? STACK_SLOW : STACK_FIRST))
		return true;
	if (!provider_armed(event))
		return false;
	if (slot)
		hit_miss(slot);
	else
		agent_thread_missed();
	return false;
}

static void enter_emit(struct agent_thread *t, unsigned int index, const struct gate_call *c,
		       long nr, const void *frame)
{
	struct syscall_enter_record r;
	const unsigned int n = args_of[nr];
	const uint32_t texts = call_texts_wanted();

	if (__builtin_expect(texts && syscall_texts(index)->args, 0)) {
		call_texts_emit(t, index, c->args, n, texts - 1, frame);
		return;
	}
	r.nr = (int32_t)nr;
	r.pad = 0;
	for (unsigned int i = 0; i < n; i++)
		r.args[i] = c->args[i];
	provider_emit(t, call_enter_event(index), &r,
		      (uint32_t)(offsetof(struct syscall_enter_record, args) + 8 * n), frame);
}

static void leave_emit(struct agent_thread *t, unsigned int index, const struct gate_call *c,
		       long nr, const void *frame)
{
	struct syscall_exit_record r;

	r.nr = (int32_t)nr;
	r.pad = 0;
	r.ret = (int64_t)c->result;
	provider_emit(t, call_exit_event(index), &r, sizeof(r), frame);
}

bool gate_entered(const struct gate_call *c)
{
	/* The kernel looks at 32 bits of it. */
	const uint32_t nr = (uint32_t)c->result;
	struct agent_thread *t;
	unsigned int event;

	if (is_foreign())
		return false;
	if (c->site->number == GATE_NO_NUMBER)
		number_note(stack_of(c), (int32_t)nr);
	if (nr >= NUMBERS || !index_of[nr])
		return false;
	event = call_enter_event(index_of[nr] - 1u);
	if (special[nr])
		return gate_has_room(agent_self.thread, c, event);
	if (!provider_armed(event))
		return false;
	t = agent_self.thread;
	if (gate_needs_slow(t, c, event))
		return gate_has_room(t, c, event);
	enter_emit(t, index_of[nr] - 1u, c, nr, GATE_FRAME(c));
	return false;
}

bool gate_left(const struct gate_call *c)
{
	struct agent_thread *t;
	unsigned int event;
	int64_t nr;

	if (is_foreign())
		return false;
	nr = gate_number(c);
	if (nr < 0 || nr >= NUMBERS || !index_of[nr])
		return false;
	event = call_exit_event(index_of[nr] - 1u);
	/* C2: a new thread has a control block of its own, all zeros. */
	if (special[nr])
		return (agent_self.thread || c->result || nr == SYS_rseq) &&
		       gate_has_room(agent_self.thread, c, event);
	if (!provider_armed(event))
		return false;
	t = agent_self.thread;
	if (gate_needs_slow(t, c, event))
		return gate_has_room(t, c, event);
	leave_emit(t, index_of[nr] - 1u, c, nr, GATE_FRAME(c));
	return false;
}

/* ---- With all registers saved ---- */

static void enter_slow(long nr, const struct gate_call *c, const void *frame)
{
	struct agent_thread *t;

	if (!provider_armed(call_enter_event(index_of[nr] - 1u)))
		return;
	t = agent_thread();
	if (t)
		enter_emit(t, index_of[nr] - 1u, c, nr, frame);
}

static void leave_slow(long nr, const struct gate_call *c, const void *frame)
{
	struct agent_thread *t;

	if (!provider_armed(call_exit_event(index_of[nr] - 1u)))
		return;
	t = agent_thread();
	if (t)
		leave_emit(t, index_of[nr] - 1u, c, nr, frame);
}

enum { CLONE3_LEAST = 64 };	/* bytes of struct clone_args, for the kernel */

/*
 * A program may pass anything, as clone3(NULL, 0) to find out whether the kernel has the call. In a
 * sandbox the kernel cannot be asked.
 */
static uint64_t clone3_flags(const struct gate_call *c)
{
	uint64_t flags = 0;

	if (c->args[1] < CLONE3_LEAST)
		return 0;
	if (!agent_may_read())
		return *(const uint64_t *)c->args[0];
	return call_word(c->args[0], &flags) ? flags : 0;
}

/* The flags of a call that makes a task. The kernel keeps the registers of its arguments. */
static uint64_t clone_flags(long nr, const struct gate_call *c)
{
	switch (nr) {
	case SYS_clone:
		return c->args[0];
	case SYS_clone3:
		return clone3_flags(c);
	case SYS_vfork:
		return CLONE_VM | CLONE_VFORK;
	default:
		return 0;
	}
}

static bool shares_control_block(uint64_t flags)
{
	return (flags & CLONE_VM) && !(flags & CLONE_SETTLS);
}

static bool makes_task(long nr)
{
	return nr == SYS_clone || nr == SYS_clone3 || nr == SYS_fork || nr == SYS_vfork;
}

void gate_entered_slow(const struct gate_call *c)
{
	const void *frame[2] = { (void *)c->bp, (void *)c->site->ip };
	const uint32_t nr = (uint32_t)c->result;

	if (nr == SYS_rseq)
		return;		/* C2 */
	enter_slow(nr, c, frame);
	if (makes_task(nr)) {
		const uint64_t flags = clone_flags(nr, c);

		if (shares_control_block(flags))
			fork_lends(agent_thread(), flags & CLONE_VFORK);
		/* libc's threads have CLONE_THREAD. */
		if (nr == SYS_clone && (flags & (CLONE_SETTLS | CLONE_THREAD)) == CLONE_SETTLS)
			foreign_note(c->args[4]);
	} else if (nr == SYS_exit) {
		agent_thread_exits();	/* C3 */
	}
}

/* In the new task, which is no thread (C2). */
static void child_begins(long nr, const struct gate_call *c, const void *frame)
{
	const uint64_t flags = clone_flags(nr, c);

	if (shares_control_block(flags))
		agent_vforked();
	else if (!(flags & CLONE_VM))
		agent_fork_begins();
	leave_slow(nr, c, frame);
}

void gate_left_slow(const struct gate_call *c)
{
	const void *frame[2] = { (void *)c->bp, (void *)c->site->ip };
	const int64_t nr = gate_number(c);

	if (makes_task(nr)) {
		const uint64_t flags = clone_flags(nr, c);

		if (!c->result) {
			child_begins(nr, c, frame);
			return;
		}
		if (shares_control_block(flags))
			fork_took_back(agent_thread_known(), flags & CLONE_VFORK,
				       (int64_t)c->result < 0);
	} else if (nr == SYS_rseq) {
		enter_slow(nr, c, frame);
	}
	leave_slow(nr, c, frame);
}
