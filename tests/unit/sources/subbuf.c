/* SPDX-License-Identifier: MIT */
/*
 * subbuf.c - what a ring buffer page contains: records, times, padding, losses
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "sources/recording/file/subbuf.h"

enum { PAGE = 4096 };

struct page {
	uint8_t		bytes[PAGE];
	uint32_t	used;
};

static void put(struct page *p, uint32_t v)
{
	memcpy(p->bytes + SUBBUF_HEADER + p->used, &v, 4);
	p->used += 4;
}

/* A record of type 7 with `words` words behind its common fields. */
static void put_record(struct page *p, uint32_t delta, unsigned int words)
{
	put(p, (2 + words) | delta << 5);
	put(p, 7);
	put(p, 1234);
	while (words--)
		put(p, words);
}

static uint64_t start(struct page *p, struct subbuf *b, uint64_t time, uint64_t flags)
{
	uint64_t commit = p->used | flags, lost;

	memcpy(p->bytes, &time, 8);
	memcpy(p->bytes + 8, &commit, 8);
	assert_int_equal(subbuf_start(b, p->bytes, PAGE, &lost), 0);
	return lost;
}

static void records_and_deltas(void **state)
{
	struct page p = { 0 };
	struct subbuf_record r;
	struct subbuf b = { 0 };

	put_record(&p, 0, 0);
	put_record(&p, 100, 26);
	assert_int_equal(start(&p, &b, 5000, 0), 0);
	assert_int_equal(subbuf_next(&b, &r), 1);
	assert_int_equal(r.time, 5000);
	assert_int_equal(r.size, 8);
	assert_int_equal(r.type, 7);
	assert_int_equal(subbuf_next(&b, &r), 1);
	assert_int_equal(r.time, 5100);
	assert_int_equal(r.size, 112);
	assert_int_equal(subbuf_next(&b, &r), 0);
}

static void large_record(void **state)
{
	struct page p = { 0 };
	struct subbuf_record r;
	struct subbuf b = { 0 };
	unsigned int i;

	put(&p, 3 << 5);
	put(&p, 4 + 200);
	put(&p, 7);
	for (i = 1; i < 50; i++)
		put(&p, i);
	put_record(&p, 2, 0);
	start(&p, &b, 10, 0);
	assert_int_equal(subbuf_next(&b, &r), 1);
	assert_int_equal(r.size, 200);
	assert_int_equal(r.time, 13);
	assert_int_equal(subbuf_next(&b, &r), 1);
	assert_int_equal(r.time, 15);
}

static void time_extend(void **state)
{
	struct page p = { 0 };
	struct subbuf_record r;
	struct subbuf b = { 0 };

	put(&p, SUBBUF_TIME_EXTEND | 5 << 5);
	put(&p, 3);
	put_record(&p, 1, 0);
	start(&p, &b, 1000, 0);
	assert_int_equal(subbuf_next(&b, &r), 1);
	assert_int_equal(r.time, 1000 + (3ull << 27) + 5 + 1);
}

static void absolute_time(void **state)
{
	struct page p = { 0 };
	struct subbuf_record r;
	struct subbuf b = { 0 };
	uint64_t top = 3ull << 59;

	put(&p, (uint32_t)SUBBUF_TIME_STAMP | 9 << 5);
	put(&p, 77);
	put_record(&p, 0, 0);
	start(&p, &b, top + 500, 0);
	assert_int_equal(subbuf_next(&b, &r), 1);
	assert_int_equal(r.time, top + (77ull << 27) + 9);
	/* The new time is smaller than the last one, so the upper bits are one more. */
	start(&p, &b, top + (78ull << 27), 0);
	assert_int_equal(subbuf_next(&b, &r), 1);
	assert_int_equal(r.time, top + (1ull << 59) + (77ull << 27) + 9);
}

static void padding(void **state)
{
	struct page p = { 0 };
	struct subbuf_record r;
	struct subbuf b = { 0 };

	/* The next record's delta begins at the discarded one. A delta of 1 stands for 0. */
	put(&p, SUBBUF_PADDING | 50 << 5);
	put(&p, 12);
	put(&p, 0);
	put(&p, 0);
	put(&p, SUBBUF_PADDING | 1 << 5);
	put(&p, 4);
	put_record(&p, 1, 0);
	/* The rest of the page is empty. */
	put(&p, SUBBUF_PADDING);
	put_record(&p, 1, 0);
	start(&p, &b, 100, 0);
	assert_int_equal(subbuf_next(&b, &r), 1);
	assert_int_equal(r.time, 151);
	assert_int_equal(subbuf_next(&b, &r), 0);
}

static void lost_events(void **state)
{
	struct page p = { 0 };
	struct subbuf b = { 0 };
	uint64_t lost = 4711;

	put_record(&p, 0, 0);
	assert_int_equal(start(&p, &b, 1, SUBBUF_MISSED), 1);
	memcpy(p.bytes + SUBBUF_HEADER + p.used, &lost, 8);
	assert_int_equal(start(&p, &b, 1, SUBBUF_MISSED | SUBBUF_STORED), 4711);
}

static void damage(void **state)
{
	struct page p = { 0 };
	struct subbuf_record r;
	struct subbuf b = { 0 };
	uint64_t commit = PAGE, lost;

	memcpy(p.bytes + 8, &commit, 8);
	assert_true(subbuf_start(&b, p.bytes, PAGE, &lost) < 0);
	/* A record ends behind the data. */
	put(&p, 28);
	put(&p, 7);
	start(&p, &b, 1, 0);
	assert_true(subbuf_next(&b, &r) < 0);
	/* A record has no room for the common fields. */
	p.used = 0;
	put(&p, 1);
	put(&p, 7);
	start(&p, &b, 1, 0);
	assert_true(subbuf_next(&b, &r) < 0);
	/* A time extend has no second word. */
	p.used = 0;
	put(&p, SUBBUF_TIME_EXTEND);
	start(&p, &b, 1, 0);
	assert_true(subbuf_next(&b, &r) < 0);
	/* Padding ends behind the data, and then a record has the length 0. */
	p.used = 0;
	put(&p, SUBBUF_PADDING | 1 << 5);
	put(&p, 100);
	start(&p, &b, 1, 0);
	assert_true(subbuf_next(&b, &r) < 0);
	p.used = 0;
	put(&p, 0);
	put(&p, 0);
	start(&p, &b, 1, 0);
	assert_true(subbuf_next(&b, &r) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_and_deltas),
		cmocka_unit_test(large_record),
		cmocka_unit_test(time_extend),
		cmocka_unit_test(absolute_time),
		cmocka_unit_test(padding),
		cmocka_unit_test(lost_events),
		cmocka_unit_test(damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
