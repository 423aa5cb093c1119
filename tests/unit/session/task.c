/* SPDX-License-Identifier: MIT */
/*
 * task.c - whether a thread lives, as the server finds out: it takes the slots of those that do not
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "session/state.h"

static pid_t ended(void)
{
	const pid_t pid = fork();

	if (!pid)
		_exit(0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	return pid;
}

static void a_thread_lives_until_it_ends(void **state)
{
	const pid_t gone = ended();

	assert_true(task_lives(getpid(), (uint32_t)gettid()));
	assert_false(task_lives(getpid(), (uint32_t)gone));
	assert_false(task_lives(gone, (uint32_t)gone));
	assert_int_equal(task_find(getpid(), (uint32_t)gettid()), gettid());
	assert_int_equal(task_find(getpid(), (uint32_t)gone), 0);
}

static void without_a_descriptor_no_thread_is_dead(void **state)
{
	struct rlimit old, none;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	none = old;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_true(task_lives(getpid(), (uint32_t)gettid()));
	assert_int_equal(task_find(getpid(), (uint32_t)gettid()), 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thread_lives_until_it_ends),
		cmocka_unit_test(without_a_descriptor_no_thread_is_dead),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
