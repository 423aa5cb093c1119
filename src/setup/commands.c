/* SPDX-License-Identifier: MIT */
/*
 * commands.c - the commands of the setup reader
 *
 * Each command prints its errors in the words of the real command.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "access/access.h"
#include "host/input.h"
#include "host/namespace.h"
#include "host/output.h"
#include "setup/state.h"

bool setup_path(const struct setup *s, const char *path, char out[SETUP_PATH_MAX])
{
	const bool whole = *path == '/';
	char named[SETUP_PATH_MAX];
	int n = snprintf(named, sizeof(named), "%s%s%s", whole ? "" : s->cwd, whole ? "" : "/",
			 path);

	/* No file has an empty path or one of that length. */
	if (!*path || n >= SETUP_PATH_MAX)
		*named = '\0';
	if (access_path("", named, out, SETUP_PATH_MAX))
		return *named;
	memcpy(out, named, SETUP_PATH_MAX);
	return false;
}

bool setup_is_kernels(const char *path)
{
	int fd = open(path, O_PATH | O_CLOEXEC);
	const char *slash = strrchr(path, '/');
	struct statfs st;
	bool found;
	char dir[SETUP_PATH_MAX];

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

void setup_complain(struct setup *s, bool line, const char *format, ...)
{
	va_list ap;

	if (line)
		fprintf(s->err, "%s: line %u: ", s->params->name, s->line);
	va_start(ap, format);
	vfprintf(s->err, format, ap);
	va_end(ap);
	fputc('\n', s->err);
	s->failed++;
}

static void run_echo(struct setup *s, unsigned int argc, char **argv)
{
	bool newline = argc < 2 || strcmp(argv[1], "-n");

	for (unsigned int i = newline ? 1 : 2; i < argc; i++)
		fprintf(s->printed, "%s%s", argv[i], i + 1 < argc ? " " : "");
	if (newline)
		fputc('\n', s->printed);
}

static int copy_host_file(const struct setup *s, const char *path, FILE *out)
{
	char buf[4096];
	FILE *in;
	size_t n;
	int err = s->params->inside ? -EPERM : input_open(path, &in);

	if (err)
		return err;
	while ((n = fread(buf, 1, sizeof(buf), in)) > 0)
		fwrite(buf, 1, n, out);
	input_close(in);
	return 0;
}

static int copy_session_file(struct access *a, const char *path, FILE *out)
{
	char *text;
	size_t len;
	int ret = access_read_all(a, path, &text, &len);

	if (ret)
		return ret;
	fwrite(text, 1, len, out);
	free(text);
	return 0;
}

static void run_cat(struct setup *s, unsigned int argc, char **argv)
{
	char path[SETUP_PATH_MAX];

	if (argc == 1)
		fwrite(s->text, 1, s->len, s->printed);
	for (unsigned int i = 1; i < argc; i++) {
		bool inside = setup_path(s, argv[i], path);
		int ret = inside ? copy_session_file(s->params->access, path, s->printed) :
				   copy_host_file(s, path, s->printed);

		if (ret)
			setup_complain(s, false, "cat: %s: %s", argv[i],
				       inside ? strerror(-ret) : input_error(-ret));
	}
}

/* For mkdir and rmdir. `parents`: the directory may exist; else it is made with those above it. */
static int change_directory(struct setup *s, const char *name, bool make, bool parents)
{
	struct access *a = s->params->access;
	char path[SETUP_PATH_MAX];
	struct stat st;

	if (setup_path(s, name, path)) {
		int ret = make ? a->ops->mkdir(a, path) : a->ops->rmdir(a, path);

		return ret == -EEXIST && parents ? 0 : ret;
	}
	if (setup_is_kernels(path) || s->params->inside)
		return -EPERM;
	for (char *end = path + 1; parents && (end = strchr(end, '/')); *end++ = '/') {
		*end = '\0';
		mkdir(path, 0777);
	}
	if (parents && !stat(path, &st) && S_ISDIR(st.st_mode))
		return 0;
	return (make ? mkdir(path, 0777) : rmdir(path)) ? -errno : 0;
}

static void change_directories(struct setup *s, char **argv, bool make, const char *error)
{
	bool parents = argv[1] && !strcmp(argv[1], "-p");

	for (char **name = argv + 1 + parents; *name; name++) {
		int ret = change_directory(s, *name, make, parents);

		if (ret)
			setup_complain(s, false, "%s: %s '%s': %s", argv[0], error, *name,
				       strerror(-ret));
	}
}

static void run_mkdir(struct setup *s, unsigned int argc, char **argv)
{
	change_directories(s, argv, true, "cannot create directory");
}

static void run_rmdir(struct setup *s, unsigned int argc, char **argv)
{
	change_directories(s, argv, false, "failed to remove");
}

static void run_cd(struct setup *s, unsigned int argc, char **argv)
{
	struct access *a = s->params->access;
	struct stat st = { .st_mode = 0 };
	char path[SETUP_PATH_MAX];
	bool inside = setup_path(s, argv[1], path);
	int ret;

	if (!inside && s->params->inside)
		ret = -EPERM;
	else
		ret = inside ? a->ops->stat(a, path, &st.st_mode) : stat(path, &st) ? -errno : 0;
	if (!ret && !S_ISDIR(st.st_mode))
		ret = -ENOTDIR;
	if (ret)
		setup_complain(s, true, "cd: %s: %s", argv[1], strerror(-ret));
	else
		snprintf(s->cwd, sizeof(s->cwd), inside ? NAMESPACE_TRACING "/%s" : "%s", path);
}

static int print_name(void *arg, const char *name, bool is_dir)
{
	fprintf(arg, "%s\n", name);
	return 0;
}

/* Prints one name a line, in the order of the tree. */
static void run_ls(struct setup *s, unsigned int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : ".";
	struct access *a = s->params->access;
	char path[SETUP_PATH_MAX];
	int ret;

	if (!setup_path(s, name, path) && *name) {
		setup_complain(s, true, "ls: directories outside of the session need a real shell");
		return;
	}
	ret = *name ? a->ops->list(a, path, print_name, s->printed) : -ENOENT;
	if (ret == -ENOTDIR)
		ret = print_name(s->printed, name, false);
	if (ret)
		setup_complain(s, false, "ls: cannot access '%s': %s", name, strerror(-ret));
}

/* ---- programs of the host that read from a pipe ---- */

enum { CANNOT_RUN = 127 };

static int memory_file(const char *text, size_t len)
{
	int fd = memfd_create("setup", MFD_CLOEXEC);
	ssize_t n = 0;

	while (fd >= 0 && len && (n = write(fd, text, len)) > 0) {
		text += n;
		len -= (size_t)n;
	}
	if (fd >= 0)
		lseek(fd, 0, SEEK_SET);
	return fd;
}

static void become_filter(char **argv, int in, int out)
{
	dup2(in, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	output_signals_restore();
	execvp(argv[0], argv);
	_exit(CANNOT_RUN);
}

/*
 * Runs a filter whose input and output are files in memory, so it never waits for the reader. Its
 * output is copied when it has ended.
 */
static void run_filter(struct setup *s, unsigned int argc, char **argv)
{
	int in, out, status = 0;
	char buf[4096];
	ssize_t n;
	pid_t pid;

	if (s->params->inside) {
		setup_complain(s, true, "%s: programs are not run here", argv[0]);
		return;
	}
	in = memory_file(s->text, s->len);
	out = memory_file("", 0);
	fflush(NULL);
	pid = in < 0 || out < 0 ? -1 : fork();
	if (!pid)
		become_filter(argv, in, out);
	if (pid < 0 || waitpid(pid, &status, 0) < 0 || status == CANNOT_RUN << 8)
		setup_complain(s, true, "%s: cannot be run", argv[0]);
	lseek(out, 0, SEEK_SET);
	while ((n = read(out, buf, sizeof(buf))) > 0)
		fwrite(buf, 1, (size_t)n, s->printed);
	close(in);
	close(out);
}

/* ---- the list ---- */

enum { MANY = 1 << 20 };

static const struct setup_command commands[] = {
	{ .name = "echo", .run = run_echo, .option = "-n", .most = MANY, .builtin = true },
	{ .name = "cat", .run = run_cat, .most = MANY, .reads = true },
	{ .name = "mkdir", .run = run_mkdir, .option = "-p", .least = 1, .most = MANY },
	{ .name = "rmdir", .run = run_rmdir, .least = 1, .most = MANY },
	{ .name = "cd", .run = run_cd, .least = 1, .most = 1, .builtin = true, .alone = true },
	{ .name = "ls", .run = run_ls, .most = 1 },
	{ .name = "grep", .run = run_filter, .least = 1, .most = 1, .reads = true, .filter = true },
	{ .name = "head", .run = run_filter, .reads = true, .filter = true },
	{ .name = "sort", .run = run_filter, .reads = true, .filter = true },
	{ .name = "tail", .run = run_filter, .reads = true, .filter = true },
	{ .name = "wc", .run = run_filter, .reads = true, .filter = true },
};

const struct setup_command *setup_command_find(const char *name, size_t len)
{
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (strlen(commands[i].name) == len && !strncmp(commands[i].name, name, len))
			return &commands[i];
	return NULL;
}

bool setup_command_takes(const struct setup_command *c, unsigned int nr, const char *arg,
			 size_t len, unsigned int *operands)
{
	bool option = *arg == '-';

	if (option && c->run == run_echo)
		option = len > 1 && strspn(arg + 1, "neE") >= len - 1;
	if (option && c->filter)
		return true;
	if (option)
		return !nr && c->option && strlen(c->option) == len &&
		       !strncmp(arg, c->option, len);
	if (c->run == run_ls && *arg == '/' && strncmp(arg, "/sys/kernel/", 12))
		return false;
	/* "head -n 5" */
	if (c->filter && strspn(arg, "0123456789") >= len)
		return true;
	return ++*operands <= c->most;
}
