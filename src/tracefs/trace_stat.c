/* SPDX-License-Identifier: MIT */
/*
 * trace_stat.c - function_profile_enabled, and its counts: trace_stat/function<cpu>, and
 * trace_stat/functions, which the kernel does not have and which is not listed
 */

#include "model/ftrace/profile.h"
#include "model/text.h"
#include "tracefs/tree_state.h"

static bool is_absent(const struct instance *inst, const struct event *e)
{
	return !ftrace_present(inst->model);
}

static int print_enabled(struct tree_file *f, FILE *out)
{
	fprintf(out, "%d\n", ftrace_profile_mode_of(f->at.inst) != FTRACE_PROFILE_OFF);
	return 0;
}

/* Any number but 0 is on, and read as 1, as in the kernel. Of these, 2 is on with details. */
static ssize_t write_enabled(struct tree_file *f, const char *buf, size_t size)
{
	uint64_t v;
	int err = text_to_u64_len(buf, size, 10, &v);

	if (!err && v > FTRACE_PROFILE_DETAILS)
		v = FTRACE_PROFILE_ON;
	if (!err)
		err = ftrace_profile_set(f->at.inst, (unsigned int)v);
	return err ? err : (ssize_t)size;
}

/* To read and sort the map, and to find the names, takes as long as there are functions. */
static int begin_stat(struct tree_file *f, FILE *out)
{
	return ftrace_profile_is_large(f->tree->model->ftrace) ? long_text_all(f, out)
							       : f->at.kind->print(f, out);
}

static int print_stat(struct tree_file *f, FILE *out)
{
	return ftrace_profile_print(f->tree->model->ftrace, (uint32_t)f->at.cpu, out);
}

static int print_stats(struct tree_file *f, FILE *out)
{
	return ftrace_profile_print_all(f->tree->model->ftrace, out);
}

#define ENABLED(file)	.name = file, .mode = 0640, .absent = is_absent,		\
			.print = print_enabled, .write = write_enabled

const struct file_kind profile_kinds[] = { { ENABLED("function_profile_enabled") }, { 0 } };
/* The kernel has none of these: there the profile is of the top's functions only. */
const struct file_kind profile_instance_kinds[] = {
	{ ENABLED("function_profile_here"), .hidden = true }, { 0 }
};

#define STAT(file, fn)								\
	{ .name = file, .mode = 0640, .print = fn, .begin = begin_stat, .whole = true }

const struct file_kind stat_kind = STAT("function", print_stat);
const struct file_kind stat_all_kind = STAT("functions", print_stats);
