/* SPDX-License-Identifier: MIT */
/*
 * control.c - current_tracer: what changes with the tracer, and when it cannot change
 */
#include "model/instance/options.h"
#include "tree_fixture.h"

static bool has_line(struct fixture *w, const char *path, const char *line)
{
	char *text = fixture_read(w, path), *at = text;
	size_t n = strlen(line);
	bool found = false;

	for (; at && *at && !found; at += strcspn(at, "\n") + 1)
		found = !strncmp(at, line, n) && at[n] == '\n';
	free(text);
	return found;
}

static void it_brings_its_options_to_trace_options(void **state)
{
	struct fixture *w = *state;

	assert_true(has_line(w, "trace_options", "notest_nop_accept"));
	assert_int_equal(fixture_write(w, "trace_options", "funcgraph-proc"), -EINVAL);
	assert_taken(w, "current_tracer", "function_graph");
	assert_false(has_line(w, "trace_options", "notest_nop_accept"));
	assert_true(has_line(w, "trace_options", "nofuncgraph-proc"));
	assert_taken(w, "trace_options", "funcgraph-proc");
	assert_file(w, "options/funcgraph-proc", "1\n");
	assert_taken(w, "current_tracer", "function");
	assert_true(has_line(w, "trace_options", "nofunc-no-repeats"));
	assert_int_equal(fixture_write(w, "trace_options", "funcgraph-proc"), -EINVAL);
	/* The file in options/ takes it with any current tracer. */
	assert_taken(w, "options/funcgraph-proc", "0");
	assert_taken(w, "current_tracer", "nop");
	assert_int_equal(fixture_write(w, "trace_options", "func_stack_trace"), -EINVAL);
}

static void a_change_empties_the_buffer(void **state)
{
	struct fixture *w = *state;
	char *text;

	assert_int_equal(fixture_append(w, "trace_marker", "before"), 6);
	assert_taken(w, "current_tracer", "function");
	text = fixture_read(w, "trace");
	assert_non_null(strstr(text, "# tracer: function\n"));
	assert_null(strstr(text, "before"));
	free(text);
	assert_int_equal(fixture_append(w, "trace_marker", "between"), 7);
	/* The same tracer again changes nothing. */
	assert_taken(w, "current_tracer", "function");
	text = fixture_read(w, "trace");
	assert_non_null(strstr(text, "between"));
	free(text);
}

static bool has_text(struct fixture *w, const char *needle)
{
	char *text = fixture_read(w, "trace");
	const bool found = strstr(text, needle) != NULL;

	free(text);
	return found;
}

static void under_function_tracing_that_is_switched_on_again_begins_anew(void **state)
{
	struct fixture *w = *state;

	assert_int_equal(fixture_append(w, "trace_marker", "before"), 6);
	assert_taken(w, "tracing_on", "0");
	assert_taken(w, "tracing_on", "1");
	assert_true(has_text(w, "before"));
	assert_taken(w, "current_tracer", "function");
	assert_int_equal(fixture_append(w, "trace_marker", "between"), 7);
	/* Tracing is on already. */
	assert_taken(w, "tracing_on", "1");
	assert_true(has_text(w, "between"));
	assert_taken(w, "tracing_on", "0");
	assert_true(has_text(w, "between"));
	assert_taken(w, "tracing_on", "1");
	assert_false(has_text(w, "between"));
}

static void it_stays_while_somebody_reads_a_pipe(void **state)
{
	static const char *const pipes[] = { "trace_pipe", "per_cpu/cpu1/trace_pipe",
					    "per_cpu/cpu0/trace_pipe_raw" };
	struct fixture *w = *state;
	struct tree_file *f;

	for (size_t i = 0; i < sizeof(pipes) / sizeof(pipes[0]); i++) {
		assert_int_equal(tree_open(w->tree, pipes[i], O_RDONLY, &f), 0);
		assert_int_equal(fixture_write(w, "current_tracer", "function"), -EBUSY);
		assert_int_equal(fixture_write(w, "current_tracer", "nonesuch"), -EINVAL);
		assert_taken(w, "current_tracer", "nop");
		tree_release(f);
	}
	assert_becomes(w, "current_tracer", "function", "function\n");
}

static void each_instance_has_its_own(void **state)
{
	struct fixture *w = *state;

	assert_int_equal(tree_mkdir(w->tree, "instances/a"), 0);
	assert_taken(w, "instances/a/current_tracer", "function_graph");
	assert_file(w, "current_tracer", "nop\n");
	assert_true(has_line(w, "instances/a/trace_options", "funcgraph-cpu"));
	assert_false(has_line(w, "trace_options", "funcgraph-cpu"));
	assert_int_equal(tree_rmdir(w->tree, "instances/a"), 0);
}

