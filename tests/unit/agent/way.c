/* SPDX-License-Identifier: MIT */
/*
 * way.c - the short way of a hit: its records, and that it is not taken when something has changed
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>
#include "agent/state.h"
#include "plane/clock.h"
#include "plane/plane.h"
#include "plane/ring/ring.h"
#include "session/attach/attach.h"
#include "session/session.h"
#include "own_server.h"

enum { EVENT = 300, RING_BYTES = 1 << 20, MOST = 128, LATER = 50000000 };

static struct instance_state *inst;

/* Runs on one CPU, so that a way leads to that CPU's ring. */
static int set_up(void **state)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(sched_getcpu(), &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus) || serve_start(NULL, NULL))
		return -1;
	inst = instance_start(RING_BYTES);
	entry_arm(EVENT, EVENT, true);
	return attach_start(session_dir(session), NULL);
}

static bool possible(void)
{
	return *agent_thread()->cpu >= 0 && session_header(session)->tsc.valid &&
	       !session_header(session)->fence;
}

static struct agent_way *way(void)
{
	return &agent_thread()->ways[EVENT % AGENT_WAYS];
}

static void emit(uint64_t v)
{
	uint64_t record[2] = { 0, v };

	agent_emit(agent_thread(), EVENT, record, sizeof(record), NULL);
}

/* The value that emit() wrote into the last record of a buffer; 0: there is none. */
static uint64_t last_of(data_ref buffer, uint64_t *time)
{
	struct ring_record r;
	struct ring_iter *it;
	uint64_t v = 0;

	assert_int_equal(ring_iter_open(session, buffer, -1, &it), 0);
	while (ring_iter_next(it, &r) == 1) {
		memcpy(&v, (const char *)r.record + 8, 8);
		if (time)
			*time = r.time;
	}
	ring_iter_close(it);
	return v;
}

static uint64_t last(void)
{
	return last_of(inst->buffers[inst->live & 1], NULL);
}

/* From here on hits take the short way until something changes. */
static void begin(void)
{
	emit(1);
	emit(2);
	if (!possible())
		skip();
	assert_int_equal(way()->event, EVENT);
}

static void the_second_hit_is_short(void **state)
{
	uint64_t before = 0, then = 0;

	begin();
	emit(3);
	assert_int_equal(last_of(inst->buffers[0], &before), 3);
	/* The time shows which way the hit took. */
	way()->offset += LATER;
	emit(4);
	way()->offset -= LATER;
	assert_int_equal(last_of(inst->buffers[0], &then), 4);
	assert_true(then - before >= LATER);
}

static void fill(unsigned char *record, uint32_t size, uint32_t seed)
{
	for (uint32_t i = 8; i < size; i++) {
		seed = seed * 1103515245 + 12345;
		record[i] = (unsigned char)(seed >> 16);
	}
}

/* The sizes of the short way and their neighbours, over several pages. */
static void each_byte_is_where_it_belongs(void **state)
{
	_Alignas(8) unsigned char record[MOST];
	struct agent_thread *t = agent_thread();
	struct ring_record r;
	struct ring_iter *it;
	uint32_t n = 0;

	begin();
	buffer_clear(session, inst->buffers[0], -1);
	t->flags = AGENT_SIGNALS_OFF;
	t->locks = 7;
	for (int round = 0; round < 20; round++)
		for (uint32_t size = 8; size < MOST; size++, n++) {
			fill(record, size, n);
			agent_emit(t, EVENT, record, size, NULL);
		}
	t->flags = t->locks = 0;
	assert_int_equal(ring_iter_open(session, inst->buffers[0], -1, &it), 0);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t size = 8 + i % (MOST - 8);
		const struct record_common *c;

		assert_int_equal(ring_iter_next(it, &r), 1);
		c = r.record;
		assert_in_range(r.size, size, size + 4);
		assert_int_equal(c->type, EVENT);
		assert_int_equal(c->flags, AGENT_SIGNALS_OFF);
		assert_int_equal(c->preempt_count, 7);
		assert_int_equal(c->pid, t->pid);
		fill(record, size, i);
		assert_memory_equal((const char *)r.record + 8, record + 8, size - 8);
	}
	assert_int_equal(ring_iter_next(it, &r), 0);
	ring_iter_close(it);
}

static void tracing_off_is_seen(void **state)
{
	begin();
	inst->tracing_on = 0;
	emit(10);
	inst->tracing_on = 1;
	assert_int_equal(last(), 2);
	emit(11);
	assert_int_equal(last(), 11);
}

static void a_cpu_that_does_not_record_is_seen(void **state)
{
	begin();
	buffer_set_cpu_recording(session, inst->buffers[0], way()->cpu, false);
	emit(10);
	buffer_set_cpu_recording(session, inst->buffers[0], way()->cpu, true);
	assert_int_equal(last(), 2);
	emit(11);
	assert_int_equal(last(), 11);
}

static void a_swap_is_seen(void **state)
{
	begin();
	inst->live ^= 1;
	emit(20);
	assert_int_equal(last(), 20);
	emit(21);
	assert_int_equal(last(), 21);
	/* From the second hit on the short way is taken again. */
	assert_int_equal(way()->on >> 32, inst->live);
	inst->live ^= 1;
	assert_int_equal(last(), 2);
	emit(22);
	assert_int_equal(last(), 22);
}

