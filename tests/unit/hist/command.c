/* SPDX-License-Identifier: MIT */
/*
 * command.c - what hist commands mean, what `trigger` reads back, and all errors in commands
 *
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hist_fixture.h"

/* `trigger` shows defaults, the full words for abbreviations, and the usual order. */
static const char *const read_back[][2] = {
	{ "hist:keys=s32", "hist:keys=s32:vals=hitcount:sort=hitcount:size=2048" },
	{ "hist:key=s32", "hist:keys=s32:vals=hitcount:sort=hitcount:size=2048" },
	{ "hist:val=u64:key=s32",
	  "hist:keys=s32:vals=hitcount,u64:sort=hitcount:size=2048" },
	{ "hist:keys=s32:values=u64",
	  "hist:keys=s32:vals=hitcount,u64:sort=hitcount:size=2048" },
	/* As in Linux 6.12: without a name */
	{ "hist:keys=hitcount.log2",
	  "hist:keys=.log2:vals=hitcount:sort=hitcount:size=2048" },
	{ "hist:keys=s32,hitcount.buckets=8",
	  "hist:keys=s32,.buckets=8:vals=hitcount:sort=hitcount:size=2048" },
	{ "hist:keys=s32:vals=u64,hitcount",
	  "hist:keys=s32:vals=hitcount,u64:sort=hitcount:size=2048" },
	{ "hist:keys=s32:vals=u64,u32",
	  "hist:keys=s32:vals=hitcount,u64,u32:sort=hitcount:size=2048" },
	{ "hist:keys=s32,u32:sort=u32,s32.descending",
	  "hist:keys=s32,u32:vals=hitcount:sort=u32,s32.descending:size=2048" },
	{ "hist:keys=s32:sort=hitcount.ascending:size=1000",
	  "hist:keys=s32:vals=hitcount:sort=hitcount:size=1024" },
	{ "hist:keys=u64.hex,s32.log2,u32.buckets=5",
	  "hist:keys=u64.hex,s32.log2,u32.buckets=5:vals=hitcount:sort=hitcount:size="
	  "2048" },
	{ "hist:keys=u64.exp=3,s32.exp=0:sort=u64",
	  "hist:keys=u64.exp=3,s32.exp=0:vals=hitcount:sort=u64.exp=3:size=2048" },
	{ "hist:keys=u64:pct=50,99,99.9999:size=256",
	  "hist:keys=u64:vals=hitcount:sort=hitcount:size=256:pct=50,99,99.9999" },
	{ "hist:keys=u64:pct=99.0",
	  "hist:keys=u64:vals=hitcount:sort=hitcount:size=2048:pct=99.0" },
	/* As in Linux 6.12: a variable */
	{ "hist:keys=u64:pct=50",
	  "hist:keys=u64:vals=hitcount:pct=50:sort=hitcount:size=2048" },
	{ "hist:keys=ip.sym,u64.sym-offset",
	  "hist:keys=ip.sym,u64.sym-offset:vals=hitcount:sort=hitcount:size=2048" },
	{ "hist:keys=common_pid.execname,u64.syscall",
	  "hist:keys=common_pid.execname,u64.syscall:vals=hitcount:sort=hitcount:size="
	  "2048" },
	{ "hist:keys=cpu", "hist:keys=common_cpu:vals=hitcount:sort=hitcount:size=2048" },
	{ "hist:keys=stacktrace",
	  "hist:keys=common_stacktrace:vals=hitcount:sort=hitcount:size=2048" },
	{ "hist:keys=stacktrace.depth=0x10,s32:sort=s32",
	  "hist:keys=common_stacktrace.depth=16,s32:vals=hitcount:sort=s32:size=2048" },
	{ "hist:keys=common_timestamp",
	  "hist:keys=common_timestamp:vals=hitcount:sort=hitcount:size=2048:clock=global" },
	{ "hist:keys=common_timestamp.usecs:clock=mono",
	  "hist:keys=common_timestamp.usecs:vals=hitcount:sort=hitcount:size=2048:clock="
	  "mono" },
	{ "hist:keys=s32:vals=u64.percent,u32.graph",
	  "hist:keys=s32:vals=hitcount,u64.percent,u32.graph:sort=hitcount:size=2048" },
	{ "hist:keys=s32:vals=u64.min,u64.max:sort=u64.max.descending",
	  "hist:keys=s32:vals=hitcount,u64.min,u64.max:sort=u64.max.descending:size=2048" },
	{ "hist:keys=s32:vals=u64.avg,u64:sort=u64.avg,s32",
	  "hist:keys=s32:vals=hitcount,u64.avg,u64:sort=u64.avg,s32:size=2048" },
	{ "hist:keys=s32:vals=u64:NOHC",
	  "hist:keys=s32:vals=u64:sort=hitcount:size=2048:nohitcount" },
	{ "hist:keys=fixed,dyn",
	  "hist:keys=fixed,dyn:vals=hitcount:sort=hitcount:size=2048" },
	{ "hist:keys=s32 if u64 > 3",
	  "hist:keys=s32:vals=hitcount:sort=hitcount:size=2048 if u64 > 3" },
	{ "hist:keys=u64+u32", "hist:keys=u64+u32:vals=hitcount:sort=hitcount:size=2048" },
	{ "hist:keys=u64/8", "hist:keys=u64/8:vals=hitcount:sort=hitcount:size=2048" },
};

