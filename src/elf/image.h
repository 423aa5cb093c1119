/* SPDX-License-Identifier: MIT */
/*
 * image.h - the reader of ELF files: headers, sections, symbols, notes, functions, GOT and PLT
 *
 *     relocations of a name -> GOT entries -> PLT stubs          struct targets
 *     .eh_frame_hdr         -> functions' starts
 *
 * Included by all that read ELF files: the server (file.c), the agent's sites, its table of DSOs.
 * The bytes are in memory, or file.c reads them on demand. Nothing in the file is trusted: each
 * offset is checked before it is used. The reader runs in the agent, so it allocates nothing and
 * calls only mem*() and str*().
 */
#ifndef TRACEFUSE_ELF_IMAGE_H
#define TRACEFUSE_ELF_IMAGE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { MAX_TARGETS = 64, ENDBR = 4, IMAGE_NAME_MAX = 1024 };

static const unsigned char endbr64[ENDBR] = { 0xf3, 0x0f, 0x1e, 0xfa };

struct image {
	const unsigned char *file;
	size_t		size;
	/* Reads bytes of the file to their place, once. NULL: all bytes are there already. */
	bool		(*take)(void *arg, uint64_t offset, uint64_t len);
	void		*take_arg;
	/* image_headers() */
	Elf64_Ehdr	head;
	const Elf64_Phdr *phdrs;
	unsigned int	nr_phdrs;
	const Elf64_Shdr *shdrs;	/* none if the file has no valid table of sections */
	unsigned int	nr_shdrs;
	const Elf64_Shdr *names;	/* section with the names of sections; may be NULL */
	/* image_functions(): .eh_frame_hdr's table */
	const int32_t	*starts;	/* pairs, both from starts_base: start, entry */
	size_t		nr_starts;
	uint64_t	starts_base;
};

/* ---- Headers ---- */

/* The caller has set `file`, `size` and `take`. False: it is no ELF file of 64 bits. */
bool image_headers(struct image *im);
/*
 * After image_headers(): whether the file is for this processor and has sections as linkers make
 * them.
 */
bool image_is_code(const struct image *im);
/* After image_headers(): finds the table of functions. */
void image_functions(struct image *im);
/* Does all three for a file whose whole contents are in memory. False: it is no such file. */
bool image_open(struct image *im, const void *file, size_t size);
/*
 * Finds the program headers in the first `size` bytes of a file, or of its image in memory. NULL:
 * they are not there.
 */
const Elf64_Phdr *image_segments(const void *bytes, size_t size, unsigned int *nr);
/*
 * Finds the range of addresses that they load: from *low to below *high. False: they load nothing.
 */
bool image_span(const Elf64_Phdr *p, unsigned int nr, uint64_t *low, uint64_t *high);

/* ---- Bytes ---- */

/* NULL: the file does not have all of them. */
const void *image_bytes(const struct image *im, uint64_t offset, uint64_t len);
/*
 * The bytes of address `at`. *want: how many bytes the caller wants, then how many there are, at
 * most. flags: of the segment.
 */
const unsigned char *image_address(const struct image *im, uint64_t at, size_t *want,
				   uint32_t *flags);
/* NULL: they are not in the file. */
const void *image_section(const struct image *im, const Elf64_Shdr *s, size_t *size);
/* "" if there is no string, or if it has IMAGE_NAME_MAX bytes or more. */
const char *image_string(const struct image *im, const Elf64_Shdr *table, uint32_t offset);
/* The bytes of segment number i. NULL: the segment is not executable. */
const unsigned char *image_code(const struct image *im, unsigned int i, size_t *size);

/* ---- Notes ---- */

/*
 * The contents of the first note with that name and type. NULL: there is none. The notes are in
 * memory: `size` bytes of a segment with that alignment.
 */
const void *image_note(const void *notes, size_t size, uint64_t align, const char *name,
		       uint32_t type, size_t *len);

/* ---- Symbols ---- */

/* The hash of a name in DT_GNU_HASH */
static inline uint32_t image_hash(const char *name)
{
	uint32_t h = 5381;

	for (; *name; name++)
		h = h * 33 + (unsigned char)*name;
	return h;
}

/* A table of symbols and its names. Neither needs to be aligned. */
struct image_symbols {
	const unsigned char *table;
	size_t		nr;
	const char	*names;
	size_t		names_size;
};

bool image_symbols(const struct image *im, const Elf64_Shdr *table, struct image_symbols *out);
Elf64_Sym image_symbol(const struct image_symbols *s, size_t i);
/*
 * The symbol's name; *len: its length, at most IMAGE_NAME_MAX. A name of that length may lack its
 * 0.
 */
const char *image_symbol_text(const struct image_symbols *s, const Elf64_Sym *sym, size_t *len);
/* "" if it has no name, or one of IMAGE_NAME_MAX bytes or more. */
const char *image_symbol_name(const struct image_symbols *s, const Elf64_Sym *sym);

/* ---- Functions ---- */

/* The start of the last function that begins at or before `at`; 0: not known. */
uint64_t image_start(const struct image *im, uint64_t at);
/*
 * The table's number for the function that contains `at`; nr_starts: no function of the table does.
 */
size_t image_function(const struct image *im, uint64_t at);
uint64_t image_function_start(const struct image *im, size_t number);
/*
 * The address behind the function's last byte. It equals the function's start if the end is not
 * known.
 */
uint64_t image_function_end(const struct image *im, size_t number);

/* ---- Calls of other files' functions ---- */

/* The places that a call of one of some functions may lead to. */
struct targets {
	uint64_t	got[MAX_TARGETS];
	uint64_t	stub[MAX_TARGETS];
	unsigned int	nr_got, nr_stubs;
	bool		more;		/* there are more than fit */
};

/* Finds the places for those functions whose name is() accepts. */
void image_targets(const struct image *im, bool (*is)(const char *name), struct targets *t);

static inline bool is_got(const struct targets *t, uint64_t at)
{
	for (unsigned int i = 0; i < t->nr_got; i++)
		if (t->got[i] == at)
			return true;
	return false;
}

static inline bool is_stub(const struct targets *t, uint64_t at)
{
	for (unsigned int i = 0; i < t->nr_stubs; i++)
		if (t->stub[i] == at)
			return true;
	return false;
}

/* The target of a jump or call: the distance at `b`, counted from the instruction's end. */
static inline uint64_t relative(const unsigned char *b, uint64_t end)
{
	int32_t word;

	memcpy(&word, b, 4);
	return end + (uint64_t)(int64_t)word;
}

/*
 * Whether a symbol of that name is a part of a function. Compilers split off what is seldom
 * executed: name.cold, name.part.0.cold.
 */
static inline bool elf_name_is_part(const char *name)
{
	const char *cold = strstr(name, ".cold");

	return cold && (!cold[5] || cold[5] == '.');
}

#endif
