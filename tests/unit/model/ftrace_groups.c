/* SPDX-License-Identifier: MIT */
/* ftrace_groups.c - sites that the same ops trace share a group; what its plans do; numbers that are given anew */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "model/ftrace_groups.h"
#include "model/options.h"
#include "model/pids.h"
#include "plane/hit.h"

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static const char functions[] = "1000 alpha\n1010 beta\n1020 gamma\n1030 delta\n2000 load [libone]\n";

static const char function_format[] = "name: function\nID: 1\nformat:\n"
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
	"\tfield:unsigned long ip;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned long parent_ip;\toffset:16;\tsize:8;\tsigned:0;\n"
	"\nprint fmt: \"\"\n";

struct telling {
	struct ftrace	*ft;
	size_t		nr;		/* sites in the last change */
	uint32_t	words[64];	/* by (ip >> 4) & 63: as a program has them */
};

static struct telling told;

/* As the source of running programs does. */
static void changed(void *arg, const struct ftrace_change *list, size_t nr)
{
	struct telling *t = arg;

	t->nr = nr;
	for (size_t i = 0; i < nr; i++)
		t->words[list[i].site->ip >> 4 & 63] = ftrace_groups_word(t->ft, list[i].site);
}

static struct ftrace_ops *function_of(struct instance *inst)
{
	return &ftrace_of_instance(inst)->function;
}

static int setup(void **state)
{
	struct fixture *f;
	struct ftrace *ft;

	if (fixture_setup(state))
		return -1;
	f = *state;
	ft = ftrace_of(f->model);
	assert_int_equal(model_add_event(f->model, "ftrace", function_format, strlen(function_format), NULL), 0);
	assert_int_equal(ftrace_sites_load(f->model, functions, strlen(functions)), 0);
	told = (struct telling){ .ft = ft };
	ft->changed = changed;
	ft->changed_arg = &told;
	ft->offered = true;
	f->model->source_bytes = calloc(f->model->nr_cpus, sizeof(uint64_t));
	for (uint32_t i = 0; i < f->model->nr_cpus; i++)
		f->model->source_bytes[i] = 1 << 20;
	assert_int_equal(instance_expand(f->top), 0);
	assert_int_equal(model_source_rings(f->model), 0);
	atomic_store(&f->top->state->tracing_on, 1);
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	free(f->model->source_bytes);
	return fixture_teardown(state);
}

static uint32_t word(uint64_t ip)
{
	return told.words[ip >> 4 & 63];
}

static uint32_t group(uint64_t ip)
{
	return word(ip) & SITE_GROUP;
}

static int edit(struct instance *inst, enum ftrace_file file, bool truncate, const char *text)
{
	struct ftrace_edit *e = ftrace_edit_open(inst, file, truncate);
	size_t len = strlen(text), off = 0;
	ssize_t n = 0;

	while (off < len && (n = ftrace_edit_write(e, text + off, len - off)) > 0)
		off += (size_t)n;
	ftrace_edit_close(e);
	return n < 0 ? (int)n : 0;
}

/* A call of the function, as a program makes it. -> in which instances it was recorded */
struct record {
	struct record_common common;
	uint64_t	ip, parent_ip;
};

static uint64_t call_entry(struct fixture *f, uint32_t entry, struct hit h, uint64_t ip, int32_t pid)
{
	struct record r = { .common = { .type = LAYOUT_FUNCTION_ID, .pid = pid }, .ip = ip, .parent_ip = 0x9000 };
	struct slot *slot = session_slot_get(f->session);
	uint64_t mask;

	h.record = &r;
	h.size = sizeof(r);
	h.time = h.time ? h.time : 1000;
	h.writer = 1;	/* as a source: no restartable section */
	h.entry = entry;
	mask = session_hit(f->session, slot, &h);
	session_slot_put(f->session, slot);
	return mask;
}

