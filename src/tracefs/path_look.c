/* SPDX-License-Identifier: MIT */
/*
 * path_look.c - see path_look.h
 *
 *   K1  The looker shares the server's memory and also its thread area: errno is the server's. So
 *       it calls nothing of libc, and uses no memory but its `struct path_look`. The server frees
 *       that when the process is gone, not when it has been killed.
 *   K2  It blocks all signals: the server's handlers would run in it, on the server's data. SIGKILL
 *       ends it.
 *   K3  It closes all descriptors but the pipe, and ends with the server (T1 of printer.c).
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/syscall.h"
#include "tracefs/path_look.h"

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

enum { PATH_LOOK_STACK = 16384 };

struct path_look {
	pid_t		server, pid;
	int		fd;
	int		descriptors;	/* there are no more */
	int		err;
	_Atomic bool	done;
	struct stat	st;
	_Alignas(64) char stack[PATH_LOOK_STACK];
	char		path[];
};

static size_t path_look_size(const char *path)
{
	return sizeof(struct path_look) + strlen(path) + 1;
}

/* ---- in the looker ---- */

/* K1. Instrumented code would take notes for the server's thread. */
#define LOOKER __attribute__((no_sanitize("address", "thread", "undefined")))

/* K3. The pipe becomes standard output. */
static LOOKER bool path_look_close_others(const struct path_look *l)
{
	if (l->fd != STDOUT_FILENO && agent_syscall(SYS_dup2, l->fd, STDOUT_FILENO) < 0)
		return false;
	agent_syscall(SYS_close, STDIN_FILENO);
	if (!agent_syscall(SYS_close_range, STDERR_FILENO, ~0u, 0))
		return true;
	for (int other = l->descriptors; other >= STDERR_FILENO; other--)
		agent_syscall(SYS_close, other);
	return true;
}

static LOOKER int path_look_run(void *arg)
{
	struct path_look *l = arg;

	agent_syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL);
	agent_syscall(SYS_prctl, PR_SET_NAME, "tracefuse-path");
	if (agent_syscall(SYS_getppid) != l->server || !path_look_close_others(l))
		return 1;
	l->err = (int)agent_syscall(SYS_newfstatat, AT_FDCWD, l->path, &l->st, 0);
	if (!l->err)
		agent_syscall(SYS_write, STDOUT_FILENO, &l->st, sizeof(l->st));
	/* Release: pairs with the acquire in path_look_err(). */
	atomic_store_explicit(&l->done, true, memory_order_release);
	return 0;
}

/* ---- in the server ---- */

static int path_look_clone(struct path_look *l)
{
	sigset_t all, before;
	int err = 0;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);	/* K2 */
	l->pid = clone(path_look_run, l->stack + sizeof(l->stack), CLONE_VM | SIGCHLD, l);
	if (l->pid < 0)
		err = -errno;
	sigprocmask(SIG_SETMASK, &before, NULL);
	return err;
}

int path_look_begin(const char *path, int fd, struct path_look **out)
{
	struct path_look *l = mmap(NULL, path_look_size(path), PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int err;

	if (l == MAP_FAILED)
		return -ENOMEM;
	l->server = getpid();
	l->fd = fd;
	l->descriptors = (int)sysconf(_SC_OPEN_MAX);
	memcpy(l->path, path, strlen(path) + 1);
	err = path_look_clone(l);
	if (err)
		path_look_free(l);
	else
		*out = l;
	return err;
}

pid_t path_look_pid(const struct path_look *l)
{
	return l->pid;
}

int path_look_err(const struct path_look *l)
{
	/* Acquire: pairs with the release in path_look_run(). */
	return atomic_load_explicit(&l->done, memory_order_acquire) ? l->err : -EIO;
}

void path_look_free(struct path_look *l)
{
	if (l)
		munmap(l, path_look_size(l->path));
}
