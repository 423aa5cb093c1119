/* SPDX-License-Identifier: MIT */
/*
 * check.c - finds out whether a program can be traced: finds its file, follows #!, checks ids and
 * capabilities
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "cli/run/check.h"

/* how many interpreters may be scripts themselves, as in the kernel */
enum { INTERPRETERS = 5 };

/* ---- the file that execvp() would take ---- */

static bool run_check_is_program(const char *path, int *err)
{
	struct stat st;

	if (stat(path, &st)) {
		*err = errno;
		return false;
	}
	if (!S_ISREG(st.st_mode) || access(path, X_OK)) {
		*err = S_ISDIR(st.st_mode) ? EISDIR : EACCES;
		return false;
	}
	return true;
}

static bool search_path(const char *name, char *out, size_t size, int *found)
{
	const char *dirs = getenv("PATH"), *end;
	int err = ENOENT;

	if (!dirs)
		dirs = "/bin:/usr/bin";
	for (;; dirs = end + 1) {
		end = strchrnul(dirs, ':');
		if (snprintf(out, size, "%.*s%s%s", (int)(end - dirs), dirs, end == dirs ? "" : "/",
			     name) < (int)size &&
		    run_check_is_program(out, &err))
			return true;
		/*
		 * A file that exists but cannot be run decides the error if no other file is found.
		 */
		if (err == EACCES && !access(out, F_OK))
			*found = EACCES;
		if (!*end)
			return false;
	}
}

static void find_program(const char *name, struct run_check *c)
{
	int err = ENOENT;
	bool found;

	if (strchr(name, '/')) {
		snprintf(c->path, sizeof(c->path), "%s", name);
		found = run_check_is_program(name, &err);
	} else {
		found = *name && search_path(name, c->path, sizeof(c->path), &err);
	}
	if (found)
		return;
	c->err = err;
	c->status = err == ENOENT || err == ENOTDIR ? RUN_NOT_FOUND : RUN_NOT_EXECUTABLE;
}

/* ---- ids and capabilities ---- */

/* Whether ids and capabilities of the file have no effect. */
static bool without_privileges(int fd)
{
	struct statvfs fs;

	return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ||
	       (!fstatvfs(fd, &fs) && (fs.f_flag & ST_NOSUID));
}

/* With ids or capabilities of the file, the dynamic linker ignores LD_PRELOAD. */
static void check_privileges(int fd, char *why, size_t size)
{
	struct stat st;

	if (fstat(fd, &st) || without_privileges(fd))
		return;
	if ((st.st_mode & S_ISUID) && st.st_uid != getuid())
		snprintf(why, size, "it is setuid");
	else if ((st.st_mode & S_ISGID) && (st.st_mode & S_IXGRP) && st.st_gid != getgid())
		snprintf(why, size, "it is setgid");
	else if (getuid() && fgetxattr(fd, "security.capability", NULL, 0) > 0)
		snprintf(why, size, "it has file capabilities");
}

/* ---- scripts ---- */

/*
 * Finds the interpreter of a line such as "#! /bin/sh -e". A file without #! is run by execvp()
 * with /bin/sh. False: the file is no script.
 */
static bool interpreter_of(int fd, char *out, size_t size)
{
	char line[256];
	ssize_t n = pread(fd, line, sizeof(line) - 1, 0);
	char *name;

	if (n < 0)
		return false;
	line[n] = 0;
	name = "/bin/sh";
	if (!strncmp(line, "#!", 2)) {
		line[strcspn(line, "\n")] = 0;
		name = line + 2 + strspn(line + 2, " \t");
		name[strcspn(name, " \t")] = 0;
	}
	snprintf(out, size, "%s", name);
	return *name;
}

/*
 * Returns 1 if `path` was a script; it is the interpreter's path now. Returns 0 for a binary, or if
 * the file cannot be read.
 */
static int run_check_file(char *path, size_t path_size, const char *preload, char *why, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	int ret;

	if (fd < 0) {
		if (errno == EACCES)
			snprintf(why, size, "it cannot be read");
		return 0;	/* If an interpreter does not exist, execve() reports it. */
	}
	ret = run_elf(fd, path, preload, why, size);
	if (ret == -ENOEXEC)
		ret = interpreter_of(fd, path, path_size);
	else if (!*why)
		check_privileges(fd, why, size);
	close(fd);
	return ret;
}

void run_check(const char *name, const char *preload, struct run_check *out)
{
	char path[PATH_MAX], why[200] = "";
	int level = 0;

	*out = (struct run_check){ 0 };
	find_program(name, out);
	if (out->status)
		return;
	memcpy(path, out->path, sizeof(path));
	while (run_check_file(path, sizeof(path), preload, why,
			      sizeof(why)) == 1 && level < INTERPRETERS)
		level++;
	out->binary = !level;
	if (*why && level)
		snprintf(out->untraced, sizeof(out->untraced), "its interpreter %.40s: %s", path,
			 why);
	else
		memcpy(out->untraced, why, sizeof(why));
}
