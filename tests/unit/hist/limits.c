/* SPDX-License-Identifier: MIT */
/*
 * limits.c - the kernel's limits, each at n and at n + 1
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hist_fixture.h"

static void three_keys_and_no_more(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(command(f->all, "hist:keys=s8,u8,s16"), 0);
	assert_int_equal(command(f->all, "hist:keys=s8,u8,s16,u16"), -EINVAL);
}

/* hitcount takes the first of three places. */
static void two_values_and_no_more(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(command(f->all, "hist:keys=s8:vals=u8,s16"), 0);
	assert_int_equal(command(f->all, "hist:keys=s8:vals=hitcount,u8,s16"), -EEXIST);
	assert_int_equal(command(f->all, "hist:keys=s8:vals=u8,s16,u16"), -EINVAL);
	assert_int_equal(command(f->all, "hist:keys=s8:vals=u8,s16,hitcount"), -EEXIST);
}

static void two_sort_keys_and_no_more(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(command(f->all, "hist:keys=s8,u8:sort=s8"), 0);
	assert_refused(f, f->all, "hist:keys=s8,u8:sort=s8,u8,hitcount", -EINVAL,
		       "Too many sort fields (Max = 2)", 16);
}

static void sizes_from_2_7_to_2_17(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(command(f->all, "hist:keys=s8:size=64"), -EINVAL);
	assert_int_equal(command(f->all, "hist:keys=s8:size=65"), 0);
	assert_triggers(f->all, "hist:keys=s8:vals=hitcount:sort=hitcount:size=128 [active]\n");
	event_file_trigger_truncate(top_file(f->all));
	assert_int_equal(command(f->all, "hist:keys=s8:size=131072"), 0);
	assert_triggers(f->all, "hist:keys=s8:vals=hitcount:sort=hitcount:size=131072 [active]\n");
	assert_int_equal(command(f->all, "hist:keys=u8:size=131073"), -EINVAL);
}

/* A hist of size 128 takes 128 entries. It counts the others as dropped. */
static void entries_beyond_the_size_are_dropped(void **state)
{
	struct fixture *f = *state;
	char *text;

	assert_int_equal(command(f->all, "hist:keys=s32:size=128"), 0);
	for (int i = 0; i < 128; i++)
		hit_all(f, i, 0);
	text = printed(hist_print(top_file(f->all), out));
	assert_non_null(
		strstr(text, "\nTotals:\n    Hits: 128\n    Entries: 128\n    Dropped: 0\n"));
	free(text);
	hit_all(f, 128, 0);
	hit_all(f, 129, 0);
	hit_all(f, 5, 0);
	text = printed(hist_print(top_file(f->all), out));
	assert_non_null(strstr(text, "    Entries: 128\n    Dropped: 2\n"));
	free(text);
}

/* A string and a stack together fill a key, so a third field does not fit. */
static void a_key_has_384_bytes(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(command(f->all, "hist:keys=dyn,stacktrace"), 0);
	assert_int_equal(command(f->all, "hist:keys=dyn,stacktrace,s8"), -EINVAL);
}

/* .depth= has room of its own. */
static void a_key_with_depth_has_768_bytes(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(command(f->all, "hist:keys=common_stacktrace.depth=63,dyn"), 0);
	assert_int_equal(command(f->all, "hist:keys=common_stacktrace.depth=63,dyn,s8"), -EINVAL);
	assert_int_equal(command(f->all, "hist:keys=dyn,s8,common_stacktrace.depth=63"), -EINVAL);
	assert_int_equal(command(f->all, "hist:keys=dyn,s8,common_stacktrace.depth=62"), 0);
}

/* The kernel silently takes the first 16 of one list. Another list is an error. */
static void sixteen_variables_and_no_more(void **state)
{
	struct fixture *f = *state;
	char text[512] = "hist:keys=s8:", *list = text + strlen(text), expected[512];

	for (int i = 0; i < HIST_VARS_MAX; i++)
		sprintf(text + strlen(text), "%sv%d=u64", i ? "," : "", i);
	snprintf(expected, sizeof(expected),
		 "hist:keys=s8:vals=hitcount:%s:sort=hitcount:size=2048 [active]\n", list);
	assert_int_equal(command(f->all, text), 0);
	assert_triggers(f->all, expected);
	event_file_trigger_truncate(top_file(f->all));
	strcat(text, ",v16=u64");
	assert_int_equal(command(f->all, text), 0);
	assert_triggers(f->all, expected);
	event_file_trigger_truncate(top_file(f->all));
	strcat(text, ":w=u64");
	assert_refused(f, f->all, text, -EINVAL, "Too many variables defined",
		       (int)(strstr(text, "w=") - text));
}

static void three_operators_and_no_more(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(command(f->all, "hist:keys=u64+u32+u16+u8"), 0);
	assert_refused(f, f->all, "hist:keys=u64+u32+u16+u8+s32", -EINVAL,
		       "Too many subexpressions (3 max)", 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(three_keys_and_no_more, fixture_setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(two_values_and_no_more, fixture_setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(two_sort_keys_and_no_more, fixture_setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(sizes_from_2_7_to_2_17, fixture_setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(entries_beyond_the_size_are_dropped, fixture_setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(a_key_has_384_bytes, fixture_setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(a_key_with_depth_has_768_bytes, fixture_setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(sixteen_variables_and_no_more, fixture_setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(three_operators_and_no_more, fixture_setup,
						fixture_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
