/* SPDX-License-Identifier: MIT */
/*
 * symbols.c - addresses to names and back
 */
#include <stdio.h>
#include <stdlib.h>

#include "fixture.h"
#include "model/symbols.h"

static int setup(void **state)
{
	struct symbols *s = symbols_create();

	assert_non_null(s);
	assert_int_equal(symbols_add(s, 0x3000, 't', "third", "module"), 0);
	assert_int_equal(symbols_add(s, 0x1000, 'T', "first", NULL), 0);
	assert_int_equal(symbols_add(s, 0x2000, 't', "second", NULL), 0);
	*state = s;
	return 0;
}

static int teardown(void **state)
{
	symbols_destroy(*state);
	return 0;
}

static void an_address_lies_in_the_symbol_before_it(void **state)
{
	const char *module = "";
	uint64_t offset, size;

	assert_null(symbols_find(*state, 0xfff, NULL, NULL, NULL));
	assert_string_equal(symbols_find(*state, 0x1000, &offset, &size, &module), "first");
	assert_int_equal(offset, 0);
	assert_int_equal(size, 0x1000);
	assert_null(module);
	assert_string_equal(symbols_find(*state, 0x2fff, &offset, NULL, NULL), "second");
	assert_int_equal(offset, 0xfff);
	assert_string_equal(symbols_find(*state, 0x3001, NULL, NULL, &module), "third");
	assert_string_equal(module, "module");
	assert_null(symbols_find(*state, 0x3000 + (4 << 20) + 1, NULL, NULL, NULL));
}

static void a_symbol_that_comes_later_is_found(void **state)
{
	assert_string_equal(symbols_find(*state, 0x2900, NULL, NULL, NULL), "second");
	assert_int_equal(symbols_add(*state, 0x2800, 't', "between", NULL), 0);
	assert_string_equal(symbols_find(*state, 0x2900, NULL, NULL, NULL), "between");
}

static void memory_of_each_cpu_is_no_place(void **state)
{
	assert_int_equal(symbols_add(*state, 0, 'A', "per_cpu", NULL), 0);
	assert_null(symbols_find(*state, 0x80, NULL, NULL, NULL));
	assert_string_equal(symbols_find(*state, 0x1000, NULL, NULL, NULL), "first");
}

static void trampolines_and_what_is_behind_the_image_have_no_name(void **state)
{
	assert_int_equal(symbols_add(*state, 0x4000, 't', "ftrace_trampoline", "__builtin__ftrace"),
			 0);
	assert_int_equal(symbols_add(*state, 0x2800, 'B', "_end", NULL), 0);
	assert_string_equal(symbols_find(*state, 0x27ff, NULL, NULL, NULL), "second");
	assert_null(symbols_find(*state, 0x2800, NULL, NULL, NULL));
	assert_null(symbols_find(*state, 0x2900, NULL, NULL, NULL));
	assert_string_equal(symbols_find(*state, 0x3fff, NULL, NULL, NULL), "third");
	assert_null(symbols_find(*state, 0x409d, NULL, NULL, NULL));
}

static void a_name_has_a_range(void **state)
{
	uint64_t lo, hi;

	assert_true(symbols_range(*state, "second", &lo, &hi));
	assert_int_equal(lo, 0x2000);
	assert_int_equal(hi, 0x3000);
	assert_false(symbols_range(*state, "nonesuch", &lo, &hi));
}

