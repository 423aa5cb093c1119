/* SPDX-License-Identifier: MIT */
/*
 * message.c - what commands say when something is wrong
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"

int command_error(const char *format, ...)
{
	va_list ap;

	fflush(stdout);
	fputs("tracefuse: ", stderr);
	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fputc('\n', stderr);
	return COMMAND_FAILED;
}

/* Of stdout; a process has one. */
static int stdout_error;

static int stdout_failed(int err)
{
	if (!stdout_error && err != EPIPE)
		fprintf(stderr, "tracefuse: cannot write: %s\n", strerror(err));
	if (!stdout_error)
		stdout_error = err;
	return COMMAND_FAILED;
}

bool command_stdout_lost(void)
{
	return stdout_error && stdout_error != EPIPE;
}

int command_flush(void)
{
	if (fflush(stdout))
		return stdout_failed(errno);
	return ferror(stdout) ? stdout_failed(EIO) : COMMAND_DONE;
}

int command_print(const char *bytes, size_t n)
{
	return fwrite(bytes, 1, n, stdout) == n ? COMMAND_DONE : stdout_failed(errno);
}

int command_usage(const struct command *cmd, const char *format, ...)
{
	va_list ap;

	fflush(stdout);
	fprintf(stderr, "tracefuse %s: ", cmd->name);
	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fprintf(stderr, "\nTry 'tracefuse %s --help'.\n", cmd->name);
	return COMMAND_USAGE;
}
