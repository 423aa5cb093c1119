/* SPDX-License-Identifier: MIT */
/*
 * wakeup_program.c - threads that wait for locks and each other's ends, for wakeup_live
 *
 *   mutex, c11, read, write   the first thread lets a thread "sleeper" have the lock, which is kept from running by a
 *                             handler of its own that calls late()
 *   join, thrd_join           the first thread waits for one that ends, and calls late() after its start routine
 *   steal                     the lock goes to another one than the sleeper first
 *   calm, calmed              many calls of functions and nobody who is woken, or not any more
 *   storm N                   4 threads wake each other by locks, condition variables and semaphores
 *
 * Prints for each "NAME USECS", which late() lasted at least, and who was woken.
 */
#include <pthread.h>
#include <semaphore.h>
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

/* A call before it is no jump. */
#define STAYS __asm__ volatile("" ::: "memory")

static long long late_ns;

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
	late_ns = now_ns() - start;
}

static void say(const char *name)
{
	printf("%s %lld\n", name, late_ns / 1000);
}

/* ---- Locks ---- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static mtx_t c11;

static const struct lock_kind {
	const char	*name;
	int		(*take)(void), (*sleep)(void), (*let_go)(void);
} *kind;

static _Atomic int waiter, in_handler, has_gone, late_ended, done;

static int __attribute__((noinline)) mutex_take(void)
{
	int r = pthread_mutex_lock(&mutex);

	STAYS;
	return r;
}

static int __attribute__((noinline)) mutex_let_go(void)
{
	int r = pthread_mutex_unlock(&mutex);

	STAYS;
	return r;
}

static int __attribute__((noinline)) c11_take(void)
{
	int r = mtx_lock(&c11);

	STAYS;
	return r;
}

static int __attribute__((noinline)) c11_let_go(void)
{
	int r = mtx_unlock(&c11);

	STAYS;
	return r;
}

static int __attribute__((noinline)) read_take(void)
{
	int r = pthread_rwlock_rdlock(&rwlock);

	STAYS;
	return r;
}

static int __attribute__((noinline)) write_take(void)
{
	int r = pthread_rwlock_wrlock(&rwlock);

	STAYS;
	return r;
}

static int __attribute__((noinline)) rwlock_let_go(void)
{
	int r = pthread_rwlock_unlock(&rwlock);

	STAYS;
	return r;
}

static const struct lock_kind kinds[] = {
	{ "mutex", mutex_take, mutex_take, mutex_let_go },
	{ "c11", c11_take, c11_take, c11_let_go },
	{ "read", write_take, read_take, rwlock_let_go },
	{ "write", read_take, write_take, rwlock_let_go },
	{ "steal", mutex_take, mutex_take, mutex_let_go },
};

/* The sleeper is woken while it is in here, and cannot have the lock before it has left. */
static void on_signal(int sig)
{
	in_handler = 1;
	while (!has_gone)
		;
	late();
	late_ended = 1;
}

static void *__attribute__((noinline)) sleeper(void *arg)
{
	pthread_setname_np(pthread_self(), "sleeper");
	waiter = (int)syscall(SYS_gettid);
	if (kind->sleep())
		abort();
	kind->let_go();
	done = 1;
	pause();
	return NULL;
}

/* Until the thread sleeps. */
static void await_sleep(int tid)
{
	char path[64], line[256], *state;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	for (;;) {
		FILE *f = fopen(path, "r");

		state = f && fgets(line, sizeof(line), f) ? strrchr(line, ')') : NULL;
		if (f)
			fclose(f);
		if (state && state[2] == 'S')
			return;
		usleep(1000);
	}
}

static void hand_over(void)
{
	const int steals = !strcmp(kind->name, "steal");
	pthread_t thread;

	signal(SIGUSR1, on_signal);
	mtx_init(&c11, mtx_plain);
	kind->take();
	pthread_create(&thread, NULL, sleeper, NULL);
	while (!waiter)
		usleep(1000);
	await_sleep(waiter);
	pthread_kill(thread, SIGUSR1);
	while (!in_handler)
		usleep(1000);
	kind->let_go();
	/* It was woken, but not let go: what it waits for then was none of its wakeup. */
	if (steals) {
		kind->take();
		has_gone = 1;
		while (!late_ended)
			usleep(1000);
		await_sleep(waiter);
		kind->let_go();
	}
	has_gone = 1;
	/* No join, which would be a wakeup, too. */
	while (!done)
		usleep(1000);
	say(kind->name);
	printf("woken %d\n", waiter);
}

/* ---- Joins ---- */

static pthread_key_t key;

/* Behind the start routine, so in the time that whoever joins waits for. */
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

static sem_t sem;

static void *__attribute__((noinline)) posts(void *arg)
{
	await_sleep((int)getpid());
	sem_post(&sem);
	return NULL;
}

static void one_wakeup(void)
{
	pthread_t thread;

	sem_init(&sem, 0, 0);
	pthread_create(&thread, NULL, posts, NULL);
	sem_wait(&sem);
	pthread_join(thread, NULL);
}

static void calm(void)
{
	volatile long nr = 0;

	for (int i = 0; i < 100000; i++)
		step(&nr);
	printf("calm %ld\n", nr);
}

enum { THREADS = 4 };

static pthread_cond_t turned = PTHREAD_COND_INITIALIZER;
static int turn, rounds;
static long total;

static void *__attribute__((noinline)) storms(void *arg)
{
	volatile long nr = 0;

	for (int i = 0; i < rounds; i++) {
		pthread_mutex_lock(&mutex);
		while (turn != (int)(intptr_t)arg)
			pthread_cond_wait(&turned, &mutex);
		step(&nr);
		turn = (turn + 1) % THREADS;
		pthread_cond_broadcast(&turned);
		pthread_mutex_unlock(&mutex);
		sem_wait(&sem);
		step(&nr);
		sem_post(&sem);
		if (i % 4)
			pthread_rwlock_rdlock(&rwlock);
		else
			pthread_rwlock_wrlock(&rwlock);
		step(&nr);
		pthread_rwlock_unlock(&rwlock);
	}
	pthread_mutex_lock(&mutex);
	total += nr;
	pthread_mutex_unlock(&mutex);
	return NULL;
}

static void storm(void)
{
	pthread_t thread[THREADS];

	sem_init(&sem, 0, 2);
	for (intptr_t i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, storms, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	printf("storm %ld\n", total);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	rounds = argc > 2 ? atoi(argv[2]) : 0;
	printf("pid %d\n", (int)getpid());
	for (unsigned int i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(what, kinds[i].name))
			kind = &kinds[i];
	pthread_key_create(&key, at_end);
	if (kind)
		hand_over();
	else if (!strcmp(what, "join"))
		joins();
	else if (!strcmp(what, "thrd_join"))
		c11_joins();
	else if (!strcmp(what, "calmed"))
		one_wakeup();
	else if (strcmp(what, "calm") && strcmp(what, "storm"))
		return 2;
	if (!strncmp(what, "calm", 4))
		calm();
	else if (!strcmp(what, "storm"))
		storm();
	return 0;
}
