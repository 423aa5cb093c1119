/* SPDX-License-Identifier: MIT */
/*
 * ring.c - what writers store in a ring and what readers get; libtraceevent checks the pages
 */
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <kbuffer.h>
#include "plane/arch/ring_commit.h"
#include "plane/clock.h"
#include "plane/plane.h"
#include "plane/ring/ring.h"
#include "run_tests.h"
#include "session/session.h"

enum { CPUS = 3, SOURCE = 1, PAGE = 4096, HUGE_DELTA = 1 << 27 };

struct record {
	struct record_common common;
	uint32_t	number, check;
	char		more[1000];
};

static struct session *session;
static struct plane *plane;
static struct slot *slot;
static data_ref buffer;

static data_ref made(uint64_t bytes, bool overwrite, uint32_t subbuf_size)
{
	uint64_t sizes[CPUS] = { bytes, bytes, bytes };
	data_ref ref;

	assert_int_equal(buffer_create(session, 0, CPUS, subbuf_size, sizes, 2, overwrite, &ref),
			 0);
	return ref;
}

static int setup(void **state)
{
	struct session_params params = { .nr_cpus = CPUS, .nr_slots = 16, .memory = 256 << 20 };

	assert_int_equal(session_create(NULL, &params, &session), 0);
	plane = session_plane(session);
	slot = session_slot_get(session);
	buffer = made(16 * PAGE, true, PAGE);
	return 0;
}

static int teardown(void **state)
{
	session_close(session);
	return 0;
}

static int put(uint32_t cpu, uint64_t time, uint32_t number, uint32_t size)
{
	struct record r = { .common.type = 300, .number = number, .check = number * 2654435761u };

	memset(r.more, (int)(number & 0xff), sizeof(r.more));
	return ring_write(plane, slot, buffer, SOURCE, cpu, time, &r, size);
}

static uint32_t number_of(const struct ring_record *r)
{
	const struct record *rec = r->record;

	assert_int_equal(rec->check, rec->number * 2654435761u);
	return rec->number;
}

/* Reads all pages, consuming, and gives them to libtraceevent. fn sees every record. */
static unsigned int judge(int cpu, void (*fn)(unsigned int i, uint64_t time, const struct record *r,
					      int size))
{
	struct kbuffer *kbuf = kbuffer_alloc(KBUFFER_LSIZE_8, KBUFFER_ENDIAN_LITTLE);
	struct ring_consumer *c;
	unsigned int i = 0;
	char page[PAGE];

	assert_int_equal(ring_consumer_open(session, cpu, &c), 0);
	while (ring_consume_page(c, buffer, page, PAGE) == 1) {
		unsigned long long time;
		void *rec;

		assert_int_equal(kbuffer_load_subbuffer(kbuf, page), 0);
		for (rec = kbuffer_read_event(kbuf, &time); rec;
		     rec = kbuffer_next_event(kbuf, &time))
			fn(i++, time, rec, kbuffer_event_size(kbuf));
	}
	ring_consumer_close(c);
	kbuffer_free(kbuf);
	return i;
}

static const uint32_t sizes[] = { 16, 20, 24, 108, 112, 116, 120, 200, 1000 };
static uint64_t times[4000];

static void is_as_written(unsigned int i, uint64_t time, const struct record *r, int size)
{
	assert_int_equal(r->number, i);
	assert_int_equal(r->check, i * 2654435761u);
	assert_int_equal(time, times[i]);
	assert_int_equal(size, sizes[i % 9]);
	for (uint32_t k = 16; k < sizes[i % 9]; k++)
		assert_int_equal((unsigned char)((const char *)r)[k], i & 0xff);
}

static void pages_of_all_sizes_and_deltas_are_the_kernels(void **state)
{
	uint64_t time = 5;

	for (uint32_t i = 0; i < 200; i++) {
		time += i % 7 == 3   ? HUGE_DELTA - 1
			: i % 7 == 4 ? HUGE_DELTA
			: i % 7 == 5 ? 1ull << 40
				     : i % 3;
		times[i] = time;
		assert_int_equal(put(1, time, i, sizes[i % 9]), 0);
	}
	assert_int_equal(judge(1, is_as_written), 200);
}

static void an_iterator_sees_what_the_pages_say(void **state)
{
	struct ring_iter *it;
	struct ring_record r;
	uint32_t i = 0;

	pages_of_all_sizes_and_deltas_are_the_kernels(state);
	assert_int_equal(ring_iter_open(session, buffer, -1, &it), 0);
	assert_int_equal(ring_iter_next(it, &r), 0);		/* all was consumed */
	ring_iter_close(it);
	for (i = 0; i < 100; i++)
		put(0, times[199] + i, i, 16);
	assert_int_equal(ring_iter_open(session, buffer, -1, &it), 0);
	for (i = 0; ring_iter_next(it, &r) == 1; i++) {
		assert_int_equal(number_of(&r), i);
		assert_int_equal(r.time, times[199] + i);
		assert_int_equal(r.lost, 0);
	}
	assert_int_equal(i, 100);
	ring_iter_close(it);
}

