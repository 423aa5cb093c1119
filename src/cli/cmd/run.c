/* SPDX-License-Identifier: MIT */
/* run.c - `tracefuse run`: traces a program, which behaves as if it were not traced */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "access/access.h"
#include "cli/command.h"
#include "host/output.h"
#include "cli/run/run.h"
#include "session/session.h"
#include "sources/program/programs.h"

/* ---- the command line ---- */

enum {
	OPT_PROVIDERS = ASKED_OWN,
	OPT_KERNEL,
	OPT_KERNEL_NAMES,
	OPT_MERGE_DELAY,
	OPT_FUNCTION,
	OPT_GRAPH,
	OPT_ALL,
	OPT_KEEP_GOING,
	OPT_ON_CRASH,
	OPT_DRAIN
};

static const struct option long_options[] = {
	ASKED_OPTIONS,
	{ "providers", required_argument, NULL, OPT_PROVIDERS },
	{ "kernel", required_argument, NULL, OPT_KERNEL },
	{ "kernel-names", no_argument, NULL, OPT_KERNEL_NAMES },
	{ "merge-delay", required_argument, NULL, OPT_MERGE_DELAY },
	{ "function", optional_argument, NULL, OPT_FUNCTION },
	{ "graph", optional_argument, NULL, OPT_GRAPH },
	{ "all", no_argument, NULL, OPT_ALL },
	{ "keep-going", no_argument, NULL, OPT_KEEP_GOING },
	{ "on-crash", required_argument, NULL, OPT_ON_CRASH },
	{ "drain", no_argument, NULL, OPT_DRAIN },
	{ "quiet", no_argument, NULL, 'q' },
	{ NULL, 0, NULL, 0 },
};

static int parse_option(struct run *r, int opt, char **argv)
{
	switch (opt) {
	case OPT_PROVIDERS:
		r->systems = optarg;
		break;
	case OPT_KERNEL:
		r->kernel = true;
		if (asked_add_names(&r->asked, &r->kernel_events, optarg))
			return message_error("out of memory");
		break;
	case OPT_KERNEL_NAMES:
		r->kernel_names = true;
		break;
	case OPT_MERGE_DELAY:
		return run_merge_delay(r, optarg);
	case OPT_FUNCTION:
	case OPT_GRAPH:
		if (run_functions_add(r, opt == OPT_GRAPH, optarg))
			return message_error("out of memory");
		break;
	case OPT_ALL:
		r->functions.all = true;
		break;
	case OPT_KEEP_GOING:
		r->keep_going = true;
		break;
	case OPT_ON_CRASH:
		r->crash.file = optarg;
		break;
	case OPT_DRAIN:
		r->drain = true;
		break;
	case 'q':
		r->quiet = true;
		break;
	default:
		return asked_option(&r->asked, &command_run, opt, argv);
	}
	return COMMAND_DONE;
}

static int check_providers(const struct run *r)
{
	char *unknown = r->systems ? programs_unknown_system(r->systems) : NULL;
	int status = COMMAND_DONE;

	if (unknown)
		status = command_usage(&command_run, "--providers: there is no %s", unknown);
	free(unknown);
	return status;
}

/* --function and --graph print the trace, unless -o writes it to a file. */
static int add_trace(struct run *r)
{
	if (!run_functions_asked(r) || r->asked.dat_file)
		return COMMAND_DONE;
	for (unsigned int i = 0; i < r->asked.cats.nr; i++)
		if (!strcmp(r->asked.cats.v[i], "trace"))
			return COMMAND_DONE;
	return words_add(&r->asked.cats, "trace") ? message_error("out of memory") : COMMAND_DONE;
}

static int check_arguments(struct run *r)
{
	int status;

	if (!*r->program)
		return command_usage(&command_run, "which program?");
	if (r->merge_delay && !r->kernel)
		return command_usage(&command_run, "--merge-delay is for --kernel");
	status = run_drain_check(r);
	if (status)
		return status;
	if (r->drain && (r->crash.file || r->flight.asked))
		return command_usage(&command_run, "--drain leaves no records for %s",
				     r->crash.file ? "--on-crash" : "--over");
	status = add_trace(r);
	if (status)
		return status;
	status = asked_check(&r->asked, &command_run);
	r->plain = run_next_is_plain(r);
	return status ? status : check_providers(r);
}

static int run_parse_arguments(struct run *r, int argc, char **argv)
{
	int opt, status;

	optind = 0;
	/* "+": options behind the program's name belong to the program. */
	while ((opt = getopt_long(argc, argv, "+:e:o:q", long_options, NULL)) != -1) {
		status = parse_option(r, opt, argv);
		if (status)
			return status;
	}
	r->program = argv + optind;
	return check_arguments(r);
}

/* ---- before anything is made ---- */

static int find_program(struct run *r)
{
	const char *preload = getenv("LD_PRELOAD");

	run_check(r->program[0], preload, &r->check);
	if (r->check.status) {
		message_error("%s: %s", r->program[0], strerror(r->check.err));
		return r->check.status;
	}
	if (*r->check.untraced) {
		fprintf(stderr, "tracefuse: %s runs untraced: %s\n", r->program[0],
			r->check.untraced);
		return COMMAND_DONE;
	}
	r->preload = run_preload(preload);
	return r->preload ? COMMAND_DONE : COMMAND_FAILED;
}

static int run_prepare(struct run *r)
{
	int status = results_open(&r->results, &r->asked);

	if (!status)
		status = run_flight_begin(r);
	if (!status)
		status = run_crash_begin(r);
	if (!status)
		status = asked_mount(&r->asked, r->mount_dir);
	if (!status)
		status = run_setup_read(r);
	return status ? status : find_program(r);
}

