/* SPDX-License-Identifier: MIT */
/*
 * command.c - `tracefuse attach`: processes that run already join a session; see attach.h
 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "access/wire.h"
#include "cli/attach/attach.h"
#include "cli/attach/stub.h"
#include "cli/client.h"
#include "cli/run/run.h"
#include "session/session.h"

enum { WAITS = 500, WAIT_NS = 20000000 };

struct attaching {
	const char	*session;
	char		*dir;		/* of the session */
	char		*library;
};

/* ---- The session ---- */

static int dir_note(void *arg, const char *name, const char *dir, bool alive)
{
	struct attaching *g = arg;

	if (alive && !g->dir && !strcmp(name, g->session))
		g->dir = strdup(dir);
	return 0;
}

static bool is_unready(struct access *a, pid_t pid)
{
	char *info, value[16];
	bool unready;

	if (process_is_said(a, "functions-none", pid))
		return true;
	if (access_request(a, WIRE_INFO, "", -1, &info) < 0)
		return false;
	unready = client_info(info, "functions-unread", 0, value, sizeof(value));
	free(info);
	return unready;
}

/* The server reads the files of the functions, and the process makes room for them. */
static void functions_wait(struct access *a, pid_t pid)
{
	for (int i = 0; i < WAITS && is_unready(a, pid); i++)
		nanosleep(&(struct timespec){ .tv_nsec = WAIT_NS }, NULL);
}

/* Programs that attach from now on find their functions at once. */
static int functions_ask(struct access *a, bool all)
{
	const int ret = access_request(a, WIRE_FUNCTIONS, all ? "functions\n*" : "functions", -1,
				       NULL);

	if (ret == -EOPNOTSUPP)
		return message_error("attach: the session is one of a recording, without programs");
	return ret < 0 ? message_error("attach: the server does not answer: %s", strerror(-ret)) :
			 COMMAND_DONE;
}

/* ---- A process ---- */

static int attach_failed(const struct target *t, pid_t pid, const char *why)
{
	if (!t->name[0] || !strcmp(t->name, "?"))
		return message_error("attach: process %d cannot be attached: %s", (int)pid, why);
	return message_error("attach: process %d (%s) cannot be attached: %s", (int)pid, t->name,
			     why);
}

/* What tf_attach() has returned. */
static const char *answer_error(int err)
{
	switch (-err) {
	case EBUSY:
		return "it is or was in another session, and can join only one";
	case EACCES:
		return "the session has another owner, or others may enter its directory";
	case EPERM:
		return "it has more rights than its user, or is in a sandbox";
	case EPROTO:
		return "it has the library of another version of tracefuse";
	default:
		return strerror(-err);
	}
}

/* Signals that end this process wait until the thread is let go. */
static void signals_wait(int how)
{
	static const int ends[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGPIPE };
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		sigaddset(&set, ends[i]);
	sigprocmask(how, &set, NULL);
}

/* What a tracer brings back. */
struct outcome {
	struct remote_answer answer;
	int		err;
	char		why[ATTACH_WHY];
};

/* In a process of its own: threads that have not stopped yet are let go when it ends. */
static void trace(const struct attaching *g, const struct target *t, pid_t parent,
		  struct outcome *o)
{
	struct moment m;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() == parent)
		o->err = moment_find(t, &m, o->why) ? -1 :
			 remote_attach(t, &m, g->library, g->dir, &o->answer, o->why);
	_exit(0);
}

static int thread_attach(const struct attaching *g, const struct target *t, struct outcome *out)
{
	struct outcome *o = mmap(NULL, sizeof(*o), PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	const pid_t self = getpid();
	pid_t tracer = -1;

	*out = (struct outcome){ .err = -1 };
	snprintf(out->why, sizeof(out->why), "there is no memory for it");
	if (o == MAP_FAILED)
		return -1;
	*o = *out;
	snprintf(o->why, sizeof(o->why), "the tracer was ended");
	signals_wait(SIG_BLOCK);
	tracer = fork();
	if (!tracer)
		trace(g, t, self, o);
	while (tracer > 0 && waitpid(tracer, NULL, 0) < 0 && errno == EINTR)
		continue;
	signals_wait(SIG_UNBLOCK);
	if (tracer > 0)
		*out = *o;
	munmap(o, sizeof(*o));
	return out->err;
}

/* The process must find both at the same paths: it may have another root. */
static const char *unseen(const struct attaching *g, const struct target *t)
{
	return !target_sees(t, g->library) ? g->library : !target_sees(t, g->dir) ? g->dir : NULL;
}

static int target_attach(const struct attaching *g, struct access *a, const struct target *t)
{
	const bool was = process_is_said(a, "attached", t->pid);
	const char *missing = unseen(g, t);
	struct outcome o;

	if (missing) {
		snprintf(o.why, sizeof(o.why), "it does not see %s: it has another root directory",
			 missing);
		return attach_failed(t, t->pid, o.why);
	}
	if (process_is_said(a, "server", t->pid))
		return attach_failed(t, t->pid, "it is the session's own server");
	if (thread_attach(g, t, &o) || !o.answer.loaded)
		return attach_failed(t, t->pid, o.why);
	if (o.answer.err && !(o.answer.err == -EBUSY && process_is_said(a, "attached", t->pid)))
		return attach_failed(t, t->pid, answer_error(o.answer.err));
	functions_wait(a, t->pid);
	if (was)
		fprintf(stderr, "tracefuse: process %d (%s) has looked for what was asked for "
			"since\n", (int)t->pid, t->name);
	else
		fprintf(stderr, "tracefuse: attached: process %d (%s)\n", (int)t->pid, t->name);
	return COMMAND_DONE;
}

/*
 * One command after the other: a process can have one tracer. The name is of no file, and goes with
 * the descriptor. After ten seconds it goes on without. -> the descriptor; -1: there is none
 */
static int turn_take(pid_t pid)
{
	const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	const int n = snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1,
			       "tracefuse-attach-%u-%d", (unsigned int)geteuid(), (int)pid);
	const socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n);

	for (int i = 0; fd >= 0 && i < WAITS && bind(fd, (struct sockaddr *)&name, size) &&
			errno == EADDRINUSE; i++)
		nanosleep(&(struct timespec){ .tv_nsec = WAIT_NS }, NULL);
	return fd;
}

