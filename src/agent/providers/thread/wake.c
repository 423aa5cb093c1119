/* SPDX-License-Identifier: MIT */
/*
 * wake.c - which thread waits, and which one wakes which: thread:wake, wakeup, sched:sched_waking,
 * sched_switch, wakeups of latency tracers
 *
 *     lock.c, wait.c, syscall(SYS_futex) --thread_wait()--> waits --thread_woken()--> runs again
 *                                                 ^
 *     the same, and a thread's end ----------thread_wake()
 *
 * K1  Waiter and waker are matched by an address: of the condition variable,
 *     semaphore, futex, mutex or rwlock; for a join, of the thread's descriptor.
 *     Wakeups by a file (eventfd, pipe) and barriers are not seen.
 *
 * K2  While such events are wanted, threads note in the session what they wait
 *     for, by slot (struct waiter); a thread that wakes looks there. If there are
 *     several waiters and one wake-up, the choice is a guess.
 *
 * K3  The tracers wakeup and wakeup_rt measure from the wake to the return of
 *     the function that waited. A waker leaves a mark with a waiter that has none.
 *     A woken thread takes its own mark, or that of another one that waits for
 *     the same, since the choice was a guess. As many marks are taken as were
 *     made: a thread that gets a semaphore before the one that was woken for it
 *     takes that one's mark and forgets it. A mark belongs to one wait only
 *     (round).
 *
 * K4  The new holder of a lock keeps some waiters out: these do not run after
 *     all, and lose their marks. So a thread that releases a rwlock may leave a
 *     mark with each thread that waits for it.
 *
 * K5  In two processes an address means the same object only if both have it from
 *     one ancestor (family: since exec), and only if libc knows the object to be
 *     shared between processes. Waiters of other processes are looked at after
 *     those of the own process, and only as many as wait in addition by libc's
 *     count: the two processes may have mapped different things there since they
 *     parted.
 *
 * K6  While there is a mark, functions of its thread's process are recorded
 *     (agent_wakeup_pending()). A thread that sets a mark reports that after the
 *     mark is set. A thread that has taken one reports that there is none, and
 *     looks again: either it finds a mark that was set meanwhile, or the thread
 *     that set it reports later. A wait that was left by siglongjmp has its mark
 *     until the thread waits again.
 *
 * K7  After a wait the object may be freed. Therefore it is read before the wait; a lock
 *     that is held, and an object that was got without waiting, also after it.
 */
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>
#include "agent/providers/hooks.h"
#include "agent/providers/records.h"
#include "agent/syscall.h"
#include "plane/arch/counter.h"
#include "plane/arch/ring_commit.h"

enum { PRIO = 120, STATE_RUNNING = 0, STATE_SLEEPING = 1 };

/* ---- What libc knows of an object ---- */

/* glibc's sem_t */
struct libc_sem {
	uint64_t	data;		/* the upper half is the number of waiters */
	int		shared;
};

static bool is_process_shared(const void *addr, unsigned int kind)
{
	enum { MUTEX_SHARED = 128, COND_SHARED = 1 };

	switch (kind) {
	case WAKE_COND:
		/* Relaxed: only pthread_cond_init() sets that bit. */
		return __atomic_load_n(&((const pthread_cond_t *)addr)->__data.__wrefs,
				       __ATOMIC_RELAXED) &
		       COND_SHARED;
	case WAKE_SEM:
		return ((const struct libc_sem *)addr)->shared;
	case WAKE_MUTEX:
		return ((const pthread_mutex_t *)addr)->__data.__kind & MUTEX_SHARED;
	case WAKE_RWLOCK:
		return ((const pthread_rwlock_t *)addr)->__data.__shared;
	default:
		return false;
	}
}

