/* SPDX-License-Identifier: MIT */
/*
 * show.c - the order of entries, the output of each modifier, totals
 */
#include <stdlib.h>
#include <string.h>

#include "hist_fixture.h"
#include "model/hist/entries.h"
#include "model/hist/json.h"
#include "model/syscalls.h"

static void entries_are_sorted_by_hitcount_ties_by_key(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(command(f->all, "hist:keys=s32"), 0);
	for (int i = 0; i < 3; i++)
		hit_all(f, 5, 0);
	hit_all(f, 9, 0);
	hit_all(f, -1, 0);
	hit_all(f, 7, 0);
	assert_entries(f->all, "{ s32: 18446744073709551615 } hitcount:          1\n"
		       "{ s32:          7 } hitcount:          1\n"
		       "{ s32:          9 } hitcount:          1\n"
		       "{ s32:          5 } hitcount:          3\n");
}

static void sort_keys_apply_in_order_each_way(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(command(f->all, "hist:keys=s32,u64:sort=u64.descending,s32"), 0);
	hit_all(f, 2, 1);
	hit_all(f, 1, 1);
	hit_all(f, 3, 2);
	assert_entries(f->all, "{ s32:          3, u64:          2 } hitcount:          1\n"
		       "{ s32:          1, u64:          1 } hitcount:          1\n"
		       "{ s32:          2, u64:          1 } hitcount:          1\n");
}

static void values_may_be_sorted_by(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(command(f->all, "hist:keys=s32:vals=u64:sort=u64.descending"), 0);
	hit_all(f, 1, 10);
	hit_all(f, 2, 30);
	hit_all(f, 1, 15);
	assert_entries(f->all, "{ s32:          2 } hitcount:          1  u64:         30\n"
		       "{ s32:          1 } hitcount:          2  u64:         25\n");
}

/*
 * Of the newest call that has an event; of one that the kernel has no more; of none. Other machines
 * have other numbers.
 */
static void add_call(struct model *m, const char *name, unsigned int id)
{
	char text[200];
	const int len = snprintf(text, sizeof(text),
				 "name: sys_enter_%s\nID: %u\nformat:\n"
				 "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\t"
				 "signed:0;\n\nprint fmt: \"\"\n", name, id);

	assert_int_equal(model_add_event(m, "syscalls", text, (size_t)len, NULL), 0);
}

static void system_calls_have_the_names_of_their_events(void **state)
{
	struct model *m = ((struct fixture *)*state)->model;
	const struct event own = { .model = m, .machine.calls = CALLS_X86_64 },
			   arm = { .model = m, .machine.calls = CALLS_GENERIC },
			   other = { .model = m, .machine.calls = CALLS_UNKNOWN };
	char name[16];

	assert_string_equal(model_syscall_name(&own, 462), "sys_mseal");
	assert_string_equal(model_syscall_name(&own, 63), "sys_newuname");
	assert_null(model_syscall_name(&own, 156));
	assert_null(model_syscall_name(&own, 463));
	assert_string_equal(model_syscall_name(&arm, 462), "sys_mseal");
	assert_string_equal(model_syscall_name(&arm, 63), "sys_read");
	assert_string_equal(model_syscall_name(&arm, 265), "sys_open_by_handle_at");
	assert_null(model_syscall_name(&arm, 244));
	assert_null(model_syscall_name(&other, 1));
	/* A recording of some events says nothing of the others, but one of all does. */
	add_call(m, "newuname", 5000);
	assert_string_equal(model_syscall_name(&own, 462), "sys_mseal");
	for (unsigned int i = 1; i < 256; i++) {
		snprintf(name, sizeof(name), "call%u", i);
		add_call(m, name, 5000 + i);
	}
	assert_null(model_syscall_name(&own, 462));
	assert_string_equal(model_syscall_name(&own, 63), "sys_newuname");
}

