/* SPDX-License-Identifier: MIT */
/*
 * lend.c - root lends an instance of the kernel to the server of a user
 *
 *     root     forks the keeper, waits for its answer, opens the instance, becomes the user
 *     keeper   makes the instance, gives the user the files that a server writes and reads,
 *              answers, waits until nobody has the other end of a pipe, removes the instance
 *     server   has the uid of the user, the descriptor of the instance, and that end of the pipe
 *
 * The user gets no right outside of the instance, and none to the size of its buffers: the tracefs
 * itself stays closed to him. Files of the instance are reached by its descriptor only.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sources/live/state.h"

/* What the keeper says of the instance. */
struct answer {
	int	err;
	char	name[KERNEL_NAME];
	char	why[256];
};

struct owner {
	uid_t	uid;
	gid_t	gid;
};

/* ---- files that go to the user ---- */

static int lend_file(int dir, const char *file, const struct owner *o)
{
	return fchownat(dir, file, o->uid, o->gid, AT_SYMLINK_NOFOLLOW) ? -errno : 0;
}

/* A kernel may lack some. */
static int lend_files(int dir, const char *const *files, const struct owner *o)
{
	int err = 0;

	for (; !err && *files; files++) {
		err = lend_file(dir, *files, o);
		if (err == -ENOENT)
			err = 0;
	}
	return err;
}

/* A directory and files in it. */
static int lend_dir(int parent, const char *name, const char *const *files, const struct owner *o)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int err = fd < 0 ? -errno : lend_files(fd, files, o);

	if (fd >= 0)
		close(fd);
	return err;
}

static int lend_event(int dir, const char *name, void *arg)
{
	static const char *const files[] = { ".", "enable", "filter", "format", NULL };

	return lend_dir(dir, name, files, arg);
}

static int lend_system(int dir, const char *name, void *arg)
{
	return kernel_each_dir(dir, name, lend_event, arg) ? : lend_file(dir, name, arg);
}

static int lend_cpu(int dir, const char *name, void *arg)
{
	static const char *const files[] = { ".", "trace_pipe_raw", NULL };

	return lend_dir(dir, name, files, arg);
}

static int lend_instance(int dir, const struct owner *o)
{
	static const char *const files[] = { "trace_clock", "tracing_on", "options",
					    "options/stacktrace", "per_cpu", "events",
					    "events/enable", ".", NULL };
	int err = kernel_each_dir(dir, "events", lend_system, (void *)o);

	if (!err)
		err = kernel_each_dir(dir, "per_cpu", lend_cpu, (void *)o);
	/* The user reads the size of a sub-buffer; only root sets it. */
	(void)fchmodat(dir, "buffer_subbuf_size_kb", 0444, 0);
	return err ? err : lend_files(dir, files, o);
}

/* ---- the keeper ---- */

static void keeper_detach(int answer, int life)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	setsid();
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (null >= 0 && fd != answer && fd != life)
			dup2(null, fd);
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	if (chdir("/"))
		return;		/* then its file system stays in use */
}

static void keeper_wait(int life)
{
	char byte;

	while (read(life, &byte, 1) < 0 && errno == EINTR)
		;
}

/* An end of another process's pipe would stay open as long as the keeper lives. */
static void close_others(int answer, int life)
{
	const int most = (int)sysconf(_SC_OPEN_MAX);

	for (int fd = STDERR_FILENO + 1; fd < (most > 65536 ? 65536 : most); fd++)
		if (fd != answer && fd != life)
			close(fd);
}

static void keep(int answer, int life, const struct owner *o)
{
	struct answer a = { 0 };
	struct kernel k = { .top = -1, .dir = -1, .calls = -1 };

	close_others(answer, life);
	keeper_detach(answer, life);
	a.err = kernel_open(&k, a.why, sizeof(a.why));
	if (!a.err)
		a.err = live_set_buffers(k.dir) ? : lend_instance(k.dir, o);
	if (a.err && !*a.why)
		snprintf(a.why, sizeof(a.why), "the kernel's events: %s", strerror(-a.err));
	memcpy(a.name, k.name, sizeof(a.name));
	if (write(answer, &a, sizeof(a)) == sizeof(a) && !a.err) {
		close(answer);
		keeper_wait(life);
	}
	kernel_close(&k);
}

/* A child of nobody here. */
static int fork_keeper(int answer, int life, int other, const struct owner *o)
{
	pid_t child = fork();
	int status;

	if (child < 0)
		return -errno;
	if (!child) {
		child = fork();
		if (child)
			_exit(child < 0);
		close(other);
		keep(answer, life, o);
		_exit(0);
	}
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) && !WEXITSTATUS(status) ? 0 : -EAGAIN;
}

/* ---- root ---- */

static int ask_keeper(int life, int other, const struct owner *o, struct answer *a)
{
	int fds[2], err;
	ssize_t n;

	if (pipe2(fds, O_CLOEXEC))
		return -errno;
	err = fork_keeper(fds[1], life, other, o);
	close(fds[1]);
	do
		n = err ? 0 : read(fds[0], a, sizeof(*a));
	while (n < 0 && errno == EINTR);
	close(fds[0]);
	if (!err && n != sizeof(*a))
		err = -EIO;
	return err ? err : a->err;
}

int live_lend(uid_t uid, gid_t gid, int fds[LIVE_LENT], char *why, size_t size)
{
	const struct owner o = { uid, gid };
	struct answer a = { 0 };
	struct kernel k = { 0 };
	int life[2], err;

	if (pipe2(life, O_CLOEXEC))
		return -errno;
	err = ask_keeper(life[0], life[1], &o, &a);
	close(life[0]);
	if (!err)
		err = kernel_borrow(&k, a.name);
	if (err) {
		close(life[1]);
		snprintf(why, size, "%s", *a.why ? a.why : strerror(-err));
		return err;
	}
	fds[0] = k.dir;
	fds[1] = k.names;
	/* Closed with its process. */
	fds[2] = life[1];
	return 0;
}
