/* SPDX-License-Identifier: MIT */
/*
 * image.h - an ELF file in memory: its code, its functions' starts, where calls of other objects' functions lead
 *
 *     relocations of a name -> GOT entries -> PLT stubs          struct targets
 *     .eh_frame_hdr         -> functions' starts
 *
 * Included by sites_find.c and sites/jumps.c. Nothing in the file is believed: each offset is checked before it is used.
 */
#ifndef TRACEFUSE_ELF_IMAGE_H
#define TRACEFUSE_ELF_IMAGE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { MAX_TARGETS = 64, ENDBR = 4 };

static const unsigned char endbr64[ENDBR] = { 0xf3, 0x0f, 0x1e, 0xfa };

struct image {
	const unsigned char *file;
	size_t		size;
	const Elf64_Phdr *phdrs;
	unsigned int	nr_phdrs;
	const Elf64_Shdr *shdrs;
	unsigned int	nr_shdrs;
	const Elf64_Shdr *names;
	/* .eh_frame_hdr's table */
	const int32_t	*starts;	/* pairs: start of a function, its entry; both from `starts_base` */
	size_t		nr_starts;
	uint64_t	starts_base;
};

/* False: it is not one, or one for another processor. */
bool image_open(struct image *im, const void *file, size_t size);
/* How many bytes of the file stand for addresses from `at` on, at most `want`; flags: of the segment. */
const unsigned char *image_address(const struct image *im, uint64_t at, size_t *want, uint32_t *flags);
/* NULL: they are not in the file. */
const void *image_section(const struct image *im, const Elf64_Shdr *s, size_t *size);
/* "": there is none. */
const char *image_string(const struct image *im, const Elf64_Shdr *table, uint32_t offset);
/* The bytes of segment number i; NULL: it is not executed. */
const unsigned char *image_code(const struct image *im, unsigned int i, size_t *size);
/* The start of the function that begins last at or before `at`; 0: not known. */
uint64_t image_start(const struct image *im, uint64_t at);
/* The number in the table of the function that `at` lies in; nr_starts: of none that is there. */
size_t image_function(const struct image *im, uint64_t at);
uint64_t image_function_start(const struct image *im, size_t number);
/* Behind its last byte; its start: not known. */
uint64_t image_function_end(const struct image *im, size_t number);

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
