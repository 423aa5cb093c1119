/* SPDX-License-Identifier: MIT */
/*
 * access.c - what is the same wherever a session's files are: paths, whole files, new entries of
 * error_log
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "access/access.h"

void access_close(struct access *a)
{
	if (a)
		a->ops->close(a);
}

/* Adds the components of `path` to `out`. False: a ".." leads outside of the root. */
static bool add_components(char *out, size_t size, const char *path)
{
	while (*path) {
		size_t n = strcspn(path, "/"), have = strlen(out);

		if (n == 2 && !strncmp(path, "..", 2)) {
			char *slash = strrchr(out, '/');

			if (!*out)
				return false;
			*(slash ? slash : out) = '\0';
		} else if (n && !(n == 1 && *path == '.')) {
			if (have + n + 2 > size)
				return false;
			if (have)
				out[have++] = '/';
			memcpy(out + have, path, n);
			out[have + n] = '\0';
		}
		path += n + (path[n] == '/');
	}
	return true;
}

bool access_path(const char *cwd, const char *path, char *out, size_t size)
{
	static const char *const roots[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };

	*out = '\0';
	if (*path != '/')
		return cwd && add_components(out, size, cwd) && add_components(out, size, path);
	for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]); i++) {
		size_t n = strlen(roots[i]);

		if (!strncmp(path, roots[i], n) && (path[n] == '/' || !path[n]))
			return add_components(out, size, path + n);
	}
	return false;
}

int access_read_all(struct access *a, const char *path, char **text, size_t *len)
{
	struct access_file *f;
	size_t cap = 65536, n = 0;
	char *buf;
	ssize_t ret = a->ops->open(a, path, O_RDONLY | O_NONBLOCK, &f);

	if (ret < 0)
		return (int)ret;
	buf = malloc(cap);
	while (buf && (ret = a->ops->read(f, buf + n, cap - n - 1, (off_t)n)) > 0) {
		n += (size_t)ret;
		if (n + 1 == cap) {
			char *more = realloc(buf, cap *= 2);

			if (!more)
				free(buf);
			buf = more;
		}
	}
	a->ops->release(f);
	if (!buf)
		return -ENOMEM;
	if (ret < 0 && ret != -EAGAIN) {
		free(buf);
		return (int)ret;
	}
	buf[n] = '\0';
	*text = buf;
	*len = n;
	return 0;
}

int access_create(struct access *a, const char *path, int flags, struct access_file **out)
{
	int ret = a->ops->open(a, path, flags, out);
	const char *slash = strrchr(path, '/');
	char dir[1024];
	mode_t mode;

	if (ret != -ENOENT)
		return ret;
	snprintf(dir, sizeof(dir), "%.*s", slash ? (int)(slash - path) : 0, path);
	return a->ops->stat(a, dir, &mode) ? ret : -EACCES;
}

int access_write_all(struct access *a, const char *path, int flags, const char *text, size_t len,
		     const char **step)
{
	const char *at = "open";
	struct access_file *f;
	ssize_t ret = access_create(a, path, O_WRONLY | flags, &f);
	int closed;

	if (ret >= 0) {
		at = "write";
		do {
			ret = a->ops->write(f, text, len);
			if (ret > 0) {
				text += ret;
				len -= (size_t)ret;
			}
		} while (ret > 0 && len);
		closed = a->ops->release(f);
		if (ret >= 0 && closed < 0) {
			at = "close";
			ret = closed;
		}
	}
	if (step)
		*step = at;
	return ret < 0 ? (int)ret : 0;
}

int access_pend(struct access *a, const char *path, bool truncates, const char *text, size_t len)
{
	return a->ops->pend ? a->ops->pend(a, path, truncates, text, len) : -ENOENT;
}

/* ---- error_log ---- */

/* instances/NAME/error_log for files of an instance, else error_log. */
static void log_path(const char *path, char *out, size_t size)
{
	const char *name = path + strlen("instances/");

	if (!strncmp(path, "instances/", 10) && strchr(name, '/'))
		snprintf(out, size, "%.*s/error_log", (int)(strchr(name, '/') - path), path);
	else
		snprintf(out, size, "error_log");
}

char *access_errors_mark(struct access *a, const char *path)
{
	char file[512];
	char *text;
	size_t len;

	log_path(path, file, sizeof(file));
	if (!strcmp(path, file) || access_read_all(a, file, &text, &len))
		return NULL;
	return text;
}

/* An entry begins with "[" at the start of a line. */
static const char *next_entry(const char *s)
{
	const char *next = strstr(s, "\n[");

	return next ? next + 1 : s + strlen(s);
}

/* The log drops its oldest entries, so `now` begins with the last entries of `before`. */
static const char *what_is_new(const char *before, const char *now)
{
	while (*before && strncmp(now, before, strlen(before)))
		before = next_entry(before);
	return now + strlen(before);
}

/*
 * The text of the last entry whose command is `command`, up to its newline. NULL: there is none.
 * The caret is in the line below the command. *caret is its place in the command.
 */
static char *last_reason(const char *log, const char *command, size_t *caret)
{
	static const char before[] = "\n  Command: ";
	const size_t len = strcspn(command, "\n"), label = strlen(before) - 1;
	const char *found = NULL;
	size_t blanks;

	for (const char *e = log; *e; e = next_entry(e)) {
		const char *why = strstr(e, ": error: "), *at = strstr(e, before);

		at = at ? at + strlen(before) : NULL;
		if (!why || !at || strncmp(at, command, len) || at[len] != '\n')
			continue;
		found = why + strlen(": error: ");
		blanks = strspn(at + len + 1, " ");
		*caret = blanks > label ? blanks - label : 0;
	}
	return found ? strndup(found, strcspn(found, "\n")) : NULL;
}

char *access_errors_reason(struct access *a, const char *path, const char *command, size_t *at)
{
	char file[512], *log, *why;
	size_t len, caret = 0;

	log_path(path, file, sizeof(file));
	if (access_read_all(a, file, &log, &len))
		return NULL;
	why = last_reason(log, command, &caret);
	free(log);
	if (at)
		*at = caret;
	return why;
}

void access_errors_print(struct access *a, const char *path, char *mark, FILE *out)
{
	char file[512];
	char *now;
	size_t len;

	if (!mark)
		return;
	log_path(path, file, sizeof(file));
	if (!access_read_all(a, file, &now, &len)) {
		fputs(what_is_new(mark, now), out);
		free(now);
	}
	free(mark);
}
