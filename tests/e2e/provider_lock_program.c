/* SPDX-License-Identifier: MIT */
/*
 * provider_lock_program.c - uses locks in ways that it counts itself
 *
 *   count THREADS N   random locks; prints how many it got and gave back, by kind
 *   contend N         a thread waits for a mutex N times, for certain
 *   nested            three mutexes, one in the other
 *   answers           what every function answers, rightly and wrongly used; the same without
 *                     tracing
 *   cancel            threads are cancelled while they wait
 *   left              handlers leave what waits by siglongjmp, and then the threads end
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>
#include "await_sleep.h"

enum { MUTEX, READ, WRITE, SPIN, SEM, NR };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static sem_t sem;
static mtx_t c11;
static _Atomic long got[NR], gave[NR];
static long shared[4];		/* each protected by one lock */
static int rounds;

static unsigned int next(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
	return (unsigned int)(*seed >> 33);
}

static struct timespec in_ms(clockid_t clock, long ms)
{
	struct timespec t;

	clock_gettime(clock, &t);
	t.tv_nsec += ms % 1000 * 1000000;
	t.tv_sec += ms / 1000 + t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	return t;
}

/* Returns the kind of lock that it got; NR: none. */
static int take(unsigned int what)
{
	struct timespec real = in_ms(CLOCK_REALTIME, 10000), mono = in_ms(CLOCK_MONOTONIC, 10000);

	switch (what) {
	case 0:
		return pthread_mutex_lock(&mutex) ? NR : MUTEX;
	case 1:
		return pthread_mutex_trylock(&mutex) ? NR : MUTEX;
	case 2:
		return pthread_mutex_timedlock(&mutex, &real) ? NR : MUTEX;
	case 3:
		return pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &mono) ? NR : MUTEX;
	case 4:
		return pthread_rwlock_rdlock(&rwlock) ? NR : READ;
	case 5:
		return pthread_rwlock_tryrdlock(&rwlock) ? NR : READ;
	case 6:
		return pthread_rwlock_timedrdlock(&rwlock, &real) ? NR : READ;
	case 7:
		return pthread_rwlock_wrlock(&rwlock) ? NR : WRITE;
	case 8:
		return pthread_rwlock_trywrlock(&rwlock) ? NR : WRITE;
	case 9:
		return pthread_rwlock_clockwrlock(&rwlock, CLOCK_MONOTONIC, &mono) ? NR : WRITE;
	case 10:
		return pthread_spin_lock(&spin) ? NR : SPIN;
	case 11:
		return pthread_spin_trylock(&spin) ? NR : SPIN;
	case 12:
		return sem_wait(&sem) ? NR : SEM;
	case 13:
		return sem_trywait(&sem) ? NR : SEM;
	case 14:
		return sem_timedwait(&sem, &real) ? NR : SEM;
	default:
		return sem_clockwait(&sem, CLOCK_MONOTONIC, &mono) ? NR : SEM;
	}
}

static void give(int kind)
{
	if (kind == MUTEX)
		pthread_mutex_unlock(&mutex);
	else if (kind == READ || kind == WRITE)
		pthread_rwlock_unlock(&rwlock);
	else if (kind == SPIN)
		pthread_spin_unlock(&spin);
	else
		sem_post(&sem);
}

static void *worker(void *arg)
{
	uint64_t seed = (uintptr_t)arg;

	for (int i = 0; i < rounds; i++) {
		int kind = take(next(&seed) % 16);

		if (kind == NR)
			continue;
		got[kind]++;
		gave[kind]++;
		if (kind == MUTEX || kind == WRITE || kind == SPIN)
			shared[kind]++;
		if (!(next(&seed) % 64))
			sched_yield();
		give(kind);
		if (!(next(&seed) % 4)) {
			mtx_lock(&c11);
			got[MUTEX]++;
			gave[MUTEX]++;
			shared[1]++;
			mtx_unlock(&c11);
		}
	}
	return NULL;
}

static int count(int threads)
{
	static const char *const names[NR] = { "mutex", "read", "write", "spin", "sem" };
	pthread_t t[64];

	sem_init(&sem, 0, 1);
	for (int i = 0; i < threads; i++)
		pthread_create(&t[i], NULL, worker, (void *)(uintptr_t)(i + 1));
	for (int i = 0; i < threads; i++)
		pthread_join(t[i], NULL);
	if (shared[MUTEX] + shared[1] != got[MUTEX] || shared[WRITE] != got[WRITE] ||
	    shared[SPIN] != got[SPIN])
		printf("two had a lock at a time\n");
	for (int i = 0; i < NR; i++)
		printf("%s %ld %ld\n", names[i], got[i], gave[i]);
	return 0;
}

