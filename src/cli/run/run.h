/* SPDX-License-Identifier: MIT */
/*
 * run.h - private to `tracefuse run`: its arguments and its state
 *
 *   cli/cmd/run.c   the command line, the order of the steps
 *   check.c         whether the program can be traced (elf.c: what its file says)
 *   agent.c         where the agent is, LD_PRELOAD
 *   server.c        a session, made or joined; its end
 *   steps.c         the first and the last steps, which `tracefuse live` has, too
 *   setup.c         -e and --setup, when the program waits for them
 *   wanted.c        whether the events and files of -e and --cat exist, or may come
 *   functions.c     --function and --graph, at the same time
 *   child.c         the program: signals, its end
 *   stop.c          its stops
 *   dump.c          the dumps of function commands
 *   unsaved.c       results that could not be written: the session stays
 *   summary.c       what was recorded and what was lost
 *   next.c          what to try next, if nothing was asked for
 *   losses.c        processes and threads that could not take part
 *   crash.c         what led to a crash: --on-crash
 *   cli/drain       the process of --drain
 *   flight.c        what led to the slowest latencies (flight.h)
 *   flood.c         switches an event off that comes too often
 *   watch.c         the same, while the program runs
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
#include "cli/run/flight.h"

struct access;
struct run_pattern;

/* --function[=GLOB], --graph[=FUNCTION] */
struct run_functions {
	bool		function, graph;	/* the option was given */
	bool		all;		/* --all: those of all libraries, too */
	struct run_pattern *patterns;
	unsigned int	nr;
	bool		seen;		/* a program had functions */
	bool		traced;		/* the tracer was chosen */
};

/* What a session has counted. */
struct run_counts {
	unsigned long long recorded, overrun, dropped;
	unsigned long long cleared;	/* recorded, and in no buffer any more */
	unsigned long long hits, uncounted;	/* of histograms; without room there */
	unsigned long long processes, threads;
	unsigned long long missed;	/* no place for their thread */
};

struct export_summary;

struct run {
	/* The command's arguments. */
	struct asked	asked;		/* `events` keeps those that do not exist yet */
	const char	*systems;	/* --providers; NULL: not given */
	struct run_functions functions;
	const struct command *command;	/* run, or live */
	const struct command *lines_of;	/* see run_for(); NULL: the user wrote the setups */
	bool		kernel_names, quiet, keep_going, drain;
	bool		kernel;		/* the running kernel's events are wanted */
	const char	*merge_delay;	/* in ms, as written; NULL: not given */
	struct words	kernel_events;	/* of --kernel; `asked` has their memory */
	char		**program;	/* the program and its arguments; ends with NULL */

	/* Known before anything is made. */
	char		**scripts;	/* texts of the setups */
	struct run_check check;
	char		*preload;	/* LD_PRELOAD; NULL: the program runs untraced */
	char		untraced[256];	/* why there can be no session; "": there is one */

	/* The session. */
	char		name[64];
	bool		joined;		/* it existed already */
	struct run_counts before;	/* what it had counted then */
	char		*info_before;	/* and what WIRE_INFO said; NULL: nothing */
	bool		lent;		/* --session USER:NAME: root has lent the kernel's events */
	bool		made;		/* this command made it, and ends it unless it stays */
	char		mount_dir[PATH_MAX]; /* "": none */
	int		life_fd;	/* the session ends when this is closed; -1: none */
	int		owner_fd;	/* session_own(); negative: none */
	struct access	*access;	/* NULL: the session cannot be reached any more */
	struct results	results;
	bool		stays;		/* the session outlives the command */
	struct access	*barrier;		/* programs wait at it; NULL: no barrier */
	struct flight	flight;
	struct {
		const char	*file;	/* --on-crash; NULL: not given */
		bool		unsaved;	/* the program crashed, and it could not be saved */
		struct output	*out;
	} crash;
	struct {
		struct access	*access;	/* NULL: not connected */
		bool		asked;		/* an answer is outstanding */
		/* Reasons that were printed: bits of enum untraced */
		int		told;
	} watch;
	struct {
		unsigned long long recorded;	/* at that time; 0: nobody has looked yet */
		double		at;		/* in seconds */
		struct words	events;		/* that were switched off */
		bool		failed;		/* nobody looks any more */
	} flood;
	bool		plain;		/* nothing was asked for: run_next_is_plain() */
	bool		set_up;
	bool		refused;	/* a part of the setup was refused, which was printed */
	bool		not_started;	/* the program was not started because of that */
	bool		attached;	/* a program has joined, or it is not known */

