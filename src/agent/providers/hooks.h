/* SPDX-License-Identifier: MIT */
/*
 * hooks.h - what the files of the providers do for each other
 *
 * A function of libc has one interposer. If two providers need the same call, the
 * file that has the interposer calls the other.
 *
 *   heap.c      malloc ..., mmap munmap mremap brk sbrk
 *   lock.c      pthread_mutex_* rwlock_* spin_*, mtx_*
 *   wait.c      sem_*, pthread_cond_* join, cnd_*, thrd_join
 *   thread.c    pthread_create pthread_exit pthread_setname_np prctl, thrd_*
 *   signal.c    sigaction, kill ...
 *   limits.c    getrlimit setrlimit prlimit mlockall
 *   syscalls.c  the rest, and syscall()
 */
#ifndef TRACEFUSE_AGENT_PROVIDERS_HOOKS_H
#define TRACEFUSE_AGENT_PROVIDERS_HOOKS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include "agent/agent.h"
#include "agent/providers/real.h"
#include "agent/providers/table.h"

/*
 * In an interposer: its caller. If something is armed, another function, noinline, does
 * the work and gets CALL_SITE. The interposer itself has no frame, so the frame pointer
 * found there is still the program's. Both make a frame for stacks to begin with:
 * FRAME_BELOW(site).
 */
#define CALL_SITE	__builtin_return_address(0)
#define CALL_FRAME	__builtin_frame_address(0)
#define FRAME_BELOW(site) \
	((const void *[2]){ *(void **)__builtin_frame_address(0), (void *)(site) })
#define SLOW		__attribute__((noinline))
#define LIKELY(x)	__builtin_expect(!!(x), 1)

/* For interposers: the program finds them. */
#define INTERPOSE	__attribute__((visibility("default")))

/* provider_kernel() and provider_count() as constants. */
#define SYSCALL(nr, name, args) + 2
enum {
	KERNEL_FIRST = PROVIDER_SYSCALLS
#include "agent/x86_64/syscalls.h"
	, PROVIDER_COUNT = KERNEL_FIRST + KERNEL_EVENTS,
};
#undef SYSCALL

/* Whether event KERNEL_... is armed. */
static inline bool kernel_armed(unsigned int nr)
{
	return provider_armed(KERNEL_FIRST + nr);
}

static inline void provider_emit(struct agent_thread *t, unsigned int nr, void *record,
				 uint32_t size, const void *frame)
{
	agent_emit(t, agent_provider_id + nr, record, size, frame);
}

/* agent_count() for a record in which `field` is the first field that is not filled in yet. */
#define PROVIDER_COUNT_SOME(t, nr, record, field)						\
	agent_count(t, agent_provider_id + (nr), record,					\
		    (uint32_t)((const char *)&(record)->field - (const char *)(record)))

/* ---- syscalls.c, for interposers of system calls in heap.c and thread.c ---- */

/* Whether sys_enter_X or sys_exit_X of system call `nr` is armed. */
bool syscall_wanted(long nr);
/* Before and after the call; ret is the kernel's: -errno on failure. */
void syscall_enter(long nr, const uint64_t args[6], const void *frame);
void syscall_exit(long nr, long ret, const void *frame);
/* The same for a call that the agent makes for the program: call_enter_own(). */
void syscall_enter_own(long nr, const uint64_t args[6], const void *frame);
void syscall_exit_own(long nr, long ret, const void *frame);

/* ---- limits.c ---- */

/* For syscall(): whether limits_syscall() has to make the call. */
static inline bool limits_takes(long nr)
{
	return nr == SYS_prlimit64 || nr == SYS_getrlimit || nr == SYS_setrlimit ||
	       nr == SYS_mlockall;
}

/* Returns what syscall() returns: -1 and errno. */
long limits_syscall(long nr, const uint64_t args[6]);

/*
 * Before exec, and after one that failed: the new image gets the program's own limit.
 * Async-signal-safe. `limits` takes the old values to the second one.
 */
void limits_exec(struct rlimit *limits);
void limits_exec_failed(const struct rlimit *limits);

/* ---- thread.c ---- */

/* Whether the thread with that descriptor (pthread_t) still runs; also if that is not known. */
bool thread_runs(const void *descriptor);
/*
 * prctl(option, ...) that forbids system calls or the time stamp counter; the second one after it
 * has succeeded.
 */
bool thread_restricts(long option);
void thread_restricted(long option, unsigned long how, unsigned long filter);
/* For syscall(SYS_prctl, PR_SET_NAME): after it has succeeded. */
void thread_named(const void *frame);

/* ---- wait.c ---- */

/*
 * The frame of the innermost function in which the thread waits; 0: it waits in none. wait_left():
 * a jump has left that function.
 */
uintptr_t wait_frame(void);
void wait_left(void);

/* ---- wake.c ---- */

/* The bits that mean: an event of waiting or waking is armed, or a tracer watches wakeups. */
enum { WAKES_WANTED = SECTION_THREADS | SECTION_WAKEUP };

/* Whether waits and wakes are wanted: one load. */
static inline bool thread_wanted(void)
{
	return agent_section_watched(WAKES_WANTED);
}

/* The same for a thread that wakes others, and for one that is going to wait. */
static inline bool thread_wake_wanted(void)
{
	return provider_armed(PROVIDER_WAKE) || kernel_armed(KERNEL_SCHED_WAKING) ||
	       agent_section_watched(SECTION_WAKEUP);
}

static inline bool thread_wait_wanted(void)
{
	return provider_armed(PROVIDER_WAKEUP) || kernel_armed(KERNEL_SCHED_WAKING) ||
	       kernel_armed(KERNEL_SCHED_SWITCH) || agent_section_watched(SECTION_WAKEUP);
}

/*
 * A thread begins to wait for an address (kind: enum wake_kind; shared: for a lock to read); it has
 * been woken (ret: 0 or -errno); it wakes others; it has got, without waiting, what others were
 * woken for. by: the function that the program called.
 */
void thread_wait(const void *addr, unsigned int kind, bool shared);
void thread_woken(const void *addr, unsigned int kind, int ret, const void *by,
		  const void *call_site, const void *frame);
void thread_wake(const void *addr, unsigned int kind, int count, const void *by,
		 const void *call_site, const void *frame);
void thread_got(const void *addr, unsigned int kind);
/* The thread has the lock now, after a wait or not (K4). Only while wakeups are watched. */
void thread_got_lock(const void *addr, unsigned int kind, bool shared);

/*
 * Before and after syscall(SYS_futex, ...): addr, op, val, timeout, addr2, val3. `call_site` is
 * CALL_SITE of the interposer.
 */
void thread_futex_enter(const uint64_t args[6], const void *call_site, const void *frame);
void thread_futex_exit(const uint64_t args[6], long ret, const void *call_site, const void *frame);

#endif
