/* SPDX-License-Identifier: MIT */
/*
 * elf_image.c - any bytes for the reader of ELF files
 *
 * It reads them twice: from memory of exactly that size, and from memory whose bytes may be read
 * only after the reader has asked for them, as in the server's file.c. Both must find the same.
 */
#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elf/image.h"
#include "elf/program.h"
#include "elf/sites.h"

#if defined(__has_feature) && __has_feature(address_sanitizer)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(at, size) ((void)(at), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(at, size) ((void)(at), (void)(size))
#endif

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST = 1 << 16 };	/* most items of each kind that are read */

static const uint8_t *input;
static size_t input_size;

static void check(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "elf_image: %s\n", what);
	abort();
}

static void hash_add(uint64_t *h, const void *data, size_t size)
{
	const uint8_t *p = data;

	while (size--)
		*h = (*h ^ *p++) * 0x100000001b3ull;
}

static void number_add(uint64_t *h, uint64_t number)
{
	hash_add(h, &number, sizeof(number));
}

static void bytes_add(uint64_t *h, const void *bytes, size_t size)
{
	number_add(h, bytes ? size : UINT64_MAX);
	if (bytes)
		hash_add(h, bytes, size < MOST ? size : MOST);
}

/* ---- what the reader finds ---- */

static void symbols_add(uint64_t *h, const struct image *im, const Elf64_Shdr *table)
{
	struct image_symbols symbols;

	if (!image_symbols(im, table, &symbols))
		return;
	for (size_t i = 0; i < symbols.nr && i < MOST; i++) {
		Elf64_Sym sym = image_symbol(&symbols, i);
		size_t len;
		const char *text = image_symbol_text(&symbols, &sym, &len);
		const char *name = image_symbol_name(&symbols, &sym);

		check(len <= IMAGE_NAME_MAX, "a name that is too long");
		check(strlen(name) == (len < IMAGE_NAME_MAX ? len : 0), "two lengths of a name");
		bytes_add(h, text, len);
	}
}

static void sections_add(uint64_t *h, const struct image *im)
{
	for (unsigned int i = 0; i < im->nr_shdrs && i < 64; i++) {
		const Elf64_Shdr *s = &im->shdrs[i];
		const void *bytes;
		size_t size;

		hash_add(h, s, sizeof(*s));
		bytes_add(h, image_string(im, im->names, s->sh_name), 1);
		bytes = image_section(im, s, &size);
		bytes_add(h, bytes, size);
		if (s->sh_type == SHT_SYMTAB || s->sh_type == SHT_DYNSYM)
			symbols_add(h, im, s);
	}
}

static void segments_add(uint64_t *h, const struct image *im)
{
	for (unsigned int i = 0; i < im->nr_phdrs; i++) {
		const Elf64_Phdr *p = &im->phdrs[i];
		const void *bytes;
		size_t size, len;

		bytes = image_code(im, i, &size);
		bytes_add(h, bytes, size);
		if (p->p_type != PT_NOTE)
			continue;
		bytes = image_bytes(im, p->p_offset, p->p_filesz);
		if (bytes)
			bytes = image_note(bytes, p->p_filesz, p->p_align, "GNU", NT_GNU_BUILD_ID,
					   &len);
		bytes_add(h, bytes, bytes ? len : 0);
	}
}

static void functions_add(uint64_t *h, const struct image *im)
{
	for (size_t i = 0; i < im->nr_starts && i < MOST; i++) {
		number_add(h, image_function_start(im, i));
		number_add(h, image_function_end(im, i));
		number_add(h, image_function(im, image_function_end(im, i) - 1));
		number_add(h, image_start(im, image_function_start(im, i)));
	}
}

static bool is_any(const char *name)
{
	return *name;
}

static void targets_add(uint64_t *h, const struct image *im)
{
	struct targets t;

	image_targets(im, is_any, &t);
	check(t.nr_got <= MAX_TARGETS && t.nr_stubs <= MAX_TARGETS, "too many targets");
	hash_add(h, t.got, t.nr_got * sizeof(*t.got));
	hash_add(h, t.stub, t.nr_stubs * sizeof(*t.stub));
}

static uint64_t look(struct image *im)
{
	uint64_t h = 0xcbf29ce484222325ull;

	if (!image_headers(im))
		return h;
	sections_add(&h, im);
	segments_add(&h, im);
	if (!image_is_code(im))
		return h;
	number_add(&h, sites_in_image(im, NULL, 0));
	image_functions(im);
	functions_add(&h, im);
	targets_add(&h, im);
	return h;
}

/* ---- two ways to the bytes ---- */

static bool take(void *arg, uint64_t offset, uint64_t len)
{
	check(offset <= input_size && len <= input_size - offset, "bytes that are not in the file");
	ASAN_UNPOISON_MEMORY_REGION((uint8_t *)arg + offset, len);
	return true;
}

static long read_input(int fd, void *buf, size_t size, uint64_t at)
{
	if (at >= input_size)
		return 0;
	if (size > input_size - at)
		size = input_size - at;
	memcpy(buf, input + at, size);
	return (long)size;
}

static bool is_listed(void *arg, const char *library)
{
	check(strlen(library) < PROGRAM_PATH, "a library's name without an end");
	return program_is_sanitizer(library);
}

static void look_at_program(void)
{
	char loader[PROGRAM_PATH];
	struct program_file p;

	if (program_open(&p, read_input, -1, loader) != PROGRAM_DYNAMIC)
		return;
	check(memchr(loader, 0, sizeof(loader)), "a path without an end");
	program_needs(&p, is_listed, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size);
	struct image whole = { .file = copy, .size = size };
	struct image asked = { .file = copy, .size = size, .take = take, .take_arg = copy };
	uint64_t h;

	if (!size) {
		free(copy);
		return 0;
	}
	memcpy(copy, data, size);
	input = data;
	input_size = size;
	h = look(&whole);
	ASAN_POISON_MEMORY_REGION(copy, size);
	check(look(&asked) == h, "another result of bytes that are asked for");
	ASAN_UNPOISON_MEMORY_REGION(copy, size);
	free(copy);
	look_at_program();
	return 0;
}
