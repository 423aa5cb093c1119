/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "model/text.h"

static void numbers_as_the_kernel_reads_them(void **state)
{
	static const struct {
		const char *text;
		unsigned int base;
		int err;
		uint64_t value;
	} cases[] = {
		{ "0", 0, 0, 0 },
		{ "10", 0, 0, 10 },
		{ "010", 0, 0, 8 },
		{ "0x10", 0, 0, 16 },
		{ "0XfF", 0, 0, 255 },
		{ "010", 10, 0, 10 },
		{ "10\n", 0, 0, 10 },
		{ "+7", 0, 0, 7 },
		{ "18446744073709551615", 0, 0, UINT64_MAX },
		{ "18446744073709551616", 0, -ERANGE, 0 },
		{ "99999999999999999999", 0, -ERANGE, 0 },
		{ "", 0, -EINVAL, 0 },
		{ "0x", 0, -EINVAL, 0 },
		{ "08", 0, -EINVAL, 0 },
		{ "1 ", 0, -EINVAL, 0 },
		{ "1\n\n", 0, -EINVAL, 0 },
		{ "-1", 0, -EINVAL, 0 },
		{ "0b11", 0, -EINVAL, 0 },
		{ "x", 0, -EINVAL, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t v = 0;

		assert_int_equal(text_to_u64(cases[i].text, cases[i].base, &v), cases[i].err);
		if (!cases[i].err)
			assert_int_equal(v, cases[i].value);
	}
}

static void signed_numbers(void **state)
{
	int64_t v;

	assert_int_equal(text_to_s64("-5", 0, &v), 0);
	assert_int_equal(v, -5);
	assert_int_equal(text_to_s64("-9223372036854775808", 0, &v), 0);
	assert_true(v == INT64_MIN);
	assert_int_equal(text_to_s64("-9223372036854775809", 0, &v), -ERANGE);
	assert_int_equal(text_to_s64("9223372036854775807", 0, &v), 0);
	assert_int_equal(text_to_s64("9223372036854775808", 0, &v), -ERANGE);
	assert_int_equal(text_to_s64("--1", 0, &v), -EINVAL);
	assert_int_equal(text_to_s64("-", 0, &v), -EINVAL);
}

static void one_word_of_a_write(void **state)
{
	char word[8];

	assert_int_equal(text_word("  ab cd", 7, word, sizeof(word)), 5);
	assert_string_equal(word, "ab");
	assert_int_equal(text_word("cd", 2, word, sizeof(word)), 2);
	assert_string_equal(word, "cd");
	assert_int_equal(text_word(" \n\t", 3, word, sizeof(word)), 3);
	assert_string_equal(word, "");
	assert_int_equal(text_word("1234567", 7, word, sizeof(word)), 7);
	assert_int_equal(text_word("12345678", 8, word, sizeof(word)), -EINVAL);
}

static void lists_of_bits(void **state)
{
	static const struct {
		const char *text;
		int err;
		uint64_t mask;
	} cases[] = {
		{ "0", 0, 1 },
		{ "0-3", 0, 0xf },
		{ "0,2 5", 0, 0x25 },
		{ "N", 0, 0x80 },
		{ "4-N", 0, 0xf0 },
		{ "all", 0, 0xff },
		{ "ALL:1/4", 0, 0x11 },
		{ "0-7:2/4", 0, 0x33 },
		{ "1\n", 0, 2 },
		{ ",,3,", 0, 8 },
		{ "8", -ERANGE, 0 },
		{ "0-8", -ERANGE, 0 },
		{ "3-1", -EINVAL, 0 },
		{ "a", -EINVAL, 0 },
		{ "1x", -EINVAL, 0 },
		{ "0-7:1", -EINVAL, 0 },
		{ "0-7:5/4", -EINVAL, 0 },
		{ "0-7:0/0", -EINVAL, 0 },
		{ "99999999999", -EOVERFLOW, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t mask;

		assert_int_equal(text_to_mask(cases[i].text, &mask, 8), cases[i].err);
		if (!cases[i].err)
			assert_int_equal(mask, cases[i].mask);
	}
}

static void strip_knows_latin1_spaces(void **state)
{
	char text[] = "\xa0 x y \n";

	assert_string_equal(text_strip(text), "x y");
}

static void lines_of_a_text(void **state)
{
	static const char text[] = "one\n\nlast";
	const char *s = text_next_line(text);

	assert_ptr_equal(s, text + 4);
	s = text_next_line(s);
	assert_string_equal(s, "last");
	s = text_next_line(s);
	assert_ptr_equal(s, text + sizeof(text) - 1);
	assert_ptr_equal(text_next_line(s), s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_as_the_kernel_reads_them),
		cmocka_unit_test(signed_numbers),
		cmocka_unit_test(one_word_of_a_write),
		cmocka_unit_test(lists_of_bits),
		cmocka_unit_test(strip_knows_latin1_spaces),
		cmocka_unit_test(lines_of_a_text),
	};

	return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}
