/* SPDX-License-Identifier: MIT */
/*
 * process.c - the session of one process that runs already, for -p
 *
 * A process can be attached once in its life. So its session stays when the command ends, and the
 * next command finds it. It costs the process nothing while nobody traces.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "access/wire.h"
#include "cli/attach/attach.h"
#include "cli/client.h"
#include "server/server.h"
#include "session/session.h"

enum { ASK_MS = 1000, LINGER_MS = 60000 };

struct search {
	pid_t		pid;
	char		*name;
};

bool process_is_said(struct access *a, const char *key, pid_t pid)
{
	bool found = false;
	char *info, value[256];

	if (access_request(a, WIRE_INFO, "", -1, &info) < 0)
		return false;
	for (unsigned int i = 0; !found && client_info(info, key, i, value, sizeof(value)); i++)
		found = atoi(value) == pid && !strstr(value, " never");
	free(info);
	return found;
}

static int search_session(void *arg, const char *name, const char *dir, bool alive)
{
	struct search *s = arg;
	struct access *a;

	(void)dir;
	if (s->name || !alive || access_connect_within(name, ASK_MS, &a))
		return 0;
	if (process_is_said(a, "attached", s->pid))
		s->name = strdup(name);
	access_close(a);
	return 0;
}

void process_session_name(pid_t pid, char out[ATTACH_SESSION])
{
	snprintf(out, ATTACH_SESSION, "pid-%d", (int)pid);
}

pid_t process_number(const struct command *cmd, const char *argument)
{
	char *end;
	const long pid = strtol(argument, &end, 10);

	if (end != argument && !*end && pid > 0 && pid <= INT_MAX)
		return (pid_t)pid;
	command_usage(cmd, "%s is no number of a process", argument);
	return -1;
}

/* 0 or -errno; also 0 if it is there already. *made: it was not */
static int session_make(const char *name, pid_t pid, bool *made)
{
	const int life = (int)syscall(SYS_pidfd_open, pid, 0);
	int ret = life < 0 ? -errno : 0;

	if (!ret)
		ret = server_make(&(struct server_make_params){
			.name = name, .what = "a process that was attached", .life_fd = life,
			.linger_ms = LINGER_MS,
		});
	if (life >= 0)
		close(life);
	*made = !ret;
	return ret == -EEXIST ? 0 : ret;
}

static char *session_new(const struct command *cmd, pid_t pid)
{
	char name[ATTACH_SESSION], number[16], *processes[] = { number, NULL };
	struct access *a;
	int ret, status;
	bool made;

	process_session_name(pid, name);
	snprintf(number, sizeof(number), "%d", (int)pid);
	ret = session_make(name, pid, &made);
	if (ret) {
		message_error("%s: process %d: %s", cmd->name, (int)pid,
			      ret == -ESRCH ? "there is no such process" : session_error(ret));
		return NULL;
	}
	a = client_connect_to(cmd, name);
	if (!a)
		return NULL;
	status = processes_attach(name, a, false, processes);
	/* Another command may have it for the same process. */
	if (status && made && !process_is_said(a, "attached", pid))
		client_end(a);
	access_close(a);
	return status ? NULL : strdup(name);
}

char *process_session(const struct command *cmd, pid_t pid)
{
	struct search s = { .pid = pid };

	session_list(search_session, &s);
	return s.name ? s.name : session_new(cmd, pid);
}