/* Names are looked for in an index, which is made again when a symbol was added. */
static void names_are_counted_also_those_that_come_later(void **state)
{
	struct symbols *s = symbols_create();
	char name[16];
	uint64_t lo, hi;

	assert_int_equal(symbols_count(s, "n0", NULL), 0);
	for (unsigned int i = 0; i < 300; i++) {
		snprintf(name, sizeof(name), "n%u", i % 100);
		symbols_add(s, 0x10000 - 16 * i, 't', name, i % 3 ? NULL : "mod");
		symbols_add_gap(s, 0x10008 - 16 * i, i % 2 ? name : NULL, 0x10000, 8);
	}
	for (unsigned int i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "n%u", i);
		assert_int_equal(symbols_count(s, name, NULL), 3);
		assert_int_equal(symbols_count(s, name, "mod"), 1);
		assert_true(symbols_range_of(s, name, NULL, &lo, &hi));
		assert_int_equal(lo, 0x10000 - 16 * (i + 200));
	}
	assert_int_equal(symbols_count(s, "n", NULL), 0);
	assert_int_equal(symbols_count(s, "n100", NULL), 0);
	symbols_add(s, 0x20000, 't', "n100", NULL);
	symbols_add(s, 0x20010, 't', "n99", NULL);
	assert_int_equal(symbols_count(s, "n100", NULL), 1);
	assert_int_equal(symbols_count(s, "n99", NULL), 4);
	symbols_destroy(s);
}

static void they_print_as_kallsyms(void **state)
{
	assert_prints(symbols_print(*state, out),
		      "0000000000001000 T first\n0000000000002000 t second\n"
		      "0000000000003000 t third\t[module]\n");
}

static void an_address_in_a_gap_counts_from_its_base(void **state)
{
	const char *module = "none";
	uint64_t offset, size;

	assert_int_equal(symbols_add_gap(*state, 0x2800, "[lib.so]", 0x1800, 0x4000), 0);
	assert_string_equal(symbols_find(*state, 0x2810, &offset, &size, &module), "[lib.so]");
	assert_int_equal(offset, 0x1010);
	assert_int_equal(size, 0x4000);
	assert_null(module);
	assert_string_equal(symbols_find(*state, 0x27ff, &offset, &size, NULL), "second");
	assert_int_equal(size, 0x800);
	assert_prints(symbols_print(*state, out),
		      "0000000000001000 T first\n0000000000002000 t second\n"
		      "0000000000002800 t [lib.so]+0x1000\n"
		      "0000000000003000 t third\t[module]\n");
}

static void behind_the_end_is_nothing(void **state)
{
	assert_int_equal(symbols_add_gap(*state, 0x2800, NULL, 0, 1), 0);
	assert_null(symbols_find(*state, 0x2900, NULL, NULL, NULL));
	assert_string_equal(symbols_find(*state, 0x3000, NULL, NULL, NULL), "third");
}

static struct symbols *loaded;
static uint64_t asked[8];
static unsigned int nr_asked;

static void load(void *arg, uint64_t addr)
{
	asked[nr_asked++ % 8] = addr;
	if (addr == 0x9000)
		symbols_add(loaded, 0x9000, 'T', "late", "late.so");
}

static void a_loader_is_asked_for_what_is_looked_for(void **state)
{
	uint64_t lo, hi;

	loaded = *state;
	nr_asked = 0;
	symbols_set_loader(*state, load, NULL);
	assert_string_equal(symbols_find(*state, 0x9000, NULL, NULL, NULL), "late");
	assert_int_equal(asked[0], 0x9000);
	/* A known name does not ask the loader. */
	assert_true(symbols_range(*state, "first", &lo, &hi));
	assert_int_equal(nr_asked, 1);
	assert_false(symbols_range(*state, "nonesuch", &lo, &hi));
	assert_int_equal(nr_asked, 2);
	assert_int_equal(asked[1], 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_address_lies_in_the_symbol_before_it),
		TEST(a_symbol_that_comes_later_is_found),
		TEST(memory_of_each_cpu_is_no_place),
		TEST(trampolines_and_what_is_behind_the_image_have_no_name),
		TEST(a_name_has_a_range),
		TEST(names_are_counted_also_those_that_come_later),
		TEST(they_print_as_kallsyms),
		TEST(an_address_in_a_gap_counts_from_its_base),
		TEST(behind_the_end_is_nothing),
		TEST(a_loader_is_asked_for_what_is_looked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
