/* SPDX-License-Identifier: MIT */
/*
 * running.c - which sections programs shall watch for, and what the server does with their reports.
 * The test plays the program.
 */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
#include "../format_text.h"
#include "model/symbols.h"
#include "plane/plane.h"
#include "plane/ring/ring.h"
#include "tree_fixture.h"

enum { FIRST = 100, FUNCTION = 1, CPUS = 2, THREAD = 3999999, OTHER = 3999998 };

#define TEXT 0xffffffff81000000ull

static struct fixture *fixture;
static struct slot *slot;

static int setup(void **state)
{
	static const char function[] =
		"name: function\nID: 1\n" COMMON FIELD("unsigned long ip", 8, 8, 0)
			FIELD("unsigned long parent_ip", 16, 8, 0) "\nprint fmt: \"\"\n";
	static const char stack[] = "name: kernel_stack\nID: 4\n" COMMON FIELD("int size", 8, 4, 1)
		FIELD("unsigned long caller[8]", 16, 64, 0) "\nprint fmt: \"\"\n";
	int err = fixture_setup(state);

	fixture = *state;
	assert_int_equal(model_add_event(fixture->model, "ftrace", stack, strlen(stack), NULL), 0);
	assert_int_equal(
		model_add_event(fixture->model, "ftrace", function, strlen(function), NULL), 0);
	symbols_add(fixture->model->symbols, TEXT + 0x100, 't', "lock", NULL);
	symbols_add(fixture->model->symbols, TEXT + 0x200, 't', "work", NULL);
	symbols_add(fixture->model->symbols, TEXT + 0x300, 't', "end", NULL);
	slot = session_slot_get(fixture->session);
	assert_non_null(slot);
	return err;
}

static struct section_control *control(void)
{
	return &session_header(fixture->session)->sections;
}

static struct section_log *log_of(unsigned int watch)
{
	struct program_tables *t = session_data(
		fixture->session, session_header(fixture->session)->programs, sizeof(*t));

	return &t->sections[watch];
}

static void record(int pid, uint32_t cpu, uint64_t time)
{
	struct {
		struct record_common common;
		int32_t	pid;
	} r = { { FIRST, 0, 1, pid }, pid };
	static const uint64_t bytes[CPUS] = { 65536, 65536 };
	data_ref buffer = instance_buffer(fixture->model->top, 0);

	/* With the writer of a source, the test can write into the ring of any CPU. */
	assert_int_equal(buffer_add_set(fixture->session, buffer, 1, bytes), 0);
	assert_int_equal(ring_write(session_plane(fixture->session), slot, buffer, 1, cpu, time, &r,
				    sizeof(r)),
			 0);
}

static uint32_t generation(void)
{
	return control()->watch[SECTION_WATCH_CRITICAL].generation;
}

/* Writes report number `nr`, of a section from `start` to `end`, as an agent does. */
static struct section_report *report(uint32_t nr, uint64_t start, uint64_t end)
{
	struct section_log *log = log_of(SECTION_WATCH_CRITICAL);
	struct section_report *r = &log->reports[nr % SECTION_REPORTS];
	_Atomic uint32_t *word = &fixture->model->top->state->live;
	uint32_t live = *word;

	const struct section_report as = {
		.start = { .time = start,
			  .ip = TEXT + 0x110,
			  .parent = TEXT + 0x210,
			  .pid = THREAD,
			  .locks = 1 },
		.end = { .time = end,
			.ip = TEXT + 0x120,
			.parent = TEXT + 0x220,
			.pid = THREAD,
			.cpu = 1,
			.locks = 1 },
		.buffer = live & 1,
		.comm = "some-thread",
		.policy = 1,
		.rt_prio = 7,
		.uid = 1234,
		.nr_stack = 1,
		.stack = { TEXT + 0x220 },
	};