/* ---- the order of the steps ---- */

/*
 * Runs the program without a session. If results were asked for, the exit status says that there
 * are none.
 */
static int run_untraced(struct run *r, bool *failed)
{
	fprintf(stderr, "tracefuse: %s runs untraced: %s\n", r->program[0], r->untraced);
	free(r->preload);
	r->preload = NULL;
	run_setup_barrier_end(r);
	run_server_close(r);
	*failed = r->asked.cats.nr || r->asked.dat_file || r->flight.asked;
	return run_child(r);
}

/* Returns 0 if the program ran; r->status is its end. *failed: something else went wrong. */
static int run_program(struct run *r, bool *failed)
{
	int status = run_server_open(r);

	if (!status)
		status = run_drain_begin(r);
	/* No barrier for a program that will never join. */
	if (!status && r->preload && !run_is_refused(r))
		status = run_setup_barrier(r);
	if (status && *r->untraced)
		return run_untraced(r, failed);
	if (status)
		return status;
	if (!r->preload && !run_is_refused(r))
		run_setup(r);
	if (run_is_refused(r))
		return run_child_not_started(r);
	status = run_child(r);
	run_setup_barrier_end(r);
	if (status || r->not_started)
		return status ? status : COMMAND_FAILED;
	/* The program never attached. The setup is done now, so that the files of --cat exist. */
	run_setup(r);
	*failed = run_flight_end(r) != COMMAND_DONE;
	*failed |= run_crash_save(r) != COMMAND_DONE;
	*failed |= run_results(r) != COMMAND_DONE || run_is_refused(r);
	return COMMAND_DONE;
}

int run_for(const struct command *cmd, int argc, char **argv, const struct flight_asked *asked)
{
	struct run r = {
		.command = &command_run, .lines_of = cmd, .life_fd = -1, .owner_fd = -1,
		.flight.asked = asked,
	};
	bool failed = false;
	int status;

	output_signals_ignore();
	status = run_parse_arguments(&r, argc, argv);
	if (!status)
		status = run_prepare(&r);
	if (!status)
		status = run_program(&r, &failed);
	return run_end(&r, status, failed);
}

static int run_main(int argc, char **argv)
{
	return run_for(NULL, argc, argv, NULL);
}

const struct command command_run = {
	.name = "run",
	.summary = "trace a program",
	.run = run_main,
	.help =
"usage: tracefuse run [options] [--] PROGRAM ARGUMENTS...\n"
"\n"
"Runs a program with the agent preloaded. Its events go through the triggers, filters\n"
"and buffers of a session: the events that it defines itself, and those that every\n"
"program has (heap, lock, thread, signal, syscalls). The program waits before its\n"
"constructors until the setup is done. Its children are traced as well.\n"
"\n"
"  -e, --event NAME,...        enable events: SYSTEM, EVENT or SYSTEM:EVENT, also with\n"
"                              * ? [ ]; all (repeatable)\n"
"  --function[=PATTERN]        trace calls of its functions, or of those that match\n"
"                              (repeatable): 'parse_*'; print the trace at the end\n"
"  --graph[=FUNCTION]          the same with the calls below and how long each takes;\n"
"                              or only that function and all below it (repeatable)\n"
"  --all                       the functions of all its libraries, too; of one:\n"
"                              --function='*:mod:libz.so*'\n"
"  --setup FILE                shell lines for the tracing directory, run before\n"
"                              the program begins (repeatable)\n"
"  --keep-going                start the program even if something of -e, --setup,\n"
"                              --cat or --boot was refused\n"
"  --cat FILE                  print a file of the tracing directory at the end\n"
"                              (repeatable)\n"
"  --draw                      draw the histograms among them as bars\n"
"  --as FORM                   print them as csv, json or folded stacks\n"
"  --save DIR                  the --cat files go there, / written as __\n"
"  -o, --output FILE           write what was recorded as a trace.dat (version 7)\n"
"  --drain                     write it while the program runs: more than the buffer has\n"
"  --compress                  the same, packed with zstd\n"
"  --on-crash FILE             the same, but only if the program crashes (SIGSEGV, SIGABRT\n"
"                              and others)\n"
"  --boot 'NAME=VALUE ...'     settings of a new session, as on a kernel's command\n"
"                              line: ftrace=function_graph ftrace_filter=foo*\n"
"  --kernel EVENT,...          have the running kernel's events, too, and enable these\n"
"                              (\"\": none); needs the right to use tracefs\n"
"  --providers LIST            only these systems of the events that every program\n"
"                              has: heap,lock; \"\" for none\n"
"  --kernel-names              show heap and thread events also as those of the\n"
"                              kernel: kmem:kmalloc, sched:sched_switch ...\n"
"  --merge-delay MS            how much later triggers run that look at events of\n"
"                              both: at most 100 ms by default\n"
"  --buffer-size SIZE          the buffer of each CPU, like 512K or 16M\n"
"  --session NAME              make the session NAME, which stays, or join it\n"
"  --mount DIR                 show the session's files in DIR, an empty directory\n"
"  --force                     mount also at a directory that is not empty\n"
"  --hist-legacy               histograms as they were printed in 2017\n"
"  -q, --quiet                 no summary at the end\n"
"\n"
"The exit status is the program's; 127 and 126 if it cannot be found or run. A\n"
"program that cannot be traced (static, setuid, 32-bit, with another C library) runs\n"
"untraced, and a sentence says why. The session ends with the program, unless it has\n"
"a name or is mounted; run does not wait for children that go on.\n"
"\n"
"Without options, the program's own events and waits for locks are recorded for the\n"
"summary.\n",
};
