/* SPDX-License-Identifier: MIT */
/*
 * libraries.c - see libraries.h
 *
 *     LOADER --list PROGRAM   ->   "\tlibz.so.1 => /lib/x86_64-linux-gnu/libz.so.1 (0x7f...)"
 *
 * That is what ldd runs. The loader is the one that the program's file names. A library that no
 * program is known for is found by `LOADER --preload NAME --list` of this program.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/run/libraries.h"
#include "elf/program.h"

extern char **environ;

static long libraries_read(int fd, void *buf, size_t size, uint64_t at)
{
	return pread(fd, buf, size, (off_t)at);
}

static int loader_of(const char *program, char loader[PROGRAM_PATH])
{
	const int fd = open(program, O_RDONLY | O_CLOEXEC);
	struct program_file p;
	enum program_kind kind;

	if (fd < 0)
		return -errno;
	kind = program_open(&p, libraries_read, fd, loader);
	close(fd);
	if (kind == PROGRAM_STATIC)
		return 0;
	return kind == PROGRAM_DYNAMIC && program_is_loader(loader) ? 1 : -EINVAL;
}

/* Starts argv[0], the loader; out: where its answer can be read. 0 or -errno. */
static int loader_start(char **argv, bool quiet, pid_t *pid, FILE **out)
{
	posix_spawn_file_actions_t files;
	int ends[2], err;

	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	*out = fdopen(ends[0], "r");
	err = *out ? posix_spawn_file_actions_init(&files) : ENOMEM;
	if (!err) {
		err = posix_spawn_file_actions_adddup2(&files, ends[1], STDOUT_FILENO);
		if (!err && quiet)
			err = posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null",
							       O_WRONLY, 0);
		if (!err)
			err = posix_spawn(pid, argv[0], &files, NULL, argv, environ);
		posix_spawn_file_actions_destroy(&files);
	}
	close(ends[1]);
	if (err && *out)
		fclose(*out);
	else if (err)
		close(ends[0]);
	return -err;
}

/* Cuts "NAME => PATH (ADDRESS)" or "PATH (ADDRESS)" into its parts. False: it has no path. */
static bool line_read(char *line, char **name, char **path)
{
	char *arrow, *end;

	line += strspn(line, " \t");
	end = strstr(line, " (0x");
	if (!end)
		return false;
	*end = '\0';
	arrow = strstr(line, " => ");
	*name = line;
	*path = arrow ? arrow + 4 : line;
	if (arrow)
		*arrow = '\0';
	return **path == '/';
}

/* Calls fn() for each line of what argv[0], a loader, says. */
static int loader_ask(char **argv, bool quiet,
		      int (*fn)(void *arg, const char *name, const char *path), void *arg)
{
	char *line = NULL, *name, *path;
	size_t size = 0;
	FILE *out = NULL;
	pid_t pid;
	int ret = loader_start(argv, quiet, &pid, &out);

	if (ret)
		return ret;
	while (getline(&line, &size, out) >= 0)
		if (!ret && line_read(line, &name, &path))
			ret = fn(arg, name, path);
	free(line);
	fclose(out);
	waitpid(pid, NULL, 0);
	return ret;
}

int run_libraries(const char *program,
		  int (*fn)(void *arg, const char *name, const char *path), void *arg)
{
	char loader[PROGRAM_PATH];
	char *argv[] = { loader, "--list", (char *)program, NULL };
	const int ret = loader_of(program, loader);

	return ret > 0 ? loader_ask(argv, false, fn, arg) : ret;
}

/* ---- One library, by its name ---- */

struct sought {
	const char	*name;
	char		*path;		/* of PATH_MAX bytes */
};

static int library_is_sought(void *arg, const char *name, const char *path)
{
	const struct sought *s = arg;

	return !strcmp(name, s->name) &&
	       snprintf(s->path, PATH_MAX, "%s", path) < PATH_MAX;
}

bool run_library_find(const char *name, char *path)
{
	static const char self[] = "/proc/self/exe";
	char loader[PROGRAM_PATH], program[PATH_MAX];
	char *argv[] = { loader, "--preload", (char *)name, "--list", program, NULL };
	struct sought s = { name, path };
	ssize_t len;

	/* The loader takes blanks and colons for the ends of names. */
	if (!strstr(name, ".so") || strpbrk(name, "/ :$") || loader_of(self, loader) <= 0)
		return false;
	len = readlink(self, program, sizeof(program) - 1);
	if (len < 0)
		return false;
	program[len] = '\0';
	return loader_ask(argv, true, library_is_sought, &s) > 0;
}
