/* SPDX-License-Identifier: MIT */
/*
 * command.c - the box for commands: shell lines as of a setup script; see web.h
 *
 *     { "failed": how many commands, "cut": the output was too long, "out", "err" }
 *
 * The lines use the session's files through a table that lets nothing be written without --write.
 * It never waits for a pipe. Files outside of the session and programs are refused.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "cli/web/web.h"
#include "model/text_memory.h"
#include "setup/setup.h"

enum { OUTPUT = 1 << 20 };

/* ---- the files that the lines may use ---- */

struct limited {
	struct access	access;
	struct access	*to;
	bool		write;
	size_t		taken;		/* bytes read so far */
	bool		cut;
	bool		refused;	/* for want of --write */
};

struct limited_file {
	struct access_file file;
	struct access_file *to;
};

static struct limited *limited_of(struct access *a)
{
	return (struct limited *)a;
}

static struct access_file *to_of(struct access_file *f)
{
	return ((struct limited_file *)f)->to;
}

static int refuse_write(struct limited *l)
{
	l->refused = true;
	return -EROFS;
}

/* To read a pipe, or the raw snapshot, takes its records away. */
static bool is_refused(const struct limited *l, const char *path, int flags)
{
	return !l->write && ((flags & O_ACCMODE) != O_RDONLY || strstr(path, "trace_pipe") ||
			     strstr(path, "snapshot_raw"));
}

static int limited_open(struct access *a, const char *path, int flags, struct access_file **out)
{
	struct limited *l = limited_of(a);
	struct limited_file *f;
	int ret;

	if (is_refused(l, path, flags))
		return refuse_write(l);
	f = calloc(1, sizeof(*f));
	ret = f ? l->to->ops->open(l->to, path, flags | O_NONBLOCK, &f->to) : -ENOMEM;
	if (ret < 0) {
		free(f);
		return ret;
	}
	f->file.access = a;
	*out = &f->file;
	return ret;
}

static ssize_t limited_read(struct access_file *f, char *buf, size_t size, off_t off)
{
	struct limited *l = limited_of(f->access);
	ssize_t n;

	if (l->taken >= OUTPUT) {
		l->cut = true;
		return 0;
	}
	n = l->to->ops->read(to_of(f), buf, size, off);
	if (n > 0)
		l->taken += (size_t)n;
	return n == -EAGAIN ? 0 : n;
}

static ssize_t limited_write(struct access_file *f, const char *buf, size_t size)
{
	return limited_of(f->access)->to->ops->write(to_of(f), buf, size);
}

static int limited_release(struct access_file *f)
{
	int ret = limited_of(f->access)->to->ops->release(to_of(f));

	free(f);
	return ret;
}

static int limited_list(struct access *a, const char *path,
			int (*fn)(void *arg, const char *name, bool is_dir), void *arg)
{
	struct access *to = limited_of(a)->to;

	return to->ops->list(to, path, fn, arg);
}

static int limited_stat(struct access *a, const char *path, mode_t *mode)
{
	struct access *to = limited_of(a)->to;

	return to->ops->stat(to, path, mode);
}

static int limited_mkdir(struct access *a, const char *path)
{
	struct limited *l = limited_of(a);

	return l->write ? l->to->ops->mkdir(l->to, path) : refuse_write(l);
}

static int limited_rmdir(struct access *a, const char *path)
{
	struct limited *l = limited_of(a);

	return l->write ? l->to->ops->rmdir(l->to, path) : refuse_write(l);
}

static int limited_pend(struct access *a, const char *path, bool truncates, const char *text,
			size_t len)
{
	struct limited *l = limited_of(a);

	return l->write ? access_pend(l->to, path, truncates, text, len) : refuse_write(l);
}

static const struct access_ops limited_ops = {
	.open = limited_open,
	.read = limited_read,
	.write = limited_write,
	.release = limited_release,
	.list = limited_list,
	.stat = limited_stat,
	.mkdir = limited_mkdir,
	.rmdir = limited_rmdir,
	.pend = limited_pend,
};

/* ---- the lines ---- */

struct printed {
	char		*text;
	size_t		len;
	FILE		*file;
};

static bool printed_open(struct printed *p)
{
	*p = (struct printed){ 0 };
	p->file = text_memory_open(&p->text, &p->len);
	return p->file;
}

static int command_run(struct limited *l, const char *text, size_t len, struct printed *out,
		       struct printed *err)
{
	const struct setup_params params = { .access = &l->access, .name = "command",
					     .inside = true, .out = out->file, .err = err->file };
	int failed = setup_run_text(&params, text, len);

	/* Nothing was run: the lines have an error, or need a real shell. */
	if (failed < 0 && failed != -ENOMEM)
		failed = 1;
	if (l->refused)
		fputs("The page may only read: start `tracefuse web --write` to change "
		      "settings.\n", err->file);
	return failed;
}

int web_command_print(struct web *w, const char *text, size_t len, FILE *out)
{
	struct limited l = { .access.ops = &limited_ops, .to = w->access, .write = w->write };
	struct printed printed, errors;
	int failed = -ENOMEM, lost = 0;

	if (memchr(text, '\0', len))
		return -EINVAL;
	if (!printed_open(&printed))
		return -ENOMEM;
	if (printed_open(&errors)) {
		failed = command_run(&l, text, len, &printed, &errors);
		lost |= fclose(errors.file);
	}
	lost |= fclose(printed.file);
	if (!lost && failed != -ENOMEM) {
		fprintf(out, "{\"failed\":%d,\"cut\":%s,\"out\":", failed,
			l.cut ? "true" : "false");
		web_json_bytes(printed.text, printed.len, out);
		fputs(",\"err\":", out);
		web_json_bytes(errors.text, errors.len, out);
		fputs("}\n", out);
	}
	free(printed.text);
	free(errors.text);
	return lost || failed == -ENOMEM ? -ENOMEM : 0;
}
