/* SPDX-License-Identifier: MIT */
/*
 * latency.c - which records of two CPUs are a section, and which section is shown
 */
#include "../format_text.h"
#include "model/symbols.h"
#include "plane/plane.h"
#include "show/show.h"
#include "tree_fixture.h"

#define TEXT 0xffffffff81000000ull
#define OFFSETS \
	FIELD("s32 caller_offs", 8, 4, 1) FIELD("s32 parent_offs", 12, 4, 1) "\nprint fmt: \"\"\n"
/* The fields of a switch from one task to another, and of a wakeup */
#define TASKS \
	FIELD("unsigned int prev_pid", 8, 4, 0) FIELD("unsigned int next_pid", 12, 4, 0) \
	FIELD("unsigned int next_cpu", 16, 4, 0) FIELD("unsigned char prev_prio", 20, 1, 0) \
	FIELD("unsigned char prev_state", 21, 1, 0) FIELD("unsigned char next_prio", 22, 1, 0) \
	FIELD("unsigned char next_state", 23, 1, 0) "\nprint fmt: \"\"\n"

enum {
	IRQ_ON = 201,
	IRQ_OFF,
	PREEMPT_ON,
	PREEMPT_OFF,
	IDLE,
	WAKEUP,
	SWITCH,
	FUNCTION = 1,
	CONTEXT = 2,
	WAKE_RECORD = 3
};
enum { IRQS = 1 };		/* common_flags */

static const struct {
	const char *system, *format;
} events[] = {
	{ "ftrace", "name: function\nID: 1\n" COMMON FIELD("unsigned long ip", 8, 8, 0)
			    FIELD("unsigned long parent_ip", 16, 8, 0) "\nprint fmt: \"\"\n" },
	{ "ftrace", "name: context_switch\nID: 2\n" COMMON TASKS },
	{ "ftrace", "name: wakeup\nID: 3\n" COMMON TASKS },
	{ "preemptirq", "name: irq_enable\nID: 201\n" COMMON OFFSETS },
	{ "preemptirq", "name: irq_disable\nID: 202\n" COMMON OFFSETS },
	{ "preemptirq", "name: preempt_enable\nID: 203\n" COMMON OFFSETS },
	{ "preemptirq", "name: preempt_disable\nID: 204\n" COMMON OFFSETS },
	{ "power",
	  "name: cpu_idle\nID: 205\n" COMMON FIELD("u32 state", 8, 4, 0) "\nprint fmt: \"\"\n" },
	{ "sched", "name: sched_wakeup\nID: 206\n" COMMON FIELD("char comm[16]", 8, 16, 0)
			   FIELD("pid_t pid", 24, 4, 1) FIELD("int prio", 28, 4, 1)
				   FIELD("int target_cpu", 32, 4, 1) "\nprint fmt: \"\"\n" },
	{ "sched",
	  "name: sched_switch\nID: 207\n" COMMON FIELD("char prev_comm[16]", 8, 16, 0)
		  FIELD("pid_t prev_pid", 24, 4, 1) FIELD("int prev_prio", 28, 4, 1)
			  FIELD("long prev_state", 32, 8, 1) FIELD("char next_comm[16]", 40, 16, 0)
				  FIELD("pid_t next_pid", 56, 4, 1)
					  FIELD("int next_prio", 60, 4, 1) "\nprint fmt: \"\"\n" },
};

static struct fixture *fixture;

static int setup(void **state)
{
	int err = fixture_setup(state);
	static const char *const names[] = { "outer", "inner", "leaf", "tracer_hardirqs_on" };

	fixture = *state;
	for (size_t i = 0; i < sizeof(events) / sizeof(*events); i++)
		assert_int_equal(model_add_event(fixture->model, events[i].system, events[i].format,
						 strlen(events[i].format), NULL), 0);
	symbols_add(fixture->model->symbols, TEXT, 'T', "_stext", NULL);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		symbols_add(fixture->model->symbols, TEXT + 0x100 * (i + 1), 't', names[i], NULL);
	symbols_add(fixture->model->symbols, TEXT + 0x1000, 't', "end", NULL);
	return err;
}

