/* SPDX-License-Identifier: MIT */
/*
 * lock.c - lock:contention_begin, contention_end, acquired, released
 *
 * L1  While one of the four is armed, the lock's try function is called first. If it
 *     gets the lock, or returns an error other than "busy", the waiting function
 *     would have returned the same. If it returns "busy", the waiting function is
 *     called between contention_begin and _end, and itself finds deadlocks, dead
 *     owners and the end of a time limit.
 * L2  Some functions check their arguments before they try (a time limit, a clock).
 *     If these are wrong, the function is called as it is, without a try.
 * L3  Mutexes that are elided are left to the real function: a try inside a
 *     transaction would abort it.
 * L4  released is recorded before the lock is released: no acquired of another
 *     thread comes before it.
 * L5  The real function runs outside of everything of ours: signal handlers,
 *     cancellation and siglongjmp may leave it. A wait for a condition variable
 *     ends with its record also when the thread is cancelled there.
 * L6  t->locks counts mutexes, rwlocks and spinlocks held, while the events are
 *     armed or a latency tracer watches. Semaphores have no holder.
 * L7  A thread that releases a mutex or a rwlock wakes a thread that sleeps for it.
 *     libc does that by a system call of its own. It sees in the lock whether a
 *     thread sleeps, and so does this file: a lock without sleepers wakes nobody.
 *     If two readers release at once, each may see the other: then the wake is
 *     missed.
 */
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <threads.h>
#include <time.h>
#include "agent/providers/lock/locks.h"

#define FOR_EACH_FUNCTION(X)									\
	X(pthread_mutex_lock) X(pthread_mutex_trylock) X(pthread_mutex_timedlock)		\
	X(pthread_mutex_clocklock) X(pthread_mutex_unlock)					\
	X(pthread_rwlock_rdlock) X(pthread_rwlock_tryrdlock) X(pthread_rwlock_timedrdlock)	\
	X(pthread_rwlock_clockrdlock) X(pthread_rwlock_wrlock) X(pthread_rwlock_trywrlock)	\
	X(pthread_rwlock_timedwrlock) X(pthread_rwlock_clockwrlock) X(pthread_rwlock_unlock)	\
	X(pthread_spin_lock) X(pthread_spin_trylock) X(pthread_spin_unlock)			\
	X(mtx_lock) X(mtx_trylock) X(mtx_timedlock) X(mtx_unlock)

#define DECLARE(function) REAL_FUNCTION(function);
FOR_EACH_FUNCTION(DECLARE)

/* ---- Records ---- */

void lock_contention_begin(const volatile void *lock, uint32_t flags, const void *frame)
{
	struct lock_begin r = { .lock_addr = (uintptr_t)lock, .flags = flags };
	struct agent_thread *t = provider_armed(PROVIDER_CONTENTION_BEGIN) ? agent_thread() : NULL;

	if (t)
		provider_emit(t, PROVIDER_CONTENTION_BEGIN, &r,
			      offsetof(struct lock_begin, flags) + 4, frame);
}

void lock_contention_end(const volatile void *lock, int error, const void *frame)
{
	struct lock_end r = { .lock_addr = (uintptr_t)lock, .ret = -error };
	struct agent_thread *t = provider_armed(PROVIDER_CONTENTION_END) ? agent_thread() : NULL;

	if (t)
		provider_emit(t, PROVIDER_CONTENTION_END, &r, offsetof(struct lock_end, ret) + 4,
			      frame);
}

static inline __attribute__((always_inline)) void
emit_held(struct agent_thread *t, unsigned int nr, const volatile void *lock, uint32_t kind,
	  const void *site, const void *frame)
{
	struct lock_held r;	/* emit_fill() fills in its common fields */

	if (!provider_armed(nr))
		return;
	r.lock_addr = (uintptr_t)lock;
	r.kind = kind;
	if (PROVIDER_COUNT_SOME(t, nr, &r, call_site))
		return;
	r.call_site = agent_address(t, site);
	provider_emit(t, nr, &r, offsetof(struct lock_held, kind) + 4, frame);
}

/* ---- L7 ---- */

static bool sleeps(uint32_t kind)
{
	return kind < LOCK_KIND_SPIN;
}

static unsigned int wake_kind_of(uint32_t kind)
{
	return kind == LOCK_KIND_MUTEX ? WAKE_MUTEX : WAKE_RWLOCK;
}

