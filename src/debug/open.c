/* SPDX-License-Identifier: MIT */
/*
 * open.c - the process that reads a file's debug information (reader/main.c)
 *
 *     asker                  socket pair                  tracefuse-dwarf PATH
 *     "4011a0\n"          ---------------->               its standard input
 *                         <----------------               its standard output: the answer
 *     closes its end      ---------------->               ends
 *
 * The reader is found beside the executable in the build tree, else where it was installed;
 * $TRACEFUSE_LIBEXECDIR comes first.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "debug/installed.h"
#include "debug/prototype.h"

#define READER "tracefuse-dwarf"

enum {
	PATIENCE_MS	= 3000,		/* for one answer */
	ANSWER_LINES	= PROTOTYPE_PARAMETERS + 8,
};

struct debug {
	pid_t		pid;
	int		fd;
	int		err;		/* why nothing more is answered; 0: it runs */
	size_t		len;
	char		bytes[PROTOTYPE_LINE];
};

extern char **environ;

/* ---- The reader's process ---- */

static bool has_reader(const char *dir, const char *below, char out[PATH_MAX])
{
	return snprintf(out, PATH_MAX, "%s%s/" READER, dir, below) < PATH_MAX &&
	       !access(out, X_OK);
}

static bool beside_executable(char out[PATH_MAX])
{
	char exe[PATH_MAX];
	const ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	if (n < 0)
		return false;
	exe[n] = '\0';
	*(strrchr(exe, '/') ?: exe) = '\0';
	return has_reader(exe, "/../debug", out) ||
	       has_reader(exe, "/../" DEBUG_LIBEXEC_BELOW, out);
}

static bool find_reader(char out[PATH_MAX])
{
	const char *dir = getenv("TRACEFUSE_LIBEXECDIR");

	if (dir && *dir)
		return has_reader(dir, "", out);
	return beside_executable(out) || has_reader(DEBUG_LIBEXEC, "", out);
}

/* Both ends of its streams are one socket; its messages have no reader. */
static int add_streams(posix_spawn_file_actions_t *actions, int fd)
{
	int err = posix_spawn_file_actions_adddup2(actions, fd, STDIN_FILENO);

	if (!err)
		err = posix_spawn_file_actions_adddup2(actions, fd, STDOUT_FILENO);
	if (!err)
		err = posix_spawn_file_actions_addopen(actions, STDERR_FILENO, "/dev/null",
						       O_WRONLY, 0);
	return err;
}

static int reader_start(struct debug *d, const char *reader, const char *path, int fd)
{
	char *const argv[] = { (char *)READER, (char *)path, NULL };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none, all;
	int err;

	sigemptyset(&none);
	sigfillset(&all);
	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attributes);
	err = add_streams(&actions, fd);
	if (!err)
		err = posix_spawnattr_setsigmask(&attributes, &none);
	if (!err)
		err = posix_spawnattr_setsigdefault(&attributes, &all);
	if (!err)
		err = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK |
							    POSIX_SPAWN_SETSIGDEF);
	if (!err)
		err = posix_spawn(&d->pid, reader, &actions, &attributes, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	return -err;
}

static int connect_reader(struct debug *d, const char *path)
{
	char reader[PATH_MAX];
	int ends[2], err;

	if (!find_reader(reader))
		return -ENOSYS;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return -errno;
	err = reader_start(d, reader, path, ends[1]);
	close(ends[1]);
	if (err)
		close(ends[0]);
	else
		d->fd = ends[0];
	return err;
}

/* Ends it: nothing more is asked. */
static void debug_stop(struct debug *d, int err)
{
	if (d->err)
		return;
	d->err = err;
	close(d->fd);
	kill(d->pid, SIGKILL);
	while (waitpid(d->pid, NULL, 0) < 0 && errno == EINTR)
		;
}

/* ---- Lines ---- */

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Waits for more bytes. 0; -ETIMEDOUT; -EIO: the reader has ended, or the line has no end. */
static int bytes_next(struct debug *d, int64_t until)
{
	struct pollfd p = { .fd = d->fd, .events = POLLIN };
	const int64_t left = until - now_ms();
	ssize_t n;

	if (d->len == sizeof(d->bytes))
		return -EIO;
	if (left <= 0)
		return -ETIMEDOUT;
	if (poll(&p, 1, (int)left) <= 0)
		return 0;
	n = recv(d->fd, d->bytes + d->len, sizeof(d->bytes) - d->len, MSG_DONTWAIT);
	if (n > 0)
		d->len += (size_t)n;
	else if (!n || (errno != EINTR && errno != EAGAIN))
		return -EIO;
	return 0;
}

/* The next line, without its newline. */
static int line_next(struct debug *d, int64_t until, char line[PROTOTYPE_LINE])
{
	char *end;
	int err = 0;

	while (!(end = memchr(d->bytes, '\n', d->len)) && !err)
		err = bytes_next(d, until);
	if (err)
		return err;
	memcpy(line, d->bytes, (size_t)(end - d->bytes));
	line[end - d->bytes] = '\0';
	d->len -= (size_t)(end + 1 - d->bytes);
	memmove(d->bytes, end + 1, d->len);
	return 0;
}

static int take_answer(struct debug *d, struct prototype *out)
{
	const int64_t until = now_ms() + PATIENCE_MS;
	char line[PROTOTYPE_LINE];
	int more = 1;

	for (unsigned int i = 0; more > 0; i++) {
		more = i < ANSWER_LINES ? line_next(d, until, line) : -EIO;
		if (!more)
			more = prototype_take_line(out, line);
	}
	return more;
}

/* ---- For askers ---- */

/* The first line says whether there is debug information. */
static int greet(struct debug *d)
{
	char line[PROTOTYPE_LINE];
	int err = line_next(d, now_ms() + PATIENCE_MS, line);

	if (err)
		return err;
	return strcmp(line, "ready") ? -ENOENT : 0;
}

int debug_open(const char *path, struct debug **out)
{
	struct debug *d = calloc(1, sizeof(*d));
	int err = d ? connect_reader(d, path) : -ENOMEM;

	if (err) {
		free(d);
		return err;
	}
	err = greet(d);
	if (err) {
		debug_stop(d, err);
		free(d);
		return err;
	}
	*out = d;
	return 0;
}

int debug_ask(struct debug *d, uint64_t address, struct prototype *out)
{
	char line[32];
	const int len = snprintf(line, sizeof(line), "%" PRIx64 "\n", address);
	int err = d->err;

	memset(out, 0, sizeof(*out));
	if (err)
		return err;
	err = send(d->fd, line, (size_t)len, MSG_NOSIGNAL) == len ? take_answer(d, out) : -EIO;
	if (err && err != -ENOENT)
		debug_stop(d, err);
	return err;
}

void debug_close(struct debug *d)
{
	if (!d)
		return;
	debug_stop(d, -EIO);
	free(d);
}