static void tell(void *record, uint32_t size, uint32_t cpu, uint64_t time)
{
	struct hit h = { .record = record,
			.size = size,
			.cpu = cpu,
			.time = time,
			.comm = "some-task\0\0\0\0\0\0" };

	assert_non_null(fixture->model->observe);
	fixture->model->observe(fixture->model, &h, 0);
}

struct switch_record {
	struct record_common common;
	int32_t		caller, parent;
};

/* An event of preemptirq, hit in `inner`, which `outer` has called. */
static void tell_as(int pid, int event, unsigned int flags, unsigned int preempt, uint32_t cpu,
		    uint64_t time)
{
	struct switch_record r = {
		{ (uint16_t)event, (uint8_t)flags, (uint8_t)preempt, pid }, 0x210, 0x110 };

	tell(&r, sizeof(r), cpu, time);
}

static void irqs(int event, uint32_t cpu, uint64_t time)
{
	tell_as(42, event, IRQS, 0, cpu, time);
}

static void called(uint32_t cpu, uint64_t time)
{
	struct {
		struct record_common common;
		uint64_t	ip, parent;
	} r = { { FUNCTION, IRQS, 0, 42 }, TEXT + 0x300, TEXT + 0x200 };

	tell(&r, sizeof(r), cpu, time);
}

/* Checks the lines below the header, each from its time on. */
static void expect(const char *lines)
{
	char *text = fixture_read(fixture, "trace"), *at = text, *out;
	size_t size;
	FILE *f = open_memstream(&out, &size);

	while (*at == '#')
		at += strcspn(at, "\n") + 1;
	for (; *at; at += strcspn(at, "\n") + 1) {
		const char *us = strstr(at, "us");

		assert_non_null(us);
		while (us > at && us[-1] != ' ')
			us--;
		fprintf(f, "%.*s\n", (int)strcspn(us, "\n"), us);
	}
	fclose(f);
	assert_string_equal(out, lines);
	free(out);
	free(text);
}

static void head(const char *line)
{
	char *text = fixture_read(fixture, "trace");

	assert_non_null(text);
	if (!strstr(text, line))
		fail_msg("no \"%s\" in:\n%s", line, text);
	free(text);
}

static void a_section_has_its_ends_and_what_was_called(void **state)
{
	assert_taken(fixture, "current_tracer", "irqsoff");
	called(0, 900);		/* before the section */
	irqs(IRQ_OFF, 0, 1000);
	called(0, 3000);
	called(1, 4000);	/* on another CPU */
	irqs(IRQ_ON, 0, 21000);
	called(0, 22000);
	head("# latency: 20 us, #4/4, CPU#0 | (M:preempt VP:0, KP:0, SP:0 HP:0 #P:2)\n"
	     "#    -----------------\n#    | task: some-task-42 (uid:0 nice:0 policy:0 rt_prio:0)\n"
	     "#    -----------------\n#  => started at: outer\n#  => ended at:   outer\n#\n#\n");
	expect("0us : inner <-outer\n2us+: leaf <-inner\n20us : inner <-outer\n20us : "
	       "tracer_hardirqs_on <-outer\n");
	assert_file(fixture, "tracing_max_latency", "20\n");
}

static void only_a_longer_one_replaces_it(void **state)
{
	assert_taken(fixture, "current_tracer", "irqsoff");
	irqs(IRQ_OFF, 0, 1000);
	irqs(IRQ_ON, 0, 11000);
	irqs(IRQ_OFF, 0, 20000);
	irqs(IRQ_ON, 0, 30000);		/* not longer */
	assert_file(fixture, "tracing_max_latency", "10\n");
	irqs(IRQ_OFF, 1, 40000);
	irqs(IRQ_ON, 1, 51000);
	head("# latency: 11 us, #3/3, CPU#1 ");
	assert_taken(fixture, "tracing_max_latency", "0");
	irqs(IRQ_OFF, 0, 60000);
	irqs(IRQ_ON, 0, 61000);
	head("# latency: 1 us, #3/3, CPU#0 ");
}

