/* SPDX-License-Identifier: MIT */
/*
 * live_cpu.c - the cursor over the pages of one CPU of the running kernel (sources/live/cpu.h)
 *
 * A SOCK_SEQPACKET socket is used as trace_pipe_raw. A message is a page.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#include "sources/live/cpu.h"

enum { PAGE = 16384, TYPE = 300, FULL = PAGE - SUBBUF_HEADER };

struct fixture {
	struct live_cpu	cpu;
	int		kernel;		/* the test writes pages here */
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	const int room = 8 << 20;
	int fds[2];

	if (!f || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds))
		return -1;
	setsockopt(fds[1], SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room));
	f->kernel = fds[1];
	f->cpu = (struct live_cpu){ .cpu = 3, .page_size = PAGE, .fd = fds[0], .stats = -1 };
	f->cpu.slots = malloc((size_t)LIVE_SLOTS * PAGE);
	*state = f;
	return f->cpu.slots ? 0 : -1;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	live_cpu_close(&f->cpu);
	close(f->kernel);
	free(f);
	return 0;
}

/* ---- pages ---- */

struct page {
	uint8_t		bytes[PAGE];
	uint32_t	used;
};

static void begin(struct page *p, uint64_t time)
{
	memset(p, 0, sizeof(*p));
	memcpy(p->bytes, &time, sizeof(time));
}

/* Adds a record of 8 bytes of data and `more` words, `delta` after the last one. */
static void record(struct page *p, uint32_t delta, uint32_t pid, uint32_t more)
{
	const uint32_t head = delta << 5 | (2 + more);
	const uint16_t type = TYPE;
	uint8_t *at = p->bytes + SUBBUF_HEADER + p->used;

	memcpy(at, &head, sizeof(head));
	memcpy(at + 4, &type, sizeof(type));
	memcpy(at + 8, &pid, sizeof(pid));
	p->used += 12 + 4 * more;
}

static void put(struct fixture *f, struct page *p, uint32_t flags)
{
	const uint32_t commit = p->used | flags;

	memcpy(p->bytes + 8, &commit, sizeof(commit));
	assert_int_equal(write(f->kernel, p->bytes, PAGE), PAGE);
}

/* Writes a page without room for another record. Returns the number of its records. */
static unsigned int put_full(struct fixture *f, uint64_t time, uint32_t pid)
{
	struct page p;
	unsigned int nr = 0;

	begin(&p, time);
	for (; p.used + 60 <= FULL; nr++)
		record(&p, 1, pid, 12);
	put(f, &p, 0);
	return nr;
}

static uint32_t pid_of(const struct live_cpu *c)
{
	return subbuf_u32(c->record.data + 4);
}

/* ---- tests ---- */

static void an_idle_cpu_has_no_record(void **state)
{
	struct fixture *f = *state;

	assert_false(live_cpu_read(&f->cpu, 1000));
	assert_false(f->cpu.has);
	assert_int_equal(f->cpu.complete, 1000);
}

static void records_come_with_their_times(void **state)
{
	struct fixture *f = *state;
	struct subbuf_record behind;
	struct live_peek peek;
	struct page p;

	begin(&p, 500);
	record(&p, 0, 1, 0);
	record(&p, 7, 2, 3);
	put(f, &p, 0);
	assert_false(live_cpu_read(&f->cpu, 1000));
	assert_true(f->cpu.has);
	assert_int_equal(f->cpu.record.time, 500);
	assert_int_equal(pid_of(&f->cpu), 1);
	peek = live_cpu_peek_begin(&f->cpu);
	assert_true(live_cpu_peek(&f->cpu, &peek, &behind));
	assert_int_equal(behind.time, 507);
	assert_int_equal(behind.size, 20);
	assert_false(live_cpu_peek(&f->cpu, &peek, &behind));
	live_cpu_next(&f->cpu);
	assert_int_equal(f->cpu.record.time, 507);
	assert_int_equal(f->cpu.record.type, TYPE);
	peek = live_cpu_peek_begin(&f->cpu);
	assert_false(live_cpu_peek(&f->cpu, &peek, &behind));
	live_cpu_next(&f->cpu);
	assert_false(f->cpu.has);
	assert_int_equal(f->cpu.records, 2);
}

