/* SPDX-License-Identifier: MIT */
/*
 * graph.c - function_graph shows the records of two CPUs as Linux 6.12 does
 */
#include "show_fixture.h"
#include "model/parameters.h"
#include "model/tracer.h"

#define IRQ_TEXT (KERNEL + 0x800)	/* the first functions of interrupts */

static const char entry_format[] = "name: funcgraph_entry\nID: 11\n" COMMON
				   "\tfield:unsigned long func;\toffset:8;\tsize:8;\tsigned:0;\n"
				   "\tfield:int depth;\toffset:16;\tsize:4;\tsigned:1;\n"
				   "\tfield:unsigned long args[];\toffset:24;\tsize:0;"
				   "\tsigned:0;\n\nprint fmt: "
				   "\"--> %ps (%d)\", (void *)REC->func, REC->depth\n";

static const char exit_format[] =
	"name: funcgraph_exit\nID: 10\n" COMMON
	"\tfield:unsigned long func;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned long retval;\toffset:16;\tsize:8;\tsigned:0;\n"
	"\tfield:int depth;\toffset:24;\tsize:4;\tsigned:1;\n"
	"\tfield:unsigned int overrun;\toffset:28;\tsize:4;\tsigned:0;\n"
	"\tfield:unsigned long long calltime;\toffset:32;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned long long rettime;\toffset:40;\tsize:8;\tsigned:0;\n\nprint fmt: \"<-- "
	"%ps\", (void *)REC->func\n";

static const char retaddr_format[] =
	"name: fgraph_retaddr_entry\nID: 20\n" COMMON
	"\tfield:unsigned long func;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:int depth;\toffset:16;\tsize:4;\tsigned:1;\n"
	"\tfield:unsigned long retaddr;\toffset:20;\tsize:8;\tsigned:0;\n\nprint fmt: "
	"\"--> %ps (%u) <- %ps\", (void *)REC->func, REC->depth, (void *)REC->retaddr\n";

#define ALPHA KERNEL
#define BETA (KERNEL + 0x100)

struct script {
	struct fixture	*f;
	uint64_t	now;
};

static struct script script;

static int setup(void **state)
{
	struct fixture *f;
	int err = fixture_setup(state);

	f = *state;
	fixture_event(f, "ftrace", entry_format);
	fixture_event(f, "ftrace", exit_format);
	symbols_add(f->model->symbols, IRQ_TEXT, 'T', "__irqentry_text_start", NULL);
	symbols_add(f->model->symbols, IRQ_TEXT + 0x10, 'T', "sysvec", NULL);
	symbols_add(f->model->symbols, IRQ_TEXT + 0x40, 'T', "__irqentry_text_end", NULL);
	symbols_add(f->model->symbols, IRQ_TEXT + 0x80, 'T', "behind", NULL);
	assert_int_equal(tracer_choose(f->top, "function_graph"), 0);
	script = (struct script){ f, 1000000000 };
	return err;
}

static void enter_as(int pid, uint32_t cpu, uint64_t func, int depth)
{
	struct record r = { .type = 11, .pid = pid };

	put64(&r, 8, func);
	put32(&r, 16, (uint32_t)depth);
	fixture_write(script.f, &r, 12, cpu, script.now += 1000);
}

static void enter(uint32_t cpu, uint64_t func, int depth)
{
	enter_as(42, cpu, func, depth);
}

static void leave_with(uint32_t cpu, uint64_t func, int depth, uint64_t ns, uint64_t value)
{
	struct record r = { .type = 10, .pid = 42 };

	put64(&r, 8, func);
	put64(&r, 16, value);
	put32(&r, 24, (uint32_t)depth);
	put32(&r, 28, 3);
	put64(&r, 32, 5000);
	put64(&r, 40, 5000 + ns);
	fixture_write(script.f, &r, 40, cpu, script.now += 1000);
}

static void leave(uint32_t cpu, uint64_t func, int depth, uint64_t ns)
{
	leave_with(cpu, func, depth, ns, 0);
}

