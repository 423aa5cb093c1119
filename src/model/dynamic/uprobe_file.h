/* SPDX-License-Identifier: MIT */
/*
 * uprobe_file.h - what a command asks of the file that it names
 *
 *     a process of its own: uprobe_ask() of each command -> questions -> the files
 *                                                  answers, as bytes
 *     server: uprobe_files_take() <--pipe-------------+
 *             uprobe_command() -> the same questions -> these answers
 *
 * A file system may never answer, and all others would wait for the server then. So the server asks
 * no file itself, where there can be such a process (tracefs/dynamic_files.c). Otherwise
 * model->files is NULL, and the same functions ask the file.
 *
 * Each returns 0, or -errno as the file has it; 1: nobody has answered, and the command is refused
 * by uprobe_file_unanswered().
 */
#ifndef TRACEFUSE_MODEL_DYNAMIC_UPROBE_FILE_H
#define TRACEFUSE_MODEL_DYNAMIC_UPROBE_FILE_H

#include <stdio.h>

#include "elf/file.h"
#include "model/dynamic/probe.h"

struct prototype;

/* Which file a path leads to. */
struct uprobe_status {
	struct elf_status is;
	uint64_t	is_regular;
};

/* model->files */
struct uprobe_files {
	FILE		*out;		/* in the process that asks; NULL: in the server */
	const char	*asked;		/* there: the path that was asked last */
	/* In the server: the answers */
	char		*bytes;
	size_t		size;
	size_t		next;		/* behind the last one that was used */
	int		err;		/* why there are no more */
};

int uprobe_file_status(struct model *m, const char *path, struct uprobe_status *out);
/* As elf_functions_find() */
int uprobe_file_function(struct model *m, const char *path, const char *name,
			 struct elf_function *out);
/* As elf_functions_choices(), behind uprobe_file_function(). NULL also if nobody has answered. */
char *uprobe_file_choices(struct model *m, const char *path, const struct elf_function *f);
/* The function that begins at the address, as debug_kept_prototype() */
int uprobe_file_prototype(struct model *m, const char *path, uint64_t address,
			  struct prototype *out);
/* Logs that word 1 has a file that does not answer. Returns -errno. */
int uprobe_file_unanswered(struct probe_log *log);

/* Whether this process only asks: it makes no probe. */
bool uprobe_file_asks(const struct model *m);
/*
 * Takes what such a process has printed, with how it ended: 0, -errno. The bytes come from malloc()
 * and stay until uprobe_files_free(). They are not trusted.
 */
void uprobe_files_take(struct uprobe_files *u, char *bytes, size_t size, int err);
void uprobe_files_free(struct uprobe_files *u);

#endif
