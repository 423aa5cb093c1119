/* SPDX-License-Identifier: MIT */
/*
 * wakeup_program.c - threads that wait for locks and each other's ends, for wakeup_live
 *
 *   mutex, c11, read, write, timed  the first thread lets a thread "sleeper" have the lock, which
 *   is kept from running by a
 *                             handler of its own that calls late()
 *   forked-apart              a post of a semaphore at an address where another process waits for
 *                             one of its own
 *   forked-gone N             a thread waits for shared condition variables that are unmapped as
 *                             soon as it was woken
 *   join, thrd_join           the first thread waits for one that ends, and calls late() after its
 *                             start routine
 *   steal                     the lock goes to another one than the sleeper first
 *   forked-...                the same with a sleeper that is another process
 *   calm, calmed              many calls of functions and nobody who is woken, or not any more
 *   boxed, boxed-before       as calmed, where who asks for the scheduling of a thread is killed:
 *                             by a filter of its own, or
 *                             by one that it began in
 *   storm N, forked-storm N   4 threads, or processes, wake each other by locks, condition
 *                             variables and semaphores
 *
 * Prints for each "NAME USECS", the least time that late() took, and the woken thread.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>
#include "await_sleep.h"

/* Keeps the compiler from making the call before it a jump. */
#define STAYS __asm__ volatile("" ::: "memory")

/* In memory that a child of fork() shares. */
static struct both {
	long long	late_ns;
	pthread_mutex_t	mutex;
	pthread_rwlock_t rwlock;
	pthread_cond_t	cond;
	sem_t		sem;
	mtx_t		c11;
	cnd_t		c11_cond;
	_Atomic int	waiter, in_handler, has_gone, late_ended, done;
	int		is_ready, turn;
	long		total;
} *at;

/* No function that is traced. */
static inline __attribute__((always_inline)) long long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static void __attribute__((noinline)) step(volatile long *nr)
{
	++*nr;
}

static void __attribute__((noinline)) late(void)
{
	long long start = now_ns();
	volatile long nr = 0;

	step(&nr);
	while (now_ns() - start < 5000000)
		;
	step(&nr);
	at->late_ns = now_ns() - start;
}

static void say(const char *name)
{
	printf("%s %lld\n", name, at->late_ns / 1000);
}

/* ---- Locks ---- */

static const struct lock_kind {
	const char	*name;
	int		(*take)(void), (*sleep)(void), (*let_go)(void);
	int		forks;			/* the sleeper is another process */
} *kind;

/* A function of this program that makes the call, so that it is the caller in the trace. */
#define CALL(name, call)						\
static int __attribute__((noinline)) name(void)				\
{									\
	int r = call;							\
									\
	STAYS;								\
	return r;							\
}

CALL(mutex_take, pthread_mutex_lock(&at->mutex))
CALL(mutex_let_go, pthread_mutex_unlock(&at->mutex))
CALL(c11_take, mtx_lock(&at->c11))
CALL(c11_let_go, mtx_unlock(&at->c11))
CALL(read_take, pthread_rwlock_rdlock(&at->rwlock))
CALL(write_take, pthread_rwlock_wrlock(&at->rwlock))
CALL(rwlock_let_go, pthread_rwlock_unlock(&at->rwlock))
CALL(sem_sleep, sem_wait(&at->sem))
CALL(sem_let_go, sem_post(&at->sem))

static int nothing(void)
{
	return 0;
}

static int __attribute__((noinline)) cond_sleep(void)
{
	int r = pthread_mutex_lock(&at->mutex);

	while (!r && !at->is_ready)
		r = pthread_cond_wait(&at->cond, &at->mutex);
	return r | pthread_mutex_unlock(&at->mutex);
}

static int __attribute__((noinline)) timed_sleep(void)
{
	const struct timespec never = { .tv_sec = time(NULL) + 100000 };
	int r = mtx_lock(&at->c11);

	while (!r && !at->is_ready)
		r = cnd_timedwait(&at->c11_cond, &at->c11, &never);
	return r | mtx_unlock(&at->c11);
}

static int __attribute__((noinline)) timed_let_go(void)
{
	int r;

	at->is_ready = 1;
	r = cnd_signal(&at->c11_cond);
	STAYS;
	return r;
}

static int __attribute__((noinline)) cond_let_go(void)
{
	int r;

	at->is_ready = 1;
	r = pthread_cond_signal(&at->cond);
	STAYS;
	return r;
}

static const struct lock_kind kinds[] = {
	{ "mutex", mutex_take, mutex_take, mutex_let_go, 0 },
	{ "c11", c11_take, c11_take, c11_let_go, 0 },
	{ "read", write_take, read_take, rwlock_let_go, 0 },
	{ "write", read_take, write_take, rwlock_let_go, 0 },
	{ "timed", nothing, timed_sleep, timed_let_go, 0 },
	{ "steal", mutex_take, mutex_take, mutex_let_go, 0 },
	{ "forked-mutex", mutex_take, mutex_take, mutex_let_go, 1 },
	{ "forked-read", write_take, read_take, rwlock_let_go, 1 },
	{ "forked-sem", nothing, sem_sleep, sem_let_go, 1 },
	{ "forked-cond", nothing, cond_sleep, cond_let_go, 1 },
	{ "forked-steal", mutex_take, mutex_take, mutex_let_go, 1 },
};