/* libc's number of waiters. For locks it was looked up before whether there is one (lock.c, L7). */
static int waiters_in(const void *addr, unsigned int kind)
{
	unsigned int nr = INT32_MAX;

	if (kind == WAKE_COND)
		/* Relaxed: the number may change at once; the same holds for a semaphore's. */
		nr = __atomic_load_n(&((const pthread_cond_t *)addr)->__data.__wrefs,
				     __ATOMIC_RELAXED) >>
		     3;
	else if (kind == WAKE_SEM)
		nr = (unsigned int)(__atomic_load_n(&((const struct libc_sem *)addr)->data,
						    __ATOMIC_RELAXED) >>
				    32);
	return nr < INT32_MAX ? (int)nr : INT32_MAX;
}

/* ---- K2 ---- */

static uint64_t family;

__attribute__((constructor)) static void found_family(void)
{
	family = counter_read() | 1;
}

static struct waiter *waiter_of(const struct agent_thread *t)
{
	const uint32_t i = agent_slot_index(t);
	_Atomic uint32_t *end;
	uint32_t nr;
	struct waiter *all = agent_waiters(&nr, &end);

	return i < nr ? &all[i] : NULL;
}

static void waiter_begin(const struct agent_thread *t, const void *addr, unsigned int kind,
			 bool shared)
{
	_Atomic uint32_t *end;
	uint32_t nr, i, last;
	struct waiter *all = agent_waiters(&nr, &end), *w = waiter_of(t);

	if (!w)
		return;
	i = (uint32_t)(w - all);
	w->family = is_process_shared(addr, kind) ? family : 0;
	w->process = agent_process();
	w->pid = t->pid;
	w->cpu = rseq_cpu();
	w->shared = shared;
	__builtin_memcpy(w->comm, t->comm, sizeof(w->comm));
	/* Release: after the end of the last wait. Pairs with the acquire in mark_leave(). */
	atomic_fetch_add_explicit(&w->round, 1, memory_order_release);
	/* Relaxed: it only grows; for a thread that does not see it, this wait has not begun. */
	last = atomic_load_explicit(end, memory_order_relaxed);
	while (last <= i && !atomic_compare_exchange_weak_explicit(
				    end, &last, i + 1, memory_order_relaxed, memory_order_relaxed))
		;
	/* Pairs with the acquire in is_waiting(). */
	atomic_store_explicit(&w->addr, (uintptr_t)addr, memory_order_release);
}

static void waiter_end(const struct agent_thread *t)
{
	struct waiter *w = waiter_of(t);

	/* Relaxed: a thread that still finds it leaves a mark that thread_wait() removes (K6). */
	if (w)
		atomic_store_explicit(&w->addr, 0, memory_order_relaxed);
}

/* A walk through the threads that wait for an address: of this process, or of others (K5). */
struct walk {
	const void	*addr;
	uint64_t	family;		/* 0: waiters of this process */
	uint32_t	process;
	uint32_t	i;
};

static struct walk walk_own(const void *addr)
{
	return (struct walk){ .addr = addr, .process = agent_process() };
}

/* If the object is not shared between processes, the walk is empty. */
static struct walk walk_others(const void *addr, bool between)
{
	return (struct walk){ .addr = addr, .process = agent_process(), .family = family,
			      .i = between ? 0 : UINT32_MAX };
}

static bool is_meant(const struct walk *walk, const struct waiter *w)
{
	if (walk->family)
		return w->family == walk->family && w->process != walk->process;
	return w->process == walk->process;
}

/* Whether the thread waits for the walk's address, and belongs to its processes. */
static bool is_waiting(const struct walk *walk, const struct waiter *w)
{
	/* Pairs with the release in waiter_begin(). */
	return atomic_load_explicit(&w->addr, memory_order_acquire) == (uintptr_t)walk->addr &&
	       is_meant(walk, w);
}

/* The next waiter; NULL: there is none. */
static struct waiter *waiter_next(struct walk *walk)
{
	_Atomic uint32_t *end;
	uint32_t nr, last;
	struct waiter *all = agent_waiters(&nr, &end);

