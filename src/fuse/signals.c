/* SPDX-License-Identifier: MIT */
/*
 * signals.c - whether a task whose request waits is to end
 *
 * The kernel reports a signal with INTERRUPT, once for a request, and not which signal it is. No
 * write and no read of a text on tracefs ends because a handler is to run. /proc/TID/status says
 * what is pending:
 *
 *     SigPnd:	0000000000000100	a fatal signal makes SIGKILL pending in each thread
 *     ShdPnd:	0000000000010000	of the process
 *     SigBlk, SigIgn, SigCgt:		blocked, ignored, has a handler
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "fuse/state.h"

#define BIT(signal) (1ull << ((signal) - 1))

/* They end nobody, unless they have a handler that does. */
#define HARMLESS (BIT(SIGCHLD) | BIT(SIGCONT) | BIT(SIGURG) | BIT(SIGWINCH) | BIT(SIGSTOP) | \
		  BIT(SIGTSTP) | BIT(SIGTTIN) | BIT(SIGTTOU))
/* Somebody waits for the end. Their handlers run before the request is done. */
#define ASKS_FOR_END (BIT(SIGHUP) | BIT(SIGINT) | BIT(SIGQUIT) | BIT(SIGTERM))

struct task_signals {
	uint64_t	pending, blocked, ignored, caught;
};

static void signals_take(struct task_signals *s, const char *line)
{
	uint64_t v;

	if (sscanf(line, "%*[A-Za-z]: %" SCNx64, &v) != 1)
		return;
	if (!strncmp(line, "SigPnd:", 7) || !strncmp(line, "ShdPnd:", 7))
		s->pending |= v;
	else if (!strncmp(line, "SigBlk:", 7))
		s->blocked = v;
	else if (!strncmp(line, "SigIgn:", 7))
		s->ignored = v;
	else if (!strncmp(line, "SigCgt:", 7))
		s->caught = v;
}

bool task_ends(pid_t tid)
{
	struct task_signals s = { .pending = 0 };
	char path[64], line[512];
	FILE *in;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)tid);
	in = fopen(path, "re");
	/* It is gone, or lies in a pid name space that is not seen from here. */
	if (!in)
		return true;
	while (fgets(line, sizeof(line), in))
		signals_take(&s, line);
	fclose(in);
	return s.pending & ~s.blocked & ~s.ignored & ~HARMLESS & (~s.caught | ASKS_FOR_END);
}
