/* SPDX-License-Identifier: MIT */
/*
 * ftrace_groups.c - sites with the same ops share a group; the plans of groups; when a number is
 * used again
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ftrace_fixture.h"
#include "model/ftrace/group.h"
#include "model/instance/options.h"
#include "model/instance/pids.h"
#include "plane/hit.h"

#define TEST(name) cmocka_unit_test_setup_teardown(name, functions_setup, functions_teardown)

static uint32_t word(uint64_t ip)
{
	return functions_word(ip);
}

static uint32_t group(uint64_t ip)
{
	return functions_word(ip) & SITE_GROUP;
}

static const struct plan *plan_at(struct fixture *f, uint32_t entry)
{
	return plan_of(session_plane(f->session), (uint16_t)entry);
}

/* ---- Groups ---- */

static void sites_of_the_same_ops_share_a_group(void **state)
{
	struct fixture *f = *state;
	struct instance *foo;

	assert_int_equal(instance_create(f->model, "foo", &foo), 0);
	assert_int_equal(ftrace_ops_enable(functions_ops(f->top)), 0);
	assert_int_equal(functions_told(), 5);
	assert_int_equal(group(0x1000), LAYOUT_GROUPS_AT);
	for (uint64_t ip = 0x1000; ip <= 0x1030; ip += 16)
		assert_int_equal(word(ip), word(0x1000));
	assert_int_equal(edit(foo, FTRACE_FILE_FILTER, true, "beta gamma\n"), 0);
	assert_int_equal(ftrace_ops_enable(functions_ops(foo)), 0);
	assert_int_equal(functions_told(), 2);
	assert_int_equal(word(0x1010), word(0x1020));
	assert_int_equal(word(0x1010), LAYOUT_GROUPS_AT + GROUP_ENTRIES);
	assert_int_equal(word(0x1000), LAYOUT_GROUPS_AT);
	assert_int_equal(functions_call(f, 0x1000), 1 << f->top->index);
	assert_int_equal(plan_at(f, group(0x1010))->nr_arms, 2);
	assert_int_equal(plan_at(f, group(0x1010))->event_id, LAYOUT_FUNCTION_ID);
	assert_null(plan_at(f, group(0x1010) + GROUP_GRAPH));
}

static void what_ends_has_no_arm_at_once_and_its_group_no_site(void **state)
{
	struct fixture *f = *state;
	struct instance *foo;
	uint32_t both;

	assert_int_equal(instance_create(f->model, "foo", &foo), 0);
	assert_int_equal(ftrace_ops_enable(functions_ops(f->top)), 0);
	assert_int_equal(ftrace_ops_enable(functions_ops(foo)), 0);
	both = group(0x1000);
	ftrace_ops_disable(functions_ops(foo));
	assert_int_equal(group(0x1000), LAYOUT_GROUPS_AT);
	/* A program that has not answered yet uses the old group, whose plan has one arm left. */
	assert_int_equal(plan_at(f, both)->nr_arms, 1);
	assert_int_equal(plan_at(f, both)->kind, PLAN_RECORD);
	assert_int_equal(functions_hit(f, both, (struct hit){ 0 }, 0x1000, 42), 1 << f->top->index);
	/* Nor does a thread that has read the word, and goes on only now. */
	ftrace_groups_settled(f->model->ftrace, 1000000);
	assert_int_equal(functions_hit(f, both, (struct hit){ 0 }, 0x1000, 42), 1 << f->top->index);
	ftrace_groups_settled(f->model->ftrace, 0);
	assert_null(plan_at(f, both));
	ftrace_ops_disable(functions_ops(f->top));
	assert_int_equal(word(0x1000), 0);
	assert_null(plan_at(f, LAYOUT_GROUPS_AT));
}

static void numbers_come_again_last_of_all(void **state)
{
	struct fixture *f = *state;
	const uint32_t nr = (LAYOUT_GRAPH_EXIT - LAYOUT_GROUPS_AT) / GROUP_ENTRIES;

	for (uint32_t i = 0; i < nr; i++) {
		assert_int_equal(ftrace_ops_enable(functions_ops(f->top)), 0);
		assert_int_equal(group(0x1000), LAYOUT_GROUPS_AT + i * GROUP_ENTRIES);
		ftrace_ops_disable(functions_ops(f->top));
	}
	/* No program has answered, so programs may still use all numbers. */
	assert_int_equal(ftrace_ops_enable(functions_ops(f->top)), -ENOSPC);
	assert_int_equal(word(0x1000), 0);
	assert_false(functions_ops(f->top)->enabled);
	ftrace_groups_settled(f->model->ftrace, 0);
	assert_int_equal(ftrace_ops_enable(functions_ops(f->top)), 0);
	assert_int_equal(group(0x1000), LAYOUT_GROUPS_AT);
}

