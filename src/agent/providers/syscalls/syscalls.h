/* SPDX-License-Identifier: MIT */
/*
 * syscalls.h - sys_enter_X and sys_exit_X: for all files that wrap a function that is a system call
 *
 *   syscalls.c          the functions of libc that are one system call each (libc.h)
 *   special.c           those whose arguments or result need more than a table
 *   texts.c             the texts that arguments point to, if the session wants them
 *   signal.c, fork.c, heap.c, thread.c   others, which use the functions declared here
 *
 * An event is recorded where the kernel is called, if gates are planted (gates.h). Else it is
 * recorded where the program calls libc, and calls that libc makes inside itself (fread(), the
 * clone3 of pthread_create()) are not seen.
 *
 * X1  A result is the kernel's: -errno, not -1.
 * X2  errno is as the real function left it.
 * X3  The real function runs outside of agent_enter(): signal handlers and the
 *     functions that they call are recorded; cancellation and siglongjmp leave
 *     nothing behind.
 */
#ifndef TRACEFUSE_AGENT_PROVIDERS_SYSCALLS_SYSCALLS_H
#define TRACEFUSE_AGENT_PROVIDERS_SYSCALLS_SYSCALLS_H

#include <errno.h>
#include "agent/providers/hooks.h"
#include "agent/state.h"

/* SYSCALL_read ...: index of a system call, from 0. Its number is in syscall_numbers[]. */
#define SYSCALL(nr, name, args) SYSCALL_##name,
enum syscall_index {
#include "agent/x86_64/syscalls.h"
	SYSCALL_COUNT
};
#undef SYSCALL

extern const uint16_t syscall_numbers[SYSCALL_COUNT];

/* The record of sys_enter_X; as many arguments as the system call has. */
struct syscall_enter_record {
	struct record_common common;
	int32_t		nr;
	uint32_t	pad;
	uint64_t	args[6];
};

struct syscall_exit_record {
	struct record_common common;
	int32_t		nr;
	uint32_t	pad;
	int64_t		ret;
};

/* Which arguments of a system call point to a text or to bytes that a record may have. */
struct call_texts {
	uint8_t		args;		/* a bit for each */
	uint8_t		length;		/* the argument with the bytes' number; 0: a text's 0 */
	bool		is_text;	/* such bytes are printed as a text */
};

enum {
	CALL_TEXTS	= 3,		/* of a call, at most */
	/* Bytes of one, what marks that it was cut, and a 0 */
	CALL_TEXT_ROOM	= PROVIDER_TEXT_MAX + 4,
};

/* 1 + the index of a number; 0: there is no event for it. */
unsigned int syscall_index(long nr);
/* How many arguments the kernel's declaration has. */
unsigned int syscall_nr_args(unsigned int call);
const struct call_texts *syscall_texts(unsigned int call);

static inline unsigned int call_enter_event(unsigned int call)
{
	return PROVIDER_SYSCALLS + 2 * call;
}

static inline unsigned int call_exit_event(unsigned int call)
{
	return PROVIDER_SYSCALLS + 2 * call + 1;
}

/* Whether one of the two is armed. */
static inline bool call_armed(unsigned int call)
{
	const struct event_entry *e = agent_provider_events + call_enter_event(call);

	/* Relaxed: hit() loads them again with acquire. */
	return __builtin_expect((atomic_load_explicit(&e[0].plan, memory_order_relaxed) |
				 atomic_load_explicit(&e[1].plan, memory_order_relaxed)) != 0, 0);
}

/* The same, and somebody asks for it: it is more than the server's knock (agent/sites/late.c). */
static inline bool call_asked(unsigned int call)
{
	const struct event_entry *e = agent_provider_events + call_enter_event(call);
	/* Relaxed, both: as above. */
	const config_ref enter = atomic_load_explicit(&e[0].plan, memory_order_relaxed);

	return (enter && enter != late_plan()) ||
	       atomic_load_explicit(&e[1].plan, memory_order_relaxed);
}

/*
 * Emit the two events, if they are armed. `frame` is CALL_FRAME of the function
 * that the program called; `args` has syscall_nr_args() elements.
 */
void call_enter(unsigned int call, const uint64_t *args, const void *frame);
void call_exit(unsigned int call, int64_t ret, const void *frame);
/* The same for a call that an instruction of ours makes: no gate sees it (gates.h). */
void call_enter_own(unsigned int call, const uint64_t *args, const void *frame);
void call_exit_own(unsigned int call, int64_t ret, const void *frame);

/* 1 + the most bytes of a text that records have; 0: they have no texts. */
static inline uint32_t call_texts_wanted(void)
{
	/* Relaxed: a number of its own. */
	return atomic_load_explicit(&plane_header(&agent.plane)->call_texts, memory_order_relaxed);
}

/* The word at an address that a program has passed. False: it cannot be read. */
bool call_word(uint64_t from, uint64_t *word);

/* Emits sys_enter_X of a call that has syscall_texts(), with texts of `most` bytes each. */
void call_texts_emit(struct agent_thread *t, unsigned int call, const uint64_t *args,
		     unsigned int nr_args, uint32_t most, const void *frame);

/* The kernel's form of a result: -errno instead of -1. */
static inline int64_t call_result(int64_t ret)
{
	return ret == -1 ? -errno : ret;
}

#endif
