/* SPDX-License-Identifier: MIT */
/*
 * builtin.c - the commands of the setup reader
 *
 * Each returns its exit status and prints its own errors, in the words that
 * the real commands use.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "host/input.h"
#include "setup/state.h"

typedef int builtin_fn(struct setup *s, unsigned int argc, char **argv, struct setup_io *io);

bool setup_path(struct setup *s, const char *path, char *out, size_t size)
{
	char whole[2048];

	if (*path == '/' || *s->cwd != '/') {
		if (access_path(s->cwd, path, out, size))
			return true;
		/* ".." led out of the tracing directory: there is nothing of the session there. */
		snprintf(out, size, "%s%s", *path == '/' ? "" : "/sys/kernel/tracing/", path);
		return false;
	}
	snprintf(whole, sizeof(whole), "%s/%s", s->cwd, path);
	if (access_path("", whole, out, size))
		return true;
	snprintf(out, size, "%s", whole);
	return false;
}

bool setup_is_kernels(const char *path)
{
	int fd = open(path, O_PATH | O_CLOEXEC);
	const char *slash = strrchr(path, '/');
	struct statfs st;
	bool found;
	char dir[2048];

	if (fd < 0 && slash) {
		snprintf(dir, sizeof(dir), "%.*s", (int)(slash - path) + 1, path);
		fd = open(dir, O_PATH | O_CLOEXEC);
	}
	if (fd < 0)
		return false;
	found = !fstatfs(fd, &st) && (st.f_type == TRACEFS_MAGIC || st.f_type == DEBUGFS_MAGIC ||
				      st.f_type == SYSFS_MAGIC || st.f_type == PROC_SUPER_MAGIC);
	close(fd);
	return found;
}

/* An error of an external command: "mkdir: TEXT". */
static int complain(struct setup *s, struct setup_io *io, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vfprintf(io->err, format, ap);
	va_end(ap);
	fputc('\n', io->err);
	s->failed++;
	return 1;
}

/* ---- files ---- */

static int copy_host_file(const char *path, FILE *out)
{
	char buf[4096];
	FILE *in;
	size_t n;
	int err = input_open(path, &in);

	if (err)
		return err;
	while ((n = fread(buf, 1, sizeof(buf), in)) > 0)
		fwrite(buf, 1, n, out);
	input_close(in);
	return 0;
}

static int cat_one(struct setup *s, const char *name, struct setup_io *io)
{
	char path[1024], *text;
	size_t len;
	int ret;

	if (strcmp(name, "-") && setup_path(s, name, path, sizeof(path))) {
		ret = access_read_all(s->params->access, path, &text, &len);
		if (!ret) {
			fwrite(text, 1, len, io->out);
			free(text);
		}
	} else {
		ret = copy_host_file(strcmp(name, "-") ? path : name, io->out);
		if (ret)
			return complain(s, io, "cat: %s: %s", name, input_error(-ret));
	}
	return ret ? complain(s, io, "cat: %s: %s", name, strerror(-ret)) : 0;
}

static int run_cat(struct setup *s, unsigned int argc, char **argv, struct setup_io *io)
{
	int status = 0;

	if (argc == 1 && io->text && !io->in) {
		fwrite(io->text, 1, io->len, io->out);
		return 0;
	}
	if (argc == 1)
		return cat_one(s, io->in ? io->in : "-", io);
	for (unsigned int i = 1; i < argc; i++)
		status |= cat_one(s, argv[i], io);
	return status;
}

static int run_mkdir(struct setup *s, unsigned int argc, char **argv, struct setup_io *io)
{
	struct access *a = s->params->access;
	bool parents = false;
	char path[1024];
	int status = 0;

	for (unsigned int i = 1; i < argc; i++) {
		int ret;

		if (!strcmp(argv[i], "-p")) {
			parents = true;
			continue;
		}
		if (setup_path(s, argv[i], path, sizeof(path)))
			ret = a->ops->mkdir(a, path);
		else
			ret = setup_is_kernels(path) ? -EPERM : mkdir(path, 0777) ? -errno : 0;
		if (ret && !(parents && ret == -EEXIST))
			status = complain(s, io, "mkdir: cannot create directory '%s': %s", argv[i], strerror(-ret));
	}
	return status;
}

