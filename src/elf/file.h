/* SPDX-License-Identifier: MIT */
/*
 * file.h - what the file of a DSO tells the server: whether it is the one, its symbols, its sites
 *
 *     path -> file.c: the bytes that are asked for -> image.h -> symbols.c, sites.c, names.c
 *
 * The path came from a traced program, so the file may be anything. It is read
 * by pread(), never mapped: nobody can truncate it under our feet. Each of its
 * bytes is read once at most, so what was checked stays as it was.
 */
#ifndef TRACEFUSE_ELF_FILE_H
#define TRACEFUSE_ELF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/image.h"

enum { ELF_SEGMENT_MAX = 1 << 20 };	/* bytes of notes, or of a dynamic section, that are read */

/* What the program says of its DSO (struct dso_entry). */
struct elf_want {
	const uint8_t	*id;		/* build-id, or a hash of path, size and time */
	uint32_t	id_len;
	uint64_t	load, size;	/* lowest mapped address, bytes mapped */
};

/* Reads the file if it is the one: 0; else, or when it cannot be read, -errno. */
typedef int (*elf_reader)(const char *path, const struct elf_want *want, void *out);

/* A file that is open. It stays where it is: its image refers to it. */
struct elf_file {
	struct image	image;
	int		fd;
	uint8_t		*has;		/* a bit for each block that is read */
	uint64_t	taken;		/* bytes that are read */
	uint64_t	asked;		/* blocks that were asked for, each as often as it was */
	int		err;		/* why not all that was asked for is */
};

/* -EINVAL: it is no ELF file; -ESTALE: another one than is meant. */
int elf_file_open(const char *path, const struct elf_want *want, struct elf_file *out);
/* The debug file of its build-id. */
int elf_file_open_debug(const struct elf_want *want, struct elf_file *out);
void elf_file_close(struct elf_file *f);

/* ---- symbols.c ---- */

struct elf_symbol {
	uint64_t	value, size;
	uint32_t	name;		/* offset in names */
	char		type;		/* as nm has it */
};

struct elf_symbols {
	struct elf_symbol *v;		/* in order of value, of aliases the best name first */
	size_t		nr;
	char		*names;
	size_t		names_len;
	bool		is_program;	/* else a library */
};

/*
 * The symbols of the file, or of the debug file of its build-id where there is
 * one. 0, also when it has none; -ESTALE: it is not the DSO that is meant;
 * -ENOENT, -EINVAL: no ELF file, -ENOMEM. The caller frees with elf_symbols_free().
 */
int elf_symbols_read(const char *path, const struct elf_want *want, struct elf_symbols *out);
int elf_symbols_of(struct elf_file *f, const struct elf_want *want, struct elf_symbols *out);
void elf_symbols_free(struct elf_symbols *s);
/* Puts them in order. */
void elf_symbols_sort(struct elf_symbols *s);

/* ---- sites.c ---- */

struct elf_sites {
	struct site	*v;		/* of elf/sites.h: the list that programs find, too */
	size_t		nr;
	/* Of a file with sites; also for functions that have none in the file. */
	struct elf_symbols symbols;
};

/*
 * As elf_symbols_read(). Of a file without sites not much is read. The caller frees with
 * elf_sites_free().
 */
int elf_sites_read(const char *path, const struct elf_want *want, struct elf_sites *out);
void elf_sites_free(struct elf_sites *s);

/* ---- names.c ---- */

/* Asked for addresses in their order: the function symbol that one lies in, NULL: none. */
struct elf_walk {
	const struct elf_symbols *symbols;
	size_t		next;
	const struct elf_symbol *last;
};

const struct elf_symbol *elf_walk_to(struct elf_walk *w, uint64_t at);

struct site;
/* Adds a symbol "sub_ADDRESS" for each function with a site that has none. 0, -ENOMEM */
int elf_names_make(const struct image *im, const struct site *sites, size_t nr,
		   struct elf_symbols *symbols);

#endif