static void commands_read_back(void **state)
{
	struct fixture *f = *state;
	char expected[256];

	for (size_t i = 0; i < sizeof(read_back) / sizeof(*read_back); i++) {
		assert_int_equal(command(f->all, read_back[i][0]), 0);
		snprintf(expected, sizeof(expected), "%s [active]\n", read_back[i][1]);
		assert_triggers(f->all, expected);
		event_file_trigger_truncate(top_file(f->all));
	}
}

struct wrong {
	const char	*command;
	int		err;
	const char	*text;		/* NULL: nothing is logged */
	int		at;		/* column of the caret */
};

static const struct wrong wrong_commands[] = {
	{ "hist:", -EINVAL, NULL, 0 },
	{ "hist:vals=u64", -EINVAL, NULL, 0 },
	{ "hist:keys=", -EINVAL, "Empty assignment", 5 },
	{ "hist:keys=s32:nonsense", -EINVAL, NULL, 0 },
	{ "hist:keys=nope", -EINVAL, "Couldn't find field", 10 },
	{ "hist:keys=s32,nope", -EINVAL, "Couldn't find field", 14 },
	{ "hist:keys=s32:vals=nope", -EINVAL, "Couldn't find field", 19 },
	{ "hist:keys=s32.wrong", -EINVAL, "Invalid field modifier", 14 },
	{ "hist:keys=s32.percent", -EINVAL, "Invalid field modifier", 14 },
	{ "hist:keys=s32.execname", -EINVAL, "Invalid field modifier", 14 },
	{ "hist:keys=s32.buckets=0", -EINVAL, "Invalid field modifier", 22 },
	{ "hist:keys=s32.exp=9", -EINVAL, "Invalid field modifier", 18 },
	{ "hist:keys=s32.exp", -EINVAL, "Invalid field modifier", 14 },
	{ "hist:keys=s32.exp=", -EINVAL, "Invalid field modifier", 0 },
	{ "hist:keys=s32:vals=u64.exp=3", -EINVAL, "Invalid field modifier", 19 },
	{ "hist:keys=s32.min", -EINVAL, "Invalid field modifier", 14 },
	{ "hist:keys=s32:v=u64.max", -EINVAL, "Invalid field modifier", 20 },
	{ "hist:keys=s32:vals=u64.max+1", -EINVAL, "Invalid field modifier", 19 },
	{ "hist:keys=s32:vals=-(u64.avg)", -EINVAL, "Invalid field modifier", 21 },
	{ "hist:keys=s32:vals=hitcount.max", -EINVAL, "Invalid field modifier", 19 },
	{ "hist:keys=s32:vals=fixed.min", -EINVAL, "Invalid field modifier", 19 },
	{ "hist:keys=s32:vals=u64.maximum", -EINVAL, "Invalid field modifier", 23 },
	{ "hist:keys=s32:vals=u64.max:sort=u64.min", -EINVAL,
	  "Sort field must be a key or a val", 19 },
	{ "hist:keys=s32:vals=u64.max:sort=u64.max.up", -EINVAL, "Invalid sort modifier",
	  40 },
	{ "hist:keys=s32:pct=50,,99", -EINVAL, "Invalid percentile", 21 },
	{ "hist:keys=s32:pct=0.5,100.5", -EINVAL, "Invalid percentile", 22 },
	{ "hist:keys=s32:pct=50,101", -EINVAL, "Invalid percentile", 21 },
	{ "hist:keys=s32:pct=99.", -EINVAL, "Invalid percentile", 18 },
	{ "hist:keys=s32:pct=99.99999", -EINVAL, "Invalid percentile", 18 },
	{ "hist:keys=fixed:pct=50,99", -EINVAL, "Percentiles need a key that is a number",
	  20 },
	{ "hist:keys=s32.stacktrace", -EINVAL, "Invalid field modifier", 10 },
	{ "hist:keys=s32.depth=3", -EINVAL, "Invalid field modifier", 10 },
	{ "hist:keys=stack.depth=3", -EINVAL, "Couldn't find field", 10 },
	{ "hist:keys=common_stacktrace.depth", -EINVAL, "Invalid field modifier", 28 },
	{ "hist:keys=common_stacktrace.depth=0", -EINVAL, "Invalid field modifier", 34 },
	{ "hist:keys=common_stacktrace.depth=64", -EINVAL, "Invalid field modifier", 34 },
	{ "hist:keys=common_stacktrace.depth=63,common_stacktrace.depth=62", -EINVAL,
	  "The keys have too many functions", 37 },
	{ "hist:keys=s32:v=common_stacktrace.depth=9", -EINVAL, "Invalid field modifier",
	  40 },
	{ "hist:keys=s32:vals=u64.log2", -EINVAL, "Invalid field modifier", 19 },
	{ "hist:keys=s32:vals=u64.sym", -EINVAL, "Invalid field modifier", 19 },
	{ "hist:keys=s32:sort=nope", -EINVAL, "Sort field must be a key or a val", 19 },
	{ "hist:keys=s32:sort=u64", -EINVAL, "Sort field must be a key or a val", 19 },
	{ "hist:keys=s32:sort=,s32", -EINVAL, "Empty sort field", 14 },
	{ "hist:keys=s32,u64:vals=u32:sort=s32,u64,u32", -EINVAL,
	  "Too many sort fields (Max = 2)", 27 },
	{ "hist:keys=s32:sort=s32.upward", -EINVAL, "Invalid sort modifier", 23 },
	{ "hist:keys=s32:size=x", -EINVAL, NULL, 0 },
	{ "hist:keys=s32:nohitcount", -ENOENT,
	  "Non-hitcount value is required for 'nohitcount'", 0 },
	{ "hist:keys=s32:cont", -ENOENT,
	  "Can't clear or continue a nonexistent hist trigger", 0 },
	{ "hist:keys=s32:clear", -ENOENT,
	  "Can't clear or continue a nonexistent hist trigger", 0 },
	{ "hist:keys=u64/0", -EDOM, "Division by zero", 14 },
	{ "hist:keys=fixed+s32", -EINVAL, "String type can not be an operand in expression",
	  10 },
	{ "hist:keys=common_timestamp:clock=wrong", -EINVAL, "Couldn't set trace_clock",
	  33 },
};

