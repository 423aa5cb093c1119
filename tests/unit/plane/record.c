/* SPDX-License-Identifier: MIT */
/*
 * record.c - an event that is only recorded: hit() and hit_plain() into a real ring
 *
 * Each case is a hit that the short way may do, or one that it must leave to the long one: what is
 * recorded, what is returned and what is counted are the same. Also run without restartable
 * sequences, where each hit takes the long way.
 */
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>
#include <cmocka.h>
#include "plane/arch/ring_commit.h"
#include "plane/clock.h"
#include "plane/hit.h"
#include "plane/plan.h"
#include "plane/ring/ring.h"
#include "run_tests.h"
#include "session/session.h"

enum { EVENT = 300, PAGE = 4096, BYTES = 8 * PAGE };

static struct session *session;
static struct plane *plane;
static struct slot *slot;
static struct instance_state *inst;
static data_ref buffer;

static struct {
	struct record_common common;
	uint32_t	words[40];
} record = { .common.type = EVENT };

static int setup(void **state)
{
	const struct session_params params = { .nr_cpus = 1, .nr_slots = 2, .memory = 64 << 20 };
	const size_t size = sizeof(struct plan) + sizeof(struct arm);
	const uint64_t bytes[1] = { BYTES };
	struct plan *plan;
	config_ref ref;
	cpu_set_t one;

	/* The only CPU of the session. */
	CPU_ZERO(&one);
	CPU_SET(0, &one);
	sched_setaffinity(0, sizeof(one), &one);
	assert_int_equal(session_create(NULL, &params, &session), 0);
	plane = session_plane(session);
	slot = session_slot_get(session);
	inst = plane_instance(plane, 0);
	inst->cpumask[0] = 1;
	inst->tracing_on = 1;
	assert_int_equal(buffer_create(session, 0, 1, PAGE, bytes, 1, true, &buffer), 0);
	buffer_publish(session, 0, 0, buffer);
	if (rseq_cpu() < 0)
		assert_int_equal(ring_lease_give(session, slot->index), 0);
	ref = session_config_alloc(session, size);
	plan = session_config(session, ref, size);
	*plan = (struct plan){ .event_id = EVENT, .nr_arms = 1, .size = (uint32_t)size };
	*plan_arms(plan) = (struct arm){ .flags = ARM_RECORD };
	session_publish(session, (_Atomic uint64_t *)&plane_event(plane, EVENT)->plan, ref);
	assert_int_equal(plan->kind, PLAN_RECORD);
	return 0;
}

static int teardown(void **state)
{
	session_close(session);
	return 0;
}

static struct ring_stats stats(void)
{
	struct ring_stats st;

	assert_int_equal(buffer_stats(session, buffer, 0, &st), 0);
	st.entries += st.overrun;
	return st;
}

/* How many records come of hits of `size` bytes by both ways, `nr` each. */
static uint64_t recorded(uint32_t size, unsigned int nr)
{
	const struct hit h = { .record = &record, .size = size };
	const struct ring_stats before = stats();
	uint64_t returned = 0, plain;

	for (unsigned int i = 0; i < nr; i++)
		returned += hit(plane, slot, &h);
	plain = stats().entries;
	assert_int_equal(plain - before.entries, returned);
	for (unsigned int i = 0; i < nr; i++)
		hit_plain(plane, slot, &record, size, hit_where(0, EVENT));
	assert_int_equal(slot->depth, 0);
	assert_int_equal(stats().entries - plain, returned);
	return stats().entries - before.entries;
}

static void records_of_each_size_are_recorded(void **state)
{
	for (uint32_t size = sizeof(struct record_common); size <= sizeof(record); size++)
		assert_int_equal(recorded(size, 10), 20);
}

static void records_of_each_clock_are_recorded(void **state)
{
	for (uint32_t id = 0; id < CLOCK_ID_COUNT; id++) {
		inst->clock = id;
		assert_int_equal(recorded(16, 400), 800);
	}
}

/* The clock counts its readings: one for each record, also at the end of a page. */
static void the_counter_is_read_once_for_each_record(void **state)
{
	inst->clock = CLOCK_ID_COUNTER;
	assert_int_equal(recorded(16, 400), 800);
	assert_int_equal(inst->counter, 800);
}

/* Returns how many there are. */
static unsigned int in_order(void)
{
	struct ring_record r;
	struct ring_iter *it;
	uint64_t last = 0;
	unsigned int n = 0;

	assert_int_equal(ring_iter_open(session, buffer, -1, &it), 0);
	for (; ring_iter_next(it, &r) == 1; n++) {
		assert_true(r.time >= last);
		last = r.time;
	}
	ring_iter_close(it);
	return n;
}

static void records_are_in_order_of_time(void **state)
{
	recorded(20, 300);
	assert_int_equal(in_order(), 600);
}