static void rings_that_change_places_are_seen(void **state)
{
	begin();
	assert_int_equal(buffer_swap_cpu(session, inst->buffers[0], inst->buffers[1], way()->cpu),
			 0);
	emit(30);
	assert_int_equal(last(), 30);
	assert_int_equal(last_of(inst->buffers[1], NULL), 2);
}

static void a_new_buffer_is_seen(void **state)
{
	data_ref before = inst->buffers[0];

	begin();
	session_publish(session, &inst->buffers[0], buffer_new(RING_BYTES));
	emit(40);
	emit(41);
	assert_int_equal(last(), 41);
	assert_int_equal(last_of(before, NULL), 2);
	buffer_retire(session, before);
	emit(42);
	assert_int_equal(session_reclaim(session), 0);
	emit(43);
	assert_int_equal(last(), 43);
}

/* Sets the clock as the server does. */
static void clock_set(enum clock_id id)
{
	inst->clock = id;
	session_settings_changed(session);
}

static void another_clock_is_seen(void **state)
{
	uint64_t time = 0;

	begin();
	clock_set(CLOCK_ID_COUNTER);
	inst->counter = 5;
	emit(50);
	assert_int_equal(last_of(inst->buffers[0], &time), 50);
	clock_set(CLOCK_ID_LOCAL);
	assert_in_range(time, 6, 9);	/* each way that is tried reads the clock once more */
	buffer_clear(session, inst->buffers[0], -1);
}

/*
 * `global` and `perf` read the same counter as `local`. A histogram with a time sets one of them.
 */
static void clocks_that_read_the_counter_are_short(void **state)
{
	static const enum clock_id clocks[] = { CLOCK_ID_GLOBAL, CLOCK_ID_PERF };
	uint64_t before = 0, then = 0;

	begin();
	for (size_t i = 0; i < sizeof(clocks) / sizeof(clocks[0]); i++) {
		clock_set(clocks[i]);
		emit(52);
		emit(53);
		assert_int_equal(last_of(inst->buffers[0], &before), 53);
		way()->offset += LATER;
		emit(54);
		way()->offset -= LATER;
		assert_int_equal(last_of(inst->buffers[0], &then), 54);
		assert_true(then - before >= LATER);
		buffer_clear(session, inst->buffers[0], -1);
	}
	clock_set(CLOCK_ID_LOCAL);
	emit(55);
}

/* With a stack no hit takes the short way or makes one, so the old way stays unchanged. */
static void an_option_is_seen(void **state)
{
	begin();
	inst->flags |= INSTANCE_STACKTRACE;
	session_settings_changed(session);
	emit(56);
	emit(57);
	assert_int_equal(last(), 57);
	assert_int_not_equal(way()->epoch, session_header(session)->epoch);
	inst->flags &= ~(uint32_t)INSTANCE_STACKTRACE;
	session_settings_changed(session);
	emit(58);
	assert_int_equal(last(), 58);
	assert_int_equal(way()->epoch, session_header(session)->epoch);
}

/*
 * The server raises the epoch. The slot of a short hit shows an epoch that is not newer than the
 * data that the hit uses.
 */
static void a_short_hit_keeps_what_is_retired(void **state)
{
	struct slot *slot = agent_thread()->slot;

	begin();
	assert_int_equal(slot->epoch, way()->epoch);
	emit(59);
	assert_int_equal(slot->epoch, session_header(session)->epoch);
	session_settings_changed(session);
	emit(60);
	assert_int_equal(slot->epoch, session_header(session)->epoch);
}

static void another_plan_is_seen(void **state)
{
	begin();
	entry_arm(EVENT, EVENT, false);
	emit(60);
	assert_int_equal(last(), 2);
	entry_arm(EVENT, EVENT, true);
	emit(61);
	assert_int_equal(last(), 61);
}

/* A hit inside another one counts as a handler's. */
static void the_level_is_free_again(void **state)
{
	struct slot *slot = agent_thread()->slot;

	begin();
	assert_int_equal(slot->depth, 0);
	agent_thread()->frame[0] = (uintptr_t)__builtin_frame_address(0);	/* the way waits */
	slot->depth = 1;
	emit(70);
	assert_int_equal(slot->depth, 1);
	slot->depth = 0;
	assert_int_equal(last(), 70);
	emit(71);
	assert_int_equal(slot->depth, 0);
	assert_int_equal(last(), 71);
}

/* The last test, because nothing is recorded after it. */
static void nonsense_ends_the_tracing(void **state)
{
	begin();
	guard_start();		/* again, because cmocka has set its own handlers */
	way()->ring = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	emit(80);
	assert_false(agent_attached());
	assert_null(agent_thread());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_second_hit_is_short),
		cmocka_unit_test(each_byte_is_where_it_belongs),
		cmocka_unit_test(tracing_off_is_seen),
		cmocka_unit_test(a_cpu_that_does_not_record_is_seen),
		cmocka_unit_test(a_swap_is_seen),
		cmocka_unit_test(rings_that_change_places_are_seen),
		cmocka_unit_test(a_new_buffer_is_seen),
		cmocka_unit_test(another_clock_is_seen),
		cmocka_unit_test(clocks_that_read_the_counter_are_short),
		cmocka_unit_test(an_option_is_seen),
		cmocka_unit_test(a_short_hit_keeps_what_is_retired),
		cmocka_unit_test(another_plan_is_seen),
		cmocka_unit_test(the_level_is_free_again),
		cmocka_unit_test(nonsense_ends_the_tracing),
	};

	return cmocka_run_group_tests(tests, set_up, server_stop);
}
