/* SPDX-License-Identifier: MIT */
/*
 * graph_calls.c - which recorded entries and exits the settings take, and at which depth
 *
 * A test's story is a text: "a" enters function a, "A" returns from it. The depth is that of the
 * recording. The answer has what is taken, each with its new depth: "a0 b1 B1 A0".
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "sources/recording/calls.h"
#include "sources/recording/source_state.h"

enum { FUNCTION_SIZE = 64, SETS_MAX = 8, RECORD_SIZE = 40, PID = 4321 };

static struct source *source;
static char answer[512];

static uint64_t address(char function)
{
	return 0xffffffff81000000 + (uint64_t)(function - 'a') * FUNCTION_SIZE;
}

static int set_up(void **state)
{
	source = calloc(1, sizeof(*source));
	assert_non_null(source);
	source->window.memory.limit = 64 << 20;
	source->graph = (struct graph_layout){
		.entry_func = 8, .entry_depth = 16,
		.exit_func = 8, .exit_depth = 16, .exit_begin = 24, .exit_end = 32,
	};
	return 0;
}

static int tear_down(void **state)
{
	graph_tasks_destroy(source->graph_tasks);
	free(source);
	return 0;
}

/* The functions of a text, which are in order. */
static struct call_set set_of(struct call v[SETS_MAX], const char *functions)
{
	struct call_set set = { 0, v };

	for (; *functions; functions++)
		v[set.nr++] = (struct call){ address(*functions),
					     address(*functions) + FUNCTION_SIZE, 0 };
	return set;
}

/* A record of the current task, some bytes behind the function's start as in a kernel. */
static void record(const struct calls *calls, bool exit, char function, uint32_t depth, int32_t pid,
		   uint64_t took)
{
	const uint64_t func = address(function) + 4, begin = 1000, end = begin + took;
	uint8_t bytes[RECORD_SIZE] = { 0 };
	const struct subbuf_record r = { .data = bytes, .size = exit ? RECORD_SIZE : 20 };
	uint32_t as = 99;

	memcpy(bytes + 4, &pid, sizeof(pid));
	memcpy(bytes + 8, &func, sizeof(func));
	memcpy(bytes + 16, &depth, sizeof(depth));
	memcpy(bytes + 24, &begin, sizeof(begin));
	memcpy(bytes + 32, &end, sizeof(end));
	if (graph_calls_take(source, calls, &r, exit, 0, &as))
		sprintf(answer + strlen(answer), "%s%c%u", *answer ? " " : "",
			exit ? function - 'a' + 'A' : function, as);
}

/* Calls take 10 ns each, and those of function d 100 ns. */
static void play(const struct calls *calls, const char *story, int32_t pid)
{
	uint32_t depth = 0;

	for (; *story; story++) {
		const bool exit = *story < 'a';
		const char function = exit ? *story - 'A' + 'a' : *story;

		depth -= exit;
		record(calls, exit, function, depth, pid, function == 'd' ? 100 : 10);
		depth += !exit;
	}
}

static const char *played(const struct calls *calls, const char *story)
{
	*answer = '\0';
	graph_tasks_clear(source->graph_tasks);
	play(calls, story, PID);
	return answer;
}

static void filters_close_the_gaps_of_depth(void **state)
{
	struct call v[SETS_MAX];
	struct calls calls = { .filters = true, .filter = set_of(v, "acd") };

	assert_string_equal(played(&calls, "abcdDCBA"), "a0 c1 d2 D2 C1 A0");
	calls = (struct calls){ .notrace = set_of(v, "ac") };
	assert_string_equal(played(&calls, "abcdDCBA"), "b0 d1 D1 B0");
}

static void a_chosen_function_is_the_first_level(void **state)
{
	struct call v[SETS_MAX];
	struct calls calls = { .graphs = true, .graph = set_of(v, "b") };

	assert_string_equal(played(&calls, "abcCBdDA"), "b0 c1 C1 B0");
	/* A chosen function within itself ends nothing when it returns. */
	assert_string_equal(played(&calls, "bbBcCB"), "b0 b1 B1 c1 C1 B0");
	calls.max_depth = 1;
	assert_string_equal(played(&calls, "abcCBbB"), "b0 B0 b0 B0");
}

static void a_hidden_function_hides_what_it_calls(void **state)
{
	struct call v[SETS_MAX], w[SETS_MAX];
	struct calls calls = { .nograph = set_of(v, "b") };

	assert_string_equal(played(&calls, "abcCBdDA"), "a0 d1 D1 A0");
	/* Also what set_graph_function names */
	calls.graphs = true;
	calls.graph = set_of(w, "bc");
	assert_string_equal(played(&calls, "abcCBcCA"), "c0 C0");
}

static void calls_below_the_limit_are_not_on_the_stack(void **state)
{
	struct calls calls = { .max_depth = 2 };

	assert_string_equal(played(&calls, "abcdDCBA"), "a0 b1 B1 A0");
}

static void a_threshold_takes_exits_alone(void **state)
{
	struct calls calls = { .thresh = 100 };

	assert_string_equal(played(&calls, "abBdDA"), "D1");
}

