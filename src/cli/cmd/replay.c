/* SPDX-License-Identifier: MIT */
/*
 * replay.c - `tracefuse replay`: puts a recorded trace through a session
 *
 *   without --session and --mount     setup, all records, --cat files, end
 *   with one of them                  setup; a server stays, and its file `replay` decides when
 *                                     records flow
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "access/access.h"
#include "cli/asked.h"
#include "server/boot.h"
#include "cli/command.h"
#include "cli/event_names.h"
#include "cli/progress.h"
#include "server/function_list.h"
#include "host/input.h"
#include "host/mounts.h"
#include "host/output.h"
#include "cli/replay_session.h"
#include "cli/summary/summary.h"
#include "cli/results.h"
#include "server/server.h"
#include "setup/setup.h"
#include "setup/shell.h"
#include "host/terminal.h"
#include "model/model.h"
#include "session/session.h"
#include "sources/recording/source.h"
#include "tracefs/tree.h"

enum {
	STEP_RECORDS	= 1 << 18,	/* records between two looks at the clock, up to a stop */
	MEMORY_SPARE	= 1 << 30,	/* for everything except rings */
	MEMORY_LEAST	= 64 << 20,
};

struct replay {
	/* The command's arguments. */
	struct asked	asked;
	bool		partial, quiet;
	/* See replay_for(); NULL: replay itself. */
	const struct command *strict_for;
	const char	*needs;
	uint64_t	memory;		/* --memory; 0: the default */
	const char	*functions;	/* NULL: the recording has none */
	struct words	files, buffers;
	struct words	at_events, at_scripts;	/* pairs of both */

	struct replay_session made;
	struct results	results;
	bool		reader_left;	/* of stdout, and nothing else is lost */
	char		mount_dir[PATH_MAX];	/* "": none */
	struct server	*server;
	pthread_mutex_t	alone;		/* the control lock as long as there is no server */
};

static bool serves(const struct replay *r)
{
	return r->asked.session_name || r->asked.mount_dir;
}

static void free_words(struct replay *r)
{
	free(r->files.v);
	free(r->buffers.v);
	asked_free(&r->asked);
	free(r->at_events.v);
	free(r->at_scripts.v);
}

/* ---- the command line ---- */

enum { OPT_AT = ASKED_OWN, OPT_PARTIAL, OPT_BUFFER, OPT_FUNCTIONS, OPT_MEMORY, OPT_DRAIN };

static const struct option long_options[] = {
	ASKED_OPTIONS,
	{ "at", required_argument, NULL, OPT_AT },
	{ "drain", no_argument, NULL, OPT_DRAIN },
	{ "partial", no_argument, NULL, OPT_PARTIAL },
	{ "buffer", required_argument, NULL, OPT_BUFFER },
	{ "functions", required_argument, NULL, OPT_FUNCTIONS },
	{ "memory", required_argument, NULL, OPT_MEMORY },
	{ "quiet", no_argument, NULL, 'q' },
	{ NULL, 0, NULL, 0 },
};

static int add_at(struct replay *r, int argc, char **argv)
{
	if (optind >= argc)
		return command_usage(&command_replay, "--at needs an event and a script");
	if (words_add(&r->at_events, optarg) || words_add(&r->at_scripts, argv[optind++]))
		return message_error("out of memory");
	return COMMAND_DONE;
}

static int set_memory(struct replay *r, const char *text)
{
	uint64_t value;

	if (!asked_size(text, &value))
		return command_usage(&command_replay, "--memory %s: a size is like 512M or 4G",
				     text);
	if (value < MEMORY_LEAST)
		return command_usage(&command_replay, "--memory %s: the minimum is 64M", text);
	r->memory = value;
	return COMMAND_DONE;
}

static int parse_option(struct replay *r, int opt, int argc, char **argv)
{
	switch (opt) {
	case 'q':
		r->quiet = true;
		return COMMAND_DONE;
	case OPT_PARTIAL:
		r->partial = true;
		return COMMAND_DONE;
	case OPT_BUFFER:
		return words_add(&r->buffers, optarg) ? message_error("out of memory")
						      : COMMAND_DONE;
	case OPT_FUNCTIONS:
		r->functions = optarg;
		return COMMAND_DONE;
	case OPT_MEMORY:
		return set_memory(r, optarg);
	case OPT_DRAIN:
		return command_usage(&command_replay, "--drain is for what records meanwhile; here "
				     "--buffer-size makes room for all records");
	case OPT_AT:
		return add_at(r, argc, argv);
	default:
		return asked_option(&r->asked, &command_replay, opt, argv);
	}
}

