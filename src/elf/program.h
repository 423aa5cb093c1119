/* SPDX-License-Identifier: MIT */
/*
 * program.h - what an executable's headers say about preloading something into it
 *
 *     file --PT_INTERP--> dynamic linker      --PT_DYNAMIC--> names of libraries
 *
 * Included by run, which says why a program is not traced, and by the interposers of exec. They
 * may be in a child of vfork() on a small stack, so a few bytes are read at a time, and no file is
 * mapped. A damaged file is execve()'s to refuse.
 */
#ifndef TRACEFUSE_ELF_PROGRAM_H
#define TRACEFUSE_ELF_PROGRAM_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A dynamic linker's path, and a library's name; headers of segments that are read at once. */
enum { PROGRAM_PATH = 256, PROGRAM_SEGMENTS = 14 };

/* As pread(): how many bytes, < 0: none. */
typedef long (*program_reader)(int fd, void *buf, size_t size, uint64_t at);

struct program_file {
	program_reader	read;
	int		fd;
	Elf64_Ehdr	head;
	unsigned int	first, nr_segments;	/* of these */
	Elf64_Phdr	segments[PROGRAM_SEGMENTS];
};

enum program_kind {
	PROGRAM_NO_ELF,
	PROGRAM_32_BIT,
	PROGRAM_FOREIGN,		/* for another kind of machine */
	PROGRAM_DAMAGED,
	PROGRAM_STATIC,			/* no dynamic linker is named */
	PROGRAM_DYNAMIC,
};

/* loader: the dynamic linker's path, if it is PROGRAM_DYNAMIC. */
enum program_kind program_open(struct program_file *p, program_reader read, int fd,
			       char loader[PROGRAM_PATH]);
/* The first library that it needs of which is() says so. */
bool program_needs(struct program_file *p, bool (*is)(void *arg, const char *library), void *arg);

/* What stands behind the last slash. */
const char *program_base(const char *path);
/* Whether a path's last part begins so. */
bool program_is_named(const char *path, const char *start);
/* Whether it is the dynamic linker, by its name. As a program it preloads, too. */
bool program_is_loader(const char *path);
/* Whether this library's name is of a sanitizer, which has to be the first of all. */
bool program_is_sanitizer(const char *library);

#endif
