/* SPDX-License-Identifier: MIT */
/*
 * save_dat.c - -o FILE: what a session recorded, as a trace.dat
 *
 * It is written beside FILE and renamed when it is whole, so that a full disk
 * costs no older recording and FILE may be the one that is replayed. What is
 * there and no regular file (/dev/null) is written to as it is.
 */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "export/trace_dat.h"
#include "fronts/access.h"
#include "fronts/command.h"
#include "fronts/save_dat.h"

enum { PIECE = 256 * 1024 };

/* ---- the session's files, as the exporter wants them ---- */

static int read_text(void *arg, const char *path, char **text, size_t *len)
{
	return access_read_all(arg, path, text, len);
}

static int stream_file(void *arg, const char *path, int (*take)(void *to, const char *buf, size_t n), void *to)
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

static int list_names(void *arg, const char *path, int (*fn)(void *to, const char *name, bool is_dir), void *to)
{
	struct access *a = arg;

	return a->ops->list(a, path, fn, to);
}

/* ---- the file ---- */

static int cannot_write(const char *file, int err)
{
	return command_error("-o %s: %s", file, strerror(err));
}

static bool is_regular_or_new(const char *file)
{
	struct stat st;

	return stat(file, &st) ? errno == ENOENT : S_ISREG(st.st_mode);
}

/* What a link leads to is replaced, not the link. The caller frees. */
static char *whole_path(const char *file)
{
	char *path = realpath(file, NULL);

	return path ? path : strdup(file);
}

static int check_directory(const char *path)
{
	char *copy = strdup(path);
	int err = copy && !access(dirname(copy), W_OK | X_OK) ? 0 : errno;

	free(copy);
	return err;
}

int save_dat_check(const char *file)
{
	char *path = whole_path(file);
	struct stat st;
	int err = 0;

	if (!path)
		return command_error("out of memory");
	if (!stat(path, &st) && S_ISDIR(st.st_mode))
		err = EISDIR;
	else if (!access(path, F_OK) && access(path, W_OK))
		err = errno;
	else if (is_regular_or_new(path))
		err = check_directory(path);
	free(path);
	return err ? cannot_write(file, err) : COMMAND_DONE;
}

static int machine_name(char *out, size_t size)
{
	struct utsname u;

	if (uname(&u))
		return -errno;
	snprintf(out, size, "%s %s %s %s", u.sysname, u.nodename, u.release, u.machine);
	return 0;
}

static int write_to(struct access *a, FILE *out, const char *file, const char *uname_text, bool compress)
{
	struct export_files files = { .arg = a, .read = read_text, .stream = stream_file, .list = list_names };
	char machine[400] = "";
	struct export_params params = { .files = &files, .uname = machine, .compress = compress };
	struct export_error err;

	if (uname_text && *uname_text)
		params.uname = uname_text;
	else if (machine_name(machine, sizeof(machine)))
		params.uname = NULL;
	if (export_trace_dat(&params, out, &err)) {
		fclose(out);
		return command_error("-o %s: %s", file, err.text);
	}
	return fclose(out) ? cannot_write(file, errno) : COMMAND_DONE;
}

static int write_beside(struct access *a, const char *path, const char *file, const char *uname_text,
			bool compress)
{
	char *temp;
	FILE *out;
	int status;

	if (asprintf(&temp, "%s.%d", path, (int)getpid()) < 0)
		return command_error("out of memory");
	out = fopen(temp, "wxe");
	if (!out) {
		status = cannot_write(file, errno);
	} else {
		status = write_to(a, out, file, uname_text, compress);
		if (!status && rename(temp, path))
			status = cannot_write(file, errno);
		if (status)
			unlink(temp);
	}
	free(temp);
	return status;
}

int save_dat(struct access *a, const char *file, const char *uname_text, bool compress)
{
	char *path = whole_path(file);
	FILE *out;
	int status;

	if (!path)
		return command_error("out of memory");
	if (is_regular_or_new(path)) {
		status = write_beside(a, path, file, uname_text, compress);
	} else {
		out = fopen(path, "we");
		status = out ? write_to(a, out, file, uname_text, compress) : cannot_write(file, errno);
	}
	free(path);
	return status;
}
