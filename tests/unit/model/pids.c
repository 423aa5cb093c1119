/* SPDX-License-Identifier: MIT */
/* pids.c - set_event_pid: what can be written, what is read back, what hits see */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "model/instance/options.h"
#include "model/instance/pids.h"

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

static ssize_t write_pids(struct fixture *f, const char *text)
{
	return pids_write(f->top, PIDS_TRACE, text, strlen(text));
}

static void what_is_taken(void **state)
{
	static const struct {
		const char *text;
		ssize_t ret;
		const char *reads;
	} cases[] = {
		{ "1\n", 2, "1\n" },
		{ "3 1\t2\n", 6, "1\n2\n3\n" },
		{ "0", 1, "0\n" },
		{ "5\n6\n", 4, "5\n6\n" },
		{ "0x10", 4, "16\n" },
		{ "010", 3, "8\n" },
		{ " \n", 2, "" },
		{ "", 0, "" },
		{ "4194303", 7, "4194303\n" },
		{ "4194304", 7, "4194304\n" },
		{ "99999999 1", 10, "1\n99999999\n" },
		{ "1073741823", 10, "1073741823\n" },
		{ "1073741824", -EPERM, "" },
		{ "4294967297", 10, "1\n" },
		{ "-1", -EINVAL, "" },
		{ "abc", -EINVAL, "" },
		{ "1,2", -EINVAL, "" },
		{ "1 abc", -EINVAL, "" },
		{ "!1", -EINVAL, "" },
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(write_pids(f, cases[i].text), cases[i].ret);
		assert_prints(pids_print(f->top, PIDS_TRACE, out), cases[i].reads);
		pids_clear(f->top, PIDS_TRACE);
	}
}

static void writes_add_up_and_errors_change_nothing(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(write_pids(f, "1 2\n"), 4);
	assert_int_equal(write_pids(f, "7\n"), 2);
	assert_int_equal(write_pids(f, "8 x\n"), -EINVAL);
	assert_int_equal(write_pids(f, "5000000 5000000\n"), 16);
	assert_prints(pids_print(f->top, PIDS_TRACE, out), "1\n2\n7\n5000000\n");
	assert_prints(pids_print(f->top, PIDS_NOTRACE, out), "");
}

static void hits_see_the_set(void **state)
{
	struct fixture *f = *state;
	struct pid_set *set;
	data_ref ref;

	assert_int_equal(atomic_load(&f->top->state->pids), 0);
	assert_int_equal(write_pids(f, "70\n"), 3);
	ref = atomic_load(&f->top->state->pids);
	set = session_data(f->session, ref, sizeof(*set));
	assert_non_null(set);
	assert_int_equal(set->bits[1], 1 << 6);
	assert_int_equal(set->bits[0], 0);
	pids_clear(f->top, PIDS_TRACE);
	assert_int_equal(atomic_load(&f->top->state->pids), 0);
}

static void what_hits_add_is_printed(void **state)
{
	struct fixture *f = *state;
	struct pid_set *set;

	assert_int_equal(write_pids(f, "1\n"), 2);
	set = session_data(f->session, atomic_load(&f->top->state->pids), sizeof(*set));
	set->bits[0] |= 1 << 9;
	assert_prints(pids_print(f->top, PIDS_TRACE, out), "1\n9\n");
}

static void a_long_word_is_refused(void **state)
{
	struct fixture *f = *state;
	char text[129];

	memset(text, '0', sizeof(text));
	assert_int_equal(pids_write(f->top, PIDS_TRACE, text, 127), 127);
	assert_int_equal(pids_write(f->top, PIDS_TRACE, text, 128), -EINVAL);
}

/* ---- Ends of tasks ---- */

static uint64_t alive;	/* by pid below 64 */

static bool lives(uint32_t pid)
{
	return pid < 64 && (alive >> pid & 1);
}