static void one_that_began_before_the_last_maximum_is_not_reported(void **state)
{
	assert_taken(fixture, "current_tracer", "irqsoff");
	irqs(IRQ_OFF, 1, 500);
	irqs(IRQ_OFF, 0, 1000);
	irqs(IRQ_ON, 0, 2000);
	irqs(IRQ_ON, 1, 90000);
	assert_file(fixture, "tracing_max_latency", "1\n");
}

static void what_begins_inside_is_part_of_it(void **state)
{
	assert_taken(fixture, "current_tracer", "irqsoff");
	irqs(IRQ_OFF, 0, 1000);
	irqs(IRQ_OFF, 0, 5000);
	irqs(IRQ_ON, 0, 9000);
	irqs(IRQ_ON, 0, 99000);		/* ends nothing */
	assert_file(fixture, "tracing_max_latency", "8\n");
}

static void a_threshold_reports_each_that_is_long_enough(void **state)
{
	assert_taken(fixture, "tracing_thresh", "5");
	assert_taken(fixture, "current_tracer", "irqsoff");
	irqs(IRQ_OFF, 0, 1000);
	irqs(IRQ_ON, 0, 9000);
	irqs(IRQ_OFF, 0, 10000);
	irqs(IRQ_ON, 0, 14000);		/* too short */
	assert_file(fixture, "tracing_max_latency", "8\n");
	irqs(IRQ_OFF, 0, 20000);
	irqs(IRQ_ON, 0, 25000);
	assert_file(fixture, "tracing_max_latency", "5\n");
}

static void each_tracer_minds_its_own(void **state)
{
	assert_taken(fixture, "current_tracer", "preemptoff");
	irqs(IRQ_OFF, 0, 1000);
	irqs(IRQ_ON, 0, 2000);
	assert_file(fixture, "tracing_max_latency", "0\n");
	tell_as(42, PREEMPT_OFF, 0, 1, 0, 10000);
	tell_as(42, IRQ_OFF, IRQS, 1, 0, 11000);
	tell_as(42, IRQ_ON, IRQS, 1, 0, 12000);
	tell_as(42, PREEMPT_ON, 0, 1, 0, 13000);
	assert_file(fixture, "tracing_max_latency", "3\n");
}

static void of_both_kinds_the_outer_one_begins_and_ends(void **state)
{
	assert_taken(fixture, "current_tracer", "preemptirqsoff");
	tell_as(42, IRQ_OFF, IRQS, 0, 0, 1000);
	tell_as(42, PREEMPT_OFF, IRQS, 1, 0, 2000);
	tell_as(42, IRQ_ON, IRQS, 1, 0, 5000);		/* preemption is still off */
	tell_as(42, PREEMPT_ON, 0, 1, 0, 8000);
	assert_file(fixture, "tracing_max_latency", "7\n");
	tell_as(42, PREEMPT_OFF, 0, 1, 0, 10000);
	tell_as(42, IRQ_OFF, IRQS, 1, 0, 11000);
	tell_as(42, PREEMPT_ON, IRQS, 1, 0, 12000);	/* interrupts are still off */
	tell_as(42, IRQ_ON, IRQS, 0, 0, 30000);
	assert_file(fixture, "tracing_max_latency", "20\n");
}

static void idle(uint32_t state, uint64_t time)
{
	struct {
		struct record_common common;
		uint32_t	state;
	} r = { { IDLE, IRQS, 0, 0 }, state };

	tell(&r, sizeof(r), 0, time);
}