	r->state = 1;
	/* The server may read meanwhile. It does not use the report, because of `state`. */
	for (size_t i = 1; i < sizeof(as) / sizeof(uint64_t); i++)
		__atomic_store_n((uint64_t *)r + i, ((const uint64_t *)&as)[i], __ATOMIC_RELAXED);
	atomic_store_explicit(&r->state, section_state(nr, generation()), memory_order_release);
	atomic_store_explicit(word, live_make(nr, nr, ~live), memory_order_release);
	log->longest = section_longest(end - start, nr);
	return r;
}

static char *trace(void)
{
	return fixture_read(fixture, "trace");
}

static void take(void)
{
	fixture->model->take_sections(fixture->model);
}

static void expect_max(const char *usecs)
{
	take();
	assert_file(fixture, "tracing_max_latency", usecs);
}

static void programs_are_told_what_to_watch_for(void **state)
{
	static const struct {
		const char *tracer;
		uint32_t kinds;
	} of[] = {
		{ "irqsoff", SECTION_IRQS | SECTION_OWN },
		{ "preemptoff", SECTION_PREEMPT | SECTION_OWN },
		{ "preemptirqsoff", SECTION_CRITICAL },
		{ "nop", 0 },
	};

	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		uint32_t before = control()->watch[SECTION_WATCH_CRITICAL].generation;

		assert_taken(fixture, "current_tracer", of[i].tracer);
		assert_int_equal(control()->kinds, of[i].kinds);
		assert_int_not_equal(control()->watch[SECTION_WATCH_CRITICAL].generation, before);
	}
	assert_null(fixture->model->take_sections);
}

static void limits_reach_programs(void **state)
{
	assert_taken(fixture, "current_tracer", "irqsoff");
	assert_taken(fixture, "tracing_max_latency", "77");
	assert_int_equal(log_of(SECTION_WATCH_CRITICAL)->longest >> 16, 77000);
	assert_taken(fixture, "tracing_thresh", "5");
	assert_int_equal(control()->watch[SECTION_WATCH_CRITICAL].thresh, 5000);
}

static void an_instance_is_named(void **state)
{
	struct instance *inst;

	assert_int_equal(instance_create(fixture->model, "x", &inst), 0);
	assert_taken(fixture, "instances/x/current_tracer", "preemptoff");
	assert_int_equal(control()->watch[SECTION_WATCH_CRITICAL].instance, inst->index);
	assert_int_equal(fixture_write(fixture, "current_tracer", "irqsoff"), -EBUSY);
	assert_int_equal(control()->kinds, SECTION_PREEMPT | SECTION_OWN);
}

static void a_report_is_a_section_of_the_threads_records(void **state)
{
	char wanted[128];
	char *text;

	assert_taken(fixture, "current_tracer", "preemptoff");
	record(THREAD, 0, 900);		/* before the section */
	record(THREAD, 0, 2000);
	record(OTHER, 0, 3000);
	record(THREAD, 1, 4000);	/* the thread has migrated */
	report(1, 1000, 31000);
	record(THREAD, 1, 5000);	/* not in the buffer of the section */
	text = trace();
	assert_non_null(strstr(text, "# latency: 30 us, #5/5, CPU#1 |"));
	snprintf(wanted, sizeof(wanted),
		 "| task: some-thread-%d (uid:1234 nice:0 policy:1 rt_prio:7)\n", THREAD);
	assert_non_null(strstr(text, wanted));
	assert_non_null(strstr(text, "#  => started at: work\n#  => ended at:   work\n"));
	assert_non_null(strstr(text, " 0...1.    0us : lock <-work\n"));
	assert_non_null(strstr(text, "1us : first: pid=3999999\n"));
	assert_non_null(strstr(text, "3us+: first: pid=3999999\n"));
	assert_null(strstr(text, "3999998"));
	assert_non_null(strstr(text, " 1...1.   30us : lock <-work\n"));
	assert_non_null(strstr(text, "30us : <stack trace>\n => work\n"));
	free(text);
	assert_file(fixture, "tracing_max_latency", "30\n");
}

/* The reports before are overwritten. */
static struct section_report *after_many(uint32_t nr)
{
	struct section_log *log = log_of(SECTION_WATCH_CRITICAL);

	memset(log->reports, 0, sizeof(log->reports));
	return report(nr, 200000, 270000);
}

