/* SPDX-License-Identifier: MIT */
/*
 * program.h - reads an executable's headers to find out whether a library can be preloaded into it
 *
 *     file --PT_INTERP--> dynamic linker      --PT_DYNAMIC--> names of libraries
 *
 * Included by run, which prints why a program is not traced, and by the interposers of exec. They
 * may run in a child of vfork() on a small stack, so a few bytes are read at a time, and no file is
 * mapped. A damaged file is left to execve(), which refuses it.
 */
#ifndef TRACEFUSE_ELF_PROGRAM_H
#define TRACEFUSE_ELF_PROGRAM_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * PROGRAM_PATH: room for the dynamic linker's path, and for a library's name. PROGRAM_SEGMENTS:
 * program headers that are read at once.
 */
enum { PROGRAM_PATH = 256, PROGRAM_SEGMENTS = 14 };

/* Like pread(): returns the number of bytes, or < 0. */
typedef long (*program_reader)(int fd, void *buf, size_t size, uint64_t at);

struct program_file {
	program_reader	read;
	int		fd;
	Elf64_Ehdr	head;
	unsigned int	first, nr_segments;	/* of the program headers in `segments` */
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

/* loader: gets the dynamic linker's path if the program is PROGRAM_DYNAMIC. */
enum program_kind program_open(struct program_file *p, program_reader read, int fd,
			       char loader[PROGRAM_PATH]);
/* Whether the program needs a library that is() accepts. */
bool program_needs(struct program_file *p, bool (*is)(void *arg, const char *library), void *arg);

/* The part of the path behind its last slash. */
const char *program_base(const char *path);
/* Whether the path's last part begins with `start`. */
bool program_is_named(const char *path, const char *start);
/*
 * Whether the path is the dynamic linker's, by its name. It preloads libraries also if it is
 * executed as a program.
 */
bool program_is_loader(const char *path);
/* Whether this is the runtime library of a sanitizer, which must be the first library. */
bool program_is_sanitizer(const char *library);

#endif
