/* SPDX-License-Identifier: MIT */
/*
 * request.c - replies that come too late: the server is a thread of the test, which stops meanwhile
 */
#include <errno.h>
#include "agent/state.h"
#include "own_server.h"

static int set_up(void **state)
{
	static const struct session_params params = { .nr_cpus = 2,
						      .nr_slots = 64,
						      .memory = 64 << 20 };

	if (serve_start(NULL, &params))
		return -1;
	return attach_start(session_dir(session), NULL);
}

static void server_go_on(void)
{
	stop = 0;
	assert_int_equal(pthread_create(&server, NULL, serve, NULL), 0);
}

static int ask_pid(uint32_t tid, uint32_t *pid)
{
	struct attach_request q = { .version = SESSION_VERSION, .kind = ATTACH_PID, .value = tid };
	struct attach_reply reply;
	int err = request_ask(&q, &reply);

	*pid = err ? 0 : reply.pid;
	return err;
}

struct other {
	uint32_t	tid;
	pthread_barrier_t both;
};

static void *wait_there(void *arg)
{
	struct other *o = arg;

	o->tid = (uint32_t)gettid();
	pthread_barrier_wait(&o->both);
	pthread_barrier_wait(&o->both);
	return NULL;
}

static void a_late_reply_is_of_its_own_request(void **state)
{
	struct other other = { 0 };
	uint32_t pid;
	pthread_t t;

	pthread_barrier_init(&other.both, NULL, 2);
	pthread_create(&t, NULL, wait_there, &other);
	pthread_barrier_wait(&other.both);
	serve_stop();
	assert_int_equal(ask_pid((uint32_t)getpid(), &pid), -ETIMEDOUT);
	server_go_on();
	assert_int_equal(ask_pid(other.tid, &pid), 0);
	assert_int_equal(pid, other.tid);
	assert_int_equal(ask_pid((uint32_t)getpid(), &pid), 0);
	assert_int_equal(pid, getpid());
	pthread_barrier_wait(&other.both);
	pthread_join(t, NULL);
	pthread_barrier_destroy(&other.both);
}

static void slots_that_come_late_are_not_lost(void **state)
{
	uint32_t given = agent.here->nr_given, pid;

	serve_stop();
	assert_int_equal(attach_more(), -ETIMEDOUT);
	assert_int_equal(agent.here->nr_given, given);
	server_go_on();
	assert_int_equal(ask_pid((uint32_t)getpid(), &pid), 0);
	assert_int_equal(pid, getpid());
	assert_true(agent.here->nr_given > given);
}

static _Atomic bool answered;

/*
 * Acts as a server that answers others for longer than a thread waits for a silent server, and then
 * answers us.
 */
static void *answer_others(void *arg)
{
	for (int i = 0; i < 15; i++) {
		usleep(100000);
		session_header(session)->served++;
	}
	answered = true;
	server_go_on();
	return NULL;
}

static void who_waits_for_its_turn_goes_on_waiting(void **state)
{
	uint32_t pid;
	pthread_t t;

	serve_stop();
	pthread_create(&t, NULL, answer_others, NULL);
	assert_int_equal(ask_pid((uint32_t)getpid(), &pid), 0);
	assert_true(answered);
	pthread_join(t, NULL);
}

static void nobody_waits_for_ever(void **state)
{
	struct agent_patience p = patience_begin();
	int rounds = 0;

	assert_false(patience_goes_on(&p));
	p = patience_begin();
	do {
		session_header(session)->served++;
		rounds++;
	} while (patience_goes_on(&p));
	assert_int_equal(rounds, AGENT_ROUNDS);
	/* But a program that begins waits as long as the server makes progress. */
	agent.starting = true;
	p = patience_begin();
	for (rounds = 0; rounds < 2 * AGENT_ROUNDS; rounds++) {
		session_header(session)->served++;
		assert_true(patience_goes_on(&p));
	}
	assert_false(patience_goes_on(&p));
	agent.starting = false;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_late_reply_is_of_its_own_request),
		cmocka_unit_test(slots_that_come_late_are_not_lost),
		cmocka_unit_test(who_waits_for_its_turn_goes_on_waiting),
		cmocka_unit_test(nobody_waits_for_ever),
	};

	return cmocka_run_group_tests(tests, set_up, server_stop);
}
