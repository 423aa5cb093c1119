/* SPDX-License-Identifier: MIT */
/*
 * wait.c - semaphores, condition variables and joins: functions in which a thread waits, and may be
 * cancelled
 *
 * lock.c has locks; its rules hold here, too.
 */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <threads.h>
#include <time.h>
#include "agent/providers/lock/locks.h"

#define FOR_EACH_FUNCTION(X)									\
	X(sem_wait) X(sem_trywait) X(sem_timedwait) X(sem_clockwait) X(sem_post)		\
	X(pthread_cond_wait) X(pthread_cond_timedwait) X(pthread_cond_clockwait)		\
	X(pthread_cond_signal) X(pthread_cond_broadcast)					\
	X(cnd_wait) X(cnd_timedwait) X(cnd_signal) X(cnd_broadcast)				\
	X(pthread_join) X(pthread_timedjoin_np) X(pthread_clockjoin_np) X(thrd_join)		\
	X(pthread_testcancel)

#define DECLARE(function) REAL_FUNCTION(function);
FOR_EACH_FUNCTION(DECLARE)

/* ---- Waiting ---- */

static inline bool wait_armed(void)
{
	return lock_armed() || thread_wanted();
}

/*
 * One wait of a thread in one of the functions below. wait_end() ends it also when the thread is
 * cancelled there.
 */
struct waiting {
	const volatile void *addr;
	pthread_mutex_t	*mutex;		/* of a condition variable: released meanwhile; NULL */
	const void	*by;		/* the function that the program called */
	const void	*site, *frame;
	uint8_t		locks;
	uint32_t	kind;		/* enum wake_kind */
	int		error;
	__pthread_unwind_buf_t *cancel;	/* its entry in libc's list of handlers */
	struct waiting	*outer;		/* the thread's wait that a handler has interrupted */
};

static __thread struct waiting *innermost __attribute__((tls_model("initial-exec")));

uintptr_t wait_frame(void)
{
	return (uintptr_t)innermost;
}

/*
 * libc's longjmp() does not change that list: at the thread's end libc would call a handler of a
 * frame that does not exist any more.
 */
void wait_left(void)
{
	__pthread_unregister_cancel(innermost->cancel);
	innermost = innermost->outer;
}

static void wait_begin(struct waiting *w)
{
	struct agent_thread *t = w->mutex && lock_wanted() ? agent_thread() : NULL;

	if (t) {
		w->locks = t->locks;
		lock_released(w->mutex, LOCK_KIND_MUTEX, w->by, w->site, w->frame);
	}
	if (w->kind != WAKE_JOIN)
		lock_contention_begin(w->addr, 0, w->frame);
	thread_wait((const void *)w->addr, w->kind, false);
}

static void wait_end(void *waiting)
{
	struct waiting *w = waiting;
	int saved = errno;
	struct agent_thread *t;

	innermost = w->outer;
	thread_woken((const void *)w->addr, w->kind, -w->error, w->by, w->site, w->frame);
	if (w->kind != WAKE_JOIN)
		lock_contention_end(w->addr, w->error, w->frame);
	t = w->mutex && lock_wanted() ? agent_thread() : NULL;
	if (t) {
		lock_acquired(w->mutex, LOCK_KIND_MUTEX, w->by, w->site, w->frame);
		t->locks = w->locks;
	}
	errno = saved;
}

/*
 * Evaluates `call`, which waits, between wait_begin() and wait_end(). Cancellation uses
 * libc's own list of handlers: unwinding by the compiler's tables would need another
 * library. pthread_cleanup_push() puts __cancel_buf into that list.
 */
#define WAIT(waiting, call)	do {				\
	pthread_cleanup_push(wait_end, waiting);		\
	(waiting)->cancel = &__cancel_buf;			\
	(waiting)->outer = innermost;				\
	innermost = waiting;					\
	wait_begin(waiting);					\
	call;							\
	pthread_cleanup_pop(1);					\
} while (0)

#define WAITING(function, address, its_mutex) {	\
	.addr = address, .mutex = its_mutex, .by = BY(function), .site = site, .frame = \
		FRAME_BELOW(site), \
	.kind = WAKE_COND, .error = ECANCELED }

/* ---- Semaphores ---- */

/* How to wait: by a given clock, by the clock of sem_timedwait(), without a limit. */
enum { CLOCK_DEFAULT = -1, CLOCK_NONE = -2 };

static int sem_real(sem_t *s, clockid_t clock, const struct timespec *until)
{
	if (clock == CLOCK_NONE)
		return REAL(sem_wait)(s);
	return clock == CLOCK_DEFAULT ? REAL(sem_timedwait)(s, until)
				      : REAL(sem_clockwait)(s, clock, until);
}

