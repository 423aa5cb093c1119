/* SPDX-License-Identifier: MIT */
/*
 * dynamic_files.c - dynamic_events, synthetic_events, kprobe_events, uprobe_events, and the hits of
 * probes
 */
#include <fcntl.h>

#include "model/dynamic/place.h"
#include "model/dynamic/synth.h"
#include "tracefs/tree_state.h"

static int remove_all(const struct tree_file *f, const struct dynamic_kind *kind)
{
	if (!(f->flags & O_TRUNC) || (f->flags & O_ACCMODE) == O_RDONLY)
		return 0;
	return dynamic_remove_all(f->tree->model, kind);
}

static int open_dynamic(struct tree_file *f)
{
	return remove_all(f, NULL);
}

static int print_dynamic(struct tree_file *f, FILE *out)
{
	dynamic_print(f->tree->model, out);
	return 0;
}

static int lines_dynamic(struct tree_file *f, char *text, size_t len)
{
	return dynamic_lines(f->tree->model, text, len, dynamic_command);
}

static int open_synthetic(struct tree_file *f)
{
	return remove_all(f, &synth_kind);
}

static int print_synthetic(struct tree_file *f, FILE *out)
{
	synth_print(f->tree->model, out);
	return 0;
}

static int lines_synthetic(struct tree_file *f, char *text, size_t len)
{
	return dynamic_lines(f->tree->model, text, len, synth_command);
}

static int open_kprobes(struct tree_file *f)
{
	return remove_all(f, &kprobe_kind);
}

static int print_kprobes(struct tree_file *f, FILE *out)
{
	dynamic_print_of(f->tree->model, &kprobe_kind, out);
	return 0;
}

static int lines_kprobes(struct tree_file *f, char *text, size_t len)
{
	return dynamic_lines(f->tree->model, text, len, kprobe_command);
}

static int open_uprobes(struct tree_file *f)
{
	return remove_all(f, &uprobe_kind);
}

static int print_uprobes(struct tree_file *f, FILE *out)
{
	dynamic_print_of(f->tree->model, &uprobe_kind, out);
	return 0;
}

static int lines_uprobes(struct tree_file *f, char *text, size_t len)
{
	return dynamic_lines(f->tree->model, text, len, uprobe_command);
}

static int print_kprobe_profile(struct tree_file *f, FILE *out)
{
	kprobe_print_profile(f->tree->model, out);
	return 0;
}

static int print_uprobe_profile(struct tree_file *f, FILE *out)
{
	uprobe_print_profile(f->tree->model, out);
	return 0;
}

const struct file_kind dynamic_kinds[] = { { .name = "dynamic_events",
					   .mode = 0640,
					   .open = open_dynamic,
					   .print = print_dynamic,
					   .lines = lines_dynamic },
					  { .name = "synthetic_events",
					   .mode = 0640,
					   .open = open_synthetic,
					   .print = print_synthetic,
					   .lines = lines_synthetic },
					  { .name = "kprobe_events",
					   .mode = 0640,
					   .open = open_kprobes,
					   .print = print_kprobes,
					   .lines = lines_kprobes },
					  { .name = "uprobe_events",
					   .mode = 0640,
					   .open = open_uprobes,
					   .print = print_uprobes,
					   .lines = lines_uprobes },
					  { .name = "kprobe_profile",
					   .mode = 0440,
					   .print = print_kprobe_profile },
					  { .name = "uprobe_profile",
					   .mode = 0440,
					   .print = print_uprobe_profile },
					  { 0 } };
