/* SPDX-License-Identifier: MIT */
/*
 * program_elf.h - what the file of a DSO tells: whether it is the one, and its symbols
 *
 * The path came from a traced program, so the file may be anything. It is read
 * by read(2), never mapped: nobody can truncate it under our feet.
 */
#ifndef TRACEFUSE_SOURCES_PROGRAM_ELF_H
#define TRACEFUSE_SOURCES_PROGRAM_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the program says of its DSO (struct dso_entry). */
struct elf_want {
	const uint8_t	*id;		/* build-id, or a hash of path, size and time */
	uint32_t	id_len;
	uint64_t	load, size;	/* lowest mapped address, bytes mapped */
};

struct elf_symbol {
	uint64_t	value, size;
	uint32_t	name;		/* offset in names */
	char		type;		/* as nm has it */
};

struct elf_symbols {
	struct elf_symbol *v;		/* in order of value, of aliases the best name first */
	size_t		nr;
	char		*names;
};

/*
 * The symbols of the file, or of the debug file of its build-id where there is
 * one. 0, also when it has none; -ESTALE: it is not the DSO that is meant;
 * -ENOENT, -EINVAL: no ELF file, -ENOMEM. The caller frees with elf_symbols_free().
 */
int elf_symbols_read(const char *path, const struct elf_want *want, struct elf_symbols *out);
void elf_symbols_free(struct elf_symbols *s);

#endif
