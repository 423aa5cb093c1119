/* SPDX-License-Identifier: MIT */
/*
 * background.c - a command that leaves a server behind: it forks and waits until the server is
 * ready
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "server/server.h"
#include "session/array.h"

enum { WITHOUT_PROC = 1024 };	/* how many descriptors are tried if there is no /proc */

/* The child tells its parent through it; -1: no parent waits. A process has one parent. */
static int ready_fd = -1;
/* The memory is shared with the parent. */
static volatile int *ready;

/*
 * Descriptors that the command was given and the server does not need: locks and ends of pipes.
 * They are closed when the server is ready: until then a script or a recording may be one of them
 * (/dev/fd/3).
 */
static struct {
	int		*fds;
	unsigned int	nr;
} inherited;

/* Those that it needs. */
static struct {
	int		fds[SERVER_KEPT];
	unsigned int	nr;
} kept;

void server_keep(int fd)
{
	if (kept.nr < sizeof(kept.fds) / sizeof(*kept.fds))
		kept.fds[kept.nr++] = fd;
}

void server_keep_libraries(void)
{
	DIR *dir = getenv("LD_PRELOAD") ? opendir("/proc/self/fd") : NULL;
	struct dirent *d;

	while (dir && (d = readdir(dir))) {
		const int fd = atoi(d->d_name);

		/* The rest is for the server's own. */
		if (fd != dirfd(dir) && fcntl(fd, F_GETFD) == FD_CLOEXEC &&
		    kept.nr < SERVER_KEPT / 2)
			server_keep(fd);
	}
	if (dir)
		closedir(dir);
}

static void note_inherited(int fd)
{
	for (unsigned int i = 0; i < kept.nr; i++)
		if (kept.fds[i] == fd)
			return;
	/* If memory is exhausted, the descriptor stays open. */
	if (!array_room(&inherited.fds, inherited.nr, sizeof(fd)))
		inherited.fds[inherited.nr++] = fd;
}

static void find_inherited(int keep)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *d;

	while (dir && (d = readdir(dir))) {
		const int fd = atoi(d->d_name);

		if (fd > STDERR_FILENO && fd != keep && fd != dirfd(dir))
			note_inherited(fd);
	}
	for (int fd = STDERR_FILENO + 1; !dir && fd < WITHOUT_PROC; fd++)
		if (fd != keep && fcntl(fd, F_GETFD) >= 0)
			note_inherited(fd);
	if (dir)
		closedir(dir);
}

static void close_inherited(void)
{
	for (unsigned int i = 0; i < inherited.nr; i++)
		close(inherited.fds[i]);
	free(inherited.fds);
	inherited.fds = NULL;
	inherited.nr = 0;
}

/*
 * When the pipe is closed, the child is ready or has ended. *ready says which: a write could fail.
 */
static void wait_for_child(int fd, pid_t child)
{
	char byte;
	int status;
	ssize_t n;

	do
		n = read(fd, &byte, 1);
	while (n < 0 && errno == EINTR);
	if (n == 0 && *ready)
		_exit(0);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

/* Each traced program needs two. The user's soft limit is meant for programs that call select(). */
static void raise_descriptors(void)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) || r.rlim_cur == r.rlim_max)
		return;
	r.rlim_cur = r.rlim_max;
	setrlimit(RLIMIT_NOFILE, &r);
}

int server_background(int keep)
{
	int fds[2];
	pid_t child;

	find_inherited(keep);
	ready = mmap(NULL, sizeof(*ready), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	if (ready == MAP_FAILED)
		return -errno;
	if (pipe2(fds, O_CLOEXEC))
		return -errno;
	fflush(NULL);
	child = fork();
	if (child < 0) {
		int ret = -errno;

		close(fds[0]);
		close(fds[1]);
		return ret;
	}
	if (child) {
		close(fds[1]);
		wait_for_child(fds[0], child);
	}
	close(fds[0]);
	ready_fd = fds[1];
	setsid();
	raise_descriptors();
	return 0;
}

int server_start(int (*run)(const void *arg), const void *arg, int keep)
{
	int status, ret;
	pid_t child = fork();

	if (child < 0)
		return -errno;
	if (!child) {
		/* This process waits for the server and then ends. The server stays. */
		ret = server_background(keep);
		if (!ret)
			ret = run(arg);
		_exit(ret ? -ret & 127 : 0);
	}
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) ? -WEXITSTATUS(status) : -ECHILD;
}

void server_ready(void)
{
	int null;

	if (ready_fd < 0)
		return;
	fflush(NULL);
	close_inherited();
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int fd = 0; fd <= 2 && null >= 0; fd++)
		dup2(null, fd);
	if (null > 2)
		close(null);
	if (chdir("/"))
		null = -1;	/* only the directory that the command was started in stays busy */
	*ready = 1;
	close(ready_fd);
	ready_fd = -1;
}