static void time_that_steps_back_is_told_absolutely(void **state)
{
	static const uint64_t when[] = { 1000, 500, 501, 1ull << 50, 7, 8 };

	for (uint32_t i = 0; i < 6; i++) {
		times[i] = when[i];
		put(0, when[i], i, sizes[i % 9]);
	}
	assert_int_equal(judge(0, is_as_written), 6);
}

/*
 * The clock may change from the time since 1970 to the time since boot, and back. The lowest bit
 * that a record's own time lacks may be the only one that changes.
 */
static void any_time_may_follow_any_other(void **state)
{
	static const uint64_t when[] = {
		1795382156ull * 1000000000, 41333ull * 1000000000, 41333ull * 1000000000 + 7,
		1795382157ull * 1000000000, 1795382157ull * 1000000000 + 3, 1, UINT64_MAX - 1, 2,
		(1ull << RING_TIME_BITS) + 5, 4,
	};

	for (uint32_t i = 0; i < 10; i++) {
		times[i] = when[i];
		put(0, when[i], i, sizes[i % 9]);
	}
	assert_int_equal(judge(0, is_as_written), 10);
}

static void rings_are_merged_by_time(void **state)
{
	struct ring_iter *it;
	struct ring_record r;
	uint32_t i;

	for (i = 0; i < 300; i++)
		put(i * 7 % CPUS, 1000 + i, i, 16 + i % 5 * 4);
	assert_int_equal(ring_iter_open(session, buffer, -1, &it), 0);
	for (i = 0; ring_iter_next(it, &r) == 1; i++) {
		assert_int_equal(number_of(&r), i);
		assert_int_equal(r.cpu, i * 7 % CPUS);
	}
	assert_int_equal(i, 300);
	ring_iter_close(it);
}

static void fill(uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++)
		put(0, 1000 + i, i, 100);
}

static void overwriting_keeps_the_newest_and_counts(void **state)
{
	struct ring_consumer *c;
	struct ring_record r;
	struct ring_stats st;
	uint32_t first, i;

	fill(0, 3000);
	assert_int_equal(buffer_stats(session, buffer, 0, &st), 0);
	assert_int_equal(st.entries + st.overrun, 3000);
	assert_true(st.entries * 104 >= 16 * (PAGE - 16 - 104) && st.entries * 104 <= 18 * PAGE);
	/* 39 records of 104 bytes leave 24 bytes of a page, which count as in the kernel. */
	assert_int_equal(st.bytes, st.entries / 39 * (PAGE - 16) + st.entries % 39 * 104);
	assert_int_equal(st.oldest_ts, 1000 + st.overrun);
	assert_int_equal(ring_consumer_open(session, 0, &c), 0);
	assert_int_equal(ring_consume(c, buffer, &r), 1);
	first = number_of(&r);
	assert_int_equal(first, st.overrun);
	assert_int_equal(r.lost, first);
	for (i = first + 1; ring_consume(c, buffer, &r) == 1; i++) {
		assert_int_equal(number_of(&r), i);
		assert_int_equal(r.lost, 0);
	}
	assert_int_equal(i, 3000);
	fill(3000, 6000);
	assert_int_equal(ring_consume(c, buffer, &r), 1);
	assert_int_equal(r.lost, number_of(&r) - 3000);
	buffer_stats(session, buffer, 0, &st);
	assert_int_equal(st.read, 3000 - first + 1);
	assert_int_equal(st.entries + st.overrun + st.read, 6000);
	ring_consumer_close(c);
}

static void no_overwrite_keeps_the_oldest_and_counts(void **state)
{
	struct ring_consumer *c;
	struct ring_record r;
	struct ring_stats st;
	uint64_t kept;

	buffer_set_overwrite(session, buffer, false);
	fill(0, 3000);
	buffer_stats(session, buffer, 0, &st);
	kept = st.entries;
	assert_int_equal(kept + st.dropped, 3000);
	assert_int_equal(st.overrun, 0);
	assert_int_equal(ring_consumer_open(session, 0, &c), 0);
	for (uint32_t i = 0; ring_consume(c, buffer, &r) == 1; i++)
		assert_int_equal(number_of(&r), i);
	assert_int_equal(put(0, 9000, 1, 100), 0);	/* now there is room */
	buffer_stats(session, buffer, 0, &st);
	assert_int_equal(st.entries, 1);
	assert_int_equal(st.read, kept);
	ring_consumer_close(c);
}