/* ---- contend ---- */

static _Atomic int turn;

static void *contender(void *arg)
{
	printf("contender %ld\n", syscall(SYS_gettid));
	for (int i = 0; i < rounds; i++) {
		while (turn != i + 1)
			sched_yield();
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
		turn = -(i + 1);
	}
	return NULL;
}

static int contend(void)
{
	pthread_t t;

	pthread_create(&t, NULL, contender, NULL);
	for (int i = 0; i < rounds; i++) {
		pthread_mutex_lock(&mutex);
		turn = i + 1;
		/* libc's mark of a mutex with a waiter */
		while (*(volatile int *)&mutex.__data.__lock != 2)
			sched_yield();
		pthread_mutex_unlock(&mutex);
		while (turn != -(i + 1))
			sched_yield();
	}
	pthread_join(t, NULL);
	puts("end");
	return 0;
}

__attribute__((noinline)) static int nested(void)
{
	pthread_mutex_t m[3] = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
				PTHREAD_MUTEX_INITIALIZER };

	for (int i = 0; i < 3; i++)
		pthread_mutex_lock(&m[i]);
	for (int i = 3; i--;)
		pthread_mutex_unlock(&m[i]);
	return 0;
}

/* ---- answers ---- */

#define SAY(call) say(#call, call)

static void say(const char *what, int r)
{
	printf("%s = %d errno %d\n", what, r, errno);
	errno = 7;
}

static pthread_mutex_t m, pi;

static void mutex_init(pthread_mutex_t *mutex, int type, int robust, int protocol)
{
	pthread_mutexattr_t a;

	pthread_mutexattr_init(&a);
	pthread_mutexattr_settype(&a, type);
	pthread_mutexattr_setrobust(&a, robust);
	pthread_mutexattr_setprotocol(&a, protocol);
	pthread_mutex_init(mutex, &a);
}

static void *die_with_lock(void *arg)
{
	pthread_mutex_lock(arg);
	return NULL;
}

static void *hold_100_ms(void *arg)
{
	pthread_mutex_lock(arg);
	turn = 1;
	usleep(100000);
	pthread_mutex_unlock(arg);
	return NULL;
}

static void run_thread(void *(*f)(void *), void *arg)
{
	pthread_t t;

	pthread_create(&t, NULL, f, arg);
	pthread_join(t, NULL);
}

static void mutex_answers(void)
{
	struct timespec past = { 1, 0 }, wrong = { 1, 2000000000 };
	pthread_t t;

	mutex_init(&m, PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE);
	SAY(pthread_mutex_lock(&m));
	SAY(pthread_mutex_lock(&m));
	SAY(pthread_mutex_trylock(&m));
	SAY(pthread_mutex_timedlock(&m, &past));
	SAY(pthread_mutex_unlock(&m));
	SAY(pthread_mutex_unlock(&m));
	mutex_init(&m, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE);
	SAY(pthread_mutex_lock(&m));
	SAY(pthread_mutex_lock(&m));
	SAY(pthread_mutex_trylock(&m));
	SAY(pthread_mutex_unlock(&m));
	SAY(pthread_mutex_unlock(&m));
	SAY(pthread_mutex_unlock(&m));
	mutex_init(&m, PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE);
	SAY(pthread_mutex_timedlock(&m, &wrong));
	SAY(pthread_mutex_timedlock(&m, &wrong));
	SAY(pthread_mutex_timedlock(&m, &past));
	SAY(pthread_mutex_clocklock(&m, CLOCK_MONOTONIC, &past));
	SAY(pthread_mutex_clocklock(&m, CLOCK_PROCESS_CPUTIME_ID, &past));
	SAY(pthread_mutex_unlock(&m));
	for (int protocol = 0; protocol < 2; protocol++) {
		mutex_init(&m, PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST,
			   protocol ? PTHREAD_PRIO_INHERIT : PTHREAD_PRIO_NONE);
		run_thread(die_with_lock, &m);
		SAY(pthread_mutex_lock(&m));
		SAY(pthread_mutex_consistent(&m));
		SAY(pthread_mutex_unlock(&m));
		SAY(pthread_mutex_lock(&m));
		SAY(pthread_mutex_unlock(&m));
		run_thread(die_with_lock, &m);
		SAY(pthread_mutex_lock(&m));
		SAY(pthread_mutex_unlock(&m));
		SAY(pthread_mutex_lock(&m));
	}
	mutex_init(&pi, PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_INHERIT);
	turn = 0;
	pthread_create(&t, NULL, hold_100_ms, &pi);
	while (!turn)
		sched_yield();
	SAY(pthread_mutex_lock(&pi));
	SAY(pthread_mutex_lock(&pi));
	SAY(pthread_mutex_unlock(&pi));
	pthread_join(t, NULL);
}

