/* SPDX-License-Identifier: MIT */
/*
 * process_stat.c - what /proc/PID/stat says of a process, whose name may have blanks and brackets
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "session/attach/stat.h"

static void state_parent_and_start_are_read(void **state)
{
	const struct process_stat own = process_stat(getpid());
	struct process_stat stat;
	int status;
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_NAME, "a) Z 7 (b");
		raise(SIGSTOP);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	assert_true(WIFSTOPPED(status));
	stat = process_stat(pid);
	assert_int_equal(stat.state, 'T');
	assert_int_equal(stat.parent, getpid());
	assert_true(own.start_time && stat.start_time >= own.start_time);
	assert_int_equal(own.parent, getppid());

	kill(pid, SIGCONT);
	/* An ended process keeps its number until its parent waits for it. */
	assert_int_equal(waitid(P_PID, (id_t)pid, &(siginfo_t){ 0 }, WEXITED | WNOWAIT), 0);
	assert_int_equal(process_stat(pid).state, 'Z');
	assert_true(process_stat(pid).start_time == stat.start_time);
	assert_int_equal(waitpid(pid, &status, 0), pid);
}

static void of_no_process_all_is_zero(void **state)
{
	const struct process_stat stat = process_stat(-1);

	assert_int_equal(stat.state, 0);
	assert_int_equal(stat.parent, 0);
	assert_true(!stat.start_time);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(state_parent_and_start_are_read),
		cmocka_unit_test(of_no_process_all_is_zero),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