static void the_newest_of_several_is_taken(void **state)
{
	assert_taken(fixture, "current_tracer", "irqsoff");
	report(1, 1000, 11000);
	report(2, 20000, 45000);
	expect_max("25\n");
	report(2 + SECTION_REPORTS, 100000, 160000);
	expect_max("60\n");
	for (uint32_t nr = 0x1800000; nr <= SECTION_NUMBER; nr += 0x1800000)
		after_many(nr)->end.pid = 0, take();
	after_many(3);		/* the numbers have wrapped around */
	expect_max("70\n");
}

static void a_shorter_one_is_none(void **state)
{
	assert_taken(fixture, "current_tracer", "irqsoff");
	report(1, 1000, 11000);
	expect_max("10\n");
	report(2, 20000, 25000);
	expect_max("10\n");
	assert_taken(fixture, "tracing_thresh", "1");
	report(3, 30000, 33000);
	expect_max("3\n");
	report(4, 40000, 40500);
	expect_max("3\n");
}

/* Only the report that is named is complete. Another one may be written just now. */
static void only_the_named_one_is_looked_at(void **state)
{
	struct section_report *r;

	assert_taken(fixture, "current_tracer", "irqsoff");
	report(1, 1000, 11000);
	r = report(2, 20000, 50000);
	r->state = section_state(2, generation()) | 1;
	fixture->model->top->state->live = live_make(1, 1, 1);
	expect_max("10\n");
	r->state = section_state(2, generation());
	expect_max("10\n");
	fixture->model->top->state->live = live_make(2, 2, 0);
	expect_max("30\n");
}

static void nothing_is_reported_while_somebody_reads(void **state)
{
	const struct section_watch *watch = &control()->watch[SECTION_WATCH_CRITICAL];
	uint32_t before;

	assert_taken(fixture, "current_tracer", "irqsoff");
	report(1, 1000, 11000);
	before = watch->generation;
	instance_stop(fixture->model->top);
	assert_file(fixture, "tracing_max_latency", "10\n");
	assert_int_equal(watch->thresh, UINT64_MAX);
	instance_go_on(fixture->model->top);
	assert_int_equal(watch->thresh, 0);
	/* Sections that have begun continue. */
	assert_int_equal(watch->generation, before);
}

/*
 * trace is read in the middle of a section. If rings stopped, a part of the section would be lost.
 */
static void a_section_that_is_read_over_has_all_its_records(void **state)
{
	unsigned int nr = 0;
	char *text;

	assert_taken(fixture, "current_tracer", "irqsoff");
	record(THREAD, 1, 1500);
	instance_stop(fixture->model->top);
	record(THREAD, 1, 2000);
	instance_go_on(fixture->model->top);
	record(THREAD, 1, 2500);
	report(1, 1000, 11000);
	text = trace();
	for (const char *at = text; (at = strstr(at, ": first: pid=3999999\n")); at++)
		nr++;
	free(text);
	assert_int_equal(nr, 3);
	/* Without such a tracer there are no sections, so the rings stop. */
	assert_taken(fixture, "current_tracer", "nop");
	instance_stop(fixture->model->top);
	assert_false(fixture->model->top->sections_live);
	instance_go_on(fixture->model->top);
}

/*
 * Overruns the ring of a CPU: `nr` records, one each 10 ns from `time` on. Returns the next time.
 */
static uint64_t record_many(int pid, uint32_t cpu, uint64_t time, unsigned int nr)
{
	for (; nr--; time += 10)
		record(pid, cpu, time);
	return time;
}

enum { OVERRUN = 9000 };	/* more than a ring holds */

static void a_section_that_was_overrun_says_so(void **state)
{
	unsigned int shown, written;
	uint64_t end;
	char *text;

	assert_taken(fixture, "current_tracer", "irqsoff");
	end = record_many(THREAD, 1, 1500, OVERRUN);
	report(1, 1000, end);
	text = trace();
	assert_int_equal(sscanf(strstr(text, ", #"), ", #%u/%u,", &shown, &written), 2);
	assert_true(shown < OVERRUN);
	assert_int_equal(written, OVERRUN + 3);	/* its begin, its end and the stack */
	assert_non_null(strstr(text, "CPU:1 [LOST EVENTS]\n"));
	free(text);
}