static int replay_parse_arguments(struct replay *r, int argc, char **argv)
{
	int opt, status;

	optind = 0;
	while ((opt = getopt_long(argc, argv, ":e:o:q", long_options, NULL)) != -1) {
		status = parse_option(r, opt, argc, argv);
		if (status)
			return status;
	}
	while (optind < argc)
		if (words_add(&r->files, argv[optind++]))
			return message_error("out of memory");
	if (!r->files.nr)
		return command_usage(&command_replay, "which recording?");
	return asked_check(&r->asked, &command_replay);
}

/* ---- making the session ---- */

static struct source_params params_of(const struct replay *r)
{
	return (struct source_params){
		.files = r->files.v, .nr_files = r->files.nr,
		.buffers = r->buffers.v, .nr_buffers = r->buffers.nr, .partial = r->partial,
		.memory = r->memory,
	};
}

static int open_source(struct replay *r)
{
	struct source_params params = params_of(r);
	struct source_error err;

	return source_open(&params, &r->made.source, &err) ? replay_session_failed(NULL, &err)
							   : COMMAND_DONE;
}

/*
 * Address space for the rings of a live and a snapshot buffer. Memory is allocated when it is used.
 */
static uint64_t memory_wanted(const struct replay *r)
{
	const uint64_t most = source_session_bytes(r->made.source), usual = 4ull << 30;
	uint64_t bytes = MEMORY_SPARE;
	uint32_t cpu;

	for (cpu = 0; cpu < source_nr_cpus(r->made.source); cpu++)
		bytes += 2 * source_ring_bytes(r->made.source, cpu);
	if (bytes < usual)
		bytes = usual;
	return bytes < most ? bytes : most;
}

static int load_functions(struct replay *r)
{
	int ret = r->functions ? function_list_load(r->made.model, r->functions) : 0;

	if (ret == -EINVAL)
		return message_error("%s: not a list of functions like available_filter_functions",
				     r->functions);
	return ret ? message_error("%s: %s", r->functions, input_error(-ret)) : COMMAND_DONE;
}

static int make_session(struct replay *r)
{
	struct session_params shape = {
		.nr_cpus = source_nr_cpus(r->made.source), .memory = memory_wanted(r),
	};
	struct source_params params = params_of(r);
	struct source_error err;
	uint64_t object = 0;
	int ret;

	ret = session_create(r->asked.session_name, &shape, &r->made.session);
	/* A session of that name whose server is dead is removed. */
	if (ret == -EEXIST && !session_remove_stale(r->asked.session_name))
		ret = session_create(r->asked.session_name, &shape, &r->made.session);
	if (ret == -EEXIST)
		return message_error(
			"there is a session %s already: `tracefuse sessions` lists them",
			r->asked.session_name);
	if (ret)
		return message_error("cannot make the session: %s", session_error(ret));
	ret = model_create(r->made.session, &r->made.model);
	if (ret)
		return message_error("cannot make the session: %s", session_error(ret));
	if (source_import(r->made.source, r->made.model, &err))
		return replay_session_failed(NULL, &err);
	if (r->asked.session_name && source_save(r->made.source, &params))
		return message_error("out of memory");
	r->made.model->hist_legacy = r->asked.hist_legacy;
	if (r->asked.hist_legacy &&
	    saved_add(r->made.model, r->made.model->top, SERVER_HIST_LEGACY, "", NULL, 0,
			     &object))
		return message_error("out of memory");
	r->made.tree = tree_create(r->made.model);
	r->made.access = r->made.tree ? access_tree(r->made.tree, &r->alone) : NULL;
	return r->made.access ? COMMAND_DONE : message_error("out of memory");
}

static void replay_destroy(struct replay *r)
{
	if (r->made.source)
		source_serve_end(r->made.source);
	if (r->server)
		server_destroy(r->server);
	replay_session_destroy(&r->made);
	pthread_mutex_destroy(&r->alone);
	results_close(&r->results);
	free_words(r);
}