/* The sleeper is woken while it is in this handler, and cannot get the lock before it leaves it. */
static void on_signal(int sig)
{
	at->in_handler = 1;
	while (!at->has_gone)
		;
	late();
	at->late_ended = 1;
}

static void *__attribute__((noinline)) sleeper(void *arg)
{
	pthread_setname_np(pthread_self(), "sleeper");
	at->waiter = (int)syscall(SYS_gettid);
	if (kind->sleep())
		abort();
	kind->let_go();
	at->done = 1;
	pause();
	return NULL;
}

static int sleeper_start(pthread_t *thread)
{
	pid_t child;

	if (!kind->forks)
		return pthread_create(thread, NULL, sleeper, NULL);
	child = fork();
	if (!child)
		sleeper(NULL);
	return child;
}

static void hand_over(void)
{
	const int steals = strstr(kind->name, "steal") != NULL;
	pthread_t thread;
	int child;

	signal(SIGUSR1, on_signal);
	kind->take();
	child = sleeper_start(&thread);
	while (!at->waiter)
		usleep(1000);
	await_sleep(at->waiter);
	if (child)
		kill(child, SIGUSR1);
	else
		pthread_kill(thread, SIGUSR1);
	while (!at->in_handler)
		usleep(1000);
	kind->let_go();
	/* It was woken but did not get the lock. The second wait is not part of this wakeup. */
	if (steals) {
		kind->take();
		at->has_gone = 1;
		while (!at->late_ended)
			usleep(1000);
		await_sleep(at->waiter);
		kind->let_go();
	}
	at->has_gone = 1;
	/* No pthread_join(), because that would be a wakeup, too. */
	while (!at->done)
		usleep(1000);
	say(kind->name);
	printf("woken %d\n", at->waiter);
	if (child)
		kill(child, SIGKILL);
}

/* ---- Different objects at the same address in two processes ---- */

static _Atomic int *told;

static void *posts_when_told(void *arg)
{
	while (!*told)
		usleep(1000);
	return sem_post(&at->sem) ? NULL : arg;
}

static void apart_child(void)
{
	pthread_t thread;

	if (mmap(at, sizeof(*at), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED,
		 -1, 0) != at)
		abort();
	sem_init(&at->sem, 1, 0);
	pthread_create(&thread, NULL, posts_when_told, NULL);
	sem_sleep();
	_exit(0);
}

static void apart(void)
{
	int status = 1;
	pid_t child;

	told = mmap(NULL, sizeof(*told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	child = fork();
	if (!child)
		apart_child();
	await_sleep(child);
	usleep(20000);
	sem_let_go();
	late();
	*told = 1;
	if (waitpid(child, &status, 0) != child || status)
		abort();
	printf("woken %d\n", child);
}

/* ---- Joins ---- */

static pthread_key_t key;

/* Runs after the start routine, while the joining thread waits. */
static void __attribute__((noinline)) at_end(void *value)
{
	late();
	STAYS;
}

static void *__attribute__((noinline)) ends(void *arg)
{
	pthread_setspecific(key, &key);
	await_sleep((int)getpid());
	return NULL;
}

static int __attribute__((noinline)) c11_ends(void *arg)
{
	ends(arg);
	return 7;
}

static void __attribute__((noinline)) joins(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, ends, NULL);
	pthread_join(thread, NULL);
	say("join");
	printf("woken %d\n", (int)getpid());
}

static void __attribute__((noinline)) c11_joins(void)
{
	thrd_t thread;
	int result;

	thrd_create(&thread, c11_ends, NULL);
	if (thrd_join(thread, &result) != thrd_success || result != 7)
		abort();
	say("thrd_join");
	printf("woken %d\n", (int)getpid());
}

/* ---- None, and many ---- */

static void *__attribute__((noinline)) posts(void *arg)
{
	await_sleep((int)getpid());
	sem_post(&at->sem);
	return NULL;
}

static void one_wakeup(void)
{
	pthread_t thread;

	sem_init(&at->sem, 0, 0);
	pthread_create(&thread, NULL, posts, NULL);
	sem_wait(&at->sem);
	pthread_join(thread, NULL);
}

static void box(void)
{
	static struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sched_getscheduler, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sched_getattr, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { sizeof(code) / sizeof(code[0]), code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog))
		abort();
}

static void calm(void)
{
	volatile long nr = 0;

	for (int i = 0; i < 100000; i++)
		step(&nr);
	printf("calm %ld\n", nr);
}

enum { THREADS = 4 };

static int rounds;

