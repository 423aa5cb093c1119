/* SPDX-License-Identifier: MIT */
/*
 * live.c - `tracefuse live`: the events of the running kernel behind the files of a session
 *
 *   with a command                    setup, the command, --cat files, end
 *   with --session or --mount         setup; a server stays
 *   with none of them                 setup, until Ctrl-C, --cat files, end
 *
 * The command itself is not traced by the agent: `tracefuse run --kernel` does both.
 */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/run/run.h"
#include "host/output.h"

enum { OPT_KEEP_GOING = ASKED_OWN, OPT_MERGE_DELAY, OPT_DRAIN };

static const struct option long_options[] = {
	ASKED_OPTIONS,
	{ "drain", no_argument, NULL, OPT_DRAIN },
	{ "keep-going", no_argument, NULL, OPT_KEEP_GOING },
	{ "merge-delay", required_argument, NULL, OPT_MERGE_DELAY },
	{ "quiet", no_argument, NULL, 'q' },
	{ NULL, 0, NULL, 0 },
};

static int live_parse_option(struct run *r, int opt, char **argv)
{
	switch (opt) {
	case OPT_KEEP_GOING:
		r->keep_going = true;
		return COMMAND_DONE;
	case OPT_MERGE_DELAY:
		return run_merge_delay(r, optarg);
	case OPT_DRAIN:
		r->drain = true;
		return COMMAND_DONE;
	case 'q':
		r->quiet = true;
		return COMMAND_DONE;
	default:
		return asked_option(&r->asked, &command_live, opt, argv);
	}
}

static int live_parse_arguments(struct run *r, int argc, char **argv)
{
	int opt, status;
	char *user;

	optind = 0;
	while ((opt = getopt_long(argc, argv, "+:e:o:q", long_options, NULL)) != -1) {
		status = live_parse_option(r, opt, argv);
		if (status)
			return status;
	}
	r->program = argv + optind;
	user = run_user_split(r);
	r->lent = user != NULL;
	status = asked_check(&r->asked, &command_live);
	if (!status)
		status = run_drain_check(r);
	if (!status && user)
		status = run_user_serve(user, &command_live);
	free(user);
	return status;
}

static int live_prepare(struct run *r)
{
	int status = results_open(&r->results, &r->asked);

	if (!status)
		status = asked_mount(&r->asked, r->mount_dir);
	if (!status)
		status = run_setup_read(r);
	if (status || !*r->program)
		return status;
	run_check(r->program[0], NULL, &r->check);
	if (r->check.status)
		message_error("%s: %s", r->program[0], strerror(r->check.err));
	return r->check.status;
}

static void wait_for_user(void)
{
	static const int ending[] = { SIGINT, SIGTERM, SIGQUIT };
	struct sigaction hangup;
	sigset_t set, before;
	int sig;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(ending) / sizeof(*ending); i++)
		sigaddset(&set, ending[i]);
	/* Not under nohup. */
	if (!sigaction(SIGHUP, NULL, &hangup) && hangup.sa_handler != SIG_IGN)
		sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, &before);
	sigwait(&set, &sig);
	/* What ends a command waits until the results are written. */
	output_signals_hold(&before);
}

/* The session is there, and set up. */
static int live_serve(struct run *r, bool *failed)
{
	int status = COMMAND_DONE;

	if (run_is_refused(r))
		return *r->program ? run_child_not_started(r) : COMMAND_FAILED;
	if (*r->program)
		status = run_child(r);
	else if (run_is_private(r))
		wait_for_user();
	else if (!r->asked.cats.nr && !r->asked.dat_file)
		return COMMAND_DONE;
	if (!status)
		*failed = run_results(r) != COMMAND_DONE || r->refused;
	return status;
}

static int live_session(struct run *r, bool *failed)
{
	int status = run_server_open(r);

	if (*r->untraced)
		return message_error("live: %s", r->untraced);
	if (!status)
		status = run_drain_begin(r);
	if (status)
		return status;
	if (!run_is_refused(r))
		run_setup(r);
	return live_serve(r, failed);
}

static int live_main(int argc, char **argv)
{
	struct run r = { .command = &command_live, .systems = "", .kernel = true,
			 .life_fd = -1, .owner_fd = -1 };
	bool failed = false;
	int status;

	output_signals_ignore();
	status = live_parse_arguments(&r, argc, argv);
	if (!status)
		status = live_prepare(&r);
	if (!status)
		status = live_session(&r, &failed);
	return run_end(&r, status, failed);
}

const struct command command_live = {
	.name = "live",
	.summary = "trace the running kernel",
	.run = live_main,
	.help =
"usage: tracefuse live [options] [--] [COMMAND ARGUMENTS...]\n"
"\n"
"The events of the running kernel go through the triggers, filters and buffers of a\n"
"session: histograms and synthetic events for kernels that were built without them.\n"
"An event is enabled in the kernel while the session needs it, in an instance of its\n"
"own, which goes with the session. Needs the right to read and write tracefs.\n"
"\n"
"With COMMAND the session ends when that ends; without one at Ctrl-C.\n"
"\n"
"  -e, --event NAME,...        enable events: SYSTEM, EVENT or SYSTEM:EVENT, also with\n"
"                              * ? [ ]; all (repeatable)\n"
"  --setup FILE                shell lines for the tracing directory, run before\n"
"                              COMMAND (repeatable)\n"
"  --merge-delay MS            how much later triggers run that look at events of\n"
"                              programs, too: at most 100 ms by default\n"
"  --keep-going                go on also when something of -e, --setup, --cat or\n"
"                              --boot was refused\n"
"  --cat FILE                  print a file of the tracing directory at the end\n"
"                              (repeatable)\n"
"  --draw                      draw the histograms among them as bars\n"
"  --as FORM                   print them as csv, json or folded stacks\n"
"  --save DIR                  the --cat files go there, / written as __\n"
"  -o, --output FILE           write what was recorded as a trace.dat (version 7)\n"
"  --drain                     write it while events come: more than the buffer has room\n"
"                              for\n"
"  --compress                  the same, packed with zstd\n"
"  --boot 'NAME=VALUE ...'     settings of a new session, as on a kernel's command\n"
"                              line: trace_event=sched:sched_switch\n"
"  --buffer-size SIZE          the buffer of each CPU, like 512K or 16M\n"
"  --session NAME              make the session NAME, which stays, or join it\n"
"  --session USER:NAME         the same for a user: root lends the kernel's events\n"
"  --mount DIR                 show the session's files in DIR, an empty directory\n"
"  --force                     also in one that is not empty\n"
"  --hist-legacy               histograms as they were printed in 2017\n"
"  -q, --quiet                 no summary at the end\n"
"\n"
"The exit status is COMMAND's; 127 and 126 if it cannot be found or run, 1 if the\n"
"kernel's events cannot be had. `tracefuse run --kernel` traces a program, too.\n",
};