static uint64_t call(struct fixture *f, uint64_t ip)
{
	return call_entry(f, group(ip) + GROUP_FUNCTION, (struct hit){ 0 }, ip, 42);
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
	assert_int_equal(ftrace_ops_enable(function_of(f->top)), 0);
	assert_int_equal(told.nr, 5);
	assert_int_equal(group(0x1000), LAYOUT_GROUPS_AT);
	for (uint64_t ip = 0x1000; ip <= 0x1030; ip += 16)
		assert_int_equal(word(ip), word(0x1000));
	assert_int_equal(edit(foo, FTRACE_FILE_FILTER, true, "beta gamma\n"), 0);
	assert_int_equal(ftrace_ops_enable(function_of(foo)), 0);
	assert_int_equal(told.nr, 2);
	assert_int_equal(word(0x1010), word(0x1020));
	assert_int_equal(word(0x1010), LAYOUT_GROUPS_AT + GROUP_ENTRIES);
	assert_int_equal(word(0x1000), LAYOUT_GROUPS_AT);
	assert_int_equal(call(f, 0x1000), 1 << f->top->index);
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
	assert_int_equal(ftrace_ops_enable(function_of(f->top)), 0);
	assert_int_equal(ftrace_ops_enable(function_of(foo)), 0);
	both = group(0x1000);
	ftrace_ops_disable(function_of(foo));
	assert_int_equal(group(0x1000), LAYOUT_GROUPS_AT);
	/* A program that has not answered yet does what is left. */
	assert_int_equal(plan_at(f, both)->nr_arms, 1);
	assert_int_equal(plan_at(f, both)->shape, PLAN_RECORD);
	assert_int_equal(call_entry(f, both, (struct hit){ 0 }, 0x1000, 42), 1 << f->top->index);
	ftrace_groups_settled(told.ft);
	assert_null(plan_at(f, both));
	ftrace_ops_disable(function_of(f->top));
	assert_int_equal(word(0x1000), 0);
	assert_null(plan_at(f, LAYOUT_GROUPS_AT));
}

static void numbers_come_again_last_of_all(void **state)
{
	struct fixture *f = *state;
	const uint32_t nr = (LAYOUT_GRAPH_EXIT - LAYOUT_GROUPS_AT) / GROUP_ENTRIES;

	for (uint32_t i = 0; i < nr; i++) {
		assert_int_equal(ftrace_ops_enable(function_of(f->top)), 0);
		assert_int_equal(group(0x1000), LAYOUT_GROUPS_AT + i * GROUP_ENTRIES);
		ftrace_ops_disable(function_of(f->top));
	}
	/* No program has answered: all numbers may be held. */
	assert_int_equal(ftrace_ops_enable(function_of(f->top)), -ENOSPC);
	assert_int_equal(word(0x1000), 0);
	assert_false(function_of(f->top)->enabled);
	ftrace_groups_settled(told.ft);
	assert_int_equal(ftrace_ops_enable(function_of(f->top)), 0);
	assert_int_equal(group(0x1000), LAYOUT_GROUPS_AT);
}

static void a_graph_has_its_own_entries(void **state)
{
	struct fixture *f = *state;
	struct ftrace_ops *ops = function_of(f->top);

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

/* ---- Hits ---- */

static void the_mask_says_which_instances(void **state)
{
	struct fixture *f = *state;
	struct instance *foo;

	assert_int_equal(instance_create(f->model, "foo", &foo), 0);
	assert_int_equal(ftrace_ops_enable(function_of(f->top)), 0);
	assert_int_equal(ftrace_ops_enable(function_of(foo)), 0);
	assert_int_equal(call(f, 0x1000), 1u << f->top->index | 1u << foo->index);
	assert_int_equal(call_entry(f, group(0x1000), (struct hit){ .mask = 1u << foo->index }, 0x1000, 42),
			 1u << foo->index);
}

static void pids_choose_and_are_asked_for_only_where_there_are_some(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(ftrace_ops_enable(function_of(f->top)), 0);
	assert_int_equal(plan_at(f, group(0x1000))->shape, PLAN_RECORD);
	assert_int_equal(pids_write(f->top, PIDS_FUNCTION, "7\n", 2), 2);
	assert_int_equal(plan_at(f, group(0x1000))->shape, PLAN_ANY);
	assert_int_equal(call(f, 0x1000), 0);
	assert_int_equal(call_entry(f, group(0x1000), (struct hit){ 0 }, 0x1000, 7), 1);
	pids_clear(f->top, PIDS_FUNCTION);
	assert_int_equal(pids_write(f->top, PIDS_NO_FUNCTION, "7\n", 2), 2);
	assert_int_equal(call(f, 0x1000), 1);
	assert_int_equal(call_entry(f, group(0x1000), (struct hit){ 0 }, 0x1000, 7), 0);
	pids_clear(f->top, PIDS_NO_FUNCTION);
	assert_int_equal(plan_at(f, group(0x1000))->shape, PLAN_RECORD);
}

static void a_latency_tracer_has_only_what_is_in_a_section(void **state)
{
	struct fixture *f = *state;

	function_of(f->top)->section = true;
	assert_int_equal(ftrace_ops_enable(function_of(f->top)), 0);
	assert_int_equal(call(f, 0x1000), 0);
	assert_int_equal(call_entry(f, group(0x1000), (struct hit){ .section = true }, 0x1000, 42), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(sites_of_the_same_ops_share_a_group),
		TEST(what_ends_has_no_arm_at_once_and_its_group_no_site),
		TEST(numbers_come_again_last_of_all),
		TEST(a_graph_has_its_own_entries),
		TEST(the_mask_says_which_instances),
		TEST(pids_choose_and_are_asked_for_only_where_there_are_some),
		TEST(a_latency_tracer_has_only_what_is_in_a_section),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
