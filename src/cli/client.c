/* SPDX-License-Identifier: MIT */
/* client.c - finds a command's session, and connects to it */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "cli/client.h"
#include "cli/options.h"
#include "model/text.h"
#include "server/server.h"
#include "access/wire.h"
#include "layout/layout.h"
#include "session/session.h"

enum { TRIES = 100, AWAIT_MS = 30000, END_MS = 5000 };

struct census {
	unsigned int	nr;
	char		name[64];
};

static int count_session(void *arg, const char *name, const char *dir, bool alive)
{
	struct census *c = arg;

	(void)dir;
	(void)alive;
	if (!c->nr++)
		snprintf(c->name, sizeof(c->name), "%s", name);
	return 0;
}

char *client_session(const struct command *cmd, const char *name)
{
	struct census c = { 0 };
	int ret;

	if (!name)
		name = getenv("TRACEFUSE_SESSION");
	if (name && *name)
		return strdup(name);
	ret = session_list(count_session, &c);
	if (!ret && c.nr == 1)
		return strdup(c.name);
	if (ret)
		message_error("%s: sessions cannot be listed: %s", cmd->name, session_error(ret));
	else if (c.nr)
		message_error(
			"%s: there are %u sessions: say which (`tracefuse sessions` lists them), "
			"or set TRACEFUSE_SESSION",
			cmd->name, c.nr);
	else
		message_error("%s: there is no session: `tracefuse run --session NAME PROGRAM` or "
			      "`tracefuse replay --session NAME RECORDING` makes one",
			      cmd->name);
	return NULL;
}

/*
 * Connects to a server that answers a request. A server that was just killed still has its socket,
 * so connecting alone proves nothing.
 */
static int connect_answered(const char *name, struct access **out)
{
	int ret = access_connect(name, out);

	if (ret)
		return ret;
	ret = access_request(*out, WIRE_STAT, "", -1, NULL);
	if (ret != -EPIPE)
		return 0;
	access_close(*out);
	*out = NULL;
	return -ECONNREFUSED;
}

int client_reach(const char *name, struct access **out)
{
	const struct timespec pause = { .tv_nsec = 10000000 };

	for (int i = 0; i < TRIES; i++) {
		int ret = connect_answered(name, out);

		if (ret != -ECONNREFUSED)
			return ret;
		/* Another command may be making or restoring the session. */
		ret = session_await(name, AWAIT_MS);
		if (!ret)
			ret = connect_answered(name, out);
		if (ret != -ECONNREFUSED)
			return ret;
		ret = server_restore(name);
		if (!ret)
			fprintf(stderr,
				"tracefuse: the server of session %s was dead: "
				"the session is restored\n",
				name);
		else if (ret == -EBUSY)
			/* another command was faster, or the server is ending */
			nanosleep(&pause, NULL);
		else
			return ret;
	}
	return -EBUSY;
}

/* Whether this process itself could not look: that says nothing about the session. */
static bool client_lacks(int err)
{
	return err == -EMFILE || err == -ENFILE || err == -EACCES;
}

struct access *client_connect(const struct command *cmd, const char *name)
{
	struct access *a;
	int ret = client_reach(name, &a);

	if (!ret)
		return a;
	if (ret == -ENOENT)
		message_error(
			"%s: there is no session %s: `tracefuse sessions` lists sessions, "
			"`tracefuse run --session %s PROGRAM` or "
			"`tracefuse replay --session %s RECORDING` makes it",
			cmd->name, name, name, name);
	else if (client_lacks(ret))
		message_error("%s: session %s cannot be reached: %s", cmd->name, name,
			      session_error(ret));
	else
		message_error(
			"%s: the server of session %s cannot be reached, and the session cannot "
			"be restored: %s\n           if the server is dead, `tracefuse sessions "
			"--clean` removes the session",
			cmd->name, name, session_error(ret));
	return NULL;
}

struct access *client_connect_to(const struct command *cmd, const char *name)
{
	char *session = client_session(cmd, name);
	struct access *a = session ? client_connect(cmd, session) : NULL;

	free(session);
	return a;
}

struct access *client_connect_or_make(const struct command *cmd, const char *name, bool *made)
{
	struct access *a;
	int ret = name ? access_connect(name, &a) : 0;

	if (name && !ret)
		return a;
	if (ret == -ENOENT) {
		ret = server_make(&(struct server_make_params){
			.name = name, .what = "running programs", .life_fd = -1,
		});
		*made = !ret;
		if (!ret)
			fprintf(stderr, "tracefuse: there was no session %s: made one for running "
				"programs\n", name);
		else if (ret != -EEXIST) {
			message_error("%s: cannot make the session %s: %s", cmd->name, name,
				      session_error(ret));
			return NULL;
		}
	}
	return client_connect_to(cmd, name);
}