/* Checks the lines below the header. */
static void expect(const char *lines)
{
	const char *text = shown(script.f, 0, -1);

	while (*text == '#')
		text += strcspn(text, "\n") + 1;
	assert_string_equal(text, lines);
}

static void a_call_whose_return_comes_next_is_one_line(void **state)
{
	enter(0, ALPHA, 0);
	enter(0, BETA, 1);
	leave(0, BETA, 1, 1234);
	leave(0, ALPHA, 0, 20000);
	expect(" 0)               |  alpha() {\n"
	       " 0)   1.234 us    |    beta();\n"
	       " 0) + 20.000 us   |  }\n");
}

static void other_cpus_do_not_come_between(void **state)
{
	enter(0, ALPHA, 0);
	enter(1, BETA, 0);
	leave(1, BETA, 0, 10);
	enter(1, BETA, 0);
	leave(0, ALPHA, 0, 20);
	leave(1, BETA, 0, 30);
	expect(" 0)   0.020 us    |  alpha();\n"
	       " 1)   0.010 us    |  beta();\n"
	       " 1)   0.030 us    |  beta();\n");
}

static void a_return_of_another_task_or_function_is_no_leaf_s(void **state)
{
	enter_as(7, 0, ALPHA, 0);
	leave(0, ALPHA, 0, 20);
	enter(0, ALPHA, 0);
	leave(0, BETA, 0, 20);
	expect(" 0)               |  alpha() {\n"
	       " ------------------------------------------\n"
	       " 0)    <...>-7     =>    task-42    \n"
	       " ------------------------------------------\n\n"
	       " 0)   0.020 us    |  }\n"
	       " 0)               |  alpha() {\n"
	       " 0)   0.020 us    |  } /* beta */\n");
}

static void a_return_whose_entry_was_not_seen_is_named(void **state)
{
	leave(0, ALPHA, 1, 500);
	leave(0, BETA, 60, 500);	/* too deep to be remembered: the entry counts as seen */
	expect(" 0)   0.500 us    |    } /* alpha */\n"
	       " 0)   0.500 us    |                                                                "
	       "                                                          }\n");
}

static void durations_have_a_mark_and_seven_characters(void **state)
{
	static const uint64_t ns[] = {
		9999, 10001, 100001, 1000001, 10000001,
		100000001, 1000000001, 12345678901, 1234567890123,
	};

	for (size_t i = 0; i < sizeof(ns) / sizeof(ns[0]); i++) {
		enter(0, ALPHA, 0);
		leave(0, ALPHA, 0, ns[i]);
	}
	expect(" 0)   9.999 us    |  alpha();\n"
	       " 0) + 10.001 us   |  alpha();\n"
	       " 0) ! 100.001 us  |  alpha();\n"
	       " 0) # 1000.001 us |  alpha();\n"
	       " 0) * 10000.00 us |  alpha();\n"
	       " 0) @ 100000.0 us |  alpha();\n"
	       " 0) $ 1000000 us  |  alpha();\n"
	       " 0) $ 12345678 us |  alpha();\n"
	       " 0) $ 1234567890 us |  alpha();\n");
}

static void options_choose_columns(void **state)
{
	enter(1, ALPHA, 0);
	leave(1, ALPHA, 0, 11000);
	option(script.f, OPTION_FUNCGRAPH_OVERHEAD, false);
	expect(" 1)   11.000 us   |  alpha();\n");
	option(script.f, OPTION_FUNCGRAPH_PROC, true);
	option(script.f, OPTION_FUNCGRAPH_ABSTIME, true);
	expect("    1.000001 |   1)    task-42     |   11.000 us   |  alpha();\n");
	option(script.f, OPTION_FUNCGRAPH_DURATION, false);
	option(script.f, OPTION_FUNCGRAPH_CPU, false);
	expect("    1.000001 |     task-42     | alpha();\n");
	option(script.f, OPTION_CONTEXT_INFO, false);
	expect("alpha();\n");
}

