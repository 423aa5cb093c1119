/* SPDX-License-Identifier: MIT */
/* shell.c - runs a setup script in a real shell */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "access/socket.h"
#include "access/wire.h"
#include "host/namespace.h"
#include "host/output.h"
#include "server/server.h"
#include "session/session.h"
#include "setup/shell.h"

int setup_shell_enter(struct access *a)
{
	int fd = -1, ret = namespace_enter(&fd);

	if (ret)
		return ret;
	ret = access_request(a, WIRE_ADOPT, NAMESPACE_TRACING, fd, NULL);
	close(fd);
	return ret < 0 ? ret : namespace_cover();
}

/* ---- the shell's process ---- */

static void become_shell(const char *name, const char *text)
{
	output_signals_restore();
	/*
	 * The built-in reader writes as bash does, so a script that names no shell is run by bash.
	 */
	if (strncmp(text, "#!", 2) || memmem(text, strcspn(text, "\n"), "bash", 4))
		execlp("bash", "bash", "-c", text, name, (char *)NULL);
	execlp("sh", "sh", "-c", text, name, (char *)NULL);
	fprintf(stderr, "%s: sh: %s\n", name, strerror(errno));
	_exit(127);
}

struct script {
	const char	*session;	/* for programs that it runs; may be NULL */
	const char	*name;
	const char	*text;
	sigset_t	signals;	/* blocked in it */
};

/*
 * Starts the shell. Returns its pid or -errno. The caller reads from *tell: exec closes it, or an
 * errno comes if the shell cannot be executed.
 */
static pid_t start(struct access *a, const struct script *s, int *tell)
{
	int fds[2], ret;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC))
		return -errno;
	fflush(NULL);
	pid = fork();
	if (!pid) {
		sigprocmask(SIG_SETMASK, &s->signals, NULL);
		if (s->session)
			setenv("TRACEFUSE_SESSION", s->session, 1);
		ret = setup_shell_enter(a);
		if (!ret && chdir(NAMESPACE_TRACING))
			ret = -errno;
		if (!ret)
			become_shell(s->name, s->text);
		_exit(write(fds[1], &ret, sizeof(ret)) != sizeof(ret));
	}
	ret = -errno;
	close(fds[1]);
	*tell = fds[0];
	if (pid > 0)
		return pid;
	close(fds[0]);
	return ret;
}

/* Returns the shell's exit status, or the error that came from `tell`. */
static int finish(pid_t pid, int tell)
{
	int status = 0, told;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (read(tell, &told, sizeof(told)) != sizeof(told))
		told = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	close(tell);
	return told;
}

int setup_shell_run(struct access *a, const char *session, const char *name, const char *text)
{
	struct script s = { .session = session, .name = name, .text = text };
	pid_t pid;
	int tell;

	sigemptyset(&s.signals);
	pid = start(a, &s, &tell);
	return pid < 0 ? pid : finish(pid, tell);
}

/* ---- this process serves the session meanwhile ---- */

struct waiting {
	struct server	*server;
	pid_t		pid;
};

/* Waits without reaping, so that the pid stays valid: run_served() may still send it a signal. */
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
 * A signal or `sessions --end` may end the server before the shell ends. Then nobody answers
 * requests at the mount, so the mount is ended first, and the shell with it.
 */
static int run_served(struct server *server, struct access *a, const struct script *s)
{
	int tell, ret;
	struct waiting w = { .server = server, .pid = start(a, s, &tell) };
	pthread_t thread;

	if (w.pid < 0)
		return w.pid;
	ret = -pthread_create(&thread, NULL, wait_for_shell, &w);
	if (!ret)
		server_run(server);
	server_unmount(server);
	kill(w.pid, SIGTERM);
	if (ret) {
		finish(w.pid, tell);
		return ret;
	}
	pthread_join(thread, NULL);
	return finish(w.pid, tell);
}

int setup_shell_serve(const struct server_params *params, const char *name, const char *text)
{
	struct script s = { .name = name, .text = text };
	struct server *server;
	struct access *a;
	int ret;

	sigprocmask(SIG_SETMASK, NULL, &s.signals);
	ret = server_create(params, &server);
	if (!ret) {
		ret = access_connect_at(session_dir(params->session), &a);
		if (!ret) {
			ret = run_served(server, a, &s);
			access_close(a);
		}
		server_destroy(server);
	}
	sigprocmask(SIG_SETMASK, &s.signals, NULL);
	return ret;
}