int client_connect_arguments(const struct command *cmd, int argc, char **argv, struct access **out)
{
	const char *name = NULL;
	int status = options_parse(cmd, argc, argv, &name, NULL, NULL);

	if (status)
		return status;
	if (argc - optind > 1)
		return command_usage(cmd, "too many arguments");
	*out = client_connect_to(cmd, optind < argc ? argv[optind] : name);
	return *out ? COMMAND_DONE : COMMAND_FAILED;
}

int client_boot(struct access *a, const char *text)
{
	char *answer = NULL, *rest, *line;
	int ret = access_request(a, WIRE_BOOT, text, -1, &answer), nr = 0;

	rest = ret < 0 ? NULL : answer;
	while (rest && (line = strsep(&rest, "\n")))
		if (*line)
			nr += fprintf(stderr, "tracefuse: boot: %s\n", line) > 0;
	free(answer);
	return ret < 0 ? ret : nr;
}

bool client_info(const char *text, const char *key, unsigned int nr, char *out, size_t size)
{
	size_t n = strlen(key);

	for (; *text; text = text_next_line(text)) {
		if (strncmp(text, key, n) || text[n] != ' ' || nr--)
			continue;
		snprintf(out, size, "%.*s", (int)strcspn(text + n + 1, "\n"), text + n + 1);
		return true;
	}
	return false;
}

void client_machine(struct access *a, char *out, size_t size)
{
	char *info;

	*out = '\0';
	if (access_request(a, WIRE_INFO, "", -1, &info) < 0)
		return;
	client_info(info, "uname", 0, out, size);
	free(info);
}

/* The line's value is "SYSTEM:EVENT[ in process PID:] REASON". */
bool client_probe_refused(const char *info, unsigned int nr, char out[CLIENT_REFUSED])
{
	char value[256];
	const char *process, *why;

	if (!client_info(info, "probe-refused", nr, value, sizeof(value)))
		return false;
	process = strstr(value, " in process ");
	why = strchr(process ? process : value, process ? ':' : ' ');
	why = why ? why : value + strlen(value);
	snprintf(out, CLIENT_REFUSED, "%.*s cannot be probed:%s.", (int)(why - value), value,
		 why + (process && *why));
	return true;
}

static const char again[] = "if such a program is started again, it joins";

static const struct client_untraced untraced_words[] = {
	[UNTRACED_DESCRIPTORS] = { "descriptors",
				   "the server has no file descriptor left for them "
				   "(ulimit -n)",
				   again, false, NULL },
	[UNTRACED_FULL] = { "full", "the session has no room for them", again, false,
			    NULL },
	[UNTRACED_LATE] = { "late", "the server did not answer in time", again, false,
			    NULL },
	[UNTRACED_SERVER] = { "server", "there was no server", again, false, NULL },
	[UNTRACED_USER] = { "user",
			    "they belong to another user, and a session is for its own "
			    "user's programs alone",
			    "su -s /bin/sh -c 'tracefuse run ...' USER: a session of that "
			    "user", false, NULL },
	[UNTRACED_ROOT] = { "root",
			    "they cannot reach the session or tracefuse's library, in "
			    "another root or mount name space",
			    "use tracefuse run in there", false, NULL },
	[UNTRACED_RIGHTS] = { "rights",
			      "their file is setuid, setgid or has capabilities, which "
			      "prevents the preload",
			      "use tracefuse run as the user that they become", false,
			      NULL },
	[UNTRACED_ENVIRONMENT] = { "environment",
				   "their environment was without LD_PRELOAD or "
				   "TRACEFUSE_SESSION",
				   "start tracefuse run after what clears it", true, NULL },
	[UNTRACED_STATIC] = { "static", "they are linked statically",
			      "link them with libc.so", true, NULL },
	[UNTRACED_LIBC] = { "libc",
			    "they have another C library, or are for another kind of "
			    "machine",
			    "link them with glibc", true, NULL },
	[UNTRACED_SANITIZER] = { "sanitizer",
				 "their sanitizer's library has to be loaded first",
				 "LD_PRELOAD=libasan.so... tracefuse run", true, NULL },
	[UNTRACED_SANDBOX] = { "sandbox",
			       "a filter of system calls (seccomp) forbids what a first "
			       "hit needs",
			       "threads that have had a hit before are traced", true,
			       "join the session, or not with all threads" },
	[UNTRACED_STRICT] = { "strict",
			      "a thread has entered seccomp's strict mode, which has no "
			      "time stamp counter",
			      "SECCOMP_MODE_FILTER leaves it", true,
			      "be traced to the end" },
	[UNTRACED_OTHER] = { "other", "the system refused a call that joining needs", again,
			     false, NULL },
};

const struct client_untraced *client_untraced_at(unsigned int reason)
{
	return &untraced_words[reason < UNTRACED_REASONS ? reason : UNTRACED_OTHER];
}

