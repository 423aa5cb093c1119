/* SPDX-License-Identifier: MIT */
/*
 * lock.c - lock:contention_begin, contention_end, acquired, released
 *
 * L1  While one of the four is armed, a lock is first asked for with its try
 *     function. Where that gets it, or says something else than "busy", this is
 *     the answer that the waiting function would have given. Where it says
 *     busy, the waiting function is called between contention_begin and _end,
 *     and finds out by itself about deadlocks, dead owners, limits of time.
 * L2  Functions that check their arguments before they try (a limit of time, a
 *     clock) are only called as they are when the arguments are wrong.
 * L3  Mutexes that are elided are left to the real function: a try inside a
 *     transaction would abort it.
 * L4  released is recorded before the lock is released: nobody else's acquired
 *     comes before it.
 * L5  The real function runs outside of everything of ours: signal handlers,
 *     cancellation and siglongjmp may leave it. Waiting for a condition
 *     variable ends with its record also when the thread is cancelled there.
 * L6  t->locks counts mutexes, rwlocks and spinlocks held, while the events are
 *     armed or a latency tracer watches. Semaphores have no holder.
 */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <threads.h>
#include <time.h>
#include "agent/providers/hooks.h"
#include "agent/providers/records.h"

#define FOR_EACH_FUNCTION(X)									\
	X(pthread_mutex_lock) X(pthread_mutex_trylock) X(pthread_mutex_timedlock)		\
	X(pthread_mutex_clocklock) X(pthread_mutex_unlock)					\
	X(pthread_rwlock_rdlock) X(pthread_rwlock_tryrdlock) X(pthread_rwlock_timedrdlock)	\
	X(pthread_rwlock_clockrdlock) X(pthread_rwlock_wrlock) X(pthread_rwlock_trywrlock)	\
	X(pthread_rwlock_timedwrlock) X(pthread_rwlock_clockwrlock) X(pthread_rwlock_unlock)	\
	X(pthread_spin_lock) X(pthread_spin_trylock) X(pthread_spin_unlock)			\
	X(sem_wait) X(sem_trywait) X(sem_timedwait) X(sem_clockwait) X(sem_post)		\
	X(pthread_cond_wait) X(pthread_cond_timedwait) X(pthread_cond_clockwait)		\
	X(pthread_cond_signal) X(pthread_cond_broadcast)					\
	X(mtx_lock) X(mtx_trylock) X(mtx_timedlock) X(mtx_unlock)				\
	X(cnd_wait) X(cnd_timedwait) X(cnd_signal) X(cnd_broadcast)				\
	X(pthread_testcancel)

#define DECLARE(function) REAL_FUNCTION(function);
FOR_EACH_FUNCTION(DECLARE)

static inline config_ref lock_plans(void)
{
	const struct event_entry *e = agent_provider_events + PROVIDER_CONTENTION_BEGIN;

	/* Relaxed: hit() loads them again with acquire. */
	return atomic_load_explicit(&e[0].plan, memory_order_relaxed) |
	       atomic_load_explicit(&e[1].plan, memory_order_relaxed) |
	       atomic_load_explicit(&e[2].plan, memory_order_relaxed) |
	       atomic_load_explicit(&e[3].plan, memory_order_relaxed);
}

static inline bool lock_armed(void)
{
	return __builtin_expect(lock_plans() != 0, 0);
}

/* Latency tracers have nothing to do with semaphores. */
static inline bool lock_wanted(void)
{
	return __builtin_expect((lock_plans() | agent_section_kinds_of(SECTION_PREEMPT)) != 0, 0);
}

/* ---- Records ---- */

static void contention_begin(const volatile void *lock, uint32_t flags, const void *frame)
{
	struct lock_begin r = { .lock_addr = (uintptr_t)lock, .flags = flags };
	struct agent_thread *t = provider_armed(PROVIDER_CONTENTION_BEGIN) ? agent_thread() : NULL;

	if (t)
		provider_emit(t, PROVIDER_CONTENTION_BEGIN, &r, offsetof(struct lock_begin, flags) + 4, frame);
}