static void rwlock_answers(void)
{
	struct timespec past = { 1, 0 }, wrong = { 1, -1 };

	SAY(pthread_rwlock_wrlock(&rwlock));
	SAY(pthread_rwlock_wrlock(&rwlock));
	SAY(pthread_rwlock_rdlock(&rwlock));
	SAY(pthread_rwlock_tryrdlock(&rwlock));
	SAY(pthread_rwlock_unlock(&rwlock));
	SAY(pthread_rwlock_rdlock(&rwlock));
	SAY(pthread_rwlock_timedrdlock(&rwlock, &past));
	SAY(pthread_rwlock_timedwrlock(&rwlock, &past));
	SAY(pthread_rwlock_timedrdlock(&rwlock, &wrong));
	SAY(pthread_rwlock_clockwrlock(&rwlock, 99, &past));
	SAY(pthread_rwlock_trywrlock(&rwlock));
	SAY(pthread_rwlock_unlock(&rwlock));
	SAY(pthread_rwlock_unlock(&rwlock));
	SAY(pthread_spin_lock(&spin));
	SAY(pthread_spin_trylock(&spin));
	SAY(pthread_spin_unlock(&spin));
}

static void sem_answers(void)
{
	struct timespec past = { 1, 0 }, wrong = { 1, 2000000000 };
	pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
	cnd_t c;

	sem_init(&sem, 0, 2);
	errno = 7;
	SAY(sem_wait(&sem));
	SAY(sem_timedwait(&sem, &wrong));
	SAY(sem_timedwait(&sem, &past));
	SAY(sem_timedwait(&sem, &past));
	SAY(sem_clockwait(&sem, CLOCK_MONOTONIC, &past));
	SAY(sem_clockwait(&sem, 99, &past));
	SAY(sem_trywait(&sem));
	SAY(sem_post(&sem));
	SAY(sem_trywait(&sem));
	pthread_mutex_lock(&mutex);
	SAY(pthread_cond_timedwait(&cond, &mutex, &past));
	SAY(pthread_cond_timedwait(&cond, &mutex, &wrong));
	SAY(pthread_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &past));
	SAY(pthread_cond_signal(&cond));
	SAY(pthread_cond_broadcast(&cond));
	pthread_mutex_unlock(&mutex);
	cnd_init(&c);
	SAY(mtx_lock(&c11));
	SAY(mtx_trylock(&c11));
	SAY(cnd_timedwait(&c, &c11, &past));
	SAY(cnd_signal(&c));
	SAY(cnd_broadcast(&c));
	SAY(mtx_unlock(&c11));
}

static void *until_told(void *arg)
{
	sem_wait(arg);
	return arg;
}

static int c11_seven(void *arg)
{
	sem_wait(arg);
	return 7;
}

static void join_answers(void)
{
	struct timespec past = { 1, 0 };
	void *result = NULL;
	int seven = 0;
	pthread_t t;
	thrd_t c;

	sem_init(&sem, 0, 0);
	pthread_create(&t, NULL, until_told, &sem);
	errno = 7;
	SAY(pthread_join(pthread_self(), NULL));
	SAY(pthread_timedjoin_np(t, NULL, &past));
	SAY(pthread_clockjoin_np(t, NULL, CLOCK_MONOTONIC, &past));
	SAY(pthread_clockjoin_np(t, NULL, 99, &past));
	SAY(pthread_clockjoin_np(t, NULL, -1, &past));
	sem_post(&sem);
	SAY(pthread_join(t, &result));
	SAY(result == &sem);
	pthread_create(&t, NULL, until_told, &sem);
	sem_post(&sem);
	SAY(pthread_timedjoin_np(t, &result, NULL));
	pthread_create(&t, NULL, until_told, &sem);
	pthread_detach(t);
	SAY(pthread_join(t, NULL));
	sem_post(&sem);
	thrd_create(&c, c11_seven, &sem);
	sem_post(&sem);
	SAY(thrd_join(c, &seven));
	SAY(seven);
}

