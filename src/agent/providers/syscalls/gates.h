/* SPDX-License-Identifier: MIT */
/*
 * gates.h - `syscall` instructions that are hooked: system calls that libc makes inside itself
 *
 *     mov $257, %eax   <- jump to the stub: the moved instruction, gate_enter, back
 *     syscall             stays (elf/gates.h)
 *     cmp $-4096, %rax <- jump to the stub: gate_leave, the moved instruction, back
 *
 *     gates.c       the hits: no vector registers
 *     gates_plant.c finds the gates of all DSOs and plants the jumps
 *     x86_64/gates.S   from the stubs to gates.c
 *
 * While gates are planted the interposers make no events of their own: each call is seen once,
 * where the kernel is called.
 *
 * W1  The program may use the 128 bytes below its stack pointer. %rcx and %r11 are free: the call
 *     changes them.
 * W2  In the kernel nothing of ours is on the stack: a child of vfork() or clone() runs on behind
 *     the instruction, on the same stack or on another one.
 * W3  A stub is never freed.
 */
#ifndef TRACEFUSE_AGENT_PROVIDERS_SYSCALLS_GATES_H
#define TRACEFUSE_AGENT_PROVIDERS_SYSCALLS_GATES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* What a stub knows of its gate. */
struct gate_site {
	uintptr_t	ip;		/* behind the instruction, where the program has it */
	int64_t		number;		/* of the call; GATE_NO_NUMBER: the hit finds it */
};

/* What gates.S saves. The stack pointer of the program is behind it: GATE_STACK bytes from it. */
struct gate_call {
	uint64_t	result;		/* %rax: the number, then the result */
	uint64_t	args[6];
	uint64_t	bp;
	uint64_t	flags;
	const struct gate_site *site;
};

enum { GATE_RED_ZONE = 128, GATE_STACK = sizeof(struct gate_call) + 2 * 8 + GATE_RED_ZONE };

/* ---- gates.S ---- */

void gate_enter(void);
void gate_leave(void);

/* ---- gates.c. True: the second function is to be called, with all registers saved ---- */

bool gate_entered(const struct gate_call *c);
void gate_entered_slow(const struct gate_call *c);
bool gate_left(const struct gate_call *c);
void gate_left_slow(const struct gate_call *c);

/* Before the first gate is planted. */
void gates_prepare(void);

enum gates_state { GATES_NOT_YET, GATES_ON, GATES_NEVER };
extern _Atomic uint8_t gates_state;

/* Whether gates are planted, so that interposers make no events. */
static inline bool gates_see(void)
{
	/* Relaxed: a call that runs meanwhile is seen by one of both, or by none. */
	return atomic_load_explicit(&gates_state, memory_order_relaxed) == GATES_ON;
}

static inline bool gates_may_try(void)
{
	/* Relaxed: gates_try() looks again. */
	return atomic_load_explicit(&gates_state, memory_order_relaxed) == GATES_NOT_YET;
}

/* ---- gates_plant.c ---- */

/*
 * Somebody asks for an event of a call that the program is about to make, and gates are not
 * planted. -> whether they are now
 */
bool gates_try(void);

/* ---- fork.c ---- */

struct agent_thread;

/* The calling thread makes a task that shares its control block; that has failed, or has gone. */
void fork_lends(struct agent_thread *t, bool waits);
void fork_took_back(struct agent_thread *t, bool waits, bool failed);
/*
 * Before a function of libc that makes such a task and waits for it. -> the thread that lends, for
 * fork_took_back(t, true, false) behind the call; NULL: none
 */
struct agent_thread *fork_spawns(void);

#endif
