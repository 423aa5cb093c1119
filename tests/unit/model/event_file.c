/* SPDX-License-Identifier: MIT */
/* event_file.c - all states of `enable`, sets of events, and their plans */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "model/dynamic/synth.h"
#include "model/event/set.h"
#include "model/instance/options.h"
#include "model/instance/pids.h"
#include "model/trigger/trigger.h"

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

static struct plan *plan_of(struct fixture *f, const struct event *e)
{
	struct event_entry *entries = session_config(f->session, session_header(f->session)->events,
						     LAYOUT_MAX_EVENTS * sizeof(*entries));
	config_ref ref = atomic_load(&entries[e->id].plan);

	return ref ? session_config(f->session, ref, sizeof(struct plan)) : NULL;
}

static struct arm *arm_of(struct fixture *f, const struct event *e, unsigned int i)
{
	struct plan *plan = plan_of(f, e);

	assert_non_null(plan);
	assert_true(i < plan->nr_arms);
	return (struct arm *)(plan + 1) + i;
}

static struct trigger_arm *trigger_of(struct fixture *f, const struct event *e, unsigned int i)
{
	struct plan *plan = plan_of(f, e);

	assert_non_null(plan);
	assert_true(i < plan->nr_triggers);
	return (struct trigger_arm *)((struct arm *)(plan + 1) + plan->nr_arms) + i;
}

static void enable_arms_and_disarms(void **state)
{
	struct fixture *f = *state;
	struct event_file *file = event_file_get(f->top, f->all);

	assert_ptr_equal(event_file_get(f->top, f->all), file);
	assert_prints(event_file_print_enable(NULL, out), "0");
	assert_prints(event_file_print_enable(file, out), "0");
	assert_null(plan_of(f, f->all));
	assert_int_equal(event_file_enable(file, true), 0);
	assert_prints(event_file_print_enable(file, out), "1");
	assert_int_equal(arm_of(f, f->all, 0)->flags, ARM_RECORD);
	assert_int_equal(plan_of(f, f->all)->event_id, 100);
	assert_int_equal(event_file_enable(file, false), 0);
	assert_null(plan_of(f, f->all));
}

/*
 * `steps` is done to an event: '1' and '0' are written, '+' and '-' begin and end soft mode.
 * Then `enable` shows `reads`.
 */
