/* SPDX-License-Identifier: MIT */
/*
 * child.c - the program of a run: starts it, represents it to the shell, waits for its end
 *
 * C1  The program gets the signal mask, dispositions, descriptors, limits and terminal that this
 *     process was given; only LD_PRELOAD and TRACEFUSE_SESSION differ.
 * C2  The terminal sends signals to the whole process group. So the program gets them, too, and
 *     decides. This process only notes them.
 * C3  A signal that another process sends to this one (kill, timeout) is passed on. If it is sent
 *     to the whole group, the program gets it twice, because the two cases look alike. A signal
 *     from the program itself is not sent back.
 * C4  When the program stops, this process stops by the same signal, so that the shell sees its job
 *     stopped. When one of them continues, the other does, too (stop.c).
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/client.h"
#include "host/output.h"
#include "cli/run/run.h"
#include "access/wire.h"

/* How often to look whether the program has ended, where no signal tells it. */
enum { UNTOLD_MS = 20 };

/* Signal mask and disposition before this process changed them, and the signalfd. */
struct signals {
	sigset_t	mask;
	struct sigaction child;
	int		fd;
};

/* All signals except those of this process's own faults. */
static void signals_of_interest(sigset_t *set)
{
	static const int own[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL,
				  SIGTRAP, SIGABRT, SIGSYS, SIGPIPE };

	sigfillset(set);
	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
		sigdelset(set, own[i]);
}

/* Where a sandbox or a limit refuses this, signals stay as they are: there is no descriptor. */
static void signals_take(struct signals *s)
{
	struct sigaction dfl = { .sa_handler = SIG_DFL };
	bool blocked;
	sigset_t set;

	signals_of_interest(&set);
	blocked = !sigprocmask(SIG_BLOCK, &set, &s->mask);
	/* If SIGCHLD is ignored, a child leaves no status. */
	sigaction(SIGCHLD, &dfl, &s->child);
	s->fd = blocked ? signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK) : -1;
	if (s->fd < 0 && blocked)
		sigprocmask(SIG_SETMASK, &s->mask, NULL);
}

static void signals_give_back(const struct signals *s)
{
	sigaction(SIGCHLD, &s->child, NULL);
	sigprocmask(SIG_SETMASK, &s->mask, NULL);
}

/* The same, but signals that end a command wait until the results are written. */
static void signals_hold(const struct signals *s)
{
	sigaction(SIGCHLD, &s->child, NULL);
	output_signals_hold(&s->mask);
}

/* ---- the program's process ---- */

/* exec closes `tell`. */
static void become_program(const struct run *r, const struct signals *s, int tell)
{
	int err;

	signals_give_back(s);
	output_signals_restore();
	if (r->preload) {
		setenv("LD_PRELOAD", r->preload, 1);
		setenv("TRACEFUSE_SESSION", r->name, 1);
	}
	/* execvp() would give a damaged binary, which execve() refuses, to a shell. */
	if (r->check.binary)
		execv(r->check.path, r->program);
	else
		execvp(r->program[0], r->program);
	err = errno;
	message_error("%s: %s", r->program[0], strerror(err));
	if (write(tell, "", 1) != 1)
		_exit(RUN_NOT_EXECUTABLE);
	_exit(err == ENOENT ? RUN_NOT_FOUND : RUN_NOT_EXECUTABLE);
}

/* ---- signals and stops ---- */

static bool has_it(const struct run *r, const struct signalfd_siginfo *info)
{
	/* Above 0: from the kernel (C2). */
	return info->ssi_code > 0 || (pid_t)info->ssi_pid == r->pid;
}

/* The waker saw that the program runs. If it is stopped again, this signal does not mean it. */
static bool continues(const struct run *r, const struct signalfd_siginfo *info)
{
	return (pid_t)info->ssi_pid != r->waker && run_stop_is(r->pid);
}

static void run_child_pass_on(const struct run *r, const struct signalfd_siginfo *info)
{
	int sig = (int)info->ssi_signo;

	if (sig == SIGCHLD)
		return;
	if (sig == SIGCONT ? continues(r, info) : !has_it(r, info))
		kill(r->pid, sig);
}

/* Takes the child's changes of state. True: it has ended. */
static bool look_at_child(struct run *r)
{
	int status;

	while (waitpid(r->pid, &status, WNOHANG | WUNTRACED) > 0) {
		if (!WIFSTOPPED(status)) {
			r->status = status;
			return true;
		}
		run_stop_like(r, WSTOPSIG(status));
	}
	return false;
}

void run_child_signals(const struct run *r)
{
	struct signalfd_siginfo info;

	while (r->signal_fd > 0 && read(r->signal_fd, &info, sizeof(info)) == sizeof(info))
		run_child_pass_on(r, &info);
}

