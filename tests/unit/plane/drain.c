/* SPDX-License-Identifier: MIT */
/*
 * drain.c - whole pages for a reader that maps the session: each is given once, or refused
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "plane/plane.h"
#include "plane/ring/ring.h"
#include "run_tests.h"
#include "session/ring/access.h"
#include "session/ring/cursor.h"
#include "session/ring/drain.h"
#include "session/session.h"

enum { CPUS = 2, SETS = 3, PAGE = 4096, PAGES = 8, MOST = 64, SIZE = 500, IN_PAGE = 8 };

static struct session *session;
static struct slot *slot;
static data_ref buffer;
static struct ring_drain *drain;
static struct drain_page pages[MOST];
static uint64_t now;

static int setup(void **state)
{
	struct session_params params = { .nr_cpus = CPUS, .nr_slots = 16, .memory = 64 << 20 };
	uint64_t sizes[CPUS] = { PAGES * PAGE, PAGES * PAGE };

	assert_int_equal(session_create(NULL, &params, &session), 0);
	slot = session_slot_get(session);
	assert_int_equal(buffer_create(session, 0, CPUS, PAGE, sizes, SETS, false, &buffer), 0);
	assert_int_equal(ring_drain_open(session, &drain), 0);
	return 0;
}

static int teardown(void **state)
{
	ring_drain_close(drain);
	session_close(session);
	return 0;
}

/* Writes records of that set on CPU 1. Returns how many were dropped. */
static unsigned int put(uint32_t set, unsigned int nr)
{
	char record[SIZE] = { 0 };
	unsigned int dropped = 0;

	while (nr--)
		dropped += (unsigned int)ring_write(session_plane(session), slot, buffer, set, 1,
						    ++now, record, SIZE) != 0;
	return dropped;
}

static struct ring_stats stats(void)
{
	struct ring_stats out;

	assert_int_equal(buffer_stats(session, buffer, 1, &out), 0);
	return out;
}

static uint32_t next(void)
{
	return ring_drain_next(drain, buffer, pages, MOST);
}

static unsigned int records(const struct drain_page *p)
{
	const char *page = session_data(session, p->at, PAGE);
	struct ring_cursor c;
	unsigned int n = 0;

	assert_non_null(page);
	ring_cursor_start(&c, page, p->end);
	while (ring_cursor_next(&c))
		n++;
	return n;
}

static void each_page_is_given_once(void **state)
{
	assert_int_equal(next(), 0);
	put(1, 3 * IN_PAGE + 1);
	assert_int_equal(next(), 3);		/* the last one is still written */
	for (int i = 0; i < 3; i++) {
		assert_int_equal(pages[i].cpu, 1);
		assert_int_equal(pages[i].lost, 0);
		assert_int_equal(records(&pages[i]), IN_PAGE);
	}
	assert_int_equal(stats().read, 0);
	assert_int_equal(next(), 0);
	assert_int_equal(stats().read, 3 * IN_PAGE);
	assert_int_equal(stats().entries, 1);
	assert_int_equal(stats().overrun, 0);
}

/* A full ring has room again as soon as pages are taken. */
static void taken_pages_are_free(void **state)
{
	const unsigned int dropped = put(1, 100 * IN_PAGE);

	assert_true(dropped > 0);
	assert_true(next() > 0);
	assert_int_equal(put(1, 1), 1);
	next();
	assert_int_equal(put(1, 1), 0);
	assert_int_equal(stats().read + stats().entries + dropped, 100 * IN_PAGE + 1);
}

static void a_page_that_was_begun_is_merged(void **state)
{
	struct ring_consumer *c;
	struct ring_record r;
	char page[PAGE];

	put(1, 3 * IN_PAGE + 1);
	assert_int_equal(ring_consumer_open(session, 1, &c), 0);
	assert_int_equal(ring_consume(c, buffer, &r), 1);
	assert_int_equal(next(), 1);
	assert_int_equal(pages[0].end, DRAIN_MERGE);
	assert_int_equal(ring_consume_page(c, buffer, page, PAGE), 1);
	/* From there on whole pages are given again. */
	assert_int_equal(next(), 2);
	assert_int_equal(records(&pages[0]), IN_PAGE);
	next();
	assert_int_equal(stats().read, 3 * IN_PAGE);
	ring_consumer_close(c);
}

static void records_of_two_rings_are_merged(void **state)
{
	put(1, 3 * IN_PAGE);
	put(2, 1);
	assert_int_equal(next(), 1);
	assert_int_equal(pages[0].end, DRAIN_MERGE);
	assert_int_equal(pages[0].cpu, 1);
}

static void overwritten_pages_are_refused(void **state)
{
	unsigned int got = 0, lost = 0;

	buffer_set_overwrite(session, buffer, true);
	put(1, 3 * IN_PAGE + 1);
	assert_int_equal(next(), 3);
	put(1, 20 * IN_PAGE);
	assert_true(next() > 1);
	assert_int_equal(pages[0].end, DRAIN_REFUSED);
	for (int i = 1; pages[i].end > DRAIN_REFUSED; i++) {
		got += records(&pages[i]);
		lost += (unsigned int)pages[i].lost;
	}
	memset(pages, 0, sizeof(pages));
	next();
	assert_int_equal(stats().read, got);
	assert_int_equal(stats().overrun, lost);
	assert_int_equal(got + lost + stats().entries, 23 * IN_PAGE + 1);
}

static void cleared_pages_are_refused(void **state)
{
	put(1, 3 * IN_PAGE + 1);
	assert_int_equal(next(), 3);
	buffer_clear(session, buffer, -1);
	assert_int_equal(next(), 1);
	assert_int_equal(pages[0].end, DRAIN_REFUSED);
	assert_int_equal(stats().read, 0);
}

/* A program may write anything there. */
static void damaged_numbers_are_merged(void **state)
{
	const struct buffer_book *b = buffer_book(session, buffer);
	struct ring_view v;

	put(1, 3 * IN_PAGE + 1);
	assert_true(ring_view(session, b, 1, 1, &v));
	v.descs[1].entries = 1ull << 60;
	assert_int_equal(next(), 1);
	assert_int_equal(pages[0].end, DRAIN_MERGE);
	v.descs[1].entries = IN_PAGE;
	v.descs[0].end = PAGE + 1;
	assert_int_equal(next(), 1);
	assert_int_equal(pages[0].end, DRAIN_MERGE);
}

static void little_room_gives_nothing(void **state)
{
	put(1, 3 * IN_PAGE + 1);
	assert_int_equal(ring_drain_next(drain, buffer, pages, 1), 0);
	assert_int_equal(ring_drain_next(drain, buffer, pages, 2 * CPUS), 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(each_page_is_given_once, setup, teardown),
		cmocka_unit_test_setup_teardown(taken_pages_are_free, setup, teardown),
		cmocka_unit_test_setup_teardown(a_page_that_was_begun_is_merged, setup, teardown),
		cmocka_unit_test_setup_teardown(records_of_two_rings_are_merged, setup, teardown),
		cmocka_unit_test_setup_teardown(overwritten_pages_are_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(cleared_pages_are_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(damaged_numbers_are_merged, setup, teardown),
		cmocka_unit_test_setup_teardown(little_room_gives_nothing, setup, teardown),
	};

	return run_in_temp_place(tests);
}
