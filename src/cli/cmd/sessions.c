/* SPDX-License-Identifier: MIT */
/* sessions.c - `tracefuse sessions`: lists sessions and their programs, and ends sessions */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/client.h"
#include "host/mounts.h"
#include "cli/options.h"
#include "access/wire.h"
#include "session/session.h"

enum { SILENT_MS = 2000, END_MS = 5000, PAUSE_MS = 5 };

static void print_details(const char *info)
{
	char value[4096];

	if (client_info(info, "what", 0, value, sizeof(value)) && *value)
		printf("  %s\n", value);
	for (unsigned int i = 0; client_info(info, "mount", i, value, sizeof(value)); i++)
		printf("  mounted at %s\n", value);
	/* The value is PID SLOTS NAME. */
	for (unsigned int i = 0; client_info(info, "attached", i, value, sizeof(value)); i++) {
		char name[64] = "?";
		int pid = 0;

		sscanf(value, "%d %*u %63[^\n]", &pid, name);
		printf("  attached: process %d (%s)\n", pid, name);
	}
	/* The value is PID NAME. */
	for (unsigned int i = 0; client_info(info, "quiet", i, value, sizeof(value)); i++)
		printf("  quiet: process %s\n", value);
}

struct listing {
	unsigned int	nr;
	int		status;
};

/* a: NULL: not connected */
static int print_silent(const char *name, struct access *a)
{
	bool stopped = false;
	const int pid = a ? access_server(a, &stopped) : 0;

	if (stopped)
		printf("%s: server %d is stopped: kill -CONT %d\n", name, pid, pid);
	else if (pid)
		printf("%s: server %d does not answer\n", name, pid);
	else
		printf("%s: its server does not answer\n", name);
	return COMMAND_DONE;
}

static int print_unasked(const char *name, struct access *a, int err)
{
	if (err == -ETIMEDOUT)
		return print_silent(name, a);
	if (err != -ECONNREFUSED && err != -EPIPE)
		return message_error("sessions: %s: %s", name, strerror(-err));
	printf("%s: its server is dead; any command on it restores it\n", name);
	return COMMAND_DONE;
}

static int sessions_print_served(const char *name, const char *info)
{
	char pid[32] = "?";

	client_info(info, "server", 0, pid, sizeof(pid));
	printf("%s: server %s\n", name, pid);
	print_details(info);
	return COMMAND_DONE;
}

static int print_session(void *arg, const char *name, const char *dir, bool alive)
{
	struct listing *l = arg;
	struct access *a = NULL;
	char *info = NULL;
	int ret = alive ? access_connect_within(name, SILENT_MS, &a) : -ECONNREFUSED;

	(void)dir;
	l->nr++;
	if (!ret)
		ret = access_request(a, WIRE_INFO, "", -1, &info);
	l->status |= ret < 0 ? print_unasked(name, a, ret) : sessions_print_served(name, info);
	free(info);
	access_close(a);
	return 0;
}

static int clean_session(void *arg, const char *name, const char *dir, bool alive)
{
	(void)arg;
	(void)dir;
	if (!alive && !session_remove_stale(name))
		printf("removed %s\n", name);
	return 0;
}

static int match_name(void *arg, const char *name, const char *dir, bool alive)
{
	(void)dir;
	(void)alive;
	return !strcmp(name, arg);
}

/* Waits until the server has unmounted, removed the files and ended. False: it has not. */
static bool wait_for_end(const char *name)
{
	const struct timespec pause = { .tv_nsec = PAUSE_MS * 1000000L };
	bool there = true;

	for (int i = 0; there && i < END_MS / PAUSE_MS; i++) {
		there = session_list(match_name, (void *)name) != 0;
		if (there)
			nanosleep(&pause, NULL);
	}
	return !there;
}

/* It can be killed, and then the same command removes what it leaves. */
static int say_no_end(const char *name, int pid, bool stopped)
{
	if (stopped)
		return message_error("sessions: %s: server %d is stopped: kill -CONT %d", name, pid,
				     pid);
	return message_error("sessions: %s: server %d does not answer: kill -KILL %d, then "
			     "`tracefuse sessions --end %s`", name, pid, pid, name);
}

static int end_served(const char *name, struct access *a)
{
	bool stopped = false;
	int pid, ret;

	/* One in the session's directory, of a server before this one, would keep it. */
	mounts_clean();
	ret = access_request(a, WIRE_END, "", -1, NULL);
	pid = access_server(a, &stopped);
	access_close(a);
	if (ret == -ETIMEDOUT || (ret >= 0 && !wait_for_end(name)))
		return say_no_end(name, pid, stopped);
	return ret < 0 ? message_error("sessions: %s: %s", name, strerror(-ret)) : COMMAND_DONE;
}

static int end_session(const char *name)
{
	struct access *a;
	int ret = access_connect_within(name, SILENT_MS, &a);

	if (!ret)
		return end_served(name, a);
	if (ret == -ECONNREFUSED) {
		mounts_clean();
		ret = session_remove_stale(name);
	}
	if (ret == -ENOENT)
		return message_error("sessions: there is no session %s", name);
	if (ret == -ETIMEDOUT)
		return message_error("sessions: %s: its server does not answer", name);
	return ret ? message_error("sessions: %s: %s", name, strerror(-ret)) : COMMAND_DONE;
}

static int sessions_list(void)
{
	struct listing l = { 0 };
	const int ret = session_list(print_session, &l);

	if (ret)
		return message_error("sessions: %s", session_error(ret));
	if (!l.nr)
		fprintf(stderr, "tracefuse: there is no session: `tracefuse run --session NAME "
				"PROGRAM` or `tracefuse replay --session NAME RECORDING` makes "
				"one\n");
	return l.status;
}

static int sessions_clean(void)
{
	int nr = mounts_clean(), ret;

	if (nr)
		printf("removed %d mount%s of dead servers\n", nr, nr > 1 ? "s" : "");
	ret = session_list(clean_session, NULL);
	return ret ? message_error("sessions: %s", session_error(ret)) : COMMAND_DONE;
}

static int sessions_run(int argc, char **argv)
{
	static const char *const flags[] = { "clean", "end", NULL };
	const char *name = NULL;
	unsigned int seen = 0;
	int status = options_parse(&command_sessions, argc, argv, &name, flags, &seen);

	if (status)
		return status;
	if (seen & 2) {
		if (optind == argc)
			return command_usage(&command_sessions, "--end which session?");
		for (int i = optind; i < argc; i++)
			status |= end_session(argv[i]);
		return status;
	}
	if (optind < argc)
		return command_usage(&command_sessions, "no arguments without --end");
	return seen & 1 ? sessions_clean() : sessions_list();
}

const struct command command_sessions = {
	.name = "sessions",
	.summary = "list sessions, their mounts and attached processes; end them",
	.run = sessions_run,
	.help =
"usage: tracefuse sessions [--clean]\n"
"       tracefuse sessions --end SESSION...\n"
"\n"
"Lists your sessions: the server's process, what it serves, mounts and attached\n"
"processes.\n"
"\n"
"  --end    end sessions: unmount them and remove their files\n"
"  --clean  remove what dead servers left: their mounts and sessions\n",
};