static void a_record_larger_than_a_page_is_dropped(void **state)
{
	char large[2 * PAGE] = { 0 };
	struct ring_stats st;

	assert_int_equal(ring_write(plane, slot, buffer, SOURCE, 0, 5, large, PAGE - 24), 0);
	assert_int_equal(ring_write(plane, slot, buffer, SOURCE, 0, 6, large, PAGE - 20), 1);
	assert_int_equal(ring_write(plane, slot, buffer, SOURCE, 0, 6, large, sizeof(large)), 1);
	assert_int_equal(ring_write(plane, slot, buffer, SOURCE, 0, 6, large, UINT32_MAX), 1);
	buffer_stats(session, buffer, 0, &st);
	assert_int_equal(st.entries, 1);
	assert_int_equal(st.dropped, 3);
}

static void clearing_hides_and_goes_on(void **state)
{
	struct ring_iter *it;
	struct ring_record r;
	struct ring_stats st;

	fill(0, 1000);
	buffer_clear(session, buffer, -1);
	buffer_stats(session, buffer, 0, &st);
	assert_int_equal(st.entries + st.overrun + st.read + st.dropped + st.bytes, 0);
	put(0, 9999, 7, 16);
	assert_int_equal(ring_iter_open(session, buffer, 0, &it), 0);
	assert_int_equal(ring_iter_next(it, &r), 1);
	assert_int_equal(number_of(&r), 7);
	assert_int_equal(ring_iter_next(it, &r), 0);
	ring_iter_close(it);
}

static uint32_t count(data_ref ref, uint32_t *first)
{
	struct ring_iter *it;
	struct ring_record r;
	uint32_t i = 0;

	assert_int_equal(ring_iter_open(session, ref, 0, &it), 0);
	for (; ring_iter_next(it, &r) == 1; i++)
		if (!i)
			*first = number_of(&r);
		else
			assert_int_equal(number_of(&r), *first + i);
	ring_iter_close(it);
	return i;
}

static void resizing_keeps_what_fits(void **state)
{
	struct ring_stats st;
	data_ref old = buffer;
	uint32_t first = 0;

	fill(0, 400);
	buffer = made(32 * PAGE, true, PAGE);
	assert_int_equal(buffer_keep(session, old, buffer), 0);
	buffer_retire(session, old);
	fill(400, 500);
	assert_int_equal(count(buffer, &first), 500);
	assert_int_equal(first, 0);
	old = buffer;
	buffer = made(4 * PAGE, true, PAGE);
	assert_int_equal(buffer_keep(session, old, buffer), 0);
	buffer_retire(session, old);
	fill(500, 520);
	buffer_stats(session, buffer, 0, &st);
	assert_int_equal(count(buffer, &first), st.entries);
	assert_int_equal(first, 520 - st.entries);
	assert_int_equal(st.entries + st.overrun, 520);
	assert_true(st.entries > 100 && st.entries <= 5 * PAGE / 104);
	fill(520, 1000);
	assert_true(count(buffer, &first) <= 5 * PAGE / 104);
	assert_true(first > 800);
	assert_int_equal(buffer_keep(session, buffer, made(4 * PAGE, true, 2 * PAGE)), -EINVAL);
}

/* A buffer has places for 16 older rings. */
static void the_rings_of_many_resizes_stay_counted(void **state)
{
	enum { RESIZES = 40, EACH = 3000 };
	struct ring_consumer *c;
	struct ring_record r;
	struct ring_stats st;

	assert_int_equal(ring_consumer_open(session, 0, &c), 0);
	for (uint32_t i = 1; i <= RESIZES; i++) {
		const data_ref old = buffer;

		fill((i - 1) * EACH, i * EACH);
		assert_int_equal(ring_consume(c, buffer, &r), 1);
		assert_int_equal(put(0, 1000 + i * EACH, 0, 2 * PAGE), 1);
		buffer = made((16 + i % 2) * PAGE, true, PAGE);
		assert_int_equal(buffer_keep(session, old, buffer), 0);
		buffer_retire(session, old);
		buffer_stats(session, buffer, 0, &st);
		assert_int_equal(st.entries + st.overrun + st.read, i * EACH);
		assert_int_equal(st.read, i);
		assert_int_equal(st.dropped, i);
	}
	ring_consumer_close(c);
	buffer_clear(session, buffer, -1);
	buffer_stats(session, buffer, 0, &st);
	assert_int_equal(st.entries + st.overrun + st.read + st.dropped, 0);
}

/* Makes the buffer smaller or larger, and frees what is retired. */
static void resize(uint32_t bytes)
{
	const data_ref old = buffer;

	buffer = made(bytes, true, PAGE);
	assert_int_equal(buffer_keep(session, old, buffer), 0);
	buffer_retire(session, old);
	/* The hits before it may still write into the older ring. */
	assert_false(buffer_drop_kept(session, buffer));
	assert_int_equal(session_reclaim(session), 0);
}

