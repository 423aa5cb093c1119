/* SPDX-License-Identifier: MIT */
/* section.c - checks which sections of threads are reported; the test is its own server */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "agent/state.h"
#include "plane/plane.h"
#include "plane/ring/ring.h"
#include "session/attach/attach.h"
#include "session/session.h"
#include "own_server.h"

enum { RING_BYTES = 1 << 16, THREADS = 4, SECTIONS = 20000 };
#define HOUR_NS 3600000000000ull

static struct instance_state *inst;
static struct section_control *control;
static struct section_log *reports;

static int set_up(void **state)
{
	struct program_tables *tables;

	if (serve_start(NULL, NULL))
		return -1;
	inst = instance_start(RING_BYTES);
	control = &session_header(session)->sections;
	tables = session_data(session, session_header(session)->programs, sizeof(*tables));
	reports = &tables->sections[SECTION_WATCH_CRITICAL];
	return attach_start(session_dir(session), NULL);
}

static void longest_is(uint64_t ns)
{
	reports->longest = section_longest(ns, live_number(inst->live));
}

/* Resets the test; `kinds` are watched. */
static void begin(uint32_t kinds)
{
	memset(reports, 0, sizeof(*reports));
	inst->live &= 1;
	longest_is(0);
	control->kinds = kinds;
	control->watch[SECTION_WATCH_CRITICAL].generation++;
	control->watch[SECTION_WATCH_CRITICAL].thresh = 0;
}

static void change(uint32_t kind, bool on)
{
	agent_section_change(agent_thread(), kind, on, (const void *)change, (const void *)begin,
			     NULL);
}

/* The number of reports since begin(). */
static uint32_t reported(void)
{
	return live_number(inst->live);
}

static const struct section_report *last(void)
{
	return &reports->reports[live_report(inst->live)];
}

static uint64_t now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

/*
 * A section with this in it has a length. Two readings that follow each other may be the same
 * nanosecond.
 */
static void a_while(void)
{
	uint64_t begun = now_us();

	while (now_us() < begun + 2)
		;
}

static void one_own(void)
{
	change(SECTION_OWN, true);
	a_while();
	change(SECTION_OWN, false);
}

static void nobody_watches_at_first(void **state)
{
	begin(0);
	assert_false(agent_section_watched(UINT32_MAX));
	control->kinds = SECTION_PREEMPT;
	assert_true(agent_section_watched(SECTION_PREEMPT));
	assert_false(agent_section_watched(SECTION_IRQS));
}

static void a_section_is_reported_at_its_end(void **state)
{
	uint32_t live = inst->live & 1;

	begin(SECTION_PREEMPT);
	agent_thread()->locks = 1;
	change(SECTION_PREEMPT, true);
	assert_true(agent_thread()->section.on);
	usleep(1000);
	assert_int_equal(reported(), 0);
	change(SECTION_PREEMPT, false);
	agent_thread()->locks = 0;
	assert_false(agent_thread()->section.on);
	assert_int_equal(reported(), 1);
	assert_int_equal(last()->state,
			 section_state(1, control->watch[SECTION_WATCH_CRITICAL].generation));
	assert_true(last()->end.time - last()->start.time >= 1000000);
	assert_int_equal(reports->longest,
			 section_longest(last()->end.time - last()->start.time, 1));
	assert_int_equal(last()->end.pid, getpid());
	assert_int_equal(last()->end.locks, 1);
	assert_int_equal(last()->start.ip, agent_address(agent_thread(), (const void *)change));
	assert_int_equal(last()->start.parent, agent_address(agent_thread(), (const void *)begin));
	/* The records of the section are not changed from now on. */
	assert_int_equal(last()->buffer, live);
	assert_int_equal(inst->live & 1, !live);
}

static void what_is_inside_does_not_end_it(void **state)
{
	begin(SECTION_CRITICAL);
	change(SECTION_PREEMPT, true);
	change(SECTION_PREEMPT, true);
	change(SECTION_IRQS, true);
	change(SECTION_PREEMPT, false);
	change(SECTION_PREEMPT, false);
	change(SECTION_OWN, true);
	change(SECTION_IRQS, false);
	a_while();
	assert_int_equal(reported(), 0);
	change(SECTION_OWN, false);
	assert_int_equal(reported(), 1);
}

static void other_kinds_do_not_count(void **state)
{
	begin(SECTION_IRQS | SECTION_OWN);
	change(SECTION_PREEMPT, true);
	assert_false(agent_thread()->section.on);
	change(SECTION_IRQS, true);
	change(SECTION_PREEMPT, false);
	assert_true(agent_thread()->section.on);
	a_while();
	change(SECTION_IRQS, false);
	assert_int_equal(reported(), 1);
}

