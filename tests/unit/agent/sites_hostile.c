/* SPDX-License-Identifier: MIT */
/*
 * sites_hostile.c - ELF files that no linker makes cost no more than others
 */
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "agent/sites/sites.h"

enum { NAMES = 4096, CODE = 4096, LIST = 512 };

static const char names[] = "\0__patchable_function_entries";

struct file {
	Elf64_Ehdr	head;
	Elf64_Phdr	code;
	char		names[NAMES];
	uint8_t		nops[CODE];
	uint64_t	list[LIST];
	Elf64_Shdr	sections[];
};

/* Section 0 has the names. The others are lists of sites: `size` bytes each of the same list. */
static struct file *make(unsigned int nr, size_t size, size_t *all)
{
	struct file *f;

	*all = sizeof(*f) + nr * sizeof(Elf64_Shdr);
	f = calloc(1, *all);
	assert_non_null(f);
	memcpy(f->head.e_ident, ELFMAG "\2\1\1", 7);
	f->head.e_machine = EM_X86_64;
	f->head.e_phentsize = sizeof(Elf64_Phdr);
	f->head.e_phoff = offsetof(struct file, code);
	f->head.e_phnum = 1;
	f->head.e_shentsize = sizeof(Elf64_Shdr);
	f->head.e_shoff = offsetof(struct file, sections);
	f->head.e_shnum = (uint16_t)nr;
	f->code = (Elf64_Phdr){ .p_type = PT_LOAD, .p_flags = PF_X, .p_vaddr = 4096,
				.p_offset = offsetof(struct file, nops), .p_filesz = CODE };
	memset(f->nops, 0x90, CODE);
	memcpy(f->names, names, sizeof(names));
	for (unsigned int i = 0; i < LIST; i++)
		f->list[i] = 4096 + 8 * (uint64_t)i;
	f->sections[0] = (Elf64_Shdr){ .sh_type = SHT_STRTAB, .sh_size = NAMES,
				       .sh_offset = offsetof(struct file, names) };
	for (unsigned int i = 1; i < nr; i++)
		f->sections[i] = (Elf64_Shdr){ .sh_name = 1,
					       .sh_type = SHT_PROGBITS,
					       .sh_size = size,
					       .sh_offset = offsetof(struct file, list) };
	return f;
}

static size_t sites_of(unsigned int nr, size_t size)
{
	size_t all, found;
	struct file *f = make(nr, size, &all);

	found = sites_find(f, all, NULL, 0);
	free(f);
	return found;
}

static void a_list_is_found(void **state)
{
	assert_int_equal(sites_of(2, LIST * 8), LIST);
}

static void sections_that_overlap_are_none(void **state)
{
	assert_int_equal(sites_of(60000, LIST * 8), 0);
}

/* The file may change between the call that counts and the one that lists. */
static void a_file_that_has_grown_meanwhile_has_none(void **state)
{
	struct site sites[LIST];
	size_t all;
	struct file *f = make(2, LIST * 8, &all);

	assert_int_equal(sites_find(f, all, sites, LIST - 1), 0);
	assert_int_equal(sites_find(f, all, sites, LIST), LIST);
	free(f);
}

static void of_many_lists_some_are_looked_at(void **state)
{
	const size_t found = sites_of(60000, 8);

	assert_in_range(found, 1, 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_list_is_found),
		cmocka_unit_test(sections_that_overlap_are_none),
		cmocka_unit_test(a_file_that_has_grown_meanwhile_has_none),
		cmocka_unit_test(of_many_lists_some_are_looked_at),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