static void a_latency_tracer_sets_options_and_gives_them_back(void **state)
{
	struct fixture *w = *state;

	assert_taken(w, "options/overwrite", "0");
	assert_taken(w, "current_tracer", "irqsoff");
	assert_file(w, "options/overwrite", "1\n");
	assert_file(w, "options/latency-format", "1\n");
	assert_file(w, "options/pause-on-trace", "1\n");
	assert_int_equal(fixture_write(w, "options/overwrite", "0"), -EINVAL);
	assert_int_equal(fixture_write(w, "trace_options", "nooverwrite"), -EINVAL);
	assert_taken(w, "options/latency-format", "0");
	assert_taken(w, "current_tracer", "nop");
	assert_file(w, "options/overwrite", "0\n");
	assert_file(w, "options/latency-format", "0\n");
	assert_file(w, "options/pause-on-trace", "0\n");
}

/*
 * The next tracer gets the options as they were before this tracer, even if they were changed
 * meanwhile.
 */
static void options_are_given_back_by_who_took_them(void **state)
{
	struct fixture *w = *state;

	assert_taken(w, "current_tracer", "irqsoff");
	assert_taken(w, "options/pause-on-trace", "0");
	assert_taken(w, "options/latency-format", "0");
	assert_taken(w, "current_tracer", "function");
	assert_file(w, "options/overwrite", "1\n");
	assert_file(w, "options/latency-format", "0\n");
	assert_file(w, "options/pause-on-trace", "0\n");
	assert_taken(w, "options/latency-format", "1");
	assert_taken(w, "options/pause-on-trace", "1");
	assert_taken(w, "current_tracer", "irqsoff");
	assert_taken(w, "options/latency-format", "0");
	assert_taken(w, "options/pause-on-trace", "0");
	assert_taken(w, "current_tracer", "preemptoff");
	assert_file(w, "options/latency-format", "1\n");
	assert_file(w, "options/pause-on-trace", "1\n");
	assert_taken(w, "current_tracer", "nop");
	assert_file(w, "options/latency-format", "1\n");
	assert_file(w, "options/pause-on-trace", "1\n");
}

static void two_of_a_family_cannot_be_current(void **state)
{
	struct fixture *w = *state;

	assert_int_equal(tree_mkdir(w->tree, "instances/a"), 0);
	assert_taken(w, "instances/a/current_tracer", "preemptoff");
	assert_int_equal(fixture_write(w, "current_tracer", "irqsoff"), -EBUSY);
	assert_file(w, "current_tracer", "nop\n");
	/* In one instance, the new tracer replaces the old one. */
	assert_becomes(w, "instances/a/current_tracer", "irqsoff", "irqsoff\n");
	assert_int_equal(tree_rmdir(w->tree, "instances/a"), 0);
	assert_becomes(w, "current_tracer", "irqsoff", "irqsoff\n");
}

static void the_snapshot_is_the_latency_tracer_s(void **state)
{
	struct fixture *w = *state;
	struct tree_file *f;

	assert_taken(w, "current_tracer", "preemptirqsoff");
	assert_int_equal(fixture_write(w, "snapshot", "1"), -EBUSY);
	assert_int_equal(fixture_write(w, "snapshot", "0"), -EBUSY);
	assert_int_equal(fixture_write(w, "snapshot", "2"), -EBUSY);
	assert_int_equal(fixture_write(w, "snapshot", "x"), -EINVAL);
	assert_int_equal(fixture_write(w, "per_cpu/cpu0/snapshot", "0"), -EBUSY);
	assert_int_equal(tree_open(w->tree, "per_cpu/cpu0/snapshot_raw", O_RDONLY, &f), -EBUSY);
	assert_null(fixture_read(w, "snapshot"));
	assert_null(fixture_read(w, "per_cpu/cpu0/snapshot"));
	assert_file(w, "trace", "# tracer: preemptirqsoff\n#\n");
	assert_taken(w, "current_tracer", "nop");
	assert_taken(w, "snapshot", "1");
}

/* Checks that `file` has the texts, in this order. */
static void assert_said(struct fixture *w, const char *file, const char *const *texts, size_t nr)
{
	char *text = fixture_read(w, file), *at = text;

	assert_non_null(text);
	for (size_t i = 0; i < nr; i++) {
		at = strstr(at, texts[i]);
		if (!at)
			fail_msg("%s: no \"%s\" in %s", file, texts[i], text);
	}
	free(text);
}