static void nothing_is_recorded_while_tracing_is_off(void **state)
{
	inst->tracing_on = 0;
	assert_int_equal(recorded(16, 10), 0);
	assert_int_equal(stats().dropped, 0);
	inst->tracing_on = 1;
	assert_int_equal(recorded(16, 10), 20);
}

/* A program may have stored any number there. */
static void tracing_is_on_with_any_number(void **state)
{
	inst->tracing_on = 2;
	assert_int_equal(recorded(16, 10), 20);
}

static void nothing_is_recorded_by_a_cpu_that_is_disabled(void **state)
{
	buffer_set_cpu_recording(session, buffer, 0, false);
	assert_int_equal(recorded(16, 10), 0);
	assert_int_equal(stats().dropped, 0);
	buffer_set_cpu_recording(session, buffer, 0, true);
	assert_int_equal(recorded(16, 10), 20);
}

static void nothing_is_recorded_without_a_buffer(void **state)
{
	const data_ref kept = inst->buffers[0];
	const struct hit h = { .record = &record, .size = 16 };

	inst->buffers[0] = 0;
	assert_int_equal(hit(plane, slot, &h), 0);
	hit_plain(plane, slot, &record, 16, hit_where(0, EVENT));
	inst->buffers[0] = kept;
	assert_int_equal(stats().entries, 0);
}

static void each_record_that_has_no_room_is_counted(void **state)
{
	uint64_t done;

	buffer_set_overwrite(session, buffer, false);
	done = recorded(16, 500);
	assert_int_equal(done, 1000);
	for (unsigned int i = 0; i < 10000; i++)
		hit_plain(plane, slot, &record, 16, hit_where(0, EVENT));
	assert_true(stats().dropped > 0);
	assert_int_equal(stats().entries + stats().dropped, 11000);
	assert_int_equal(recorded(16, 100), 0);
	assert_int_equal(stats().entries + stats().dropped, 11200);
}

static void a_mask_and_a_question_are_obeyed(void **state)
{
	struct hit h = { .record = &record, .size = 16, .mask = 2 };

	assert_int_equal(hit(plane, slot, &h), 0);
	h.mask = 1;
	assert_int_equal(hit(plane, slot, &h), 1);
	h.mask = 0;
	h.ask = true;
	assert_int_equal(hit(plane, slot, &h), 1);
	assert_int_equal(stats().entries, 1);
}

/* A hit that came between has a newer time: the record gets a time of its own. */
static void a_time_that_was_read_is_taken_unless_it_is_old(void **state)
{
	const uint64_t now = clock_now(&plane_header(plane)->tsc, inst);
	struct hit h = { .record = &record, .size = 16, .time = now };

	for (unsigned int i = 0; i < 10; i++)
		assert_int_equal(hit(plane, slot, &h), 1);
	assert_int_equal(recorded(16, 10), 20);
	assert_int_equal(in_order(), 30);
}

/* ---- A thread that is single-stepped never gets to the end of a section ---- */

static void trap(int sig, siginfo_t *info, void *context)
{
}

#if defined(__x86_64__)
static void steps(bool on)
{
	if (on)
		__asm__ volatile("sub $128, %%rsp; pushfq; orq $0x100, (%%rsp); popfq;"
				 "add $128, %%rsp" : : : "memory", "cc");
	else
		__asm__ volatile("sub $128, %%rsp; pushfq; andq $~0x100, (%%rsp); popfq;"
				 "add $128, %%rsp" : : : "memory", "cc");
}
#endif

static void each_record_of_a_stepped_thread_is_recorded_or_counted(void **state)
{
	const struct sigaction action = { .sa_sigaction = trap, .sa_flags = SA_SIGINFO };
	const struct hit h = { .record = &record, .size = 16 };
	struct sigaction before;

	sigaction(SIGTRAP, &action, &before);
	for (unsigned int i = 0; i < 5; i++) {
		steps(true);
		hit(plane, slot, &h);
		hit_plain(plane, slot, &record, 16, hit_where(0, EVENT));
		steps(false);
	}
	sigaction(SIGTRAP, &before, NULL);
	assert_int_equal(stats().entries + stats().dropped, 10);
	assert_int_equal(recorded(16, 10), 20);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(records_of_each_size_are_recorded),
		TEST(records_of_each_clock_are_recorded),
		TEST(the_counter_is_read_once_for_each_record),
		TEST(records_are_in_order_of_time),
		TEST(nothing_is_recorded_while_tracing_is_off),
		TEST(tracing_is_on_with_any_number),
		TEST(nothing_is_recorded_by_a_cpu_that_is_disabled),
		TEST(nothing_is_recorded_without_a_buffer),
		TEST(each_record_that_has_no_room_is_counted),
		TEST(a_mask_and_a_question_are_obeyed),
		TEST(a_time_that_was_read_is_taken_unless_it_is_old),
		TEST(each_record_of_a_stepped_thread_is_recorded_or_counted),
	};

	return run_in_temp_place(tests);
}