/* error: a positive error, 0 */
static void contention_end(const volatile void *lock, int error, const void *frame)
{
	struct lock_end r = { .lock_addr = (uintptr_t)lock, .ret = -error };
	struct agent_thread *t = provider_armed(PROVIDER_CONTENTION_END) ? agent_thread() : NULL;

	if (t)
		provider_emit(t, PROVIDER_CONTENTION_END, &r, offsetof(struct lock_end, ret) + 4, frame);
}

static void emit_held(struct agent_thread *t, unsigned int nr, const volatile void *lock, uint32_t kind,
		      const void *site, const void *frame)
{
	struct lock_held r = { .lock_addr = (uintptr_t)lock, .kind = kind };

	if (!provider_armed(nr))
		return;
	r.call_site = agent_address(t, site);
	provider_emit(t, nr, &r, offsetof(struct lock_held, kind) + 4, frame);
}

/* by: the function that the program called. */
static void acquired(const volatile void *lock, uint32_t kind, const void *by, const void *site, const void *frame)
{
	struct agent_thread *t = agent_thread();

	if (!t)
		return;
	if (kind < LOCK_KIND_SEM && t->locks < UINT8_MAX)
		t->locks++;
	if (kind < LOCK_KIND_SEM && agent_section_watched(SECTION_PREEMPT))
		agent_section_change(t, SECTION_PREEMPT, true, by, site, frame);
	emit_held(t, PROVIDER_ACQUIRED, lock, kind, site, frame);
}

static void released(const volatile void *lock, uint32_t kind, const void *by, const void *site, const void *frame)
{
	struct agent_thread *t = agent_thread();

	if (!t)
		return;
	emit_held(t, PROVIDER_RELEASED, lock, kind, site, frame);
	if (kind < LOCK_KIND_SEM && agent_section_watched(SECTION_PREEMPT))
		agent_section_change(t, SECTION_PREEMPT, false, by, site, frame);
	if (kind < LOCK_KIND_SEM && t->locks)
		t->locks--;
}

/* Who was called, for acquired() and released(): ours, since the real ones may be several in one. */
#define BY(function) (const void *)(function)

/* ---- L1: the error that is returned, 0 when the lock is held ---- */

static bool held(int error)
{
	return error == 0 || error == EOWNERDEAD;
}

#define LOCK(function, lock, kind, lock_flags, busy, try, wait, site) ({ \
	const void *frame_ = FRAME_BELOW(site);				\
	int error_ = try;						\
									\
	if (error_ == (busy)) {						\
		contention_begin(lock, lock_flags, frame_);		\
		error_ = wait;						\
		contention_end(lock, error_, frame_);			\
	}								\
	if (held(error_))						\
		acquired(lock, kind, BY(function), site, frame_);	\
	error_; })

/* Got without waiting, or not. */
#define TRY_LOCK(function, lock, kind, try, site)	({		\
	int error_ = try;						\
									\
	if (held(error_))						\
		acquired(lock, kind, BY(function), site, FRAME_BELOW(site)); \
	error_; })

/* L2 */
static bool time_valid(const struct timespec *t)
{
	return t->tv_nsec >= 0 && t->tv_nsec < 1000000000;
}

static bool clock_valid(clockid_t clock, const struct timespec *t)
{
	return (clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC) && time_valid(t);
}

/* ---- Mutexes ---- */

/* L3: glibc's PTHREAD_MUTEX_ELISION_NP */
static bool elided(const pthread_mutex_t *m)
{
	return m->__data.__kind & 256;
}

SLOW static int mutex_lock(pthread_mutex_t *m, const void *site)
{
	if (elided(m))
		return TRY_LOCK(pthread_mutex_lock, m, LOCK_KIND_MUTEX, REAL(pthread_mutex_lock)(m), site);
	return LOCK(pthread_mutex_lock, m, LOCK_KIND_MUTEX, LOCK_MUTEX, EBUSY, REAL(pthread_mutex_trylock)(m),
		    real_pthread_mutex_lock(m), site);
}

INTERPOSE int pthread_mutex_lock(pthread_mutex_t *m)
{
	if (LIKELY(real_pthread_mutex_lock && !lock_wanted()))
		return real_pthread_mutex_lock(m);
	return mutex_lock(m, CALL_SITE);
}

