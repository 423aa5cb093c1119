/* SPDX-License-Identifier: MIT */
/*
 * run.h - inside `tracefuse run`: what was asked for, and what there is
 *
 *   cli/cmd/run.c   the command line, the order of the steps
 *   check.c         whether the program can be traced (elf.c: what its file says)
 *   agent.c         where the agent is, LD_PRELOAD
 *   server.c        a session, made or joined; its end
 *   setup.c         -e and --setup, when the program waits for them
 *   wanted.c        whether what -e and --cat name is there, or may come
 *   functions.c --function and --graph, in the same moment
 *   child.c         the program: signals, stops, its end
 *   dump.c          what functions' commands dumped
 *   unsaved.c       results that could not be written: the session stays
 *   summary.c       what was recorded and what was lost
 *   losses.c        who could not take part
 *   watch.c         the same at once, while the program runs
 *
 *     this process                server (own terminal session)      program
 *     make or join ------------>  serves
 *     BARRIER ----------------->
 *     fork ------------------------------------------------------->  exec, agent
 *                                 waits <--------------------------  READY
 *     set up <---- WAITS -------
 *     GO ---------------------->  ---------------------------------> constructors, main
 *     wait, pass signals on                                          ...
 *     results, summary <-------------------------------------------- ends
 *     END --------------------->  ends
 *
 * The program is this process's child and in its process group, so that a shell
 * and a terminal see one job.
 */
#ifndef TRACEFUSE_CLI_RUN_RUN_H
#define TRACEFUSE_CLI_RUN_RUN_H

#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "cli/asked.h"
#include "cli/results.h"
#include "cli/run/check.h"

struct access;
struct run_pattern;

/* --function[=GLOB], --graph[=FUNCTION] */
struct run_functions {
	bool		function, graph;	/* was asked for */
	struct run_pattern *patterns;
	unsigned int	nr;
	bool		seen;		/* some program had functions */
	bool		traced;		/* the tracer was chosen */
};

struct run {
	/* what was asked for */
	struct asked	asked;		/* of its events those that are not there yet stay in it */
	const char	*systems;	/* --providers; NULL: not given */
	struct run_functions functions;
	bool		kernel_names, quiet, keep_going;
	char		**program;	/* and its arguments; ends with NULL */

	/* found out before anything is made */
	char		**scripts;	/* texts of the setups */
	struct run_check check;
	char		*preload;	/* LD_PRELOAD; NULL: the program runs untraced */
	char		untraced[256];	/* why no session is to be had; "": there is one */

	/* the session */
	char		name[64];
	bool		joined;		/* it was there already */
	bool		made;		/* by this command: ends with it unless it stays */
	char		mount_dir[PATH_MAX]; /* "": none */
	int		life_fd;	/* the session ends when it is closed; -1 */
	int		owner_fd;	/* session_own(); negative: none */
	struct access	*access;	/* NULL: it cannot be reached any more */
	struct results	results;
	bool		stays;		/* the session, after the command */
	struct access	*barrier;		/* programs wait for it; NULL: nobody does */
	struct {
		struct access	*access;	/* NULL: nobody watches */
		bool		asked;		/* an answer is to come */
		int		told;		/* reasons that were said: bits of enum untraced */
	} watch;
	bool		set_up;
	bool		refused;	/* something of the setup was; that was said */
	bool		not_started;	/* the program, because of that */
	bool		attached;	/* a program has joined, or it is not known */

	/* the program */
	pid_t		pid;
	int		status;		/* as waitpid() has it */
	bool		failed;		/* it could not be executed; that was said */
};

/* Whether the session ends with the command. */
static inline bool run_is_private(const struct run *r)
{
	return !r->asked.session_name && !r->asked.mount_dir;
}

/* The program does not start. */
static inline bool run_is_refused(const struct run *r)
{
	return r->refused && !r->keep_going;
}

/* ---- agent.c ---- */

/*
 * LD_PRELOAD with the agent, behind a sanitizer and before all else that `old` (may be NULL) has;
 * the caller frees. NULL: there is no agent, which was said.
 */
char *run_preload(const char *old);

/* ---- server.c: these print what is wrong and return an exit status ---- */

/* Where no session is to be had nothing is printed, and r->untraced says why. */
int run_server_open(struct run *r);
/* Whether a request failed with `ret` because its server is gone: r->untraced says so. */
bool run_server_died(struct run *r, int ret);
/* The server died: brings the session back where that can be done. */
void run_server_again(struct run *r);
/* The session outlives the command. 0 or -errno. */
int run_server_stay(struct run *r);
void run_server_close(struct run *r);

/* ---- setup.c ---- */

/* Before anything is made: reads the scripts. An exit status. */
int run_setup_read(struct run *r);
void run_setup_free(struct run *r);
/* Holds the programs that attach from now on. An exit status. */
int run_setup_barrier(struct run *r);
/* Each program that waits goes on, and none waits any more. */
void run_setup_let_go(struct run *r);
/* r->barrier is readable: a program waits, or the server died. */
void run_setup_waits(struct run *r);
/* -e, --setup, once. */
void run_setup(struct run *r);

/* ---- wanted.c ---- */

/*
 * Of -e: there is no such event. True: it is a mistake, which was said, and is waited for no more.
 */
bool run_wanted_event(struct run *r, const char *name);
/* Of --cat, when all is set up: files that are not there and will not come are said. */
void run_wanted_files(struct run *r);

/* ---- functions.c ---- */

/* pattern: what is behind the =, NULL: nothing. 0, -ENOMEM */
int run_functions_add(struct run *r, bool graph, const char *pattern);
bool run_functions_asked(const struct run *r);
/* Whether there is something to do for the next program that waits. */
bool run_functions_wait(const struct run *r);
/* For each program that waits. */
void run_functions_set(struct run *r);
/* What of it meant nothing; info: of WIRE_INFO. */
void run_functions_summary(const struct run *r, const char *info);
void run_functions_free(struct run *r);

/* ---- child.c ---- */

/* Starts the program and waits for its end: r->status. An exit status. */
int run_child(struct run *r);
/*
 * The setup was refused, and --keep-going not asked for: a program that waits before its
 * constructors is killed there. r->not_started
 */
void run_child_refuse(struct run *r);
/* Says so: COMMAND_FAILED. */
int run_child_not_started(const struct run *r);
/* Ends this process as the program ended. */
void run_child_die_like(int status) __attribute__((noreturn));

/* ---- dump.c ---- */

void run_dump(const struct run *r);

/* ---- unsaved.c ---- */

/* Where results could not be written: keeps what was recorded, and says how it can be. */
void run_unsaved(struct run *r);

/* ---- summary.c ---- */

void run_summary(struct run *r);
/* Of it what was lost: memory, as a reason why something was refused. */
void run_summary_lost(const struct run *r);

/* ---- losses.c ---- */

/* Of WIRE_INFO: threads and programs that found no room or could not join. */
void run_losses(const struct run *r, const char *info);

/* ---- watch.c ---- */

void run_watch_begin(struct run *r);
void run_watch_end(struct run *r);
/* -1: none. Readable: run_watch_hear(). */
int run_watch_fd(const struct run *r);
/* For poll(): after so long run_watch_ask(); -1: not by time. */
int run_watch_ms(const struct run *r);
void run_watch_ask(struct run *r);
void run_watch_hear(struct run *r);

#endif