static void the_header_has_the_columns(void **state)
{
	assert_string_equal(shown(script.f, 0, -1),
			    "# tracer: function_graph\n#\n"
			    "# CPU  DURATION                  FUNCTION CALLS\n"
			    "# |     |   |                     |   |   |   |\n");
	option(script.f, OPTION_FUNCGRAPH_ABSTIME, true);
	option(script.f, OPTION_FUNCGRAPH_PROC, true);
	assert_string_equal(
		shown(script.f, 0, -1),
		"# tracer: function_graph\n#\n"
		"#     TIME        CPU  TASK/PID         DURATION                  FUNCTION CALLS\n"
		"#      |          |     |    |           |   |                     |   |   |   "
		"|\n");
	option(script.f, OPTION_LATENCY_FORMAT, true);
	assert_string_equal(shown(script.f, 0, -1), "# tracer: function_graph\n#\n");
	option(script.f, OPTION_CONTEXT_INFO, false);
	assert_string_equal(shown(script.f, 0, -1), "# tracer: function_graph\n#\n");
}

static void returned_values_are_errors_where_they_can_be(void **state)
{
	static const uint64_t values[] = {
		0, 5, (uint64_t)-22, 0xffffffeaull, 0x80000000ull, (uint64_t)-4096 };

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		enter(0, ALPHA, 0);
		leave_with(0, ALPHA, 0, 100, values[i]);
	}
	leave_with(0, BETA, 0, 100, (uint64_t)-2);
	option(script.f, OPTION_FUNCGRAPH_DURATION, false);
	option(script.f, OPTION_FUNCGRAPH_RETVAL, true);
	expect(" 0) alpha(); /* = 0x0 */\n 0) alpha(); /* = 0x5 */\n 0) alpha(); /* = -22 */\n"
	       " 0) alpha(); /* = -22 */\n 0) alpha(); /* = 0x80000000 */\n"
	       " 0) alpha(); /* = 0xfffffffffffff000 */\n 0) } /* beta = -2 */\n");
	option(script.f, OPTION_FUNCGRAPH_RETVAL_HEX, true);
	expect(" 0) alpha(); /* = 0x0 */\n 0) alpha(); /* = 0x5 */\n 0) alpha(); /* = "
	       "0xffffffffffffffea */\n"
	       " 0) alpha(); /* = 0xffffffea */\n 0) alpha(); /* = 0x80000000 */\n"
	       " 0) alpha(); /* = 0xfffffffffffff000 */\n 0) } /* beta = 0xfffffffffffffffe */\n");
}

static struct parameters *alpha;

static const struct parameters *parameters_of_alpha(void *arg, uint64_t func)
{
	assert_null(arg);
	return func == ALPHA ? alpha : NULL;
}

static void alpha_make(void)
{
	static const struct parameter all[] = {
		{ "a", 0, 4, PARAMETER_SIGNED }, { "", 5, 8, PARAMETER_HEX },
		{ "f", PARAMETER_NONE, 8, PARAMETER_HEX }, { "c", 1, 1, PARAMETER_HEX },
	};

	alpha = malloc(sizeof(*alpha) + sizeof(all));
	assert_non_null(alpha);
	*alpha = (struct parameters){ .func = ALPHA, .known = true, .more = true,
				       .result_size = 8, .nr = 4 };
	memcpy(alpha->v, all, sizeof(all));
}

static void enter_with(uint64_t func, int depth, const uint64_t args[PARAMETER_REGISTERS])
{
	struct record r = { .type = 11, .pid = 42 };

	put64(&r, 8, func);
	put32(&r, 16, (uint32_t)depth);
	for (unsigned int i = 0; i < PARAMETER_REGISTERS; i++)
		put64(&r, 24 + 8 * i, args[i]);
	fixture_write(script.f, &r, 16 + 8 * PARAMETER_REGISTERS, 0, script.now += 1000);
}

