/* SPDX-License-Identifier: MIT */
/*
 * count_preload.c - an independent counter: how often a program calls some functions of libc
 *
 * It is preloaded behind the agent, so it sees the calls that the agent passes on. The counts are
 * in a mapped file $COUNT_DIR/COMM.PID: 64-bit numbers in the order of names[]. So they are exact
 * up to the last call of the process, even if it is killed. A child of fork() has a file of its
 * own.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

/*
 * A mutex is taken by lock() or by a trylock() that succeeds. A tracer of locks may call trylock()
 * first.
 */
enum { MALLOC, CALLOC, REALLOC, FREE, MUTEX_TAKEN, MUTEX_UNLOCK, READ, WRITE, CREATE, NR };

static _Atomic uint64_t early[NR];
static _Atomic uint64_t *counts = early;

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void __libc_free(void *);

static void *(*next_malloc)(size_t);
static void *(*next_calloc)(size_t, size_t);
static void *(*next_realloc)(void *, size_t);
static void (*next_free)(void *);
static int (*next_lock)(pthread_mutex_t *);
static int (*next_trylock)(pthread_mutex_t *);
static int (*next_unlock)(pthread_mutex_t *);
static ssize_t (*next_read)(int, void *, size_t);
static ssize_t (*next_write)(int, const void *, size_t);
static int (*next_create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

static void count(int what)
{
	atomic_fetch_add_explicit(&counts[what], 1, memory_order_relaxed);
}

static void open_counts(int keep)
{
	const char *dir = getenv("COUNT_DIR");
	char path[512], comm[16] = "";
	void *map;
	int fd;

	if (!dir)
		return;
	prctl(PR_GET_NAME, comm);
	snprintf(path, sizeof(path), "%s/%s.%d", dir, comm, (int)getpid());
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	if (!ftruncate(fd, sizeof(early))) {
		map = mmap(NULL, sizeof(early), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (map != MAP_FAILED) {
			/* A program that has executed itself adds to its own counts */
			counts = map;
			for (int i = 0; keep && i < NR; i++)
				counts[i] += early[i];
		}
	}
	close(fd);
}

static void in_child(void)
{
	int saved = errno;

	open_counts(0);
	errno = saved;
}

/* Also called by functions that are called before the constructor. */
static void resolve(void)
{
	next_malloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
	next_calloc = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "calloc");
	next_realloc = (void *(*)(void *, size_t))dlsym(RTLD_NEXT, "realloc");
	next_free = (void (*)(void *))dlsym(RTLD_NEXT, "free");
	next_lock = (int (*)(pthread_mutex_t *))dlsym(RTLD_NEXT, "pthread_mutex_lock");
	next_trylock = (int (*)(pthread_mutex_t *))dlsym(RTLD_NEXT, "pthread_mutex_trylock");
	next_unlock = (int (*)(pthread_mutex_t *))dlsym(RTLD_NEXT, "pthread_mutex_unlock");
	next_read = (ssize_t (*)(int, void *, size_t))dlsym(RTLD_NEXT, "read");
	next_write = (ssize_t (*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
	next_create = (int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))
		dlsym(RTLD_NEXT, "pthread_create");
}

__attribute__((constructor(101))) static void start(void)
{
	if (!next_create)
		resolve();
	open_counts(1);
	pthread_atfork(NULL, NULL, in_child);
}

void *malloc(size_t size)
{
	count(MALLOC);
	return next_malloc ? next_malloc(size) : __libc_malloc(size);
}

void *calloc(size_t nr, size_t size)
{
	count(CALLOC);
	return next_calloc ? next_calloc(nr, size) : __libc_calloc(nr, size);
}

void *realloc(void *p, size_t size)
{
	count(REALLOC);
	return next_realloc ? next_realloc(p, size) : __libc_realloc(p, size);
}

void free(void *p)
{
	count(FREE);
	if (next_free)
		next_free(p);
	else
		__libc_free(p);
}

int pthread_mutex_lock(pthread_mutex_t *m)
{
	count(MUTEX_TAKEN);
	if (!next_lock)
		resolve();
	return next_lock(m);
}

int pthread_mutex_trylock(pthread_mutex_t *m)
{
	int err;

	if (!next_trylock)
		resolve();
	err = next_trylock(m);
	if (!err)
		count(MUTEX_TAKEN);
	return err;
}

int pthread_mutex_unlock(pthread_mutex_t *m)
{
	count(MUTEX_UNLOCK);
	if (!next_unlock)
		resolve();
	return next_unlock(m);
}

ssize_t read(int fd, void *buf, size_t size)
{
	count(READ);
	if (!next_read)
		resolve();
	return next_read(fd, buf, size);
}

ssize_t write(int fd, const void *buf, size_t size)
{
	count(WRITE);
	if (!next_write)
		resolve();
	return next_write(fd, buf, size);
}

int pthread_create(pthread_t *t, const pthread_attr_t *attr, void *(*fn)(void *), void *arg)
{
	count(CREATE);
	if (!next_create)
		resolve();
	return next_create(t, attr, fn, arg);
}