/* Of `all` records that were written, those that no count has. */
static uint64_t uncounted(uint64_t all)
{
	struct ring_stats st;

	assert_int_equal(buffer_stats(session, buffer, 0, &st), 0);
	return all - st.entries - st.overrun - st.read;
}

static void a_ring_goes_when_newer_records_take_its_room(void **state)
{
	uint64_t both;
	uint32_t first;

	fill(0, 400);
	resize(4 * PAGE);
	both = buffer_ring_bytes(session, buffer, 0);
	fill(400, 420);
	/* Some of its records can be read. */
	assert_false(buffer_drop_kept(session, buffer));
	assert_true(count(buffer, &first) > 20);
	fill(420, 1000);
	assert_int_equal(uncounted(1000), 0);
	assert_true(buffer_drop_kept(session, buffer));
	assert_true(buffer_ring_bytes(session, buffer, 0) < both);
	assert_int_equal(uncounted(1000), 0);
	assert_true(count(buffer, &first) > 20);
	assert_false(buffer_drop_kept(session, buffer));
	fill(1000, 1100);
	assert_int_equal(uncounted(1100), 0);
}

static void a_ring_goes_when_it_is_cleared(void **state)
{
	struct ring_stats st;
	uint64_t both;
	uint32_t first;

	fill(0, 100);
	resize(32 * PAGE);
	both = buffer_ring_bytes(session, buffer, 0);
	buffer_clear(session, buffer, -1);
	/* A text that is printed may be in it. */
	session_hold(session, true);
	assert_false(buffer_drop_kept(session, buffer));
	session_hold(session, false);
	assert_true(buffer_drop_kept(session, buffer));
	assert_true(buffer_ring_bytes(session, buffer, 0) < both);
	buffer_stats(session, buffer, 0, &st);
	assert_int_equal(st.entries + st.overrun + st.read + st.dropped, 0);
	fill(100, 110);
	assert_int_equal(count(buffer, &first), 10);
}

static void a_ring_goes_under_a_consumer(void **state)
{
	struct ring_consumer *c;
	struct ring_record r;

	assert_int_equal(ring_consumer_open(session, 0, &c), 0);
	fill(0, 3);
	resize(32 * PAGE);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(ring_consume(c, buffer, &r), 1);
		assert_int_equal(number_of(&r), i);
	}
	assert_true(buffer_drop_kept(session, buffer));
	assert_int_equal(ring_consume(c, buffer, &r), 0);
	fill(3, 5);
	assert_int_equal(ring_consume(c, buffer, &r), 1);
	assert_int_equal(number_of(&r), 3);
	assert_int_equal(uncounted(5), 0);
	ring_consumer_close(c);
}

static void one_cpu_is_swapped(void **state)
{
	data_ref live = buffer, snapshot = made(16 * PAGE, true, PAGE);
	struct ring_stats st;

	fill(0, 10);
	put(1, 5, 1, 16);
	assert_int_equal(buffer_swap_cpu(session, live, snapshot, 0), 0);
	fill(10, 12);
	buffer_stats(session, snapshot, 0, &st);
	assert_int_equal(st.entries, 10);
	buffer_stats(session, live, 0, &st);
	assert_int_equal(st.entries, 2);
	buffer_stats(session, live, 1, &st);
	assert_int_equal(st.entries, 1);
	assert_int_equal(buffer_swap_cpu(session, live, snapshot, CPUS), -EINVAL);
}

static void leases_are_given_and_stay_with_their_slot(void **state)
{
	struct record r = { .number = 1, .check = 2654435761u };
	struct slot *own = session_slot_get(session);
	data_ref live = made(16 * PAGE, true, PAGE);
	struct ring_stats st;

	buffer_publish(session, 0, 0, live);
	atomic_store(&own->lease, RING_LEASE_ONLY);
	assert_int_equal(ring_write(plane, own, live, 0, 1, 5, &r, 16), 1);
	assert_int_equal(own->missed, 1);
	ring_leases_serve(session);
	for (uint32_t depth = 0; depth <= LAYOUT_HIT_LEVELS; depth++) {
		atomic_store(&own->depth, depth);
		assert_int_equal(ring_write(plane, own, live, 0, 1, 5 + depth, &r, 16), 0);
	}
	buffer_stats(session, live, 1, &st);
	assert_int_equal(st.entries, 5);
	/* A later buffer has rings for this slot, too. */
	live = made(16 * PAGE, true, PAGE);
	assert_int_equal(ring_write(plane, own, live, 0, 2, 5, &r, 16), 0);
}

