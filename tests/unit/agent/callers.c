/* SPDX-License-Identifier: MIT */
/*
 * callers.c - entries of libc's functions are changed, and the functions do what they did
 */
#include <dlfcn.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <cmocka.h>
#include "agent/sites/callers.h"
#include "agent/sites/state.h"

enum { JUMP = 0xe9 };

typedef uintptr_t function(void);

static const char *fixture;
static void *object;
static struct link_map *map;

static function *of(const char *name)
{
	function *f = (function *)(uintptr_t)dlsym(object, name);

	assert_non_null(f);
	return f;
}

static unsigned int byte_of(const char *name, unsigned int nr)
{
	return ((const uint8_t *)(uintptr_t)of(name))[nr];
}

/* What dlsym() of the fixture returns: its return address. */
static __attribute__((noinline)) int sees_caller(void)
{
	uintptr_t seen = of("dlsym")();

	return seen - (uintptr_t)sees_caller < 256;
}

static void all_as_before(void)
{
	assert_int_equal(of("dlopen")(), 11);
	assert_int_equal(of("dlmopen")(), 1);
	assert_true(sees_caller());
	assert_int_equal(of("dlvsym")(), 2);
	assert_ptr_equal(of("dl_iterate_phdr")(), dlsym(object, "eleven"));
	*(uint64_t *)dlsym(object, "eleven") = 12;
	assert_int_equal(of("dlopen")(), 12);
	assert_int_equal(of("dlmopen")(), 0);
	*(uint64_t *)dlsym(object, "eleven") = 11;
}

static int load(void **state)
{
	object = dlopen(fixture, RTLD_NOW);
	return !object || dlinfo(object, RTLD_DI_LINKMAP, &map);
}

static int unload(void **state)
{
	const void *ld = map->l_ld;

	dlclose(object);
	callers_forget(ld);
	return 0;
}

/* Instructions that can be moved stand where others stood. */
static void make_movable(const char *name)
{
	static const uint8_t moves[] = { 0x89, 0xc0, 0x89, 0xc0, 0x31, 0xc0 };
	uint8_t *at = (uint8_t *)(uintptr_t)of(name);
	void *page = (void *)((uintptr_t)at & -4096ul);

	assert_int_equal(mprotect(page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC), 0);
	memcpy(at, moves, sizeof(moves));
	assert_int_equal(mprotect(page, 8192, PROT_READ | PROT_EXEC), 0);
}

/* Of a name space that is new when the first sites are found. */
static void told_twice(void **state)
{
	sites.may_patch = true;
	make_movable("dlvsym");
	for (int i = 0; i < 2; i++) {
		callers_dso(map->l_ld, map->l_addr, map->l_name);
		assert_int_equal(byte_of("dlvsym", 0), JUMP);
		assert_true(callers_shown());
	}
}

static void changed(void **state)
{
	sites.may_patch = true;
	all_as_before();
	callers_dso(map->l_ld, map->l_addr, map->l_name);
	assert_int_equal(byte_of("dlopen", 0), 0xf3);
	assert_int_equal(byte_of("dlopen", 4), JUMP);
	assert_int_equal(byte_of("dlmopen", 0), JUMP);
	assert_int_equal(byte_of("dlsym", 0), JUMP);
	assert_int_equal(byte_of("dl_iterate_phdr", 0), JUMP);
	all_as_before();
}

static void left_alone(void **state)
{
	sites.may_patch = true;
	callers_dso(map->l_ld, map->l_addr, map->l_name);
	assert_int_equal(byte_of("dlvsym", 0), 0xe8);
	all_as_before();
}

static void not_permitted(void **state)
{
	sites.may_patch = false;
	callers_dso(map->l_ld, map->l_addr, map->l_name);
	assert_int_equal(byte_of("dlmopen", 0), 0x48);
	all_as_before();
}

static void other_names(void **state)
{
	sites.may_patch = true;
	callers_dso(map->l_ld, map->l_addr, "/usr/lib/libdlsomething.so");
	assert_int_equal(byte_of("dlmopen", 0), 0x48);
}

/* More often than there are places. */
static void again(void **state)
{
	for (int i = 0; i < 50; i++) {
		changed(state);
		unload(state);
		assert_int_equal(load(state), 0);
		assert_int_equal(byte_of("dlmopen", 0), 0x48);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(told_twice, load, unload),
		cmocka_unit_test_setup_teardown(changed, load, unload),
		cmocka_unit_test_setup_teardown(left_alone, load, unload),
		cmocka_unit_test_setup_teardown(not_permitted, load, unload),
		cmocka_unit_test_setup_teardown(other_names, load, unload),
		cmocka_unit_test_setup_teardown(again, load, unload),
	};

	fixture = argv[argc - 1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
