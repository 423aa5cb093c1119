/* SPDX-License-Identifier: MIT */
/* replayed.c - see replayed.h */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export/records.h"
#include "export/trace_dat.h"
#include "access/access.h"
#include "cli/replay_session.h"
#include "model/model.h"
#include "session/session.h"
#include "sources/recording/source.h"
#include "tracefs/tree.h"
#include "replayed.h"

enum { RECORDS_MAX = 20000, TEXT_MAX = 1 << 20, EVENTS_MAX = 16, ANY_ORDER_MAX = 8 << 20 };

struct replay {
	struct replay_session made;
	unsigned long	bytes;		/* read so far */
};

static bool prepare(struct replay *r, const char *path, bool partial, uint64_t memory)
{
	const struct source_params params = {
		.files = &path, .nr_files = 1, .partial = partial, .memory = memory,
	};
	struct session_params shape = { .nr_slots = 8, .no_membarrier = true };
	struct source_error err;

	if (source_open(&params, &r->made.source, &err))
		return false;
	shape.nr_cpus = source_nr_cpus(r->made.source);
	shape.memory = source_session_bytes(r->made.source);
	if (session_create(NULL, &shape, &r->made.session) ||
	    model_create(r->made.session, &r->made.model) ||
	    source_import(r->made.source, r->made.model, &err))
		return false;
	r->made.tree = tree_create(r->made.model);
	r->made.access = r->made.tree ? access_tree(r->made.tree, NULL) : NULL;
	return r->made.access;
}

/* Does not read to the end, because long texts of many records do not help a fuzzer. */
static void look(struct replay *r, const char *path)
{
	static char buf[65536];
	struct access_file *f;
	ssize_t n;
	off_t off = 0;

	if (r->made.access->ops->open(r->made.access, path, O_RDONLY | O_NONBLOCK, &f))
		return;
	while (off < TEXT_MAX && (n = r->made.access->ops->read(f, buf, sizeof(buf), off)) > 0)
		off += n;
	r->bytes += (unsigned long)off;
	r->made.access->ops->release(f);
}

static void put(struct replay *r, const char *path, const char *text)
{
	access_write_all(r->made.access, path, O_APPEND, text, strlen(text), NULL);
}

/* What chooses recorded calls, so that the run follows the calls of each task. */
static void choose_calls(struct replay *r)
{
	put(r, "set_ftrace_filter", "*s*:mod:*\n*e*:stacktrace:3\n[a-s]*");
	put(r, "set_ftrace_notrace", "*lock*");
	put(r, "set_ftrace_pid", "1 54");
	put(r, "set_graph_function", "*read*\n*sched*");
	put(r, "set_graph_notrace", "*sleep*");
	put(r, "max_graph_depth", "5");
	put(r, "tracing_thresh", "1");
	put(r, "current_tracer", "function_graph");
}

static void each_event(struct replay *r, void (*fn)(struct replay *r, const struct event *e))
{
	unsigned int seen = 0;

	for (unsigned int id = 0; id < LAYOUT_MAX_EVENTS && seen < EVENTS_MAX; id++)
		if (r->made.model->by_id[id]) {
			fn(r, r->made.model->by_id[id]);
			seen++;
		}
}

static void look_at_format(struct replay *r, const struct event *e)
{
	char path[512];

	snprintf(path, sizeof(path), "events/%.200s/%.200s/format", e->system->name, e->name);
	look(r, path);
}

static void count(struct replay *r, const struct event *e)
{
	char path[512];

	snprintf(path, sizeof(path), "events/%.200s/%.200s/trigger", e->system->name, e->name);
	put(r, path, "hist:keys=common_pid,common_comm.execname:size=128");
	put(r, path, "hist:keys=common_stacktrace:size=128");
}

static void count_orderless(struct replay *r, const struct event *e)
{
	char path[512];

	snprintf(path, sizeof(path), "events/%.200s/%.200s/trigger", e->system->name, e->name);
	put(r, path, "hist:keys=common_pid,common_cpu:size=128");
}