/* A recursive mutex that was locked several times stays locked. */
static bool mutex_wakes(const pthread_mutex_t *m)
{
	enum { PRIO_INHERIT = 32, ROBUST = 16, WORD = 3, WORD_CONTENDED = 2 };
	/* Relaxed: no order shows a thread that begins to sleep after this look (L7). */
	unsigned int word = (unsigned int)__atomic_load_n(&m->__data.__lock, __ATOMIC_RELAXED);

	if (m->__data.__count > 1)
		return false;
	if (m->__data.__kind & (PRIO_INHERIT | ROBUST))
		return word & FUTEX_WAITERS;
	return (word & WORD) == WORD_CONTENDED;
}

/* Only the last reader wakes. */
static bool rwlock_wakes(const pthread_rwlock_t *l, uint32_t kind)
{
	enum { READERS_WAIT = 4, READER_SHIFT = 3, FUTEX_SLEPT_ON = 2 };
	/* Relaxed: as in mutex_wakes(): only libc's unlock sees what changes after this look. */
	unsigned int readers = __atomic_load_n(&l->__data.__readers, __ATOMIC_RELAXED);
	unsigned int futexes = __atomic_load_n(&l->__data.__wrphase_futex, __ATOMIC_RELAXED) |
			       __atomic_load_n(&l->__data.__writers_futex, __ATOMIC_RELAXED);

	if (kind == LOCK_KIND_READ && readers >> READER_SHIFT > 1)
		return false;
	return (futexes & FUTEX_SLEPT_ON) || (readers & READERS_WAIT);
}

static bool lock_wakes(const volatile void *lock, uint32_t kind)
{
	return kind == LOCK_KIND_MUTEX ? mutex_wakes((const pthread_mutex_t *)lock) :
	       rwlock_wakes((const pthread_rwlock_t *)lock, kind);
}

/* ---- Acquired and released: inline for mutexes, because most locks are mutexes ---- */

static inline void count_lock(struct agent_thread *t, uint32_t kind)
{
	if (kind < LOCK_KIND_SEM && t->locks < UINT8_MAX)
		t->locks++;
}

/* Called while latency tracers watch. */
static __attribute__((noinline)) void
section_acquired(struct agent_thread *t, const volatile void *lock, uint32_t kind, const void *by,
		 const void *site, const void *frame)
{
	if (sleeps(kind) && agent_section_watched(SECTION_WAKEUP))
		thread_got_lock((const void *)lock, wake_kind_of(kind), kind == LOCK_KIND_READ);
	count_lock(t, kind);
	if (kind < LOCK_KIND_SEM && agent_section_watched(SECTION_PREEMPT))
		agent_section_change(t, SECTION_PREEMPT, true, by, site, frame);
}

static inline __attribute__((always_inline)) void
acquired(const volatile void *lock, uint32_t kind, const void *by, const void *site,
	 const void *frame)
{
	struct agent_thread *t = agent_thread();

	if (!t)
		return;
	if (agent_section_watched(SECTION_WAKEUP | SECTION_PREEMPT))
		section_acquired(t, lock, kind, by, site, frame);
	else
		count_lock(t, kind);
	emit_held(t, PROVIDER_ACQUIRED, lock, kind, site, frame);
}

static inline __attribute__((always_inline)) void
released(const volatile void *lock, uint32_t kind, const void *by, const void *site,
	 const void *frame)
{
	struct agent_thread *t = agent_thread();

	if (!t)
		return;
	emit_held(t, PROVIDER_RELEASED, lock, kind, site, frame);
	if (sleeps(kind) && thread_wake_wanted() && lock_wakes(lock, kind))
		thread_wake((const void *)lock, wake_kind_of(kind),
			    kind == LOCK_KIND_MUTEX ? 1 : INT32_MAX, by, site, frame);
	if (kind < LOCK_KIND_SEM && agent_section_watched(SECTION_PREEMPT))
		agent_section_change(t, SECTION_PREEMPT, false, by, site, frame);
	if (kind < LOCK_KIND_SEM && t->locks)
		t->locks--;
}

void lock_acquired(const volatile void *lock, uint32_t kind, const void *by, const void *site,
		   const void *frame)
{
	acquired(lock, kind, by, site, frame);
}

void lock_released(const volatile void *lock, uint32_t kind, const void *by, const void *site,
		   const void *frame)
{
	released(lock, kind, by, site, frame);
}

/* ---- L1: returns the error, 0 when the lock was acquired ---- */

static bool held(int error)
{
	return error == 0 || error == EOWNERDEAD;
}

