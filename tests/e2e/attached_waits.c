/* SPDX-License-Identifier: MIT */
/*
 * attached_waits.c - a program that is in one state, for a second and a half
 *
 *     attached_waits STATE
 *
 * It says "runs PID", and at the end what the call that it waited in has returned.
 *
 *     epoll, signal, receive, semaphore
 *			a call that fails with EINTR if the thread is stopped
 *     handled		epoll, and a handler of a signal runs at the end: EINTR
 *     write		a call that returns less if the thread is stopped
 *     filter		one thread has a filter of system calls that ends the process for mmap()
 *     vfork		PID is a child that has its parent's memory
 *     thread		PID is a child whose only thread is on another stack than the first one's
 *     leader		its first thread has ended
 *     forks		threads call fork(), and the children ask for the objects, as exceptions
 *			of C++ do
 *     allocator	its own malloc() mostly waits for a second lock
 */
#include <errno.h>
#include <link.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WAIT_MS = 1500, MUCH = 1 << 20 };

static const struct timespec wait_time = { .tv_sec = 1, .tv_nsec = 500000000 };

static void say_runs(void)
{
	char line[32];
	const int n = snprintf(line, sizeof(line), "runs %d\n", getpid());

	if (write(1, line, (size_t)n) != n)
		abort();
}

static void say(long result)
{
	printf("%ld %s\n", result, result < 0 ? strerrorname_np(errno) : "");
}

static void handler(int sig)
{
	(void)sig;
}

static void waits_epoll(void)
{
	struct epoll_event e;

	say(epoll_wait(epoll_create1(0), &e, 1, WAIT_MS));
}

static void waits_handled(void)
{
	struct epoll_event e;

	signal(SIGUSR1, handler);
	if (!fork()) {
		nanosleep(&wait_time, NULL);
		kill(getppid(), SIGUSR1);
		_exit(0);
	}
	say(epoll_wait(epoll_create1(0), &e, 1, 20 * WAIT_MS));
}

static void waits_signal(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	say(sigtimedwait(&set, NULL, &wait_time));
}

static void waits_receive(void)
{
	const struct timeval most = { 1, 500000 };
	int ends[2];
	char c;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) ||
	    setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &most, sizeof(most)))
		abort();
	say(recv(ends[0], &c, 1, 0));
}

static void waits_semaphore(void)
{
	const int id = semget(IPC_PRIVATE, 1, 0600);
	struct sembuf op = { .sem_op = -1 };

	say(semtimedop(id, &op, 1, &wait_time));
	semctl(id, 0, IPC_RMID);
}

/* Nobody reads for eight seconds. */
static void waits_write(void)
{
	static char much[MUCH];
	int ends[2];

	if (pipe(ends))
		abort();
	if (!fork()) {
		nanosleep(&(struct timespec){ .tv_sec = 8 }, NULL);
		close(ends[1]);
		while (read(ends[0], much, sizeof(much)) > 0)
			continue;
		_exit(0);
	}
	say(write(ends[1], much, sizeof(much)));
}

/* ---- Threads and children ---- */

static void *sleeps(void *arg)
{
	nanosleep(&wait_time, NULL);
	return arg;
}

/* In the parent: the first thread is in the kernel, where it cannot be stopped. */
static void child_sleeps(void (*begin)(void))
{
	const pid_t child = vfork();

	if (!child) {
		if (begin)
			begin();
		syscall(SYS_nanosleep, &wait_time, NULL);
		_exit(0);
	}
	waitpid(child, NULL, 0);
}

/* Says that it runs, and sleeps. */
static void *sleeps_filtered(void *arg)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog filter = { sizeof(code) / sizeof(*code), code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, 2, &filter))
		abort();
	say_runs();
	return sleeps(arg);
}

static void waits_filter(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, sleeps_filtered, NULL);
	child_sleeps(NULL);
	/* Now it can. */
	sleeps(NULL);
	pthread_join(thread, NULL);
	say(0);
}

static void waits_vfork(void)
{
	child_sleeps(say_runs);
	say(0);
}

static void *forks(void *arg)
{
	if (!fork()) {
		say_runs();
		sleeps(NULL);
		_exit(0);
	}
	say(wait(NULL) < 0);
	return arg;
}

static void waits_thread(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, forks, NULL);
	pthread_join(thread, NULL);
}

static void *says_later(void *arg)
{
	sleeps(NULL);
	say(0);
	return arg;
}

