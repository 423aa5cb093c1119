/* SPDX-License-Identifier: MIT */
/*
 * settings.c - options, masks, lists of events, and that a new server restores them
 */
#include "tree_fixture.h"

static void options_are_an_instance_s_and_those_of_tracers_everybody_s(void **state)
{
	struct fixture *w = *state;

	assert_int_equal(tree_mkdir(w->tree, "instances/a"), 0);
	assert_taken(w, "instances/a/trace_options", "raw\n");
	assert_file(w, "instances/a/options/raw", "1\n");
	assert_file(w, "options/raw", "0\n");
	assert_taken(w, "instances/a/options/test_nop_accept", "1\n");
	assert_file(w, "options/test_nop_accept", "1\n");
	assert_int_equal(fixture_write(w, "trace_options", "notest_nop_refuse"), -EINVAL);
	assert_taken(w, "options/test_nop_refuse", "0");
	assert_int_equal(fixture_write(w, "options/test_nop_refuse", "1"), -EINVAL);
	assert_int_equal(fixture_write(w, "trace_options", "func_stack_trace"), -EINVAL);
	assert_taken(w, "options/func_stack_trace", "1");
}

static void a_new_instance_has_the_top_s_options(void **state)
{
	struct fixture *w = *state;

	assert_taken(w, "trace_options", "sym-addr");
	assert_taken(w, "trace_options", "event-fork");
	assert_int_equal(tree_mkdir(w->tree, "instances/a"), 0);
	assert_file(w, "instances/a/options/sym-addr", "1\n");
	assert_file(w, "instances/a/options/event-fork", "0\n");
	assert_file(w, "instances/a/options/trace_printk_dest", "0\n");
}

static void trace_printk_has_one_destination(void **state)
{
	struct fixture *w = *state;

	assert_int_equal(tree_mkdir(w->tree, "instances/a"), 0);
	assert_int_equal(fixture_write(w, "options/trace_printk_dest", "0"), -EINVAL);
	assert_taken(w, "instances/a/options/trace_printk_dest", "1");
	assert_file(w, "options/trace_printk_dest", "0\n");
}

static void texts_longer_than_their_room_are_refused(void **state)
{
	char text[66];

	memset(text, ' ', sizeof(text));
	memcpy(text, "raw", 3);
	text[64] = '\0';
	assert_int_equal(fixture_write(*state, "trace_options", text), -EINVAL);
	text[63] = '\0';
	assert_taken(*state, "trace_options", text);
	memcpy(text, "mono", 4);
	assert_taken(*state, "trace_clock", text);
	text[63] = ' ';
	text[64] = '\0';
	assert_int_equal(fixture_write(*state, "trace_clock", text), -EINVAL);
}

static void cpumasks_are_groups_of_digits(void **state)
{
	struct fixture *w = *state;

	assert_becomes(w, "tracing_cpumask", "00000002\n", "2\n");
	assert_becomes(w, "tracing_cpumask", ", 1,\n3\n", "1\n");
	assert_becomes(w, "tracing_cpumask", "x00000003", "3\n");
	assert_becomes(w, "tracing_cpumask", "-00000001,", "1\n");
	assert_becomes(w, "tracing_cpumask", "\n", "0\n");
	assert_int_equal(fixture_write(w, "tracing_cpumask", "0x00000001"), -EOVERFLOW);
	assert_int_equal(fixture_write(w, "tracing_cpumask", "x3"), -EINVAL);
	assert_int_equal(fixture_write(w, "tracing_cpumask", "0,1"), -EOVERFLOW);
	assert_int_equal(fixture_write(w, "tracing_cpumask", "000000001"), -EOVERFLOW);
	assert_int_equal(fixture_write(w, "tracing_cpumask", "4"), -EOVERFLOW);
	assert_int_equal(fixture_write(w, "tracing_cpumask", "0x1"), -EINVAL);
	assert_file(w, "tracing_cpumask", "0\n");
}

