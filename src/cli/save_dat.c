/* SPDX-License-Identifier: MIT */
/* save_dat.c - -o FILE: writes the records of a session as a trace.dat */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "export/trace_dat.h"
#include "access/access.h"
#include "cli/command.h"
#include "host/output.h"
#include "cli/save_dat.h"

enum { PIECE = 256 * 1024 };

/* ---- the session's files, for the exporter ---- */

static int save_dat_read_text(void *arg, const char *path, char **text, size_t *len)
{
	return access_read_all(arg, path, text, len);
}

static int stream_file(void *arg, const char *path,
		       int (*take)(void *to, const char *buf, size_t n), void *to)
{
	struct access *a = arg;
	char *buf = malloc(PIECE);
	struct access_file *f;
	ssize_t n;
	int ret = buf ? a->ops->open(a, path, O_RDONLY, &f) : -ENOMEM;

	if (ret) {
		free(buf);
		return ret;
	}
	for (off_t off = 0; !ret && (n = a->ops->read(f, buf, PIECE, off)); off += n)
		ret = n < 0 ? (int)n : take(to, buf, (size_t)n);
	a->ops->release(f);
	free(buf);
	return ret;
}

static int list_names(void *arg, const char *path,
		      int (*fn)(void *to, const char *name, bool is_dir), void *to)
{
	struct access *a = arg;

	return a->ops->list(a, path, fn, to);
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

/* 0 or -errno */
static int write_to(struct access *a, FILE *out, const struct save_dat *what,
		    struct export_error *err)
{
	struct export_files files = {
		.arg = a, .read = save_dat_read_text, .stream = stream_file, .list = list_names,
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
	failed = write_to(a, out, what, &err);
	ret = output_end(what->out, !failed);
	if (failed)
		return message_error("-o %s: %s", what->file, err.text);
	return ret ? cannot_write(what->file, -ret) : COMMAND_DONE;
}
