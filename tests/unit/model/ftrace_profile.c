/* SPDX-License-Identifier: MIT */
/*
 * ftrace_profile.c - the counts and times of the function profile and their output; what programs
 * are told of the graph tracer
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ftrace_fixture.h"
#include "model/ftrace/profile.h"
#include "model/instance/options.h"

#define TEST(name) cmocka_unit_test_setup_teardown(name, functions_setup, functions_teardown)
#define HEAD									\
	"  Function                               Hit    Time            Avg             s^2\n"	\
	"  --------                               ---    ----            ---             ---\n"

static uint64_t fold(struct fixture *f, uint64_t ip, uint32_t cpu, uint64_t calls, uint64_t ns,
		     uint64_t squared)
{
	const struct profile_record r = { .common = LAYOUT_GRAPH_EXIT_ID,
					 .func = ip,
					 .calls = calls,
					 .time = ns,
					 .squared = squared,
					 .self = ns / 2 };
	const struct hit h = { .record = &r,
			      .size = sizeof(r),
			      .cpu = cpu,
			      .time = 1000,
			      .comm = "tester",
			      .writer = 1,
			      .entry = (functions_word(ip) & SITE_GROUP) + GROUP_PROFILE };
	struct slot *slot = session_slot_get(f->session);
	uint64_t mask;

	assert_non_null(slot);
	mask = session_hit(f->session, slot, &h);
	session_slot_put(f->session, slot);
	return mask;
}

static void call(struct fixture *f, uint64_t ip, uint32_t cpu, uint64_t ns)
{
	/* The hit folds and records nothing. */
	assert_int_equal(fold(f, ip, cpu, 1, 0, 0), 0);
	assert_int_equal(fold(f, ip, cpu, 0, ns, ns * ns), 0);
}

/* With details. nested: while the same function ran */
static void detailed_call(struct fixture *f, uint64_t ip, uint32_t cpu, uint64_t ns, bool nested)
{
	assert_int_equal(fold(f, ip, cpu, 1, 0, 0), 0);
	assert_int_equal(fold(f, ip, cpu, 0, ns, nested ? ns : 0), 0);
}

static const char *profile_text(struct fixture *f, uint32_t cpu)
{
	static char text[4096];
	FILE *out = fmemopen(text, sizeof(text), "w");

	assert_int_equal(ftrace_profile_print(f->model->ftrace, cpu, out), 0);
	fclose(out);
	return text;
}

static void each_cpu_has_its_own_the_longest_first(void **state)
{
	struct fixture *f = *state;

	assert_string_equal(profile_text(f, 0), HEAD);
	assert_int_equal(ftrace_profile_set(f->model->top, true), 0);
	assert_true(functions_word(0x1000) & SITE_HOOKED);
	call(f, 0x1000, 0, 1234);
	call(f, 0x1010, 0, 2000);
	call(f, 0x1010, 0, 4000);
	call(f, 0x1010, 1, 50);
	assert_string_equal(profile_text(f, 0),
			    HEAD "  beta                                     2    6.000 us        "
				 "3.000 us        2.000 us    \n"
				 "  alpha                                    1    1.234 us        "
				 "1.234 us        0.000 us    \n");
	assert_string_equal(profile_text(f, 1),
			    HEAD "  beta                                     1    0.050 us        "
				 "0.050 us        0.000 us    \n");
}

/* As in trace_print_graph_duration(): seven digits, or whole microseconds if there are more. */
static void times_have_seven_digits(void **state)
{
	static const struct {
		uint64_t ns;
		const char *text;
	} times[] = {
		{ 0, "0.000 us    " },
		{ 9999999, "9999.999 us " },
		{ 12345678, "12345.67 us " },
		{ 123456789, "123456.7 us " },
		{ 1234567890, "1234567 us  " },
		{ 12345678901, "12345678 us " },
		{ 123456789012, "123456789 us " },
	};
	struct fixture *f = *state;
	char line[512];

	for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++) {
		assert_int_equal(ftrace_profile_set(f->model->top, true), 0);
		call(f, 0x1000, 0, times[i].ns);
		snprintf(line, sizeof(line),
			 HEAD "  alpha                                    1    %s    %s    0.000 "
			      "us    \n",
			 times[i].text, times[i].text);
		assert_string_equal(profile_text(f, 0), line);
		assert_int_equal(ftrace_profile_set(f->model->top, false), 0);
	}
}