#define TRIGGER "events/ftrace/print/trigger"
#define SAYS "tracing_snapshot_instance_cond: *** "

/*
 * As in Linux 6.12: the trigger may be set before the tracer or with it. It takes no snapshot, and
 * says so.
 */
static void a_trigger_takes_no_snapshot_of_a_latency_tracer_s(void **state)
{
	static const char *const refused[] = { "one\n", SAYS "LATENCY TRACER ACTIVE ***\n",
					       SAYS "Can not use snapshot (sorry) ***\n", "two\n" };
	struct fixture *w = *state;
	uint32_t live;
	char *text;

	assert_taken(w, TRIGGER, "snapshot if ip != 0");
	assert_taken(w, "current_tracer", "irqsoff");
	live = w->model->top->state->live;
	assert_int_equal(fixture_append(w, "trace_marker", "one\n"), 4);
	assert_taken(w, TRIGGER, "!snapshot");
	assert_int_equal(fixture_append(w, "trace_marker", "two\n"), 4);
	assert_int_equal(w->model->top->state->live, live);
	assert_said(w, "trace_pipe", refused, 4);
	assert_file(w, "trace", "# tracer: irqsoff\n#\n");
	/* The same holds after a change to another latency tracer. */
	assert_taken(w, TRIGGER, "snapshot:2");
	assert_taken(w, "current_tracer", "preemptoff");
	assert_taken(w, "options/trace_printk", "0");
	assert_int_equal(fixture_append(w, "trace_marker", "one\n"), 4);
	assert_int_equal(w->model->top->state->live, live);
	assert_file(w, TRIGGER, "snapshot:count=1\n");
	text = fixture_read(w, "trace_pipe");
	assert_non_null(strstr(text, "one\n"));
	assert_null(strstr(text, "***"));
	free(text);
}

/*
 * When the tracer goes, it frees the snapshot. Then a trigger finds no snapshot, and ends the
 * trace.
 */
static void it_takes_the_snapshot_along(void **state)
{
	static const char *const ended[] = { SAYS "SNAPSHOT NOT ALLOCATED ***\n",
					    SAYS "stopping trace here!   ***\n" };
	struct fixture *w = *state;

	assert_taken(w, "snapshot", "1");
	assert_taken(w, TRIGGER, "snapshot");
	assert_taken(w, "current_tracer", "irqsoff");
	assert_taken(w, "current_tracer", "nop");
	assert_said(w, "snapshot", (const char *const[]){ "# * Snapshot is freed *\n" }, 1);
	assert_int_equal(fixture_append(w, "trace_marker", "one\n"), 4);
	assert_said(w, "trace", ended, 2);
	assert_file(w, "tracing_on", "0\n");
	assert_taken(w, "tracing_on", "1");
	assert_taken(w, "snapshot", "1");
	assert_int_equal(fixture_append(w, "trace_marker", "two\n"), 4);
	assert_said(w, "snapshot", (const char *const[]){ "two\n" }, 1);
	assert_file(w, "tracing_on", "1\n");
}

static void a_hist_takes_no_snapshot_of_it_either(void **state)
{
	static const char hist[] = "hist:keys=pid:ts=common_timestamp:onchange($ts).snapshot()";
	struct fixture *w = *state;

	assert_taken(w, "current_tracer", "irqsoff");
	assert_int_equal(fixture_write(w, "events/test/first/trigger", hist), -EBUSY);
	assert_file(w, "error_log", "");
	assert_taken(w, "current_tracer", "nop");
	assert_taken(w, "events/test/first/trigger", hist);
	assert_int_equal(fixture_write(w, "current_tracer", "irqsoff"), -EBUSY);
	assert_int_equal(fixture_write(w, "current_tracer", "irqsofff"), -EINVAL);
	assert_file(w, "current_tracer", "nop\n");
	assert_int_equal(fixture_write(w, "snapshot", "0"), -EBUSY);
	/* This holds for its own instance only. */
	assert_int_equal(tree_mkdir(w->tree, "instances/a"), 0);
	assert_taken(w, "instances/a/current_tracer", "irqsoff");
	assert_int_equal(fixture_write(w, "current_tracer", "preemptoff"), -EBUSY);
}

