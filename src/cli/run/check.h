/* SPDX-License-Identifier: MIT */
/*
 * check.h - whether a program can be traced
 *
 *   name --PATH--> file --#!--> interpreter ... --> ELF --> loader, libraries
 *
 * The result predicts what execve() will do with the file a moment later. If the file is changed in
 * between, the prediction may be wrong; the agent notices that by itself.
 */
#ifndef TRACEFUSE_CLI_RUN_CHECK_H
#define TRACEFUSE_CLI_RUN_CHECK_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* The exit statuses of a shell. */
enum { RUN_NOT_EXECUTABLE = 126, RUN_NOT_FOUND = 127 };

struct run_check {
	/* 0, or why it cannot be run at all: RUN_NOT_EXECUTABLE, RUN_NOT_FOUND. */
	int	status;
	int	err;			/* the errno for that */
	char	path[PATH_MAX];		/* the file that execvp() takes */
	/* It is no script, so no shell may run it if execve() refuses it. */
	bool	binary;
	/* Why it cannot be traced: "it is linked statically"; "": it can. */
	char	untraced[256];
};

/* `preload`: the value of LD_PRELOAD; NULL: not set. */
void run_check(const char *name, const char *preload, struct run_check *out);

/*
 * Between check.c and elf.c. Writes to `why`, which is "" before, why the ELF file of fd cannot be
 * traced. -ENOEXEC: it is no ELF file.
 */
int run_elf(int fd, const char *path, const char *preload, char *why, size_t size);

/* ---- elf.c ---- */

/* Whether no option of gcc makes functions of this file traceable; then `why` says why not. */
bool run_elf_no_functions(const char *path, char *why, size_t size);

#endif
