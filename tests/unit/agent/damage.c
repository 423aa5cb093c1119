/* SPDX-License-Identifier: MIT */
/*
 * damage.c - truncates the session's memory while a process attaches: the process continues,
 * attached or not (R2)
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include "agent/state.h"
#include "own_server.h"

enum { ROUNDS = 20, NR_SIGNALS = 3 };

static void handlers(void *out[NR_SIGNALS])
{
	static const int signals[NR_SIGNALS] = { SIGBUS, SIGSEGV, SIGFPE };

	for (int i = 0; i < NR_SIGNALS; i++) {
		struct sigaction act;

		sigaction(signals[i], NULL, &act);
		out[i] = (void *)act.sa_handler;
	}
}

/* Truncates until the process ends, because the server makes the file longer again. */
static void *cut(void *path)
{
	while (!truncate(path, 0))
		;
	return NULL;
}

/* Returns 0 or the number of an error. */
static int attach_while_cut(void)
{
	void *before[NR_SIGNALS], *after[NR_SIGNALS];
	char path[4200];
	pthread_t t;
	int err;

	snprintf(path, sizeof(path), "%s/data", session_dir(session));
	handlers(before);
	if (pthread_create(&t, NULL, cut, path))
		return 1;
	err = attach_start(session_dir(session), NULL);
	handlers(after);
	/* The first hit finds out, if nothing has before. */
	if (agent_thread() && agent_thread() != agent_thread_known())
		return 2;
	if (agent.state == AGENT_OFF)
		return err && !agent.plane.data && !memcmp(before, after, sizeof(after)) ? 0 : 3;
	return memcmp(before, after, sizeof(after)) ? 0 : 4;
}

static int attached_at_all(void)
{
	return attach_start(session_dir(session), NULL) || !agent_thread();
}

/* Returns the status of a child that attaches. */
static int child_of(int (*attach)(void))
{
	static const struct session_params params = {
		.nr_cpus = 2, .nr_slots = 64, .memory = 64 << 20 };
	int status;
	pid_t pid;

	assert_int_equal(session_create(NULL, &params, &session), 0);
	pid = fork();
	if (!pid)
		_exit(attach());
	stop = 0;
	assert_int_equal(pthread_create(&server, NULL, serve, NULL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	serve_stop();
	session_destroy(session);
	return status;
}

static void while_it_attaches(void **state)
{
	assert_int_equal(child_of(attached_at_all), 0);
	for (int i = 0; i < ROUNDS; i++)
		assert_int_equal(child_of(attach_while_cut), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(while_it_attaches),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