SLOW static int mutex_trylock(pthread_mutex_t *m, const void *site)
{
	return TRY_LOCK(pthread_mutex_trylock, m, LOCK_KIND_MUTEX, REAL(pthread_mutex_trylock)(m), site);
}

INTERPOSE int pthread_mutex_trylock(pthread_mutex_t *m)
{
	if (LIKELY(real_pthread_mutex_trylock && !lock_wanted()))
		return real_pthread_mutex_trylock(m);
	return mutex_trylock(m, CALL_SITE);
}

SLOW static int mutex_timedlock(pthread_mutex_t *m, const struct timespec *until, const void *site)
{
	if (elided(m) || !time_valid(until))
		return TRY_LOCK(pthread_mutex_timedlock, m, LOCK_KIND_MUTEX,
				REAL(pthread_mutex_timedlock)(m, until), site);
	return LOCK(pthread_mutex_timedlock, m, LOCK_KIND_MUTEX, LOCK_MUTEX, EBUSY, REAL(pthread_mutex_trylock)(m),
		    real_pthread_mutex_timedlock(m, until), site);
}

INTERPOSE int pthread_mutex_timedlock(pthread_mutex_t *m, const struct timespec *until)
{
	if (LIKELY(real_pthread_mutex_timedlock && !lock_wanted()))
		return real_pthread_mutex_timedlock(m, until);
	return mutex_timedlock(m, until, CALL_SITE);
}

SLOW static int mutex_clocklock(pthread_mutex_t *m, clockid_t clock, const struct timespec *until, const void *site)
{
	if (elided(m) || !clock_valid(clock, until))
		return TRY_LOCK(pthread_mutex_clocklock, m, LOCK_KIND_MUTEX,
				REAL(pthread_mutex_clocklock)(m, clock, until), site);
	return LOCK(pthread_mutex_clocklock, m, LOCK_KIND_MUTEX, LOCK_MUTEX, EBUSY, REAL(pthread_mutex_trylock)(m),
		    real_pthread_mutex_clocklock(m, clock, until), site);
}

INTERPOSE int pthread_mutex_clocklock(pthread_mutex_t *m, clockid_t clock, const struct timespec *until)
{
	if (LIKELY(real_pthread_mutex_clocklock && !lock_wanted()))
		return real_pthread_mutex_clocklock(m, clock, until);
	return mutex_clocklock(m, clock, until, CALL_SITE);
}

SLOW static int mutex_unlock(pthread_mutex_t *m, const void *site)
{
	released(m, LOCK_KIND_MUTEX, BY(pthread_mutex_unlock), site, FRAME_BELOW(site));
	return REAL(pthread_mutex_unlock)(m);
}

INTERPOSE int pthread_mutex_unlock(pthread_mutex_t *m)
{
	if (LIKELY(real_pthread_mutex_unlock && !lock_wanted()))
		return real_pthread_mutex_unlock(m);
	return mutex_unlock(m, CALL_SITE);
}

/* ---- Read-write locks: read and write differ in name, kind and flag ---- */