static void modifiers_print_as_the_kernel_prints_them(void **state)
{
	static const char *const rows[][2] = {
		{ "hist:keys=u64.hex", "{ u64: 1044 } hitcount:          1\n" },
		{ "hist:keys=u64.log2", "{ u64: ~ 2^13 } hitcount:          1\n" },
		{ "hist:keys=u64.buckets=100", "{ u64: ~ 4100-4199 } hitcount:          1\n" },
		{ "hist:keys=u64.exp=3", "{ u64: ~ 4097-4466 } hitcount:          1\n" },
		{ "hist:keys=u64.exp=0", "{ u64: ~ 4097-8192 } hitcount:          1\n" },
		{ "hist:keys=u64.sym",
		  "{ u64: [1044] first_function                                "
		  "} hitcount:          1\n" },
		{ "hist:keys=u64.sym-offset",
		  "{ u64: [1044] first_function+0x44/0x100              "
		  "                 } hitcount:          1\n" },
		{ "hist:keys=s32.syscall",
		  "{ s32: sys_write                     [  1] } hitcount:          1\n" },
		{ "hist:keys=u64.syscall",
		  "{ u64: unknown_syscall               [4164] } hitcount:          1\n" },
		{ "hist:keys=common_pid.execname",
		  "{ common_pid: tester          [        42] } hitcount:          1\n" },
		/* Of its address */
		{ "hist:keys=fixed.log2", "{ fixed: ~ 2^64 } hitcount:          1\n" },
		{ "hist:keys=dyn.log2", "{ dyn: ~ 2^64 } hitcount:          1\n" },
		{ "hist:keys=fixed",
		  "{ fixed:                                                    } "
		  "hitcount:          1\n" },
		{ "hist:keys=dyn", "{ dyn: dynamic                                            } "
				   "hitcount:          1\n" },
		{ "hist:keys=rel", "{ rel: relative                                           } "
				   "hitcount:          1\n" },
		{ "hist:keys=cpu", "{ cpu:          0 } hitcount:          1\n" },
		{ "hist:keys=common_cpu", "{ common_cpu:          0 } hitcount:          1\n" },
		{ "hist:keys=common_timestamp",
		  "{ common_timestamp:       1000 } hitcount:          1\n" },
		{ "hist:keys=common_timestamp.usecs",
		  "{ common_timestamp:          1 } hitcount:          1\n" },
		{ "hist:keys=s32:vals=u64.hex",
		  "{ s32:          1 } hitcount:          1  u64:       1044\n" },
		{ "hist:keys=s32:vals=u64:nohitcount", "{ s32:          1 }  u64:       4164\n" },
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		assert_int_equal(command(f->all, rows[i][0]), 0);
		hit_all(f, 1, 0x1044);
		assert_entries(f->all, rows[i][1]);
		event_file_trigger_truncate(top_file(f->all));
	}
}

static void values_are_smallest_largest_and_average(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(command(f->all, "hist:keys=common_pid:vals=u64.min,u64.max"), 0);
	assert_int_equal(command(f->all, "hist:keys=common_cpu:vals=s32.min,s32.max"), 0);
	assert_int_equal(command(f->all, "hist:keys=s32:vals=u64.avg,u64:sort=u64.avg.descending"),
			 0);
	hit_all(f, -7, 5);
	hit_all(f, -7, ~0ull);
	hit_all(f, 3, 10);
	hit_all(f, 3, 11);
	assert_entries(f->all,
		       "{ common_pid:         42 } hitcount:          4  u64 (min):          5"
		       "  u64 (max): 18446744073709551615\n"
		       "{ common_cpu:          0 } hitcount:          4  s32 (min):         -7"
		       "  s32 (max):          3\n"
		       "{ s32:          3 } hitcount:          2  u64 (avg):         10"
		       "  u64:         21\n"
		       "{ s32: 18446744073709551609 } hitcount:          2  u64 (avg):          2"
		       "  u64:          4\n");
}

static void percents_and_graphs_are_of_all_entries(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(command(f->all, "hist:keys=s32:vals=u64.percent,u64.graph"), 0);
	hit_all(f, 1, 100);
	hit_all(f, 2, 300);
	assert_entries(f->all, "{ s32:          1 } hitcount:          1  u64 (%):  25.00  u64: "
			       "######              \n"
			       "{ s32:          2 } hitcount:          1  u64 (%):  75.00  u64: "
			       "####################\n");
}

static void percentiles_are_the_ranges_that_have_them(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(command(f->all, "hist:keys=u64.exp=3:sort=u64:pct=50,99.0,99.9"), 0);
	for (unsigned int i = 1; i <= 1000; i++)
		hit_all(f, 1, i <= 500 ? 100 : i <= 990 ? 1000 : 50000);
	assert_prints(hist_print(top_file(f->all), out),
		      "# event histogram\n#\n# trigger info: "
		      "hist:keys=u64.exp=3:vals=hitcount:sort=u64.exp=3:size=2048:pct=50,99.0,99.9 "
		      "[active]\n#\n\n"
		      "{ u64: ~ 99-107 } hitcount:        500\n"
		      "{ u64: ~ 940-1024 } hitcount:        490\n"
		      "{ u64: ~ 46341-50535 } hitcount:         10\n"
		      "\nTotals:\n    Hits: 1000\n    Entries: 3\n    Dropped: 0\n"
		      "\nPercentiles of u64, in ranges of 9.1 %:\n"
		      "    50%: ~ 99-107 99%: ~ 940-1024 99.9%: ~ 46341-50535\n");
}

