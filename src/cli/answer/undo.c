/* SPDX-License-Identifier: MIT */
/* undo.c - see undo.h */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "access/socket.h"
#include "cli/answer/undo.h"
#include "cli/client.h"
#include "setup/setup.h"

enum { UNDO_LINE = 'l', UNDO_DONE = 'd', UNDO_END = 'e', AGAIN_MS = 200 };

int undo_lines(const struct answer *a, const struct setup_params *params, unsigned int nr)
{
	int failed = 0;

	while (nr--)
		failed += setup_run_text(params, a->undo.v[nr], strlen(a->undo.v[nr])) != 0;
	return failed;
}

/* ---- The process ---- */

/*
 * Out of the command's process group, which may be killed as a whole, and without its streams,
 * whose readers wait for their ends.
 */
static void process_part(void)
{
	const int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	setsid();
	for (int fd = STDIN_FILENO; null >= 0 && fd <= STDERR_FILENO; fd++)
		dup2(null, fd);
}

static bool is_of_own_instance(const struct answer *a, const char *line)
{
	/* rmdir has no slash behind the name. */
	return a->apart && memmem(line, strlen(line), a->apart, strlen(a->apart) - 1);
}

static void process_run(const struct answer *a, struct access *mine, int fd)
{
	struct setup_params params = { .name = a->command->name };
	unsigned int nr = 0;
	char what = UNDO_DONE;
	ssize_t n;

	/* The server closes the command's files when the last copy is closed. */
	close(access_fd(mine));
	process_part();
	/* The command goes on from here. */
	if (write(fd, &what, 1) != 1)
		return;
	while ((n = read(fd, &what, 1)) > 0 || (n < 0 && errno == EINTR))
		nr += n > 0 && what == UNDO_DONE;
	if (what == UNDO_END)
		return;
	nr += what == UNDO_LINE && is_of_own_instance(a, a->undo.v[nr]);
	params.access = client_connect_to(a->command, a->session);
	/* An instance stays while the server has not closed the command's files in it. */
	if (params.access && undo_lines(a, &params, nr)) {
		poll(NULL, 0, AGAIN_MS);
		undo_lines(a, &params, nr);
	}
}

/* ---- The command ---- */

/* Until the process is out of the group, or is dead. */
static void undo_await(const struct undo *u)
{
	char byte;

	while (read(u->fd, &byte, 1) < 0 && errno == EINTR)
		;
}

/*
 * All signals are blocked, and stay so in the process: the group may get one before it parts.
 */
static void undo_fork(struct undo *u, const struct answer *a, struct access *mine, int fds[2])
{
	u->pid = fork();
	if (!u->pid) {
		close(fds[1]);
		process_run(a, mine, fds[0]);
		_exit(0);
	}
	close(fds[0]);
	if (u->pid < 0) {
		close(fds[1]);
		return;
	}
	u->fd = fds[1];
	undo_await(u);
}

void undo_begin(struct undo *u, const struct answer *a, struct access *mine)
{
	sigset_t all, before;
	int fds[2];

	u->fd = -1;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds))
		return;
	fflush(NULL);
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	undo_fork(u, a, mine, fds);
	sigprocmask(SIG_SETMASK, &before, NULL);
}

/* If it was killed, the command goes on without it. */
static void undo_tell(const struct undo *u, char what)
{
	while (u->fd >= 0 && send(u->fd, &what, 1, MSG_NOSIGNAL) < 0 && errno == EINTR)
		;
}

void undo_line(const struct undo *u)
{
	undo_tell(u, UNDO_LINE);
}

void undo_done(const struct undo *u)
{
	undo_tell(u, UNDO_DONE);
}

void undo_end(struct undo *u)
{
	if (u->fd < 0)
		return;
	undo_tell(u, UNDO_END);
	close(u->fd);
	while (waitpid(u->pid, NULL, 0) < 0 && errno == EINTR)
		;
	u->fd = -1;
}