static void *__attribute__((noinline)) storms(void *arg)
{
	volatile long nr = 0;

	for (int i = 0; i < rounds; i++) {
		pthread_mutex_lock(&at->mutex);
		while (at->turn != (int)(intptr_t)arg)
			pthread_cond_wait(&at->cond, &at->mutex);
		step(&nr);
		at->turn = (at->turn + 1) % THREADS;
		pthread_cond_broadcast(&at->cond);
		pthread_mutex_unlock(&at->mutex);
		sem_wait(&at->sem);
		step(&nr);
		sem_post(&at->sem);
		if (i % 4)
			pthread_rwlock_rdlock(&at->rwlock);
		else
			pthread_rwlock_wrlock(&at->rwlock);
		step(&nr);
		pthread_rwlock_unlock(&at->rwlock);
	}
	pthread_mutex_lock(&at->mutex);
	at->total += nr;
	pthread_mutex_unlock(&at->mutex);
	return NULL;
}

/* ---- A condition variable that is gone as soon as nobody waits for it ---- */

static pthread_cond_t *passing;		/* under at->mutex, as the next */
static int passed;

static void *__attribute__((noinline)) waits_in_passing(void *arg)
{
	for (int i = 0; i < rounds; i++) {
		pthread_mutex_lock(&at->mutex);
		while (passed <= i)
			pthread_cond_wait(passing ? passing : &at->cond, &at->mutex);
		pthread_mutex_unlock(&at->mutex);
	}
	return NULL;
}

static void forked_gone(void)
{
	const size_t page = 4096;
	pthread_condattr_t attr;
	pthread_cond_t *c;
	pthread_t thread;

	pthread_condattr_init(&attr);
	pthread_condattr_setpshared(&attr, 1);
	pthread_create(&thread, NULL, waits_in_passing, NULL);
	for (int i = 0; i < rounds; i++) {
		c = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		pthread_cond_init(c, &attr);
		pthread_mutex_lock(&at->mutex);
		passing = c;
		pthread_mutex_unlock(&at->mutex);
		if (i % 3)
			usleep(50);
		pthread_mutex_lock(&at->mutex);
		passed++;
		passing = NULL;
		pthread_cond_broadcast(c);
		pthread_cond_broadcast(&at->cond);
		/*
		 * The waiter has left the condition variable, but gets the mutex only after it is
		 * unmapped.
		 */
		pthread_cond_destroy(c);
		munmap(c, page);
		pthread_mutex_unlock(&at->mutex);
	}
	pthread_join(thread, NULL);
	printf("gone %d\n", passed);
}

static void forked_storm(void)
{
	pid_t child[THREADS];
	int status = 0;

	sem_init(&at->sem, 1, 2);
	for (intptr_t i = 0; i < THREADS; i++) {
		child[i] = fork();
		if (!child[i]) {
			storms((void *)i);
			_exit(0);
		}
	}
	for (int i = 0; i < THREADS; i++)
		if (waitpid(child[i], &status, 0) != child[i] || status)
			abort();
	printf("storm %ld\n", at->total);
}

static void storm(void)
{
	pthread_t thread[THREADS];

	sem_init(&at->sem, 0, 2);
	for (intptr_t i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, storms, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	printf("storm %ld\n", at->total);
}

/* Makes locks shared between processes only if a child of fork() uses them. */
static void make_locks(int shared)
{
	pthread_mutexattr_t m;
	pthread_rwlockattr_t rw;
	pthread_condattr_t c;

	at = mmap(NULL, sizeof(*at), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED)
		abort();
	pthread_mutexattr_init(&m);
	pthread_mutexattr_setpshared(&m, shared);
	pthread_mutex_init(&at->mutex, &m);
	pthread_rwlockattr_init(&rw);
	pthread_rwlockattr_setpshared(&rw, shared);
	pthread_rwlock_init(&at->rwlock, &rw);
	pthread_condattr_init(&c);
	pthread_condattr_setpshared(&c, shared);
	pthread_cond_init(&at->cond, &c);
	sem_init(&at->sem, shared, 0);
	mtx_init(&at->c11, mtx_plain);
	cnd_init(&at->c11_cond);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	rounds = argc > 2 ? atoi(argv[2]) : 0;
	printf("pid %d\n", (int)getpid());
	fflush(stdout);
	for (unsigned int i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(what, kinds[i].name))
			kind = &kinds[i];
	if (!strncmp(what, "boxed", 5))
		box();
	if (!strcmp(what, "boxed-before"))
		return execl("/proc/self/exe", argv[0], "calmed", NULL);
	make_locks(!strncmp(what, "forked-", 7) ? PTHREAD_PROCESS_SHARED : PTHREAD_PROCESS_PRIVATE);
	pthread_key_create(&key, at_end);
	if (kind)
		hand_over();
	else if (!strcmp(what, "join"))
		joins();
	else if (!strcmp(what, "thrd_join"))
		c11_joins();
	else if (!strcmp(what, "calmed") || !strcmp(what, "boxed"))
		one_wakeup();
	else if (!strcmp(what, "forked-gone"))
		forked_gone();
	else if (!strcmp(what, "forked-apart"))
		apart();
	else if (!strcmp(what, "forked-storm"))
		forked_storm();
	else if (strcmp(what, "calm") && strcmp(what, "storm"))
		return 2;
	if (!strncmp(what, "calm", 4) || !strcmp(what, "boxed"))
		calm();
	else if (!strcmp(what, "storm"))
		storm();
	return 0;
}
