/* SPDX-License-Identifier: MIT */
/*
 * libraries.c - see libraries.h
 *
 *     LOADER --list PROGRAM   ->   "\tlibz.so.1 => /lib/x86_64-linux-gnu/libz.so.1 (0x7f...)"
 *
 * That is what ldd runs. The loader is the one that the program's file names.
 */
#include <errno.h>
#include <fcntl.h>
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

/* Starts the loader; out: where its answer can be read. 0 or -errno. */
static int loader_start(const char *loader, const char *program, pid_t *pid, FILE **out)
{
	char *argv[] = { (char *)loader, "--list", (char *)program, NULL };
	posix_spawn_file_actions_t files;
	int ends[2], err;

	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	*out = fdopen(ends[0], "r");
	err = *out ? posix_spawn_file_actions_init(&files) : ENOMEM;
	if (!err) {
		err = posix_spawn_file_actions_adddup2(&files, ends[1], STDOUT_FILENO);
		if (!err)
			err = posix_spawn(pid, loader, &files, NULL, argv, environ);
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

int run_libraries(const char *program,
		  int (*fn)(void *arg, const char *name, const char *path), void *arg)
{
	char loader[PROGRAM_PATH], *line = NULL, *name, *path;
	int ret = loader_of(program, loader);
	size_t size = 0;
	FILE *out = NULL;
	pid_t pid;

	if (ret > 0)
		ret = loader_start(loader, program, &pid, &out);
	else
		return ret;
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
