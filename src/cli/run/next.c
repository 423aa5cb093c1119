/* SPDX-License-Identifier: MIT */
/*
 * next.c - what a run has recorded and what to try next, if nothing prints or saves it
 *
 * The records are those that the buffers hold at the end. The session ends with the command, so
 * nobody else will look at them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/replay_session.h"
#include "cli/summary/summary.h"
#include "cli/run/run.h"
#include "cli/save_dat.h"
#include "export/summary.h"
#include "export/trace_dat.h"
#include "model/model.h"
#include "sources/recording/source.h"

/* Nothing that was asked for prints or keeps what is recorded. */
static bool keeps_nothing(const struct run *r)
{
	const struct asked *a = &r->asked;

	return r->command == &command_run && run_is_private(r) && !r->quiet && !r->kernel &&
	       !a->cats.nr && !a->dat_file && !a->setups.nr && !a->boots.nr && !r->flight.asked &&
	       !getenv("TRACEFUSE_BOOT");
}

bool run_next_is_plain(const struct run *r)
{
	return keeps_nothing(r) && !r->asked.events.nr && !run_functions_asked(r) &&
	       !r->crash.file && !r->systems && !r->kernel_names;
}

static bool prints_nothing(const struct run *r)
{
	return keeps_nothing(r) && !r->refused && !r->failed && r->attached && !r->joined;
}

static struct next program_next(const struct run *r)
{
	struct next n = { .words.v = (const char **)r->program, .program = true };

	while (r->program[n.words.nr])
		n.words.nr++;
	return n;
}

static void print_nothing_recorded(const struct run *r)
{
	struct next n = program_next(r);

	if (r->asked.events.nr || run_functions_asked(r))
		return;
	summary_next(&n, "", "report");
	summary_next(&n, "", "run -e heap,lock,thread");
	fprintf(stderr, "  tracefuse list ");
	summary_word(r->program[0]);
	fputc('\n', stderr);
}

static void print_recorded(const struct run *r, const struct export_summary *s,
			   unsigned long long recorded)
{
	struct next n = program_next(r);

	if (s->sums.records < recorded)
		fprintf(stderr, "  the buffers still have %llu of them:\n",
			(unsigned long long)s->sums.records);
	summary_print(s);
	if (r->plain)
		summary_next(&n, "", "report");
	summary_next_program(&n, s);
}

static bool summary_made(const struct replay_session *s, run_recorded_fn fn, void *arg)
{
	const struct export_records what = { .source = s->source, .model = s->model };
	struct export_summary sum;
	const bool made = !export_summary_make(&what, &sum);

	if (made)
		fn(arg, &sum);
	export_summary_free(&sum);
	return made;
}

static bool records_read(const struct run *r, FILE *file, run_recorded_fn fn, void *arg,
			 struct export_error *why)
{
	const struct save_dat what = { .file = NULL };
	char path[64];
	const char *const files[] = { path };
	const struct source_params params = { .files = files, .nr_files = 1 };
	struct replay_session s = { .source = NULL };
	struct source_error err;
	bool read;

	snprintf(path, sizeof(path), "/dev/fd/%d", fileno(file));
	if (save_dat_to(r->access, file, &what, why))
		return false;
	if (replay_session_open(&s, &params, &err)) {
		snprintf(why->text, sizeof(why->text), "%s", err.text);
		read = false;
	} else {
		read = summary_made(&s, fn, arg);
		if (!read)
			snprintf(why->text, sizeof(why->text), "%s", strerror(ENOMEM));
	}
	replay_session_destroy(&s);
	return read;
}

bool run_recorded(const struct run *r, run_recorded_fn fn, void *arg, struct export_error *why)
{
	FILE *file = tmpfile();
	bool read;

	if (!file) {
		snprintf(why->text, sizeof(why->text), "a temporary file: %s", strerror(errno));
		return false;
	}
	read = records_read(r, file, fn, arg, why);
	fclose(file);
	return read;
}

struct to_print {
	const struct run *r;
	unsigned long long recorded;
};

static void recorded_print(void *arg, const struct export_summary *s)
{
	const struct to_print *p = arg;

	print_recorded(p->r, s, p->recorded);
}

void run_next(const struct run *r, unsigned long long recorded)
{
	struct to_print p = { .r = r, .recorded = recorded };
	struct export_error why;

	if (!prints_nothing(r))
		return;
	run_flood_print(r);
	if (!recorded)
		print_nothing_recorded(r);
	else if (!run_recorded(r, recorded_print, &p, &why))
		fprintf(stderr, "tracefuse: what was recorded cannot be summed up: %s\n",
			why.text);
}