static void arguments_have_names_and_types(void **state)
{
	const uint64_t args[PARAMETER_REGISTERS] = { 0x12fffffffe, 0x1234, 3, 4, 5, 0xdeadbeef };

	script.f->model->of_programs = true;
	script.f->model->parameters = parameters_of_alpha;
	alpha_make();
	enter_with(ALPHA, 0, args);
	enter_with(BETA, 1, args);
	leave(0, BETA, 1, 100);
	leave(0, ALPHA, 0, 200);
	/* Without the registers in the record */
	enter(0, ALPHA, 0);
	leave(0, ALPHA, 0, 100);
	option(script.f, OPTION_FUNCGRAPH_DURATION, false);
	expect(" 0) alpha() {\n 0)   beta();\n 0) }\n 0) alpha();\n");
	option(script.f, OPTION_FUNCGRAPH_ARGS, true);
	expect(" 0) alpha(a=-2, 0xdeadbeef, f=?, c=0x34, ...) {\n 0)   beta();\n 0) }\n"
	       " 0) alpha();\n");
	option(script.f, OPTION_FUNCGRAPH_RETVAL, true);
	expect(" 0) alpha(a=-2, 0xdeadbeef, f=?, c=0x34, ...) {\n 0)   beta(); /* = 0x0 */\n"
	       " 0) } /* alpha = 0x0 */\n 0) alpha(); /* = 0x0 */\n");
	script.f->model->parameters = NULL;
	free(alpha);
}

/* The result of alpha() that is shown if %ax has these bytes. */
static void expect_result(uint8_t size, uint8_t base, const char *shown)
{
	char text[64];

	alpha->result_size = size;
	alpha->result_base = base;
	snprintf(text, sizeof(text), " 0) alpha();%s\n", shown);
	expect(text);
}

static void a_result_has_its_type(void **state)
{
	script.f->model->of_programs = true;
	script.f->model->parameters = parameters_of_alpha;
	alpha_make();
	enter(0, ALPHA, 0);
	leave_with(0, ALPHA, 0, 100, 0x12345678fffffff3);
	option(script.f, OPTION_FUNCGRAPH_DURATION, false);
	option(script.f, OPTION_FUNCGRAPH_RETVAL, true);
	expect_result(8, PARAMETER_HEX, " /* = 0x12345678fffffff3 */");
	expect_result(6, PARAMETER_HEX, " /* = 0x5678fffffff3 */");
	expect_result(4, PARAMETER_SIGNED, " /* = -13 */");
	expect_result(2, PARAMETER_SIGNED, " /* = -13 */");
	expect_result(1, PARAMETER_HEX, " /* = 0xf3 */");
	expect_result(0, PARAMETER_HEX, "");
	script.f->model->parameters = NULL;
	free(alpha);
}

/* As Linux 6.13 records them. */
static void enter_from(uint64_t func, int depth, uint64_t from)
{
	struct record r = { .type = 20, .pid = 42 };

	put64(&r, 8, func);
	put32(&r, 16, (uint32_t)depth);
	put64(&r, 20, from);
	fixture_write(script.f, &r, 20, 0, script.now += 1000);
}

static void calls_name_where_they_return_to(void **state)
{
	assert_false(option_in_directory(script.f->top, OPTION_FUNCGRAPH_RETADDR));
	fixture_event(script.f, "ftrace", retaddr_format);
	assert_true(option_in_directory(script.f->top, OPTION_FUNCGRAPH_RETADDR));
	enter_from(ALPHA, 0, 0x10);
	enter_from(BETA, 1, ALPHA + 0x10);
	leave_with(0, BETA, 1, 100, (uint64_t)-2);
	enter(0, BETA, 1);
	leave_with(0, BETA, 1, 100, 5);
	leave(0, ALPHA, 0, 200);
	option(script.f, OPTION_FUNCGRAPH_DURATION, false);
	expect(" 0) alpha() {\n 0)   beta();\n 0)   beta();\n 0) }\n");
	option(script.f, OPTION_FUNCGRAPH_RETADDR, true);
	expect(" 0) alpha() { /* <-0x10 */\n 0)   beta(); /* <-alpha+0x10/0x100 */\n"
	       " 0)   beta();\n 0) }\n");
	option(script.f, OPTION_FUNCGRAPH_RETVAL, true);
	expect(" 0) alpha() { /* <-0x10 */\n 0)   beta(); /* <-alpha+0x10/0x100 ret=-2 */\n"
	       " 0)   beta(); /* = 0x5 */\n 0) } /* alpha = 0x0 */\n");
}

