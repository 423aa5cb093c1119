/* SPDX-License-Identifier: MIT */
/*
 * shortcuts_off.c - a session in which tests have switched shortcuts off decides on none
 */
#include <stdlib.h>
#include <string.h>

#include "session/session.h"
#include "plane/program.h"
#include "hist_fixture.h"

static const char *const commands[] = {
	"hist:keys=s32", "hist:keys=u32,s64:vals=u64", "hist:keys=u64.log2", "hist:keys=common_pid:t=common_timestamp",
};

static const struct plan *plan_of_event(struct fixture *f, const struct event *e)
{
	return session_config(f->session, e->plan, sizeof(struct plan));
}

static const struct program *program_of_event(struct fixture *f, const struct event *e)
{
	const struct plan *plan = plan_of_event(f, e);
	const struct arm *arm = (const struct arm *)(plan + 1);
	const struct trigger_arm *t = (const struct trigger_arm *)(arm + plan->nr_arms);

	return session_config(f->session, t->program, sizeof(struct program));
}

static bool is_fused(const struct program *prog)
{
	for (uint32_t i = 0; i < prog->nr_ops; i++) {
		uint8_t code = prog->ops[i].code;

		if (code == OP_HIST_KEY1 || code == OP_HIST_KEYS || code == OP_HIST_LOG2 ||
		    code == OP_HIST_TIME)
			return true;
	}
	return false;
}

static void check(struct fixture *f, const char *text, bool off)
{
	assert_int_equal(command(f->all, text), 0);
	assert_int_equal(plan_of_event(f, f->all)->shape == PLAN_ANY, off);
	assert_int_equal(is_fused(program_of_event(f, f->all)), !off);
	event_file_trigger_truncate(top_file(f->all));
}

static void commands_have_shortcuts(void **state)
{
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		check(*state, commands[i], false);
}

static void they_have_none_when_those_are_off(void **state)
{
	struct fixture *f = *state;

	session_header(f->session)->shortcuts_off = SHORTCUTS_OFF_PLANS | SHORTCUTS_OFF_OPS;
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		check(f, commands[i], true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(commands_have_shortcuts, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(they_have_none_when_those_are_off, fixture_setup, fixture_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
