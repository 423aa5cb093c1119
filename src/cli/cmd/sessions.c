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

static int print_session(void *arg, const char *name, const char *dir, bool alive)
{
	struct access *a;
	char *info, pid[32] = "?";
	int ret;

	(void)dir;
	++*(int *)arg;
	ret = alive ? access_connect(name, &a) : -ECONNREFUSED;
	if (!ret) {
		ret = access_request(a, WIRE_INFO, "", -1, &info);
		access_close(a);
	}
	if (ret == -ECONNREFUSED) {
		printf("%s: its server is dead; any command on it restores it\n", name);
	} else if (ret < 0) {
		printf("%s: its server does not answer\n", name);
	} else {
		client_info(info, "server", 0, pid, sizeof(pid));
		printf("%s: server %s\n", name, pid);
		print_details(info);
		free(info);
	}
	return 0;
}

static int clean_session(void *arg, const char *name, const char *dir, bool alive)
{
	(void)dir;
	if (!alive && !session_remove_stale(name)) {
		printf("removed %s\n", name);
		++*(int *)arg;
	}
	return 0;
}

static int match_name(void *arg, const char *name, const char *dir, bool alive)
{
	(void)dir;
	(void)alive;
	return !strcmp(name, arg);
}

/* Waits until the server has unmounted, removed the files and ended. */
static void wait_for_end(const char *name)
{
	struct timespec pause = { .tv_nsec = 5000000 };

	for (int i = 0; i < 1000 && session_list(match_name, (void *)name) == 1; i++)
		nanosleep(&pause, NULL);
}

static int end_session(const char *name)
{
	struct access *a;
	int ret = access_connect(name, &a);

	if (ret == -ECONNREFUSED) {
		mounts_clean();
		ret = session_remove_stale(name);
	} else if (!ret) {
		/* One in the session's directory, of a server before this one, would keep it. */
		mounts_clean();
		ret = access_request(a, WIRE_END, "", -1, NULL);
		access_close(a);
		if (ret >= 0)
			wait_for_end(name);
	}
	if (ret == -ENOENT)
		return message_error("sessions: there is no session %s", name);
	return ret < 0 ? message_error("sessions: %s: %s", name, strerror(-ret)) : COMMAND_DONE;
}

static int sessions_run(int argc, char **argv)
{
	static const char *const flags[] = { "clean", "end", NULL };
	const char *name = NULL;
	unsigned int seen = 0;
	int status = options_parse(&command_sessions, argc, argv, &name, flags, &seen), nr = 0;

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
	if (seen & 1) {
		nr = mounts_clean();
		if (nr)
			printf("removed %d mount%s of dead servers\n", nr, nr > 1 ? "s" : "");
		session_list(clean_session, &nr);
		return COMMAND_DONE;
	}
	session_list(print_session, &nr);
	if (!nr)
		fprintf(stderr, "tracefuse: there is no session: `tracefuse replay --session NAME "
				"RECORDING` makes one\n");
	return COMMAND_DONE;
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
