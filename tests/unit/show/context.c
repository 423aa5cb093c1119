/* SPDX-License-Identifier: MIT */
/*
 * context.c - headers, columns, time, losses
 */
#include "show_fixture.h"

#define ART										\
	"#                                _-----=> irqs-off/BH-disabled\n"		\
	"#                               / _----=> need-resched\n"			\
	"#                              | / _---=> hardirq/softirq\n"			\
	"#                              || / _--=> preempt-depth\n"			\
	"#                              ||| / _-=> migrate-disable\n"			\
	"#                              |||| /     delay\n"				\
	"#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION\n"			\
	"#              | |         |   |||||     |         |\n"

static const struct record task = { .type = 100, .pid = 42 };

static void header_of_an_empty_trace(void **state)
{
	assert_string_equal(
		shown(*state, 0, -1),
		"# tracer: nop\n#\n# entries-in-buffer/entries-written: 0/0   #P:2\n#\n" ART);
}

static void header_with_thread_groups(void **state)
{
	option(*state, OPTION_RECORD_TGID, true);
	assert_string_equal(shown(*state, 0, -1),
		"# tracer: nop\n#\n# entries-in-buffer/entries-written: 0/0   #P:2\n#\n"
		"#                                          _-----=> irqs-off/BH-disabled\n"
		"#                                         / _----=> need-resched\n"
		"#                                        | / _---=> hardirq/softirq\n"
		"#                                        || / _--=> preempt-depth\n"
		"#                                        ||| / _-=> migrate-disable\n"
		"#                                        |||| /     delay\n"
		"#           TASK-PID       TGID    CPU#  |||||  TIMESTAMP  FUNCTION\n"
		"#              | |           |       |   |||||     |         |\n");
}

static void header_without_irq_info(void **state)
{
	option(*state, OPTION_IRQ_INFO, false);
	assert_string_equal(shown(*state, 0, -1),
		"# tracer: nop\n#\n# entries-in-buffer/entries-written: 0/0   #P:2\n#\n"
		"#           TASK-PID     CPU#     TIMESTAMP  FUNCTION\n"
		"#              | |         |         |         |\n");
}

static void header_without_context_is_short(void **state)
{
	option(*state, OPTION_CONTEXT_INFO, false);
	assert_string_equal(shown(*state, 0, -1), "# tracer: nop\n#\n");
}

static void latency_format_says_nothing_of_an_empty_buffer(void **state)
{
	option(*state, OPTION_LATENCY_FORMAT, true);
	assert_string_equal(shown(*state, 0, -1), "# tracer: nop\n#\n");
}

static void empty_snapshot_prints_help(void **state)
{
	const char *text = shown(*state, 1, -1);

	assert_non_null(strstr(
		text, "# tracer: nop\n#\n#\n# * Snapshot is freed *\n#\n# Snapshot commands:\n"
		      "# echo 0 > snapshot : Clears and frees snapshot buffer\n"));
	text = shown(*state, 1, 0);
	assert_non_null(strstr(text, "# echo 0 > snapshot : Invalid for per_cpu snapshot file.\n"));
}

static void snapshot_help_tells_that_it_is_allocated(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(instance_snapshot_alloc(f->top), 0);
	assert_non_null(strstr(shown(f, 1, -1), "# * Snapshot is allocated *\n"));
}

static void records_of_all_cpus_in_order_of_time(void **state)
{
	struct fixture *f = *state;
	struct record r = task;

	put32(&r, 8, 1);
	fixture_write(f, &r, 24, 1, 1000000);
	put32(&r, 8, 2);
	fixture_write(f, &r, 24, 0, 2000499);
	put32(&r, 8, 3);
	fixture_write(f, &r, 24, 1, 2000500);
	assert_string_equal(shown(f, 0, -1),
		"# tracer: nop\n#\n# entries-in-buffer/entries-written: 3/3   #P:2\n#\n" ART
		"            task-42      [001] .....     0.001000: plain: a=1 b=0\n"
		"            task-42      [000] .....     0.002000: plain: a=2 b=0\n"
		"            task-42      [001] .....     0.002001: plain: a=3 b=0\n");
}

static void one_cpu_alone(void **state)
{
	struct fixture *f = *state;
	const char *text;

	fixture_write(f, &task, 24, 1, 1000000);
	fixture_write(f, &task, 24, 0, 2000000);
	text = shown(f, 0, 0);
	assert_non_null(strstr(text, "[000]"));
	assert_null(strstr(text, "[001]"));
	assert_non_null(strstr(text, "entries-written: 2/2"));
}