static void there_are_as_many_leases_as_promised(void **state)
{
	struct slot *first = plane_slot(plane, 0);

	while (session_slot_get(session))
		;
	for (uint32_t i = 0; i < 16; i++)
		assert_int_equal(ring_lease_give(session, i), 0);
	for (uint32_t i = 0; i < 16; i++)
		for (uint32_t k = 0; k < i; k++)
			assert_int_not_equal((uint32_t)first[i].lease, (uint32_t)first[k].lease);
	assert_int_equal(ring_lease_give(session, 3), 0);
}

/* tracing_cpumask, and a reader that stops the instance: also for a thread that comes later. */
static void a_lease_records_where_the_buffer_does(void **state)
{
	struct slot *own = session_slot_get(session);
	struct record r = { .number = 0 };
	data_ref live = made(64 * PAGE, true, PAGE);

	buffer_publish(session, 0, 0, live);
	buffer_set_cpu_recording(session, live, 1, false);
	assert_int_equal(ring_lease_give(session, own->index), 0);
	atomic_store(&own->lease, atomic_load(&own->lease) | RING_LEASE_ONLY);
	assert_int_equal(ring_write(plane, own, live, 0, 0, 5, &r, 16), 0);
	assert_int_equal(ring_write(plane, own, live, 0, 1, 5, &r, 16), 1);
	buffer_set_cpu_recording(session, live, 1, true);
	assert_int_equal(ring_write(plane, own, live, 0, 1, 5, &r, 16), 0);
}

/* More programs than there are leases may end. The next program still gets a lease. */
static void the_lease_of_a_free_slot_is_given_on(void **state)
{
	const struct session_params params = { .nr_cpus = 1, .nr_slots = RING_MAX_LEASES + 1,
					       .memory = 64 << 20 };
	struct slot *slots[RING_MAX_LEASES + 1];
	struct session *s;
	uint32_t lease;

	assert_int_equal(session_create(NULL, &params, &s), 0);
	for (uint32_t i = 0; i <= RING_MAX_LEASES; i++) {
		slots[i] = session_slot_get(s);
		assert_non_null(slots[i]);
		assert_int_equal(ring_lease_give(s, slots[i]->index),
				 i < RING_MAX_LEASES ? 0 : -ENOSPC);
	}
	lease = (uint32_t)slots[5]->lease;
	session_slot_put(s, slots[5]);
	assert_int_equal(ring_lease_give(s, slots[RING_MAX_LEASES]->index), 0);
	assert_int_equal((uint32_t)slots[RING_MAX_LEASES]->lease, lease);
	assert_int_equal((uint32_t)slots[5]->lease, 0);
	assert_ptr_equal(session_slot_get(s), slots[5]);
	assert_int_equal(ring_lease_give(s, slots[5]->index), -ENOSPC);
	session_close(s);
}

/* The thread migrates after it has chosen a CPU, before the section: it stores nothing. */
static void a_commit_for_another_cpu_fails(void **state)
{
	uint64_t head = 32, at = 0;
	struct ring_commit c = { .head_at = &head,
				.head = 32,
				.next_head = 73,
				.nr_stores = 1,
				.stores = { { &at, 7 } } };
	int cpu;

	if (rseq_cpu() < 0)
		return;
	assert_false(ring_commit_rseq(&c, rseq_cpu() + 1000));
	assert_int_equal(at, 0);
	c.head = 31;
	assert_false(ring_commit_rseq(&c, rseq_cpu()));
	assert_int_equal(at, 0);
	c.head = 32;
	do
		cpu = rseq_cpu();
	while (!ring_commit_rseq(&c, cpu));
	assert_int_equal(head, 73);
	assert_int_equal(at, 7);
}

/* A page of 256 bytes with one record of 20 bytes behind its header, and its ring. */
struct small {
	struct plane	plane;
	struct ring	ring;
	char		page[256];
};

static struct small small_ring(void)
{
	return (struct small){
		.plane.data_mask = UINT64_MAX,
		.ring = { .subbuf_size = 256,
			  .head = (16 + 20) << 1 | 1,
			  .tail = { { 0, 0 }, { 1000, 1 } },
			  .page_end = 256 },
	};
}

/* Tries until the section was neither aborted nor begun on another CPU. */
static bool commit_short(struct small *s, uint64_t time, const void *record, uint64_t size)
{
	s->plane.data = s->page;
	for (unsigned int i = 0; i < 100; i++) {
		s->ring.cpu = (uint32_t)rseq_cpu();
		if (ring_commit_short(&s->plane, &s->ring, time, record, size))
			return true;
	}
	return false;
}