static int run_rmdir(struct setup *s, unsigned int argc, char **argv, struct setup_io *io)
{
	struct access *a = s->params->access;
	char path[1024];
	int status = 0;

	for (unsigned int i = 1; i < argc; i++) {
		int ret;

		if (setup_path(s, argv[i], path, sizeof(path)))
			ret = a->ops->rmdir(a, path);
		else
			ret = setup_is_kernels(path) ? -EPERM : rmdir(path) ? -errno : 0;
		if (ret)
			status = complain(s, io, "rmdir: failed to remove '%s': %s", argv[i], strerror(-ret));
	}
	return status;
}

static int run_cd(struct setup *s, unsigned int argc, char **argv, struct setup_io *io)
{
	struct access *a = s->params->access;
	const char *to = argc > 1 ? argv[1] : "/sys/kernel/tracing";
	char path[1024];
	struct stat st;
	mode_t mode;
	int ret;

	if (setup_path(s, to, path, sizeof(path))) {
		ret = a->ops->stat(a, path, &mode);
		if (!ret && !S_ISDIR(mode))
			ret = -ENOTDIR;
	} else {
		ret = stat(path, &st) ? -errno : S_ISDIR(st.st_mode) ? 0 : -ENOTDIR;
	}
	if (ret) {
		setup_error(s, io->err, "cd: %s: %s", to, strerror(-ret));
		return 1;
	}
	snprintf(s->cwd, sizeof(s->cwd), "%s", path);
	return 0;
}

static int run_pwd(struct setup *s, unsigned int argc, char **argv, struct setup_io *io)
{
	(void)argc;
	(void)argv;
	if (*s->cwd == '/')
		fprintf(io->out, "%s\n", s->cwd);
	else
		fprintf(io->out, "/sys/kernel/tracing%s%s\n", *s->cwd ? "/" : "", s->cwd);
	return 0;
}

static int print_name(void *arg, const char *name, bool is_dir)
{
	(void)is_dir;
	fprintf(arg, "%s\n", name);
	return 0;
}

static int run_ls(struct setup *s, unsigned int argc, char **argv, struct setup_io *io)
{
	struct access *a = s->params->access;
	const char *name = argc > 1 && *argv[argc - 1] != '-' ? argv[argc - 1] : ".";
	char path[1024];
	int ret = -ENOENT;

	if (setup_path(s, name, path, sizeof(path)))
		ret = a->ops->list(a, path, print_name, io->out);
	if (ret == -ENOTDIR) {
		fprintf(io->out, "%s\n", name);
		ret = 0;
	}
	return ret ? complain(s, io, "ls: cannot access '%s': %s", name, strerror(-ret)) : 0;
}

/* ---- conditions ---- */

static bool file_test(struct setup *s, char op, const char *name)
{
	struct access *a = s->params->access;
	char path[1024];
	struct stat st;
	mode_t mode = 0;
	bool exists;

	if (setup_path(s, name, path, sizeof(path))) {
		exists = !a->ops->stat(a, path, &mode);
	} else {
		exists = !stat(path, &st);
		mode = exists ? st.st_mode : 0;
	}
	if (op == 'd')
		return exists && S_ISDIR(mode);
	if (op == 'f')
		return exists && S_ISREG(mode);
	return exists;
}

static bool compare_numbers(long a, const char *op, long b)
{
	static const char *const ops[] = { "-eq", "-ne", "-lt", "-le", "-gt", "-ge", NULL };
	const bool results[] = { a == b, a != b, a < b, a <= b, a > b, a >= b };

	for (int i = 0; ops[i]; i++)
		if (!strcmp(ops[i], op))
			return results[i];
	return false;
}

