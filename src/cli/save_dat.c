/* SPDX-License-Identifier: MIT */
/* save_dat.c - -o FILE: writes the records of a session as a trace.dat */
#include <errno.h>
#include <string.h>
#include <sys/utsname.h>

#include "export/trace_dat.h"
#include "access/access.h"
#include "cli/command.h"
#include "cli/drain/stream.h"
#include "cli/raw.h"
#include "host/output.h"
#include "cli/save_dat.h"

/* ---- the session's files, for the exporter ---- */

struct save_files {
	struct access	*access;
	const struct save_dat_parts *parts;	/* NULL: everything */
	struct streams	*drained;	/* NULL: nothing was drained */
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

static int save_dat_stream(void *arg, const char *path,
			   int (*take)(void *to, const char *buf, size_t n), void *to)
{
	const struct save_files *s = arg;

	if (s->drained)
		return streams_give(s->drained, path, take, to);
	return s->parts ? stream_parts(s, path, take, to)
			: raw_stream(s->access, path, NULL, take, to);
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

static int cannot_write(const char *file, int err)
{
	return message_error("-o %s: %s", file, strerror(err));
}

int save_dat_open(const char *file, struct output **out)
{
	int ret = output_open(file, out);

	return ret ? cannot_write(file, -ret) : COMMAND_DONE;
}

static int machine_name(char *out, size_t size)
{
	struct utsname u;

	if (uname(&u))
		return -errno;
	snprintf(out, size, "%s %s %s %s", u.sysname, u.nodename, u.release, u.machine);
	return 0;
}

int save_dat_to(struct access *a, FILE *out, const struct save_dat *what,
		struct export_error *err)
{
	struct save_files from = { a, what->parts, what->drained };
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

int save_dat(struct access *a, const struct save_dat *what)
{
	FILE *out = output_begin(what->out);
	struct export_error err;
	int failed, ret;

	if (!out)
		return cannot_write(what->file, errno);
	failed = save_dat_to(a, out, what, &err);
	ret = output_end(what->out, !failed);
	if (failed)
		return message_error("-o %s: %s", what->file, err.text);
	return ret ? cannot_write(what->file, -ret) : COMMAND_DONE;
}
