/* SPDX-License-Identifier: MIT */
/*
 * join.c - a process that the server refuses after it has begun to watch the dynamic linker, and a
 * process with two agents
 *
 * The program is this test itself, with the library preloaded.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include "plane/plane.h"
#include "own_server.h"

enum { SLOTS = 4, TRIES = 2000 };

static const char *program, *library;

/* ---- The program: its exit status is the number of an error; 0: none ---- */

static bool loads(void)
{
	void *m = dlopen("libm.so.6", RTLD_NOW);

	return m && !dlclose(m);
}

static int run_program(const char *later)
{
	int (*attach)(const char *) = (int (*)(const char *))dlsym(RTLD_DEFAULT, "tf_attach");

	if (!attach)
		return 1;
	if (!loads())
		return 2;
	for (int i = 0; *later && i < TRIES; i++) {
		if (!attach(later))
			return loads() ? 0 : 3;
		if (!loads())
			return 4;
		usleep(10000);
	}
	return *later ? 5 : 0;
}

/* Loads the agent a second time, in a name space of its own. It joins, too. */
static int run_twice(void)
{
	if (!dlmopen(LM_ID_NEWLM, getenv("LD_PRELOAD"), RTLD_NOW))
		return 1;
	return raise(SIGSTOP);
}

/* ---- The test ---- */

static int set_up(void **state)
{
	static const struct session_params params = { .nr_cpus = 2, .nr_slots = SLOTS,
						      .memory = 64 << 20 };

	return serve_start(NULL, &params);
}

static void serve_again(void)
{
	stop = 0;
	assert_int_equal(pthread_create(&server, NULL, serve, NULL), 0);
}

static pid_t start(const char *what, const char *later)
{
	pid_t pid = fork();

	if (!pid) {
		setenv("LD_PRELOAD", library, 1);
		setenv("TRACEFUSE_SESSION", session_dir(session), 1);
		execl(program, program, what, later, NULL);
		_exit(127);
	}
	return pid;
}

/* later: the session that the program tries to join by itself; "": none. */
static int status_of(const char *later)
{
	int status = -1;
	pid_t pid = start("program", later);

	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static struct slot *taken[SLOTS];

/* When the program has been refused. */
static void *let_go(void *arg)
{
	struct attach_losses lost = { 0 };

	for (int i = 0; i < TRIES && !lost.untraced[UNTRACED_FULL]; i++) {
		usleep(10000);
		attach_losses(session, &lost);
	}
	serve_stop();
	for (int i = 0; i < SLOTS; i++)
		if (taken[i])
			session_slot_put(session, taken[i]);
	serve_again();
	return NULL;
}

static void who_is_refused_goes_on_and_may_join_later(void **state)
{
	struct attach_losses lost;
	pthread_t t;
	int status;

	/* The first runs find out which libraries have no functions that can be traced. */
	for (int i = 0; i < 2; i++)
		assert_int_equal(status_of(""), 0);
	serve_stop();
	for (int i = 0; i < SLOTS; i++) {
		attach_serve(session);
		taken[i] = session_slot_get(session);
	}
	serve_again();
	assert_int_equal(pthread_create(&t, NULL, let_go, NULL), 0);
	status = status_of(session_dir(session));
	pthread_join(t, NULL);
	assert_int_equal(status, 0);
	attach_losses(session, &lost);
	assert_true(lost.untraced[UNTRACED_FULL]);
}

static void slots_add(void *arg, pid_t pid, unsigned int slots)
{
	*(unsigned int *)arg += slots;
}

/*
 * The server recognizes exec by the image number of the process. A second agent has the same
 * number.
 */
static void two_agents_of_a_process_have_slots_of_their_own(void **state)
{
	unsigned int slots = 0;
	pid_t pid = start("twice", "");
	int status;

	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	assert_true(WIFSTOPPED(status));
	serve_stop();
	assert_int_equal(attach_processes(session, slots_add, &slots), 1);
	serve_again();
	kill(pid, SIGCONT);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(slots, SLOTS);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_agents_of_a_process_have_slots_of_their_own),
		cmocka_unit_test(who_is_refused_goes_on_and_may_join_later),
	};

	if (argc > 2 && !strcmp(argv[1], "program"))
		return run_program(argv[2]);
	if (argc > 2 && !strcmp(argv[1], "twice"))
		return run_twice();
	program = argv[0];
	library = argv[1];
	return cmocka_run_group_tests(tests, set_up, server_stop);
}
