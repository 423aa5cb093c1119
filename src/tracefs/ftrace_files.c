/* SPDX-License-Identifier: MIT */
/*
 * ftrace_files.c - the files that choose traced functions: lists, filters, commands, pids
 *
 * A session without functions to trace has none of these files: a recording without a list of
 * functions.
 */
#include <errno.h>
#include <fcntl.h>

#include "model/ftrace/ftrace.h"
#include "model/instance/pids.h"
#include "tracefs/tree_state.h"

static bool writes(const struct tree_file *f)
{
	return (f->flags & O_ACCMODE) != O_RDONLY;
}

static bool truncates(const struct tree_file *f)
{
	return (f->flags & O_TRUNC) && writes(f);
}

static bool is_absent(const struct instance *inst, const struct event *e)
{
	return !ftrace_present(inst->model);
}

/* ---- Lists ---- */

enum { LONG_LIST = 16384 };	/* functions; a printer takes as long as these */

static int begin_list(struct tree_file *f, FILE *out)
{
	struct ftrace *ft = f->tree->model->ftrace;

	/* The printer's copy of them would be gone with it. */
	(void)ftrace_need_sites(ft);
	return ft->nr_sites > LONG_LIST ? long_text_all(f, out) : f->at.kind->print(f, out);
}

static int print_available(struct tree_file *f, FILE *out)
{
	ftrace_print_available(f->tree->model->ftrace, false, out);
	return 0;
}

static int print_addresses(struct tree_file *f, FILE *out)
{
	ftrace_print_available(f->tree->model->ftrace, true, out);
	return 0;
}

static int print_enabled(struct tree_file *f, FILE *out)
{
	ftrace_print_flagged(f->tree->model->ftrace, FTRACE_SITE_ENABLED, out);
	return 0;
}

static int print_touched(struct tree_file *f, FILE *out)
{
	ftrace_print_flagged(f->tree->model->ftrace, FTRACE_SITE_TOUCHED, out);
	return 0;
}

static int print_refused(struct tree_file *f, FILE *out)
{
	ftrace_print_refused(f->tree->model->ftrace, out);
	return 0;
}

static int print_info(struct tree_file *f, FILE *out)
{
	ftrace_print_info(f->tree->model->ftrace, out);
	return 0;
}

/* ---- Filters ---- */

static int open_edit(struct tree_file *f, enum ftrace_file file)
{
	if (!writes(f))
		return 0;
	f->edit = ftrace_edit_open(f->at.inst, file, truncates(f));
	return f->edit ? 0 : -ENOMEM;
}

static ssize_t write_edit(struct tree_file *f, const char *buf, size_t size)
{
	return ftrace_edit_write(f->edit, buf, size, !(f->flags & O_NONBLOCK));
}

static bool prepare_edit(struct tree_file *f, const char *buf, size_t size)
{
	return buffer_files_prepare(f, buf, size, ":snapshot");
}

static void flush_edit(struct tree_file *f)
{
	if (f->edit)
		ftrace_edit_flush(f->edit);
}

/* As in the kernel, close(2) returns no error for a last word that is refused. */
static void release_edit(struct tree_file *f)
{
	if (f->edit)
		ftrace_edit_close(f->edit);
}

#define FILTER(name, which)							\
	static int open_##name(struct tree_file *f)				\
	{									\
		return open_edit(f, which);					\
	}									\
	static int print_##name(struct tree_file *f, FILE *out)			\
	{									\
		return ftrace_print_file(f->at.inst, which, f->edit, out);	\
	}

FILTER(filter, FTRACE_FILE_FILTER)
FILTER(notrace, FTRACE_FILE_NOTRACE)
FILTER(stack, FTRACE_FILE_STACK)
FILTER(graph, FTRACE_FILE_GRAPH)
FILTER(graph_notrace, FTRACE_FILE_GRAPH_NOTRACE)

/* ---- Pids ---- */

#define PIDS(name, which)							\
	static int open_##name(struct tree_file *f)				\
	{									\
		if (truncates(f))						\
			pids_clear(f->at.inst, which);				\
		return 0;							\
	}									\
	static int print_##name(struct tree_file *f, FILE *out)			\
	{									\
		pids_print(f->at.inst, which, out);				\
		return 0;							\
	}									\
	static ssize_t write_##name(struct tree_file *f, const char *buf, size_t size)	\
	{									\
		return pids_write(f->at.inst, which, buf, size);		\
	}

PIDS(pid, PIDS_FUNCTION)
PIDS(notrace_pid, PIDS_NO_FUNCTION)

#define LISTS(fn) .absent = is_absent, .print = print_##fn, .begin = begin_list, .stays = true
#define EDIT(file, fn)								\
	{ .name = file, .mode = 0640, .open = open_##fn, LISTS(fn),		\
	  .write = write_edit, .prepare = prepare_edit, .flush = flush_edit,	\
	  .release = release_edit }
#define PIDS_FILE(file, fn)									\
	{ .name = file, .mode = 0640, .absent = is_absent, .open = open_##fn, .print = print_##fn, \
	  .write = write_##fn }
#define LIST(file, fn)	{ .name = file, .mode = 0440, LISTS(fn) }

const struct file_kind ftrace_kinds[] = {
	EDIT("set_ftrace_filter", filter),
	EDIT("set_ftrace_notrace", notrace),
	PIDS_FILE("set_ftrace_notrace_pid", notrace_pid),
	PIDS_FILE("set_ftrace_pid", pid),
	{ 0 }
};

const struct file_kind ftrace_top_kinds[] = {
	LIST("available_filter_functions", available),
	LIST("available_filter_functions_addrs", addresses),
	LIST("dyn_ftrace_total_info", info),
	LIST("enabled_functions", enabled),
	EDIT("set_graph_function", graph),
	EDIT("set_graph_notrace", graph_notrace),
	EDIT("stack_trace_filter", stack),
	{ .name = "refused_functions", .mode = 0440, LISTS(refused), .hidden = true },
	LIST("touched_functions", touched),
	{ 0 }
};