static void wrong_commands_are_refused_with_the_place(void **state)
{
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(wrong_commands) / sizeof(*wrong_commands); i++) {
		const struct wrong *w = &wrong_commands[i];

		assert_refused(f, f->all, w->command, w->err, w->text, w->at);
		assert_triggers(f->all, "# Available triggers:\n"
				"# traceon traceoff snapshot stacktrace enable_event disable_event "
				"enable_hist disable_hist hist\n");
	}
}

static void the_same_hist_twice_is_refused(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(command(f->all, "hist:keys=s32"), 0);
	assert_refused(f, f->all, "hist:keys=s32", -EEXIST, "Hist trigger already exists", 0);
	assert_refused(f, f->all, "hist:key=s32:vals=hitcount", -EEXIST,
		       "Hist trigger already exists", 0);
	assert_int_equal(command(f->all, "hist:keys=s32 if u64 == 1"), 0);
	assert_int_equal(command(f->all, "hist:keys=s32:sort=s32"), 0);
	assert_triggers(f->all, "hist:keys=s32:vals=hitcount:sort=hitcount:size=2048 [active]\n"
			"hist:keys=s32:vals=hitcount:sort=hitcount:size=2048 if u64 == 1 [active]\n"
			"hist:keys=s32:vals=hitcount:sort=s32:size=2048 [active]\n");
}

