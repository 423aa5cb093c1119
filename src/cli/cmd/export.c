/* SPDX-License-Identifier: MIT */
/*
 * export.c - `tracefuse export`: records and histograms in forms that other tools read
 *
 *     records                     cli/export/records.c
 *     a histogram of a session    cli/export/hist.c
 *     a histogram of recordings   `tracefuse replay --as FORM --setup FILE --cat HIST`
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "access/access.h"
#include "cli/client.h"
#include "cli/draw/draw.h"
#include "cli/export/export.h"
#include "host/output.h"

enum { OPT_HIST = 256, OPT_COUNTER, OPT_BUFFER, OPT_SETUP, OPT_PARTIAL };

static const struct option long_options[] = {
	{ "output", required_argument, NULL, 'o' },
	{ "session", required_argument, NULL, 's' },
	{ "hist", required_argument, NULL, OPT_HIST },
	{ "setup", required_argument, NULL, OPT_SETUP },
	{ "counter", required_argument, NULL, OPT_COUNTER },
	{ "buffer", required_argument, NULL, OPT_BUFFER },
	{ "partial", no_argument, NULL, OPT_PARTIAL },
	{ NULL, 0, NULL, 0 },
};

/* ---- the command line ---- */

static int export_option(struct export_asked *e, int opt, char **argv)
{
	int err = 0;

	switch (opt) {
	case 'o':
		e->file = optarg;
		break;
	case 's':
		e->session = optarg;
		break;
	case OPT_HIST:
		e->hist = optarg;
		break;
	case OPT_SETUP:
		err = words_add(&e->setups, optarg);
		break;
	case OPT_COUNTER:
		err = words_add(&e->counters, optarg);
		break;
	case OPT_BUFFER:
		err = words_add(&e->buffers, optarg);
		break;
	case OPT_PARTIAL:
		e->partial = true;
		break;
	case ':':
		return command_usage(&command_export, "%s needs an argument", argv[optind - 1]);
	default:
		return command_unknown_option(&command_export, argv[optind - 1]);
	}
	return err ? message_error("out of memory") : COMMAND_DONE;
}

static bool is_recording(const char *name)
{
	struct stat st;

	return !stat(name, &st) && S_ISREG(st.st_mode);
}

static int export_target(struct export_asked *e, const char *name)
{
	if (is_recording(name))
		return words_add(&e->recordings, name) ? message_error("out of memory")
						       : COMMAND_DONE;
	if (e->session)
		return command_usage(&command_export, "%s: there is no such file", name);
	if (strchr(name, '/'))
		return message_error("export: %s: %s", name, strerror(ENOENT));
	e->session = name;
	return COMMAND_DONE;
}

/* SYSTEM:EVENT is its file hist. The caller frees *made. */
static int export_hist_name(struct export_asked *e, char **made)
{
	const char *colon = strchr(e->hist, ':');

	if (!colon && draw_is_hist(e->hist))
		return COMMAND_DONE;
	if (!colon || strchr(e->hist, '/'))
		return command_usage(&command_export,
				     "--hist %s: give SYSTEM:EVENT, or events/SYSTEM/EVENT/hist",
				     e->hist);
	if (asprintf(made, "events/%.*s/%s/hist", (int)(colon - e->hist), e->hist, colon + 1) < 0) {
		*made = NULL;
		return message_error("out of memory");
	}
	e->hist = *made;
	return COMMAND_DONE;
}

