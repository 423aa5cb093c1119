/* SPDX-License-Identifier: MIT */
/*
 * check.h - whether a program can be traced
 *
 *   name --PATH--> file --#!--> interpreter ... --> ELF --> loader, libraries
 *
 * What is told here about a file is a guess of what execve() will do with it
 * a moment later: right unless somebody changes the file in between, and then
 * the agent finds out for itself.
 */
#ifndef TRACEFUSE_CLI_RUN_CHECK_H
#define TRACEFUSE_CLI_RUN_CHECK_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* As a shell's exit statuses. */
enum { RUN_NOT_EXECUTABLE = 126, RUN_NOT_FOUND = 127 };

struct run_check {
	/* 0, or why it cannot even be run: RUN_NOT_EXECUTABLE, RUN_NOT_FOUND */
	int	status;
	int	err;			/* then the errno */
	char	path[PATH_MAX];		/* the file that execvp() takes */
	/* no script: nothing for a shell, should execve() refuse it */
	bool	binary;
	/* why it cannot be traced: "it is linked statically"; "": it can */
	char	untraced[256];
};

/* `preload`: LD_PRELOAD as it is, NULL: not set. */
void run_check(const char *name, const char *preload, struct run_check *out);

/*
 * Between check.c and elf.c. What an ELF file, open as fd, says against tracing it: into why, which
 * begins as "". -ENOEXEC: it is none.
 */
int run_elf(int fd, const char *path, const char *preload, char *why, size_t size);

#endif