static void waits_leader(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, says_later, NULL);
	say_runs();
	pthread_exit(NULL);
}

static atomic_int hung;

static int object_skip(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)info;
	(void)size;
	(void)arg;
	return 0;
}

static void child_await(pid_t child)
{
	for (int ms = 0; !waitpid(child, NULL, WNOHANG); ms++) {
		if (ms == 2000) {
			kill(child, SIGKILL);
			hung++;
		}
		usleep(1000);
	}
}

static void *forks_often(void *arg)
{
	const time_t end = time(NULL) + 3;

	while (time(NULL) < end) {
		const pid_t child = fork();

		if (!child) {
			dl_iterate_phdr(object_skip, NULL);
			_exit(0);
		}
		child_await(child);
	}
	return arg;
}

/* The moments in which libc holds its lock for an instant are left: one child may have it. */
static void waits_forks(void)
{
	enum { NR = 4 };
	pthread_t threads[NR];

	for (int i = 0; i < NR; i++)
		pthread_create(&threads[i], NULL, forks_often, NULL);
	for (int i = 0; i < NR; i++)
		pthread_join(threads[i], NULL);
	say(hung > 2 ? hung : 0);
}

/* ---- The allocator ---- */

static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER, inner = PTHREAD_MUTEX_INITIALIZER;
static volatile int ends;

/* Blocks of 16 bytes and more, which nobody frees. */
static __attribute__((noinline)) void *block_new(size_t size)
{
	static char *next;
	static size_t left;
	size_t need = (size + 31) & ~(size_t)15;
	char *block;

	pthread_mutex_lock(&outer);
	pthread_mutex_lock(&inner);
	if (need > left) {
		left = need + MUCH;
		next = mmap(NULL, left, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			    0);
	}
	block = next;
	next += need;
	left -= need;
	memcpy(block, &size, sizeof(size));
	pthread_mutex_unlock(&inner);
	pthread_mutex_unlock(&outer);
	return block + 16;
}

void *malloc(size_t size)
{
	return block_new(size);
}

void *calloc(size_t nr, size_t size)
{
	return block_new(nr * size);
}

void *realloc(void *old, size_t size)
{
	void *block = block_new(size);
	size_t had = 0;

	if (old)
		memcpy(&had, (char *)old - 16, sizeof(had));
	return old ? memcpy(block, old, had < size ? had : size) : block;
}

void free(void *block)
{
	(void)block;
}

void *aligned_alloc(size_t align, size_t size)
{
	uintptr_t at = (uintptr_t)block_new(size + align + 16) + 15;

	at = (at + align) & ~(uintptr_t)(align - 1);
	memcpy((char *)at - 16, &size, sizeof(size));
	return (void *)at;
}

/* As an allocator that gives memory back to the kernel, with its lock held. */
static void *holds(void *arg)
{
	while (!ends) {
		pthread_mutex_lock(&inner);
		for (int i = 0; i < 100; i++)
			munmap(mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE |
				    MAP_ANONYMOUS | MAP_POPULATE, -1, 0), 1 << 16);
		pthread_mutex_unlock(&inner);
		usleep(100);
	}
	return arg;
}

static void waits_allocator(void)
{
	const time_t end = time(NULL) + 3;
	pthread_t thread;

	pthread_create(&thread, NULL, holds, NULL);
	while (time(NULL) < end) {
		*(volatile char *)malloc(100) = 1;
		sched_yield();
	}
	ends = 1;
	pthread_join(thread, NULL);
	say(0);
}

static const struct {
	const char	*name;
	void		(*run)(void);
	bool		speaks;		/* it says by itself that it runs */
} states[] = {
	{ "epoll", waits_epoll, false }, { "signal", waits_signal, false },
	{ "receive", waits_receive, false }, { "semaphore", waits_semaphore, false },
	{ "handled", waits_handled, false }, { "write", waits_write, false },
	{ "filter", waits_filter, true }, { "vfork", waits_vfork, true },
	{ "thread", waits_thread, true }, { "leader", waits_leader, true },
	{ "forks", waits_forks, false }, { "allocator", waits_allocator, false },
};

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IONBF, 0);
	for (size_t i = 0; argc > 1 && i < sizeof(states) / sizeof(*states); i++) {
		if (strcmp(states[i].name, argv[1]))
			continue;
		if (!states[i].speaks)
			say_runs();
		states[i].run();
	}
	return 0;
}