/* ---- cancel ---- */

static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static _Atomic int unlocked, waiting;

static void unlock(void *arg)
{
	unlocked += !pthread_mutex_unlock(arg);
}

static void *wait_for_cond(void *arg)
{
	mutex_init(&m, PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE);
	pthread_mutex_lock(&m);
	pthread_cleanup_push(unlock, &m);
	waiting = 1;
	for (;;)
		pthread_cond_wait(&never, &m);
	pthread_cleanup_pop(1);
}

static void *wait_for_sem(void *arg)
{
	waiting = 1;
	sem_wait(&sem);
	return NULL;
}

/* The call need not wait, but a cancellation is already pending. */
static void *sem_with_request(void *arg)
{
	sem_t mine;

	sem_init(&mine, 0, 1);
	pthread_cancel(pthread_self());
	waiting = 1;
	sem_wait(&mine);
	return NULL;
}

static pthread_t endless;

static void *sleeps_for_ever(void *arg)
{
	for (;;)
		pause();
	return arg;
}

static void *wait_for_end(void *arg)
{
	waiting = 1;
	pthread_join(endless, NULL);
	return NULL;
}

static int cancel(void)
{
	void *(*const f[])(void *) = { wait_for_cond, wait_for_sem, sem_with_request,
				       wait_for_end };
	int cancelled = 0;

	sem_init(&sem, 0, 0);
	pthread_create(&endless, NULL, sleeps_for_ever, NULL);
	for (int i = 0; i < 40; i++) {
		pthread_t t;
		void *result;

		waiting = 0;
		pthread_create(&t, NULL, f[i % 4], NULL);
		while (!waiting)
			sched_yield();
		if (i / 4 % 2)
			usleep(2000);
		pthread_cancel(t);
		pthread_join(t, &result);
		cancelled += result == PTHREAD_CANCELED;
	}
	printf("%d cancelled, %d unlocked\n", cancelled, unlocked);
	return 0;
}

/* ---- left ---- */

static __thread sigjmp_buf before_wait;

static void leave(int sig)
{
	siglongjmp(before_wait, 1);
}

/* This frame overwrites the frame of the call that waited. */
static __attribute__((noinline)) void overwrite(void)
{
	volatile char used[8192];

	for (size_t i = 0; i < sizeof(used); i++)
		used[i] = 0x55;
}

static void *leaves_wait(void *arg)
{
	pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t none = PTHREAD_COND_INITIALIZER;
	int i = (int)(intptr_t)arg;

	if (!sigsetjmp(before_wait, 1)) {
		pthread_mutex_lock(&own);
		waiting = (int)syscall(SYS_gettid);
		if (i % 2)
			pthread_cond_wait(&none, &own);
		else
			sem_wait(&sem);
	}
	overwrite();
	if (i / 2 % 2)
		pthread_cancel(pthread_self());
	pthread_testcancel();
	pthread_exit(PTHREAD_CANCELED);
}

static int left(void)
{
	int ended = 0;

	sem_init(&sem, 0, 0);
	signal(SIGUSR1, leave);
	for (intptr_t i = 0; i < 20; i++) {
		pthread_t t;
		void *result;

		waiting = 0;
		pthread_create(&t, NULL, leaves_wait, (void *)i);
		while (!waiting)
			sched_yield();
		await_sleep(waiting);
		pthread_kill(t, SIGUSR1);
		pthread_join(t, &result);
		ended += result == PTHREAD_CANCELED;
	}
	printf("%d ended\n", ended);
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	pthread_spin_init(&spin, 0);
	mtx_init(&c11, mtx_timed);
	rounds = argc > 2 ? atoi(argv[argc - 1]) : 0;
	if (!strcmp(what, "count"))
		return count(atoi(argv[2]));
	if (!strcmp(what, "contend"))
		return contend();
	if (!strcmp(what, "nested"))
		return nested();
	if (!strcmp(what, "cancel"))
		return cancel();
	if (!strcmp(what, "left"))
		return left();
	mutex_answers();
	rwlock_answers();
	sem_answers();
	join_answers();
	return 0;
}