static bool evaluate(struct setup *s, unsigned int argc, char **argv)
{
	if (argc && !strcmp(argv[0], "!"))
		return !evaluate(s, argc - 1, argv + 1);
	if (argc == 1)
		return *argv[0] != '\0';
	if (argc == 2 && !strcmp(argv[0], "-n"))
		return *argv[1] != '\0';
	if (argc == 2 && !strcmp(argv[0], "-z"))
		return *argv[1] == '\0';
	if (argc == 2 && argv[0][0] == '-')
		return file_test(s, argv[0][1], argv[1]);
	if (argc != 3)
		return false;
	if (!strcmp(argv[1], "=") || !strcmp(argv[1], "=="))
		return !strcmp(argv[0], argv[2]);
	if (!strcmp(argv[1], "!="))
		return strcmp(argv[0], argv[2]);
	return compare_numbers(strtol(argv[0], NULL, 0), argv[1], strtol(argv[2], NULL, 0));
}

static int run_test(struct setup *s, unsigned int argc, char **argv, struct setup_io *io)
{
	if (!strcmp(argv[0], "[")) {
		if (strcmp(argv[argc - 1], "]")) {
			setup_error(s, io->err, "[: missing `]'");
			return 2;
		}
		argc--;
	}
	return !evaluate(s, argc - 1, argv + 1);
}

/* ---- the rest ---- */

static int run_true(struct setup *s, unsigned int argc, char **argv, struct setup_io *io)
{
	(void)s;
	(void)argc;
	(void)argv;
	(void)io;
	return 0;
}

static int run_false(struct setup *s, unsigned int argc, char **argv, struct setup_io *io)
{
	return !run_true(s, argc, argv, io);
}

static int run_sleep(struct setup *s, unsigned int argc, char **argv, struct setup_io *io)
{
	double seconds = argc > 1 ? strtod(argv[1], NULL) : 0;
	struct timespec ts;

	(void)s;
	(void)io;
	if (seconds < 0 || seconds > 86400)
		return 1;
	ts.tv_sec = (time_t)seconds;
	ts.tv_nsec = (long)((seconds - (double)ts.tv_sec) * 1e9);
	nanosleep(&ts, NULL);
	return 0;
}

static int run_exit(struct setup *s, unsigned int argc, char **argv, struct setup_io *io)
{
	(void)io;
	s->exiting = true;
	return argc > 1 ? atoi(argv[1]) : s->status;
}

static int run_set(struct setup *s, unsigned int argc, char **argv, struct setup_io *io)
{
	(void)io;
	for (unsigned int i = 1; i < argc; i++)
		if ((*argv[i] == '-' || *argv[i] == '+') && strchr(argv[i], 'e'))
			s->errexit = *argv[i] == '-';
	return 0;
}

static int run_export(struct setup *s, unsigned int argc, char **argv, struct setup_io *io)
{
	for (unsigned int i = 1; i < argc; i++) {
		char *equals = strchr(argv[i], '=');

		if (equals) {
			*equals = '\0';
			if (!setup_set(s, argv[i], equals + 1)) {
				setup_error(s, io->err, "out of memory");
				return 1;
			}
		}
	}
	return 0;
}

static const struct {
	const char	*name;
	builtin_fn	*run;
} builtins[] = {
	{ "echo", setup_echo }, { "printf", setup_printf }, { "cat", run_cat }, { "mkdir", run_mkdir },
	{ "rmdir", run_rmdir }, { "cd", run_cd }, { "pwd", run_pwd }, { "ls", run_ls },
	{ "test", run_test }, { "[", run_test }, { "true", run_true }, { ":", run_true },
	{ "sync", run_true }, { "false", run_false }, { "sleep", run_sleep }, { "exit", run_exit },
	{ "set", run_set }, { "export", run_export },
};

bool setup_knows(const char *name)
{
	for (size_t i = 0; i < sizeof(builtins) / sizeof(builtins[0]); i++)
		if (!strcmp(builtins[i].name, name))
			return true;
	return setup_is_filter(name);
}

int setup_builtin(struct setup *s, unsigned int argc, char **argv, struct setup_io *io)
{
	for (size_t i = 0; i < sizeof(builtins) / sizeof(builtins[0]); i++)
		if (!strcmp(builtins[i].name, argv[0]))
			return builtins[i].run(s, argc, argv, io);
	return -1;
}