static void
a_call_without_its_return_is_counted_and_a_return_without_its_call_not_shown(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(ftrace_profile_set(f->model->top, true), 0);
	fold(f, 0x1000, 0, 1, 0, 0);
	fold(f, 0x1010, 0, 0, 500, 250000);
	assert_string_equal(profile_text(f, 0),
			    HEAD "  alpha                                    1    0.000 us        "
				 "0.000 us        0.000 us    \n");
}

static void off_leaves_the_numbers_on_begins_anew(void **state)
{
	struct fixture *f = *state;
	char before[4096];

	assert_int_equal(ftrace_profile_set(f->model->top, true), 0);
	call(f, 0x1000, 0, 1000);
	snprintf(before, sizeof(before), "%s", profile_text(f, 0));
	assert_int_equal(ftrace_profile_set(f->model->top, true), 0);
	assert_string_equal(profile_text(f, 0), before);
	assert_int_equal(ftrace_profile_set(f->model->top, false), 0);
	assert_int_equal(functions_word(0x1000), 0);
	assert_string_equal(profile_text(f, 0), before);
	assert_int_equal(ftrace_profile_set(f->model->top, true), 0);
	assert_string_equal(profile_text(f, 0), HEAD);
}

static void what_is_below_the_threshold_is_not_shown(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(ftrace_profile_set(f->model->top, true), 0);
	call(f, 0x1000, 0, 10000);
	call(f, 0x1010, 0, 9999);
	atomic_store(&f->model->tracing_thresh, 10000);
	assert_string_equal(profile_text(f, 0),
			    HEAD "  alpha                                    1    10.000 us       "
				 "10.000 us       0.000 us    \n");
}

static void what_finds_no_room_is_counted(void **state)
{
	struct fixture *f = *state;
	const uint64_t most = 1 << 14;

	assert_int_equal(ftrace_profile_dropped(f->model->ftrace), 0);
	assert_int_equal(ftrace_profile_set(f->model->top, true), 0);
	for (uint64_t i = 0; i < most + 10; i++) {
		const struct profile_record r = { .func = 0x100000 + i, .calls = 1 };
		const struct hit h = { .record = &r,
				      .size = sizeof(r),
				      .time = 1000,
				      .comm = "tester",
				      .writer = 1,
				      .entry = (functions_word(0x1000) & SITE_GROUP) +
					       GROUP_PROFILE };
		struct slot *slot = session_slot_get(f->session);

		session_hit(f->session, slot, &h);
		session_slot_put(f->session, slot);
	}
	assert_int_equal(ftrace_profile_dropped(f->model->ftrace), 10);
	assert_int_equal(ftrace_profile_set(f->model->top, false), 0);
	assert_int_equal(ftrace_profile_set(f->model->top, true), 0);
	assert_int_equal(ftrace_profile_dropped(f->model->ftrace), 0);
}

static const struct graph_config *told(struct fixture *f)
{
	const struct site_control *c =
		session_config(f->session, session_header(f->session)->sites, sizeof(*c));

	return session_config(f->session, atomic_load(&c->graph), sizeof(struct graph_config));
}

static const char *all_text(struct fixture *f)
{
	static char text[4096];
	FILE *out = fmemopen(text, sizeof(text), "w");

	assert_int_equal(ftrace_profile_print_all(f->model->ftrace, out), 0);
	fclose(out);
	return text;
}

#define HEAD_ALL									\
	"#      Calls          Total           Self            Avg            P50"	\
	"            P99            Max  Function\n"