/* A refused tracer leaves a snapshot buffer, which `snapshot` may use. */
static void one_that_cannot_be_leaves_a_snapshot(void **state)
{
	struct fixture *w = *state;

	assert_int_equal(tree_mkdir(w->tree, "instances/a"), 0);
	assert_taken(w, "instances/a/current_tracer", "irqsoff");
	assert_int_equal(fixture_write(w, "current_tracer", "preemptoff"), -EBUSY);
	assert_said(w, "snapshot", (const char *const[]){ "# * Snapshot is allocated *\n" }, 1);
	assert_int_equal(fixture_append(w, "trace_marker", "one\n"), 4);
	assert_taken(w, "snapshot", "1");
	assert_said(w, "snapshot", (const char *const[]){ "one\n" }, 1);
}

static void none_is_taken_while_trace_is_read(void **state)
{
	struct fixture *w = *state;
	struct tree_file *f;

	assert_taken(w, "options/pause-on-trace", "1");
	assert_int_equal(fixture_append(w, "trace_marker", "one\n"), 4);
	assert_int_equal(tree_open(w->tree, "trace", O_RDONLY, &f), 0);
	assert_taken(w, "snapshot", "1");
	assert_said(w, "snapshot", (const char *const[]){ "# * Snapshot is allocated *\n" }, 1);
	tree_release(f);
	assert_taken(w, "snapshot", "1");
	assert_said(w, "snapshot", (const char *const[]){ "one\n" }, 1);
}

static void thresholds_are_microseconds(void **state)
{
	struct fixture *w = *state;

	assert_becomes(w, "tracing_thresh", "100", "100\n");
	assert_becomes(w, "tracing_max_latency", "7", "7\n");
	assert_taken(w, "current_tracer", "irqsoff");
	assert_file(w, "tracing_max_latency", "0\n");
	assert_int_equal(fixture_write(w, "tracing_thresh", "x"), -EINVAL);
	/* As in the kernel, a number that is too large wraps around. */
	assert_becomes(w, "tracing_max_latency", "18446744073709551615", "18446744073709550\n");
	assert_becomes(w, "max_graph_depth", "4294967295", "-1\n");
	assert_becomes(w, "max_graph_depth", "4", "4\n");
	assert_int_equal(tree_mkdir(w->tree, "instances/a"), 0);
	assert_file(w, "instances/a/tracing_max_latency", "0\n");
	assert_null(fixture_read(w, "instances/a/tracing_thresh"));
	assert_null(fixture_read(w, "instances/a/max_graph_depth"));
}

static void a_new_server_has_the_same_tracer(void **state)
{
	struct fixture *w = *state;

	assert_taken(w, "tracing_thresh", "100");
	assert_taken(w, "max_graph_depth", "3");
	assert_taken(w, "current_tracer", "function_graph");
	assert_taken(w, "options/funcgraph-tail", "1");
	assert_int_equal(tree_mkdir(w->tree, "instances/a"), 0);
	assert_taken(w, "instances/a/current_tracer", "irqsoff");
	assert_int_equal(fixture_append(w, "trace_marker", "before"), 6);
	fixture_new_server(w);
	assert_file(w, "current_tracer", "function_graph\n");
	assert_file(w, "options/funcgraph-tail", "1\n");
	assert_file(w, "tracing_thresh", "100\n");
	assert_file(w, "max_graph_depth", "3\n");
	assert_file(w, "instances/a/current_tracer", "irqsoff\n");
	assert_file(w, "instances/a/options/latency-format", "1\n");
	assert_true(has_line(w, "trace", " 0)               |  /* before */") ||
		    has_line(w, "trace", " 1)               |  /* before */"));
	assert_taken(w, "instances/a/current_tracer", "nop");
	assert_file(w, "instances/a/options/latency-format", "0\n");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(it_brings_its_options_to_trace_options),
		TEST(a_change_empties_the_buffer),
		TEST(under_function_tracing_that_is_switched_on_again_begins_anew),
		TEST(it_stays_while_somebody_reads_a_pipe),
		TEST(each_instance_has_its_own),
		TEST(a_latency_tracer_sets_options_and_gives_them_back),
		TEST(options_are_given_back_by_who_took_them),
		TEST(two_of_a_family_cannot_be_current),
		TEST(the_snapshot_is_the_latency_tracer_s),
		TEST(a_trigger_takes_no_snapshot_of_a_latency_tracer_s),
		TEST(it_takes_the_snapshot_along),
		TEST(a_hist_takes_no_snapshot_of_it_either),
		TEST(one_that_cannot_be_leaves_a_snapshot),
		TEST(none_is_taken_while_trace_is_read),
		TEST(thresholds_are_microseconds),
		TEST(a_new_server_has_the_same_tracer),
	};

	return cmocka_run_group_tests_name("control", tests, NULL, NULL);
}
