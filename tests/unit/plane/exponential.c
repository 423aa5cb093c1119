/* SPDX-License-Identifier: MIT */
/*
 * exponential.c - tests of the buckets of .exp: each value in one, bounds as exact as they can be
 */
#include <math.h>

#include "plane/exponential.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <cmocka.h>

/* Whether v <= 2^(i / 2^scale), by whole numbers only: v^(2^scale) <= 2^i. False: not known. */
static bool power_known(unsigned int scale, uint64_t v, uint64_t i, bool *out)
{
	long double a = log2l((long double)v) * (1 << scale);

	if (fabsl(a - (long double)i) < 1e-12L)
		return false;
	*out = a < (long double)i;
	return true;
}

static void bounds_are_powers(void **state)
{
	(void)state;
	for (unsigned int scale = 0; scale <= EXPONENTIAL_SCALE_MAX; scale++)
		for (uint64_t v = 2; v < 20000; v++) {
			const uint64_t b = exponential_bucket(scale, v);
			bool below;

			if (power_known(scale, v, b - 1, &below))
				assert_true(below);
			if (power_known(scale, v, b - 2, &below))
				assert_false(below);
		}
}

static void powers_of_two_are_the_last_of_their_bucket(void **state)
{
	(void)state;
	for (unsigned int scale = 0; scale <= EXPONENTIAL_SCALE_MAX; scale++)
		for (unsigned int e = 0; e < 64; e++) {
			const uint64_t v = 1ull << e, b = exponential_bucket(scale, v);
			uint64_t low, high;

			assert_int_equal(b, ((uint64_t)e << scale) + 1);
			exponential_range(scale, b, &low, &high);
			assert_int_equal(high, v);
			assert_true(exponential_bucket(scale, v + 1) > b || e == 0 || scale == 0 ||
				    v + 1 <= high);
		}
}

/* The ranges of the buckets that have values follow one another without a gap. */
static void ranges_follow_each_other(void **state)
{
	(void)state;
	for (unsigned int scale = 0; scale <= EXPONENTIAL_SCALE_MAX; scale++) {
		uint64_t low, high, v = 0;
		unsigned int n = 0;

		do {
			const uint64_t b = exponential_bucket(scale, v);

			exponential_range(scale, b, &low, &high);
			assert_int_equal(low, v);
			assert_true(high >= low);
			assert_int_equal(exponential_bucket(scale, high), b);
			v = high + 1;
			n++;
		} while (high != UINT64_MAX);
		assert_true(n >= 64);
		assert_int_equal(v, 0);
	}
}

static void a_smaller_scale_joins_buckets(void **state)
{
	(void)state;
	for (unsigned int scale = 1; scale <= EXPONENTIAL_SCALE_MAX; scale++)
		for (uint64_t v = 1; v < 5000; v++) {
			const uint64_t fine = exponential_bucket(scale, v);

			assert_int_equal(exponential_bucket(scale - 1, v), fine / 2 + 1);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bounds_are_powers),
		cmocka_unit_test(powers_of_two_are_the_last_of_their_bucket),
		cmocka_unit_test(ranges_follow_each_other),
		cmocka_unit_test(a_smaller_scale_joins_buckets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
