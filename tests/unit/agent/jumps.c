/* SPDX-License-Identifier: MIT */
/*
 * jumps.c HIDDEN FIXTURE - which functions of a file end in a jump out of it
 *
 * HIDDEN imports dlopen() and exports nothing.
 */
#include <dlfcn.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "agent/sites/sites.h"
#include "site_file.h"

enum { MOST = 64 };

static struct site sites[MOST];
static size_t nr;

static int load(void **state)
{
	if (!file_load())
		return -1;
	nr = sites_find(file, size, sites, MOST);
	return !nr || nr > MOST;
}

static const struct site *site_of(const char *name)
{
	void *object = dlopen(fixture, RTLD_NOW), *at = object ? dlsym(object, name) : NULL;
	struct link_map *map;

	assert_non_null(at);
	dlinfo(object, RTLD_DI_LINKMAP, &map);
	for (size_t i = 0; i < nr; i++)
		if (sites[i].at - ((uintptr_t)at - map->l_addr) < 16)
			return &sites[i];
	fail_msg("%s has no site", name);
	return NULL;
}

static void found(void **state)
{
	static const char *const jump[] = {
		"jumps_sym", "jumps_chain", "jumps_longer_chain", "jumps_open",
		"jumps_sometimes", "jumps_other", "jumps_by_pointer", "jumps_by_table",
		"jumps_by_hand", "jumps_into_middle" };
	static const char *const stay[] = { "stays_call", "stays_call_by_pointer", "stays_inside",
					   "stays_alone" };

	sites_jumping(file, size, sites, nr);
	for (size_t i = 0; i < sizeof(jump) / sizeof(jump[0]); i++)
		if (!site_of(jump[i])->jumps)
			fail_msg("%s", jump[i]);
	for (size_t i = 0; i < sizeof(stay) / sizeof(stay[0]); i++)
		if (site_of(stay[i])->jumps)
			fail_msg("%s", stay[i]);
}

static const char *hidden;

static const struct link_map *loaded(const char *path)
{
	void *object = dlopen(path, RTLD_NOW);
	struct link_map *map;

	assert_non_null(object);
	dlinfo(object, RTLD_DI_LINKMAP, &map);
	return map;
}

/* Whether an object that is in memory imports dlopen() or another of its kind. */
static bool looked_at(const char *path)
{
	const struct link_map *map = loaded(path);

	return sites_looked_at(map->l_ld, map->l_addr);
}

/* Whether it has one itself. */
static bool looks(const char *path)
{
	const struct link_map *map = loaded(path);

	return sites_looks(map->l_ld, map->l_addr);
}

static void imports_are_seen(void **state)
{
	assert_true(looked_at(fixture));
	assert_true(looked_at(hidden));
	assert_true(looked_at(NULL));
	assert_false(looked_at("libm.so.6"));
	assert_false(looked_at("libc.so.6"));
}

static void functions_are_seen(void **state)
{
	assert_true(looks("libc.so.6") || looks("libdl.so.2"));
	assert_false(looks("libm.so.6"));
	assert_false(looks(fixture));
	assert_false(looks(hidden));
}

/* Nobody knows which function a jump is in. */
static void without_starts(void **state)
{
	const Elf64_Ehdr *h = (const Elf64_Ehdr *)file;
	Elf64_Phdr *p = (Elf64_Phdr *)(file + h->e_phoff);

	for (unsigned int i = 0; i < h->e_phnum; i++)
		if (p[i].p_type == PT_GNU_EH_FRAME)
			p[i].p_type = PT_NULL;
	sites_jumping(file, size, sites, nr);
	for (size_t i = 0; i < nr; i++)
		assert_true(sites[i].jumps);
}

/* What is wrong in a file is not believed. */
static void look(const unsigned char *bytes, size_t len)
{
	sites_jumping(bytes, len, sites, nr);
}

static void damaged(void **state)
{
	file_damage(look);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(found, load, unload),
		cmocka_unit_test(imports_are_seen),
		cmocka_unit_test(functions_are_seen),
		cmocka_unit_test_setup_teardown(without_starts, load, unload),
		cmocka_unit_test_setup_teardown(damaged, load, unload),
	};

	hidden = argv[1];
	fixture = argv[argc - 1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
