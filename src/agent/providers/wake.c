/* SPDX-License-Identifier: MIT */
/*
 * wake.c - who waits, and who wakes whom: thread:wake, wakeup, sched:sched_waking, sched_switch, wakeups of latency tracers
 *
 *     lock.c, wait.c, syscall(SYS_futex) --thread_wait()--> waits --thread_woken()--> runs again
 *                                                 ^
 *     the same, and a thread's end ----------thread_wake()
 *
 * K1  Who wakes whom is seen as an address: condition variable, semaphore,
 *     futex, mutex, rwlock, of a thread that is joined its descriptor. What
 *     wakes by a file (eventfd, pipe), barriers, and threads of other processes
 *     are not seen.
 *
 * K2  sched_waking has the number of the one who is woken. While it is armed,
 *     threads note what they wait for in waiters[], by slot; who wakes looks
 *     there. With several waiters and one wake-up the choice is a guess.
 *
 * K3  The tracers wakeup and wakeup_rt measure from the wake to the return of
 *     the function that waited. Who wakes leaves a mark with one that waits and
 *     has none; who is woken takes its own, or that of another one that waits
 *     for the same, since the choice was a guess. As many marks are taken as
 *     were made: who gets a semaphore before the one that was woken for it takes
 *     its mark and forgets it. A mark is of one waiting only (round).
 *
 * K4  Of a lock it is known whom its new holder keeps out: they have not been
 *     let go after all, and lose their marks. So who releases a rwlock may leave
 *     one with all that wait for it.
 *
 * K5  While there is a mark, functions are recorded (agent_wakeup_pending()).
 *     It is told after a mark was set. Who has taken one says that there is none,
 *     and looks: what was set since is found, or told afterwards by who set it.
 *     A waiting that was left by siglongjmp keeps its mark until the thread waits again.
 */
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>
#include "agent/providers/hooks.h"
#include "agent/providers/records.h"
#include "agent/syscall.h"
#include "plane/arch/ring_commit.h"

enum { PRIO = 120, STATE_RUNNING = 0, STATE_SLEEPING = 1 };

/* ---- K2 ---- */

/* By slot; written by the slot's thread. In a child of fork() all are those of its parent: see waiters_of. */
struct waiter {
	_Atomic uintptr_t addr;		/* 0: does not wait; stored last, with release */
	uint32_t	pid;
	int32_t		cpu;		/* where it was when it began to wait */
	bool		shared;		/* for a lock that others may have, too */
	char		comm[LAYOUT_COMM_LEN];
	_Atomic uint32_t mark_state;	/* enum mark_state */
	_Atomic uint32_t round;		/* raised when a waiting begins */
	uint32_t	mark_round;	/* the waiting that the mark is of */
	struct agent_section_mark mark;
};

/* Whoever takes it from one of the other two may read or write the mark. */
enum mark_state { MARK_NONE, MARK_BUSY, MARK_SET };

static struct waiter waiters[LAYOUT_MAX_SLOTS];
static _Atomic uint32_t waiters_end;	/* no waiter from here on */
static _Atomic uint32_t waiters_of;	/* the process that wrote them */
static _Atomic uint32_t waiters_taken;	/* the process that has begun to forget its parent's */

static struct waiter *waiter_of(const struct agent_thread *t)
{
	uint32_t i = t->slot->index;

	return i < LAYOUT_MAX_SLOTS ? &waiters[i] : NULL;
}

/* In a new process the first one that waits forgets the others; who comes meanwhile is not seen to wait. */
static bool waiters_are_ours(const struct agent_thread *t)
{
	uint32_t taken = atomic_load_explicit(&waiters_taken, memory_order_relaxed);

	/* Acquire: pairs with the release below. */
	if (__builtin_expect(atomic_load_explicit(&waiters_of, memory_order_acquire) == t->tgid, 1))
		return true;
	/* Relaxed: it only says who is the first. */
	if (taken == t->tgid || !atomic_compare_exchange_strong_explicit(&waiters_taken, &taken, t->tgid,
									  memory_order_relaxed, memory_order_relaxed))
		return false;
	for (uint32_t i = 0; i < atomic_load_explicit(&waiters_end, memory_order_relaxed) && i < LAYOUT_MAX_SLOTS; i++) {
		atomic_store_explicit(&waiters[i].addr, 0, memory_order_relaxed);
		atomic_store_explicit(&waiters[i].mark_state, MARK_NONE, memory_order_relaxed);
	}
	atomic_store_explicit(&waiters_of, t->tgid, memory_order_release);
	return true;
}