	/* Relaxed: it is only the end of the search, see waiter_begin(). */
	last = atomic_load_explicit(end, memory_order_relaxed);
	while (walk->i < last && walk->i < nr) {
		struct waiter *w = &all[walk->i++];

		if (is_waiting(walk, w))
			return w;
	}
	return NULL;
}

/* How many threads of other processes may be woken after those of this one. */
static int others_at_most(const void *addr, unsigned int kind, int count, int own)
{
	int waiting = waiters_in(addr, kind);

	return waiting - own < count ? waiting - own : count;
}

static void emit_waking(struct agent_thread *t, const struct waiter *w, const void *frame)
{
	struct kernel_sched_waking r = { .prio = PRIO };

	r.pid = (int32_t)w->pid;
	r.target_cpu = w->cpu >= 0 ? w->cpu : 0;
	__builtin_memcpy(r.comm, w->comm, sizeof(r.comm));
	provider_emit(t, KERNEL_FIRST + KERNEL_SCHED_WAKING, &r, sizeof(r), frame);
}

static void wake_waiters(struct agent_thread *t, const void *addr, unsigned int kind, int count,
			 const void *frame)
{
	struct walk walk = walk_own(addr);
	struct waiter *w;
	int own = 0;

	for (; count > 0 && (w = waiter_next(&walk)); count--, own++)
		emit_waking(t, w, frame);
	count = others_at_most(addr, kind, count, own);
	walk = walk_others(addr, is_process_shared(addr, kind));
	for (; count > 0 && (w = waiter_next(&walk)); count--)
		emit_waking(t, w, frame);
}

/* ---- K3 ---- */

static bool mark_take(struct waiter *w, uint32_t from)
{
	/*
	 * Acquire: pairs with the release in mark_give(). Relaxed: a thread that fails reads
	 * nothing of the mark.
	 */
	return atomic_compare_exchange_strong_explicit(&w->mark_state, &from, MARK_BUSY,
						       memory_order_acquire, memory_order_relaxed);
}

static void mark_give(struct waiter *w, uint32_t to)
{
	/* Pairs with the acquire in mark_take(). */
	atomic_store_explicit(&w->mark_state, to, memory_order_release);
}

/* Whether the mark belongs to an earlier wait: then it does not count. */
static bool mark_is_old(const struct waiter *w)
{
	/*
	 * Relaxed: the waiter's own thread has raised it itself. For other threads a wait that ends
	 * just now may count as going on.
	 */
	return w->mark_round != atomic_load_explicit(&w->round, memory_order_relaxed);
}

/* K6: sets the mark and reports it. */
static void mark_show(struct waiter *w, uint32_t process)
{
	mark_give(w, MARK_SET);
	/*
	 * Pairs with the fences in marks_settle(): a thread that does not see the mark there has
	 * reported before this one.
	 */
	atomic_thread_fence(memory_order_seq_cst);
	agent_wakeup_tell(process, true);
}

/*
 * Leaves a mark with the waiter that the walk has found. False: it has one, or waits for something
 * else by now.
 */
static bool mark_leave(struct agent_thread *t, const struct walk *walk, struct waiter *w,
		       const void *by, const void *call_site)
{
	uint32_t process;
	bool begun;

	if (!mark_take(w, MARK_NONE)) {
		if (!mark_take(w, MARK_SET))
			return false;
		if (!mark_is_old(w)) {
			/* Reported again: a thread that settled meanwhile has not seen the mark. */
			mark_show(w, w->process);
			return false;
		}
	}
	/*
	 * Read before is_waiting(): so the mark belongs to that wait, or the wait is over. Pairs
	 * with the release in waiter_begin().
	 */
	w->mark_round = atomic_load_explicit(&w->round, memory_order_acquire);
	if (!is_waiting(walk, w)) {
		mark_give(w, MARK_NONE);
		return false;
	}
	process = w->process;
	begun = agent_section_begin(t, SECTION_WATCH_WAKEUP, &w->mark, by, call_site);
	if (begun) {
		/* A thread of another process may take it. */
		w->mark.at.ip = agent_address(t, by);
		w->mark.at.parent = agent_address(t, call_site);
		w->mark.at.translated = true;
	}
	if (begun)
		mark_show(w, process);
	else
		mark_give(w, MARK_NONE);
	return true;
}

