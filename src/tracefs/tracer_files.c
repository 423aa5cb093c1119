/* SPDX-License-Identifier: MIT */
/* tracer_files.c - current_tracer, and the settings of tracers: thresholds, depths */
#include <stdatomic.h>
#include <string.h>

#include "model/ftrace/ftrace.h"
#include "model/text.h"
#include "tracefs/tree_state.h"
#include "model/tracer.h"

enum { TRACER_NAME_MAX = 100, NS_PER_US = 1000 };

static ssize_t taken(int err, size_t size)
{
	return err ? err : (ssize_t)size;
}

/* ---- current_tracer, available_tracers ---- */

static int print_tracer(struct tree_file *f, FILE *out)
{
	fprintf(out, "%s\n", tracer_current(f->at.inst)->name);
	return 0;
}

/* A text longer than any name is cut. */
static char *copy_tracer(const char *buf, size_t size, char text[TRACER_NAME_MAX + 1])
{
	const size_t len = size < TRACER_NAME_MAX ? size : TRACER_NAME_MAX;

	memcpy(text, buf, len);
	text[len] = '\0';
	return text_strip(text);
}

/* The rings get their full size even if there is no such tracer. */
static ssize_t write_tracer(struct tree_file *f, const char *buf, size_t size)
{
	char text[TRACER_NAME_MAX + 1];
	int err = instance_expand(f->at.inst);

	if (!err)
		err = tracer_choose(f->at.inst, copy_tracer(buf, size, text));
	return taken(err, size);
}

static bool prepare_tracer(struct tree_file *f, const char *buf, size_t size)
{
	char text[TRACER_NAME_MAX + 1];

	return tracer_prepare(f->at.inst, copy_tracer(buf, size, text));
}

static int print_tracers(struct tree_file *f, FILE *out)
{
	tracer_list(f->tree->model, out);
	return 0;
}

/* ---- tracing_thresh, tracing_max_latency: microseconds ---- */

static int print_usecs(uint64_t ns, FILE *out)
{
	fprintf(out, "%llu\n", (unsigned long long)(ns / NS_PER_US));
	return 0;
}

static int save_number(struct instance *inst, enum setting what, const char *path, uint64_t v)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)v);
	return instance_save(inst, what, path, text);
}

static void take_sections(struct model *m)
{
	if (m->take_sections)
		m->take_sections(m);
}

static int print_thresh(struct tree_file *f, FILE *out)
{
	/* Relaxed: the number is independent of other data. */
	return print_usecs(
		atomic_load_explicit(&f->tree->model->tracing_thresh, memory_order_relaxed), out);
}

static ssize_t write_thresh(struct tree_file *f, const char *buf, size_t size)
{
	const struct tracer *t = tracer_current(f->at.inst);
	uint64_t v;
	int err = text_to_u64_len(buf, size, 10, &v);

	if (!err)
		err = save_number(f->at.inst, SETTING_THRESH, "tracing_thresh", v);
	if (err)
		return err;
	/* Sections that have ended count by the old threshold */
	take_sections(f->tree->model);
	/* Relaxed: the number is independent of other data. */
	atomic_store_explicit(&f->tree->model->tracing_thresh, v * NS_PER_US, memory_order_relaxed);
	err = ftrace_graph_publish(f->tree->model);
	if (!err && t->update_thresh)
		err = t->update_thresh(f->at.inst);
	/* publishes the threshold to programs, whichever instance has a latency tracer */
	take_sections(f->tree->model);
	return taken(err, size);
}

static int print_max_latency(struct tree_file *f, FILE *out)
{
	/*
	 * Relaxed: the number is independent of other data. A source's thread may raise it at any
	 * time, in latency_report().
	 */
	return print_usecs(atomic_load_explicit(&f->at.inst->max_latency, memory_order_relaxed),
			   out);
}

static ssize_t write_max_latency(struct tree_file *f, const char *buf, size_t size)
{
	const struct tracer *t = tracer_current(f->at.inst);
	uint64_t v;
	int err = text_to_u64_len(buf, size, 10, &v);

	if (!err)
		err = save_number(f->at.inst, SETTING_MAX_LATENCY, "tracing_max_latency", v);
	if (!err) {
		/* Sections that have ended count by the old maximum */
		take_sections(f->tree->model);
		/* Relaxed: a source's thread may store it, too; the later store counts. */
		atomic_store_explicit(&f->at.inst->max_latency, v * NS_PER_US,
				      memory_order_relaxed);
		if (t->update_max)
			t->update_max(f->at.inst);
	}
	return taken(err, size);
}

/* ---- max_graph_depth ---- */

static int print_depth(struct tree_file *f, FILE *out)
{
	fprintf(out, "%d\n", f->tree->model->max_graph_depth);
	return 0;
}

/* As in the kernel, the upper half of the number is lost. */
static ssize_t write_depth(struct tree_file *f, const char *buf, size_t size)
{
	uint64_t v;
	int err = text_to_u64_len(buf, size, 10, &v);

	if (!err)
		err = save_number(f->at.inst, SETTING_GRAPH_DEPTH, "max_graph_depth", (uint32_t)v);
	if (!err) {
		f->tree->model->max_graph_depth = (int)(uint32_t)v;
		err = ftrace_graph_publish(f->tree->model);
	}
	return taken(err, size);
}

const struct file_kind tracer_kinds[] = {
	{ .name = "available_tracers", .mode = 0440, .print = print_tracers },
	{ .name = "current_tracer", .mode = 0640, .print = print_tracer, .write = write_tracer,
	  .prepare = prepare_tracer },
	{ .name = "tracing_max_latency",
	 .mode = 0640,
	 .print = print_max_latency,
	 .write = write_max_latency },
	{ 0 } };

const struct file_kind top_tracer_kinds[] = {
	{ .name = "max_graph_depth", .mode = 0640, .print = print_depth, .write = write_depth },
	{ .name = "tracing_thresh", .mode = 0640, .print = print_thresh, .write = write_thresh },
	{ 0 }
};