static void a_graph_has_its_own_entries(void **state)
{
	struct fixture *f = *state;
	struct ftrace_ops *ops = functions_ops(f->top);

	assert_int_equal(edit(f->top, FTRACE_FILE_GRAPH, true, "beta\n"), 0);
	assert_int_equal(edit(f->top, FTRACE_FILE_GRAPH_NOTRACE, true, "gamma\n"), 0);
	ops->kind = FTRACE_OPS_GRAPH;
	assert_int_equal(ftrace_ops_enable(ops), 0);
	assert_null(plan_at(f, group(0x1000) + GROUP_FUNCTION));
	assert_int_equal(plan_at(f, group(0x1000) + GROUP_GRAPH)->event_id, LAYOUT_GRAPH_ENTRY_ID);
	assert_int_equal(plan_at(f, LAYOUT_GRAPH_EXIT)->event_id, LAYOUT_GRAPH_EXIT_ID);
	assert_int_equal(word(0x1000), group(0x1000) | SITE_HOOKED);
	assert_int_equal(word(0x1010), group(0x1000) | SITE_HOOKED | SITE_IN_GRAPH);
	assert_int_equal(word(0x1020), group(0x1000) | SITE_HOOKED | SITE_IN_GRAPH_NOTRACE);
	ftrace_ops_disable(ops);
	assert_null(plan_at(f, LAYOUT_GRAPH_EXIT));
}

enum { MANY = 200000, MANY_AT = 0x100000 };

static struct ftrace_page *add_many(struct model *m)
{
	struct ftrace_new_site *sites = calloc(MANY, sizeof(*sites));
	char (*names)[16] = calloc(MANY, sizeof(*names));
	struct ftrace_page *page;

	assert_non_null(sites);
	assert_non_null(names);
	for (uint32_t i = 0; i < MANY; i++) {
		snprintf(names[i], sizeof(names[i]), "%s_%u", i % 3 ? "odd" : "even", i);
		sites[i] = (struct ftrace_new_site){ MANY_AT + i * 16, names[i], false, NULL };
	}
	assert_int_equal(ftrace_sites_add(m, "libmany", sites, MANY, &page), 0);
	free(sites);
	free(names);
	return page;
}

static void many_sites_have_few_groups(void **state)
{
	struct fixture *f = *state;
	struct ftrace_page *page = add_many(f->model);
	struct instance *foo;

	assert_int_equal(instance_create(f->model, "foo", &foo), 0);
	assert_int_equal(edit(foo, FTRACE_FILE_FILTER, true, "even*\n"), 0);
	assert_int_equal(edit(f->top, FTRACE_FILE_FILTER, true, "odd*:traceoff:3\n"), 0);
	assert_int_equal(ftrace_ops_enable(functions_ops(f->top)), 0);
	assert_int_equal(ftrace_ops_enable(functions_ops(foo)), 0);
	assert_int_equal(functions_told(), (MANY + 2) / 3);
	for (uint32_t i = 0; i < MANY; i++)
		assert_int_equal(ftrace_groups_word(f->model->ftrace, &page->sites[i]),
				 ftrace_groups_word(f->model->ftrace, &page->sites[i % 3 ? 1 : 0]));
	assert_int_not_equal(ftrace_groups_word(f->model->ftrace, &page->sites[0]),
			     ftrace_groups_word(f->model->ftrace, &page->sites[1]));
	assert_int_equal(
		plan_at(f, ftrace_groups_word(f->model->ftrace, &page->sites[1]) & SITE_GROUP)
			->nr_arms,
		2);
}

/*
 * alpha keeps all its commands, and beta has another set of them each time. Groups without a site
 * are found and removed.
 */
static void sets_that_no_site_has_are_found_when_there_are_many(void **state)
{
	struct fixture *f = *state;
	const char *commands[] = { "traceon", "traceoff", "stacktrace",
				  "traceon:1", "traceoff:1", "stacktrace:1",
				  "cpudump", "dump", "enable_event:test:all" };
	char text[128];

	for (int c = 0; c < 9; c++) {
		snprintf(text, sizeof(text), "alpha:%s\n", commands[c]);
		assert_int_equal(edit(f->top, FTRACE_FILE_FILTER, false, text), 0);
	}
	for (int i = 1; i < 1 << 9; i++) {
		const int c = __builtin_ctz((unsigned int)i), gray = i ^ i >> 1;

		snprintf(text, sizeof(text), "%sbeta:%s\n", gray >> c & 1 ? "" : "!", commands[c]);
		assert_int_equal(edit(f->top, FTRACE_FILE_FILTER, false, text), 0);
		ftrace_groups_settled(f->model->ftrace, 0);
	}
	assert_in_range(f->model->ftrace->groups->nr, 2, 256);
	assert_int_equal(plan_at(f, group(0x1000))->nr_arms, 9);
	assert_int_equal(plan_at(f, group(0x1010))->nr_arms, 1);
}

/* ---- Hits ---- */

