/* SPDX-License-Identifier: MIT */
/*
 * fold.c - runs code on records: where each kind of key and value comes from, and records that
 * are too short
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hist_fixture.h"

/* A key has the width and sign of its field. A number of 64 bits is printed without a sign. */
static void integers_keep_width_and_sign(void **state)
{
	static const char *const rows[][2] = {
		{ "s8", "18446744073709551614" },	 { "u8", "       254" },
		{ "s16", "18446744073709551613" }, { "u16", "     65533" },
		{ "s32", "18446744073709551612" }, { "u32", "4294967292" },
		{ "s64", "18446744073709551611" }, { "u64", "18446744073709551611" },
	};
	struct fixture *f = *state;
	struct all_record r;
	char text[64], expected[128];

	fixture_record(&r);
	r.s8 = -2;
	r.u8 = 254;
	r.s16 = -3;
	r.u16 = 65533;
	r.s32 = -4;
	r.u32 = 4294967292u;
	r.s64 = -5;
	r.u64 = (uint64_t)-5;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		/* Once as the only key, which one op handles, and once as one of two keys. */
		snprintf(text, sizeof(text), "hist:keys=%s", rows[i][0]);
		assert_int_equal(command(f->all, text), 0);
		snprintf(text, sizeof(text), "hist:keys=%s,common_cpu", rows[i][0]);
		assert_int_equal(command(f->all, text), 0);
		hit_record(f, &r, sizeof(r), 1000, "tester");
		snprintf(expected, sizeof(expected), "{ %s: %s } hitcount:          1\n"
			 "{ %s: %s, common_cpu:          0 } hitcount:          1\n",
			 rows[i][0], rows[i][1], rows[i][0], rows[i][1]);
		assert_entries(f->all, expected);
		event_file_trigger_truncate(top_file(f->all));
	}
}

/* What the compiler makes of a command must not change what it counts. */
static void one_op_counts_as_many_do(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(command(f->all, "hist:keys=s32,u64:vals=u32"), 0);
	assert_int_equal(command(f->all, "hist:keys=s32,u64:vals=u32,u16:sort=s32,u64"), 0);
	for (uint32_t i = 0; i < 1000; i++) {
		struct all_record r;

		fixture_record(&r);
		r.s32 = (int32_t)(i % 3);
		r.u64 = i % 2;
		r.u32 = i;
		hit_record(f, &r, sizeof(r), 1000, "tester");
	}
	assert_entries(
		f->all,
		"{ s32:          1, u64:          0 } hitcount:        166  u32:      82834\n"
		"{ s32:          2, u64:          1 } hitcount:        166  u32:      83000\n"
		"{ s32:          0, u64:          0 } hitcount:        167  u32:      83166\n"
		"{ s32:          0, u64:          1 } hitcount:        167  u32:      83667\n"
		"{ s32:          1, u64:          1 } hitcount:        167  u32:      83333\n"
		"{ s32:          2, u64:          0 } hitcount:        167  u32:      83500\n"
		"{ s32:          0, u64:          0 } hitcount:        167  u32:      83166  u16:  "
		"        0\n"
		"{ s32:          0, u64:          1 } hitcount:        167  u32:      83667  u16:  "
		"        0\n"
		"{ s32:          1, u64:          0 } hitcount:        166  u32:      82834  u16:  "
		"        0\n"
		"{ s32:          1, u64:          1 } hitcount:        167  u32:      83333  u16:  "
		"        0\n"
		"{ s32:          2, u64:          0 } hitcount:        167  u32:      83500  u16:  "
		"        0\n"
		"{ s32:          2, u64:          1 } hitcount:        166  u32:      83000  u16:  "
		"        0\n");
}

