/* SPDX-License-Identifier: MIT */
/*
 * named.c - hists that several events and instances share by a name
 */
#include <errno.h>
#include <stdlib.h>

#include "hist_fixture.h"

struct pid_record {
	struct record_common common;
	int32_t	pid;
};

static void hit_pid(struct fixture *f, struct event *e, int32_t pid)
{
	struct pid_record r = { .common = { .type = e->id, .pid = 1 }, .pid = pid };

	hit_record(f, &r, sizeof(r), 1000, "tester");
}

static void two_events_count_into_one(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(command(f->other, "hist:name=both:keys=pid"), 0);
	assert_int_equal(command(f->third, "hist:name=both:keys=pid"), 0);
	assert_triggers(f->third,
			"hist:name=both:keys=pid:vals=hitcount:sort=hitcount:size=2048 [active]\n");
	hit_pid(f, f->other, 7);
	hit_pid(f, f->third, 7);
	hit_pid(f, f->third, 8);
	assert_entries(f->other, "{ pid:          8 } hitcount:          1\n{ pid:          7 } "
				 "hitcount:          2\n");
	assert_entries(f->third, "{ pid:          8 } hitcount:          1\n{ pid:          7 } "
				 "hitcount:          2\n");
}

static void what_does_not_fit_is_refused(void **state)
{
	struct fixture *f = *state;
	const char *text =
		"Named hist trigger doesn't match existing named trigger (includes variables)";

	assert_int_equal(command(f->other, "hist:name=both:keys=pid"), 0);
	assert_refused(f, f->third, "hist:name=both:keys=common_pid", -EINVAL, text, 5);
	assert_refused(f, f->third, "hist:name=both:keys=pid:sort=pid", -EINVAL, text, 5);
	assert_refused(f, f->third, "hist:name=both:keys=pid:vals=common_pid", -EINVAL, text, 5);
	assert_refused(f, f->other, "hist:name=both:keys=pid", -EEXIST,
		       "Hist trigger already exists", 0);
	assert_int_equal(command(f->third, "hist:name=both:keys=pid:size=512"), 0);
	assert_triggers(f->third,
			"hist:name=both:keys=pid:vals=hitcount:sort=hitcount:size=2048 [active]\n");
}

static void each_is_paused_alone_and_all_are_cleared(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(command(f->other, "hist:name=both:keys=pid"), 0);
	assert_int_equal(command(f->third, "hist:name=both:keys=pid"), 0);
	assert_int_equal(command(f->other, "hist:name=both:keys=pid:pause"), 0);
	hit_pid(f, f->other, 7);
	hit_pid(f, f->third, 8);
	assert_entries(f->other, "{ pid:          8 } hitcount:          1\n");
	assert_int_equal(command(f->third, "hist:name=both:keys=pid:clear"), 0);
	assert_entries(f->other, "");
	hit_pid(f, f->third, 9);
	assert_entries(f->other, "{ pid:          9 } hitcount:          1\n");
}

/* The hist lives as long as any of its triggers. */
static void the_first_may_go_before_the_second(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(command(f->other, "hist:name=both:keys=pid"), 0);
	assert_int_equal(command(f->third, "hist:name=both:keys=pid"), 0);
	hit_pid(f, f->other, 7);
	assert_int_equal(command(f->other, "!hist:name=both:keys=pid"), 0);
	hit_pid(f, f->third, 7);
	assert_entries(f->third, "{ pid:          7 } hitcount:          2\n");
	event_file_trigger_truncate(top_file(f->third));
	assert_int_equal(command(f->third, "hist:name=both:keys=common_pid"), 0);
}

static void names_reach_over_instances(void **state)
{
	struct fixture *f = *state;
	struct event_file *file;
	struct instance *inst;

	assert_int_equal(instance_create(f->model, "second", &inst), 0);
	file = event_file_get(inst, f->other);
	assert_int_equal(command(f->other, "hist:name=both:keys=pid"), 0);
	assert_int_equal(event_file_trigger_write(file, "hist:name=both:keys=common_pid"), -EINVAL);
	assert_int_equal(event_file_trigger_write(file, "hist:name=both:keys=pid"), 0);
	hit_pid(f, f->other, 7);
	assert_entries(f->other, "{ pid:          7 } hitcount:          2\n");
	event_file_trigger_truncate(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(two_events_count_into_one, fixture_setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(what_does_not_fit_is_refused, fixture_setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(each_is_paused_alone_and_all_are_cleared,
						fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(the_first_may_go_before_the_second, fixture_setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(names_reach_over_instances, fixture_setup,
						fixture_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