static void an_end_without_a_beginning_is_none(void **state)
{
	begin(SECTION_CRITICAL);
	change(SECTION_PREEMPT, false);
	change(SECTION_IRQS, false);
	assert_int_equal(reported(), 0);
	change(SECTION_PREEMPT, true);
	control->watch[SECTION_WATCH_CRITICAL].generation++;	/* another tracer watches now */
	change(SECTION_PREEMPT, false);
	assert_int_equal(reported(), 0);
	assert_false(agent_thread()->section.on);
}

static void only_a_longer_one_is_reported(void **state)
{
	begin(SECTION_OWN);
	longest_is(UINT64_MAX >> 16);
	change(SECTION_OWN, true);
	change(SECTION_OWN, false);
	assert_int_equal(reported(), 0);
	control->watch[SECTION_WATCH_CRITICAL].thresh = 1;
	one_own();
	assert_int_equal(reported(), 1);
}

static void one_that_began_before_the_last_is_not(void **state)
{
	struct section_mark old, other;

	begin(SECTION_OWN);
	assert_true(agent_section_begin(agent_thread(), SECTION_WATCH_CRITICAL, &old, NULL, NULL));
	assert_true(
		agent_section_begin(agent_thread(), SECTION_WATCH_CRITICAL, &other, NULL, NULL));
	a_while();
	agent_section_end(agent_thread(), SECTION_WATCH_CRITICAL, &other, NULL, NULL, NULL);
	assert_int_equal(reported(), 1);
	usleep(1000);
	agent_section_end(agent_thread(), SECTION_WATCH_CRITICAL, &old, NULL, NULL, NULL);
	assert_int_equal(reported(), 1);
}

static void nothing_while_tracing_is_off(void **state)
{
	begin(SECTION_OWN);
	inst->tracing_on = 0;
	change(SECTION_OWN, true);
	inst->tracing_on = 1;
	change(SECTION_OWN, false);
	change(SECTION_OWN, true);
	inst->tracing_on = 0;
	change(SECTION_OWN, false);
	inst->tracing_on = 1;
	assert_int_equal(reported(), 0);
}

static uint64_t state_of(uint32_t number)
{
	return section_state(number, control->watch[SECTION_WATCH_CRITICAL].generation);
}

/* A report stays taken if its writer was killed. If no report is free, nothing is reported. */
static void a_report_left_half_written_is_passed_over(void **state)
{
	begin(SECTION_OWN);
	control->watch[SECTION_WATCH_CRITICAL].thresh = 1;
	reports->reports[1].state = 1;
	one_own();
	assert_int_equal(reports->reports[1].state, 1);
	assert_int_equal(live_report(inst->live), 2);
	assert_int_equal(reports->reports[2].state, state_of(1));
	for (int i = 0; i < SECTION_REPORTS; i++)
		if (i != 2)
			reports->reports[i].state |= 1;
	one_own();	/* Only the newest report's place is left, so nothing is reported. */
	assert_int_equal(reported(), 1);
	assert_int_equal(reports->reports[2].state, state_of(1));
}

/*
 * A report is written but not named yet. Its number may be the next one, or another report gets
 * that number.
 */
static void a_report_that_waits_to_be_named_is_passed_over(void **state)
{
	begin(SECTION_OWN);
	control->watch[SECTION_WATCH_CRITICAL].thresh = 1;
	reports->reports[1].state = state_of(1);
	one_own();
	assert_int_equal(live_report(inst->live), 2);
	assert_int_equal(reports->reports[1].state, state_of(1));
	/* It was not named: its writer has ended, or will find out. */
	for (int i = 0; i < SECTION_REPORTS; i++)
		one_own();
	assert_int_equal(reported(), 1 + SECTION_REPORTS);
	assert_int_not_equal(reports->reports[1].state, state_of(1));
}

/*
 * The thread of the last report has not updated the maximum, because it was interrupted or killed.
 */
static void what_has_not_been_told_is_in_the_report(void **state)
{
	begin(SECTION_OWN);
	one_own();
	assert_int_equal(reported(), 1);
	/* An hour: no other is as long, however long it is interrupted. */
	reports->reports[live_report(inst->live)].end.time = last()->start.time + HOUR_NS;
	reports->longest = section_longest(5, 0);
	one_own();
	assert_int_equal(reported(), 1);
	assert_int_equal(reports->longest,
			 section_longest(last()->end.time - last()->start.time, 1));
	/* A later write to tracing_max_latency is not changed. */
	longest_is(7);
	one_own();
	assert_int_equal(reported(), 2);
	assert_int_equal(reports->longest,
			 section_longest(last()->end.time - last()->start.time, 2));
}

static void numbers_begin_anew(void **state)
{
	begin(SECTION_OWN);
	control->watch[SECTION_WATCH_CRITICAL].thresh = 1;
	inst->live |= live_make(SECTION_NUMBER, 0, 0);
	for (uint32_t i = 0; i < 3 * SECTION_REPORTS; i++) {
		one_own();
		assert_int_equal(reported(), i);
		assert_int_equal(last()->state, state_of(i));
	}
}