static void what_was_overrun_before_a_section_is_none_of_it(void **state)
{
	uint64_t begin;
	char *text;

	assert_taken(fixture, "current_tracer", "irqsoff");
	begin = record_many(THREAD, 1, 1500, OVERRUN);
	record(THREAD, 1, begin + 500);
	report(1, begin, begin + 1000);
	text = trace();
	assert_non_null(strstr(text, ", #4/4, CPU#1"));
	assert_null(strstr(text, "LOST"));
	free(text);
}

static void what_a_cpu_lost_that_it_was_not_on_is_none_of_it(void **state)
{
	uint64_t end;
	char *text;

	assert_taken(fixture, "current_tracer", "irqsoff");
	record(THREAD, 1, 1500);
	end = record_many(OTHER, 0, 1600, OVERRUN);
	report(1, 1000, end)->start.cpu = 1;
	text = trace();
	assert_non_null(strstr(text, ", #4/4, CPU#1"));
	assert_null(strstr(text, "LOST"));
	free(text);
}

/* Later records of others have overwritten all its records. */
static void a_section_of_which_nothing_is_left_says_so(void **state)
{
	uint64_t end;
	char *text;

	assert_taken(fixture, "current_tracer", "irqsoff");
	record(THREAD, 1, 1500);
	end = record_many(OTHER, 1, 1600, OVERRUN);
	report(1, 1000, end);
	text = trace();
	assert_non_null(strstr(text, ", #3/"));
	assert_null(strstr(text, ", #3/3,"));
	assert_non_null(strstr(text, "CPU:1 [LOST EVENTS]\n"));
	free(text);
}

/* A section that has begun in between may have functions in the old form and in the new one. */
static void a_section_of_two_forms_is_dropped(void **state)
{
	uint32_t before;

	assert_taken(fixture, "current_tracer", "irqsoff");
	before = generation();
	assert_taken(fixture, "options/display-graph", "1");
	/* Sections are forgotten when the old form ends, and again when the new one begins. */
	assert_int_equal(generation(), before + 2);
}

/* A section that has begun before has only a part of its functions. */
static void a_section_with_a_part_of_its_functions_is_dropped(void **state)
{
	uint32_t before;

	assert_taken(fixture, "current_tracer", "irqsoff");
	before = generation();
	assert_taken(fixture, "options/function-trace", "0");
	assert_int_equal(generation(), before + 2);
	report(1, 1000, 12000)->state = section_state(1, before);
	expect_max("0\n");
	before = generation();
	assert_taken(fixture, "options/function-trace", "1");
	assert_int_equal(generation(), before + 2);
}

/* One change for the instance, one after it, and one when the functions are chosen. */
static void what_begins_before_functions_are_chosen_is_dropped(void **state)
{
	uint32_t before = generation();

	assert_taken(fixture, "current_tracer", "irqsoff");
	assert_int_equal(generation(), before + 3);
}

static void tracing_that_is_off_for_a_while_ends_no_section(void **state)
{
	uint32_t before;

	assert_taken(fixture, "current_tracer", "irqsoff");
	before = generation();
	report(1, 1000, 12000);
	assert_taken(fixture, "tracing_on", "0");
	expect_max("11\n");
	assert_taken(fixture, "tracing_on", "1");
	assert_int_equal(generation(), before);
}

static void display_graph_begins_anew_and_keeps_what_there_is(void **state)
{
	uint32_t before;
	char *text;

	assert_taken(fixture, "current_tracer", "preemptoff");
	before = generation();
	report(1, 1000, 31000);
	assert_taken(fixture, "options/display-graph", "1");
	assert_int_not_equal(generation(), before);
	assert_int_equal(log_of(SECTION_WATCH_CRITICAL)->longest, section_longest(0, 1));
	assert_file(fixture, "tracing_max_latency", "0\n");
	/* As in the kernel, the header has other columns, but the lines are those of functions. */
	text = trace();
	assert_non_null(strstr(text, "# latency: 30 us, #3/3, CPU#1 |"));
	assert_non_null(strstr(text, "#   REL TIME      CPU  TASK/PID       ||||     DURATION"));
	assert_non_null(strstr(text, " 0...1.    0us+: lock <-work\n"));
	free(text);
	report(2, 40000, 45000);
	expect_max("5\n");
}