static int process_attach(const struct attaching *g, struct access *a, const char *argument)
{
	struct target t;
	char why[ATTACH_WHY];
	const pid_t pid = process_number(&command_attach, argument);
	int status, turn;

	if (pid < 0)
		return COMMAND_USAGE;
	turn = turn_take(pid);
	/* A process with another root has other files at the paths that /proc shows. */
	if (target_open(&t, pid, why) && !(t.nr && unseen(g, &t)))
		status = attach_failed(&t, pid, why);
	else
		status = target_attach(g, a, &t);
	target_close(&t);
	if (turn >= 0)
		close(turn);
	return status;
}

/* ---- The command ---- */

static int attach_all(struct attaching *g, struct access *a, bool all, char **processes)
{
	int status = functions_ask(a, all), one;

	session_list(dir_note, g);
	g->library = run_core();
	if (!status && !g->dir)
		status = message_error("attach: the session has ended");
	if (!status && !g->library)
		status = message_error("attach: libtracefuse.so.0 is not installed");
	if (!status && (strlen(g->dir) >= ATTACH_PATH || strlen(g->library) >= ATTACH_PATH))
		status = message_error("attach: %s: %s", g->dir, strerror(ENAMETOOLONG));
	if (status)
		return status;
	for (; *processes; processes++) {
		one = process_attach(g, a, *processes);
		status = one > status ? one : status;
	}
	return status;
}

int processes_attach(const char *session, struct access *a, bool all, char **processes)
{
	struct attaching g = { .session = session };
	const int status = attach_all(&g, a, all, processes);

	free(g.dir);
	free(g.library);
	return status;
}

static int attach_arguments(int argc, char **argv, const char **session, bool *all)
{
	static const struct option options[] = {
		{ "session", required_argument, NULL, 's' }, { "all", no_argument, NULL, 'a' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "+:s:", options, NULL)) != -1) {
		if (c == 's')
			*session = optarg;
		else if (c == 'a')
			*all = true;
		else if (c == ':')
			return command_usage(&command_attach, "%s needs a value", argv[optind - 1]);
		else
			return command_unknown_option(&command_attach, argv[optind - 1]);
	}
	if (optind == argc)
		return command_usage(&command_attach, "which process?");
	/* Before a session is made for them. */
	for (int i = optind; i < argc; i++)
		if (process_number(&command_attach, argv[i]) < 0)
			return COMMAND_USAGE;
	return COMMAND_DONE;
}

static int attach_run(int argc, char **argv)
{
	const char *name = NULL;
	bool all = false, made = false;
	int status = attach_arguments(argc, argv, &name, &all);
	struct access *a;
	char *found;

	if (status)
		return status;
	found = client_session(&command_attach, name);
	if (!found)
		message_error("attach: -s NAME makes one for programs that run");
	a = found ? client_connect_or_make(&command_attach, found, &made) : NULL;
	if (!a) {
		free(found);
		return COMMAND_FAILED;
	}
	status = processes_attach(found, a, all, argv + optind);
	/* It is of no use: none of the processes is in it. */
	if (status && made && argc - optind == 1)
		client_end(a);
	access_close(a);
	free(found);
	return status;
}

const struct command command_attach = {
	.name = "attach",
	.summary = "trace programs that run already",
	.run = attach_run,
	.help =
"usage: tracefuse attach [-s SESSION] [--all] PROCESS...\n"
"\n"
"Processes that run already, and that nobody prepared, join a session. From then on\n"
"it has their functions, and probes in them: current_tracer, set_ftrace_filter,\n"
"uprobe_events and all that hangs on them. A session that is named and does not exist\n"
"is made. The processes go on when it ends, untraced.\n"
"\n"
"One thread of each process is stopped for some milliseconds, and loads the agent.\n"
"It needs the right to trace the process (ptrace), and the same user. A process that\n"
"is linked statically, in a sandbox (seccomp), in another root directory or under a\n"
"debugger is refused. There are no events of heap, lock, thread, signal and syscalls:\n"
"what a program calls is settled when it starts. `tracefuse run` has those.\n"
"\n"
"If somebody asks for the functions of further libraries (':mod:libc.so.6'), the same\n"
"command again lets the processes look for them.\n"
"\n"
"  -s, --session NAME          the session\n"
"  --all                       the functions of all libraries, too\n",
};
