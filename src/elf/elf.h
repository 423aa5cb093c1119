/* SPDX-License-Identifier: MIT */
/*
 * elf.h - what the file of a DSO tells: whether it is the one, its symbols, its sites
 *
 * The path came from a traced program, so the file may be anything. It is read
 * by read(2), never mapped: nobody can truncate it under our feet.
 */
#ifndef TRACEFUSE_ELF_ELF_H
#define TRACEFUSE_ELF_ELF_H

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the program says of its DSO (struct dso_entry). */
struct elf_want {
	const uint8_t	*id;		/* build-id, or a hash of path, size and time */
	uint32_t	id_len;
	uint64_t	load, size;	/* lowest mapped address, bytes mapped */
};

/* Reads the file if it is the one: 0; else, or when it cannot be read, -errno. */
typedef int (*elf_reader)(const char *path, const struct elf_want *want, void *out);

/* A file that is open, and the one that is meant. */
struct elf_file {
	int		fd;
	struct Elf	*elf;
};

int elf_file_open(const char *path, const struct elf_want *want, struct elf_file *out);
void elf_file_close(struct elf_file *f);
/*
 * libelf reads a section as a whole, into memory, and the file may have holes
 * of any size: whether a section, or a table of symbols with its names, has a
 * size that can be read.
 */
bool elf_section_fits(struct Elf *elf, size_t index);
bool elf_table_fits(struct Elf *elf, const GElf_Shdr *table);

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
int elf_file_symbols(struct elf_file *f, const struct elf_want *want, struct elf_symbols *out);
void elf_symbols_free(struct elf_symbols *s);
/* Puts them in order. */
void elf_symbols_sort(struct elf_symbols *s);

/* ---- sites.c ---- */

struct elf_sites {
	struct site	*v;		/* of elf/sites.h: the list that programs find, too */
	size_t		nr;
	struct elf_symbols symbols;	/* of a file with sites: also for functions that have none in the file */
};

/* As elf_symbols_read(); of a file without sites not much is read. The caller frees with elf_sites_free(). */
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
/* Adds a symbol "sub_ADDRESS" for each function with a site that has none; the file as sites_find() has it. 0, -ENOMEM */
int elf_names_make(const void *file, size_t size, const struct site *sites, size_t nr, struct elf_symbols *symbols);

#endif
