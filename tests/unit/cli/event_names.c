/* SPDX-License-Identifier: MIT */
/*
 * event_names.c - which names of -e are mistakes, and which may be defined later
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "cli/event_names.h"

static const char lines[] = "heap:malloc\nheap:free\nlock:acquired\napp:request\napp:get\n"
			   "syscalls:sys_enter_read\nsyscalls:sys_exit_read\n";

static void judged(const char *name, enum event_names_verdict verdict, const char *near)
{
	char got[256];

	assert_int_equal(event_names_judge(lines, name, got, sizeof(got)), verdict);
	if (near)
		assert_string_equal(got, near);
}

static void slips_are_mistakes(void **state)
{
	judged("app:reqest", EVENT_NAMES_WRONG, "app:request");
	judged("ap:request", EVENT_NAMES_WRONG, "app:request");
	judged("heep", EVENT_NAMES_WRONG, "heap");
	judged("mallco", EVENT_NAMES_WRONG, "malloc");
}

static void so_is_what_a_whole_system_has_not(void **state)
{
	judged("heap:nosuch", EVENT_NAMES_WRONG, "");
	judged("heap:no*", EVENT_NAMES_WRONG, NULL);
	judged("syscalls:sys_enter_nosuch", EVENT_NAMES_WRONG, NULL);
	judged("syscalls:read", EVENT_NAMES_WRONG,
	       "syscalls:sys_enter_read, syscalls:sys_exit_read");
	judged("thread", EVENT_NAMES_WRONG, NULL);	/* not in --providers */
}

static void others_may_come(void **state)
{
	judged("nosuch", EVENT_NAMES_LATER, "");
	judged("nosuch:event", EVENT_NAMES_LATER, NULL);
	judged("app:put", EVENT_NAMES_LATER, NULL);	/* not close to "get" */
	judged("app:nosuch", EVENT_NAMES_LATER, NULL);
	judged("", EVENT_NAMES_LATER, "");
	judged(":", EVENT_NAMES_LATER, NULL);
	judged("other:request", EVENT_NAMES_LATER, NULL);
}

static void a_hint_is_a_sentence_or_nothing(void **state)
{
	char text[64];

	event_names_hint("", text, sizeof(text));
	assert_string_equal(text, "");
	event_names_hint("heap", text, sizeof(text));
	assert_string_equal(text, " (there is heap)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slips_are_mistakes),
		cmocka_unit_test(so_is_what_a_whole_system_has_not),
		cmocka_unit_test(others_may_come),
		cmocka_unit_test(a_hint_is_a_sentence_or_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