static void a_later_page_ends_the_reading(void **state)
{
	struct fixture *f = *state;
	unsigned int nr = put_full(f, 100, 1);
	struct page p;

	begin(&p, 9001);
	record(&p, 0, 2, 0);
	put(f, &p, 0);
	put(f, &p, 0);
	assert_false(live_cpu_read(&f->cpu, 9000));
	assert_int_equal(f->cpu.tail, 2);
	assert_int_equal(f->cpu.complete, 9000);
	for (; nr; nr--)
		live_cpu_next(&f->cpu);
	assert_int_equal(pid_of(&f->cpu), 2);
	live_cpu_next(&f->cpu);
	assert_false(f->cpu.has);
	assert_false(live_cpu_read(&f->cpu, 9500));
	assert_true(f->cpu.has);
}

/* A read may return the rest of a page. That does not mean that the page is the last one. */
static void the_rest_is_not_the_end(void **state)
{
	struct fixture *f = *state;
	struct page p;

	begin(&p, 100);
	for (int i = 0; i < 100; i++)
		record(&p, 1, 1, 12);
	put(f, &p, 0);
	assert_false(live_cpu_read(&f->cpu, 1000));
	begin(&p, 200);
	for (uint32_t first = 100 * 60; first + p.used + 60 <= FULL;)
		record(&p, 1, 2, 12);
	put(f, &p, 0);
	put_full(f, 3000, 3);
	begin(&p, 5000);
	record(&p, 0, 4, 0);
	put(f, &p, 0);
	assert_false(live_cpu_read(&f->cpu, 9000));
	assert_int_equal(f->cpu.tail, 4);
	assert_int_equal(f->cpu.complete, 9000);
	/* Then the rest of the last page comes in pieces. */
	begin(&p, 6000);
	record(&p, 0, 5, 0);
	put(f, &p, 0);
	put(f, &p, 0);
	assert_false(live_cpu_read(&f->cpu, 9500));
	assert_int_equal(f->cpu.tail, 6);
}

/* A discarded event of 8 bytes, `delta` after the last one. */
static void discarded(struct page *p, uint32_t delta)
{
	record(p, delta, 0, 0);
	p->bytes[SUBBUF_HEADER + p->used - 12] &= (uint8_t)~31;
	p->bytes[SUBBUF_HEADER + p->used - 12] |= SUBBUF_PADDING;
	memcpy(p->bytes + SUBBUF_HEADER + p->used - 8, &(uint32_t){ 8 }, 4);
}

/* The kernel's reader does not count the delta of a discarded event, so the next piece lacks it. */
static void a_piece_goes_on_behind_a_discarded_event(void **state)
{
	static const uint64_t times[] = { 101, 153, 160, 1000 }, early[] = { 0, 50, 50, 0 };
	struct fixture *f = *state;
	struct page p;

	begin(&p, 100);
	record(&p, 1, 1, 0);
	discarded(&p, 50);
	record(&p, 2, 1, 0);
	put(f, &p, 0);
	begin(&p, 103);
	record(&p, 7, 1, 0);
	put(f, &p, 0);
	begin(&p, 1000);	/* another page, whose time is right */
	record(&p, 0, 1, 0);
	put(f, &p, 0);
	for (unsigned int i = 0; i < 4; i++) {
		live_cpu_read(&f->cpu, 9000);
		assert_true(f->cpu.has);
		assert_int_equal(f->cpu.record.time, times[i]);
		assert_int_equal(f->cpu.record.early, early[i]);
		live_cpu_next(&f->cpu);
	}
}

/* The same where the pieces are read one by one, with nothing left between them. */
static void a_piece_that_comes_later_goes_on(void **state)
{
	struct fixture *f = *state;
	struct page p;

	begin(&p, 100);
	discarded(&p, 50);
	record(&p, 2, 1, 0);
	put(f, &p, 0);
	live_cpu_read(&f->cpu, 9000);
	assert_int_equal(f->cpu.record.time, 152);
	live_cpu_next(&f->cpu);
	assert_false(f->cpu.has);
	begin(&p, 102);
	record(&p, 7, 1, 0);
	put(f, &p, 0);
	live_cpu_read(&f->cpu, 9000);
	assert_int_equal(f->cpu.record.time, 159);
}

static void events_without_a_time_of_their_own_are_counted(void **state)
{
	struct fixture *f = *state;
	struct page p;

	begin(&p, 100);
	record(&p, 1, 1, 0);
	record(&p, 0, 1, 0);
	record(&p, 5, 1, 0);
	put(f, &p, 0);
	for (live_cpu_read(&f->cpu, 9000); f->cpu.has;)
		live_cpu_next(&f->cpu);
	assert_int_equal(f->cpu.records, 3);
	assert_int_equal(f->cpu.untimed, 1);
}