	/* The program. */
	pid_t		pid;
	pid_t		waker;		/* of its last stop; 0: it has not been stopped */
	int		signal_fd;	/* while it runs: signals for it; 0: none; -1: none come */
	int		status;		/* as from waitpid() */
	bool		failed;		/* it could not be executed, which was printed */
};

/* Whether the session ends with the command. */
static inline bool run_is_private(const struct run *r)
{
	return !r->asked.session_name && !r->asked.mount_dir;
}

/* Whether the program must not start. */
static inline bool run_is_refused(const struct run *r)
{
	return r->refused && !r->keep_going;
}

/* ---- steps.c ---- */

/* The argument of --merge-delay. An exit status. */
int run_merge_delay(struct run *r, const char *text);
/* What -o and --cat want, and the summary. An exit status. */
int run_results(struct run *r);
/*
 * Ends the command and frees what it has. `status`: of the steps before. `failed`: something
 * besides the program went wrong. Returns an exit status, or ends this process as the program
 * ended.
 */
int run_end(struct run *r, int status, bool failed);

/* ---- agent.c ---- */

/*
 * Makes the value of LD_PRELOAD: the libraries of `old` (may be NULL), with the agent behind
 * sanitizers and before the others. The caller frees it. NULL: there is no agent, which was
 * printed.
 */
char *run_preload(const char *old);
/* The path of libtracefuse.so; the caller frees it. NULL: there is none. */
char *run_core(void);

/* ---- server.c: these print what is wrong and return an exit status ---- */

/* If there can be no session, prints nothing and sets r->untraced. */
int run_server_open(struct run *r);

/* ---- user.c ---- */

/*
 * --session USER:NAME: the session is NAME. Returns USER, which the caller frees; NULL: there is
 * none.
 */
char *run_user_split(struct run *r);
/* Lends the kernel's events to the user, and becomes the user. COMMAND_DONE or a status */
int run_user_serve(const char *user, const struct command *cmd);
/* Whether a request failed with `ret` because the server is gone. Sets r->untraced then. */
bool run_server_died(struct run *r, int ret);
/* The server died. Restores the session if that is possible. */
void run_server_again(struct run *r);
/* Lets the session outlive the command. 0 or -errno. */
int run_server_stay(struct run *r);
/* Whether --drain has a file to drain to. An exit status; prints what is wrong. */
int run_drain_check(const struct run *r);
/* --drain: the records go to disk from now on. The same */
int run_drain_begin(struct run *r);
void run_server_close(struct run *r);

/* ---- setup.c ---- */

/* Reads the scripts. Call it before anything is made. Returns an exit status. */
int run_setup_read(struct run *r);
void run_setup_free(struct run *r);
/* Makes a barrier: programs that attach from now on wait. Returns an exit status. */
int run_setup_barrier(struct run *r);
/* Ends the barrier: each program that waits goes on, and none waits any more. */
void run_setup_barrier_end(struct run *r);
/* r->barrier is readable: a program waits, or the server died. */
void run_setup_waits(struct run *r);
/* Applies -e and --setup. Later calls do nothing. */
void run_setup(struct run *r);

/* ---- wanted.c ---- */

/*
 * For a name of -e that means no event. True: it is a mistake, which was printed, and the command
 * does not wait for the event.
 */
bool run_wanted_event(struct run *r, const char *name);
/* Call it after the setup: prints the files of --cat that do not exist and never will. */
void run_wanted_files(struct run *r);

/* ---- functions.c ---- */