static void what_was_written_counts_from_then_on(void **state)
{
	assert_taken(fixture, "current_tracer", "irqsoff");
	report(1, 1000, 11000)->state = section_state(1, generation() - 1);
	expect_max("0\n");
	report(2, 20000, 50000);
	assert_taken(fixture, "tracing_max_latency", "0");	/* takes report 2 first */
	expect_max("0\n");
	assert_int_equal(log_of(SECTION_WATCH_CRITICAL)->longest, section_longest(0, 2));
	report(3, 60000, 61000);
	expect_max("1\n");
	report(4, 70000, 90000);
	assert_taken(fixture, "tracing_thresh", "100");		/* takes report 4 first */
	expect_max("20\n");
	assert_int_equal(control()->watch[SECTION_WATCH_CRITICAL].thresh, 100000);
}

static void what_is_cleared_is_gone(void **state)
{
	char *text;

	assert_taken(fixture, "current_tracer", "preemptoff");
	record(THREAD, 0, 2000);
	report(1, 1000, 31000);
	assert_taken(fixture, "trace", "");
	assert_file(fixture, "trace", "# tracer: preemptoff\n#\n");
	assert_file(fixture, "tracing_max_latency", "30\n");
	record(THREAD, 0, 42000);
	report(2, 40000, 80000);
	text = trace();
	assert_non_null(strstr(text, "first: pid=3999999\n"));
	free(text);
}

static void nonsense_is_not_believed(void **state)
{
	assert_taken(fixture, "current_tracer", "irqsoff");
	for (uint32_t i = 1; i <= 8; i++) {
		struct section_report *r = report(i, 1000, 11000 * i);

		switch (i) {
		case 1: r->end.cpu = CPUS; break;
		case 2: r->start.cpu = UINT32_MAX; break;
		case 3: r->end.pid = 0; break;
		case 4: r->end.pid = UINT32_MAX; break;
		case 5: r->start.time = UINT64_MAX; break;
		case 6: r->nr_stack = SECTION_STACK + 1; break;
		case 7: r->buffer = 2; break;
		default: r->start.pid = 1u << 31; break;
		}
		expect_max("0\n");
	}
	/* The name has no end, and has newlines. */
	memset(report(9, 1000, 900000)->comm, '\n', LAYOUT_COMM_LEN);
	expect_max("899\n");
}

static void a_cpu_s_records_are_cleared(void **state)
{
	char *text;

	assert_taken(fixture, "current_tracer", "preemptoff");
	record(THREAD, 0, 2000);
	record(THREAD, 1, 4000);
	report(1, 1000, 31000);
	assert_taken(fixture, "per_cpu/cpu0/trace", "");
	text = trace();
	assert_non_null(strstr(text, "# latency: 30 us, #3/3, CPU#1 |"));
	assert_null(strstr(text, "1us : first"));
	assert_non_null(strstr(text, "3us+: first"));
	free(text);
	assert_taken(fixture, "per_cpu/cpu1/trace", "");
	assert_file(fixture, "trace", "# tracer: preemptoff\n#\n");
}

static void it_is_of_the_clock_that_it_was_recorded_with(void **state)
{
	assert_taken(fixture, "current_tracer", "preemptoff");
	report(1, 1000, 31000);
	expect_max("30\n");
	assert_taken(fixture, "trace_clock", "mono");
	assert_file(fixture, "trace", "# tracer: preemptoff\n#\n");
	report(2, 1000, 41000);
	expect_max("40\n");
	assert_taken(fixture, "buffer_subbuf_size_kb", "8");
	assert_file(fixture, "trace", "# tracer: preemptoff\n#\n");
}

