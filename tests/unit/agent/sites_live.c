/* SPDX-License-Identifier: MIT */
/*
 * sites_live.c - the agent's task: sites of this process switched by sets in the session, which this process serves itself
 */
#include <dirent.h>
#include <linux/futex.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "agent/state.h"
#include "session/attach.h"
#include "session/session.h"

enum { FUNCTIONS = 7, WAIT_MS = 5000 };

long site_run(long seed);

static struct session *session;
static pthread_t server;
static _Atomic int stop;
static struct site_control *control;
static struct program_tables *tables;
static long expected;

static void *serve(void *arg)
{
	while (!stop) {
		attach_serve(session);
		usleep(500);
	}
	return NULL;
}

static int set_up(void **state)
{
	static const struct session_params params = { .nr_cpus = 2, .nr_slots = 64, .memory = 64 << 20 };

	expected = site_run(5);
	if (session_create(NULL, &params, &session) || pthread_create(&server, NULL, serve, NULL))
		return -1;
	control = session_config(session, session_header(session)->sites, sizeof(*control));
	tables = plane_data(session_plane(session), session_header(session)->programs);
	return attach_start(session_dir(session), NULL);
}

static int tear_down(void **state)
{
	stop = 1;
	pthread_join(server, NULL);
	session_close(session);
	return 0;
}

static const struct site_answer *answer_of(uint32_t pid, uint32_t command)
{
	for (int ms = 0; ms < WAIT_MS; ms++) {
		for (int i = 0; i < LAYOUT_MAX_PROCESSES; i++)
			if (atomic_load(&tables->sites[i].command) == command && tables->sites[i].pid == pid)
				return &tables->sites[i];
		usleep(1000);
	}
	return NULL;
}

/* The DSO with the functions is the only one here that has sites, so each may have the set. */
static const struct site_answer *command(uint64_t bits)
{
	config_ref ref = session_config_alloc(session, FUNCTIONS * sizeof(uint32_t));
	uint32_t *words = session_config(session, ref, FUNCTIONS * sizeof(uint32_t)), nr;

	for (int i = 0; i < FUNCTIONS; i++)
		words[i] = bits >> i & 1 ? LAYOUT_GROUPS_AT : 0;
	for (int i = 0; i < LAYOUT_MAX_DSOS; i++) {
		atomic_store(&control->sets[i].nr, FUNCTIONS);
		atomic_store(&control->sets[i].words, ref);
	}
	nr = atomic_fetch_add(&control->command, 1) + 1;
	syscall(SYS_futex, &control->command, FUTEX_WAKE, 1000, NULL, NULL, 0);
	return answer_of((uint32_t)getpid(), nr);
}

/* An event that is armed, in no instance: hits come as far as there is a way. */
static void arm(void)
{
	config_ref ref = session_config_alloc(session, sizeof(struct plan));
	struct plan *plan = session_config(session, ref, sizeof(*plan));

	*plan = (struct plan){ .event_id = 1, .size = sizeof(*plan) };
	session_publish(session, &((struct event_entry *)session_config(session, session_header(session)->events,
				   sizeof(struct event_entry) * 2))[1].plan, ref);
}

static void sites_are_told_of(void **state)
{
	const struct site_answer *a = answer_of((uint32_t)getpid(), 0);

	assert_non_null(a);
	assert_int_equal(a->nr_sites, FUNCTIONS);
	assert_int_equal(a->nr_skipped, 0);
	assert_int_equal(a->nr_on, 0);
	assert_int_equal(site_run(5), expected);
}

static void sets_switch_sites(void **state)
{
	static const struct {
		uint64_t	bits;
		uint32_t	nr;
	} sets[] = { { 0x7f, 7 }, { 0x15, 3 }, { ~0ull, 7 }, { 0, 0 }, { 0x40, 1 }, { 0x7f, 7 } };

	for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
		const struct site_answer *a = command(sets[i].bits);

		assert_non_null(a);
		assert_int_equal(a->err, 0);
		assert_int_equal(a->nr_on, sets[i].nr);
		assert_int_equal(site_run(5), expected);
	}
}

static void hits_leave_the_function_alone(void **state)
{
	assert_int_equal(command(0x7f)->nr_on, 7);
	arm();
	for (int i = 0; i < 1000; i++)
		assert_int_equal(site_run(5), expected);
	assert_non_null(agent_thread_known());
}

static void a_set_of_nonsense_switches_nothing(void **state)
{
	uint32_t nr;

	for (int i = 0; i < LAYOUT_MAX_DSOS; i++) {
		atomic_store(&control->sets[i].nr, UINT32_MAX);
		atomic_store(&control->sets[i].words, UINT64_MAX - 7);
	}
	nr = atomic_fetch_add(&control->command, 1) + 1;
	syscall(SYS_futex, &control->command, FUTEX_WAKE, 1000, NULL, NULL, 0);
	assert_non_null(answer_of((uint32_t)getpid(), nr));
	assert_int_equal(answer_of((uint32_t)getpid(), nr)->nr_on, 0);
	assert_int_equal(site_run(5), expected);
}

static void a_child_has_its_own_task(void **state)
{
	uint32_t nr = atomic_load(&control->command);
	const struct site_answer *a;
	int status = 1, go[2];
	pid_t pid;
	char c;

	assert_int_equal(pipe(go), 0);
	pid = fork();
	if (!pid) {
		alarm(20);
		/* Its first hit. */
		c = agent_thread() && site_run(5) == expected;
		close(go[1]);
		read(go[0], &c, 0);
		while (read(go[0], &c, 1) > 0)
			;
		_exit(site_run(5) != expected);
	}
	a = answer_of((uint32_t)pid, nr);
	assert_non_null(a);
	assert_int_equal(a->nr_sites, FUNCTIONS);
	assert_non_null(command(0x7));
	a = answer_of((uint32_t)pid, nr + 1);
	assert_non_null(a);
	assert_int_equal(a->nr_on, 3);
	close(go[1]);
	close(go[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sites_are_told_of),
		cmocka_unit_test(sets_switch_sites),
		cmocka_unit_test(hits_leave_the_function_alone),
		cmocka_unit_test(a_set_of_nonsense_switches_nothing),
		cmocka_unit_test(a_child_has_its_own_task),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
