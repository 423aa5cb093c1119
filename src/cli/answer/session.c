/* SPDX-License-Identifier: MIT */
/* session.c - see session.h */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "access/wire.h"
#include "cli/answer/refresh.h"
#include "cli/answer/session.h"
#include "cli/answer/undo.h"
#include "cli/client.h"
#include "cli/draw/draw.h"
#include "model/text_memory.h"
#include "setup/setup.h"

enum { NS_A_SECOND = 1000000000 };

static int limit_read(const struct answer *a, struct timespec *out)
{
	uint64_t ns = 0;
	const int status = answer_seconds(a, "--for", a->seconds, &ns);

	out->tv_sec = (time_t)(ns / NS_A_SECOND);
	out->tv_nsec = (long)(ns % NS_A_SECOND);
	return status;
}

static void pipe_mask(int how)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGPIPE);
	sigprocmask(how, &set, NULL);
}

/*
 * Blocks the signals that end the wait, so that what was set up is undone: also where nobody reads
 * what is printed.
 */
static void block_ends(sigset_t *ends)
{
	sigemptyset(ends);
	sigaddset(ends, SIGINT);
	sigaddset(ends, SIGTERM);
	sigaddset(ends, SIGHUP);
	sigprocmask(SIG_BLOCK, ends, NULL);
	pipe_mask(SIG_BLOCK);
}

/* limit: 0: none. A stop of this process makes the wait longer. */
static void answer_session_wait(const sigset_t *ends, const struct timespec *limit)
{
	const bool limited = limit->tv_sec || limit->tv_nsec;
	int ret;

	do
		ret = limited ? sigtimedwait(ends, NULL, limit) : sigwaitinfo(ends, NULL);
	while (ret < 0 && errno == EINTR);
}

/*
 * When the process of -p has ended nothing more comes: a child then ends the wait by a signal, of
 * those that are blocked. -> the child; -1: there is none. Without it the user ends the wait.
 */
static pid_t process_watch_begin(const struct answer *a)
{
	const int fd = a->process ? (int)syscall(SYS_pidfd_open, atoi(a->process), 0) : -1;
	struct pollfd p = { .fd = fd, .events = POLLIN };
	const pid_t parent = getpid();
	pid_t child = -1;

	if (a->process && fd < 0)
		kill(parent, SIGTERM);
	if (fd >= 0)
		child = fork();
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (getppid() == parent && poll(&p, 1, -1) < 0)
			;
		if (getppid() == parent)
			kill(parent, SIGTERM);
		_exit(0);
	}
	if (fd >= 0)
		close(fd);
	return child;
}