/*
 * A thread notes that it is about to wait for a condition variable before libc does: a signal in
 * between is lost, so it must not get a mark. A semaphore's post is not lost.
 */
static void mark_waiters(struct agent_thread *t, const void *addr, unsigned int kind, int count,
			 const void *by, const void *call_site)
{
	struct walk walk = walk_own(addr);
	struct waiter *w;
	int own = 0;

	if (kind == WAKE_COND)
		count = others_at_most(addr, kind, count, 0);
	for (; count > 0 && (w = waiter_next(&walk)); own++)
		count -= mark_leave(t, &walk, w, by, call_site);
	count = others_at_most(addr, kind, count, own);
	walk = walk_others(addr, is_process_shared(addr, kind));
	while (count > 0 && (w = waiter_next(&walk)))
		count -= mark_leave(t, &walk, w, by, call_site);
}

static bool anybody_marked(uint32_t process)
{
	_Atomic uint32_t *end;
	uint32_t nr, last;
	struct waiter *all = agent_waiters(&nr, &end);

	/*
	 * Relaxed: after the fence, too: a thread that has set a mark has read an `end` beyond its
	 * waiter.
	 */
	last = atomic_load_explicit(end, memory_order_relaxed);
	for (uint32_t i = 0; i < last && i < nr; i++)
		/*
		 * Relaxed: after the fence in marks_settle(). A MARK_BUSY is reported by the thread
		 * that has made it so.
		 */
		if (all[i].process == process && !mark_is_old(&all[i]) &&
		    atomic_load_explicit(&all[i].mark_state, memory_order_relaxed) == MARK_SET)
			return true;
	return false;
}

/*
 * K6. Another thread may have taken a mark that was found, and have reported that before this one.
 */
static void marks_settle(uint32_t process)
{
	enum { ROUNDS = 8 };

	for (int i = 0; i < ROUNDS; i++) {
		agent_wakeup_tell(process, false);
		/*
		 * Pairs with the fence in mark_show(): a thread whose mark is not seen here reports
		 * after this one.
		 */
		atomic_thread_fence(memory_order_seq_cst);
		if (!anybody_marked(process))
			return;
		agent_wakeup_tell(process, true);
		/*
		 * Pairs with the fence above in a thread that has taken the mark since. At worst a
		 * mark that has gone is reported once too often.
		 */
		atomic_thread_fence(memory_order_seq_cst);
		if (anybody_marked(process))
			return;
	}
}

/* Takes the waiter's mark into *out. */
static bool mark_get(struct waiter *w, struct section_mark *out)
{
	uint32_t process;
	bool old;

	if (!mark_take(w, MARK_SET))
		return false;
	old = mark_is_old(w);
	process = w->process;
	*out = w->mark;
	/* Its addresses are the session's already, and not of this process. */
	out->at.translated = true;
	mark_give(w, MARK_NONE);
	marks_settle(process);
	return !old;
}

static bool mark_get_own(const struct agent_thread *t, struct section_mark *out)
{
	struct waiter *w = waiter_of(t);

	return w && w->process == agent_process() && mark_get(w, out);
}

/* between: the object is shared between processes. */
static bool mark_get_any(const void *addr, bool between, struct section_mark *out)
{
	struct walk walks[] = { walk_own(addr), walk_others(addr, between) };
	struct waiter *w;

	for (int i = 0; i < 2; i++)
		while ((w = waiter_next(&walks[i])))
			if (mark_get(w, out))
				return true;
	return false;
}

