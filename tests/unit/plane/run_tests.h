/* SPDX-License-Identifier: MIT */
/*
 * run_tests.h - main() of tests that make sessions: a place for them, or the whole program is
 * skipped
 */
#ifndef TRACEFUSE_TESTS_PLANE_RUN_TESTS_H
#define TRACEFUSE_TESTS_PLANE_RUN_TESTS_H

#include <stdlib.h>
#include "../session/temp_place.h"

/* The exit status. `tests` is an array. */
#define run_in_temp_place(tests)						\
	(!temp_place() ? temp_place_skip() :					\
			 (atexit(temp_place_remove), cmocka_run_group_tests(tests, NULL, NULL)))

#endif
