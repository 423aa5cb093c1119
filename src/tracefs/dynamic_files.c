/* SPDX-License-Identifier: MIT */
/*
 * dynamic_files.c - dynamic_events, synthetic_events, kprobe_events, uprobe_events, and the hits of
 * probes
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "model/dynamic/place.h"
#include "model/dynamic/synth.h"
#include "model/dynamic/uprobe_file.h"
#include "tracefs/reading.h"
#include "tracefs/tree_state.h"

/* ---- the files that commands name: a process of its own looks at them ---- */

struct file_look {
	struct model	*model;
	char		*text;		/* the commands */
	size_t		len;
	struct reading	reading;
	struct uprobe_files files;	/* when it has ended */
};

/* What is the server's own, the process has to leave alone. */
static void look_alone(struct model *m)
{
	m->prototypes = NULL;
	m->step = NULL;
}

static int look_print(void *arg, FILE *out)
{
	const struct file_look *l = arg;
	struct uprobe_files files = { .out = out };

	reading_begin("tracefuse-look");
	look_alone(l->model);
	l->model->files = &files;
	dynamic_lines(l->model, l->text, l->len, uprobe_ask, NULL);
	return 0;
}

static void look_end(struct tree_file *f)
{
	if (!f->look)
		return;
	reading_end(&f->look->reading);
	uprobe_files_free(&f->look->files);
	free(f->look->text);
	free(f->look);
	f->look = NULL;
}

/* A copy: lines are cut apart. NULL: no memory. */
static char *look_copy(const char *text, size_t len)
{
	char *copy = malloc(len + 1);

	if (copy) {
		memcpy(copy, text, len);
		copy[len] = '\0';
	}
	return copy;
}

static bool names_files(struct tree_file *f, const char *text, size_t len)
{
	char *copy = memchr(text, '/', len) ? look_copy(text, len) : NULL;
	const bool names = copy &&
		dynamic_lines(f->tree->model, copy, len, uprobe_names_file, NULL) > 0;

	free(copy);
	return names;
}

static struct file_look *look_begin(struct tree_file *f, const char *text, size_t len)
{
	struct file_look *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->model = f->tree->model;
	l->text = look_copy(text, len);
	l->len = len;
	if (l->text && !reading_start(f->tree->printers, &l->reading, look_print, l, 0))
		return l;
	free(l->text);
	free(l);
	return NULL;
}

static bool look_goes_on(struct file_look *l)
{
	int err;

	if (!l->reading.printer)
		return false;
	err = reading_take(&l->reading);
	if (err > 0)
		return true;
	uprobe_files_take(&l->files, l->reading.bytes, l->reading.nr, err);
	l->reading.bytes = NULL;
	reading_end(&l->reading);
	return false;
}

/* If there can be no process, the command looks itself. */
static bool look_files(struct tree_file *f, const char *text, size_t len)
{
	struct file_look *l = f->look;

	if (l && (l->len != len || memcmp(l->text, text, len)))
		look_end(f);
	if (!f->look && f->tree->printers && names_files(f, text, len))
		f->look = look_begin(f, text, len);
	return f->look && look_goes_on(f->look);
}

static int lines_with_files(struct tree_file *f, char *text, size_t len,
			    int (*command)(struct model *m, const char *line))
{
	struct model *m = f->tree->model;
	int err;

	m->files = f->look ? &f->look->files : NULL;
	err = dynamic_lines(m, text, len, command, f->pieces);
	m->files = NULL;
	if (err != -EINPROGRESS)
		look_end(f);
	return err;
}

/* ---- the files of the tree ---- */

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
	return lines_with_files(f, text, len, dynamic_command);
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
	return dynamic_lines(f->tree->model, text, len, synth_command, f->pieces);
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
	return dynamic_lines(f->tree->model, text, len, kprobe_command, f->pieces);
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
	return lines_with_files(f, text, len, uprobe_command);
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
					   .lines = lines_dynamic,
					   .look = look_files,
					   .release = look_end },
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
					   .lines = lines_uprobes,
					   .look = look_files,
					   .release = look_end },
					  { .name = "kprobe_profile",
					   .mode = 0440,
					   .print = print_kprobe_profile },
					  { .name = "uprobe_profile",
					   .mode = 0440,
					   .print = print_uprobe_profile },
					  { 0 } };