static void a_program_s_record_has_it_behind_the_arguments(void **state)
{
	struct record r = { .type = 11, .pid = 42 };

	script.f->model->of_programs = true;
	put64(&r, 8, BETA);
	put64(&r, 24 + 8 * PARAMETER_REGISTERS, ALPHA + 0x20);
	fixture_write(script.f, &r, 24 + 8 * PARAMETER_REGISTERS, 0, script.now += 1000);
	leave(0, BETA, 0, 100);
	option(script.f, OPTION_FUNCGRAPH_DURATION, false);
	option(script.f, OPTION_FUNCGRAPH_RETADDR, true);
	expect(" 0) beta(); /* <-alpha+0x20/0x100 */\n");
}

static void tail_names_each_return_and_overrun_counts(void **state)
{
	enter(0, ALPHA, 0);
	enter(0, BETA, 1);
	leave(0, BETA, 1, 100);
	leave(0, ALPHA, 0, 200);
	option(script.f, OPTION_FUNCGRAPH_TAIL, true);
	option(script.f, OPTION_FUNCGRAPH_OVERRUN, true);
	expect(" 0)               |  alpha() {\n"
	       " 0)   0.100 us    |    beta();\n"
	       " 0)   0.200 us    |  } /* alpha */\n (Overruns: 3)\n");
}

static void interrupts_have_arrows(void **state)
{
	enter(0, IRQ_TEXT + 0x10, 0);
	enter(0, BETA, 1);
	leave(0, BETA, 1, 100);
	leave(0, IRQ_TEXT + 0x10, 0, 200);
	enter(0, IRQ_TEXT + 0x10, 0);
	leave(0, IRQ_TEXT + 0x10, 0, 300);
	expect(" 0)   ==========> |\n"
	       " 0)               |  sysvec() {\n"
	       " 0)   0.100 us    |    beta();\n"
	       " 0)   0.200 us    |  }\n"
	       " 0)   <========== |\n"
	       " 0)   ==========> |\n"
	       " 0)   0.300 us    |  sysvec();\n"
	       " 0)   <========== |\n");
}

static void without_irqs_what_interrupts_call_is_hidden(void **state)
{
	enter(0, ALPHA, 0);
	enter(0, IRQ_TEXT + 0x10, 1);
	enter(0, BETA, 2);
	leave(0, BETA, 2, 100);
	leave(0, IRQ_TEXT + 0x10, 1, 200);
	leave(0, ALPHA, 0, 300);
	option(script.f, OPTION_FUNCGRAPH_IRQS, false);
	expect(" 0)               |  alpha() {\n"
	       " 0)   0.300 us    |  }\n");
}

static void other_events_are_comments(void **state)
{
	struct record plain = { .type = 100, .pid = 42 }, print = { .type = 5, .pid = 42 };
	struct record function = { .type = 1, .pid = 42 };

	put32(&plain, 8, 7);
	put64(&print, 8, ALPHA);
	put(&print, 16, "hello\n", 7);
	put64(&function, 8, ALPHA);
	put64(&function, 16, BETA);
	enter(0, ALPHA, 0);
	fixture_write(script.f, &plain, 24, 0, script.now += 1000);
	enter(0, BETA, 1);
	fixture_write(script.f, &print, 16, 0, script.now += 1000);
	fixture_write(script.f, &function, 16, 0, script.now += 1000);
	leave(0, BETA, 1, 100);
	expect(" 0)               |  alpha() {\n"
	       " 0)               |  /* plain: a=7 b=0 */\n"
	       " 0)               |    beta() {\n"
	       " 0)               |      /* hello */\n"
	       "            task-42      [000] .....     1.000005: alpha <-beta\n"
	       " 0)   0.100 us    |    }\n");
}