static void waiter_begin(const struct agent_thread *t, const void *addr, bool shared)
{
	uint32_t i = t->slot->index, end = atomic_load_explicit(&waiters_end, memory_order_relaxed);
	struct waiter *w = waiter_of(t);

	if (!w || !waiters_are_ours(t))
		return;
	w->pid = t->pid;
	w->cpu = rseq_cpu();
	w->shared = shared;
	__builtin_memcpy(w->comm, t->comm, sizeof(w->comm));
	/* Relaxed: the release below is behind it. */
	atomic_fetch_add_explicit(&w->round, 1, memory_order_relaxed);
	while (end <= i && !atomic_compare_exchange_weak_explicit(&waiters_end, &end, i + 1, memory_order_relaxed,
								  memory_order_relaxed))
		;
	/* Pairs with the acquire in waiter_next(). */
	atomic_store_explicit(&w->addr, (uintptr_t)addr, memory_order_release);
}

static void waiter_end(const struct agent_thread *t)
{
	struct waiter *w = waiter_of(t);

	if (w)
		atomic_store_explicit(&w->addr, 0, memory_order_relaxed);
}

/* The next one from *i on that waits for the address; NULL: there is none. */
static struct waiter *waiter_next(const struct agent_thread *t, const void *addr, uint32_t *i)
{
	uint32_t end = atomic_load_explicit(&waiters_end, memory_order_relaxed);

	if (atomic_load_explicit(&waiters_of, memory_order_relaxed) != t->tgid)
		return NULL;
	while (*i < end && *i < LAYOUT_MAX_SLOTS) {
		struct waiter *w = &waiters[(*i)++];

		/* Pairs with the release in waiter_begin(). */
		if (atomic_load_explicit(&w->addr, memory_order_acquire) == (uintptr_t)addr)
			return w;
	}
	return NULL;
}

static void wake_waiters(struct agent_thread *t, const void *addr, int count, const void *frame)
{
	struct waiter *w;
	uint32_t i = 0;

	while (count-- > 0 && (w = waiter_next(t, addr, &i))) {
		struct kernel_sched_waking r = { .prio = PRIO };

		r.pid = (int32_t)w->pid;
		r.target_cpu = w->cpu >= 0 ? w->cpu : 0;
		__builtin_memcpy(r.comm, w->comm, sizeof(r.comm));
		provider_emit(t, KERNEL_FIRST + KERNEL_SCHED_WAKING, &r, sizeof(r), frame);
	}
}

/* ---- K3 ---- */

/* Acquire: pairs with the release in mark_give(). */
static bool mark_take(struct waiter *w, uint32_t from)
{
	return atomic_compare_exchange_strong_explicit(&w->mark_state, &from, MARK_BUSY, memory_order_acquire,
						       memory_order_relaxed);
}

static void mark_give(struct waiter *w, uint32_t to)
{
	atomic_store_explicit(&w->mark_state, to, memory_order_release);
}

/* Of an earlier waiting: it does not count. */
static bool mark_is_old(const struct waiter *w)
{
	return w->mark_round != atomic_load_explicit(&w->round, memory_order_relaxed);
}

/* false: it has one already */
static bool mark_leave(struct agent_thread *t, struct waiter *w, const void *by, const void *call_site)
{
	bool begun;

	if (!mark_take(w, MARK_NONE)) {
		if (!mark_take(w, MARK_SET))
			return false;
		if (!mark_is_old(w)) {
			mark_give(w, MARK_SET);
			return false;
		}
	}
	w->mark_round = atomic_load_explicit(&w->round, memory_order_relaxed);
	begun = agent_section_begin(t, SECTION_WATCH_WAKEUP, &w->mark, by, call_site);
	mark_give(w, begun ? MARK_SET : MARK_NONE);
	if (begun)
		agent_wakeup_tell(true);	/* K5 */
	return true;
}

/* Who is about to wait for a condition variable has noted that before libc has; a signal that comes between is lost. */
static int wakes_at_most(const void *addr, unsigned int kind, int count)
{
	const pthread_cond_t *c = addr;
	unsigned int waiters = kind == WAKE_COND ? __atomic_load_n(&c->__data.__wrefs, __ATOMIC_RELAXED) >> 3 : INT32_MAX;

	return count < (int)waiters ? count : (int)waiters;
}