static void the_next_server_has_it(void **state)
{
	char *text;

	assert_taken(fixture, "current_tracer", "preemptoff");
	record(THREAD, 0, 2000);
	report(1, 1000, 31000);
	fixture_new_server(fixture);
	text = trace();
	assert_non_null(strstr(text, "# latency: 30 us, #4/4, CPU#1 |"));
	assert_non_null(strstr(text, "first: pid=3999999\n"));
	free(text);
	assert_file(fixture, "tracing_max_latency", "30\n");
	report(2, 40000, 80000);
	expect_max("40\n");
}

/* ---- Many at a time ---- */

enum { BATCH = 50, TAKES = 300, FEW_US = 20 };

static _Atomic bool storm_ends;
static uint32_t storm_last, storm_skipped;

static uint64_t length_of(uint32_t nr)
{
	return 1 + nr % 900;
}

/*
 * A program with sections that are not shorter than the threshold. It sleeps now and then.
 */
static void *storm(void *arg)
{
	const struct section_watch *watch = &control()->watch[SECTION_WATCH_CRITICAL];

	for (uint32_t nr = 1; !storm_ends; nr++) {
		if (atomic_load_explicit(&watch->thresh, memory_order_relaxed) != 1000)
			storm_skipped++;
		report(nr, nr * 1000000ull, nr * 1000000ull + 1000 * length_of(nr));
		storm_last = nr;
		if (nr % BATCH == 0)
			usleep(FEW_US);
	}
	return NULL;
}

/*
 * Reports may come fast, whatever the server does meanwhile. The program may always report, and the
 * last section is shown.
 */
static void the_last_of_a_storm_is_there(void **state)
{
	char expected[64];
	pthread_t thread;
	char *text;

	assert_taken(fixture, "current_tracer", "preemptoff");
	assert_taken(fixture, "tracing_thresh", "1");
	assert_int_equal(pthread_create(&thread, NULL, storm, NULL), 0);
	for (int i = 0; i < TAKES; i++) {
		take();
		usleep(FEW_US);
	}
	storm_ends = true;
	pthread_join(thread, NULL);
	assert_int_equal(storm_skipped, 0);
	snprintf(expected, sizeof(expected), "# latency: %d us, ", (int)length_of(storm_last));
	text = trace();
	assert_non_null(strstr(text, expected));
	free(text);
	snprintf(expected, sizeof(expected), "%d\n", (int)length_of(storm_last));
	assert_file(fixture, "tracing_max_latency", expected);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(programs_are_told_what_to_watch_for),
		TEST(limits_reach_programs),
		TEST(an_instance_is_named),
		TEST(a_report_is_a_section_of_the_threads_records),
		TEST(the_newest_of_several_is_taken),
		TEST(a_shorter_one_is_none),
		TEST(only_the_named_one_is_looked_at),
		TEST(nothing_is_reported_while_somebody_reads),
		TEST(a_section_that_is_read_over_has_all_its_records),
		TEST(a_section_that_was_overrun_says_so),
		TEST(what_was_overrun_before_a_section_is_none_of_it),
		TEST(what_a_cpu_lost_that_it_was_not_on_is_none_of_it),
		TEST(a_section_of_which_nothing_is_left_says_so),
		TEST(a_section_of_two_forms_is_dropped),
		TEST(a_section_with_a_part_of_its_functions_is_dropped),
		TEST(what_begins_before_functions_are_chosen_is_dropped),
		TEST(tracing_that_is_off_for_a_while_ends_no_section),
		TEST(display_graph_begins_anew_and_keeps_what_there_is),
		TEST(what_was_written_counts_from_then_on),
		TEST(what_is_cleared_is_gone),
		TEST(a_cpu_s_records_are_cleared),
		TEST(it_is_of_the_clock_that_it_was_recorded_with),
		TEST(the_next_server_has_it),
		TEST(the_last_of_a_storm_is_there),
		TEST(nonsense_is_not_believed),
	};

	return cmocka_run_group_tests_name("running", tests, NULL, NULL);
}