static void a_cpu_outside_the_mask_records_nothing(void **state)
{
	struct fixture *w = *state;

	assert_taken(w, "tracing_cpumask", "0");
	assert_int_equal(fixture_append(w, "trace_marker", "x"), -EBADF);
	assert_taken(w, "tracing_cpumask", "3");
	assert_int_equal(fixture_append(w, "trace_marker", "x"), 1);
}

static void set_event_takes_a_word_a_write(void **state)
{
	struct fixture *w = *state;

	assert_int_equal(fixture_write(w, "set_event", "test:first test:second\n"), 11);
	assert_file(w, "set_event", "test:first\n");
	assert_int_equal(fixture_append(w, "set_event", "  test:second\n"), 14);
	assert_file(w, "events/test/enable", "1\n");
	assert_int_equal(fixture_append(w, "set_event", "!test:first\n"), 12);
	assert_file(w, "events/test/enable", "X\n");
	assert_int_equal(fixture_append(w, "set_event", "nonesuch\n"), -EINVAL);
	assert_int_equal(fixture_write(w, "set_event", ""), 0);
	assert_file(w, "events/enable", "0\n");
}

static void saved_cmdlines_size_is_rounded_up(void **state)
{
	struct fixture *w = *state;

	assert_file(w, "saved_cmdlines_size", "6552\n");
	assert_becomes(w, "saved_cmdlines_size", "6553", "19659\n");
	assert_int_equal(fixture_write(w, "saved_cmdlines_size", "32769"), -EINVAL);
	assert_int_equal(fixture_write(w, "saved_cmdlines_size", "0"), -EINVAL);
}

static void an_unknown_tracer_is_refused(void **state)
{
	struct fixture *w = *state;

	assert_taken(w, "current_tracer", " nop \n");
	assert_int_equal(fixture_write(w, "current_tracer", "nonesuch\n"), -EINVAL);
	assert_file(w, "current_tracer", "nop\n");
	/* The tracers of wakeups need sched_switch and sched_wakeup. */
	assert_file(w, "available_tracers",
		    "function_graph preemptirqsoff preemptoff irqsoff function nop\n");
}

static int count_newer(void *arg, const char *name, bool is_dir)
{
	*(unsigned int *)arg += !strcmp(name, "copy_trace_marker") ||
				!strcmp(name, "bitmask-list") || !strcmp(name, "hash-ptr");
	return 0;
}

static void options_of_newer_kernels_are_not_listed(void **state)
{
	struct fixture *w = *state;
	unsigned int listed = 0;
	char *text = fixture_read(w, "trace_options");

	assert_null(strstr(text, "copy_trace_marker"));
	assert_null(strstr(text, "bitmask-list"));
	free(text);
	assert_int_equal(tree_list(w->tree, "options", count_newer, &listed), 0);
	assert_int_equal(listed, 1);
	assert_file(w, "options/copy_trace_marker", "1\n");
	assert_file(w, "options/bitmask-list", "0\n");
	assert_taken(w, "trace_options", "bitmask-list");
	assert_taken(w, "trace_options", "nocopy_trace_marker");
	text = fixture_read(w, "trace_options");
	assert_non_null(strstr(text, "\nnocopy_trace_marker\nnopause"));
	assert_non_null(strstr(text, "hash-ptr\nbitmask-list\n"));
	free(text);
	w->model->imported = true;
	w->model->release = strdup("6.15.3-1");
	assert_null(fixture_read(w, "options/copy_trace_marker"));
	assert_int_equal(fixture_write(w, "trace_options", "bitmask-list"), -EINVAL);
	strcpy(w->model->release, "6.16.0-1");
	assert_file(w, "options/copy_trace_marker", "0\n");
	assert_null(fixture_read(w, "options/bitmask-list"));
	strcpy(w->model->release, "7.0-rc1");
	assert_file(w, "options/bitmask-list", "1\n");
	fixture_new_server(w);
	assert_file(w, "options/copy_trace_marker", "0\n");
	assert_file(w, "options/bitmask-list", "1\n");
}