/* ---- setup ---- */

/* Finds names that are almost the unknown one. */
static void find_near(struct replay *r, const char *name, char *hint, size_t size)
{
	char near[256] = "", *lines;
	size_t len;

	if (!access_read_all(r->made.access, "available_events", &lines, &len)) {
		event_names_judge(lines, name, near, sizeof(near));
		free(lines);
	}
	event_names_hint(near, hint, size);
}

/* Enables the events of one name of -e. */
static int enable_event(struct replay *r, const char *name)
{
	int ret = event_names_enable(r->made.access, name);
	char hint[300];

	/* A recording may have nothing but markers and calls of functions: those are always on. */
	if (ret == -EINVAL && !strcmp(name, "all"))
		return COMMAND_DONE;
	if (ret == -EINVAL) {
		find_near(r, name, hint, sizeof(hint));
		return message_error("the recording has no event %s%s", name, hint);
	}
	return ret ? message_error("set_event: %s", strerror(-ret)) : COMMAND_DONE;
}

/* Enables all events of the recording, and stacks. */
static int enable_all(struct replay *r)
{
	const char *step;
	int ret = access_write_all(r->made.access, "events/enable", O_TRUNC, "1\n", 2, &step);

	source_keep_stacks(r->made.source);
	if (ret == -EINVAL)
		ret = 0;	/* it has no events: only markers */
	if (!ret)
		ret = access_write_all(r->made.access, "options/stacktrace", O_TRUNC, "1\n", 2,
				       &step);
	return ret ? message_error("events/enable: %s", strerror(-ret)) : COMMAND_DONE;
}

/* The session has a server only while the shell runs. */
static int run_shell(void *arg, const char *name, const char *text)
{
	struct replay *r = arg;
	struct server_params params = {
		.session = r->made.session, .model = r->made.model, .tree = r->made.tree,
		.what = "setting up",
	};

	return setup_shell_serve(&params, name, text);
}

static int run_script(struct replay *r, const char *file)
{
	struct setup_params params = {
		.access = r->made.access, .name = r->strict_for ? r->strict_for->name : file,
		.shell = run_shell, .shell_arg = r,
	};
	int ret = setup_run_file(&params, file);

	/* Commands that failed have printed errors, and the script has continued. */
	if (ret == -ENOEXEC)
		return COMMAND_FAILED;
	if (ret > 0 && r->strict_for)
		return message_error("%s: the recording was not read: a line was refused%s%s",
				     r->strict_for->name, r->needs ? "; " : "",
				     r->needs ? r->needs : "");
	return ret < 0 ? message_error("%s: %s", file, input_error(-ret)) : COMMAND_DONE;
}

/*
 * Applies --boot. A parameter whose event or function the recording lacks is reported, because it
 * can never appear.
 */
static int replay_boot(struct replay *r)
{
	char *text = asked_boot(&r->asked.boots);
	struct boot *b = text ? boot_create("tracefuse: boot: ") : NULL;
	int ret = !text ? 0 : b ? boot_add(b, text, stderr) : -ENOMEM;
	struct boot_params params = { .access = r->made.access, .last = true, .out = stderr };

	if (b && !ret && boot_apply(b, &params))
		boot_print_waiting(b, "tracefuse: boot: the recording has nothing for ", stderr);
	boot_destroy(b);
	free(text);
	return ret ? message_error("out of memory") : COMMAND_DONE;
}

static int set_up(struct replay *r)
{
	unsigned int i;
	int status = replay_boot(r);

	if (!status)
		status = asked_buffer_set(&r->asked, r->made.access);
	/* With -o alone, the file gets the whole recording. */
	if (!status && r->asked.dat_file && !r->asked.events.nr && !r->asked.setups.nr &&
	    !r->at_events.nr)
		status = enable_all(r);
	for (i = 0; i < r->asked.events.nr && !status; i++)
		status = enable_event(r, r->asked.events.v[i]);
	for (i = 0; i < r->asked.setups.nr && !status; i++)
		status = run_script(r, r->asked.setups.v[i]);
	fflush(stdout);
	return status;
}

/* ---- running ---- */

