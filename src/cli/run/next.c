/* SPDX-License-Identifier: MIT */
/*
 * next.c - what a run has recorded and what to try next, if nothing prints or saves it
 *
 * The records are those that the buffers hold at the end. The session ends with the command, so
 * nobody else will look at them.
 */
#include <stdlib.h>

#include "cli/replay_session.h"
#include "cli/replay_summary.h"
#include "cli/run/run.h"
#include "cli/save_dat.h"
#include "export/summary.h"
#include "export/trace_dat.h"
#include "model/model.h"
#include "sources/recording/source.h"

static bool prints_nothing(const struct run *r)
{
	const struct asked *a = &r->asked;

	return r->command == &command_run && run_is_private(r) && !r->quiet && !r->kernel &&
	       !a->cats.nr && !a->dat_file && !a->setups.nr && !a->boots.nr && !r->refused &&
	       !r->failed && r->attached && !r->joined && !getenv("TRACEFUSE_BOOT");
}

/* "  tracefuse COMMAND -- PROGRAM ARGUMENTS" */
static void print_command(const struct run *r, const char *command)
{
	fprintf(stderr, "  tracefuse %s --", command);
	for (char **word = r->program; *word; word++) {
		fputc(' ', stderr);
		summary_word(*word);
	}
	fputc('\n', stderr);
}

static void print_nothing_recorded(const struct run *r)
{
	if (r->asked.events.nr || run_functions_asked(r))
		return;
	fprintf(stderr, "Try next (-q prints none of this):\n");
	print_command(r, "report");
	print_command(r, "run -e heap,lock,thread");
	fprintf(stderr, "  tracefuse list ");
	summary_word(r->program[0]);
	fputc('\n', stderr);
}

static void print_recorded(const struct run *r, const struct export_summary *s,
			   unsigned long long recorded)
{
	const struct event *e = summary_event(s);
	char command[300];

	if (s->sums.records < recorded)
		fprintf(stderr, "  the buffers still have %llu of them:\n",
			(unsigned long long)s->sums.records);
	summary_print(s);
	if (!e)
		return;
	fprintf(stderr, "Try next (-q prints none of this):\n");
	snprintf(command, sizeof(command), "hist %s:%s", e->system->name, e->name);
	print_command(r, command);
	snprintf(command, sizeof(command), "run -e %s --cat trace", e->system->name);
	print_command(r, command);
	snprintf(command, sizeof(command), "run -e %s -o trace.dat", e->system->name);
	print_command(r, command);
}

/* False: it could not be read, and the first line of the summary has to do. */
static bool records_read(const struct run *r, FILE *file, unsigned long long recorded)
{
	const struct save_dat what = { .file = NULL };
	char path[64];
	const char *const files[] = { path };
	const struct source_params params = { .files = files, .nr_files = 1 };
	struct replay_session s = { .source = NULL };
	struct export_error error;
	struct source_error err;
	struct export_summary sum;
	bool read;

	snprintf(path, sizeof(path), "/dev/fd/%d", fileno(file));
	if (save_dat_to(r->access, file, &what, &error))
		return false;
	read = !replay_session_open(&s, &params, &err);
	if (read) {
		read = !export_summary_make(s.source, s.model, &sum);
		if (read)
			print_recorded(r, &sum, recorded);
		export_summary_free(&sum);
	}
	replay_session_destroy(&s);
	return read;
}

void run_next(const struct run *r, unsigned long long recorded)
{
	FILE *file;

	if (!prints_nothing(r))
		return;
	if (!recorded) {
		print_nothing_recorded(r);
		return;
	}
	file = tmpfile();
	if (!file || !records_read(r, file, recorded))
		fprintf(stderr, "tracefuse: what was recorded cannot be summed up\n");
	if (file)
		fclose(file);
}