static void mark_waiters(struct agent_thread *t, const void *addr, int count, const void *by, const void *call_site)
{
	struct waiter *w;
	uint32_t i = 0;

	while (count > 0 && (w = waiter_next(t, addr, &i)))
		count -= mark_leave(t, w, by, call_site);
}

static bool anybody_marked(void)
{
	uint32_t end = atomic_load_explicit(&waiters_end, memory_order_relaxed);

	for (uint32_t i = 0; i < end && i < LAYOUT_MAX_SLOTS; i++)
		/* Relaxed: behind the fence in marks_settle(). What is MARK_BUSY is told of by who has made it so. */
		if (atomic_load_explicit(&waiters[i].mark_state, memory_order_relaxed) == MARK_SET &&
		    !mark_is_old(&waiters[i]))
			return true;
	return false;
}

/* K5. A mark that was found may have been taken since, by somebody who has told that before us. */
static void marks_settle(void)
{
	enum { ROUNDS = 8 };

	for (int i = 0; i < ROUNDS; i++) {
		agent_wakeup_tell(false);
		/* Pairs with the release in mark_give(): who sets a mark that is not seen here tells of it behind us. */
		atomic_thread_fence(memory_order_seq_cst);
		if (!anybody_marked())
			return;
		agent_wakeup_tell(true);
		atomic_thread_fence(memory_order_seq_cst);
		if (anybody_marked())
			return;
	}
}

/* *out is its mark, which is gone then. */
static bool mark_get(struct waiter *w, struct agent_section_mark *out)
{
	bool old;

	if (!mark_take(w, MARK_SET))
		return false;
	old = mark_is_old(w);
	*out = w->mark;
	mark_give(w, MARK_NONE);
	marks_settle();
	return !old;
}

static bool mark_get_own(const struct agent_thread *t, struct agent_section_mark *out)
{
	struct waiter *w = waiter_of(t);

	return w && atomic_load_explicit(&waiters_of, memory_order_relaxed) == t->tgid && mark_get(w, out);
}

static bool mark_get_any(struct agent_thread *t, const void *addr, struct agent_section_mark *out)
{
	struct waiter *w;
	uint32_t i = 0;

	while ((w = waiter_next(t, addr, &i)))
		if (mark_get(w, out))
			return true;
	return false;
}

/* Asked only while wakeup_rt watches, behind a call that waited. */
static bool is_realtime(void)
{
	long policy = agent_restricted() ? -1 : agent_syscall(SYS_sched_getscheduler, 0);

	if (policy >= 0)
		policy &= ~(long)SCHED_RESET_ON_FORK;
	return policy == SCHED_FIFO || policy == SCHED_RR;
}

static void wakeup_ends(struct agent_thread *t, const void *addr, int ret, const void *by, const void *call_site,
			const void *frame)
{
	struct agent_section_mark m;
	bool marked = mark_get_own(t, &m);

	if (ret || (!marked && !mark_get_any(t, addr, &m)))
		return;
	if (agent_section_watched(SECTION_WAKEUP_RT) && !is_realtime())
		return;
	agent_section_end(t, SECTION_WATCH_WAKEUP, &m, by, call_site, frame);
}

void thread_got(const void *addr)
{
	struct agent_thread *t = agent_section_watched(SECTION_WAKEUP) ? agent_thread() : NULL;
	struct agent_section_mark m;

	if (t && agent_wakeup_pending())
		(void)mark_get_any(t, addr, &m);
}

/* K4 */
void thread_got_lock(struct agent_thread *t, const void *addr, bool shared)
{
	struct agent_section_mark m;
	struct waiter *w;
	uint32_t i = 0;

	while (agent_wakeup_pending() && (w = waiter_next(t, addr, &i)))
		if (!shared || !w->shared)
			(void)mark_get(w, &m);
}

/* What runs instead of a thread that waits is called idle. */
static void idle_name(char *to)
{
	static const char name[LAYOUT_COMM_LEN] = "swapper";

	__builtin_memcpy(to, name, sizeof(name));
}