#define RWLOCK(rd, lock_kind, lock_flag)									\
SLOW static int rwlock_##rd(pthread_rwlock_t *l, const void *site)						\
{														\
	return LOCK(pthread_rwlock_##rd##lock, l, lock_kind, lock_flag, EBUSY,					\
		    REAL(pthread_rwlock_try##rd##lock)(l), real_pthread_rwlock_##rd##lock(l), site);		\
}														\
														\
INTERPOSE int pthread_rwlock_##rd##lock(pthread_rwlock_t *l)							\
{														\
	if (LIKELY(real_pthread_rwlock_##rd##lock && !lock_wanted()))						\
		return real_pthread_rwlock_##rd##lock(l);							\
	return rwlock_##rd(l, CALL_SITE);									\
}														\
														\
SLOW static int rwlock_try##rd(pthread_rwlock_t *l, const void *site)						\
{														\
	return TRY_LOCK(pthread_rwlock_try##rd##lock, l, lock_kind, REAL(pthread_rwlock_try##rd##lock)(l), site); \
}														\
														\
INTERPOSE int pthread_rwlock_try##rd##lock(pthread_rwlock_t *l)							\
{														\
	if (LIKELY(real_pthread_rwlock_try##rd##lock && !lock_wanted()))					\
		return real_pthread_rwlock_try##rd##lock(l);							\
	return rwlock_try##rd(l, CALL_SITE);									\
}														\
														\
SLOW static int rwlock_timed##rd(pthread_rwlock_t *l, const struct timespec *until, const void *site)		\
{														\
	if (!time_valid(until))											\
		return REAL(pthread_rwlock_timed##rd##lock)(l, until);						\
	return LOCK(pthread_rwlock_timed##rd##lock, l, lock_kind, lock_flag, EBUSY,				\
		    REAL(pthread_rwlock_try##rd##lock)(l), real_pthread_rwlock_timed##rd##lock(l, until), site); \
}														\
														\
INTERPOSE int pthread_rwlock_timed##rd##lock(pthread_rwlock_t *l, const struct timespec *until)			\
{														\
	if (LIKELY(real_pthread_rwlock_timed##rd##lock && !lock_wanted()))					\
		return real_pthread_rwlock_timed##rd##lock(l, until);						\
	return rwlock_timed##rd(l, until, CALL_SITE);								\
}														\
														\
SLOW static int rwlock_clock##rd(pthread_rwlock_t *l, clockid_t clock, const struct timespec *until,		\
				 const void *site)								\
{														\
	if (!clock_valid(clock, until))										\
		return REAL(pthread_rwlock_clock##rd##lock)(l, clock, until);					\
	return LOCK(pthread_rwlock_clock##rd##lock, l, lock_kind, lock_flag, EBUSY,				\
		    REAL(pthread_rwlock_try##rd##lock)(l), real_pthread_rwlock_clock##rd##lock(l, clock, until), site); \
}														\
														\
INTERPOSE int pthread_rwlock_clock##rd##lock(pthread_rwlock_t *l, clockid_t clock,				\
					     const struct timespec *until)					\
{														\
	if (LIKELY(real_pthread_rwlock_clock##rd##lock && !lock_wanted()))					\
		return real_pthread_rwlock_clock##rd##lock(l, clock, until);					\
	return rwlock_clock##rd(l, clock, until, CALL_SITE);							\
}

RWLOCK(rd, LOCK_KIND_READ, LOCK_READ)
RWLOCK(wr, LOCK_KIND_WRITE, LOCK_WRITE)

/* Who holds it for writing is in the lock while it is held so. */
SLOW static int rwlock_unlock(pthread_rwlock_t *l, const void *site)
{
	released(l, l->__data.__cur_writer ? LOCK_KIND_WRITE : LOCK_KIND_READ, BY(pthread_rwlock_unlock), site,
		 FRAME_BELOW(site));
	return REAL(pthread_rwlock_unlock)(l);
}

INTERPOSE int pthread_rwlock_unlock(pthread_rwlock_t *l)
{
	if (LIKELY(real_pthread_rwlock_unlock && !lock_wanted()))
		return real_pthread_rwlock_unlock(l);
	return rwlock_unlock(l, CALL_SITE);
}

/* ---- Spinlocks ---- */

SLOW static int spin_lock(pthread_spinlock_t *l, const void *site)
{
	return LOCK(pthread_spin_lock, l, LOCK_KIND_SPIN, LOCK_SPIN, EBUSY, REAL(pthread_spin_trylock)(l),
		    real_pthread_spin_lock(l), site);
}

INTERPOSE int pthread_spin_lock(pthread_spinlock_t *l)
{
	if (LIKELY(real_pthread_spin_lock && !lock_wanted()))
		return real_pthread_spin_lock(l);
	return spin_lock(l, CALL_SITE);
}

SLOW static int spin_trylock(pthread_spinlock_t *l, const void *site)
{
	return TRY_LOCK(pthread_spin_trylock, l, LOCK_KIND_SPIN, REAL(pthread_spin_trylock)(l), site);
}

INTERPOSE int pthread_spin_trylock(pthread_spinlock_t *l)
{
	if (LIKELY(real_pthread_spin_trylock && !lock_wanted()))
		return real_pthread_spin_trylock(l);
	return spin_trylock(l, CALL_SITE);
}

SLOW static int spin_unlock(pthread_spinlock_t *l, const void *site)
{
	released(l, LOCK_KIND_SPIN, BY(pthread_spin_unlock), site, FRAME_BELOW(site));
	return REAL(pthread_spin_unlock)(l);
}

INTERPOSE int pthread_spin_unlock(pthread_spinlock_t *l)
{
	if (LIKELY(real_pthread_spin_unlock && !lock_wanted()))
		return real_pthread_spin_unlock(l);
	return spin_unlock(l, CALL_SITE);
}

/* ---- C11: calls of libc's own functions inside libc, so not seen above ---- */

/* thrd_... -> errno */
static int thrd_error_of(int r)
{
	return r == thrd_success ? 0 : r == thrd_busy ? EBUSY : r == thrd_timedout ? ETIMEDOUT : r == thrd_nomem ? ENOMEM :
	       EINVAL;
}

SLOW static int c11_lock(mtx_t *m, const struct timespec *until, const void *site)
{
	const void *frame = FRAME_BELOW(site);
	bool valid = !until || time_valid(until);
	int r = valid ? REAL(mtx_trylock)(m) : REAL(mtx_timedlock)(m, until);

	if (valid && r == thrd_busy) {
		contention_begin(m, LOCK_MUTEX, frame);
		r = until ? REAL(mtx_timedlock)(m, until) : REAL(mtx_lock)(m);
		contention_end(m, thrd_error_of(r), frame);
	}
	if (r == thrd_success)
		acquired(m, LOCK_KIND_MUTEX, until ? BY(mtx_timedlock) : BY(mtx_lock), site, frame);
	return r;
}

INTERPOSE int mtx_lock(mtx_t *m)
{
	if (LIKELY(real_mtx_lock && !lock_wanted()))
		return real_mtx_lock(m);
	return c11_lock(m, NULL, CALL_SITE);
}

INTERPOSE int mtx_timedlock(mtx_t *restrict m, const struct timespec *restrict until)
{
	if (LIKELY(real_mtx_timedlock && !lock_wanted()))
		return real_mtx_timedlock(m, until);
	return c11_lock(m, until, CALL_SITE);
}

SLOW static int c11_trylock(mtx_t *m, const void *site)
{
	int r = REAL(mtx_trylock)(m);

	if (r == thrd_success)
		acquired(m, LOCK_KIND_MUTEX, BY(mtx_trylock), site, FRAME_BELOW(site));
	return r;
}

INTERPOSE int mtx_trylock(mtx_t *m)
{
	if (LIKELY(real_mtx_trylock && !lock_wanted()))
		return real_mtx_trylock(m);
	return c11_trylock(m, CALL_SITE);
}

SLOW static int c11_unlock(mtx_t *m, const void *site)
{
	released(m, LOCK_KIND_MUTEX, BY(mtx_unlock), site, FRAME_BELOW(site));
	return REAL(mtx_unlock)(m);
}

INTERPOSE int mtx_unlock(mtx_t *m)
{
	if (LIKELY(real_mtx_unlock && !lock_wanted()))
		return real_mtx_unlock(m);
	return c11_unlock(m, CALL_SITE);
}

/* ---- Semaphores ---- */

static inline bool wait_armed(void)
{
	return lock_armed() || thread_wait_wanted();
}

/* The same where a mutex is released meanwhile. */
static inline bool cond_armed(void)
{
	return wait_armed() || agent_section_watched(SECTION_PREEMPT);
}

/* Begins and ends what a thread waits for in one of the functions below, also when it is cancelled there. */
struct waiting {
	const volatile void *addr;
	pthread_mutex_t	*mutex;		/* of a condition variable: released and got back; NULL */
	const void	*by;		/* the function that the program called */
	const void	*site, *frame;
	uint8_t		locks;
	uint32_t	kind;		/* enum wake_kind */
	int		error;
};

static void wait_begin(struct waiting *w)
{
	struct agent_thread *t = w->mutex && lock_wanted() ? agent_thread() : NULL;

	if (t) {
		w->locks = t->locks;
		released(w->mutex, LOCK_KIND_MUTEX, w->by, w->site, w->frame);
	}
	contention_begin(w->addr, 0, w->frame);
	thread_wait((const void *)w->addr);
}

static void wait_end(void *waiting)
{
	struct waiting *w = waiting;
	int saved = errno;
	struct agent_thread *t;

	thread_woken((const void *)w->addr, w->kind, -w->error, w->by, w->site, w->frame);
	contention_end(w->addr, w->error, w->frame);
	t = w->mutex && lock_wanted() ? agent_thread() : NULL;
	if (t) {
		acquired(w->mutex, LOCK_KIND_MUTEX, w->by, w->site, w->frame);
		t->locks = w->locks;
	}
	errno = saved;
}

/*
 * Evaluates `call`, which waits, between the two. Cancellation goes through libc's own
 * list of handlers; unwinding by the compiler's tables would need one library more.
 */
#define WAIT(waiting, call)	do {				\
	pthread_cleanup_push(wait_end, waiting);		\
	wait_begin(waiting);					\
	call;							\
	pthread_cleanup_pop(1);					\
} while (0)

#define WAITING(function, address, its_mutex) {					\
	.addr = address, .mutex = its_mutex, .by = BY(function), .site = site, .frame = FRAME_BELOW(site),	\
	.kind = WAKE_COND, .error = ECANCELED }

/* The kinds of waiting: a clock, the clock of sem_timedwait(), none. */
enum { CLOCK_DEFAULT = -1, CLOCK_NONE = -2 };

static int sem_real(sem_t *s, clockid_t clock, const struct timespec *until)
{
	if (clock == CLOCK_NONE)
		return REAL(sem_wait)(s);
	return clock == CLOCK_DEFAULT ? REAL(sem_timedwait)(s, until) : REAL(sem_clockwait)(s, clock, until);
}

static int sem_block(sem_t *s, clockid_t clock, const struct timespec *until, const void *site, const void *frame)
{
	struct waiting w = { .addr = s, .by = BY(sem_wait), .site = site, .frame = frame, .kind = WAKE_SEM,
			     .error = ECANCELED };

	WAIT(&w, w.error = sem_real(s, clock, until) ? errno : 0);
	return w.error ? -1 : 0;
}

SLOW static int sem_acquire(sem_t *s, clockid_t clock, const struct timespec *until, const void *site)
{
	const void *frame = FRAME_BELOW(site);
	int saved = errno, r;

	if (clock == CLOCK_NONE || (clock == CLOCK_DEFAULT ? time_valid(until) : clock_valid(clock, until))) {
		/* A thread that is to be cancelled is cancelled here also when it need not wait. */
		REAL(pthread_testcancel)();
		r = REAL(sem_trywait)(s);
		if (r && errno == EAGAIN) {
			errno = saved;
			r = sem_block(s, clock, until, site, frame);
		} else if (!r) {
			thread_got(s);
		}
	} else {
		r = sem_real(s, clock, until);
	}
	if (!r && lock_armed())
		acquired(s, LOCK_KIND_SEM, BY(sem_wait), site, frame);
	return r;
}

INTERPOSE int sem_wait(sem_t *s)
{
	if (LIKELY(real_sem_wait && !wait_armed()))
		return real_sem_wait(s);
	return sem_acquire(s, CLOCK_NONE, NULL, CALL_SITE);
}

INTERPOSE int sem_timedwait(sem_t *restrict s, const struct timespec *restrict until)
{
	if (LIKELY(real_sem_timedwait && !wait_armed()))
		return real_sem_timedwait(s, until);
	return sem_acquire(s, CLOCK_DEFAULT, until, CALL_SITE);
}

INTERPOSE int sem_clockwait(sem_t *restrict s, clockid_t clock, const struct timespec *restrict until)
{
	if (LIKELY(real_sem_clockwait && (clock < 0 || !wait_armed())))
		return real_sem_clockwait(s, clock, until);
	return sem_acquire(s, clock, until, CALL_SITE);
}

SLOW static int sem_try(sem_t *s, const void *site)
{
	int r = REAL(sem_trywait)(s);

	if (r)
		return r;
	thread_got(s);
	if (lock_armed())
		acquired(s, LOCK_KIND_SEM, BY(sem_trywait), site, FRAME_BELOW(site));
	return r;
}

INTERPOSE int sem_trywait(sem_t *s)
{
	if (LIKELY(real_sem_trywait && !lock_armed() && !agent_section_watched(SECTION_WAKEUP)))
		return real_sem_trywait(s);
	return sem_try(s, CALL_SITE);
}

SLOW static int sem_release(sem_t *s, const void *site)
{
	const void *frame = FRAME_BELOW(site);

	if (lock_armed())
		released(s, LOCK_KIND_SEM, BY(sem_post), site, frame);
	thread_wake(s, WAKE_SEM, 1, BY(sem_post), site, frame);
	return REAL(sem_post)(s);
}

INTERPOSE int sem_post(sem_t *s)
{
	if (LIKELY(real_sem_post && !lock_armed() && !thread_wake_wanted()))
		return real_sem_post(s);
	return sem_release(s, CALL_SITE);
}

/* ---- Condition variables ---- */

SLOW static int cond_wait(pthread_cond_t *c, pthread_mutex_t *m, const void *site)
{
	struct waiting w = WAITING(pthread_cond_wait, c, m);

	WAIT(&w, w.error = REAL(pthread_cond_wait)(c, m));
	return w.error;
}

INTERPOSE int pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m)
{
	if (LIKELY(real_pthread_cond_wait && !cond_armed()))
		return real_pthread_cond_wait(c, m);
	return cond_wait(c, m, CALL_SITE);
}

SLOW static int cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *until, const void *site)
{
	struct waiting w = WAITING(pthread_cond_timedwait, c, m);

	WAIT(&w, w.error = REAL(pthread_cond_timedwait)(c, m, until));
	return w.error;
}

INTERPOSE int pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *until)
{
	if (LIKELY(real_pthread_cond_timedwait && !cond_armed()))
		return real_pthread_cond_timedwait(c, m, until);
	return cond_timedwait(c, m, until, CALL_SITE);
}

SLOW static int cond_clockwait(pthread_cond_t *c, pthread_mutex_t *m, clockid_t clock, const struct timespec *until,
			       const void *site)
{
	struct waiting w = WAITING(pthread_cond_clockwait, c, m);

	WAIT(&w, w.error = REAL(pthread_cond_clockwait)(c, m, clock, until));
	return w.error;
}

INTERPOSE int pthread_cond_clockwait(pthread_cond_t *c, pthread_mutex_t *m, clockid_t clock,
				     const struct timespec *until)
{
	if (LIKELY(real_pthread_cond_clockwait && !cond_armed()))
		return real_pthread_cond_clockwait(c, m, clock, until);
	return cond_clockwait(c, m, clock, until, CALL_SITE);
}

SLOW static int c11_wait(cnd_t *c, mtx_t *m, const struct timespec *until, const void *site)
{
	struct waiting w = WAITING(cnd_wait, c, (pthread_mutex_t *)m);
	volatile int r = thrd_error;

	WAIT(&w, w.error = thrd_error_of(r = until ? REAL(cnd_timedwait)(c, m, until) : REAL(cnd_wait)(c, m)));
	return r;
}

INTERPOSE int cnd_wait(cnd_t *c, mtx_t *m)
{
	if (LIKELY(real_cnd_wait && !cond_armed()))
		return real_cnd_wait(c, m);
	return c11_wait(c, m, NULL, CALL_SITE);
}

INTERPOSE int cnd_timedwait(cnd_t *restrict c, mtx_t *restrict m, const struct timespec *restrict until)
{
	if (LIKELY(real_cnd_timedwait && !cond_armed()))
		return real_cnd_timedwait(c, m, until);
	return c11_wait(c, m, until, CALL_SITE);
}

#define WAKER(function, type, count)							\
SLOW static int wake_##function(type *c, const void *site)				\
{											\
	thread_wake(c, WAKE_COND, count, BY(function), site, FRAME_BELOW(site));	\
	return REAL(function)(c);							\
}											\
											\
INTERPOSE int function(type *c)								\
{											\
	if (LIKELY(real_##function && !thread_wake_wanted()))				\
		return real_##function(c);						\
	return wake_##function(c, CALL_SITE);						\
}

WAKER(pthread_cond_signal, pthread_cond_t, 1)
WAKER(pthread_cond_broadcast, pthread_cond_t, INT32_MAX)
WAKER(cnd_signal, cnd_t, 1)
WAKER(cnd_broadcast, cnd_t, INT32_MAX)
