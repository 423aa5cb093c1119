/* SPDX-License-Identifier: MIT */
/*
 * shell.c - a setup script under a real shell, while this process serves its session
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/namespace.h"
#include "host/output.h"
#include "server/server.h"
#include "setup/shell.h"

/* ---- what the two say to each other: an errno, and the descriptor with it ---- */

union control {
	struct cmsghdr	header;
	char		room[CMSG_SPACE(sizeof(int))];
};

static int send_answer(int sock, int answer, int fd)
{
	struct iovec iov = { &answer, sizeof(answer) };
	union control control = { .room = "" };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr *c;

	if (fd >= 0) {
		msg.msg_control = control.room;
		msg.msg_controllen = sizeof(control.room);
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	}
	return sendmsg(sock, &msg, MSG_NOSIGNAL) == sizeof(answer) ? 0 : -EPIPE;
}

static int receive_answer(int sock, int *fd)
{
	int answer = 0;
	struct iovec iov = { &answer, sizeof(answer) };
	union control control = { .room = "" };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.room, .msg_controllen = sizeof(control.room),
	};
	struct cmsghdr *c;

	if (recvmsg(sock, &msg, MSG_CMSG_CLOEXEC) != sizeof(answer))
		return -EPIPE;
	c = CMSG_FIRSTHDR(&msg);
	if (fd && c && c->cmsg_type == SCM_RIGHTS)
		memcpy(fd, CMSG_DATA(c), sizeof(*fd));
	return answer;
}

/* ---- the shell's process ---- */

void setup_shell_exec(const char *name, const char *text)
{
	output_signals_restore();
	/* The reader writes as bash does, so that a script without a first line of its own has bash. */
	if (strncmp(text, "#!", 2) || memmem(text, strcspn(text, "\n"), "bash", 4))
		execlp("bash", "bash", "-c", text, name, (char *)NULL);
	execlp("sh", "sh", "-c", text, name, (char *)NULL);
	fprintf(stderr, "%s: sh: %s\n", name, strerror(errno));
	_exit(127);
}

/* It answers once before the mount is served, and once when nothing can go wrong any more. */
static void run_shell(int sock, const char *name, const char *text)
{
	int fd = -1, ret = namespace_enter(&fd);

	if (send_answer(sock, ret, fd) || ret || receive_answer(sock, NULL))
		_exit(126);
	close(fd);
	ret = namespace_cover();
	if (!ret && chdir(NAMESPACE_TRACING))
		ret = -errno;
	if (send_answer(sock, ret, -1) || ret)
		_exit(126);
	setup_shell_exec(name, text);
}

/* ---- this process ---- */

struct waiting {
	struct server	*server;
	pid_t		pid;
};

/* Its number stays taken: finish() may still send it a signal. */
static void *wait_for_shell(void *arg)
{
	struct waiting *w = arg;
	siginfo_t info;

	while (waitid(P_PID, (id_t)w->pid, &info, WEXITED | WNOWAIT) && errno == EINTR)
		;
	server_stop(w->server);
	return NULL;
}

/*
 * The server may have been told to end before the shell ended (a signal, `sessions --end`). Nobody
 * answers at the mount then, so that the mount ends first, and the shell with it.
 */
static int finish(struct server *server, pthread_t thread, pid_t pid)
{
	int status = 0;

	server_unmount(server);
	kill(pid, SIGTERM);
	pthread_join(thread, NULL);
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Serves the mount until the shell has ended. Closes fd: without one the kernel ends the mount. */
static int serve(struct server *server, int sock, int fd, pid_t pid)
{
	struct waiting w = { .server = server, .pid = pid };
	int ret = server_adopt(server, NAMESPACE_TRACING, fd), status;
	pthread_t thread;

	close(fd);
	if (!ret)
		ret = send_answer(sock, 0, -1);
	if (!ret)
		ret = -pthread_create(&thread, NULL, wait_for_shell, &w);
	if (ret) {
		close(sock);
		server_unmount(server);
		waitpid(pid, NULL, 0);
		return ret;
	}
	server_run(server);
	status = finish(server, thread, pid);
	/* What it said when it was served; without a word it was never there. */
	ret = receive_answer(sock, NULL);
	return ret ? ret : status;
}

static int run_served(struct server *server, const sigset_t *signals, const char *name, const char *text)
{
	int pair[2], fd = -1, ret;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	fflush(NULL);
	pid = fork();
	if (!pid) {
		close(pair[0]);
		sigprocmask(SIG_SETMASK, signals, NULL);
		run_shell(pair[1], name, text);
	}
	close(pair[1]);
	ret = pid < 0 ? -errno : receive_answer(pair[0], &fd);
	if (!ret)
		ret = serve(server, pair[0], fd, pid);
	else if (pid > 0)
		waitpid(pid, NULL, 0);
	close(pair[0]);
	return ret;
}

int setup_shell_run(const struct server_params *params, const char *name, const char *text)
{
	struct server *server;
	sigset_t signals;
	int ret;

	sigprocmask(SIG_SETMASK, NULL, &signals);
	ret = server_create(params, &server);
	if (!ret) {
		ret = run_served(server, &signals, name, text);
		server_destroy(server);
	}
	sigprocmask(SIG_SETMASK, &signals, NULL);
	return ret;
}
