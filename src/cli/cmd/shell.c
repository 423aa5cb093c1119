/* SPDX-License-Identifier: MIT */
/*
 * shell.c - `tracefuse shell`: runs a program that sees the session at /sys/kernel/tracing
 *
 * This process enters a mount name space of its own, opens and mounts /dev/fuse, and passes the
 * descriptor to the session's server, which serves it. The name space and the mount end with the
 * program. Then the new entries of error_log are printed.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/client.h"
#include "host/namespace.h"
#include "cli/options.h"
#include "setup/shell.h"

static int run_program(char **argv)
{
	if (chdir(NAMESPACE_TRACING))
		return message_error("shell: " NAMESPACE_TRACING ": %s", strerror(errno));
	execvp(argv[0], argv);
	message_error("shell: %s: %s", argv[0], strerror(errno));
	return errno == ENOENT ? 127 : 126;
}

/* Waits for the program, and ignores signals of keys such as Ctrl-C, which are for the program. */
static int wait_for(pid_t pid)
{
	int status;

	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return COMMAND_FAILED;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int run_and_tell(struct access *a, char **argv)
{
	const char *shell = getenv("SHELL");
	char *just_shell[] = { (char *)(shell && *shell ? shell : "/bin/sh"), NULL };
	char *mark = access_errors_mark(a, "");
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(run_program(*argv ? argv : just_shell));
	status = pid > 0 ? wait_for(pid) : message_error("shell: %s", strerror(errno));
	if (*argv)
		access_errors_print(a, "", mark, stderr);
	else
		free(mark);
	return status;
}

static int shell_enter(struct access *a)
{
	int ret = setup_shell_enter(a);

	if (ret)
		return message_error("shell: %s; `tracefuse ls`, `cat`, `write`, `append` and "
				     "`paste` work without it",
				     namespace_error(ret));
	if (namespace_misleads())
		fprintf(stderr, "tracefuse: no tracefs could be mounted below the session "
				"at " NAMESPACE_TRACING
				", so trace-cmd and perf do not find it: root can `mount -t "
				"tracefs nodev " NAMESPACE_TRACING "` before\n");
	return COMMAND_DONE;
}

static int shell_run(int argc, char **argv)
{
	const char *name = NULL;
	int status = options_parse(&command_shell, argc, argv, &name, NULL, NULL);
	struct access *a;
	char *session;

	if (status)
		return status;
	/* getopt skips "--"; a word before it is the session. */
	if (optind < argc && strcmp(argv[optind - 1], "--")) {
		name = argv[optind++];
		if (optind < argc && strcmp(argv[optind++], "--"))
			return command_usage(&command_shell, "put the command behind --");
	}
	session = client_session(&command_shell, name);
	a = session ? client_connect(&command_shell, session) : NULL;
	if (!a) {
		free(session);
		return COMMAND_FAILED;
	}
	setenv("TRACEFUSE_SESSION", session, 1);
	free(session);
	status = shell_enter(a);
	if (!status)
		status = run_and_tell(a, argv + optind);
	access_close(a);
	return status;
}

const struct command command_shell = {
	.name = "shell",
	.summary = "run a program that sees the session at /sys/kernel/tracing",
	.run = shell_run,
	.help =
"usage: tracefuse shell [SESSION] [-- COMMAND ARGUMENTS...]\n"
"\n"
"Runs COMMAND (or your shell) in a private mount name space where the session's\n"
"files are at /sys/kernel/tracing, and in that directory. So trace-cmd and other\n"
"tools work on the session and do not reach the kernel's own files. Needs /dev/fuse,\n"
"and user name spaces if you are not root. At the end it prints the errors of\n"
"COMMAND that are in error_log, with the carets.\n"
"\n"
"    tracefuse shell -- trace-cmd list -e\n",
};