static const void *sem_by(clockid_t clock)
{
	if (clock == CLOCK_NONE)
		return BY(sem_wait);
	return clock == CLOCK_DEFAULT ? BY(sem_timedwait) : BY(sem_clockwait);
}

static int sem_block(sem_t *s, clockid_t clock, const struct timespec *until, const void *site,
		     const void *frame)
{
	struct waiting w = { .addr = s,
			    .by = sem_by(clock),
			    .site = site,
			    .frame = frame,
			    .kind = WAKE_SEM,
			    .error = ECANCELED };

	WAIT(&w, w.error = sem_real(s, clock, until) ? errno : 0);
	return w.error ? -1 : 0;
}

SLOW static int sem_acquire(sem_t *s, clockid_t clock, const struct timespec *until,
			    const void *site)
{
	const void *frame = FRAME_BELOW(site);
	int saved = errno, r;

	if (clock == CLOCK_NONE ||
	    (clock == CLOCK_DEFAULT ? time_valid(until) : clock_valid(clock, until))) {
		/* A cancellation point, also if the thread need not wait. */
		REAL(pthread_testcancel)();
		r = REAL(sem_trywait)(s);
		if (r && errno == EAGAIN) {
			errno = saved;
			r = sem_block(s, clock, until, site, frame);
		} else if (!r) {
			thread_got(s, WAKE_SEM);
		}
	} else {
		r = sem_real(s, clock, until);
	}
	if (!r && lock_armed())
		lock_acquired(s, LOCK_KIND_SEM, sem_by(clock), site, frame);
	return r;
}

INTERPOSE int sem_wait(sem_t *s)
{
	if (LIKELY(!wait_armed()))
		return REAL(sem_wait)(s);
	return sem_acquire(s, CLOCK_NONE, NULL, CALL_SITE);
}

INTERPOSE int sem_timedwait(sem_t *restrict s, const struct timespec *restrict until)
{
	if (LIKELY(!wait_armed()))
		return REAL(sem_timedwait)(s, until);
	return sem_acquire(s, CLOCK_DEFAULT, until, CALL_SITE);
}

INTERPOSE int sem_clockwait(sem_t *restrict s, clockid_t clock,
			    const struct timespec *restrict until)
{
	if (LIKELY(clock < 0 || !wait_armed()))
		return REAL(sem_clockwait)(s, clock, until);
	return sem_acquire(s, clock, until, CALL_SITE);
}

SLOW static int sem_try(sem_t *s, const void *site)
{
	int r = REAL(sem_trywait)(s);

	if (r)
		return r;
	thread_got(s, WAKE_SEM);
	if (lock_armed())
		lock_acquired(s, LOCK_KIND_SEM, BY(sem_trywait), site, FRAME_BELOW(site));
	return r;
}

INTERPOSE int sem_trywait(sem_t *s)
{
	if (LIKELY(!wait_armed()))
		return REAL(sem_trywait)(s);
	return sem_try(s, CALL_SITE);
}

SLOW static int sem_release(sem_t *s, const void *site)
{
	const void *frame = FRAME_BELOW(site);

	if (lock_armed())
		lock_released(s, LOCK_KIND_SEM, BY(sem_post), site, frame);
	thread_wake(s, WAKE_SEM, 1, BY(sem_post), site, frame);
	return REAL(sem_post)(s);
}

INTERPOSE int sem_post(sem_t *s)
{
	if (LIKELY(!wait_armed()))
		return REAL(sem_post)(s);
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
	if (LIKELY(!lock_wanted()))
		return REAL(pthread_cond_wait)(c, m);
	return cond_wait(c, m, CALL_SITE);
}

SLOW static int cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *until,
			       const void *site)
{
	struct waiting w = WAITING(pthread_cond_timedwait, c, m);

	WAIT(&w, w.error = REAL(pthread_cond_timedwait)(c, m, until));
	return w.error;
}

INTERPOSE int pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m,
				     const struct timespec *until)
{
	if (LIKELY(!lock_wanted()))
		return REAL(pthread_cond_timedwait)(c, m, until);
	return cond_timedwait(c, m, until, CALL_SITE);
}

SLOW static int cond_clockwait(pthread_cond_t *c, pthread_mutex_t *m, clockid_t clock,
			       const struct timespec *until, const void *site)
{
	struct waiting w = WAITING(pthread_cond_clockwait, c, m);

	WAIT(&w, w.error = REAL(pthread_cond_clockwait)(c, m, clock, until));
	return w.error;
}

