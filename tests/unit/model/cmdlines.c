/* SPDX-License-Identifier: MIT */
/*
 * cmdlines.c - names and thread groups of pids
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "fixture.h"
#include "model/cmdlines.h"

static int setup(void **state)
{
	*state = cmdlines_create();
	return !*state;
}

static int teardown(void **state)
{
	cmdlines_destroy(*state);
	return 0;
}

static void names_are_found_by_pid(void **state)
{
	assert_int_equal(cmdlines_add(*state, 42, "first"), 0);
	assert_int_equal(cmdlines_add(*state, 7, "a name of more than sixteen"), 0);
	assert_int_equal(cmdlines_add(*state, 42, "second"), 0);
	assert_string_equal(cmdlines_find(*state, 42), "second");
	assert_string_equal(cmdlines_find(*state, 7), "a name of more ");
	assert_string_equal(cmdlines_find(*state, 8), "<...>");
	assert_string_equal(cmdlines_find(*state, 0), "<idle>");
	assert_string_equal(cmdlines_find(*state, -1), "<XXX>");
	assert_prints(cmdlines_print(*state, out), "42 second\n7 a name of more \n");
}

static void the_oldest_goes_when_there_is_no_room(void **state)
{
	const int size = (int)cmdlines_size(*state);

	for (int pid = 1; pid <= size + 1; pid++)
		assert_int_equal(cmdlines_add(*state, pid, "x"), 0);
	assert_string_equal(cmdlines_find(*state, 1), "<...>");
	assert_string_equal(cmdlines_find(*state, 2), "x");
	assert_string_equal(cmdlines_find(*state, size + 1), "x");
}

static void sizes_are_rounded_up_to_what_the_kernel_allocates(void **state)
{
	static const unsigned int sizes[][2] = {
		{ 1, 6552 }, { 6552, 6552 }, { 6553, 19659 }, { 19660, 45874 }, { 32768, 45874 },
	};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		assert_int_equal(cmdlines_resize(*state, sizes[i][0]), 0);
		assert_int_equal(cmdlines_size(*state), sizes[i][1]);
	}
	assert_int_equal(cmdlines_resize(*state, 0), -EINVAL);
	assert_int_equal(cmdlines_resize(*state, 32769), -EINVAL);
}

static void a_smaller_table_keeps_the_newest(void **state)
{
	assert_int_equal(cmdlines_resize(*state, 10000), 0);
	for (int pid = 1; pid <= 6600; pid++)
		assert_int_equal(cmdlines_add(*state, pid, "x"), 0);
	assert_int_equal(cmdlines_resize(*state, 1), 0);
	assert_string_equal(cmdlines_find(*state, 48), "<...>");
	assert_string_equal(cmdlines_find(*state, 49), "x");
	assert_string_equal(cmdlines_find(*state, 6600), "x");
}

static void thread_groups_are_kept(void **state)
{
	assert_int_equal(cmdlines_find_tgid(*state, 5), 0);
	assert_int_equal(cmdlines_add_tgid(*state, 5, 4), 0);
	assert_int_equal(cmdlines_add_tgid(*state, 3, 3), 0);
	assert_int_equal(cmdlines_add_tgid(*state, 5, 1), 0);
	assert_int_equal(cmdlines_find_tgid(*state, 5), 1);
	assert_prints(cmdlines_print_tgids(*state, out), "3 3\n5 1\n");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(names_are_found_by_pid),
		TEST(the_oldest_goes_when_there_is_no_room),
		TEST(sizes_are_rounded_up_to_what_the_kernel_allocates),
		TEST(a_smaller_table_keeps_the_newest),
		TEST(thread_groups_are_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