static void a_mark_removes_the_one_that_matches(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(command(f->all, "hist:keys=s32"), 0);
	assert_int_equal(command(f->all, "hist:keys=s32 if u64 == 1"), 0);
	assert_int_equal(command(f->all, "!hist:keys=u64"), 0);
	assert_int_equal(command(f->all, "!hist:keys=s32"), 0);
	assert_triggers(
		f->all,
		"hist:keys=s32:vals=hitcount:sort=hitcount:size=2048 if u64 == 1 [active]\n");
}

static void pause_cont_and_clear_find_the_hist(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(command(f->all, "hist:keys=s32"), 0);
	hit_all(f, 1, 0);
	assert_int_equal(command(f->all, "hist:keys=s32:pause"), 0);
	assert_triggers(f->all, "hist:keys=s32:vals=hitcount:sort=hitcount:size=2048 [paused]\n");
	hit_all(f, 1, 0);
	assert_entries(f->all, "{ s32:          1 } hitcount:          1\n");
	assert_int_equal(command(f->all, "hist:keys=s32:continue"), 0);
	hit_all(f, 1, 0);
	assert_entries(f->all, "{ s32:          1 } hitcount:          2\n");
	assert_int_equal(command(f->all, "hist:keys=s32:clear"), 0);
	assert_entries(f->all, "");
	hit_all(f, 2, 0);
	assert_entries(f->all, "{ s32:          2 } hitcount:          1\n");
}

static void a_new_hist_may_begin_paused(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(command(f->all, "hist:keys=s32:pause"), 0);
	hit_all(f, 1, 0);
	assert_entries(f->all, "");
}

static void hist_debug_shows_the_fields(void **state)
{
	struct fixture *f = *state;
	char *text;

	assert_int_equal(command(f->all, "hist:keys=s32:vals=u64"), 0);
	text = printed(hist_debug_print(top_file(f->all), out));
	assert_non_null(strstr(
		text,
		"  n_vals: 2\n  n_keys: 1\n  n_fields: 3\n\n  val fields:\n\n"
		"    hist_data->fields[0]:\n      flags:\n        VAL: HIST_FIELD_FL_HITCOUNT\n"
		"      type: u64\n      size: 8\n      is_signed: 0\n\n"
		"    hist_data->fields[1]:\n      flags:\n        VAL: normal u64 value\n"
		"      ftrace_event_field name: u64\n      type: u64\n      size: 8\n      "
		"is_signed: 0\n\n"
		"  key fields:\n\n    hist_data->fields[2]:\n      flags:\n        "
		"HIST_FIELD_FL_KEY\n"
		"      ftrace_event_field name: s32\n      type: int\n      size: 8\n"
		"      is_signed: 1\n"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(commands_read_back, fixture_setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(wrong_commands_are_refused_with_the_place,
						fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(the_same_hist_twice_is_refused, fixture_setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(a_mark_removes_the_one_that_matches, fixture_setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(pause_cont_and_clear_find_the_hist, fixture_setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(a_new_hist_may_begin_paused, fixture_setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(hist_debug_shows_the_fields, fixture_setup,
						fixture_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