static void percentiles_of_powers_of_two_are_ranges(void **state)
{
	struct fixture *f = *state;
	char *text;

	assert_int_equal(command(f->all, "hist:keys=u64.log2:pct=50,100"), 0);
	for (uint64_t v = 5; v <= 8; v++)
		hit_all(f, 1, v);
	hit_all(f, 1, 100);
	text = printed(hist_print(top_file(f->all), out));
	assert_non_null(strstr(text, "\nPercentiles of u64, in ranges of 100 %:\n"
				     "    50%: ~ 5-8 100%: ~ 65-128\n"));
	free(text);
}

/* A percentile for each value of the other keys, whatever the order of the entries. */
static void percentiles_are_of_each_group(void **state)
{
	struct fixture *f = *state;
	char *text;

	assert_int_equal(command(f->all, "hist:keys=u64,s32:pct=50,100"), 0);
	for (int i = 1; i <= 5; i++)
		hit_all(f, 2, 100 - (uint64_t)i);
	hit_all(f, 1, 7);
	text = printed(hist_print(top_file(f->all), out));
	assert_non_null(strstr(text, "\nPercentiles of s32:\n"
				     "    { u64:          7 } 50%: 1 100%: 1\n"));
	free(text);
	assert_int_equal(command(f->all, "!hist:keys=u64,s32"), 0);
	assert_int_equal(command(f->all, "hist:keys=u64.buckets=1,s32:pct=50,100"), 0);
	for (int i = 1; i <= 5; i++)
		hit_all(f, 2, 100 - (uint64_t)i);
	hit_all(f, 1, 7);
	text = printed(hist_print(top_file(f->all), out));
	assert_non_null(strstr(text, "\nPercentiles of u64, in ranges of 1:\n"
				     "    { s32:          1 } 50%: ~ 7-7 100%: ~ 7-7\n"
				     "    { s32:          2 } 50%: ~ 97-97 100%: ~ 99-99\n"));
	free(text);
}

static void stacks_are_symbols_line_by_line(void **state)
{
	struct fixture *f = *state;
	char *text;

	assert_int_equal(command(f->all, "hist:keys=stacktrace"), 0);
	hit_all(f, 1, 0);
	text = printed(hist_print(top_file(f->all), out));
	assert_non_null(strstr(text, "\n{ common_stacktrace:\n"
			       "         first_function+0x4/0x100\n"
			       "         second_function+0x8/0x100\n"
			       "         0x9999999\n"
			       "} hitcount:          1\n"));
	free(text);
}

/* Makes hits with stacks of 1 to `nr` functions. */
static void hit_deeper(struct fixture *f, uint32_t nr)
{
	uint64_t stack[70];
	struct all_record r;

	fixture_record(&r);
	for (uint32_t i = 0; i < nr; i++) {
		struct slot *slot = session_slot_get(f->session);
		struct hit h = { .record = &r, .size = sizeof(r), .time = 1000, .comm = "",
				 .stack = stack, .nr_stack = i + 1 };

		stack[i] = 0x1001 + i;
		hit(session_plane(f->session), slot, &h);
		session_slot_put(f->session, slot);
	}
}

static void a_key_with_depth_marks_what_is_deeper(void **state)
{
	struct fixture *f = *state;
	char *text;

	assert_int_equal(command(f->all, "hist:keys=common_stacktrace.depth=2"), 0);
	hit_deeper(f, 4);
	text = printed(hist_print(top_file(f->all), out));
	assert_non_null(strstr(text, "\n{ common_stacktrace:\n"
				     "         first_function+0x1/0x100\n"
				     "         first_function+0x2/0x100\n"
				     "         stack_is_cut\n"
				     "} hitcount:          2\n"));
	assert_non_null(strstr(text, "\n{ common_stacktrace:\n"
				     "         first_function+0x1/0x100\n"
				     "         first_function+0x2/0x100\n"
				     "} hitcount:          1\n"));
	assert_non_null(strstr(text, "    Hits: 4\n    Entries: 3\n"));
	free(text);
	text = printed(hist_json_print(top_file(f->all), out));
	assert_non_null(strstr(text, "\"depth\": 2, \"raw\": [4097, 4098, 87960930221824], "));
	assert_null(strstr(text, "\"cut\""));
	free(text);
}

