/* SPDX-License-Identifier: MIT */
/*
 * disk.h - the disk of processes that read files for the server is in the test's hands: it answers,
 * hangs, fails, or ends who asks
 */
#ifndef TRACEFUSE_TESTS_SOURCES_DISK_H
#define TRACEFUSE_TESTS_SOURCES_DISK_H

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { LATER_MS = 3600 * 1000 };

static pid_t own;			/* the process of the test */
static bool forks_fail;
static long later_ms;			/* what the clock shows too much, more at each look */
static const char *on_disk;		/* paths that begin so are on it; NULL: only pread() is */
static unsigned int own_hangs;		/* how often the test's own process would have hung */

/* Shared with the processes that read. */
static struct {
	_Atomic int	disk;		/* enum disk */
	_Atomic int	asked;		/* how often a process has read */
	_Atomic bool	paths;		/* `disk` is for questions about paths, not for reads */
} *shared;

/* DISK_STUCK: it answers, but not those that it has not answered so far. */
enum disk { DISK_ANSWERS, DISK_HANGS, DISK_STUCK, DISK_KILLS, DISK_FAILS };

static void disk_set(enum disk disk)
{
	atomic_store(&shared->disk, disk);
	syscall(SYS_futex, &shared->disk, FUTEX_WAKE, INT_MAX, NULL);
}

/* Uses no processor time meanwhile, as on a disk: by that the server tells that it hangs. */
static void disk_await(void)
{
	static bool hangs;
	int disk;

	for (;;) {
		disk = atomic_load(&shared->disk);
		hangs = disk == DISK_HANGS || (hangs && disk == DISK_STUCK);
		if (!hangs)
			return;
		syscall(SYS_futex, &shared->disk, FUTEX_WAIT, disk, NULL);
	}
}

/* The path behind /proc/PID/root. */
static const char *path_in_root(const char *path)
{
	const char *root = strncmp(path, "/proc/", 6) ? NULL : strstr(path, "/root/");

	return root ? root + 5 : path;
}

static void disk_path(const char *path)
{
	path = path_in_root(path);
	if (!on_disk || strncmp(path, on_disk, strlen(on_disk)))
		return;
	if (getpid() == own) {
		own_hangs += atomic_load(&shared->disk) == DISK_HANGS;
	} else if (atomic_load(&shared->paths)) {
		atomic_fetch_add(&shared->asked, 1);
		disk_await();
	}
}

int open(const char *path, int flags, ...)
{
	va_list args;
	mode_t mode;

	va_start(args, flags);
	mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
	va_end(args);
	disk_path(path);
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int stat(const char *path, struct stat *out)
{
	disk_path(path);
	return (int)syscall(SYS_newfstatat, AT_FDCWD, path, out, 0);
}

ssize_t pread(int fd, void *to, size_t size, off_t at)
{
	if (shared && getpid() != own && !atomic_load(&shared->paths)) {
		atomic_fetch_add(&shared->asked, 1);
		disk_await();
		if (atomic_load(&shared->disk) == DISK_KILLS)
			kill(getpid(), SIGKILL);
		if (atomic_load(&shared->disk) == DISK_FAILS) {
			errno = EIO;
			return -1;
		}
	}
	return syscall(SYS_pread64, fd, to, size, at);
}

pid_t fork(void)
{
	pid_t (*real)(void) = (pid_t(*)(void))dlsym(RTLD_NEXT, "fork");

	if (!forks_fail)
		return real();
	errno = EAGAIN;
	return -1;
}

/* Who only looks at a path (tracefs/path_look.h): here it has a copy of the memory. */
int clone(int (*run)(void *arg), void *stack, int flags, void *arg, ...)
{
	const pid_t pid = fork();

	if (pid)
		return pid;
	if (atomic_load(&shared->paths)) {
		atomic_fetch_add(&shared->asked, 1);
		disk_await();
	}
	_exit(run(arg));
}

int clock_gettime(clockid_t clock, struct timespec *out)
{
	const int ret = (int)syscall(SYS_clock_gettime, clock, out);

	if (clock == CLOCK_MONOTONIC && later_ms) {
		out->tv_sec += later_ms / 1000;
		later_ms += LATER_MS;
	}
	return ret;
}

static bool disk_make(void)
{
	own = getpid();
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	return shared != MAP_FAILED;
}

static void disk_begin(void)
{
	forks_fail = false;
	later_ms = 0;
	own_hangs = 0;
	disk_set(DISK_ANSWERS);
	atomic_store(&shared->asked, 0);
	atomic_store(&shared->paths, false);
}

#endif