static void *many(void *arg)
{
	for (int i = 0; i < SECTIONS; i++)
		one_own();
	return NULL;
}

static void many_threads(void *(*run)(void *))
{
	pthread_t thread[THREADS];

	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, run, NULL), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
}

static void each_number_is_one_threads(void **state)
{
	begin(SECTION_OWN);
	control->watch[SECTION_WATCH_CRITICAL].thresh = 1;
	many_threads(many);
	assert_true(reported() > 0 && reported() <= THREADS * SECTIONS);
	for (int i = 0; i < SECTION_REPORTS; i++) {
		uint64_t number = reports->reports[i].state;

		assert_int_equal(number % 2, 0);
		assert_true(number <= state_of(reported()));
		for (int k = 0; k < i; k++)
			assert_true(!number || number != reports->reports[k].state);
	}
	assert_int_equal(last()->state, state_of(reported()));
}

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static uint32_t seen;

/*
 * If no section begins before the last one has ended, each is reported, and the report is complete
 * at its end.
 */
static void *in_turn(void *arg)
{
	for (int i = 0; i < SECTIONS; i++) {
		pthread_mutex_lock(&turn);
		one_own();
		if (reported() == ++seen && last()->state == state_of(seen) &&
		    last()->end.pid == agent_thread()->pid)
			;
		else
			seen = UINT32_MAX / 2;
		pthread_mutex_unlock(&turn);
	}
	return NULL;
}

static void each_is_reported_that_begins_after_the_last(void **state)
{
	begin(SECTION_OWN);
	control->watch[SECTION_WATCH_CRITICAL].thresh = 1;
	seen = 0;
	many_threads(in_turn);
	assert_int_equal(seen, THREADS * SECTIONS);
}

/* The maximum never decreases. */
static void *longer(void *arg)
{
	for (int i = 0; i < SECTIONS; i++) {
		change(SECTION_OWN, true);
		for (volatile int k = 0; k < i / 8; k++)
			;
		change(SECTION_OWN, false);
	}
	return NULL;
}

static void the_longest_only_grows(void **state)
{
	uint64_t before = 0;
	pthread_t thread[THREADS];

	begin(SECTION_OWN);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, longer, NULL), 0);
	for (int i = 0; i < 200000; i++) {
		uint64_t now = reports->longest >> 16;

		assert_true(now >= before);
		before = now;
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	assert_int_equal(last()->end.time - last()->start.time, reports->longest >> 16);
	assert_true(reports->longest >> 16 >= before);
}

static void a_wakeup_is_pending_while_its_watch_is_the_same_one(void **state)
{
	_Atomic uint32_t *generation = &control->watch[SECTION_WATCH_WAKEUP].generation;

	assert_false(agent_wakeup_pending());
	agent_wakeup_tell(agent_process(), true);
	assert_true(agent_wakeup_pending());
	++*generation;
	assert_false(agent_wakeup_pending());
	agent_wakeup_tell(agent_process(), true);
	assert_true(agent_wakeup_pending());
	agent_wakeup_tell(agent_process(), false);
	assert_false(agent_wakeup_pending());
	*generation = UINT32_MAX;
	assert_false(agent_wakeup_pending());
	*generation = 0;
}

static void a_child_of_fork_has_nobody_who_was_woken(void **state)
{
	int status = -1;
	pid_t child;

	agent_wakeup_tell(agent_process(), true);
	child = fork();
	if (!child)
		_exit(agent_wakeup_pending());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_true(agent_wakeup_pending());
	agent_wakeup_tell(agent_process(), false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nobody_watches_at_first),
		cmocka_unit_test(a_section_is_reported_at_its_end),
		cmocka_unit_test(what_is_inside_does_not_end_it),
		cmocka_unit_test(other_kinds_do_not_count),
		cmocka_unit_test(an_end_without_a_beginning_is_none),
		cmocka_unit_test(only_a_longer_one_is_reported),
		cmocka_unit_test(one_that_began_before_the_last_is_not),
		cmocka_unit_test(nothing_while_tracing_is_off),
		cmocka_unit_test(a_report_left_half_written_is_passed_over),
		cmocka_unit_test(a_report_that_waits_to_be_named_is_passed_over),
		cmocka_unit_test(what_has_not_been_told_is_in_the_report),
		cmocka_unit_test(numbers_begin_anew),
		cmocka_unit_test(each_number_is_one_threads),
		cmocka_unit_test(each_is_reported_that_begins_after_the_last),
		cmocka_unit_test(the_longest_only_grows),
		cmocka_unit_test(a_wakeup_is_pending_while_its_watch_is_the_same_one),
		cmocka_unit_test(a_child_of_fork_has_nobody_who_was_woken),
	};

	return cmocka_run_group_tests_name("section", tests, set_up, server_stop);
}