static void idle_tasks_sleep_with_interrupts_off(void **state)
{
	assert_taken(fixture, "current_tracer", "irqsoff");
	tell_as(0, IRQ_OFF, IRQS, 0, 0, 1000);
	tell_as(0, IRQ_ON, IRQS, 0, 0, 900000);
	assert_file(fixture, "tracing_max_latency", "0\n");
	idle(1, 1000000);
	idle(UINT32_MAX, 1900000);
	tell_as(0, IRQ_ON, IRQS, 0, 0, 1904000);
	assert_file(fixture, "tracing_max_latency", "4\n");
	tell_as(0, IRQ_OFF, IRQS, 0, 0, 2000000);
	idle(1, 2006000);
	assert_file(fixture, "tracing_max_latency", "6\n");
}

static void without_function_trace_there_are_only_the_ends(void **state)
{
	assert_taken(fixture, "options/function-trace", "0");
	assert_taken(fixture, "current_tracer", "irqsoff");
	irqs(IRQ_OFF, 0, 1000);
	called(0, 2000);
	irqs(IRQ_ON, 0, 3000);
	expect("0us : inner <-outer\n2us : inner <-outer\n2us : tracer_hardirqs_on <-outer\n");
}

static void a_section_that_ends_or_begins_with_tracing_off_is_none(void **state)
{
	assert_taken(fixture, "current_tracer", "irqsoff");
	irqs(IRQ_OFF, 0, 1000);
	assert_taken(fixture, "tracing_on", "0");
	irqs(IRQ_ON, 0, 9000);
	assert_taken(fixture, "tracing_on", "1");
	irqs(IRQ_ON, 0, 10000);
	assert_file(fixture, "tracing_max_latency", "0\n");
	assert_taken(fixture, "tracing_on", "0");
	irqs(IRQ_OFF, 0, 11000);
	assert_taken(fixture, "tracing_on", "1");
	irqs(IRQ_ON, 0, 20000);
	assert_file(fixture, "tracing_max_latency", "0\n");
}

/* As in the kernel, only the end of the CPU's section ends it. */
static void with_tracing_off_for_a_while_it_goes_on(void **state)
{
	assert_taken(fixture, "current_tracer", "irqsoff");
	irqs(IRQ_OFF, 0, 1000);
	called(0, 2000);
	assert_taken(fixture, "tracing_on", "0");
	called(0, 3000);
	assert_taken(fixture, "tracing_on", "1");
	called(0, 4000);
	irqs(IRQ_ON, 0, 9000);
	expect("0us : inner <-outer\n1us : leaf <-inner\n3us : leaf <-inner\n8us : inner <-outer\n"
	       "8us : tracer_hardirqs_on <-outer\n");
	assert_file(fixture, "tracing_max_latency", "8\n");
}

static void truncating_the_trace_forgets_the_section(void **state)
{
	assert_taken(fixture, "current_tracer", "irqsoff");
	irqs(IRQ_OFF, 0, 1000);
	irqs(IRQ_ON, 0, 9000);
	assert_int_equal(fixture_write(fixture, "trace", ""), 0);
	assert_file(fixture, "trace", "# tracer: irqsoff\n#\n");
	assert_file(fixture, "tracing_max_latency", "8\n");
}

/* ---- wakeups ---- */

static void woken(int pid, int prio, uint32_t on, uint32_t cpu, uint64_t time)
{
	struct {
		struct record_common common;
		char		comm[16];
		int32_t		pid, prio, target_cpu;
	} r = { { WAKEUP, IRQS, 4, 0 }, "wakee", pid, prio, (int32_t)on };

	tell(&r, sizeof(r), cpu, time);
}

static void switched(int prev, int next, int next_prio, uint32_t cpu, uint64_t time)
{
	struct {
		struct record_common common;
		char		prev_comm[16];
		int32_t		prev_pid, prev_prio;
		int64_t		prev_state;
		char		next_comm[16];
		int32_t		next_pid, next_prio;
	} r = { { SWITCH, IRQS, 2, prev }, "prev", prev, 120, 1, "next", next, next_prio };

	tell(&r, sizeof(r), cpu, time);
}