static void emit_switch(struct agent_thread *t, bool away, const void *frame)
{
	struct kernel_sched_switch r = { .prev_prio = PRIO, .next_prio = PRIO };

	if (!kernel_armed(KERNEL_SCHED_SWITCH))
		return;
	if (away) {
		__builtin_memcpy(r.prev_comm, t->comm, sizeof(r.prev_comm));
		r.prev_pid = (int32_t)t->pid;
		r.prev_state = STATE_SLEEPING;
		idle_name(r.next_comm);
	} else {
		idle_name(r.prev_comm);
		r.prev_state = STATE_RUNNING;
		__builtin_memcpy(r.next_comm, t->comm, sizeof(r.next_comm));
		r.next_pid = (int32_t)t->pid;
	}
	provider_emit(t, KERNEL_FIRST + KERNEL_SCHED_SWITCH, &r, sizeof(r), frame);
}

void thread_wait(const void *addr, bool shared)
{
	struct agent_section_mark left;
	struct agent_thread *t;

	if (!kernel_armed(KERNEL_SCHED_WAKING) && !kernel_armed(KERNEL_SCHED_SWITCH) &&
	    !agent_section_watched(SECTION_WAKEUP))
		return;
	t = agent_thread();
	if (!t)
		return;
	(void)mark_get_own(t, &left);	/* K5 */
	emit_switch(t, true, NULL);
	waiter_begin(t, addr, shared);
}

void thread_woken(const void *addr, unsigned int kind, int ret, const void *by, const void *call_site,
		  const void *frame)
{
	struct thread_wakeup r = { .addr = (uintptr_t)addr, .kind = kind, .ret = ret };
	struct agent_thread *t = thread_wait_wanted() ? agent_thread() : NULL;

	if (!t)
		return;
	waiter_end(t);
	if (agent_section_watched(SECTION_WAKEUP))
		wakeup_ends(t, addr, ret, by, call_site, frame);
	emit_switch(t, false, frame);
	if (!provider_armed(PROVIDER_WAKEUP))
		return;
	r.call_site = agent_address(t, call_site);
	provider_emit(t, PROVIDER_WAKEUP, &r, sizeof(r), frame);
}

void thread_wake(const void *addr, unsigned int kind, int count, const void *by, const void *call_site,
		 const void *frame)
{
	struct thread_wake r = { .addr = (uintptr_t)addr, .kind = kind, .count = count };
	struct agent_thread *t = thread_wake_wanted() ? agent_thread() : NULL;

	if (!t)
		return;
	if (provider_armed(PROVIDER_WAKE)) {
		r.call_site = agent_address(t, call_site);
		provider_emit(t, PROVIDER_WAKE, &r, sizeof(r), frame);
	}
	if (kernel_armed(KERNEL_SCHED_WAKING))
		wake_waiters(t, addr, count, frame);
	if (agent_section_watched(SECTION_WAKEUP))
		mark_waiters(t, addr, wakes_at_most(addr, kind, count), by, call_site);
}

/* ---- syscall(SYS_futex, ...) ---- */

enum futex_does { FUTEX_DOES_OTHER, FUTEX_DOES_WAIT, FUTEX_DOES_WAKE };

static enum futex_does futex_does(uint64_t op)
{
	switch (op & FUTEX_CMD_MASK) {
	case FUTEX_WAIT:
	case FUTEX_WAIT_BITSET:
	case FUTEX_WAIT_REQUEUE_PI:
		return FUTEX_DOES_WAIT;
	case FUTEX_WAKE:
	case FUTEX_WAKE_BITSET:
	case FUTEX_WAKE_OP:
	case FUTEX_REQUEUE:
	case FUTEX_CMP_REQUEUE:
		return FUTEX_DOES_WAKE;
	default:
		return FUTEX_DOES_OTHER;
	}
}

void thread_futex_enter(const uint64_t args[6], const void *call_site, const void *frame)
{
	switch (futex_does(args[1])) {
	case FUTEX_DOES_WAIT:
		thread_wait((const void *)args[0], false);
		break;
	case FUTEX_DOES_WAKE:
		thread_wake((const void *)args[0], WAKE_FUTEX, (int)args[2], (const void *)syscall, call_site, frame);
		break;
	default:
		break;
	}
}

void thread_futex_exit(const uint64_t args[6], long ret, const void *call_site, const void *frame)
{
	if (futex_does(args[1]) == FUTEX_DOES_WAKE && ret <= 0)
		thread_got((const void *)args[0]);	/* nobody was woken */
	if (futex_does(args[1]) == FUTEX_DOES_WAIT)
		thread_woken((const void *)args[0], WAKE_FUTEX, (int)ret, (const void *)syscall, call_site, frame);
}
