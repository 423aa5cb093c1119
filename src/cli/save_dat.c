/* SPDX-License-Identifier: MIT */
/* save_dat.c - -o FILE: writes the records of a session as a trace.dat */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "export/trace_dat.h"
#include "access/access.h"
#include "cli/client.h"
#include "cli/command.h"
#include "cli/drain/stream.h"
#include "cli/progress.h"
#include "cli/raw.h"
#include "host/output.h"
#include "cli/save_dat.h"
#include "model/text_memory.h"

/* ---- the session's files, for the exporter ---- */

struct save_files {
	struct access	*access;
	const struct save_dat_parts *parts;	/* NULL: everything */
	struct streams	*drained;	/* NULL: nothing was drained */
	struct progress	*progress;
};

static int save_dat_read_text(void *arg, const char *path, char **text, size_t *len)
{
	const struct save_files *s = arg;

	return access_read_all(s->access, path, text, len);
}

static int stream_parts(const struct save_files *s, const char *path,
			int (*take)(void *to, const char *buf, size_t n), void *to)
{
	const struct save_dat_parts *p = s->parts;
	int ret = 0;

	if (p->older.from <= p->older.to)
		ret = raw_stream(s->access, path, &p->older, take, to);
	if (!ret && p->newer.from <= p->newer.to)
		ret = raw_stream(s->access, path, &p->newer, take, to);
	return ret;
}

static int stream_all(const struct save_files *s, const char *path,
		      int (*take)(void *to, const char *buf, size_t n), void *to)
{
	if (s->drained)
		return streams_give(s->drained, path, take, to);
	return s->parts ? stream_parts(s, path, take, to)
			: raw_stream(s->access, path, NULL, take, to);
}

/* Counts what it passes on. */
struct counted {
	struct progress	*progress;
	int		(*take)(void *to, const char *buf, size_t n);
	void		*to;
};

static int take_counted(void *to, const char *buf, size_t n)
{
	const struct counted *c = to;

	progress_add(c->progress, n);
	return c->take(c->to, buf, n);
}

static int save_dat_stream(void *arg, const char *path,
			   int (*take)(void *to, const char *buf, size_t n), void *to)
{
	const struct save_files *s = arg;
	struct counted counted = { s->progress, take, to };

	return stream_all(s, path, take_counted, &counted);
}

/* A part is of the top instance alone. */
static int list_names(void *arg, const char *path,
		      int (*fn)(void *to, const char *name, bool is_dir), void *to)
{
	const struct save_files *s = arg;

	if (s->parts && !strcmp(path, "instances"))
		return 0;
	return s->access->ops->list(s->access, path, fn, to);
}

/* ---- the file ---- */

static int cannot_write(const char *option, const char *file, const char *why)
{
	return message_error("%s %s: %s", option ? option : "-o", file, why);
}

int save_dat_open(const char *option, const char *file, struct output **out)
{
	int ret = output_open(file, out);

	return ret ? cannot_write(option, file, strerror(-ret)) : COMMAND_DONE;
}

static int machine_name(char *out, size_t size)
{
	struct utsname u;

	if (uname(&u))
		return -errno;
	snprintf(out, size, "%s %s %s %s", u.sysname, u.nodename, u.release, u.machine);
	return 0;
}

/* ---- each instance ---- */

static int write_instance(void *arg, const char *name, bool is_dir)
{
	if (is_dir)
		fprintf(arg, "instances/%s/%c", name, '\0');
	return 0;
}

/*
 * `instance`: "" or "instances/NAME/". The names are taken first: no file of a session can be read
 * while a directory is.
 */
static void each_instance(struct access *a,
			  void (*fn)(struct access *a, const char *instance, void *arg), void *arg)
{
	char *names = NULL;
	size_t len;
	FILE *out = text_memory_open(&names, &len);

	fn(a, "", arg);
	if (!out)
		return;
	a->ops->list(a, "instances", write_instance, out);
	if (!fclose(out))
		for (const char *name = names; name < names + len; name += strlen(name) + 1)
			fn(a, name, arg);
	free(names);
}

/* ---- the end of recording ---- */