static void with_details_there_are_self_times_percentiles_and_the_longest(void **state)
{
	struct fixture *f = *state;

	assert_string_equal(all_text(f), HEAD_ALL);
	assert_int_equal(ftrace_profile_set(f->model->top, FTRACE_PROFILE_DETAILS), 0);
	assert_int_equal(told(f)->flags, GRAPH_PROFILE | GRAPH_DETAILS);
	for (int i = 0; i < 98; i++)
		detailed_call(f, 0x1000, (uint32_t)i % 2, 1000, false);
	detailed_call(f, 0x1000, 1, 5000, true);
	detailed_call(f, 0x1000, 0, 90000, false);
	detailed_call(f, 0x1010, 0, 7, false);
	/* 1000 is in 940-1024, 5000 in 4871-5311. The nested call is in the average alone. */
	assert_string_equal(
		all_text(f), HEAD_ALL
		"         100         188000          96500           1930           1024"
		"           5311          90000  alpha\n"
		"           1              7              3              7              7"
		"              7              7  beta\n");
	assert_int_equal(ftrace_profile_set(f->model->top, FTRACE_PROFILE_ON), 0);
	call(f, 0x1000, 0, 1000);
	assert_string_equal(
		all_text(f), HEAD_ALL
		"           1           1000              -           1000              -"
		"              -              -  alpha\n");
}

static void only_functions_of_the_filter(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(edit(f->top, FTRACE_FILE_FILTER, true, "beta\n"), 0);
	assert_int_equal(ftrace_profile_set(f->model->top, true), 0);
	assert_int_equal(functions_word(0x1000), 0);
	assert_true(functions_word(0x1010) & SITE_HOOKED);
}

/* ---- struct graph_config ---- */

static void programs_are_told_of_depth_options_and_functions(void **state)
{
	struct fixture *f = *state;

	f->model->max_graph_depth = 7;
	assert_int_equal(ftrace_graph_publish(f->model), 0);
	assert_int_equal(told(f)->max_depth, 7);
	assert_int_equal(told(f)->flags, 0);
	assert_int_equal(edit(f->top, FTRACE_FILE_GRAPH, true, "beta\n"), 0);
	assert_int_equal(told(f)->flags, GRAPH_CHOSEN);
	assert_int_equal(option_set(f->top, OPTION_SLEEP_TIME, false), 0);
	assert_int_equal(option_set(f->top, OPTION_GRAPH_TIME, false), 0);
	assert_int_equal(told(f)->flags, GRAPH_CHOSEN | GRAPH_CPU_TIME | GRAPH_SELF_TIME);
	assert_int_equal(ftrace_profile_set(f->model->top, true), 0);
	assert_true(told(f)->flags & GRAPH_PROFILE);
	assert_int_equal(edit(f->top, FTRACE_FILE_GRAPH, true, ""), 0);
	assert_false(told(f)->flags & GRAPH_CHOSEN);
}

static void the_threshold_is_that_of_a_graph_tracer(void **state)
{
	struct fixture *f = *state;
	struct ftrace_ops *ops = functions_ops(f->top);

	atomic_store(&f->model->tracing_thresh, 5000);
	assert_int_equal(ftrace_graph_publish(f->model), 0);
	assert_int_equal(told(f)->thresh, 0);
	ops->kind = FTRACE_OPS_GRAPH;
	assert_int_equal(ftrace_ops_enable(ops), 0);
	assert_int_equal(told(f)->thresh, 5000);
	ftrace_ops_disable(ops);
	assert_int_equal(told(f)->thresh, 0);
	ops->section = ARM_SECTION;
	assert_int_equal(ftrace_ops_enable(ops), 0);
	assert_int_equal(told(f)->thresh, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_cpu_has_its_own_the_longest_first),
		TEST(times_have_seven_digits),
		TEST(a_call_without_its_return_is_counted_and_a_return_without_its_call_not_shown),
		TEST(off_leaves_the_numbers_on_begins_anew),
		TEST(what_is_below_the_threshold_is_not_shown),
		TEST(what_finds_no_room_is_counted),
		TEST(with_details_there_are_self_times_percentiles_and_the_longest),
		TEST(only_functions_of_the_filter),
		TEST(programs_are_told_of_depth_options_and_functions),
		TEST(the_threshold_is_that_of_a_graph_tracer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
