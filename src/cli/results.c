/* SPDX-License-Identifier: MIT */
/* results.c - the results of a command: a trace.dat, files of the tree, and lines about losses */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "access/access.h"
#include "cli/asked.h"
#include "cli/command.h"
#include "cli/drain/drain.h"
#include "cli/draw/draw.h"
#include "cli/export/export.h"
#include "host/links.h"
#include "host/output.h"
#include "host/pager.h"
#include "cli/results.h"
#include "cli/save_dat.h"
#include "model/text_memory.h"
#include "sources/recording/source.h"

/* ---- before anything runs ---- */

/* Makes DIR/events__app__hist, which the caller frees. */
static char *saved_path(const char *dir, const char *file)
{
	char *path = malloc(strlen(dir) + 2 * strlen(file) + 2), *at;

	if (!path)
		return NULL;
	at = path + sprintf(path, "%s/", dir);
	for (; *file; file++) {
		*at++ = *file == '/' ? '_' : *file;
		if (*file == '/')
			*at++ = '_';
	}
	*at = '\0';
	return path;
}

static int open_saved(const char *dir, const char *file, struct output **out)
{
	char *path = saved_path(dir, file);
	int ret = path ? output_open(path, out) : -ENOMEM;

	if (ret)
		message_error("--save %s: %s", path ? path : dir, strerror(-ret));
	free(path);
	return ret ? COMMAND_FAILED : COMMAND_DONE;
}

static int open_all_saved(struct results *r)
{
	const struct asked *asked = r->asked;
	int ret = links_mkdir(asked->save_dir, 0777), status = COMMAND_DONE;

	if (ret && ret != -EEXIST)
		return message_error("--save %s: %s", asked->save_dir, strerror(-ret));
	r->saved = calloc(asked->cats.nr + 1, sizeof(*r->saved));
	if (!r->saved)
		return message_error("out of memory");
	for (unsigned int i = 0; !status && i < asked->cats.nr; i++)
		status = open_saved(asked->save_dir, asked->cats.v[i], &r->saved[i]);
	return status;
}

int results_open(struct results *r, const struct asked *asked)
{
	int status = COMMAND_DONE;

	*r = (struct results){ .asked = asked };
	if (asked->dat_file)
		status = save_dat_open(NULL, asked->dat_file, &r->dat);
	return !status && asked->save_dir ? open_all_saved(r) : status;
}

void results_close(struct results *r)
{
	drain_cancel(r->drain);
	output_close(r->dat);
	for (unsigned int i = 0; r->saved && i < r->asked->cats.nr; i++)
		output_close(r->saved[i]);
	free(r->saved);
	*r = (struct results){ .asked = r->asked };
}

/* ---- at the end ---- */

static int write_saved(struct output *o, const char *text, size_t len)
{
	FILE *out = output_begin(o);
	int ret, end;

	if (!out)
		return -errno;
	ret = fwrite(text, 1, len, out) == len ? 0 : -errno;
	end = output_end(o, !ret);
	return ret ? ret : end;
}

static int save_text(struct results *r, unsigned int i, const char *text, size_t len)
{
	const struct asked *asked = r->asked;
	int ret = write_saved(r->saved[i], text, len);

	if (!ret)
		return COMMAND_DONE;
	r->unsaved_cats = true;
	return message_error("--save %s: %s: %s", asked->save_dir, asked->cats.v[i],
			     strerror(-ret));
}

static int write_file(struct results *r, struct access *a, unsigned int i)
{
	const char *file = r->asked->cats.v[i];
	char *text;
	size_t len;
	int ret;

	if (r->asked->draw && draw_is_hist(file))
		return draw_file(a, file);
	if (r->asked->hist_form && draw_is_hist(file))
		return hist_form_file(a, file, r->asked->hist_form);
	ret = access_read_all(a, file, &text, &len);
	if (ret)
		return message_error("%s: %s", file, strerror(-ret));
	ret = r->saved ? save_text(r, i, text, len) : message_print(text, len);
	free(text);
	return ret;
}

static struct {
	int		(*print)(void *arg, struct access *a);	/* NULL: the files as they are */
	void		*arg;
} printer;

void results_print_by(int (*print)(void *arg, struct access *a), void *arg)
{
	printer.print = print;
	printer.arg = arg;
}

/* A pipe may go on for ever, and is shown as it comes. */
static bool is_paged(const struct results *r)
{
	if (r->saved)
		return false;
	for (unsigned int i = 0; i < r->asked->cats.nr; i++)
		if (strstr(r->asked->cats.v[i], "pipe"))
			return false;
	return printer.print || r->asked->cats.nr;
}

/* Prints all files that can be read. One that cannot be read does not stop the others. */
static int write_files(struct results *r, struct access *a)
{
	int status = COMMAND_DONE;

	if (printer.print)
		return printer.print(printer.arg, a);
	for (unsigned int i = 0; i < r->asked->cats.nr; i++)
		if (write_file(r, a, i))
			status = COMMAND_FAILED;
	return status;
}

int results_write(struct results *r, struct access *a, const char *uname)
{
	const struct save_dat dat = {
		.file = r->asked->dat_file, .out = r->dat, .uname = uname,
		.compress = r->asked->compress, .quiet = r->quiet, .ends = r->ends,
		.kernel = r->kernel,
	};
	const bool drains = r->drain != NULL;
	int status = drains ? drain_end(r->drain) : r->dat ? save_dat(a, &dat) : COMMAND_DONE;
	const bool saved = status == COMMAND_DONE;

	r->drain = NULL;
	/* What was drained is not in the session any more. */
	r->unsaved_dat = !saved && !drains;
	/* Printing may take as long as a reader of stdout wants. */
	if (!r->saved)
		output_signals_let_in();
	if (is_paged(r))
		pager_begin();
	if (write_files(r, a))
		status = COMMAND_FAILED;
	output_signals_let_in();
	if (message_flush())
		status = COMMAND_FAILED;
	/* What the command says afterwards is not lost with the pager's screen. */
	pager_end();
	if (pager_failed())
		status = COMMAND_FAILED;
	r->unsaved_cats |= message_stdout_lost();
	r->reader_left = message_reader_left() && saved;
	return status;
}

void results_print_losses(struct source *src)
{
	char *text = NULL, *line, *rest;
	size_t size;
	FILE *out = text_memory_open(&text, &size);

	if (out)
		source_print_losses(src, out);
	if (!out || fclose(out)) {
		fprintf(stderr, "tracefuse: the losses cannot be counted: out of memory\n");
		return;
	}
	rest = text;
	while ((line = strsep(&rest, "\n")))
		if (*line)
			fprintf(stderr, "tracefuse: %s\n", line);
	free(text);
}