static void with_the_option_who_ends_leaves(void **state)
{
	struct fixture *f = *state;

	f->model->task_lives = lives;
	alive = 1 << 5 | 1 << 6 | 1 << 7;
	assert_int_equal(write_pids(f, "5 6 7 8 99999\n"), 14);
	alive = 1 << 5 | 1 << 6;
	assert_prints(pids_print(f->top, PIDS_TRACE, out), "5\n6\n7\n8\n99999\n");
	/* Pids whose tasks ended before the option was set stay, and so do pids without a task. */
	assert_int_equal(option_set(f->top, OPTION_EVENT_FORK, true), 0);
	alive = 1 << 5 | 1 << 8;
	assert_prints(pids_print(f->top, PIDS_TRACE, out), "5\n7\n8\n99999\n");
	/* A task 8 has lived since. It and task 5 have ended now. */
	alive = 0;
	assert_prints(pids_print(f->top, PIDS_TRACE, out), "7\n99999\n");
	assert_int_equal(write_pids(f, "9\n"), 2);
	assert_prints(pids_print(f->top, PIDS_TRACE, out), "7\n9\n99999\n");
}

static void each_option_is_for_its_own_sets(void **state)
{
	struct fixture *f = *state;

	f->model->task_lives = lives;
	alive = 1 << 5;
	for (int kind = 0; kind < PIDS_KINDS; kind++)
		assert_int_equal(pids_write(f->top, (enum pids_kind)kind, "5\n", 2), 2);
	assert_int_equal(option_set(f->top, OPTION_FUNCTION_FORK, true), 0);
	alive = 0;
	pids_sweep(f->model);
	assert_prints(pids_print(f->top, PIDS_TRACE, out), "5\n");
	assert_prints(pids_print(f->top, PIDS_NOTRACE, out), "5\n");
	assert_prints(pids_print(f->top, PIDS_FUNCTION, out), "");
	assert_prints(pids_print(f->top, PIDS_NO_FUNCTION, out), "");
}

static void tasks_of_a_recording_do_not_end(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(option_set(f->top, OPTION_EVENT_FORK, true), 0);
	assert_int_equal(write_pids(f, "5 6\n"), 4);
	pids_sweep(f->model);
	assert_prints(pids_print(f->top, PIDS_TRACE, out), "5\n6\n");
}

static uint64_t asked;

static bool ended(uint32_t pid)
{
	(void)pid;
	asked++;
	return false;
}

/* A program that writes to the session's memory may leave a set like this. */
static struct pid_set *fill(struct fixture *f, struct instance *inst)
{
	struct pid_set *set;

	assert_int_equal(option_set(inst, OPTION_EVENT_FORK, true), 0);
	assert_int_equal(pids_write(inst, PIDS_TRACE, "1\n", 2), 2);
	set = session_data(f->session, atomic_load(&inst->state->pids), sizeof(*set));
	memset(set, 0xff, sizeof(*set));
	return set;
}

static void a_sweep_has_one_bound_for_all_sets(void **state)
{
	struct fixture *f = *state;
	struct pid_set *sets[8];
	struct instance *inst;
	char name[] = "a";

	f->model->task_lives = ended;
	sets[0] = fill(f, f->top);
	for (int i = 1; i < 8; i++, name[0]++) {
		assert_int_equal(instance_create(f->model, name, &inst), 0);
		sets[i] = fill(f, inst);
	}
	asked = 0;
	pids_sweep(f->model);
	assert_in_range(asked, 1, 1 << 16);
	/* A sweep does a part of each set, and the next sweep continues there. */
	for (int i = 0; i < 8; i++) {
		assert_int_equal(sets[i]->bits[1], 0);
		assert_int_equal(sets[i]->bits[128], ~0ull);
	}
	pids_sweep(f->model);
	for (int i = 0; i < 8; i++)
		assert_int_equal(sets[i]->bits[128], 0);
}

static void a_sweep_goes_on_behind_those_that_live(void **state)
{
	struct fixture *f = *state;
	struct pid_set *set;

	f->model->task_lives = NULL;
	set = fill(f, f->top);
	f->model->task_lives = lives;
	alive = ~0ull;
	for (int i = 0; i < 64; i++)
		pids_sweep(f->model);
	assert_int_equal(set->bits[0], ~0ull);
	assert_int_equal(set->bits[sizeof(*set) / 8 - 1], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_is_taken),
		TEST(writes_add_up_and_errors_change_nothing),
		TEST(hits_see_the_set),
		TEST(what_hits_add_is_printed),
		TEST(a_long_word_is_refused),
		TEST(with_the_option_who_ends_leaves),
		TEST(each_option_is_for_its_own_sets),
		TEST(tasks_of_a_recording_do_not_end),
		TEST(a_sweep_has_one_bound_for_all_sets),
		TEST(a_sweep_goes_on_behind_those_that_live),
	};

	return cmocka_run_group_tests_name("pids", tests, NULL, NULL);
}
