/* SPDX-License-Identifier: MIT */
/*
 * filter.c - programs of the host that the setup reader runs: such as only read
 *
 * Files of the session do not exist for them. So each argument that names one
 * is read here, and the program is given a descriptor with what was in it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/output.h"
#include "setup/state.h"

enum { MAX_FILES = 64 };

static const struct {
	const char	*name;
	unsigned int	texts;		/* arguments in front that are no files: a pattern */
} filters[] = {
	{ "grep", 1 }, { "egrep", 1 }, { "fgrep", 1 }, { "sed", 1 }, { "awk", 1 }, { "tr", 2 }, { "head", 0 },
	{ "tail", 0 }, { "wc", 0 }, { "sort", 0 }, { "uniq", 0 }, { "cut", 0 }, { "expr", MAX_FILES },
	{ "seq", MAX_FILES }, { "date", MAX_FILES }, { "uname", MAX_FILES },
};

struct filter_run {
	char		**argv;		/* as the program gets it */
	int		fds[MAX_FILES];	/* files of the session */
	unsigned int	nr_fds;
	int		in, out, err;
};

static int memory_file(const char *text, size_t len)
{
	int fd = memfd_create("setup", 0);
	ssize_t n = 0;

	while (fd >= 0 && len && (n = write(fd, text, len)) > 0) {
		text += n;
		len -= (size_t)n;
	}
	if (fd >= 0)
		lseek(fd, 0, SEEK_SET);
	return fd;
}

/* -1: not a file of the session that can be read. */
static int session_file(struct setup *s, const char *name)
{
	struct access *a = s->params->access;
	char path[1024], *text;
	size_t len;
	mode_t mode;
	int fd;

	if (!setup_path(s, name, path, sizeof(path)) || a->ops->stat(a, path, &mode) || !S_ISREG(mode) ||
	    access_read_all(a, path, &text, &len))
		return -1;
	fd = memory_file(text, len);
	free(text);
	return fd;
}

/* Replaces what names a file of the session. */
static void map_arguments(struct setup *s, struct filter_run *f, unsigned int texts)
{
	char path[64];

	for (char **arg = f->argv + 1; *arg && f->nr_fds < MAX_FILES; arg++) {
		int fd;

		if (**arg == '-' && arg[0][1])
			continue;
		if (texts) {
			texts--;
			continue;
		}
		fd = session_file(s, *arg);
		if (fd < 0)
			continue;
		f->fds[f->nr_fds++] = fd;
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		free(*arg);
		*arg = strdup(path);
	}
}

static void run_child(const struct filter_run *f)
{
	dup2(f->in, STDIN_FILENO);
	dup2(f->out, STDOUT_FILENO);
	dup2(f->err, STDERR_FILENO);
	/* Whatever else is named relative to somewhere is not here. */
	if (chdir("/proc/self"))
		_exit(126);
	output_signals_restore();
	execvp(f->argv[0], f->argv);
	_exit(127);
}

/* Adds what the program wrote to `out`. */
static void copy_out(int fd, FILE *out)
{
	char buf[4096];
	ssize_t n;

	lseek(fd, 0, SEEK_SET);
	while ((n = read(fd, buf, sizeof(buf))) > 0)
		fwrite(buf, 1, (size_t)n, out);
}

static int run_program(struct setup *s, const struct filter_run *f, struct setup_io *io)
{
	int status = 0;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (!pid)
		run_child(f);
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return 1;
	copy_out(f->out, io->out);
	copy_out(f->err, io->err);
	status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	if (status == 127)
		setup_error(s, io->err, "%s: command not found", f->argv[0]);
	return status;
}

static char **copy_words(unsigned int argc, char **argv)
{
	char **copy = calloc(argc + 1, sizeof(*copy));

	for (unsigned int i = 0; copy && i < argc; i++)
		copy[i] = strdup(argv[i]);
	return copy;
}

static void filter_destroy(struct filter_run *f)
{
	for (char **arg = f->argv; arg && *arg; arg++)
		free(*arg);
	free(f->argv);
	while (f->nr_fds)
		close(f->fds[--f->nr_fds]);
	if (f->in >= 0)
		close(f->in);
	if (f->out >= 0)
		close(f->out);
	if (f->err >= 0)
		close(f->err);
}

static int find_filter(const char *name)
{
	for (size_t i = 0; i < sizeof(filters) / sizeof(filters[0]); i++)
		if (!strcmp(filters[i].name, name))
			return (int)i;
	return -1;
}

bool setup_is_filter(const char *name)
{
	return find_filter(name) >= 0;
}

int setup_filter(struct setup *s, unsigned int argc, char **argv, struct setup_io *io)
{
	struct filter_run f = { .in = -1 };
	int i = find_filter(argv[0]), status = 1;

	if (i < 0)
		return -1;
	f.argv = copy_words(argc, argv);
	f.in = io->in ? session_file(s, io->in) : memory_file(io->text ? io->text : "", io->text ? io->len : 0);
	f.out = memory_file("", 0);
	f.err = memory_file("", 0);
	if (f.argv && f.in >= 0 && f.out >= 0 && f.err >= 0) {
		map_arguments(s, &f, filters[i].texts);
		status = run_program(s, &f, io);
	}
	filter_destroy(&f);
	return status;
}