static void the_deepest_key_has_63_functions(void **state)
{
	struct fixture *f = *state;
	char *text;

	assert_int_equal(command(f->all, "hist:keys=dyn,common_stacktrace.depth=63"), 0);
	hit_deeper(f, 66);
	text = printed(hist_print(top_file(f->all), out));
	assert_non_null(strstr(text, "+0x3f/0x100\n}"));
	assert_non_null(strstr(text, "+0x3f/0x100\n         stack_is_cut\n} hitcount:          3"));
	assert_null(strstr(text, "+0x40/0x100"));
	assert_non_null(strstr(text, "    Hits: 66\n    Entries: 64\n    Dropped: 0\n"));
	free(text);
}

/* The kernel's own key has no room for a mark. The file looks as the kernel's. */
static void stacks_that_a_key_cuts_are_counted(void **state)
{
	struct fixture *f = *state;
	struct hist_entries totals;
	char *text;

	assert_int_equal(command(f->all, "hist:keys=common_stacktrace"), 0);
	hit_deeper(f, 19);
	hist_totals(hist_of(list_entry(top_file(f->all)->triggers.next, struct trigger, node)),
		    &totals);
	assert_int_equal(totals.cuts, 3);
	text = printed(hist_print(top_file(f->all), out));
	assert_null(strstr(text, "cut"));
	assert_non_null(strstr(text, "    Hits: 19\n    Entries: 16\n    Dropped: 0\n"));
	free(text);
	text = printed(hist_json_print(top_file(f->all), out));
	assert_non_null(strstr(text, "\"dropped\": 0, \"cut\": 3}}"));
	free(text);
}

static void several_hists_are_printed_one_after_the_other(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(command(f->all, "hist:keys=s32"), 0);
	assert_int_equal(command(f->all, "hist:keys=u64 if s32 == 1"), 0);
	hit_all(f, 1, 3);
	hit_all(f, 2, 3);
	assert_prints(hist_print(top_file(f->all), out),
		      "# event histogram\n#\n# trigger info: "
		      "hist:keys=s32:vals=hitcount:sort=hitcount:size=2048 [active]\n#\n\n"
		      "{ s32:          1 } hitcount:          1\n{ s32:          2 } hitcount:     "
		      "     1\n"
		      "\nTotals:\n    Hits: 2\n    Entries: 2\n    Dropped: 0\n"
		      "\n\n# event histogram\n#\n"
		      "# trigger info: hist:keys=u64:vals=hitcount:sort=hitcount:size=2048 if s32 "
		      "== 1 [active]\n#\n\n"
		      "{ u64:          3 } hitcount:          1\n"
		      "\nTotals:\n    Hits: 1\n    Entries: 1\n    Dropped: 0\n");
}

static void count_step(void *arg)
{
	++*(unsigned int *)arg;
}

/* If the server prints it itself, programs that wait see the progress. */
static void reading_and_printing_tell_progress(void **state)
{
	enum { ENTRIES = 100 };
	struct fixture *f = *state;
	unsigned int steps = 0;

	assert_int_equal(command(f->all, "hist:keys=s32"), 0);
	for (int i = 0; i < ENTRIES; i++)
		hit_all(f, i, 0);
	f->model->step = count_step;
	f->model->catch_up_arg = &steps;
	free(printed(hist_print(top_file(f->all), out)));
	assert_int_equal(steps, 2 * ENTRIES);
	free(printed(hist_json_print(top_file(f->all), out)));
	assert_int_equal(steps, 4 * ENTRIES);
	f->model->step = NULL;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(entries_are_sorted_by_hitcount_ties_by_key,
						fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(sort_keys_apply_in_order_each_way, fixture_setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(values_may_be_sorted_by, fixture_setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(system_calls_have_the_names_of_their_events,
						fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(modifiers_print_as_the_kernel_prints_them,
						fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(values_are_smallest_largest_and_average,
						fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(percents_and_graphs_are_of_all_entries,
						fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(percentiles_are_the_ranges_that_have_them,
						fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(percentiles_of_powers_of_two_are_ranges,
						fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(percentiles_are_of_each_group, fixture_setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(stacks_are_symbols_line_by_line, fixture_setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(a_key_with_depth_marks_what_is_deeper,
						fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(the_deepest_key_has_63_functions, fixture_setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(stacks_that_a_key_cuts_are_counted, fixture_setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(several_hists_are_printed_one_after_the_other,
						fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(reading_and_printing_tell_progress, fixture_setup,
						fixture_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
