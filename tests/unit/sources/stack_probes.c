/* SPDX-License-Identifier: MIT */
/* stack_probes.c - which addresses are in functions that write records */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "sources/stack_probes.h"

static void the_next_symbol_ends_a_function(void **state)
{
	struct stack_probes p = { 0 };

	(void)state;
	assert_int_equal(stack_probes_line(&p, 0x1000, "schedule"), 0);
	assert_int_equal(stack_probes_line(&p, 0x1100, "trace_event_raw_event_sched_switch"), 0);
	/* another name of the same address */
	assert_int_equal(stack_probes_line(&p, 0x1100, "alias"), 0);
	assert_int_equal(stack_probes_line(&p, 0x1180, "__traceiter_sched_switch"), 0);
	assert_int_equal(stack_probes_line(&p, 0x2000, "ftrace_syscall_enter"), 0);
	stack_probes_end(&p);
	assert_false(stack_probes_has(&p, 0x10ff));
	assert_true(stack_probes_has(&p, 0x1100));
	assert_true(stack_probes_has(&p, 0x117f));
	assert_false(stack_probes_has(&p, 0x1180));
	assert_true(stack_probes_has(&p, 0x2010));
	assert_false(stack_probes_has(&p, 0x1000));
	stack_probes_free(&p);
	assert_false(stack_probes_has(&p, 0x1100));
}

static void lines_may_come_in_any_order(void **state)
{
	struct stack_probes p = { 0 };

	(void)state;
	for (uint64_t i = 1000; i > 0; i--)
		assert_int_equal(stack_probes_line(&p, i << 16, "trace_event_raw_event_x"), 0);
	stack_probes_end(&p);
	for (uint64_t i = 1; i <= 1000; i++) {
		assert_true(stack_probes_has(&p, (i << 16) + 5));
		assert_false(stack_probes_has(&p, (i << 16) - 5));
	}
	stack_probes_free(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_next_symbol_ends_a_function),
		cmocka_unit_test(lines_may_come_in_any_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
