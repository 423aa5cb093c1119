/* SPDX-License-Identifier: MIT */
/* pager.c - see pager.h */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/pager.h"
#include "host/terminal.h"

extern char **environ;

enum { SIGNALS = 3 };

/* As long as the pager runs: what the user types is for it; it may end before all is printed. */
static const int ignored[SIGNALS] = { SIGINT, SIGQUIT, SIGPIPE };

static struct {
	bool		allowed, used, failed;
	pid_t		pid;		/* 0: none runs */
	int		out, err;	/* the terminal; -1: stderr is none */
	struct sigaction before[SIGNALS];
} pager;

void pager_allow(void)
{
	pager.allowed = true;
}

bool pager_was_used(void)
{
	return pager.used;
}

bool pager_failed(void)
{
	return pager.failed;
}

/* Whether a directory of $PATH has such a program. */
static bool pager_is_there(const char *name)
{
	const char *path = getenv("PATH");
	char file[4096];

	while (path && *path) {
		const size_t n = strcspn(path, ":");

		snprintf(file, sizeof(file), "%.*s/%s", (int)n, path, name);
		if (!access(file, X_OK))
			return true;
		path += n + (path[n] == ':');
	}
	return false;
}

/* Whether it is a name that has no program. What a shell has to take apart is its matter. */
static bool pager_is_missing(const char *command)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_./+-";

	if (command[strspn(command, plain)])
		return false;
	return strchr(command, '/') ? access(command, X_OK) != 0 : !pager_is_there(command);
}

/* NULL: none. */
static const char *pager_command(void)
{
	const char *command = getenv("TRACEFUSE_PAGER"), *term = getenv("TERM");

	if (!command)
		command = getenv("PAGER");
	if (!command)
		command = term && strcmp(term, "dumb") && pager_is_there("less") ? "less" : "";
	if (!*command || !strcmp(command, "cat"))
		return NULL;
	if (!pager_is_missing(command))
		return command;
	fprintf(stderr, "tracefuse: there is no pager %s\n", command);
	return NULL;
}

/* The environment with LESS. NULL: it has one, or there is no memory. */
static char **pager_environment(void)
{
	static char less[] = "LESS=FRX";
	size_t nr = 0;
	char **made;

	while (environ[nr])
		nr++;
	made = getenv("LESS") ? NULL : calloc(nr + 2, sizeof(*made));
	if (made) {
		memcpy(made, environ, nr * sizeof(*made));
		made[nr] = less;
	}
	return made;
}

/* Starts it with our end of the pipe closed and the signals as they were. 0 or an errno. */
static int pager_start(const char *command, int from)
{
	char shell[] = "sh", option[] = "-c", *text = strdup(command);
	char *const argv[] = { shell, option, text, NULL };
	char **with_less = pager_environment();
	posix_spawn_file_actions_t files;
	posix_spawnattr_t how;
	sigset_t defaults, none;
	int err;

	sigemptyset(&none);
	sigemptyset(&defaults);
	for (unsigned int i = 0; i < SIGNALS; i++)
		sigaddset(&defaults, ignored[i]);
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_adddup2(&files, from, STDIN_FILENO);
	posix_spawnattr_init(&how);
	posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
	posix_spawnattr_setsigdefault(&how, &defaults);
	posix_spawnattr_setsigmask(&how, &none);
	err = text ? posix_spawn(&pager.pid, "/bin/sh", &files, &how, argv,
				 with_less ? with_less : environ) : ENOMEM;
	posix_spawnattr_destroy(&how);
	posix_spawn_file_actions_destroy(&files);
	free(with_less);
	free(text);
	return err;
}

/* The keys are the pager's. If it has ended and the command still works, they end the command. */
static void pager_key(int sig)
{
	const int saved = errno;
	siginfo_t info = { .si_pid = 0 };

	if (waitid(P_PID, (id_t)pager.pid, &info, WEXITED | WNOHANG | WNOWAIT) || info.si_pid) {
		signal(sig, SIG_DFL);
		raise(sig);
	}
	errno = saved;
}

static void pager_take_over(int to)
{
	const struct sigaction ignore = { .sa_handler = SIG_IGN };
	const struct sigaction key = { .sa_handler = pager_key, .sa_flags = SA_RESTART };

	for (unsigned int i = 0; i < SIGNALS; i++) {
		sigaction(ignored[i], &ignore, &pager.before[i]);
		if (ignored[i] != SIGPIPE && pager.before[i].sa_handler == SIG_DFL)
			sigaction(ignored[i], &key, NULL);
	}
	dup2(to, STDOUT_FILENO);
	if (pager.err >= 0)
		dup2(to, STDERR_FILENO);
	pager.used = true;
	atexit(pager_end);
}

void pager_begin(void)
{
	const char *command = pager.allowed && !pager.pid && terminal_is_stdout() ?
			      pager_command() : NULL;
	int ends[2];

	if (!command || fflush(stdout) || pipe2(ends, O_CLOEXEC))
		return;
	terminal_columns();	/* asked while stdout is the terminal */
	pager.out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	pager.err = isatty(STDERR_FILENO) ? fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3) : -1;
	if (pager.out >= 0 && !pager_start(command, ends[0])) {
		pager_take_over(ends[1]);
	} else {
		pager.pid = 0;
		close(pager.out);
		close(pager.err);
	}
	close(ends[0]);
	close(ends[1]);
}

/* The shell found no pager, or it was killed. What a user types to leave it is no failure. */
static void pager_judge(int status)
{
	const int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);

	if (code < 126 || code == 128 + SIGINT || code == 128 + SIGQUIT ||
	    code == 128 + SIGPIPE || code == 128 + SIGHUP)
		return;
	pager.failed = true;
	fprintf(stderr, "tracefuse: the pager failed (%d): not all was shown\n", code);
}

void pager_end(void)
{
	int status = 0;

	if (!pager.pid)
		return;
	fflush(stdout);
	dup2(pager.out, STDOUT_FILENO);
	close(pager.out);
	if (pager.err >= 0) {
		dup2(pager.err, STDERR_FILENO);
		close(pager.err);
	}
	while (waitpid(pager.pid, &status, 0) < 0 && errno == EINTR)
		;
	pager.pid = 0;
	for (unsigned int i = 0; i < SIGNALS; i++)
		sigaction(ignored[i], &pager.before[i], NULL);
	pager_judge(status);
}