const struct client_untraced *client_untraced(const char *reason)
{
	for (unsigned int i = 0; i < UNTRACED_REASONS; i++) {
		const struct client_untraced *u = client_untraced_at(i);

		if (!strncmp(reason, u->reason, strlen(u->reason)))
			return u;
	}
	return client_untraced_at(UNTRACED_OTHER);
}

unsigned long long client_stat(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

bool client_path(const char *argument, char *out, size_t size)
{
	if (access_path("", argument, out, size))
		return true;
	message_error("%s is not in the tracing directory", argument);
	return false;
}

/* A pidfd of the server's process, to wait for; -1: not known. */
static int server_pidfd(struct access *a)
{
	char *info, pid[32];
	int fd = -1;

	if (access_request(a, WIRE_INFO, "", -1, &info) < 0)
		return -1;
	if (client_info(info, "server", 0, pid, sizeof(pid)))
		fd = (int)syscall(SYS_pidfd_open, atoi(pid), 0);
	free(info);
	return fd;
}

/* "NUMBER DSO[; NUMBER REASON]...": how many functions of it cannot be traced. */
static unsigned long untraced_of(const char *sites)
{
	unsigned long nr = 0;

	for (const char *at = strchr(sites, ';'); at; at = strchr(at + 1, ';'))
		nr += strtoul(at + 1, NULL, 10);
	return nr;
}

/* The same, and why. */
static void say_untraced_of(const char *sites, const char *where)
{
	const char *name = strchr(sites, ' '), *why = strchr(sites, ';');
	const unsigned long nr = untraced_of(sites);

	if (!name || !why)
		return;
	message_error("%lu %s of %.*s cannot be traced, and %s not %s:%s", nr,
		      nr == 1 ? "function" : "functions", (int)(why - name - 1), name + 1,
		      nr == 1 ? "is" : "are", where, why + 1);
}

/* Nothing counts the functions in which clang has left no sled: its own runtime has many. */
static void say_sledless(const char *info, const char *where)
{
	char name[256], second[256];
	bool more;

	if (!client_info(info, "sleds", 0, name, sizeof(name)))
		return;
	more = client_info(info, "sleds", 1, second, sizeof(second));
	message_error("%s%s: functions of fewer than 200 instructions and without a loop are not "
		      "%s, unless they are compiled with -fxray-instruction-threshold=1", name,
		      more ? " and others" : "", where);
}

void client_say_untraced(const char *info, const char *where)
{
	char sites[1024], last[1024] = "";
	unsigned long nr, all = 0;
	unsigned int files = 0;

	for (unsigned int i = 0; client_info(info, "sites", i, sites, sizeof(sites)); i++) {
		nr = untraced_of(sites);
		all += nr;
		files += nr > 0;
		if (nr)
			memcpy(last, sites, sizeof(last));
	}
	/* The reasons of many files would hide what else there is to say. */
	if (files == 1)
		say_untraced_of(last, where);
	else if (files)
		message_error("%lu functions of %u files cannot be traced, and are not %s: "
			      "`tracefuse list -v FILE` says why", all, files, where);
	say_sledless(info, where);
}

unsigned long client_ended_since(const char *before, const char *key, const char *value)
{
	const unsigned long nr = strtoul(value, NULL, 10);
	const char *text = strrchr(value, '\t'), *tab;
	char old[1024];

	for (unsigned int i = 0; before && client_info(before, key, i, old, sizeof(old)); i++) {
		tab = strrchr(old, '\t');
		if (text && tab && !strcmp(tab, text))
			return (unsigned long)client_since(nr, strtoul(old, NULL, 10));
	}
	return nr;
}

bool client_say_lost(const char *info, const char *before)
{
	static const char key[] = "ended-lost";
	char value[1024];
	bool any = false;

	for (unsigned int i = 0; client_info(info, key, i, value, sizeof(value)); i++) {
		const char *tab = strrchr(value, '\t');
		const unsigned long nr = client_ended_since(before, key, value);

		if (!tab || !nr)
			continue;
		message_error("functions of %lu %s were not traced: %s", nr,
			      nr == 1 ? "process" : "processes", tab + 1);
		any = true;
	}
	return any;
}

int client_end(struct access *a)
{
	struct pollfd end = { .fd = server_pidfd(a), .events = POLLIN };
	const int ret = access_request(a, WIRE_END, "", -1, NULL);

	if (ret >= 0 && end.fd >= 0)
		poll(&end, 1, END_MS);
	if (end.fd >= 0)
		close(end.fd);
	return ret < 0 ? ret : 0;
}

int client_print_mounts(struct access *a)
{
	char *info, dir[PATH_MAX];
	int ret = access_request(a, WIRE_INFO, "", -1, &info);
	unsigned int nr = 0;

	if (ret < 0)
		return message_error("the server does not answer: %s", strerror(-ret));
	while (client_info(info, "mount", nr, dir, sizeof(dir))) {
		printf("%s\n", dir);
		nr++;
	}
	free(info);
	return nr ? COMMAND_DONE : COMMAND_FAILED;
}
