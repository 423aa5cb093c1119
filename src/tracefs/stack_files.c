/* SPDX-License-Identifier: MIT */
/*
 * stack_files.c - the stack tracer: stack_max_size, stack_trace, stack_tracer_enabled
 *
 * The last one stands for /proc/sys/kernel/stack_tracer_enabled, so it is not listed. `tracefuse
 * shell` mounts it there. stack_trace_filter is with the other filters, in ftrace_files.c.
 */
#include <errno.h>
#include <inttypes.h>

#include "model/ftrace/stack.h"
#include "model/text.h"
#include "tracefs/tree_state.h"

static bool no_functions(const struct instance *inst, const struct event *e)
{
	return !ftrace_present(inst->model);
}

/* The kernel takes any number and prints it with a sign. */
static int print_max(struct tree_file *f, FILE *out)
{
	fprintf(out, "%" PRId64 "\n", (int64_t)ftrace_stack_max(f->tree->model->ftrace));
	return 0;
}

static ssize_t write_max(struct tree_file *f, const char *buf, size_t size)
{
	uint64_t v;
	int err = text_to_u64_len(buf, size, 10, &v);

	if (!err)
		err = ftrace_stack_set_max(f->tree->model->ftrace, v);
	return err ? err : (ssize_t)size;
}

static int print_trace(struct tree_file *f, FILE *out)
{
	return ftrace_stack_print(f->tree->model->ftrace, out);
}

static int print_stack_on(struct tree_file *f, FILE *out)
{
	fprintf(out, "%d\n", f->tree->model->ftrace->stack.on);
	return 0;
}

/* A sysctl takes any number: all but 0 are on. */
static ssize_t write_stack_on(struct tree_file *f, const char *buf, size_t size)
{
	uint64_t v;
	int err = text_to_u64_len(buf, size, 10, &v);

	if (!err)
		err = ftrace_stack_set(f->tree->model->ftrace, v != 0);
	return err ? err : (ssize_t)size;
}

const struct file_kind stack_kinds[] = {
	{ .name = "stack_max_size", .mode = 0640, .absent = no_functions, .print = print_max,
	  .write = write_max },
	{ .name = "stack_trace", .mode = 0440, .absent = no_functions, .print = print_trace },
	{ .name = "stack_tracer_enabled", .mode = 0644, .absent = no_functions,
	  .print = print_stack_on, .write = write_stack_on, .hidden = true },
	{ 0 }
};