/* Runs up to the present stop or the end. Returns the last result of source_step(). */
static int run_on(struct replay *r, struct progress *p)
{
	int ret;

	while ((ret = source_step(r->made.source, STEP_RECORDS)) == 1)
		progress_show(p);
	return ret;
}

static int run_stops(struct replay *r, struct progress *p)
{
	struct source_error err;
	unsigned int i;
	int ret = 1, status;

	for (i = 0; i < r->at_events.nr; i++) {
		if (source_stop_at(r->made.source, r->at_events.v[i], &err))
			return replay_session_failed(NULL, &err);
		ret = run_on(r, p);
		if (ret < 0)
			return COMMAND_DONE;	/* run_all() reports the damage */
		if (ret != 2) {
			progress_end(p);
			fprintf(stderr, "tracefuse: --at: no further %s\n", r->at_events.v[i]);
			return COMMAND_DONE;
		}
		status = run_script(r, r->at_scripts.v[i]);
		if (status)
			return status;
	}
	return source_stop_at(r->made.source, NULL, NULL) ? COMMAND_FAILED : COMMAND_DONE;
}

static int run_all(struct replay *r)
{
	const struct source_error *damage;
	struct progress p;
	int ret, status;

	progress_begin(&p, "replay", r->made.source, r->quiet);
	status = run_stops(r, &p);
	if (status)
		return status;
	ret = source_run(r->made.source, progress_show, &p);
	progress_end(&p);
	damage = source_damage(r->made.source);
	if (damage) {
		replay_session_failed(NULL, damage);
		if (r->partial)
			fprintf(stderr, "tracefuse: the results are of the readable part\n");
	}
	if (ret < 0 && !damage)
		return message_error("the replay failed: %s%s", strerror(-ret),
				     ret == -ENOMEM ? ": see --memory" : "");
	return ret < 0 ? COMMAND_FAILED : COMMAND_DONE;
}

/* ---- results ---- */

static bool asked_for_nothing(const struct replay *r)
{
	const struct asked *a = &r->asked;

	return !r->quiet && !serves(r) && !a->setups.nr && !a->cats.nr && !a->events.nr &&
	       !a->boots.nr && !a->dat_file && !r->at_events.nr && !getenv("TRACEFUSE_BOOT");
}

static int run_and_print(struct replay *r)
{
	int status = run_all(r);

	if (!status && asked_for_nothing(r))
		status = replay_summary(&r->made, &r->files);
	r->results.quiet = r->quiet;
	if (!status)
		status = results_write(&r->results, r->made.access, source_uname(r->made.source));
	if (r->results.unsaved_dat || r->results.unsaved_cats)
		fprintf(stderr,
			"tracefuse: the recording is unchanged: replay it again, with another "
			"place for the output\n");
	r->reader_left = r->results.reader_left && !serves(r);
	results_print_losses(r->made.source);
	return status;
}

/* ---- a session that stays ---- */

static int replay_serve(struct replay *r)
{
	char what[256];
	struct server_params params = {
		.session = r->made.session, .model = r->made.model, .tree = r->made.tree,
		.what = what,
		.end_unmounted = !r->asked.session_name, .uname = source_uname(r->made.source),
	};
	int ret;

	snprintf(what, sizeof(what), "replay %s%s", r->files.v[0], r->files.nr > 1 ? " ..." : "");
	ret = server_create(&params, &r->server);
	if (ret)
		return message_error("cannot serve the session: %s", strerror(-ret));
	ret = source_serve(r->made.source, r->made.tree, server_lock(r->server));
	if (ret)
		return message_error("cannot serve the recording: %s", strerror(-ret));
	if (*r->mount_dir) {
		ret = server_mount(r->server, r->mount_dir);
		if (ret)
			return mounts_failed(r->asked.mount_dir, ret);
	}
	server_ready();
	ret = server_run(r->server);
	return ret ? COMMAND_FAILED : COMMAND_DONE;
}

static int replay(struct replay *r)
{
	int status = results_open(&r->results, &r->asked);

	if (!status)
		status = asked_mount(&r->asked, r->mount_dir);
	if (!status)
		status = open_source(r);
	if (!status)
		status = make_session(r);
	if (!status)
		status = load_functions(r);
	if (!status)
		status = set_up(r);
	if (status)
		return status;
	if (!serves(r))
		return run_and_print(r);
	/* Results are wanted, too: all records pass first, then the session stays at the end. */
	if (r->asked.cats.nr || r->at_events.nr || r->asked.dat_file)
		status = run_and_print(r);
	results_close(&r->results);
	return status ? status : replay_serve(r);
}