static void logarithms_round_up(void **state)
{
	static const struct { uint64_t v; int log;
	} rows[] = {
		{ 0, 0 }, { 1, 0 }, { 2, 1 }, { 3, 2 }, { 4, 2 },
		{ 5, 3 }, { 1024, 10 }, { 1025, 11 }, { 1ull << 40, 40 },
	};
	struct fixture *f = *state;
	char expected[64];

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		assert_int_equal(command(f->all, "hist:keys=u64.log2"), 0);
		hit_all(f, 1, rows[i].v);
		snprintf(expected, sizeof(expected), "{ u64: ~ 2^%-2d } hitcount:          1\n",
			 rows[i].log);
		assert_entries(f->all, expected);
		event_file_trigger_truncate(top_file(f->all));
	}
}

/*
 * As in the kernel, a power of two shifts, a small number multiplies and rounds up, and all
 * others divide.
 */
static void division_is_the_kernels(void **state)
{
	static const struct { const char *expr; uint64_t v; const char *result;
	} rows[] = {
		{ "u64/8", 15, "         1" },
		{ "u64/7", 8, "         2" },
		{ "u64/7", 7, "         1" },
		{ "u64/3", 10, "         4" },
		{ "u64/7", 1 << 20, "    149796" },
		{ "u64/2000000", 3999999, "         1" },
		{ "u64/u32", 10, "18446744073709551615" },
	};
	struct fixture *f = *state;
	char text[64], expected[128];

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		snprintf(text, sizeof(text), "hist:keys=%s", rows[i].expr);
		assert_int_equal(command(f->all, text), 0);
		hit_all(f, 1, rows[i].v);
		snprintf(expected, sizeof(expected), "{ %s: %s } hitcount:          1\n",
			 rows[i].expr, rows[i].result);
		assert_entries(f->all, expected);
		event_file_trigger_truncate(top_file(f->all));
	}
}

/* A fixed string may fill its array without a 0. Bytes behind the first 0 do not count. */
static void strings_end_at_the_first_zero(void **state)
{
	struct fixture *f = *state;
	struct all_record r;

	assert_int_equal(command(f->all, "hist:keys=fixed"), 0);
	fixture_record(&r);
	memcpy(r.fixed, "abc\0garbage.....", 16);
	hit_record(f, &r, sizeof(r), 1000, "tester");
	memcpy(r.fixed, "abc\0other.......", 16);
	hit_record(f, &r, sizeof(r), 1000, "tester");
	memcpy(r.fixed, "0123456789abcde\0", 16);
	hit_record(f, &r, sizeof(r), 1000, "tester");
	memcpy(r.fixed, "0123456789abcdef", 16);
	hit_record(f, &r, sizeof(r), 1000, "tester");
	assert_entries(f->all, "{ fixed: 0123456789abcde                                    } "
			       "hitcount:          2\n"
			       "{ fixed: abc                                                } "
			       "hitcount:          2\n");
}

/* The code reads no byte behind the record, and the key has no bytes of an earlier hit. */
static void short_records_read_as_nothing(void **state)
{
	struct fixture *f = *state;
	struct all_record r;

	assert_int_equal(command(f->all, "hist:keys=dyn,u64"), 0);
	hit_all(f, 1, 3);
	fixture_record(&r);
	hit_record(f, &r, offsetof(struct all_record, u64), 1000, "tester");
	assert_entries(f->all, "{ dyn:                                                   , u64:    "
			       "      0 } hitcount:          1\n"
			       "{ dyn: dynamic                                           , u64:    "
			       "      3 } hitcount:          1\n");
}

static void an_elt_keeps_the_name_of_its_first_task(void **state)
{
	struct fixture *f = *state;
	struct all_record r;

	assert_int_equal(command(f->all, "hist:keys=common_pid.execname"), 0);
	fixture_record(&r);
	hit_record(f, &r, sizeof(r), 1000, "first");
	hit_record(f, &r, sizeof(r), 1000, "second");
	assert_entries(f->all,
		       "{ common_pid: first           [        42] } hitcount:          2\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(integers_keep_width_and_sign, fixture_setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(one_op_counts_as_many_do, fixture_setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(logarithms_round_up, fixture_setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(division_is_the_kernels, fixture_setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(strings_end_at_the_first_zero, fixture_setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(short_records_read_as_nothing, fixture_setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(an_elt_keeps_the_name_of_its_first_task,
						fixture_setup, fixture_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