static int export_check(const struct export_asked *e)
{
	const bool records = export_form_known(e->form);

	if (!records && !hist_form_known(e->form))
		return command_usage(&command_export,
				     "%s: there are chrome, perfetto, folded, csv and json",
				     e->form);
	if (e->hist && !hist_form_known(e->form))
		return command_usage(&command_export, "--hist is for csv, json and folded");
	if (!e->hist && !records)
		return command_usage(&command_export, "%s of which histogram? Give --hist EVENT",
				     e->form);
	if (e->session && e->recordings.nr)
		return command_usage(&command_export,
				     "a session and recordings are each for themselves");
	if (e->setups.nr && (!e->hist || !e->recordings.nr))
		return command_usage(&command_export, "--setup is for --hist of a recording");
	if (e->hist && e->recordings.nr && !e->setups.nr)
		return command_usage(&command_export,
				     "--hist of a recording: give its trigger with --setup FILE");
	if (e->hist && e->counters.nr)
		return command_usage(&command_export, "--counter is for records");
	if (!e->recordings.nr && (e->partial || e->buffers.nr))
		return command_usage(&command_export, "--partial and --buffer are for recordings");
	return COMMAND_DONE;
}

static int export_parse(struct export_asked *e, int argc, char **argv, char **made)
{
	int opt, status = COMMAND_DONE;

	optind = 0;
	while (!status && (opt = getopt_long(argc, argv, ":o:s:", long_options, NULL)) != -1)
		status = export_option(e, opt, argv);
	if (!status && optind == argc)
		return command_usage(&command_export, "in which form?");
	if (!status)
		e->form = argv[optind++];
	for (; !status && optind < argc; optind++)
		status = export_target(e, argv[optind]);
	if (!status && e->hist)
		status = export_hist_name(e, made);
	return status ? status : export_check(e);
}

/* ---- histograms ---- */

static int session_hist(const struct export_asked *e)
{
	struct access *a = client_connect_to(&command_export, e->session);
	int status = a ? hist_form_file(a, e->hist, e->form) : COMMAND_FAILED;

	if (a)
		access_close(a);
	return status;
}

static int add_pairs(struct words *to, const char *option, const struct words *arguments)
{
	int err = 0;

	for (unsigned int i = 0; !err && i < arguments->nr; i++) {
		err = words_add(to, option);
		err = err ? err : words_add(to, arguments->v[i]);
	}
	return err;
}

static int recording_hist(const struct export_asked *e)
{
	const char *first[] = { "replay", "--as", e->form, "--cat", e->hist };
	struct words argv = { 0 };
	int err = 0, status;

	for (unsigned int i = 0; !err && i < sizeof(first) / sizeof(*first); i++)
		err = words_add(&argv, first[i]);
	err = err ? err : add_pairs(&argv, "--setup", &e->setups);
	err = err ? err : add_pairs(&argv, "--buffer", &e->buffers);
	if (!err && e->partial)
		err = words_add(&argv, "--partial");
	err = err ? err : words_add(&argv, "--");
	for (unsigned int i = 0; !err && i < e->recordings.nr; i++)
		err = words_add(&argv, e->recordings.v[i]);
	err = err ? err : words_add(&argv, NULL);
	status = err ? message_error("out of memory")
		     : command_replay.run((int)argv.nr - 1, (char **)argv.v);
	free(argv.v);
	return status;
}

/* ---- where it goes ---- */

static int export_hist(const struct export_asked *e)
{
	return e->recordings.nr ? recording_hist(e) : session_hist(e);
}

/* A stream of its own has errors of its own. */
static int to_stdout(const struct export_asked *e)
{
	int fd, status;
	FILE *out;

	if (e->hist)
		return export_hist(e);
	/* To write nothing fails only if stdout is closed. */
	fd = write(STDOUT_FILENO, "", 0) ? -1 : fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	out = fd >= 0 ? fdopen(fd, "w") : NULL;
	if (!out)
		return message_error("export: cannot write: %s", strerror(errno));
	status = export_records(e, out);
	if (fclose(out) && !status)
		status = message_error("export: cannot write: %s", strerror(errno));
	return status;
}

/* What prints to stdout prints to the file. */
static int hist_to_file(const struct export_asked *e, FILE *out)
{
	const int old = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	int status = COMMAND_FAILED;

	if (fflush(stdout) || dup2(fileno(out), STDOUT_FILENO) < 0)
		return message_error("export: -o %s: %s", e->file, strerror(errno));
	status = export_hist(e);
	if (message_flush())
		status = COMMAND_FAILED;
	if (old >= 0)
		dup2(old, STDOUT_FILENO);
	else
		close(STDOUT_FILENO);
	if (old >= 0)
		close(old);
	return status;
}