static void a_new_server_finds_settings_and_records(void **state)
{
	struct fixture *w = *state;
	char *text;

	assert_taken(w, "trace_clock", "mono");
	assert_taken(w, "buffer_size_kb", "100");
	assert_taken(w, "per_cpu/cpu1/buffer_size_kb", "50");
	assert_taken(w, "buffer_percent", "20");
	assert_taken(w, "tracing_cpumask", "3");
	assert_taken(w, "options/sym-addr", "1");
	assert_taken(w, "saved_cmdlines_size", "6553");
	assert_int_equal(tree_mkdir(w->tree, "instances/a"), 0);
	assert_taken(w, "options/sym-addr", "0");
	assert_taken(w, "instances/a/buffer_subbuf_size_kb", "8");
	assert_taken(w, "instances/a/events/test/first/enable", "1");
	assert_int_equal(fixture_append(w, "trace_marker", "before"), 6);
	assert_taken(w, "tracing_on", "0");
	fixture_new_server(w);
	assert_file(w, "trace_clock",
		    "local global counter uptime perf [mono] mono_raw boot tai x86-tsc\n");
	assert_file(w, "per_cpu/cpu0/buffer_size_kb", "103\n");
	assert_file(w, "per_cpu/cpu1/buffer_size_kb", "51\n");
	assert_file(w, "buffer_percent", "20\n");
	assert_file(w, "options/sym-addr", "0\n");
	assert_file(w, "saved_cmdlines_size", "19659\n");
	assert_file(w, "instances/a/options/sym-addr", "1\n");
	assert_file(w, "instances/a/buffer_subbuf_size_kb", "8\n");
	assert_file(w, "instances/a/events/test/first/enable", "1\n");
	assert_file(w, "tracing_on", "0\n");
	text = fixture_read(w, "trace");
	assert_non_null(text);
	assert_non_null(strstr(text, "tracing_mark_write: before"));
	free(text);
}

static int count_path(struct session *s, uint64_t id, const struct saved *o, const char *path,
		      const char *text, void *arg)
{
	const char *const *wanted = ((void **)arg)[0];
	unsigned int *nr = ((void **)arg)[1];

	*nr += !strcmp(path, wanted[0]) && !strcmp(text, wanted[1]);
	return 0;
}

static unsigned int nr_saved(struct fixture *w, const char *path, const char *text)
{
	unsigned int nr = 0;
	const char *const wanted[] = { path, text };
	void *arg[] = { (void *)wanted, &nr };

	session_saved_each(w->session, count_path, arg);
	return nr;
}

/* A restored tracer sets its options again. They are not saved with the tracer. */
static void a_restored_tracer_saves_its_options_beside_it(void **state)
{
	struct fixture *w = *state;

	assert_taken(w, "current_tracer", "irqsoff");
	for (int servers = 0; servers < 3; servers++) {
		assert_file(w, "options/latency-format", "1\n");
		assert_int_equal(nr_saved(w, "options/latency-format", "1"), 1);
		assert_int_equal(nr_saved(w, "current_tracer", "irqsoff"), 1);
		fixture_new_server(w);
	}
	assert_taken(w, "current_tracer", "nop");
	fixture_new_server(w);
	assert_file(w, "current_tracer", "nop\n");
	assert_file(w, "options/latency-format", "0\n");
	assert_int_equal(nr_saved(w, "current_tracer", "irqsoff"), 0);
	assert_int_equal(nr_saved(w, "options/latency-format", "1"), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(options_are_an_instance_s_and_those_of_tracers_everybody_s),
		TEST(a_new_instance_has_the_top_s_options),
		TEST(trace_printk_has_one_destination),
		TEST(texts_longer_than_their_room_are_refused),
		TEST(cpumasks_are_groups_of_digits),
		TEST(a_cpu_outside_the_mask_records_nothing),
		TEST(set_event_takes_a_word_a_write),
		TEST(saved_cmdlines_size_is_rounded_up),
		TEST(an_unknown_tracer_is_refused),
		TEST(options_of_newer_kernels_are_not_listed),
		TEST(a_new_server_finds_settings_and_records),
		TEST(a_restored_tracer_saves_its_options_beside_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
