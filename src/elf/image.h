/* SPDX-License-Identifier: MIT */
/*
 * image.h - the reader of ELF files: headers, sections, symbols, notes, functions, GOT and PLT
 *
 *     relocations of a name -> GOT entries -> PLT stubs          struct targets
 *     .eh_frame_hdr         -> functions' starts
 *
 * Included by all that read ELF files: the server (file.c), the agent's sites, its table of DSOs.
 * The bytes are in memory, or file.c reads them when they are asked for. Nothing in the file is
 * believed: each offset is checked before it is used. The reader allocates nothing and calls
 * mem*() and str*() alone, as the agent needs it.
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
	/* Puts bytes that are in the file to their place, once. NULL: all are there. */
	bool		(*take)(void *arg, uint64_t offset, uint64_t len);
	void		*take_arg;
	/* image_headers() */
	Elf64_Ehdr	head;
	const Elf64_Phdr *phdrs;
	unsigned int	nr_phdrs;
	const Elf64_Shdr *shdrs;	/* none where the file has no good table of them */
	unsigned int	nr_shdrs;
	const Elf64_Shdr *names;	/* of the sections; may be NULL */
	/* image_functions(): .eh_frame_hdr's table */
	const int32_t	*starts;	/* pairs, both from starts_base: start, entry */
	size_t		nr_starts;
	uint64_t	starts_base;
};

/* ---- Headers ---- */

/* `file`, `size` and `take` are set. False: it is no ELF file of 64 bits. */
bool image_headers(struct image *im);
/* Then: whether it is for this processor, with sections as linkers make them. */
bool image_is_code(const struct image *im);
/* Then: finds the table of its functions. */
void image_functions(struct image *im);
/* All three, of a file whose whole contents are in memory. False: it is no such file. */
bool image_open(struct image *im, const void *file, size_t size);
/*
 * The program headers in the first `size` bytes of a file, or of what was loaded from it. NULL:
 * they are not there.
 */
const Elf64_Phdr *image_segments(const void *bytes, size_t size, unsigned int *nr);
/* The addresses that they load, from *low on, *high is behind them. False: they load nothing. */
bool image_span(const Elf64_Phdr *p, unsigned int nr, uint64_t *low, uint64_t *high);

/* ---- Bytes ---- */

/* NULL: the file does not have all of them. */
const void *image_bytes(const struct image *im, uint64_t offset, uint64_t len);
/* *want: how many bytes stand for addresses from `at` on, at most; flags: of the segment. */
const unsigned char *image_address(const struct image *im, uint64_t at, size_t *want,
				   uint32_t *flags);
/* NULL: they are not in the file. */
const void *image_section(const struct image *im, const Elf64_Shdr *s, size_t *size);
/* "": there is none, or it has IMAGE_NAME_MAX bytes or more. */
const char *image_string(const struct image *im, const Elf64_Shdr *table, uint32_t offset);
/* The bytes of segment number i; NULL: it is not executed. */
const unsigned char *image_code(const struct image *im, unsigned int i, size_t *size);

/* ---- Notes ---- */

/*
 * The contents of the first note of that name and type; NULL: there is none. The notes are in
 * memory, `size` bytes of a segment with that alignment.
 */
const void *image_note(const void *notes, size_t size, uint64_t align, const char *name,
		       uint32_t type, size_t *len);

/* ---- Symbols ---- */

/* A table of symbols and its names. Both may begin anywhere. */
struct image_symbols {
	const unsigned char *table;
	size_t		nr;
	const char	*names;
	size_t		names_size;
};

bool image_symbols(const struct image *im, const Elf64_Shdr *table, struct image_symbols *out);
Elf64_Sym image_symbol(const struct image_symbols *s, size_t i);
/* Its name and how long that is, at most IMAGE_NAME_MAX: so many have no 0 behind them. */
const char *image_symbol_text(const struct image_symbols *s, const Elf64_Sym *sym, size_t *len);
/* "": it has none, or one of IMAGE_NAME_MAX bytes or more. */
const char *image_symbol_name(const struct image_symbols *s, const Elf64_Sym *sym);

/* ---- Functions ---- */

/* The start of the function that begins last at or before `at`; 0: not known. */
uint64_t image_start(const struct image *im, uint64_t at);
/* The number in the table of the function that `at` lies in; nr_starts: of none that is there. */
size_t image_function(const struct image *im, uint64_t at);
uint64_t image_function_start(const struct image *im, size_t number);
/* Behind its last byte; its start: not known. */
uint64_t image_function_end(const struct image *im, size_t number);

/* ---- Calls of other files' functions ---- */

/* Where a call of one of some functions may lead. */
struct targets {
	uint64_t	got[MAX_TARGETS];
	uint64_t	stub[MAX_TARGETS];
	unsigned int	nr_got, nr_stubs;
	bool		more;		/* than there is room for */
};

/* Those of which is() says so. */
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

/* Where a distance leads to from the instruction's end. */
static inline uint64_t relative(const unsigned char *b, uint64_t end)
{
	int32_t word;

	memcpy(&word, b, 4);
	return end + (uint64_t)(int64_t)word;
}

#endif