/* A recording that is replaced by another form of it is lost. */
static int check_other_file(const struct export_asked *e)
{
	struct stat out, in;

	if (stat(e->file, &out))
		return COMMAND_DONE;
	for (unsigned int i = 0; i < e->recordings.nr; i++)
		if (!stat(e->recordings.v[i], &in) && in.st_dev == out.st_dev &&
		    in.st_ino == out.st_ino)
			return message_error("export: -o %s: it is the recording itself", e->file);
	return COMMAND_DONE;
}

static int to_file(const struct export_asked *e)
{
	struct output *o;
	FILE *out;
	int ret = output_open(e->file, &o), status;

	if (ret)
		return message_error("export: -o %s: %s", e->file, strerror(-ret));
	out = output_begin(o);
	if (!out) {
		status = message_error("export: -o %s: %s", e->file, strerror(errno));
	} else {
		status = e->hist ? hist_to_file(e, out) : export_records(e, out);
		ret = output_end(o, !status);
		if (ret && !status)
			status = message_error("export: -o %s: %s", e->file, strerror(-ret));
	}
	output_close(o);
	return status;
}

static int export_run(int argc, char **argv)
{
	struct export_asked e = { .form = NULL };
	char *made = NULL;
	int status = export_parse(&e, argc, argv, &made);

	if (!status && e.file)
		output_signals_ignore();
	if (!status)
		status = e.file ? check_other_file(&e) : COMMAND_DONE;
	if (!status)
		status = e.file ? to_file(&e) : to_stdout(&e);
	free(made);
	free(e.counters.v);
	free(e.buffers.v);
	free(e.setups.v);
	free(e.recordings.v);
	return status;
}

const struct command command_export = {
	.name = "export",
	.summary = "write records or histograms in the forms of other tools",
	.run = export_run,
	.help =
"usage: tracefuse export FORM [options] [SESSION | RECORDING...]\n"
"       tracefuse export FORM --hist EVENT [options] [SESSION]\n"
"       tracefuse export FORM --hist EVENT --setup FILE [options] RECORDING...\n"
"\n"
"Writes what a session has recorded, or a recording (trace.dat), in a form that\n"
"other tools read, to stdout. FORM is one of\n"
"\n"
"  chrome    JSON of trace events: for ui.perfetto.dev, speedscope, chrome://tracing\n"
"  perfetto  the same as protobuf: for ui.perfetto.dev and trace_processor\n"
"  folded    a line for each stack: for flamegraph.pl, inferno, speedscope. Calls of\n"
"            functions by the time that they took themselves, in ns; without calls,\n"
"            recorded stacks by how often they came\n"
"  csv       with --hist: a row for each entry\n"
"  json      with --hist: as `tracefuse cat --json`\n"
"\n"
"A session keeps its records and goes on. Without SESSION and RECORDING it is\n"
"$TRACEFUSE_SESSION, else the only one there is. A recording is read record by\n"
"record, whatever its size.\n"
"\n"
"  -o, --output FILE             write to FILE, which appears when it is complete\n"
"      --hist EVENT              a histogram: SYSTEM:EVENT, or its file hist; of an\n"
"                                event with several, all, with an empty line between;\n"
"                                folded takes a key .stacktrace\n"
"      --setup FILE              for a recording: the lines that make the histogram\n"
"                                (repeatable)\n"
"      --counter SYSTEM:EVENT.FIELD\n"
"                                show this number as a curve, too (repeatable; chrome\n"
"                                and perfetto)\n"
"      --buffer NAME             take only this buffer of a recording; \"\" is the top\n"
"                                one (repeatable)\n"
"      --partial                 use what can be read of a damaged recording\n"
"  -s, --session NAME            the session\n",
};
