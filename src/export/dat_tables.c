/* SPDX-License-Identifier: MIT */
/*
 * dat_tables.c - what a reader of records needs: formats, symbols, names
 *
 * Each section is made in memory first, because a compressed one is packed as a whole.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "export/dat_writer.h"
#include "model/text_memory.h"
#include "session/array.h"

static void put_number(FILE *out, uint64_t v, size_t bytes)
{
	fwrite(&v, 1, bytes, out);
}

/* Writes a file's size in `width` bytes, then the file. */
static void put_file(struct dat_writer *w, const char *path, size_t width, FILE *out)
{
	size_t len;
	char *text = dat_read(w, path, &len);

	if (text) {
		put_number(out, len, width);
		fwrite(text, 1, len, out);
	}
	free(text);
}

static void put_header_info(struct dat_writer *w, FILE *out)
{
	fwrite("header_page", 1, sizeof("header_page"), out);
	put_file(w, "events/header_page", 8, out);
	fwrite("header_event", 1, sizeof("header_event"), out);
	put_file(w, "events/header_event", 8, out);
}

/* ---- event formats ---- */

struct names {
	char		**v;
	uint32_t	nr;
};

static int add_directory(void *to, const char *name, bool is_dir)
{
	struct names *n = to;

	if (!is_dir)
		return 0;
	if (array_room(&n->v, n->nr, sizeof(*n->v)))
		return -ENOMEM;
	n->v[n->nr] = strdup(name);
	if (!n->v[n->nr])
		return -ENOMEM;
	n->nr++;
	return 0;
}

static void names_free(struct names *n)
{
	for (uint32_t i = 0; i < n->nr; i++)
		free(n->v[i]);
	free(n->v);
}

static struct names directories(struct dat_writer *w, const char *path)
{
	const struct export_files *files = w->params->files;
	struct names n = { 0 };
	int ret = files->list(files->arg, path, add_directory, &n);

	if (ret)
		dat_failed(w, ret, path);
	return n;
}

static void put_system(struct dat_writer *w, const char *system, FILE *out)
{
	char path[600];
	struct names n;

	snprintf(path, sizeof(path), "events/%s", system);
	n = directories(w, path);
	put_number(out, n.nr, 4);
	for (uint32_t i = 0; i < n.nr && !w->err; i++) {
		snprintf(path, sizeof(path), "events/%s/%s/format", system, n.v[i]);
		put_file(w, path, 8, out);
	}
	names_free(&n);
}

static void put_ftrace_formats(struct dat_writer *w, FILE *out)
{
	put_system(w, "ftrace", out);
}

static void put_event_formats(struct dat_writer *w, FILE *out)
{
	struct names n = directories(w, "events");
	uint32_t i, others = 0;

	for (i = 0; i < n.nr; i++)
		others += strcmp(n.v[i], "ftrace") != 0;
	put_number(out, others, 4);
	for (i = 0; i < n.nr && !w->err; i++) {
		if (!strcmp(n.v[i], "ftrace"))
			continue;
		fwrite(n.v[i], 1, strlen(n.v[i]) + 1, out);
		put_system(w, n.v[i], out);
	}
	names_free(&n);
}

/* ---- the rest ---- */

static void put_kallsyms(struct dat_writer *w, FILE *out)
{
	put_file(w, "kallsyms", 4, out);
}

static void put_printk(struct dat_writer *w, FILE *out)
{
	put_file(w, "printk_formats", 4, out);
}

static void put_cmdlines(struct dat_writer *w, FILE *out)
{
	put_file(w, "saved_cmdlines", 8, out);
}

static void put_table(struct dat_writer *w, unsigned int id,
		      void (*put)(struct dat_writer *w, FILE *out))
{
	char *bytes = NULL;
	size_t n = 0;
	FILE *out = w->err ? NULL : text_memory_open(&bytes, &n);

	if (out)
		put(w, out);
	if (!out || fclose(out))
		dat_failed(w, -ENOMEM, NULL);
	else
		w->tables[id - DAT_HEADER_INFO] = dat_section(w, id, bytes, n);
	free(bytes);
}

void dat_put_tables(struct dat_writer *w)
{
	put_table(w, DAT_HEADER_INFO, put_header_info);
	put_table(w, DAT_FTRACE_EVENTS, put_ftrace_formats);
	put_table(w, DAT_EVENT_FORMATS, put_event_formats);
	put_table(w, DAT_KALLSYMS, put_kallsyms);
	put_table(w, DAT_PRINTK, put_printk);
	put_table(w, DAT_CMDLINES, put_cmdlines);
}
