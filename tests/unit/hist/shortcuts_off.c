/* SPDX-License-Identifier: MIT */
/*
 * shortcuts_off.c - a session uses no shortcuts after a test has switched them off
 */
#include <stdlib.h>
#include <string.h>

#include "session/session.h"
#include "plane/code.h"
#include "hist_fixture.h"

static const char *const commands[] = {
	"hist:keys=s32",
	"hist:keys=u32,s64:vals=u64",
	"hist:keys=u64.log2",
	"hist:keys=s32,u64.log2",
	"hist:keys=common_pid:t=common_timestamp",
};

static const struct plan *plan_of_event(struct fixture *f, const struct event *e)
{
	return session_config(f->session, e->plan, sizeof(struct plan));
}

static const struct code *code_of_event(struct fixture *f, const struct event *e)
{
	const struct plan *plan = plan_of_event(f, e);
	const struct arm *arm = (const struct arm *)(plan + 1);
	const struct trigger_arm *t = (const struct trigger_arm *)(arm + plan->nr_arms);

	return session_config(f->session, t->code, sizeof(struct code));
}

static bool is_joined(const struct code *code)
{
	for (uint32_t i = 0; i < code->nr_ops; i++) {
		uint8_t kind = code->ops[i].kind;

		if (kind == OP_HIST_KEY1 || kind == OP_HIST_KEYS || kind == OP_HIST_LOG2 ||
		    kind == OP_HIST_TIME)
			return true;
	}
	return false;
}

static void check(struct fixture *f, const char *text, bool off)
{
	assert_int_equal(command(f->all, text), 0);
	assert_int_equal(plan_of_event(f, f->all)->kind == PLAN_ANY, off);
	assert_int_equal(is_joined(code_of_event(f, f->all)), !off);
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
		cmocka_unit_test_setup_teardown(commands_have_shortcuts, fixture_setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(they_have_none_when_those_are_off, fixture_setup,
						fixture_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