INTERPOSE int pthread_cond_clockwait(pthread_cond_t *c, pthread_mutex_t *m, clockid_t clock,
				     const struct timespec *until)
{
	if (LIKELY(!lock_wanted()))
		return REAL(pthread_cond_clockwait)(c, m, clock, until);
	return cond_clockwait(c, m, clock, until, CALL_SITE);
}

SLOW static int c11_wait(cnd_t *c, mtx_t *m, const struct timespec *until, const void *site)
{
	struct waiting w = WAITING(cnd_wait, c, (pthread_mutex_t *)m);
	volatile int r = thrd_error;

	if (until)
		w.by = BY(cnd_timedwait);
	WAIT(&w, w.error = thrd_error_of(r = until ? REAL(cnd_timedwait)(c, m, until)
						   : REAL(cnd_wait)(c, m)));
	return r;
}

INTERPOSE int cnd_wait(cnd_t *c, mtx_t *m)
{
	if (LIKELY(!lock_wanted()))
		return REAL(cnd_wait)(c, m);
	return c11_wait(c, m, NULL, CALL_SITE);
}

INTERPOSE int cnd_timedwait(cnd_t *restrict c, mtx_t *restrict m,
			    const struct timespec *restrict until)
{
	if (LIKELY(!lock_wanted()))
		return REAL(cnd_timedwait)(c, m, until);
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
	if (LIKELY(!thread_wanted()))							\
		return REAL(function)(c);						\
	return wake_##function(c, CALL_SITE);						\
}

WAKER(pthread_cond_signal, pthread_cond_t, 1)
WAKER(pthread_cond_broadcast, pthread_cond_t, INT32_MAX)
WAKER(cnd_signal, cnd_t, 1)
WAKER(cnd_broadcast, cnd_t, INT32_MAX)

/* ---- Joins: a thread that has ended is not waited for ---- */

static int join_real(pthread_t thread, void **result, clockid_t clock, const struct timespec *until)
{
	if (clock == CLOCK_NONE)
		return REAL(pthread_join)(thread, result);
	return clock == CLOCK_DEFAULT ? REAL(pthread_timedjoin_np)(thread, result, until) :
	       REAL(pthread_clockjoin_np)(thread, result, clock, until);
}

static const void *join_by(clockid_t clock)
{
	if (clock == CLOCK_NONE)
		return BY(pthread_join);
	return clock == CLOCK_DEFAULT ? BY(pthread_timedjoin_np) : BY(pthread_clockjoin_np);
}

SLOW static int join(pthread_t thread, void **result, clockid_t clock, const struct timespec *until,
		     const void *site)
{
	struct waiting w = { .addr = (void *)thread,
			    .by = join_by(clock),
			    .site = site,
			    .frame = FRAME_BELOW(site),
			    .kind = WAKE_JOIN,
			    .error = ECANCELED };

	if (!thread_runs((void *)thread))
		return join_real(thread, result, clock, until);
	WAIT(&w, w.error = join_real(thread, result, clock, until));
	return w.error;
}

INTERPOSE int pthread_join(pthread_t thread, void **result)
{
	if (LIKELY(!thread_wanted()))
		return REAL(pthread_join)(thread, result);
	return join(thread, result, CLOCK_NONE, NULL, CALL_SITE);
}

INTERPOSE int pthread_timedjoin_np(pthread_t thread, void **result, const struct timespec *until)
{
	if (LIKELY(!thread_wanted()))
		return REAL(pthread_timedjoin_np)(thread, result, until);
	return join(thread, result, CLOCK_DEFAULT, until, CALL_SITE);
}

/* A negative clock is left to libc, which refuses it. */
INTERPOSE int pthread_clockjoin_np(pthread_t thread, void **result, clockid_t clock,
				   const struct timespec *until)
{
	if (LIKELY((clock < 0 || !thread_wanted())))
		return REAL(pthread_clockjoin_np)(thread, result, clock, until);
	return join(thread, result, clock, until, CALL_SITE);
}

SLOW static int c11_join(thrd_t thread, int *result, const void *site)
{
	struct waiting w = { .addr = (void *)thread,
			    .by = BY(thrd_join),
			    .site = site,
			    .frame = FRAME_BELOW(site),
			    .kind = WAKE_JOIN,
			    .error = ECANCELED };
	volatile int r = thrd_error;

	if (!thread_runs((void *)thread))
		return REAL(thrd_join)(thread, result);
	WAIT(&w, w.error = thrd_error_of(r = REAL(thrd_join)(thread, result)));
	return r;
}

INTERPOSE int thrd_join(thrd_t thread, int *result)
{
	if (LIKELY(!thread_wanted()))
		return REAL(thrd_join)(thread, result);
	return c11_join(thread, result, CALL_SITE);
}