/* There are more pages than slots. Then `complete` is the beginning of the last page read. */
static void without_room_it_waits(void **state)
{
	struct fixture *f = *state;
	unsigned int nr = 0;
	uint32_t last = 0;

	for (uint32_t i = 0; i < LIVE_SLOTS + 5; i++)
		nr += put_full(f, 1000 * (i + 1), i);
	assert_true(live_cpu_read(&f->cpu, 1000000));
	assert_int_equal(f->cpu.complete, 1000 * LIVE_SLOTS);
	/* Takes records up to the middle of the fourth page. */
	for (unsigned int i = 0; pid_of(&f->cpu) < 3 || i < nr / (LIVE_SLOTS + 5) * 3 + 10; i++) {
		live_cpu_next(&f->cpu);
		nr--;
	}
	assert_int_equal(pid_of(&f->cpu), 3);
	assert_true(live_cpu_read(&f->cpu, 1000000));
	assert_int_equal(f->cpu.complete, 1000 * (LIVE_SLOTS + 3));
	for (; f->cpu.has; nr--) {
		assert_in_range(pid_of(&f->cpu), last, last + 1 > 3 ? last + 1 : 3);
		last = pid_of(&f->cpu);
		live_cpu_next(&f->cpu);
		if (!f->cpu.has)
			live_cpu_read(&f->cpu, 1000000);
	}
	assert_int_equal(nr, 0);
	assert_int_equal(last, LIVE_SLOTS + 4);
}

static void losses_are_counted(void **state)
{
	struct fixture *f = *state;
	const uint64_t lost = 41;
	struct page p;

	begin(&p, 100);
	record(&p, 0, 1, 0);
	memcpy(p.bytes + SUBBUF_HEADER + p.used, &lost, sizeof(lost));
	put(f, &p, SUBBUF_MISSED | SUBBUF_STORED);
	live_cpu_read(&f->cpu, 1000);
	assert_int_equal(f->cpu.lost, 41);
	live_cpu_next(&f->cpu);
	begin(&p, 200);
	record(&p, 0, 1, 0);
	put(f, &p, SUBBUF_MISSED);
	live_cpu_read(&f->cpu, 1000);
	assert_int_equal(f->cpu.lost, 42);
}

static void kernel_says(struct fixture *f, const char *stats)
{
	assert_int_equal(ftruncate(f->cpu.stats, 0), 0);
	assert_int_equal(pwrite(f->cpu.stats, stats, strlen(stats), 0), strlen(stats));
}

static void put_behind_lost(struct fixture *f, uint64_t time, uint64_t lost, uint32_t flags)
{
	struct page p;

	begin(&p, time);
	record(&p, 1, 0, 0);
	memcpy(p.bytes + SUBBUF_HEADER + p.used, &lost, sizeof(lost));
	put(f, &p, flags);
	live_cpu_read(&f->cpu, time);
	live_cpu_next(&f->cpu);
}

static void a_page_without_a_number_has_that_of_the_kernel(void **state)
{
	struct fixture *f = *state;

	f->cpu.stats = memfd_create("stats", MFD_CLOEXEC);
	f->cpu.lost = f->cpu.lost_before = 7;
	kernel_says(f, "entries: 1\noverrun: 5000\ncommit overrun: 3\n");
	put_behind_lost(f, 1000, 20, SUBBUF_MISSED | SUBBUF_STORED);
	assert_int_equal(f->cpu.lost, 27);
	put_behind_lost(f, 2000, 0, SUBBUF_MISSED);
	assert_int_equal(f->cpu.lost, 5007);
	/* It may have been lost before the kernel was asked. */
	put_behind_lost(f, 3000, 60, SUBBUF_MISSED | SUBBUF_STORED);
	assert_int_equal(f->cpu.lost, 5007);
	kernel_says(f, "entries: 1\noverrun: 5080\ncommit overrun: 3\n");
	put_behind_lost(f, 4000, 0, 0);
	assert_int_equal(f->cpu.lost, 5007);
	put_behind_lost(f, 5000, 80, SUBBUF_MISSED | SUBBUF_STORED);
	assert_int_equal(f->cpu.lost, 5087);
	kernel_says(f, "nonsense");
	put_behind_lost(f, 6000, 0, SUBBUF_MISSED);
	assert_int_equal(f->cpu.lost, 5088);
}

