/* SPDX-License-Identifier: MIT */
/*
 * locks.h - what lock.c and wait.c share: a lock's events, and whether any of them is wanted
 *
 *     lock_wanted() -> contention_begin .. end -> lock_acquired() ... lock_released()
 */
#ifndef TRACEFUSE_AGENT_PROVIDERS_LOCK_LOCKS_H
#define TRACEFUSE_AGENT_PROVIDERS_LOCK_LOCKS_H

#include <errno.h>
#include <threads.h>
#include <time.h>
#include "agent/providers/hooks.h"
#include "agent/providers/records.h"

static inline config_ref lock_plans(void)
{
	const struct event_entry *e = agent_provider_events + PROVIDER_CONTENTION_BEGIN;

	/* Relaxed: hit() loads them again with acquire. */
	return atomic_load_explicit(&e[0].plan, memory_order_relaxed) |
	       atomic_load_explicit(&e[1].plan, memory_order_relaxed) |
	       atomic_load_explicit(&e[2].plan, memory_order_relaxed) |
	       /* Relaxed: as the three before. */
	       atomic_load_explicit(&e[3].plan, memory_order_relaxed);
}

static inline bool lock_armed(void)
{
	return __builtin_expect(lock_plans() != 0, 0);
}

/* For locks that have a holder: a thread that waits for one counts for wakeups, too. */
static inline bool lock_wanted(void)
{
	return __builtin_expect(
		(lock_plans() | agent_section_kinds_of(SECTION_PREEMPT | WAKES_WANTED)) != 0, 0);
}

void lock_contention_begin(const volatile void *lock, uint32_t flags, const void *frame);
/* error: 0 or a positive error */
void lock_contention_end(const volatile void *lock, int error, const void *frame);

/* by: the function that the program called. */
void lock_acquired(const volatile void *lock, uint32_t kind, const void *by, const void *site,
		   const void *frame);
/* Called before the lock is released. */
void lock_released(const volatile void *lock, uint32_t kind, const void *by, const void *site,
		   const void *frame);

/* For `by`: our function, because the real one may have several names. */
#define BY(function) (const void *)(function)

/* L2. If the time is not valid, libc decides what that means. */
static inline bool time_valid(const struct timespec *t)
{
	return t && t->tv_nsec >= 0 && t->tv_nsec < 1000000000;
}

static inline bool clock_valid(clockid_t clock, const struct timespec *t)
{
	return (clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC) && time_valid(t);
}

/* From thrd_... to errno. */
static inline int thrd_error_of(int r)
{
	return r == thrd_success    ? 0
	       : r == thrd_busy	    ? EBUSY
	       : r == thrd_timedout ? ETIMEDOUT
	       : r == thrd_nomem    ? ENOMEM
				    : EINVAL;
}

#endif