static bool serve_signals(struct run *r)
{
	run_child_signals(r);
	return look_at_child(r);
}

/* How often to look at what is recorded, in ms; -1: never. A run without options has no flight. */
static int run_child_often(const struct run *r)
{
	const int flight = run_flight_ms(r);

	return flight >= 0 ? flight : run_flood_ms(r);
}

/* The time until the next look at anything, in ms; -1: no limit. */
static int run_child_ms(const struct run *r)
{
	const int often = run_child_often(r);

	if (r->signal_fd < 0)
		return UNTOLD_MS;
	return often >= 0 ? often : run_watch_ms(r);
}

/* That time is over. */
static void run_child_look(struct run *r, unsigned int turn)
{
	const int often = run_child_often(r), watch = run_watch_ms(r);

	if (run_flight_ms(r) >= 0)
		run_flight_look(r);
	else if (often >= 0)
		run_flood_look(r);
	if (watch >= 0 && (often < 0 || turn % (unsigned int)(watch / often) == 0))
		run_watch_ask(r);
}

static void wait_for_end(struct run *r)
{
	for (unsigned int turn = 1;; turn++) {
		struct pollfd p[] = {
			{ .fd = r->signal_fd, .events = POLLIN },
			{ .fd = r->barrier ? access_fd(r->barrier) : -1, .events = POLLIN },
			{ .fd = run_watch_fd(r), .events = POLLIN },
		};
		int n = poll(p, sizeof(p) / sizeof(*p), run_child_ms(r));

		if (n < 0)
			continue;
		if (!n)
			run_child_look(r, turn);
		/* A look passes signals on, too, and then nothing tells of the child's end. */
		if ((p[0].revents || !n) && serve_signals(r))
			return;
		if (p[1].revents && r->barrier)
			run_setup_waits(r);
		if (p[2].revents)
			run_watch_hear(r);
	}
}

/*
 * Whether the program itself has joined the session. If so, it waits, and none of its code has run.
 */
static bool has_joined(const struct run *r)
{
	char *info, line[128];
	bool found = false;

	if (access_request(r->access, WIRE_INFO, "", -1, &info) < 0)
		return false;
	for (unsigned int i = 0; !found && client_info(info, "attached", i, line, sizeof(line));
	     i++)
		found = atoi(line) == r->pid;
	free(info);
	return found;
}

int run_child_not_started(const struct run *r)
{
	run_summary_lost(r);
	if (r->lines_of)
		return message_error("%s: %s was not started: a line was refused",
				     r->lines_of->name, r->program[0]);
	return message_error("%s was not started; --keep-going starts it anyway",
			     r->program[0]);
}

void run_child_refuse(struct run *r)
{
	if (!run_is_refused(r))
		return;
	/* The program is static, and has started the program that waits. */
	if (!has_joined(r)) {
		message_error("%s has begun already and continues", r->program[0]);
		return;
	}
	r->not_started = !kill(r->pid, SIGKILL);
	run_child_not_started(r);
}

static int run_child_start(struct run *r, const struct signals *s, int tell)
{
	fflush(NULL);
	r->pid = fork();
	if (!r->pid)
		become_program(r, s, tell);
	return r->pid < 0 ? -errno : 0;
}

int run_child(struct run *r)
{
	int ret, tell[2] = { -1, -1 };
	struct signals s;
	char byte;

	signals_take(&s);
	/* Without a pipe the exit status alone tells that the program was not executed. */
	if (pipe2(tell, O_CLOEXEC))
		tell[0] = tell[1] = -1;
	ret = run_child_start(r, &s, tell[1]);
	close(tell[1]);
	if (!ret) {
		if (r->preload)
			run_watch_begin(r);
		r->signal_fd = s.fd;
		wait_for_end(r);
		r->signal_fd = 0;
		run_watch_end(r);
		r->failed = read(tell[0], &byte, 1) == 1;
	}
	close(tell[0]);
	if (s.fd >= 0)
		close(s.fd);
	signals_hold(&s);
	return ret ? message_error("run: cannot start %s: %s", r->program[0], strerror(-ret))
		   : COMMAND_DONE;
}

void run_child_die_like(int status)
{
	struct rlimit none = { 0, 0 };
	struct sigaction dfl = { .sa_handler = SIG_DFL };
	sigset_t set;
	int sig;

	if (WIFEXITED(status))
		_exit(WEXITSTATUS(status));
	/* The program has already written a core file if the limits allow one. */
	sig = WTERMSIG(status);
	setrlimit(RLIMIT_CORE, &none);
	sigaction(sig, &dfl, NULL);
	sigemptyset(&set);
	sigaddset(&set, sig);
	raise(sig);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	_exit(128 + sig);
}