static void latency_format_marks_delays(void **state)
{
	struct fixture *f = *state;
	const char *text;
	size_t i;
	static const uint64_t times[] = { 0, 10000, 21000, 122000, 1123000,
					 11124000, 111125000, 1111126000, 2111127000 };

	option(f, OPTION_LATENCY_FORMAT, true);
	for (i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		fixture_write(f, &task, 24, 0, times[i] + 1000000);
	text = strstr(shown(f, 0, -1), "    task-42");
	assert_string_equal(text,
		"    task-42        0..... 1000us : plain: a=0 b=0\n"
		"    task-42        0..... 1010us+: plain: a=0 b=0\n"
		"    task-42        0..... 1021us!: plain: a=0 b=0\n"
		"    task-42        0..... 1122us#: plain: a=0 b=0\n"
		"    task-42        0..... 2123us*: plain: a=0 b=0\n"
		"    task-42        0..... 12124us@: plain: a=0 b=0\n"
		"    task-42        0..... 112125us$: plain: a=0 b=0\n"
		"    task-42        0..... 1112126us$: plain: a=0 b=0\n"
		"    task-42        0..... 2112127us : plain: a=0 b=0\n");
}

static void verbose_latency_format(void **state)
{
	struct fixture *f = *state;
	struct record r = task;

	option(f, OPTION_LATENCY_FORMAT, true);
	option(f, OPTION_VERBOSE, true);
	r.flags = 9;
	r.preempt_count = 0x12;
	fixture_write(f, &r, 24, 1, 1234567000);
	fixture_write(f, &r, 24, 1, 1236000000);
	assert_non_null(strstr(shown(f, 0, -1),
			       "            task      42   1 9 00000002 00000000 [0012d687] "
			       "1234.567ms (+1.433ms): plain: a=0 b=0\n"
			       "            task      42   1 9 00000002 00000001 [0012dc20] "
			       "1236.000ms (+0.000ms): plain: a=0 b=0\n"));
}

static void verbose_latency_format_of_trace_pipe_counts_from_1(void **state)
{
	struct fixture *f = *state;

	option(f, OPTION_LATENCY_FORMAT, true);
	option(f, OPTION_VERBOSE, true);
	assert_non_null(strstr(piped(f, &task, 24),
			       " 00000000 00000001 [0016e360] 1500.000ms (+0.000ms): plain:"));
}

static void latency_format_of_a_clock_that_counts(void **state)
{
	struct fixture *f = *state;

	atomic_store(&f->top->state->clock, CLOCK_ID_COUNTER);
	f->top->time_start = 90;
	option(f, OPTION_LATENCY_FORMAT, true);
	fixture_write(f, &task, 24, 1, 100);
	fixture_write(f, &task, 24, 1, 103);
	assert_non_null(
		strstr(shown(f, 0, -1), "    task-42        1.....   10: plain: a=0 b=0\n"));
	option(f, OPTION_VERBOSE, true);
	assert_non_null(strstr(shown(f, 0, -1), "            task      42   1 0 00000000 00000000 "
						"[0000000000000064] 10 (+3): plain: a=0 b=0\n"));
}

static void flags_by_letter(void **state)
{
	static const struct {
		uint8_t		flags, preempt_count;
		const char	*letters;
	} table[] = {
		{ 0x00, 0x00, "....." }, { 0x01, 0x00, "d...." }, { 0x80, 0x00, "b...." },
		{ 0x81, 0x00, "D...." }, { 0x02, 0x00, "X...." }, { 0x03, 0x00, "d...." },
		{ 0x04, 0x00, ".n..." }, { 0x20, 0x00, ".p..." }, { 0x24, 0x00, ".N..." },
		{ 0x08, 0x00, "..h.." }, { 0x10, 0x00, "..s.." }, { 0x18, 0x00, "..H.." },
		{ 0x40, 0x00, "..z.." }, { 0x48, 0x00, "..Z.." }, { 0x58, 0x00, "..Z.." },
		{ 0x00, 0x01, "...1." }, { 0x00, 0x0f, "...f." }, { 0x00, 0x10, "....1" },
		{ 0x00, 0xf3, "...3f" },
	};
	struct record r = task;
	char line[128];
	size_t i;

	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		r.flags = table[i].flags;
		r.preempt_count = table[i].preempt_count;
		snprintf(line, sizeof(line),
			 "            task-42      [001] %s     1.500000: plain: a=0 b=0\n",
			 table[i].letters);
		assert_string_equal(piped(*state, &r, 24), line);
	}
}

static void tasks_without_a_name(void **state)
{
	struct record r = task;

	r.pid = 0;
	assert_string_equal(piped(*state, &r, 24),
			    "          <idle>-0       [001] .....     1.500000: plain: a=0 b=0\n");
	r.pid = 1234567;
	assert_string_equal(piped(*state, &r, 24),
			    "           <...>-1234567 [001] .....     1.500000: plain: a=0 b=0\n");
}