static void a_short_commit_is_the_header_the_record_and_the_other_tail(void **state)
{
	unsigned char record[RING_MAX_SMALL];
	struct small s;
	uint32_t header;

	if (rseq_cpu() < 0)
		return;
	for (uint32_t i = 0; i < sizeof(record); i++)
		record[i] = (unsigned char)(i * 7 + 1);
	for (uint32_t size = RING_SHORT_MIN; size <= RING_MAX_SMALL; size += 4) {
		s = small_ring();
		assert_true(commit_short(&s, 1000 + size, record, size));
		memcpy(&header, s.page + 36, sizeof(header));
		assert_int_equal(header, size / 4 | size << 5);
		assert_memory_equal(s.page + 40, record, size);
		for (uint32_t i = 40 + size; i < sizeof(s.page); i++)
			assert_int_equal(s.page[i], 0);
		assert_int_equal(s.ring.head, (16 + 20 + 4 + size) << 1);
		assert_int_equal(s.ring.tail[0].time, 1000 + size);
		assert_int_equal(s.ring.tail[0].entries, 2);
		assert_int_equal(s.ring.tail[1].time, 1000);
	}
}

static void a_short_commit_leaves_the_ring_alone_if_it_cannot_be_short(void **state)
{
	const struct {
		const char	*why;
		uint64_t	head, page_end, time;
	} cases[] = {
		{ "older than the last record", 73, 256, 999 },
		{ "no plain delta", 73, 256, 1000 + (1 << RING_DELTA_BITS) },
		{ "the page is full", 235 << 1 | 1, 256, 1001 },
		{ "the page is not begun", 256 << 1 | 1, 256, 1001 },
		{ "page_end is being stored", 73, 0, 1001 },
		{ "page_end is of the next page", 73, 512, 1001 },
	};
	char record[20] = { 1 };

	if (rseq_cpu() < 0)
		return;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct small s = small_ring(), before;

		s.ring.head = cases[i].head;
		s.ring.page_end = cases[i].page_end;
		before = s;
		if (commit_short(&s, cases[i].time, record, sizeof(record)))
			fail_msg("%s", cases[i].why);
		before.ring.cpu = s.ring.cpu;
		assert_memory_equal(&s.ring, &before.ring, sizeof(s.ring));
		assert_memory_equal(s.page, before.page, sizeof(s.page));
	}
}

static void a_short_commit_for_another_cpu_fails(void **state)
{
	char record[16] = { 1 };
	struct small s = small_ring(), before;

	if (rseq_cpu() < 0)
		return;
	s.plane.data = s.page;
	s.ring.cpu = (uint32_t)rseq_cpu() + 1000;
	before = s;
	assert_false(ring_commit_short(&s.plane, &s.ring, 1001, record, sizeof(record)));
	assert_memory_equal(&s.ring, &before.ring, sizeof(s.ring));
	assert_memory_equal(s.page, before.page, sizeof(s.page));
}

static void restartable_and_lease_records_are_merged(void **state)
{
	struct slot *own = session_slot_get(session);
	struct record r = { .number = 0 };
	struct ring_iter *it;
	struct ring_record rec;
	uint64_t last = 0;
	data_ref live = made(64 * PAGE, true, PAGE);
	uint32_t i, next[2] = { 0, 1 };

	buffer_publish(session, 0, 0, live);
	assert_int_equal(ring_lease_give(session, own->index), 0);
	if (ring_write(plane, slot, live, 0, 0, 0, &r, 16))
		assert_int_equal(ring_lease_give(session, slot->index), 0);
	atomic_store(&own->lease, atomic_load(&own->lease) | RING_LEASE_ONLY);
	buffer_clear(session, live, -1);
	for (i = 0; i < 1000; i++) {
		r.number = i;
		r.check = i * 2654435761u;
		assert_int_equal(
			ring_write(plane, i & 1 ? own : slot, live, 0, 0, 0, &r, 16 + i % 3 * 4),
			0);
	}
	assert_int_equal(ring_iter_open(session, live, -1, &it), 0);
	/*
	 * Two records of different rings may have the same time. So only the order within each ring
	 * is certain.
	 */
	for (i = 0; ring_iter_next(it, &rec) == 1; i++) {
		uint32_t n = number_of(&rec);

		assert_int_equal(n, next[n & 1]);
		next[n & 1] += 2;
		assert_true(rec.time >= last);
		last = rec.time;
	}
	assert_int_equal(i, 1000);
	ring_iter_close(it);
}

static uint64_t last_time(data_ref of)
{
	struct ring_iter *it;
	struct ring_record rec;
	uint64_t time = 0;

	assert_int_equal(ring_iter_open(session, of, 0, &it), 0);
	while (ring_iter_next(it, &rec) == 1)
		time = rec.time;
	ring_iter_close(it);
	return time;
}