static void contend_begin(const volatile void *lock, uint32_t kind, uint32_t flags,
			  const void *frame)
{
	lock_contention_begin(lock, flags, frame);
	if (sleeps(kind))
		thread_wait((const void *)lock, wake_kind_of(kind), kind == LOCK_KIND_READ);
}

static void contend_end(const volatile void *lock, uint32_t kind, int error, const void *by,
			const void *site, const void *frame)
{
	if (sleeps(kind))
		thread_woken((const void *)lock, wake_kind_of(kind), -error, by, site, frame);
	lock_contention_end(lock, error, frame);
}

static inline __attribute__((always_inline)) void
hold(const volatile void *lock, uint32_t kind, const void *by, const void *site, const void *frame)
{
	if (kind == LOCK_KIND_MUTEX)
		acquired(lock, kind, by, site, frame);
	else
		lock_acquired(lock, kind, by, site, frame);
}

#define LOCK(function, lock, kind, flags, busy, try, wait, site) ({	\
	const void *frame_ = FRAME_BELOW(site);				\
	int error_ = try;						\
									\
	if (error_ == (busy)) {						\
		contend_begin(lock, kind, flags, frame_);		\
		error_ = wait;						\
		contend_end(lock, kind, error_, BY(function), site, frame_); \
	}								\
	if (held(error_))						\
		hold(lock, kind, BY(function), site, frame_);		\
	error_; })

/* Without waiting; the lock was acquired or not. */
#define TRY_LOCK(function, lock, kind, try, site)	({		\
	int error_ = try;						\
									\
	if (held(error_))						\
		hold(lock, kind, BY(function), site, FRAME_BELOW(site));	\
	error_; })

/* ---- Mutexes ---- */

/* L3: glibc's PTHREAD_MUTEX_ELISION_NP */
static bool elided(const pthread_mutex_t *m)
{
	return m->__data.__kind & 256;
}

SLOW static int mutex_lock(pthread_mutex_t *m, const void *site)
{
	if (elided(m))
		return TRY_LOCK(pthread_mutex_lock, m, LOCK_KIND_MUTEX, REAL(pthread_mutex_lock)(m),
				site);
	return LOCK(pthread_mutex_lock, m, LOCK_KIND_MUTEX, LOCK_MUTEX, EBUSY,
		    REAL(pthread_mutex_trylock)(m), REAL(pthread_mutex_lock)(m), site);
}

INTERPOSE int pthread_mutex_lock(pthread_mutex_t *m)
{
	if (LIKELY(!lock_wanted()))
		return REAL(pthread_mutex_lock)(m);
	return mutex_lock(m, CALL_SITE);
}

SLOW static int mutex_trylock(pthread_mutex_t *m, const void *site)
{
	return TRY_LOCK(pthread_mutex_trylock, m, LOCK_KIND_MUTEX, REAL(pthread_mutex_trylock)(m),
			site);
}

INTERPOSE int pthread_mutex_trylock(pthread_mutex_t *m)
{
	if (LIKELY(!lock_wanted()))
		return REAL(pthread_mutex_trylock)(m);
	return mutex_trylock(m, CALL_SITE);
}

SLOW static int mutex_timedlock(pthread_mutex_t *m, const struct timespec *until, const void *site)
{
	if (elided(m) || !time_valid(until))
		return TRY_LOCK(pthread_mutex_timedlock, m, LOCK_KIND_MUTEX,
				REAL(pthread_mutex_timedlock)(m, until), site);
	return LOCK(pthread_mutex_timedlock, m, LOCK_KIND_MUTEX, LOCK_MUTEX, EBUSY,
		    REAL(pthread_mutex_trylock)(m), REAL(pthread_mutex_timedlock)(m, until), site);
}

INTERPOSE int pthread_mutex_timedlock(pthread_mutex_t *m, const struct timespec *until)
{
	if (LIKELY(!lock_wanted()))
		return REAL(pthread_mutex_timedlock)(m, until);
	return mutex_timedlock(m, until, CALL_SITE);
}

SLOW static int mutex_clocklock(pthread_mutex_t *m, clockid_t clock, const struct timespec *until,
				const void *site)
{
	if (elided(m) || !clock_valid(clock, until))
		return TRY_LOCK(pthread_mutex_clocklock, m, LOCK_KIND_MUTEX,
				REAL(pthread_mutex_clocklock)(m, clock, until), site);
	return LOCK(pthread_mutex_clocklock, m, LOCK_KIND_MUTEX, LOCK_MUTEX, EBUSY,
		    REAL(pthread_mutex_trylock)(m), REAL(pthread_mutex_clocklock)(m, clock, until),
		    site);
}

