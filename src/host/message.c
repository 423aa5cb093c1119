/* SPDX-License-Identifier: MIT */
/* message.c - prints a command's messages and answers */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "host/message.h"
#include "host/pager.h"
#include "host/terminal.h"

int message_error(const char *format, ...)
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

/* The first error of stdout, of which a process has only one. */
static int stdout_error;

static int stdout_failed(void)
{
	const int known = terminal_stdout_error(), err = known ? known : EIO;

	if (!stdout_error && err != EPIPE)
		fprintf(stderr, "tracefuse: cannot write: %s\n", strerror(err));
	if (!stdout_error)
		stdout_error = err;
	/* Who has read enough has left the pager. */
	return err == EPIPE && pager_was_used() ? COMMAND_DONE : COMMAND_FAILED;
}

bool message_reader_left(void)
{
	return stdout_error == EPIPE && !pager_was_used();
}

bool message_stdout_lost(void)
{
	return (stdout_error && stdout_error != EPIPE) || pager_failed();
}

int message_flush(void)
{
	return fflush(stdout) || ferror(stdout) ? stdout_failed() : COMMAND_DONE;
}

int message_print(const char *bytes, size_t n)
{
	return fwrite(bytes, 1, n, stdout) == n ? COMMAND_DONE : stdout_failed();
}