static void soft_mode_as_in_the_kernel(void **state)
{
	static const struct {
		const char *steps, *reads;
	} cases[] = {
		{ "+", "0*" }, { "+-", "0" }, { "1+", "1*" }, { "1+-", "1" },
		{ "+1", "1*" }, { "+1-", "1" }, { "+10", "0*" }, { "+10-", "0" },
		{ "1+0", "0*" }, { "1+0-", "0" }, { "++-", "0*" }, { "++--", "0" },
		{ "1++-", "1*" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fixture *f;
		struct event_file *file;
		char *got;

		fixture_setup((void **)&f);
		file = event_file_get(f->top, f->all);
		for (const char *s = cases[i].steps; *s; s++) {
			if (*s == '0' || *s == '1')
				assert_int_equal(event_file_enable(file, *s == '1'), 0);
			else
				assert_int_equal(event_file_soft(file, *s == '+' ? 1 : -1), 0);
		}
		got = printed(event_file_print_enable(file, out));
		if (strcmp(got, cases[i].reads))
			fail_msg("%s reads %s", cases[i].steps, got);
		assert_int_equal(plan_of(f, f->all) != NULL, strcmp(got, "0") != 0);
		free(got);
		fixture_teardown((void **)&f);
	}
}

static void a_soft_event_is_armed_but_disabled(void **state)
{
	struct fixture *f = *state;
	struct event_file *file = event_file_get(f->top, f->all);

	assert_int_equal(event_file_soft(file, 1), 0);
	assert_int_equal(arm_of(f, f->all, 0)->flags, ARM_RECORD | ARM_SOFT_MODE);
	assert_int_equal(atomic_load(&file->state->soft_disabled), 1);
	assert_int_equal(event_set_enabled(f->top, f->all->system), 'X');
}

static void filter_and_instance_go_into_the_plan(void **state)
{
	struct fixture *f = *state;
	struct event_file *file = event_file_get(f->top, f->all), *second;
	struct instance *inst;

	assert_int_equal(instance_create(f->model, "second", &inst), 0);
	second = event_file_get(inst, f->all);
	assert_int_equal(event_file_enable(file, true), 0);
	assert_int_equal(event_file_enable(second, true), 0);
	assert_int_equal(event_file_set_filter(second, "s32 == 1"), 0);
	assert_int_equal(plan_of(f, f->all)->nr_arms, 2);
	assert_int_equal(arm_of(f, f->all, 0)->filter, 0);
	assert_int_equal(arm_of(f, f->all, 1)->instance, inst->index);
	assert_int_equal(arm_of(f, f->all, 1)->filter, second->filter_code);
	assert_int_equal(instance_remove(inst), 0);
	assert_int_equal(plan_of(f, f->all)->nr_arms, 1);
}

static void triggers_go_into_the_plan_in_order(void **state)
{
	struct fixture *f = *state;
	struct event_file *file = event_file_get(f->top, f->all);

	assert_int_equal(event_file_trigger_write(file, "traceon"), 0);
	assert_int_equal(arm_of(f, f->all, 0)->flags, ARM_RECORD | ARM_SOFT_MODE);
	assert_int_equal(event_file_trigger_write(file, "stacktrace:3 if s32 == 1"), 0);
	assert_int_equal(arm_of(f, f->all, 0)->flags, ARM_RECORD | ARM_SOFT_MODE | ARM_NEED_RECORD);
	assert_int_equal(arm_of(f, f->all, 0)->nr_triggers, 2);
	assert_int_equal(trigger_of(f, f->all, 0)->kind, TRIGGER_STACKTRACE);
	assert_int_equal(trigger_of(f, f->all, 0)->flags,
			 TRIGGER_COUNTED | TRIGGER_POST | TRIGGER_RECORD);
	assert_int_not_equal(trigger_of(f, f->all, 0)->filter, 0);
	assert_int_equal(trigger_of(f, f->all, 1)->kind, TRIGGER_TRACEON);
	assert_int_equal(trigger_of(f, f->all, 1)->flags, 0);
}

static void an_enable_trigger_leads_to_its_target(void **state)
{
	struct fixture *f = *state;
	struct event_file *file = event_file_get(f->top, f->all), *target;

	assert_int_equal(event_file_trigger_write(file, "enable_event:more:third"), 0);
	target = event_file_find(f->top, f->third);
	assert_prints(event_file_print_enable(target, out), "0*");
	assert_int_equal(trigger_of(f, f->all, 0)->target, target->state_ref);
	assert_int_equal(target->state->event_id, 102);
}

static void internal_events_need_no_enable(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(model_arm_internal(f->model, f->top), 0);
	assert_int_equal(arm_of(f, f->print, 0)->flags, ARM_INTERNAL);
	assert_false(event_has_enable(f->print));
	assert_true(event_has_trigger(f->print));
	assert_true(event_has_id(f->print));
}

static void pid_sets_mark_all_armed_events(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(event_file_enable(event_file_get(f->top, f->all), true), 0);
	assert_int_equal(pids_write(f->top, PIDS_NOTRACE, "7", 1), 1);
	assert_int_equal(arm_of(f, f->all, 0)->flags, ARM_RECORD | ARM_PIDS);
	pids_clear(f->top, PIDS_NOTRACE);
	assert_int_equal(arm_of(f, f->all, 0)->flags, ARM_RECORD);
}

static struct event *add(struct fixture *f, const char *system, const char *name, int id,
			 const char *field)
{
	struct event *e;
	char text[512];

	snprintf(text, sizeof(text),
		 "name: %s\nID: %d\nformat:\n\n\tfield:int pid;\toffset:8;\tsize:4;\tsigned:1;\n"
		 "\tfield:int %s;\toffset:12;\tsize:4;\tsigned:1;\n\nprint fmt: \"\"\n",
		 name, id, field);
	assert_int_equal(model_add_event(f->model, system, text, strlen(text), &e), 0);
	return e;
}

static void pid_sets_know_the_second_pid_of_some_events(void **state)
{
	struct fixture *f = *state;
	struct event *e = add(f, "sched", "sched_switch", 300, "next_pid");

	assert_int_equal(event_file_enable(event_file_get(f->top, e), true), 0);
	assert_int_equal(plan_of(f, e)->other_kind, OTHER_PID_SWITCH);
	assert_int_equal(plan_of(f, e)->other_pid, 12);
}

static void event_fork_watches_events_that_are_not_enabled(void **state)
{
	struct fixture *f = *state;
	struct event *fork = add(f, "sched", "sched_process_fork", 300, "child_pid");
	struct event *end = add(f, "sched", "sched_process_free", 301, "prio");

	assert_int_equal(pids_write(f->top, PIDS_TRACE, "7", 1), 1);
	assert_null(plan_of(f, fork));
	atomic_fetch_or(&f->top->state->flags, INSTANCE_EVENT_FORK);
	assert_int_equal(pids_follow_changed(f->top, OPTION_EVENT_FORK), 0);
	assert_int_equal(arm_of(f, fork, 0)->flags, ARM_FOLLOW_FORK | ARM_WATCH | ARM_PIDS);
	assert_int_equal(plan_of(f, fork)->other_pid, 12);
	assert_int_equal(arm_of(f, end, 0)->flags, ARM_FOLLOW_FREE | ARM_WATCH | ARM_PIDS);
	assert_int_equal(plan_of(f, end)->other_pid, 8);
	pids_clear(f->top, PIDS_TRACE);
	assert_null(plan_of(f, fork));
}

static void words_of_set_event(void **state)
{
	static const struct {
		const char *word;
		int err;
		const char *set;
	} cases[] = {
		{ "test:all", 0, "test:all\n" },
		{ "test:", 0, "test:all\ntest:other\n" },
		{ "test:*", 0, "test:all\ntest:other\n" },
		{ "test", 0, "test:all\ntest:other\n" },
		{ "third", 0, "more:third\n" },
		{ ":third", 0, "more:third\n" },
		{ "*:third", 0, "more:third\n" },
		{ "*:*", 0, "test:all\ntest:other\nmore:third\n" },
		{ ":", 0, "test:all\ntest:other\nmore:third\n" },
		{ "!*:*", 0, "" },
		{ "!", -EINVAL, "" },
		{ "*", -EINVAL, "" },
		{ "t*", -EINVAL, "" },
		{ "test:nonesuch", -EINVAL, "" },
		{ "nonesuch:all", -EINVAL, "" },
		{ "ftrace:print", -EINVAL, "" },
		{ "ftrace", -EINVAL, "" },
		{ "test:all:x", -EINVAL, "" },
		{ "more:all", -EINVAL, "" },
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(event_set_word(f->top, cases[i].word, NULL), cases[i].err);
		assert_prints(event_set_print(f->top, out), cases[i].set);
		event_set_clear(f->top);
	}
	assert_prints(event_available_print(f->top, out), "test:all\ntest:other\nmore:third\n");
}

static void enable_of_systems_and_of_all(void **state)
{
	struct fixture *f = *state;
	struct system *test = f->all->system, *more = f->third->system;

	assert_int_equal(event_set_enabled(f->top, NULL), '0');
	assert_int_equal(event_set_enable(f->top, test, true, NULL), 0);
	assert_int_equal(event_set_enabled(f->top, test), '1');
	assert_int_equal(event_set_enabled(f->top, more), '0');
	assert_int_equal(event_set_enabled(f->top, NULL), 'X');
	assert_int_equal(event_set_enable(f->top, NULL, true, NULL), 0);
	assert_int_equal(event_set_enabled(f->top, NULL), '1');
	assert_int_equal(event_set_enabled(f->top, f->print->system), '?');
}

/* Each piece has time for one event. An event at which a piece has ended may be removed. */
static void many_events_are_switched_in_pieces(void **state)
{
	struct pieces pieces = { .until_ms = 0 };
	struct fixture *f = *state;
	struct instance *inst;
	int n = 0;

	assert_int_equal(synth_command(f->model, "old int x"), 0);
	assert_int_equal(synth_command(f->model, "older int x"), 0);
	assert_int_equal(instance_create(f->model, "i", &inst), 0);
	assert_prints(event_available_print(inst, out),
		      "test:all\ntest:other\nmore:third\nsynthetic:old\nsynthetic:older\n");
	for (const char *at = "abc"; *at; at++) {
		const char line[] = { *at, ' ', 'i', 'n', 't', ' ', 'x', '\0' };

		assert_int_equal(synth_command(f->model, line), 0);
	}
	assert_int_equal(event_set_enable(inst, NULL, true, &pieces), -EINPROGRESS);
	assert_prints(event_set_print(inst, out), "synthetic:c\n");
	assert_int_equal(event_set_enable(inst, NULL, true, &pieces), -EINPROGRESS);
	assert_int_equal(event_file_enable(event_file_find(inst, pieces.at), false), 0);
	assert_int_equal(synth_command(f->model, "!b"), 0);
	while (event_set_enable(inst, NULL, true, &pieces) == -EINPROGRESS) {
		if (!strcmp(pieces.at->name, "old")) {
			assert_int_equal(event_file_enable(event_file_find(inst, pieces.at), false),
					 0);
			assert_int_equal(synth_command(f->model, "!old"), 0);
		}
		n++;
	}
	/* a, three events that are no synthetic ones, old, older */
	assert_int_equal(n, 6);
	assert_prints(event_set_print(inst, out), "synthetic:c\nsynthetic:a\ntest:all\n"
		      "test:other\nmore:third\nsynthetic:older\n");
	pieces_end(&pieces);
	assert_null(pieces.at);
	/* What matches nothing is an error at the end of it. */
	assert_int_equal(event_set_word(inst, "nonesuch:", &pieces), -EINVAL);
}

/* Events made at run time come first, newest first. In an instance made later they come last. */
static void late_events_stand_first(void **state)
{
	struct fixture *f = *state;
	struct instance *inst;

	add(f, "synthetic", "one", 400, "x");
	add(f, "synthetic", "two", 401, "x");
	assert_prints(event_available_print(f->top, out),
		      "synthetic:two\nsynthetic:one\ntest:all\ntest:other\nmore:third\n");
	assert_int_equal(instance_create(f->model, "i", &inst), 0);
	assert_prints(event_available_print(inst, out),
		      "test:all\ntest:other\nmore:third\nsynthetic:one\nsynthetic:two\n");
	add(f, "synthetic", "three", 402, "x");
	assert_prints(event_available_print(inst, out),
		      "synthetic:three\ntest:all\ntest:other\nmore:third\nsynthetic:one\nsynthetic:"
		      "two\n");
}

static void events_of_modules_stand_first_too(void **state)
{
	struct fixture *f = *state;

	add(f, "maple_tree", "ma_op", 200, "x");
	add(f, "module", "a", 201, "x");
	add(f, "module", "b", 202, "x");
	assert_prints(event_available_print(f->top, out),
		      "module:b\nmodule:a\ntest:all\ntest:other\nmore:third\nmaple_tree:ma_op\n");
}

static void enable(struct fixture *f, const char *system, const char *name, bool on)
{
	struct event *e = model_find_event(f->model, system, name);

	assert_int_equal(event_file_enable(event_file_get(f->top, e), on), 0);
}

static void events_of_waiting_and_waking_are_told_in_one_word(void **state)
{
	struct fixture *f = *state;
	struct section_control *control = &session_header(f->session)->sections;

	add(f, "thread", "wake", 200, "x");
	add(f, "thread", "exit", 201, "x");
	add(f, "sched", "sched_switch", 202, "x");
	control->kinds = SECTION_OWN;
	enable(f, "thread", "exit", true);
	enable(f, "test", "all", true);
	assert_int_equal(control->kinds, SECTION_OWN);
	enable(f, "thread", "wake", true);
	assert_int_equal(control->kinds, SECTION_OWN | SECTION_THREADS);
	enable(f, "sched", "sched_switch", true);
	enable(f, "thread", "wake", false);
	assert_int_equal(control->kinds, SECTION_OWN | SECTION_THREADS);
	enable(f, "sched", "sched_switch", false);
	assert_int_equal(control->kinds, SECTION_OWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(enable_arms_and_disarms),
		cmocka_unit_test(soft_mode_as_in_the_kernel),
		TEST(a_soft_event_is_armed_but_disabled),
		TEST(filter_and_instance_go_into_the_plan),
		TEST(triggers_go_into_the_plan_in_order),
		TEST(an_enable_trigger_leads_to_its_target),
		TEST(internal_events_need_no_enable),
		TEST(pid_sets_mark_all_armed_events),
		TEST(pid_sets_know_the_second_pid_of_some_events),
		TEST(event_fork_watches_events_that_are_not_enabled),
		TEST(words_of_set_event),
		TEST(enable_of_systems_and_of_all),
		TEST(many_events_are_switched_in_pieces),
		TEST(late_events_stand_first),
		TEST(events_of_modules_stand_first_too),
		TEST(events_of_waiting_and_waking_are_told_in_one_word),
	};

	return cmocka_run_group_tests_name("event_file", tests, NULL, NULL);
}