/* G4: a hit of a thread on the first CPU passes a time that it has read before. */
static void a_time_that_was_read_is_taken_unless_it_is_old(void **state)
{
	struct record r = { .number = 1 };
	data_ref live = made(64 * PAGE, true, PAGE);
	uint64_t first, read;
	cpu_set_t before, one;

	CPU_ZERO(&one);
	CPU_SET(0, &one);
	sched_getaffinity(0, sizeof(before), &before);
	if (sched_setaffinity(0, sizeof(one), &one) || rseq_cpu())
		return;
	buffer_publish(session, 0, 0, live);
	/* Short records, and long ones, which take the list of stores. */
	for (uint32_t size = 16; size < 1000; size += 400) {
		assert_int_equal(ring_write(plane, slot, live, 0, 0, 0, &r, size), 0);
		first = last_time(live);
		assert_int_equal(ring_write(plane, slot, live, 0, 0, first - 1, &r, size), 0);
		assert_true(last_time(live) > first - 1);
		read = clock_now(&plane_header(plane)->tsc, plane_instance(plane, 0));
		assert_int_equal(ring_write(plane, slot, live, 0, 0, read, &r, size), 0);
		assert_int_equal(last_time(live), read);
		assert_int_equal(ring_write(plane, slot, live, 0, 0, read, &r, size), 0);
		assert_true(last_time(live) > read);
	}
	/* The ring of a lease takes any time, because the write reads the clock there. */
	slot = session_slot_get(session);
	assert_int_equal(ring_lease_give(session, slot->index), 0);
	atomic_store(&slot->lease, atomic_load(&slot->lease) | RING_LEASE_ONLY);
	assert_int_equal(ring_write(plane, slot, live, 0, 0, read, &r, 16), 0);
	assert_true(last_time(live) > read);
	sched_setaffinity(0, sizeof(before), &before);
}

static void percent_decides_when_there_is_something_to_read(void **state)
{
	assert_false(ring_readable(session, buffer, 0, 0));
	put(0, 5, 1, 16);
	assert_true(ring_readable(session, buffer, 0, 0));
	assert_false(ring_readable(session, buffer, 0, 50));
	fill(0, 3000);
	assert_false(ring_readable(session, buffer, 1, 0));
	assert_true(ring_readable(session, buffer, 0, 90));
}

/* R2: reading ends, whatever the data region contains. */
/* Counts the records of a page, which follow each other. */
static uint32_t records_of(struct kbuffer *kbuf, void *page, uint32_t *next)
{
	unsigned long long time;
	uint32_t n = 0;

	assert_int_equal(kbuffer_load_subbuffer(kbuf, page), 0);
	for (const struct record *r = kbuffer_read_event(kbuf, &time); r;
	     r = kbuffer_next_event(kbuf, &time), n++) {
		assert_true(r->number >= *next);
		assert_true(r->number == *next || n == 0);
		assert_true(r->number == *next || kbuffer_missed_events(kbuf));
		assert_int_equal(time, r->number * 3ull + 1);
		*next = r->number + 1;
	}
	assert_int_not_equal(n, 0);
	return n;
}

/* Whole pages, parts of pages and lost ones in turn: the reader is faster, or slower. */
static void what_is_taken_and_what_is_lost_is_what_was_written(void **state)
{
	struct kbuffer *kbuf = kbuffer_alloc(KBUFFER_LSIZE_8, KBUFFER_ENDIAN_LITTLE);
	uint32_t written = 0, got = 0, next = 0, turn;
	char page[PAGE];
	struct ring_consumer *c;
	struct ring_stats st;

	srand(1);
	assert_int_equal(ring_consumer_open(session, 1, &c), 0);
	for (turn = 0; turn < 3000; turn++) {
		const int more = rand() % 400, pages = rand() % (turn % 500 < 250 ? 9 : 2);

		for (int i = 0; i < more; i++, written++)
			put(1, written * 3ull + 1, written, sizes[rand() % 5]);
		for (int i = 0; i < pages && ring_consume_page(c, buffer, page, PAGE) == 1; i++)
			got += records_of(kbuf, page, &next);
		assert_int_equal(buffer_stats(session, buffer, 1, &st), 0);
		assert_int_equal(st.read, got);
		assert_int_equal(st.read + st.overrun + st.entries, written);
	}
	while (ring_consume_page(c, buffer, page, PAGE) == 1)
		got += records_of(kbuf, page, &next);
	assert_int_equal(buffer_stats(session, buffer, 1, &st), 0);
	assert_int_equal(st.entries, 0);
	assert_int_equal(got + st.overrun, written);
	assert_int_equal(next, written);
	ring_consumer_close(c);
	kbuffer_free(kbuf);
}

