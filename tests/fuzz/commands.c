/* SPDX-License-Identifier: MIT */
/*
 * commands.c - any commands to any files of a session, one after the other, with hits in between
 *
 * Input: lines. "PATH > TEXT" writes, "PATH >> TEXT" appends, "+ PATH" makes a directory, "- PATH"
 * removes one, "!" makes hits; any other line is a path that is read. At the end every file is
 * read, and everything is freed. A command may be refused, but nothing may crash or hang.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/event/file.h"
#include "tracefs/tree.h"
#include "fixture.h"

enum { LINES = 64, READ_MAX = 1 << 20, RECORD = 96 };

static const char format[] = EVENT_FORMAT(
	FIELD("__data_loc unsigned long[] stack", 48, 4, 0)
	FIELD("char * p", 56, 8, 0)
	FIELD("unsigned long l[3]", 64, 24, 0));

static void write_file(struct tree *t, const char *path, int flags, const char *text)
{
	struct tree_file *f;

	if (tree_open(t, path, O_WRONLY | O_NONBLOCK | flags, &f))
		return;
	tree_write(f, text, strlen(text));
	tree_flush(f);
	tree_release(f);
}

static void read_file(struct tree *t, const char *path)
{
	static char buf[65536];
	struct tree_file *f;
	off_t at = 0;
	ssize_t n;

	if (tree_open(t, path, O_RDONLY | O_NONBLOCK, &f))
		return;
	while (at < READ_MAX && (n = tree_read(f, buf, sizeof(buf), at)) > 0)
		at += n;
	tree_release(f);
}

struct place {
	struct tree	*tree;
	char		path[512];
};

static int read_below(void *arg, const char *name, bool is_dir)
{
	const struct place *here = arg;
	struct place next = { .tree = here->tree };
	int n = snprintf(next.path, sizeof(next.path), "%s%s%s", here->path,
			 *here->path ? "/" : "", name);

	if (n >= (int)sizeof(next.path))
		return 0;
	if (is_dir)
		tree_list(next.tree, next.path, read_below, &next);
	else
		read_file(next.tree, next.path);
	return 0;
}

static void make_hits(const struct fixture *w)
{
	uint8_t record[RECORD] = { 0 };
	struct input in = { .record = record, .size = sizeof(record) };

	for (size_t i = 8; i < sizeof(record); i++)
		record[i] = (uint8_t)i;
	fixture_hits(w, &in);
}

/*
 * Commands that make large rings and tables are skipped: they come often, and do not find errors.
 */
static bool is_large(const char *text)
{
	return strlen(text) > 512 || strspn(text + strcspn(text, "0123456789"), "0123456789") > 4;
}

static void carry_out(const struct fixture *w, struct tree *t, char *line)
{
	char *sign = strstr(line, " >"), *text;
	int flags = O_TRUNC;

	if (*line == '!') {
		make_hits(w);
	} else if (*line == '+') {
		tree_mkdir(t, line + 1 + strspn(line + 1, " "));
	} else if (*line == '-') {
		tree_rmdir(t, line + 1 + strspn(line + 1, " "));
	} else if (sign) {
		*sign = '\0';
		text = sign + 2;
		if (*text == '>') {
			flags = O_APPEND;
			text++;
		}
		text += strspn(text, " ");
		if (!is_large(text))
			write_file(t, line, flags, text);
	} else {
		read_file(t, line);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct fixture made;
	struct session_params params = { .nr_cpus = 2, .nr_slots = 4, .memory = 64 << 20 };
	struct place root = { .path = "" };
	char *text = strndup((const char *)data, size < 4096 ? size : 4096);
	char *next = text, *line;

	if (session_create(NULL, &params, &made.session) ||
	    model_create(made.session, &made.model) ||
	    model_add_event(made.model, "test", format, strlen(format), &made.event))
		abort();
	made.slot = session_slot_get(made.session);
	root.tree = tree_create(made.model);
	if (!made.slot || !root.tree)
		abort();
	write_file(root.tree, "buffer_size_kb", O_TRUNC, "8");
	for (int i = 0; i < LINES && (line = strsep(&next, "\n")); i++)
		carry_out(&made, root.tree, line);
	tree_list(root.tree, "", read_below, &root);
	tree_destroy(root.tree);
	fixture_reclaim(&made);
	model_destroy(made.model);
	session_destroy(made.session);
	free(text);
	return 0;
}