static void count_no_more(struct replay *r, const struct event *e)
{
	char path[512];

	snprintf(path, sizeof(path), "events/%.200s/%.200s/trigger", e->system->name, e->name);
	put(r, path, "!hist:keys=common_pid,common_cpu:size=128");
}

/* Reads streams in pieces (sources/recording/tally.h), if they are small enough for that. */
static void run_in_any_order(struct replay *r)
{
	uint64_t bytes = 0;
	uint32_t cpu;

	for (cpu = 0; cpu < source_nr_cpus(r->made.source); cpu++)
		bytes += source_ring_bytes(r->made.source, cpu);
	if (bytes > ANY_ORDER_MAX)
		return;
	each_event(r, count_orderless);
	source_run(r->made.source, NULL, NULL);
	each_event(r, count_no_more);
	source_rewind(r->made.source);
}

static void look_at_hist(struct replay *r, const struct event *e)
{
	char path[512];

	snprintf(path, sizeof(path), "events/%.200s/%.200s/hist", e->system->name, e->name);
	look(r, path);
}

/* ---- files for the exporter, which writes to a file in memory ---- */

static int read_text(void *arg, const char *path, char **text, size_t *len)
{
	return access_read_all(((struct replay *)arg)->made.access, path, text, len);
}

static int stream(void *arg, const char *path, int (*take)(void *to, const char *buf, size_t n),
		  void *to)
{
	size_t len;
	char *text;
	int ret = read_text(arg, path, &text, &len);

	if (ret)
		return ret;
	ret = len ? take(to, text, len) : 0;
	free(text);
	return ret;
}

static int list(void *arg, const char *path, int (*fn)(void *to, const char *name, bool is_dir),
		void *to)
{
	struct access *a = ((struct replay *)arg)->made.access;

	return a->ops->list(a, path, fn, to);
}

static void export(struct replay *r)
{
	const struct export_files files = {
		.arg = r, .read = read_text, .stream = stream, .list = list,
	};
	const struct export_params params = { .files = &files,
					     .uname = source_uname(r->made.source) };
	struct export_error err;
	char *bytes = NULL;
	size_t size;
	FILE *out = open_memstream(&bytes, &size);

	if (!out)
		abort();
	export_trace_dat(&params, out, &err);
	fclose(out);
	r->bytes += size;
	free(bytes);
}

/* ---- other tools' forms ---- */

/* An export ends where this fails: long results of many records do not help a fuzzer. */
static ssize_t take_some(void *arg, const char *buf, size_t size)
{
	unsigned long *taken = arg;

	(void)buf;
	*taken += size;
	return *taken < TEXT_MAX ? (ssize_t)size : 0;
}

static void export_forms(struct replay *r)
{
	static const char *const forms[] = { "chrome", "perfetto", "folded" };

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		const struct export_records what = {
			.source = r->made.source, .model = r->made.model,
			.form = export_form_find(forms[i]),
		};
		unsigned long taken = 0;
		struct export_sums sums;
		FILE *out = fopencookie(&taken, "w", (cookie_io_functions_t){ .write = take_some });

		if (!out)
			abort();
		export_records_write(&what, out, &sums);
		fclose(out);
		r->bytes += taken;
	}
}

unsigned long replayed(const char *path, bool partial, uint64_t memory)
{
	static const char *const files[] = {
		"kallsyms", "saved_cmdlines", "printk_formats", "trace_clock", "available_events",
		"trace", "snapshot", "per_cpu/cpu0/stats", "events/header_page",
	};
	struct replay r = { 0 };

	if (prepare(&r, path, partial, memory)) {
		run_in_any_order(&r);
		put(&r, "events/enable", "1");
		put(&r, "options/stacktrace", "1");
		if (!partial)
			choose_calls(&r);
		each_event(&r, look_at_format);
		each_event(&r, count);
		source_step(r.made.source, RECORDS_MAX);
		each_event(&r, look_at_hist);
		for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
			look(&r, files[i]);
		export(&r);
		export_forms(&r);
	}
	replay_session_destroy(&r.made);
	return r.bytes;
}