static void the_mask_says_which_instances(void **state)
{
	struct fixture *f = *state;
	struct instance *foo;

	assert_int_equal(instance_create(f->model, "foo", &foo), 0);
	assert_int_equal(ftrace_ops_enable(functions_ops(f->top)), 0);
	assert_int_equal(ftrace_ops_enable(functions_ops(foo)), 0);
	assert_int_equal(functions_call(f, 0x1000), 1u << f->top->index | 1u << foo->index);
	assert_int_equal(functions_hit(f, group(0x1000), (struct hit){ .mask = 1u << foo->index },
				       0x1000, 42),
			 1u << foo->index);
}

static void who_wants_a_record_can_be_asked(void **state)
{
	struct fixture *f = *state;
	struct instance *foo;

	assert_int_equal(instance_create(f->model, "foo", &foo), 0);
	assert_int_equal(ftrace_ops_enable(functions_ops(f->top)), 0);
	assert_int_equal(ftrace_ops_enable(functions_ops(foo)), 0);
	assert_int_equal(edit(f->top, FTRACE_FILE_FILTER, false, "alpha:traceoff\n"), 0);
	assert_int_equal(pids_write(foo, PIDS_FUNCTION, "7\n", 2), 2);
	assert_int_equal(functions_hit(f, group(0x1000), (struct hit){ .ask = true }, 0x1000, 42),
			 1 << f->top->index);
	assert_int_equal(functions_hit(f, group(0x1000), (struct hit){ .ask = true }, 0x1000, 7),
			 1 << f->top->index | 1 << foo->index);
	/* The hits with `ask` did nothing. */
	assert_int_equal(atomic_load(&f->top->state->tracing_on), 1);
	assert_string_equal(functions_ring(f, f->top, 0), "");
}

static void pids_choose_and_are_asked_for_only_where_there_are_some(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(ftrace_ops_enable(functions_ops(f->top)), 0);
	assert_int_equal(plan_at(f, group(0x1000))->kind, PLAN_RECORD);
	assert_int_equal(pids_write(f->top, PIDS_FUNCTION, "7\n", 2), 2);
	assert_int_equal(plan_at(f, group(0x1000))->kind, PLAN_FUNCTION);
	assert_int_equal(functions_call(f, 0x1000), 0);
	assert_int_equal(functions_hit(f, group(0x1000), (struct hit){ 0 }, 0x1000, 7), 1);
	pids_clear(f->top, PIDS_FUNCTION);
	assert_int_equal(pids_write(f->top, PIDS_NO_FUNCTION, "7\n", 2), 2);
	assert_int_equal(functions_call(f, 0x1000), 1);
	assert_int_equal(functions_hit(f, group(0x1000), (struct hit){ 0 }, 0x1000, 7), 0);
	pids_clear(f->top, PIDS_NO_FUNCTION);
	assert_int_equal(plan_at(f, group(0x1000))->kind, PLAN_RECORD);
}

static void a_latency_tracer_has_only_what_is_in_a_section(void **state)
{
	struct fixture *f = *state;

	functions_ops(f->top)->section = ARM_SECTION;
	assert_int_equal(ftrace_ops_enable(functions_ops(f->top)), 0);
	assert_int_equal(functions_call(f, 0x1000), 0);
	assert_int_equal(
		functions_hit(f, group(0x1000), (struct hit){ .section = true }, 0x1000, 42), 1);
}

static void a_wakeup_is_a_section_of_its_own(void **state)
{
	struct fixture *f = *state;

	functions_ops(f->top)->section = ARM_SECTION | ARM_WAKEUP;
	assert_int_equal(ftrace_ops_enable(functions_ops(f->top)), 0);
	assert_int_equal(plan_at(f, group(0x1000))->wants, PLAN_ONLY_SECTIONS);
	assert_int_equal(
		functions_hit(f, group(0x1000), (struct hit){ .section = true }, 0x1000, 42), 0);
	assert_int_equal(functions_hit(f, group(0x1000), (struct hit){ .woken = true }, 0x1000, 42),
			 1);
	assert_int_equal(functions_hit(f, group(0x1000),
				       (struct hit){ .ask = true, .section = true }, 0x1000, 42),
			 0);
	assert_int_equal(functions_hit(f, group(0x1000), (struct hit){ .ask = true, .woken = true },
				       0x1000, 42),
			 1);
	ftrace_ops_disable(functions_ops(f->top));
	functions_ops(f->top)->section = ARM_SECTION;
	assert_int_equal(ftrace_ops_enable(functions_ops(f->top)), 0);
	assert_int_equal(functions_hit(f, group(0x1000), (struct hit){ .woken = true }, 0x1000, 42),
			 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(sites_of_the_same_ops_share_a_group),
		TEST(what_ends_has_no_arm_at_once_and_its_group_no_site),
		TEST(numbers_come_again_last_of_all),
		TEST(a_graph_has_its_own_entries),
		TEST(many_sites_have_few_groups),
		TEST(sets_that_no_site_has_are_found_when_there_are_many),
		TEST(the_mask_says_which_instances),
		TEST(who_wants_a_record_can_be_asked),
		TEST(pids_choose_and_are_asked_for_only_where_there_are_some),
		TEST(a_latency_tracer_has_only_what_is_in_a_section),
		TEST(a_wakeup_is_a_section_of_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
