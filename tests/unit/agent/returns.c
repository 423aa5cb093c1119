/* SPDX-License-Identifier: MIT */
/* returns.c FIXTURE - finds the functions of a file that are left only at return sites */
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "agent/graph/graph.h"
#include "agent/sites/sites.h"
#include "agent/state.h"
#include "site_file.h"

enum { MOST = 256 };

/* This test traces nothing. */
bool patch_has_xsave;
struct agent agent;
__thread struct agent_self agent_self;

uint32_t patch_hit(struct site_dso *d, uintptr_t after, uintptr_t *slot)
{
	abort();
}

uint32_t patch_hit_late(struct site_dso *d, uintptr_t after, uintptr_t *slot,
			const uint64_t *saved)
{
	abort();
}

uint32_t patch_hit_slow(struct site_call *c, const uint64_t *saved)
{
	abort();
}

uintptr_t graph_leave(uintptr_t *slot, uint64_t retval)
{
	abort();
}

void graph_left(uintptr_t *slot, uint64_t retval)
{
	abort();
}

void graph_tail(uintptr_t *slot, uint64_t func, uint64_t time, uint64_t mask)
{
	abort();
}

uintptr_t graph_tail_left(uintptr_t *slot)
{
	abort();
}

static struct site sites[MOST];
static size_t nr_entries, nr_returns, nr;

static void pair(const unsigned char *bytes, size_t len)
{
	memset(sites, 0, sizeof(sites));
	nr_entries = sites_find(bytes, len, sites, MOST);
	nr_returns = nr_entries <= MOST
			     ? sites_returns(bytes, len, sites + nr_entries, MOST - nr_entries)
			     : 0;
	nr = 0;
	if (nr_entries + nr_returns <= MOST)
		nr = sites_pair(bytes, len, sites, nr_entries, nr_returns);
}

static int load(void **state)
{
	if (!file_load())
		return -1;
	pair(file, size);
	return !nr;
}

static const char *name_at(uint64_t at)
{
	const Elf64_Ehdr *h = (const Elf64_Ehdr *)file;
	const Elf64_Shdr *s = (const Elf64_Shdr *)(file + h->e_shoff);

	for (unsigned int i = 0; i < h->e_shnum; i++) {
		const Elf64_Sym *y = (const Elf64_Sym *)(file + s[i].sh_offset);

		for (size_t k = 0; s[i].sh_type == SHT_SYMTAB && k < s[i].sh_size / sizeof(*y); k++)
			if (ELF64_ST_TYPE(y[k].st_info) == STT_FUNC &&
			    at - y[k].st_value < y[k].st_size)
				return (const char *)file + s[s[i].sh_link].sh_offset +
				       y[k].st_name;
	}
	return "";
}

static bool begins(const char *name, const char *with)
{
	return !strncmp(name, with, strlen(with));
}

static void found(void **state)
{
	unsigned int good = 0, bad = 0;

	for (size_t i = 0; i < nr; i++) {
		const char *name = name_at(sites[i].at);

		if (site_is_return(&sites[i]))
			continue;
		if (begins(name, "bad_") ? sites[i].returns : !sites[i].returns && *name)
			fail_msg("%s", name);
		good += begins(name, "good_") || begins(name, "cold_");
		bad += begins(name, "bad_");
	}
	assert_int_equal(good, 4);
	assert_int_equal(bad, 5);
}

static void in_one_list_by_address(void **state)
{
	unsigned int number = 0, returns = 0;

	for (size_t i = 0; i < nr; i++) {
		assert_true(!i || sites[i].at > sites[i - 1].at);
		if (!site_is_return(&sites[i])) {
			assert_int_equal(sites[i].number, number++);
			continue;
		}
		assert_int_equal(sites[i].skip, SITE_GOOD);
		assert_true(sites[i].returns);
		returns++;
		if (sites[i].number == SITE_NO_FUNCTION)
			continue;
		assert_int_equal(sites[i].number, number - 1);
		assert_false(begins(name_at(sites[i].at), "bad_"));
	}
	assert_int_equal(number, nr_entries);
	assert_true(returns > 4);
}

/*
 * If one return site of a function cannot be used, none of them is. If the function of a return
 * site is not known, none is used.
 */
static void one_that_is_left_alone(void **state)
{
	const char *name;
	size_t i = 0;

	while (!site_is_return(&sites[i + 1]) || !site_is_return(&sites[i + 2]))
		i++;
	name = name_at(sites[i].at);
	sites[i + 1].skip = SITE_SPLIT;
	assert_true(sites_unpair(sites, nr));
	for (size_t k = 0; k < nr; k++)
		assert_int_equal(sites[k].returns, strcmp(name_at(sites[k].at), name) &&
						   !begins(name_at(sites[k].at), "bad_"));
	sites[i + 2].number = SITE_NO_FUNCTION;
	sites[i + 2].skip = SITE_SPLIT;
	sites[i + 2].returns = true;
	assert_false(sites_unpair(sites, nr));
}

/* Before version 2, a map of XRay has addresses instead of distances. */
static void map_make_old(unsigned char *bytes)
{
	const Elf64_Ehdr *h = (const Elf64_Ehdr *)bytes;
	const Elf64_Shdr *s = (const Elf64_Shdr *)(bytes + h->e_shoff);
	const char *names = (const char *)bytes + s[h->e_shstrndx].sh_offset;

	for (unsigned int i = 0; i < h->e_shnum; i++) {
		if (strcmp(names + s[i].sh_name, "xray_instr_map"))
			continue;
		for (uint64_t at = 0; at < s[i].sh_size; at += 32) {
			unsigned char *entry = bytes + s[i].sh_offset + at;
			uint64_t words[2];

			memcpy(words, entry, sizeof(words));
			words[0] += s[i].sh_addr + at;
			words[1] += s[i].sh_addr + at + 8;
			memcpy(entry, words, sizeof(words));
			entry[18] = 1;
		}
	}
}

static void an_old_map_says_the_same(void **state)
{
	static struct site wanted[MOST];
	const size_t nr_wanted = nr;
	unsigned char *copy = malloc(size);

	memcpy(wanted, sites, sizeof(wanted));
	memcpy(copy, file, size);
	map_make_old(copy);
	pair(copy, size);
	assert_int_equal(nr, nr_wanted);
	assert_memory_equal(sites, wanted, nr * sizeof(*sites));
	free(copy);
}

/* Damaged files: wrong data is refused. */
static void damaged(void **state)
{
	file_damage(pair);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(found, load, unload),
		cmocka_unit_test_setup_teardown(in_one_list_by_address, load, unload),
		cmocka_unit_test_setup_teardown(one_that_is_left_alone, load, unload),
		cmocka_unit_test_setup_teardown(an_old_map_says_the_same, load, unload),
		cmocka_unit_test_setup_teardown(damaged, load, unload),
	};

	fixture = argv[argc - 1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