static void a_filter_before_a_choice_is_not_entered(void **state)
{
	struct call v[SETS_MAX], w[SETS_MAX];
	/* The tracer is not called for b, so it does not see that b is chosen. */
	struct calls calls = { .graphs = true, .graph = set_of(v, "b"), .notrace = set_of(w, "b") };

	assert_string_equal(played(&calls, "abcCBA"), "");
}

static void exits_without_entries(void **state)
{
	struct call v[SETS_MAX];
	struct calls calls = { .max_depth = 2 };

	/* The recording begins inside of three calls. */
	*answer = '\0';
	graph_tasks_clear(source->graph_tasks);
	for (uint32_t depth = 3; depth--; )
		record(&calls, true, (char)('a' + depth), depth, PID, 10);
	assert_string_equal(answer, "B1 A0");
	calls = (struct calls){ .graphs = true, .graph = set_of(v, "b") };
	*answer = '\0';
	graph_tasks_clear(source->graph_tasks);
	record(&calls, true, 'b', 1, PID, 10);
	assert_string_equal(answer, "");
}

/* The interrupt c comes while b, at depth 2, is on the stack, and its entry is not recorded. */
static void an_interrupt_comes_before_an_entry(void **state)
{
	struct call v[SETS_MAX];
	const struct calls calls = { .graphs = true, .graph = set_of(v, "a") };

	*answer = '\0';
	graph_tasks_clear(source->graph_tasks);
	record(&calls, false, 'd', 0, PID, 10);
	record(&calls, false, 'a', 1, PID, 10);
	record(&calls, false, 'c', 3, PID, 10);
	record(&calls, true, 'c', 3, PID, 10);
	record(&calls, false, 'b', 2, PID, 10);
	assert_string_equal(answer, "a0 c2 C2 b1");
}

static void a_lost_exit_leaves_nothing_open(void **state)
{
	struct call v[SETS_MAX];
	struct calls calls = { .graphs = true, .graph = set_of(v, "b") };

	*answer = '\0';
	graph_tasks_clear(source->graph_tasks);
	play(&calls, "ab", PID);
	record(&calls, false, 'c', 1, PID, 10);
	record(&calls, false, 'd', 0, PID, 10);
	assert_string_equal(answer, "b0");
}

static void tasks_do_not_meet(void **state)
{
	struct call v[SETS_MAX];
	struct calls calls = { .graphs = true, .graph = set_of(v, "b") };

	*answer = '\0';
	graph_tasks_clear(source->graph_tasks);
	play(&calls, "ab", PID);
	play(&calls, "acCA", PID + 1024);
	play(&calls, "acCA", PID + 1);
	assert_string_equal(answer, "b0");
}

static void numbers_of_no_kernel(void **state)
{
	static const uint32_t depths[] = { 49, 63, 64, 65, INT32_MAX, UINT32_MAX };
	static const int32_t pids[] = { 0, -1, INT32_MIN, INT32_MAX, 4194303, 4194304 };
	struct call v[SETS_MAX], w[SETS_MAX];
	struct calls calls = { .filters = true, .filter = set_of(v, "ab"), .max_depth = 3,
			       .notrace = set_of(w, "b") };

	for (size_t i = 0; i < sizeof(depths) / sizeof(depths[0]); i++)
		for (size_t k = 0; k < sizeof(pids) / sizeof(pids[0]); k++) {
			*answer = '\0';
			record(&calls, false, 'b', depths[i], pids[k], 10);
			record(&calls, true, 'b', depths[i], pids[k], 10);
			assert_string_equal(answer, "");
		}
}

static void records_that_are_too_short(void **state)
{
	struct calls calls = { .thresh = 1 };
	uint32_t depth;

	for (uint32_t size = 8; size < RECORD_SIZE; size++) {
		/* A sanitizer watches the end of the record. */
		uint8_t *bytes = calloc(1, size);
		const struct subbuf_record r = { .data = bytes, .size = size };

		assert_non_null(bytes);
		graph_calls_take(source, &calls, &r, false, 0, &depth);
		assert_false(graph_calls_take(source, &calls, &r, true, 0, &depth));
		free(bytes);
	}
}

static void no_memory_takes_all(void **state)
{
	struct call v[SETS_MAX];
	struct calls calls = { .graphs = true, .graph = set_of(v, "b") };

	source->window.memory.limit = 0;
	assert_string_equal(played(&calls, "acCA"), "a0 c1 C1 A0");
}

int main(void)
{
#define TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(filters_close_the_gaps_of_depth),
		TEST(a_chosen_function_is_the_first_level),
		TEST(a_hidden_function_hides_what_it_calls),
		TEST(calls_below_the_limit_are_not_on_the_stack),
		TEST(a_threshold_takes_exits_alone),
		TEST(a_filter_before_a_choice_is_not_entered),
		TEST(exits_without_entries),
		TEST(an_interrupt_comes_before_an_entry),
		TEST(a_lost_exit_leaves_nothing_open),
		TEST(tasks_do_not_meet),
		TEST(numbers_of_no_kernel),
		TEST(records_that_are_too_short),
		TEST(no_memory_takes_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