INTERPOSE int pthread_mutex_clocklock(pthread_mutex_t *m, clockid_t clock,
				      const struct timespec *until)
{
	if (LIKELY(!lock_wanted()))
		return REAL(pthread_mutex_clocklock)(m, clock, until);
	return mutex_clocklock(m, clock, until, CALL_SITE);
}

SLOW static int mutex_unlock(pthread_mutex_t *m, const void *site)
{
	released(m, LOCK_KIND_MUTEX, BY(pthread_mutex_unlock), site, FRAME_BELOW(site));
	return REAL(pthread_mutex_unlock)(m);
}

INTERPOSE int pthread_mutex_unlock(pthread_mutex_t *m)
{
	if (LIKELY(!lock_wanted()))
		return REAL(pthread_mutex_unlock)(m);
	return mutex_unlock(m, CALL_SITE);
}

/* ---- Read-write locks: read and write differ in name, kind and flag ---- */

#define RWLOCK(rd, lock_kind, lock_flag)							\
SLOW static int rwlock_##rd(pthread_rwlock_t *l, const void *site)				\
{												\
	return LOCK(pthread_rwlock_##rd##lock, l, lock_kind, lock_flag, EBUSY,			\
		    REAL(pthread_rwlock_try##rd##lock)(l), REAL(pthread_rwlock_##rd##lock)(l), \
			    site); \
}												\
												\
INTERPOSE int pthread_rwlock_##rd##lock(pthread_rwlock_t *l)					\
{												\
	if (LIKELY(!lock_wanted()))								\
		return REAL(pthread_rwlock_##rd##lock)(l);					\
	return rwlock_##rd(l, CALL_SITE);							\
}												\
												\
SLOW static int rwlock_try##rd(pthread_rwlock_t *l, const void *site)				\
{												\
	return TRY_LOCK(pthread_rwlock_try##rd##lock, l, lock_kind, \
		REAL(pthread_rwlock_try##rd##lock)(l), site); \
}												\
												\
INTERPOSE int pthread_rwlock_try##rd##lock(pthread_rwlock_t *l)					\
{												\
	if (LIKELY(!lock_wanted()))								\
		return REAL(pthread_rwlock_try##rd##lock)(l);					\
	return rwlock_try##rd(l, CALL_SITE);							\
}												\
												\
SLOW static int rwlock_timed##rd(pthread_rwlock_t *l, const struct timespec *until, \
	const void *site) \
{												\
	if (!time_valid(until))									\
		return REAL(pthread_rwlock_timed##rd##lock)(l, until);				\
	return LOCK(pthread_rwlock_timed##rd##lock, l, lock_kind, lock_flag, EBUSY,		\
		    REAL(pthread_rwlock_try##rd##lock)(l), REAL(pthread_rwlock_timed##rd##lock)(l, \
			    until), site); \
}												\
												\
INTERPOSE int pthread_rwlock_timed##rd##lock(pthread_rwlock_t *l, const struct timespec *until)	\
{												\
	if (LIKELY(!lock_wanted()))								\
		return REAL(pthread_rwlock_timed##rd##lock)(l, until);				\
	return rwlock_timed##rd(l, until, CALL_SITE);						\
}												\
												\
SLOW static int rwlock_clock##rd(pthread_rwlock_t *l, clockid_t clock, \
	const struct timespec *until, \
				 const void *site)						\
{												\
	if (!clock_valid(clock, until))								\
		return REAL(pthread_rwlock_clock##rd##lock)(l, clock, until);			\
	return LOCK(pthread_rwlock_clock##rd##lock, l, lock_kind, lock_flag, EBUSY,		\
		    REAL(pthread_rwlock_try##rd##lock)(l), REAL(pthread_rwlock_clock##rd##lock)(l, \
			    clock, until), site); \
}												\
												\
INTERPOSE int pthread_rwlock_clock##rd##lock(pthread_rwlock_t *l, clockid_t clock,		\
					     const struct timespec *until)			\
{												\
	if (LIKELY(!lock_wanted()))								\
		return REAL(pthread_rwlock_clock##rd##lock)(l, clock, until);			\
	return rwlock_clock##rd(l, clock, until, CALL_SITE);					\
}

RWLOCK(rd, LOCK_KIND_READ, LOCK_READ)
RWLOCK(wr, LOCK_KIND_WRITE, LOCK_WRITE)

/* While it is locked for writing the lock has the writer's number. */
SLOW static int rwlock_unlock(pthread_rwlock_t *l, const void *site)
{
	lock_released(l, l->__data.__cur_writer ? LOCK_KIND_WRITE : LOCK_KIND_READ,
		      BY(pthread_rwlock_unlock), site, FRAME_BELOW(site));
	return REAL(pthread_rwlock_unlock)(l);
}

INTERPOSE int pthread_rwlock_unlock(pthread_rwlock_t *l)
{
	if (LIKELY(!lock_wanted()))
		return REAL(pthread_rwlock_unlock)(l);
	return rwlock_unlock(l, CALL_SITE);
}

/* ---- Spinlocks ---- */

SLOW static int spin_lock(pthread_spinlock_t *l, const void *site)
{
	return LOCK(pthread_spin_lock, l, LOCK_KIND_SPIN, LOCK_SPIN, EBUSY,
		    REAL(pthread_spin_trylock)(l), REAL(pthread_spin_lock)(l), site);
}

INTERPOSE int pthread_spin_lock(pthread_spinlock_t *l)
{
	if (LIKELY(!lock_wanted()))
		return REAL(pthread_spin_lock)(l);
	return spin_lock(l, CALL_SITE);
}

SLOW static int spin_trylock(pthread_spinlock_t *l, const void *site)
{
	return TRY_LOCK(pthread_spin_trylock, l, LOCK_KIND_SPIN, REAL(pthread_spin_trylock)(l),
			site);
}

INTERPOSE int pthread_spin_trylock(pthread_spinlock_t *l)
{
	if (LIKELY(!lock_wanted()))
		return REAL(pthread_spin_trylock)(l);
	return spin_trylock(l, CALL_SITE);
}

SLOW static int spin_unlock(pthread_spinlock_t *l, const void *site)
{
	lock_released(l, LOCK_KIND_SPIN, BY(pthread_spin_unlock), site, FRAME_BELOW(site));
	return REAL(pthread_spin_unlock)(l);
}

INTERPOSE int pthread_spin_unlock(pthread_spinlock_t *l)
{
	if (LIKELY(!lock_wanted()))
		return REAL(pthread_spin_unlock)(l);
	return spin_unlock(l, CALL_SITE);
}

/* ---- C11: these call libc's functions inside libc, so the interposers above do not see it ---- */

SLOW static int c11_lock(mtx_t *m, const struct timespec *until, const void *site)
{
	const void *frame = FRAME_BELOW(site);
	const void *by = until ? BY(mtx_timedlock) : BY(mtx_lock);
	bool valid = !until || time_valid(until);
	int r = valid ? REAL(mtx_trylock)(m) : REAL(mtx_timedlock)(m, until);

	if (valid && r == thrd_busy) {
		contend_begin(m, LOCK_KIND_MUTEX, LOCK_MUTEX, frame);
		r = until ? REAL(mtx_timedlock)(m, until) : REAL(mtx_lock)(m);
		contend_end(m, LOCK_KIND_MUTEX, thrd_error_of(r), by, site, frame);
	}
	if (r == thrd_success)
		lock_acquired(m, LOCK_KIND_MUTEX, by, site, frame);
	return r;
}

INTERPOSE int mtx_lock(mtx_t *m)
{
	if (LIKELY(!lock_wanted()))
		return REAL(mtx_lock)(m);
	return c11_lock(m, NULL, CALL_SITE);
}

INTERPOSE int mtx_timedlock(mtx_t *restrict m, const struct timespec *restrict until)
{
	if (LIKELY(!lock_wanted()))
		return REAL(mtx_timedlock)(m, until);
	return c11_lock(m, until, CALL_SITE);
}

SLOW static int c11_trylock(mtx_t *m, const void *site)
{
	int r = REAL(mtx_trylock)(m);

	if (r == thrd_success)
		lock_acquired(m, LOCK_KIND_MUTEX, BY(mtx_trylock), site, FRAME_BELOW(site));
	return r;
}

INTERPOSE int mtx_trylock(mtx_t *m)
{
	if (LIKELY(!lock_wanted()))
		return REAL(mtx_trylock)(m);
	return c11_trylock(m, CALL_SITE);
}

SLOW static int c11_unlock(mtx_t *m, const void *site)
{
	lock_released(m, LOCK_KIND_MUTEX, BY(mtx_unlock), site, FRAME_BELOW(site));
	return REAL(mtx_unlock)(m);
}

INTERPOSE int mtx_unlock(mtx_t *m)
{
	if (LIKELY(!lock_wanted()))
		return REAL(mtx_unlock)(m);
	return c11_unlock(m, CALL_SITE);
}
