/* SPDX-License-Identifier: MIT */
/*
 * records.c - a recording, or the records of a session, as chrome, perfetto or folded
 *
 * A session is saved as a trace.dat in a file without a name first, so that all of it is of one
 * moment and the session goes on.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "access/access.h"
#include "access/wire.h"
#include "cli/client.h"
#include "cli/export/export.h"
#include "cli/progress.h"
#include "cli/replay_session.h"
#include "cli/results.h"
#include "cli/save_dat.h"
#include "export/records.h"
#include "model/cmdlines.h"
#include "model/model.h"
#include "sources/recording/source.h"

enum { BUFFER = 256 * 1024 };

bool export_form_known(const char *form)
{
	return export_form_find(form) != NULL;
}

/* ---- messages ---- */

static void export_note(uint64_t nr, const char *what)
{
	if (nr)
		fprintf(stderr, "tracefuse: export: %" PRIu64 " %s\n", nr, what);
}

static int sums_message(const struct export_asked *e, const struct export_sums *sums)
{
	if (!sums->records)
		fprintf(stderr, "tracefuse: export: there are no records\n");
	export_note(sums->unknown, "records are of events without a format");
	export_note(sums->unended,
		    "calls end where the recording or its next record does: their ends are not "
		    "recorded");
	export_note(sums->unbegun,
		    "calls are shown by their ends alone: their beginnings are not recorded");
	export_note(sums->too_deep, "records of calls are left out: they are too deep");
	export_note(sums->back, "records are of an earlier time than one before them: the clock "
				"went back");
	export_note(sums->cut,
		    "stacks are shown without their innermost functions: there are too many");
	if (sums->records && !strcmp(e->form, "folded") && !sums->calls && !sums->unbegun &&
	    !sums->stacks)
		return message_error("export: the records have no calls (function_graph) and no "
				     "stacks (options/stacktrace) to fold");
	return COMMAND_DONE;
}

/* ---- a session ---- */

/* Thread groups: a trace.dat has no place for them. */
static void groups_read(struct access *a, struct model *m)
{
	char *text, *rest, *line;
	size_t len;
	int pid, group;

	if (access_read_all(a, "saved_tgids", &text, &len))
		return;
	rest = text;
	while ((line = strsep(&rest, "\n")))
		if (sscanf(line, "%d %d", &pid, &group) == 2)
			cmdlines_add_tgid(m->cmdlines, pid, group);
	free(text);
}

/* Saves the session's records. NULL: they could not be, which is printed. */
static FILE *session_file(struct access *a)
{
	struct export_error err = { .text = "" };
	char machine[400];
	const struct save_dat what = { .uname = machine };
	FILE *file = tmpfile();

	if (!file) {
		message_error("export: no temporary file: %s", strerror(errno));
		return NULL;
	}
	client_machine(a, machine, sizeof(machine));
	if (!save_dat_to(a, file, &what, &err))
		return file;
	message_error("export: the session's records: %s", err.text);
	fclose(file);
	return NULL;
}

/* ---- the export ---- */

static int counters_find(const struct export_asked *e, struct model *m, struct export_counter *c)
{
	for (unsigned int i = 0; i < e->counters.nr; i++) {
		int ret;

		c[i].name = e->counters.v[i];
		ret = export_counter_find(m, &c[i]);
		if (ret == -ENOENT)
			return message_error("export: --counter %s: there is no such event",
					     c[i].name);
		if (ret)
			return message_error("export: --counter %s: the event has no such number",
					     c[i].name);
	}
	return COMMAND_DONE;
}

static int records_failed(struct source *src, int err)
{
	if (err == -ENOMEM)
		return message_error("export: out of memory");
	if (source_damage(src))
		return replay_session_failed("export", source_damage(src));
	/* The reader wanted no more. */
	if (err == -EPIPE)
		return COMMAND_FAILED;
	return message_error("export: cannot write: %s", strerror(-err));
}

static int records_write(const struct export_asked *e, const struct replay_session *s, FILE *out)
{
	struct export_records what = {
		.source = s->source, .model = s->model, .form = export_form_find(e->form),
		.nr_counters = e->counters.nr,
	};
	struct export_counter *counters = calloc(e->counters.nr + 1, sizeof(*counters));
	struct export_sums sums = { .records = 0 };
	struct progress p;
	int status, ret;

	if (!counters)
		return message_error("out of memory");
	what.counters = counters;
	what.step = progress_show;
	what.step_arg = &p;
	status = counters_find(e, s->model, counters);
	if (!status) {
		progress_begin(&p, "export", s->source, false);
		ret = export_records_write(&what, out, &sums);
		progress_end(&p);
		status = ret ? records_failed(s->source, ret) : sums_message(e, &sums);
		if (!ret && source_damage(s->source))
			replay_session_failed("export", source_damage(s->source));
		results_print_losses(s->source);
	}
	free(counters);
	return status;
}

static int files_export(const struct export_asked *e, const char *const *files, unsigned int nr,
			struct access *session, FILE *out)
{
	const struct source_params params = {
		.files = files, .nr_files = nr, .buffers = e->buffers.v,
		.nr_buffers = e->buffers.nr, .partial = e->partial,
	};
	struct replay_session s = { .source = NULL };
	struct source_error err = { .text = "" };
	int status;

	if (replay_session_open(&s, &params, &err)) {
		status = replay_session_failed("export", &err);
	} else {
		if (session)
			groups_read(session, s.model);
		status = records_write(e, &s, out);
	}
	replay_session_destroy(&s);
	return status;
}

static int session_export(const struct export_asked *e, FILE *out)
{
	struct access *a = client_connect_to(&command_export, e->session);
	FILE *file = a ? session_file(a) : NULL;
	int status = COMMAND_FAILED;
	char path[64];
	const char *const files[] = { path };

	if (file) {
		snprintf(path, sizeof(path), "/dev/fd/%d", fileno(file));
		status = files_export(e, files, 1, a, out);
		fclose(file);
	}
	if (a)
		access_close(a);
	return status;
}

int export_records(const struct export_asked *e, FILE *out)
{
	if (e->counters.nr && !export_form_counts(export_form_find(e->form)))
		return command_usage(&command_export, "%s has no counters", e->form);
	setvbuf(out, NULL, _IOFBF, BUFFER);
	return e->recordings.nr ? files_export(e, e->recordings.v, e->recordings.nr, NULL, out)
				: session_export(e, out);
}