static void thread_group_column(void **state)
{
	struct fixture *f = *state;

	option(f, OPTION_RECORD_TGID, true);
	assert_string_equal(
		piped(f, &task, 24),
		"            task-42      (-------) [001] .....     1.500000: plain: a=0 b=0\n");
	cmdlines_add_tgid(f->model->cmdlines, 42, 7);
	assert_string_equal(
		piped(f, &task, 24),
		"            task-42      (      7) [001] .....     1.500000: plain: a=0 b=0\n");
}

static void clocks_that_count_print_plain_numbers(void **state)
{
	struct fixture *f = *state;

	f->top->state->clock = CLOCK_ID_COUNTER;
	assert_string_equal(piped(f, &task, 24),
			    "            task-42      [001] .....   1500000000: plain: a=0 b=0\n");
	option(f, OPTION_LATENCY_FORMAT, true);
	assert_string_equal(piped(f, &task, 24),
			    "    task-42        1..... 1500000000: plain: a=0 b=0\n");
}

static void losses_stand_before_the_record(void **state)
{
	struct fixture *f = *state;

	f->lost = 17;
	assert_string_equal(piped(f, &task, 24),
			    "CPU:1 [LOST 17 EVENTS]\n"
			    "            task-42      [001] .....     1.500000: plain: a=0 b=0\n");
}

static void a_cpu_that_comes_late_is_announced_after_overruns(void **state)
{
	struct fixture *f = *state;
	const char *text;
	int i;

	for (i = 0; i < 1000; i++)
		fixture_write(f, &task, 24, 0, 1000000u + (uint64_t)i);
	fixture_write(f, &task, 24, 1, 2000000);
	text = shown(f, 0, -1);
	assert_non_null(strstr(text, "##### CPU 1 buffer started ####\n"));
	assert_null(strstr(text, "##### CPU 0 buffer started ####\n"));
	option(f, OPTION_ANNOTATE, false);
	assert_null(strstr(shown(f, 0, -1), "buffer started"));
}

static void raw_hex_and_binary(void **state)
{
	struct fixture *f = *state;

	option(f, OPTION_RAW, true);
	assert_string_equal(piped(f, &task, 24), "42 1 1500000000 type: 100\n");
	option(f, OPTION_HEX, true);
	assert_string_equal(piped(f, &task, 24),
			    "0000002a 00000001 0000000059682f00 type: 100\n\n");
	option(f, OPTION_BIN, true);
	assert_memory_equal(piped(f, &task, 24),
			    "\x2a\0\0\0\1\0\0\0\0\x2f\x68\x59\0\0\0\0type: 100\n", 26);
	option(f, OPTION_CONTEXT_INFO, false);
	assert_string_equal(piped(f, &task, 24), "type: 100\n");
}

static void unknown_types(void **state)
{
	struct fixture *f = *state;
	struct record r = { .type = 999, .pid = 42 };

	assert_string_equal(
		piped(f, &r, 0),
		"            task-42      [001] .....     1.500000: Unknown type 999\n");
	option(f, OPTION_RAW, true);
	assert_string_equal(piped(f, &r, 0), "42 1 1500000000 999 ?\n");
}

static void records_cut_short_read_as_zero(void **state)
{
	struct record r = { .type = 100, .pid = 42, .body = { 1, 1, 1, 1 } };

	assert_string_equal(piped(*state, &r, 3),
			    "            task-42      [001] .....     1.500000: plain: a=0 b=0\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
		TEST(header_of_an_empty_trace),
		TEST(header_with_thread_groups),
		TEST(header_without_irq_info),
		TEST(header_without_context_is_short),
		TEST(latency_format_says_nothing_of_an_empty_buffer),
		TEST(empty_snapshot_prints_help),
		TEST(snapshot_help_tells_that_it_is_allocated),
		TEST(records_of_all_cpus_in_order_of_time),
		TEST(one_cpu_alone),
		TEST(latency_format_marks_delays),
		TEST(verbose_latency_format),
		TEST(verbose_latency_format_of_trace_pipe_counts_from_1),
		TEST(latency_format_of_a_clock_that_counts),
		TEST(flags_by_letter),
		TEST(tasks_without_a_name),
		TEST(thread_group_column),
		TEST(clocks_that_count_print_plain_numbers),
		TEST(losses_stand_before_the_record),
		TEST(a_cpu_that_comes_late_is_announced_after_overruns),
		TEST(raw_hex_and_binary),
		TEST(unknown_types),
		TEST(records_cut_short_read_as_zero),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