/* Two pages are there when another clock is found. Then the kernel counts from 0 again. */
static void what_has_another_clock_is_discarded(void **state)
{
	struct fixture *f = *state;
	struct page p;

	f->cpu.stats = memfd_create("stats", MFD_CLOEXEC);
	kernel_says(f, "entries: 1\noverrun: 50\ncommit overrun: 3\n");
	put_behind_lost(f, 1000, 0, SUBBUF_MISSED);
	assert_int_equal(f->cpu.lost, 50);
	begin(&p, 70000);
	record(&p, 0, 1, 0);
	record(&p, 5, 2, 0);
	put(f, &p, 0);
	begin(&p, 80000);
	record(&p, 0, 3, 0);
	put(f, &p, 0);
	live_cpu_read(&f->cpu, 90000);
	assert_true(f->cpu.has);
	live_cpu_discard(&f->cpu);
	assert_false(f->cpu.has);
	assert_int_equal(f->cpu.discarded, 3);
	kernel_says(f, "entries: 1\noverrun: 4\ncommit overrun: 3\n");
	put_behind_lost(f, 2000, 0, SUBBUF_MISSED);
	assert_int_equal(f->cpu.lost, 54);
	begin(&p, 3000);
	record(&p, 7, 4, 0);
	put(f, &p, 0);
	live_cpu_read(&f->cpu, 4000);
	assert_true(f->cpu.has);
	assert_int_equal(f->cpu.record.time, 3007);
	live_cpu_discard(&f->cpu);
	live_cpu_discard(&f->cpu);
	assert_int_equal(f->cpu.discarded, 4);
}

/* Damage ends the page that it is in. The other pages are read. */
static void damage_is_counted(void **state)
{
	struct fixture *f = *state;
	const uint32_t wrong = 0;
	struct page p;

	begin(&p, 100);
	p.used = PAGE;
	put(f, &p, 0);
	begin(&p, 200);
	record(&p, 0, 1, 0);
	memcpy(p.bytes + SUBBUF_HEADER + p.used, &wrong, sizeof(wrong));
	p.used += 8;
	put(f, &p, 0);
	live_cpu_read(&f->cpu, 1000);
	if (!f->cpu.has)
		live_cpu_read(&f->cpu, 1000);
	assert_true(f->cpu.has);
	assert_int_equal(f->cpu.record.time, 200);
	live_cpu_next(&f->cpu);
	assert_false(f->cpu.has);
	assert_int_equal(f->cpu.damaged, 2);
}

/* The page has random bytes. No record lies outside the slots. */
static void noise_stays_within_its_page(void **state)
{
	struct fixture *f = *state;
	struct page p;

	srand(1);
	for (int round = 0; round < 2000; round++) {
		for (uint32_t i = 0; i < PAGE; i++)
			p.bytes[i] = (uint8_t)rand();
		p.used = (uint32_t)rand() % (PAGE + 100);
		put(f, &p, (uint32_t)rand() & (SUBBUF_MISSED | SUBBUF_STORED));
		live_cpu_read(&f->cpu, 1000);
		for (int left = rand() % 200; f->cpu.has && left; left--) {
			assert_true(f->cpu.record.data >= f->cpu.slots);
			assert_true(f->cpu.record.data + f->cpu.record.size <=
				    f->cpu.slots + (size_t)LIVE_SLOTS * PAGE);
			live_cpu_next(&f->cpu);
		}
		/* The socket needs room for the next page. */
		while (f->cpu.has && f->cpu.tail - f->cpu.next > LIVE_SLOTS / 2)
			live_cpu_next(&f->cpu);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(an_idle_cpu_has_no_record, setup, teardown),
		cmocka_unit_test_setup_teardown(records_come_with_their_times, setup, teardown),
		cmocka_unit_test_setup_teardown(a_later_page_ends_the_reading, setup, teardown),
		cmocka_unit_test_setup_teardown(the_rest_is_not_the_end, setup, teardown),
		cmocka_unit_test_setup_teardown(a_piece_goes_on_behind_a_discarded_event, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_piece_that_comes_later_goes_on, setup, teardown),
		cmocka_unit_test_setup_teardown(events_without_a_time_of_their_own_are_counted,
						setup, teardown),
		cmocka_unit_test_setup_teardown(without_room_it_waits, setup, teardown),
		cmocka_unit_test_setup_teardown(losses_are_counted, setup, teardown),
		cmocka_unit_test_setup_teardown(a_page_without_a_number_has_that_of_the_kernel,
						setup, teardown),
		cmocka_unit_test_setup_teardown(what_has_another_clock_is_discarded, setup,
						teardown),
		cmocka_unit_test_setup_teardown(damage_is_counted, setup, teardown),
		cmocka_unit_test_setup_teardown(noise_stays_within_its_page, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