static void process_watch_end(pid_t child)
{
	if (child <= 0)
		return;
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

/* What it makes has the same name each time. */
static void say_refused(const struct answer *a, const char *errors)
{
	fputs(errors, stderr);
	if (strstr(errors, strerror(EEXIST)))
		message_error("`tracefuse %s` may be counting the same in session %s: only one can",
			      a->command->name, a->session);
}

/* Runs the first lines that are accepted. -> their number; all: nothing was refused */
static unsigned int do_lines(const struct answer *a, struct setup_params *params,
			     const struct undo *undo)
{
	char *errors;
	size_t size;
	unsigned int i;

	params->err = text_memory_open(&errors, &size);
	for (i = 0; i < a->lines.nr; i++) {
		undo_line(undo);
		if (setup_run_text(params, a->lines.v[i], strlen(a->lines.v[i])))
			break;
		undo_done(undo);
	}
	if (params->err) {
		fclose(params->err);
		say_refused(a, errors ? errors : "");
		free(errors);
		params->err = NULL;
	}
	return i;
}

/* The server may have died during the wait: connecting restores the session with its lines. */
static void connect_again(const struct answer *a, struct setup_params *params)
{
	access_close(params->access);
	params->access = client_connect_to(a->command, a->session);
}

/* Whether system calls are counted. */
static bool counts_syscalls(const struct answer *a)
{
	for (unsigned int i = 0; i < a->lines.nr; i++)
		if (strstr(a->lines.v[i], "events/syscalls/"))
			return true;
	return false;
}

/* The sentences of `tracefuse run` about system calls that are not seen. */
static void answer_session_syscalls(const struct answer *a, const char *info)
{
	static const char about[] = "syscalls: ";
	char line[512];

	if (!counts_syscalls(a))
		return;
	for (unsigned int i = 0; client_info(info, "note", i, line, sizeof(line)); i++)
		if (!strncmp(line, about, strlen(about)))
			message_error("%s", line);
}

/* Says which probes were not planted, and which processes have none: they count nothing. */
static void answer_session_probes(const char *info)
{
	char line[512];

	for (unsigned int i = 0; client_info(info, "probe-refused", i, line, sizeof(line)); i++)
		message_error("a probe is not there: %s", line);
	for (unsigned int i = 0; client_info(info, "probes-none", i, line, sizeof(line)); i++)
		message_error("process %d has no probes: it began before the session's first one "
			      "was defined", atoi(line));
}

/* Nothing is counted where no program is, unless the events are recorded or the kernel's. */
static void answer_session_programs(const struct answer *a, struct access *access, const char *info)
{
	char value[256], *replay;
	size_t len;

	if (client_info(info, "attached", 0, value, sizeof(value)) ||
	    client_info(info, "quiet", 0, value, sizeof(value)) ||
	    client_info(info, "kernel", 0, value, sizeof(value)))
		return;
	if (a->process)
		message_error("process %s has ended", a->process);
	else if (access_read_all(access, "replay", &replay, &len))
		message_error("session %s has no program now", a->session);
	else
		free(replay);
}

/* What is not counted. The lines are still there. */
static void answer_session_say(const struct answer *a, struct access *access)
{
	char *info;

	if (access_request(access, WIRE_INFO, "", -1, &info) < 0)
		return;
	answer_session_programs(a, access, info);
	answer_session_probes(info);
	answer_session_syscalls(a, info);
	free(info);
}

/* What the session's histograms had no room for. */
static unsigned long long answer_session_dropped(struct access *access)
{
	unsigned long long nr = 0;
	char *info, text[32];

	if (access_request(access, WIRE_INFO, "", -1, &info) < 0)
		return 0;
	if (client_info(info, "dropped", 0, text, sizeof(text)))
		nr = strtoull(text, NULL, 10);
	free(info);
	return nr;
}

static int answer_print_file(struct access *access, const char *file)
{
	char *text;
	size_t len;
	int ret = access_read_all(access, file, &text, &len);

	if (ret)
		return message_error("%s: %s", file, strerror(-ret));
	ret = message_print(text, len);
	free(text);
	return ret;
}

/* Whether somebody has removed the triggers of this command. */
static bool hist_is_gone(const struct answer *a, struct access *access)
{
	const char *name = strrchr(a->file, '/');
	char *text;
	size_t len;

	if (!name || strcmp(name, "/hist") || access_read_all(access, a->file, &text, &len))
		return false;
	free(text);
	return !len;
}

static int answer_session_print(const struct answer *a, struct access *access)
{
	int status;

	if (hist_is_gone(a, access))
		return message_error("%s: its histogram was removed meanwhile", a->file);
	if (!a->plain)
		return a->print ? a->print(a, access) : draw_file(access, a->file);
	status = answer_print_file(access, a->file);
	for (unsigned int i = 0; !status && i < a->more.nr; i++)
		status = answer_print_file(access, a->more.v[i]);
	return status;
}

/* Prints the answer, on a terminal in its place. An exit status. */
static int refresh_print(const struct answer *a, const struct refresh *r, struct access *access)
{
	struct answer as = *a;
	const unsigned int room = refresh_clear(r);
	int status;

	if (room && (!as.nr_lines || as.nr_lines > room))
		as.nr_lines = room;
	status = answer_session_print(&as, access);
	if (!status && !r->screen)
		status = message_print("\n", 1);
	return message_flush() ? COMMAND_FAILED : status;
}

static int answer_print_next(const struct answer *a, struct access *access)
{
	const int status = a->print_next(a, access);

	return message_flush() ? COMMAND_FAILED : status;
}

/* Until it is to end. The last print is the caller's. An exit status. */
static int answer_refresh(const struct answer *a, struct setup_params *params, const sigset_t *ends,
			  const struct timespec *limit)
{
	struct refresh r;
	int status = refresh_begin(&r, ends, (double)limit->tv_sec + (double)limit->tv_nsec / 1e9);

	while (!status && refresh_wait(&r, a->every))
		status = a->print_next && !a->plain ? answer_print_next(a, params->access) :
						      refresh_print(a, &r, params->access);
	if (!status && (!a->print_next || a->plain))
		refresh_clear(&r);
	refresh_end(&r);
	return status;
}

/* While it counts. An exit status: of what was printed meanwhile. */
static int answer_session_count(const struct answer *a, struct setup_params *params,
				const sigset_t *ends, const struct timespec *limit)
{
	const pid_t watch = process_watch_begin(a);
	int status = COMMAND_DONE;

	if (a->every > 0)
		status = answer_refresh(a, params, ends, limit);
	else
		answer_session_wait(ends, limit);
	process_watch_end(watch);
	connect_again(a, params);
	return status;
}

/* What was not counted. before: what was dropped before it began */
static void answer_session_losses(const struct answer *a, struct access *access,
				  unsigned long long before)
{
	unsigned long long dropped;

	answer_session_say(a, access);
	dropped = answer_session_dropped(access);
	if (dropped > before)
		message_error("%llu dropped by histograms, which had no room for their keys",
			      dropped - before);
}

int answer_in_session(struct answer *a)
{
	struct setup_params params = { .name = a->command->name };
	struct timespec limit = { 0 };
	int status = a->seconds ? limit_read(a, &limit) : COMMAND_DONE;
	int refreshed = COMMAND_DONE;
	unsigned long long before;
	unsigned int done;
	struct undo undo;
	sigset_t ends;

	if (status)
		return status;
	params.access = client_connect_to(a->command, a->session);
	if (!params.access)
		return COMMAND_FAILED;
	status = a->may ? a->may(a, params.access) : COMMAND_DONE;
	if (status) {
		access_close(params.access);
		return status;
	}
	block_ends(&ends);
	before = answer_session_dropped(params.access);
	undo_begin(&undo, a, params.access);
	done = do_lines(a, &params, &undo);
	if (done == a->lines.nr)
		refreshed = answer_session_count(a, &params, &ends, &limit);
	status = COMMAND_FAILED;
	if (params.access)
		answer_session_losses(a, params.access, before);
	if (params.access && done == a->lines.nr && !refreshed)
		status = answer_session_print(a, params.access);
	if (params.access && undo_lines(a, &params, done) && !status)
		status = COMMAND_FAILED;
	undo_end(&undo);
	access_close(params.access);
	/* A command that writes to a closed pipe ends by the signal. */
	pipe_mask(SIG_UNBLOCK);
	return status;
}
