/* SPDX-License-Identifier: MIT */
/*
 * clock.c - what each trace_clock counts; the scaled counter agrees with the system's clock
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <cmocka.h>
#include "plane/arch/counter.h"
#include "plane/clock.h"

static uint64_t system_ns(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t now(const struct clock_scale *scale, enum clock_id id)
{
	struct instance_state inst = { .clock = id };

	return clock_now(scale, &inst);
}

static void system_clocks_are_read_between_two_readings(void **state)
{
	static const struct { enum clock_id id; clockid_t system; } clocks[] = {
		{ CLOCK_ID_MONO, CLOCK_MONOTONIC }, { CLOCK_ID_MONO_RAW, CLOCK_MONOTONIC_RAW },
		{ CLOCK_ID_BOOT, CLOCK_BOOTTIME }, { CLOCK_ID_TAI, CLOCK_TAI },
	};
	struct clock_scale none = { 0 };

	for (size_t i = 0; i < sizeof(clocks) / sizeof(clocks[0]); i++) {
		uint64_t before = system_ns(clocks[i].system), t = now(&none, clocks[i].id);

		assert_in_range(t, before, system_ns(clocks[i].system));
	}
}

static void without_a_constant_counter_local_is_monotonic(void **state)
{
	struct clock_scale none = { 0 };
	uint64_t before = system_ns(CLOCK_MONOTONIC), local = now(&none, CLOCK_ID_LOCAL);
	uint64_t global = now(&none, CLOCK_ID_GLOBAL);

	assert_in_range(local, before, global);
	assert_in_range(global, local, system_ns(CLOCK_MONOTONIC));
}

static void uptime_counts_in_jiffies(void **state)
{
	struct clock_scale none = { 0 };
	uint64_t before = system_ns(CLOCK_MONOTONIC) / 10000000, t = now(&none, CLOCK_ID_UPTIME);

	assert_in_range(t, before, system_ns(CLOCK_MONOTONIC) / 10000000);
}

static void counter_goes_up_by_one(void **state)
{
	struct instance_state inst = { .clock = CLOCK_ID_COUNTER };
	struct clock_scale none = { 0 };

	assert_int_equal(clock_now(&none, &inst), 1);
	assert_int_equal(clock_now(&none, &inst), 2);
	assert_int_equal(clock_now(&none, &inst), 3);
}

static void tsc_is_the_bare_counter(void **state)
{
	struct clock_scale none = { 0 };
	uint64_t before = counter_read(), t = now(&none, CLOCK_ID_X86_TSC);

	assert_in_range(t, before, counter_read());
}

static void scaling_keeps_all_bits(void **state)
{
	struct clock_scale scale = { .mult = 1ull << 32, .shift = 33, .offset = -5 };

	assert_int_equal(clock_scaled(&scale, 1ull << 63), (1ull << 62) - 5);
	assert_int_equal(clock_scaled(&scale, 10), 0);
	/* The same scale, with the result in the upper half of the product. */
	scale.mult = 1ull << 63;
	scale.shift = 64;
	assert_int_equal(clock_scaled(&scale, 1ull << 63), (1ull << 62) - 5);
	assert_int_equal(clock_scaled(&scale, 10), 0);
}

static void calibrated_time_goes_with_the_monotonic_clock(void **state)
{
	struct clock_scale scale;
	struct timespec pause = { 0, 50000000 };
	uint64_t early[3], late[3];

	clock_calibrate(&scale);
	if (!scale.valid)
		skip();
	/*
	 * Each reading is between two of the other clock. So an interruption does no harm.
	 */
	early[0] = system_ns(CLOCK_MONOTONIC);
	early[1] = now(&scale, CLOCK_ID_LOCAL);
	early[2] = system_ns(CLOCK_MONOTONIC);
	nanosleep(&pause, NULL);
	late[0] = system_ns(CLOCK_MONOTONIC);
	late[1] = now(&scale, CLOCK_ID_PERF);
	late[2] = system_ns(CLOCK_MONOTONIC);
	/* No clock is slewed by as much as one part in a hundred. */
	assert_in_range(late[1] - early[1], (late[0] - early[2]) / 100 * 99,
			(late[2] - early[0]) / 100 * 101);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(system_clocks_are_read_between_two_readings),
		cmocka_unit_test(without_a_constant_counter_local_is_monotonic),
		cmocka_unit_test(uptime_counts_in_jiffies),
		cmocka_unit_test(counter_goes_up_by_one),
		cmocka_unit_test(tsc_is_the_bare_counter),
		cmocka_unit_test(scaling_keeps_all_bits),
		cmocka_unit_test(calibrated_time_goes_with_the_monotonic_clock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