/* The page that was begun by a reader ends where the writer's does: the next ones go whole. */
static void a_page_that_was_begun_ends_where_the_ring_ends_it(void **state)
{
	const uint32_t in_page = (PAGE - 16) / 20;	/* of 16 bytes */
	uint32_t next = 0;
	struct kbuffer *kbuf = kbuffer_alloc(KBUFFER_LSIZE_8, KBUFFER_ENDIAN_LITTLE);
	char page[PAGE];
	struct ring_consumer *c;

	assert_int_equal(ring_consumer_open(session, 1, &c), 0);
	for (uint32_t i = 0; i < 3 * in_page + 10; i++) {
		put(1, i * 3ull + 1, i, 16);
		if (i == 9) {
			assert_int_equal(ring_unread(session, buffer, 1), 0);
			assert_int_equal(ring_consume_page(c, buffer, page, PAGE), 1);
			assert_int_equal(records_of(kbuf, page, &next), 10);
		}
	}
	assert_int_equal(ring_unread(session, buffer, 1), 3 * PAGE);
	for (uint32_t i = 0; i < 4; i++) {
		assert_int_equal(ring_consume_page(c, buffer, page, PAGE), 1);
		assert_int_equal(records_of(kbuf, page, &next),
				 i == 0 ? in_page - 10 : i == 3 ? 10 : in_page);
	}
	assert_int_equal(ring_consume_page(c, buffer, page, PAGE), 0);
	ring_consumer_close(c);
	kbuffer_free(kbuf);
}

static void garbage_is_survived(void **state)
{
	uint32_t first, seed = 1;

	for (int round = 0; round < 300; round++) {
		struct buffer *b = session_data(session, buffer, sizeof(*b));
		struct ring *r = session_data(session, b->rings[SOURCE * CPUS], sizeof(*r));
		struct ring saved = *r;
		struct ring_stats st;
		struct ring_iter *it;
		struct ring_record rec;

		fill(0, 400);
		saved.head = r->head;
		saved.tail[0] = r->tail[0];
		saved.tail[1] = r->tail[1];
		for (int k = 0; k < 3; k++) {
			seed = seed * 1103515245 + 12345;
			((uint32_t *)r)[seed / 65536 % (sizeof(*r) / 4)] ^= 1u << (seed >> 11 & 31);
			((char *)session_data(session, saved.pages, 1))[seed % (16 * PAGE)] ^=
				(char)(seed >> 20);
			((char *)session_data(session, saved.descs, 1))[seed / 3 % (16 * 32)] ^=
				(char)(seed >> 18);
		}
		buffer_stats(session, buffer, 0, &st);
		assert_int_equal(ring_iter_open(session, buffer, -1, &it), 0);
		for (first = 0; first < 100000 && ring_iter_next(it, &rec) == 1; first++)
			assert_true(rec.size <= PAGE);
		assert_true(first < 100000);
		ring_iter_close(it);
		*r = saved;
		buffer_clear(session, buffer, -1);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(pages_of_all_sizes_and_deltas_are_the_kernels),
		TEST(an_iterator_sees_what_the_pages_say),
		TEST(time_that_steps_back_is_told_absolutely),
		TEST(any_time_may_follow_any_other),
		TEST(rings_are_merged_by_time),
		TEST(overwriting_keeps_the_newest_and_counts),
		TEST(no_overwrite_keeps_the_oldest_and_counts),
		TEST(a_record_larger_than_a_page_is_dropped),
		TEST(clearing_hides_and_goes_on),
		TEST(resizing_keeps_what_fits),
		TEST(a_ring_goes_when_newer_records_take_its_room),
		TEST(a_ring_goes_when_it_is_cleared),
		TEST(a_ring_goes_under_a_consumer),
		TEST(the_rings_of_many_resizes_stay_counted),
		TEST(one_cpu_is_swapped),
		TEST(leases_are_given_and_stay_with_their_slot),
		TEST(there_are_as_many_leases_as_promised),
		TEST(the_lease_of_a_free_slot_is_given_on),
		TEST(a_lease_records_where_the_buffer_does),
		TEST(a_commit_for_another_cpu_fails),
		TEST(a_short_commit_is_the_header_the_record_and_the_other_tail),
		TEST(a_short_commit_leaves_the_ring_alone_if_it_cannot_be_short),
		TEST(a_short_commit_for_another_cpu_fails),
		TEST(restartable_and_lease_records_are_merged),
		TEST(a_time_that_was_read_is_taken_unless_it_is_old),
		TEST(percent_decides_when_there_is_something_to_read),
		TEST(what_is_taken_and_what_is_lost_is_what_was_written),
		TEST(a_page_that_was_begun_ends_where_the_ring_ends_it),
		TEST(garbage_is_survived),
	};

	return run_in_temp_place(tests);
}
