/* SPDX-License-Identifier: MIT */
/*
 * run_tests.h - main() of tests that make sessions: makes a directory for them, or skips the whole
 * program
 */
#ifndef TRACEFUSE_TESTS_PLANE_RUN_TESTS_H
#define TRACEFUSE_TESTS_PLANE_RUN_TESTS_H

#include <stdlib.h>
#include "../session/temp_place.h"

/* Returns the exit status. `tests` is an array. */
#define run_in_temp_place(tests)						\
	(!temp_place() ? temp_place_skip() :					\
			 (atexit(temp_place_remove), cmocka_run_group_tests(tests, NULL, NULL)))

#endif