static int replay_run_with(struct replay *r, int argc, char **argv)
{
	int status, ret;

	output_signals_ignore();
	status = replay_parse_arguments(r, argc, argv);
	if (status) {
		free_words(r);
		return status;
	}
	/* Before anything is made, because the server is a process of its own. */
	ret = serves(r) ? server_background(-1) : 0;
	if (ret) {
		free_words(r);
		return message_error("cannot start a server: %s", strerror(-ret));
	}
	status = replay(r);
	replay_destroy(r);
	if (r->reader_left)
		output_signals_die();
	return status;
}

static int replay_run(int argc, char **argv)
{
	struct replay r = { .alone = PTHREAD_MUTEX_INITIALIZER };

	return replay_run_with(&r, argc, argv);
}

int replay_for(const struct command *cmd, const char *needs, int argc, char **argv)
{
	struct replay r = {
		.alone = PTHREAD_MUTEX_INITIALIZER, .strict_for = cmd, .needs = needs,
	};

	return replay_run_with(&r, argc, argv);
}

const struct command command_replay = {
	.name = "replay",
	.summary = "put a recorded trace (trace.dat) through a session",
	.run = replay_run,
	.help =
"usage: tracefuse replay [options] RECORDING...\n"
"\n"
"Lets the events of a recording (trace.dat, version 6 or 7, made by trace-cmd)\n"
"pass through the triggers, filters and buffers of a session, as if the kernel\n"
"that recorded them ran again. Several recordings are merged by time: trace.dat\n"
"and snapshot.dat of one window.\n"
"\n"
"  -e, --event NAME,...        enable events: SYSTEM, EVENT or SYSTEM:EVENT, also with\n"
"                              * ? [ ]; all (repeatable)\n"
"  --setup FILE                shell lines for the tracing directory, run before\n"
"                              the first event (repeatable)\n"
"  --at 'SYSTEM:EVENT if FILTER' SCRIPT\n"
"                              stop before the next such event, run the script,\n"
"                              go on (repeatable, in order)\n"
"  --boot 'NAME=VALUE ...'     settings of the session, as on a kernel's command line\n"
"  --cat FILE                  print a file of the tracing directory at the end\n"
"                              (repeatable)\n"
"  --draw                      draw the histograms among them as bars\n"
"  --as FORM                   print them as csv, json or folded stacks\n"
"  --save DIR                  the --cat files go there, / written as __\n"
"  -o, --output FILE           write what was recorded as a trace.dat (version 7);\n"
"                              without -e, --setup and --at all that it has\n"
"  --compress                  the same, packed with zstd\n"
"  --session NAME              make the session NAME, which stays\n"
"  --mount DIR                 show the session's files in DIR, an empty directory\n"
"  --force                     mount also at a directory that is not empty\n"
"  --buffer NAME               take only this buffer of the recording; \"\" is the\n"
"                              top one (repeatable)\n"
"  --functions FILE            the functions that the kernel could trace, as its\n"
"                              available_filter_functions lists them, for\n"
"                              set_ftrace_filter, set_graph_function and the like;\n"
"                              without it, those of the recording's kallsyms\n"
"  --buffer-size SIZE          the buffer of each CPU, like 512K or 16M; without it all\n"
"                              records have room\n"
"  --memory SIZE               the memory that the replay may take, like 512M or 4G\n"
"                              (usually half of the machine's); if the records need\n"
"                              more, the newest stay\n"
"  --hist-legacy               histograms as they were printed in 2017: a line with\n"
"                              Duplicates, and in `hist` the last error\n"
"  -q, --quiet                 no summary of a recording of which nothing was asked\n"
"  --partial                   use what can be read of a damaged recording\n"
"\n"
"With --session or --mount the command returns at once. Then the session's file\n"
"`replay` controls the recording: write start, stop, rewind or position N. Reading\n"
"it shows the position. With --cat, --at or -o as well all events\n"
"flow first.\n",
};