static void a_wakeup_lasts_until_its_task_runs(void **state)
{
	assert_taken(fixture, "current_tracer", "wakeup");
	woken(50, 69, 1, 0, 1000);
	switched(42, 51, 120, 1, 5000);	/* another task */
	switched(51, 50, 69, 1, 31000);
	head("# latency: 30 us, #2/2, CPU#1 | (M:preempt VP:0, KP:0, SP:0 HP:0 #P:2)\n"
	     "#    -----------------\n#    | task: next-50 (uid:0 nice:0 policy:1 rt_prio:30)\n"
	     "#    -----------------\n#\n#     ");
	expect("0us+:        0:120:R   + [001]      50: 69:R <...>\n30us :       51:120:S ==> "
	       "[001]      50: 69:R <...>\n");
}

static void it_waits_for_the_task_of_the_highest_priority(void **state)
{
	assert_taken(fixture, "current_tracer", "wakeup");
	woken(50, 100, 0, 0, 1000);
	woken(51, 110, 0, 0, 2000);	/* runs after it */
	woken(52, 90, 0, 0, 3000);	/* runs before it */
	switched(42, 50, 100, 0, 90000);
	assert_file(fixture, "tracing_max_latency", "0\n");
	switched(50, 52, 90, 0, 93000);
	assert_file(fixture, "tracing_max_latency", "90\n");
	woken(53, 95, 0, 0, 94000);	/* runs after the current task */
	switched(52, 53, 95, 0, 900000);
	assert_file(fixture, "tracing_max_latency", "90\n");
}

static void wakeup_rt_minds_real_time_tasks_only(void **state)
{
	assert_taken(fixture, "current_tracer", "wakeup_rt");
	woken(50, 100, 0, 0, 1000);
	switched(42, 50, 100, 0, 9000);
	assert_file(fixture, "tracing_max_latency", "0\n");
	woken(51, 99, 0, 0, 10000);
	switched(50, 51, 99, 0, 12000);
	assert_file(fixture, "tracing_max_latency", "2\n");
}

/* The buffer for the longest section is as large as the live one. */
static void a_tracer_makes_its_second_buffer_in_steps(void **state)
{
	struct fixture *w = *state;
	struct tree_wrote wrote = { 0 };
	struct tree_file *f;
	int times = 0;

	assert_taken(w, "buffer_size_kb", "16000");
	assert_int_equal(tree_open(w->tree, "current_tracer", O_WRONLY, &f), 0);
	while (tree_write_by(f, 0, "irqsoff\n", 8, &wrote) == -EINPROGRESS) {
		assert_file(w, "current_tracer", "nop\n");
		times++;
	}
	assert_true(times > 0);
	assert_file(w, "current_tracer", "irqsoff\n");
	wrote = (struct tree_wrote){ 0 };
	assert_int_equal(tree_write_by(f, 0, "preemptoff\n", 11, &wrote), 11);
	tree_release(f);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_section_has_its_ends_and_what_was_called),
		TEST(only_a_longer_one_replaces_it),
		TEST(one_that_began_before_the_last_maximum_is_not_reported),
		TEST(what_begins_inside_is_part_of_it),
		TEST(a_threshold_reports_each_that_is_long_enough),
		TEST(each_tracer_minds_its_own),
		TEST(of_both_kinds_the_outer_one_begins_and_ends),
		TEST(idle_tasks_sleep_with_interrupts_off),
		TEST(without_function_trace_there_are_only_the_ends),
		TEST(a_section_that_ends_or_begins_with_tracing_off_is_none),
		TEST(with_tracing_off_for_a_while_it_goes_on),
		TEST(truncating_the_trace_forgets_the_section),
		TEST(a_wakeup_lasts_until_its_task_runs),
		TEST(it_waits_for_the_task_of_the_highest_priority),
		TEST(wakeup_rt_minds_real_time_tasks_only),
		TEST(a_tracer_makes_its_second_buffer_in_steps),
	};

	return cmocka_run_group_tests_name("latency", tests, NULL, NULL);
}