/* pattern: the text behind the =; NULL: none. 0, -ENOMEM */
int run_functions_add(struct run *r, bool graph, const char *pattern);
bool run_functions_asked(const struct run *r);
/*
 * The text of WIRE_BARRIER, from the options and the scripts: whether functions are asked for, and
 * those of which libraries. Programs look at that before a setup runs. The caller frees it. NULL:
 * out of memory.
 */
char *run_functions_barrier(const struct run *r);
/* Whether the next program that waits needs work. */
bool run_functions_wait(const struct run *r);
/* Call it for each program that waits. */
void run_functions_set(struct run *r);
/* Prints patterns that matched nothing. info: the answer of WIRE_INFO. */
void run_functions_summary(const struct run *r, const char *info);
void run_functions_free(struct run *r);

/* ---- child.c ---- */

/* Starts the program and waits for its end; sets r->status. Returns an exit status. */
int run_child(struct run *r);
/* While the program runs: passes signals on that have come. To be called in what takes long. */
void run_child_signals(const struct run *r);
/*
 * If the setup was refused and --keep-going was not given: kills the program, which waits before
 * its constructors, and sets r->not_started.
 */
void run_child_refuse(struct run *r);
/* Prints that. Returns COMMAND_FAILED. */
int run_child_not_started(const struct run *r);
/* Ends this process as the program ended. */
void run_child_die_like(int status) __attribute__((noreturn));

/* ---- stop.c ---- */

/* Stops this process by `sig`, like the program, until one of the two is continued. */
void run_stop_like(struct run *r, int sig);
bool run_stop_is(pid_t pid);

/* ---- dump.c ---- */

void run_dump(const struct run *r);

/* ---- unsaved.c ---- */

/* If results could not be written: lets the session stay, and prints commands that save them. */
void run_unsaved(struct run *r);

/* ---- summary.c ---- */

/* Reads what a session that is joined has counted: the summary is of what comes from now on. */
void run_summary_begin(struct run *r);
void run_summary(struct run *r);
/* How many records there were, the overwritten ones too. */
unsigned long long run_summary_recorded(const struct run *r);
/* Prints only the losses, such as of memory: they may be the reason why something was refused. */
void run_summary_lost(const struct run *r);

/* ---- next.c ---- */

/* Whether the command line asks for nothing: then the run records what costs little. */
bool run_next_is_plain(const struct run *r);
/*
 * If the session ends with the command and nothing prints what it has: says what was recorded, and
 * three commands to go on with. `recorded`: how many events were.
 */
void run_next(const struct run *r, unsigned long long recorded);
struct export_error;
typedef void (*run_recorded_fn)(void *arg, const struct export_summary *s);
/* Reads what the buffers hold, and calls fn with it. False: it could not be read, with *why. */
bool run_recorded(const struct run *r, run_recorded_fn fn, void *arg, struct export_error *why);

/* ---- losses.c ---- */

/*
 * Prints threads and programs that found no room or could not join. info: the answer of WIRE_INFO.
 */
void run_losses(const struct run *r, const char *info);

/* ---- crash.c ---- */

/* Checks that the file of --on-crash can be written. An exit status. */
int run_crash_begin(struct run *r);
/* The program has ended: saves the session's records if it crashed. An exit status. */
int run_crash_save(struct run *r);
void run_crash_end(struct run *r);

/* ---- flood.c ---- */

/* How often to call run_flood_look(), in ms; -1: never. */
int run_flood_ms(const struct run *r);
/* Switches an event off that comes too often. */
void run_flood_look(struct run *r);
/* The same, of those that another program has brought again. */
void run_flood_switch_off(const struct run *r);
/* Says which ones. */
void run_flood_print(const struct run *r);
void run_flood_free(struct run *r);

/* ---- watch.c ---- */

void run_watch_begin(struct run *r);
void run_watch_end(struct run *r);
/* -1: none. If it is readable, call run_watch_hear(). */
int run_watch_fd(const struct run *r);
/* Timeout for poll(), after which to call run_watch_ask(); -1: none. */
int run_watch_ms(const struct run *r);
void run_watch_ask(struct run *r);
void run_watch_hear(struct run *r);

#endif