static void the_latency_form_adds_flags(void **state)
{
	const char *text;

	enter(0, ALPHA, 0);
	leave(0, ALPHA, 0, 100);
	option(script.f, OPTION_LATENCY_FORMAT, true);
	text = shown(script.f, 0, -1);
	assert_non_null(strstr(
		text, "#      _-----=> irqs-off        \n#     / _----=> need-resched    \n"));
	assert_non_null(strstr(text, "# CPU||||     DURATION                  FUNCTION CALLS\n"));
	assert_non_null(strstr(text, "\n 0)  ..... |   0.100 us    |  alpha();\n"));
}

static void a_return_that_is_taken_is_gone_from_the_trace_of_its_cpu_too(void **state)
{
	enter(1, ALPHA, 0);
	leave(1, ALPHA, 0, 100);
	enter(0, BETA, 0);
	assert_non_null(strstr(shown(script.f, 0, 1), "\n 1)   0.100 us    |  alpha();\n"));
	assert_null(strstr(shown(script.f, 0, 1), "}"));
	assert_null(strstr(shown(script.f, 0, 1), "beta"));
}

static void a_pipe_takes_a_leaf_s_return_with_it(void **state)
{
	data_ref buffer = instance_buffer(script.f->top, 0);
	struct ring_consumer *consumer;
	struct ring_record r;
	struct show *show;
	char *text;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	enter(0, ALPHA, 0);
	enter(0, BETA, 1);
	enter(1, BETA, 0);
	leave(0, BETA, 1, 100);
	leave(1, BETA, 0, 200);
	leave(0, ALPHA, 0, 300);
	assert_int_equal(ring_consumer_open(script.f->session, -1, &consumer), 0);
	show = show_pipe_open(script.f->top, consumer);
	while (ring_consume(consumer, buffer, &r) == 1)
		assert_int_equal(show_pipe_print(show, &r, out), 0);
	fclose(out);
	assert_string_equal(text, " 0)               |  alpha() {\n"
				  " 0)   0.100 us    |    beta();\n"
				  " 1)   0.200 us    |  beta();\n"
				  " 0)   0.300 us    |  }\n");
	free(text);
	show_close(show);
	ring_consumer_close(consumer);
	assert_string_equal(strchr(shown(script.f, 0, -1), '|') + 1,
			    "     |   |                     |   |   |   |\n");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_call_whose_return_comes_next_is_one_line),
		TEST(other_cpus_do_not_come_between),
		TEST(a_return_of_another_task_or_function_is_no_leaf_s),
		TEST(a_return_whose_entry_was_not_seen_is_named),
		TEST(durations_have_a_mark_and_seven_characters),
		TEST(options_choose_columns),
		TEST(the_header_has_the_columns),
		TEST(returned_values_are_errors_where_they_can_be),
		TEST(arguments_have_names_and_types),
		TEST(a_result_has_its_type),
		TEST(calls_name_where_they_return_to),
		TEST(a_program_s_record_has_it_behind_the_arguments),
		TEST(tail_names_each_return_and_overrun_counts),
		TEST(interrupts_have_arrows),
		TEST(without_irqs_what_interrupts_call_is_hidden),
		TEST(other_events_are_comments),
		TEST(the_latency_form_adds_flags),
		TEST(a_pipe_takes_a_leaf_s_return_with_it),
		TEST(a_return_that_is_taken_is_gone_from_the_trace_of_its_cpu_too),
	};

	return cmocka_run_group_tests_name("graph", tests, NULL, NULL);
}