/* One that was removed meanwhile needs nothing. */
static void write_on(struct access *a, const char *instance, const char *text)
{
	char path[600];

	snprintf(path, sizeof(path), "%stracing_on", instance);
	access_write_all(a, path, O_TRUNC, text, strlen(text), NULL);
}

static bool begins_with(struct access *a, const char *instance, const char *file, const char *text)
{
	char path[600], *now;
	bool same;
	size_t len;

	snprintf(path, sizeof(path), "%s%s", instance, file);
	if (access_read_all(a, path, &now, &len))
		return false;
	same = !strncmp(now, text, strlen(text));
	free(now);
	return same;
}

/* `names`: a FILE that gets the names of those that were on; may be NULL */
static void switch_off(struct access *a, const char *instance, void *names)
{
	if (names && begins_with(a, instance, "tracing_on", "1"))
		fprintf(names, "%s%c", instance, '\0');
	write_on(a, instance, "0\n");
}

void save_dat_switch_off(struct access *a)
{
	each_instance(a, switch_off, NULL);
}

/*
 * The session goes on, because nothing was saved. The function tracer would empty the buffer when
 * it is switched on, so there recording stays off.
 */
static void switch_on_again(struct access *a, const char *names, size_t len)
{
	for (const char *name = names; name < names + len; name += strlen(name) + 1)
		if (!begins_with(a, name, "current_tracer", "function\n"))
			write_on(a, name, "1\n");
}

/* ---- how much it is ---- */

static void add_bytes(struct access *a, const char *instance, void *bytes)
{
	char path[600], *text;
	size_t len;

	for (unsigned int cpu = 0;; cpu++) {
		snprintf(path, sizeof(path), "%sper_cpu/cpu%u/stats", instance, cpu);
		if (access_read_all(a, path, &text, &len))
			return;
		*(uint64_t *)bytes += client_stat(text, "\nbytes: ");
		free(text);
	}
}

/* 0: not known, as of a part. */
static uint64_t bytes_to_save(struct access *a, const struct save_dat *what)
{
	uint64_t bytes = 0;

	if (what->drained)
		return streams_bytes(what->drained);
	if (!what->parts && !what->quiet)
		each_instance(a, add_bytes, &bytes);
	return bytes;
}

/* ---- saving ---- */

static int save_with_progress(struct access *a, FILE *out, const struct save_dat *what,
			      struct export_error *err, struct progress *progress)
{
	struct save_files from = { a, what->parts, what->drained, progress };
	struct export_files files = {
		.arg = &from, .read = save_dat_read_text, .stream = save_dat_stream,
		.list = list_names,
	};
	char machine[400] = "";
	struct export_params params = {
		.files = &files, .uname = machine, .compress = what->compress,
	};

	if (what->uname && *what->uname)
		params.uname = what->uname;
	else if (machine_name(machine, sizeof(machine)))
		params.uname = NULL;
	return export_trace_dat(&params, out, err);
}

int save_dat_to(struct access *a, FILE *out, const struct save_dat *what,
		struct export_error *err)
{
	struct progress none;

	progress_begin_bytes(&none, "save", 0, true);
	return save_with_progress(a, out, what, err, &none);
}

static int save_whole(struct access *a, const struct save_dat *what)
{
	FILE *out = output_begin(what->out);
	struct export_error err;
	struct progress progress;
	int failed, ret;

	if (!out)
		return cannot_write(what->option, what->file, strerror(errno));
	progress_begin_bytes(&progress, "save", bytes_to_save(a, what), what->quiet);
	failed = save_with_progress(a, out, what, &err, &progress);
	progress_end(&progress);
	ret = output_end(what->out, !failed);
	if (failed)
		return cannot_write(what->option, what->file, err.text);
	return ret ? cannot_write(what->option, what->file, strerror(-ret)) : COMMAND_DONE;
}

int save_dat(struct access *a, const struct save_dat *what)
{
	char *names = NULL;
	size_t len = 0;
	FILE *on = what->ends ? text_memory_open(&names, &len) : NULL;
	int status;

	if (what->ends)
		each_instance(a, switch_off, on);
	status = save_whole(a, what);
	if (on && !fclose(on) && status != COMMAND_DONE && !what->kernel)
		switch_on_again(a, names, len);
	free(names);
	return status;
}