/* Called only while wakeup_rt watches, after a call that waited. */
static bool is_realtime(void)
{
	long policy = agent_may_ask() ? agent_syscall(SYS_sched_getscheduler, 0) : -1;

	if (policy >= 0)
		policy &= ~(long)SCHED_RESET_ON_FORK;
	return policy == SCHED_FIFO || policy == SCHED_RR;
}

static void wakeup_ends(struct agent_thread *t, const void *addr, int ret, const void *by,
			const void *call_site, const void *frame)
{
	const struct waiter *w = waiter_of(t);
	struct section_mark m;
	bool marked = mark_get_own(t, &m);

	/* K7 */
	if (ret || (!marked && !mark_get_any(addr, w && w->family, &m)))
		return;
	if (agent_section_watched(SECTION_WAKEUP_RT) && !is_realtime())
		return;
	agent_section_end(t, SECTION_WATCH_WAKEUP, &m, by, call_site, frame);
}

/* Whether some waiter for it may have a mark. */
static bool may_be_marked(const void *addr, unsigned int kind)
{
	return agent_wakeup_pending() || is_process_shared(addr, kind);
}

void thread_got(const void *addr, unsigned int kind)
{
	struct agent_thread *t = agent_section_watched(SECTION_WAKEUP) ? agent_thread() : NULL;
	struct section_mark m;

	if (t && may_be_marked(addr, kind))
		(void)mark_get_any(addr, is_process_shared(addr, kind), &m);
}

/* K4 */
void thread_got_lock(const void *addr, unsigned int kind, bool shared)
{
	struct walk walks[] = { walk_own(addr), walk_others(addr, is_process_shared(addr, kind)) };
	struct section_mark m;
	struct waiter *w;

	for (int i = 0; i < 2 && may_be_marked(addr, kind); i++)
		while ((w = waiter_next(&walks[i])))
			if (!shared || !w->shared)
				(void)mark_get(w, &m);
}

/* The idle task runs instead of a thread that waits. */
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

void thread_wait(const void *addr, unsigned int kind, bool shared)
{
	struct section_mark left;
	struct agent_thread *t;

	if (!kernel_armed(KERNEL_SCHED_WAKING) && !kernel_armed(KERNEL_SCHED_SWITCH) &&
	    !agent_section_watched(SECTION_WAKEUP))
		return;
	t = agent_thread();
	if (!t)
		return;
	(void)mark_get_own(t, &left);	/* K6 */
	emit_switch(t, true, NULL);
	waiter_begin(t, addr, kind, shared);
}

void thread_woken(const void *addr, unsigned int kind, int ret, const void *by,
		  const void *call_site, const void *frame)
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

void thread_wake(const void *addr, unsigned int kind, int count, const void *by,
		 const void *call_site, const void *frame)
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
		wake_waiters(t, addr, kind, count, frame);
	if (agent_section_watched(SECTION_WAKEUP))
		mark_waiters(t, addr, kind, count, by, call_site);
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
		thread_wait((const void *)args[0], WAKE_FUTEX, false);
		break;
	case FUTEX_DOES_WAKE:
		thread_wake((const void *)args[0], WAKE_FUTEX, (int)args[2], (const void *)syscall,
			    call_site, frame);
		break;
	default:
		break;
	}
}

void thread_futex_exit(const uint64_t args[6], long ret, const void *call_site, const void *frame)
{
	if (futex_does(args[1]) == FUTEX_DOES_WAKE && ret <= 0)
		thread_got((const void *)args[0], WAKE_FUTEX);	/* no thread was woken */
	if (futex_does(args[1]) == FUTEX_DOES_WAIT)
		thread_woken((const void *)args[0], WAKE_FUTEX, (int)ret, (const void *)syscall,
			     call_site, frame);
}
