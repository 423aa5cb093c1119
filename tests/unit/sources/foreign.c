/* SPDX-License-Identifier: MIT */
/* foreign.c - pages, records and arguments of other machines; tests/e2e/foreign has real ones */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "sources/recording/file/foreign.h"
#include "sources/recording/file/subbuf.h"
#include "sources/recording/file/times.h"

enum { PAGE = 4096, FMT = 0xc0100000 };

static struct foreign_event *no_events[FOREIGN_EVENTS];

/* Appends numbers as a machine of that byte order has them. */
struct bytes {
	bool		big;
	uint8_t		data[PAGE];
	uint32_t	size;
};

static void put(struct bytes *b, unsigned int size, uint64_t v)
{
	for (unsigned int i = 0; i < size; i++)
		b->data[b->size++] = (uint8_t)(v >> 8 * (b->big ? size - 1 - i : i));
}

static void put_text(struct bytes *b, const char *text)
{
	memcpy(b->data + b->size, text, strlen(text) + 1);
	b->size += (uint32_t)strlen(text) + 1;
}

static void align(struct bytes *b, uint32_t to)
{
	while (b->size % to)
		put(b, 1, 0);
}

static void put_arguments(struct bytes *b, unsigned int word)
{
	put(b, 4, (uint32_t)-7);
	put(b, word, word == 4 ? 0xdeadbeef : 0xdeadbeefull);
	put(b, 1, 'c');
	put_text(b, "text");
	align(b, 4);
	put(b, 8, 0x123456789abcdefull);
	put(b, 2, 0x8001);
	align(b, 4);
	put(b, 4, 12);
	put(b, word, word == 4 ? 0xc0000000 : 0xffffffffc0000000ull);
	put_text(b, "192.168.0.1");
	align(b, 4);
	put(b, word, 0xc1000000);
}

static void arguments_lie_as_the_format_says(void **state)
{
	const char text[] = "%d%% %lu %c %s %llx %hx %*ld %pI4 %pS\n";
	struct foreign_text texts[] = { { FMT - 1, "x", 1 }, { FMT, text, sizeof(text) - 1 } };
	struct bytes wanted = { 0 }, in;
	uint8_t out[PAGE];
	uint32_t size;

	(void)state;
	put_arguments(&wanted, 8);
	for (int big = 0; big < 2; big++) {
		const struct foreign f = { .swap = big, .word = 4, .texts = texts, .nr_texts = 2 };

		in = (struct bytes){ .big = big };
		put_arguments(&in, 4);
		size = foreign_words(&f, FMT, in.data, in.size, out, sizeof(out));
		assert_int_equal(size, wanted.size);
		assert_memory_equal(out, wanted.data, size);
		/* Arguments that end too early, and no room for them */
		for (uint32_t cut = 0; cut < in.size; cut++) {
			assert_true(foreign_words(&f, FMT, in.data, cut, out, PAGE) <= size);
			assert_true(foreign_words(&f, FMT, in.data, in.size, out, cut) <= cut);
		}
		assert_int_equal(foreign_words(&f, FMT + 1, in.data, in.size, out, PAGE), 0);
	}
}

static void put_page_head(struct bytes *b, unsigned int word, uint64_t commit)
{
	put(b, 8, 1000);
	put(b, word, commit);
}

static void put_event(struct bytes *b, uint32_t type, uint32_t delta)
{
	put(b, 4, b->big ? type << 27 | delta : delta << 5 | type);
}

static void put_record(struct bytes *b, uint16_t id, int32_t pid)
{
	put(b, 2, id);
	put(b, 2, 0);
	put(b, 4, (uint32_t)pid);
}

/* A page with each kind of event, and records that were lost before it. */
static void put_page(struct bytes *b, unsigned int word)
{
	const uint32_t size = 12 + 8 + 8 + 16 + 12 + 4;

	put_page_head(b, word, size | SUBBUF_MISSED | SUBBUF_STORED);
	put_event(b, 2, 5);
	put_record(b, 300, 70000);
	put_event(b, SUBBUF_TIME_EXTEND, 1);
	put(b, 4, 2);
	put_event(b, SUBBUF_PADDING, 9);
	put(b, 4, 4);
	put_event(b, 0, 3);
	put(b, 4, 12);
	put_record(b, 301, -1);
	put_event(b, 2, 0);
	put_record(b, 302, 2);
	put_event(b, SUBBUF_PADDING, 0);
	put(b, word, 77);
}

static void check_page(const uint8_t *out, uint32_t room)
{
	struct subbuf_record r = { 0 };
	struct subbuf page = { 0 };
	uint64_t lost;

	assert_int_equal(subbuf_start(&page, out, room, &lost), 0);
	assert_int_equal(lost, 77);
	assert_int_equal(subbuf_next(&page, &r), 1);
	assert_int_equal(r.type, 300);
	assert_int_equal(r.time, 1005);
	assert_int_equal(subbuf_u32(r.data + 4), 70000);
	assert_int_equal(subbuf_next(&page, &r), 1);
	assert_int_equal(r.type, 301);
	/* The time of the discarded event counts. */
	assert_int_equal(r.time, 1005 + (2 << 27) + 1 + 9 + 3);
	assert_int_equal(subbuf_next(&page, &r), 1);
	assert_int_equal(r.type, 302);
	assert_int_equal(subbuf_next(&page, &r), 0);
}

static void pages_of_each_machine_are_the_same(void **state)
{
	uint8_t *out = malloc(3 * PAGE);
	struct bytes in;

	(void)state;
	for (unsigned int word = 4; word <= 8; word += 4)
		for (int big = 0; big < 2; big++) {
			const struct foreign f = { .swap = big, .word = (uint8_t)word,
						   .events = no_events };

			in = (struct bytes){ .big = big };
			put_page(&in, word);
			assert_int_equal(foreign_page(&f, 0, in.data, PAGE, out), 0);
			check_page(out, foreign_room(&f, PAGE));
		}
	free(out);
}

/* The records before a damaged one are there. */
static void a_damaged_record_stays_one(void **state)
{
	const struct foreign f = { .swap = true, .word = 4, .events = no_events };
	struct bytes in = { .big = true };
	uint8_t *out = malloc(3 * PAGE);
	struct subbuf_record r = { 0 };
	struct subbuf page = { 0 };
	uint64_t lost;

	(void)state;
	put_page_head(&in, 4, 12 + 8);
	put_event(&in, 2, 5);
	put_record(&in, 300, 1);
	put_event(&in, 0, 0);
	put(&in, 4, 4000);
	assert_int_equal(foreign_page(&f, 0, in.data, PAGE, out), 0);
	assert_int_equal(subbuf_start(&page, out, foreign_room(&f, PAGE), &lost), 0);
	assert_int_equal(subbuf_next(&page, &r), 1);
	assert_int_equal(subbuf_next(&page, &r), -EPROTO);
	in = (struct bytes){ .big = true };
	put_page_head(&in, 4, PAGE - 11);
	assert_int_equal(foreign_page(&f, 0, in.data, PAGE, out), -EPROTO);
	free(out);
}

/* A page that is full to its last byte, with records of the least size. */
static void a_full_page_fits(void **state)
{
	const uint32_t head = 16, nr = (PAGE - head) / 12;
	const struct foreign f = { .swap = true, .word = 8, .events = no_events };
	struct bytes in = { .big = true };
	uint8_t *out = malloc(3 * PAGE);
	struct subbuf_record r = { 0 };
	struct subbuf page = { 0 };
	uint64_t lost;
	uint32_t n;

	(void)state;
	put_page_head(&in, 8, nr * 12);
	for (n = 0; n < nr; n++) {
		put_event(&in, 2, 1);
		put_record(&in, 300, (int32_t)n);
	}
	assert_int_equal(foreign_page(&f, 0, in.data, PAGE, out), 0);
	assert_int_equal(subbuf_start(&page, out, foreign_room(&f, PAGE), &lost), 0);
	for (n = 0; subbuf_next(&page, &r) == 1; n++)
		assert_int_equal(subbuf_u32(r.data + 4), n);
	assert_int_equal(n, nr);
	free(out);
}

/* The guest's clock is 1000 behind, and each of its cycles is a quarter of a second. */
static void times_become_those_of_the_host(void **state)
{
	struct times_sample sample = { .time = 7, .offset = 1000 };
	struct times_cpu cpus[] = { { 0 }, { .nr = 1, .samples = &sample } };
	const struct dat_times times = { .nr_cpus = 2, .cpus = cpus, .mult = 1000000000,
					 .shift = 2, .distance = 5 };
	const struct foreign f = { .word = 8, .times = &times, .events = no_events };
	const uint64_t start = 2000ull * 250000000 + 5;
	struct bytes in = { 0 };
	uint8_t *out = malloc(3 * PAGE);
	struct subbuf_record r = { 0 };
	struct subbuf page = { 0 };
	uint64_t lost;

	(void)state;
	put_page(&in, 8);
	assert_int_equal(foreign_page(&f, 1, in.data, PAGE, out), 0);
	assert_int_equal(subbuf_start(&page, out, foreign_room(&f, PAGE), &lost), 0);
	assert_int_equal(lost, 77);
	assert_int_equal(page.time, start);
	assert_int_equal(subbuf_next(&page, &r), 1);
	assert_int_equal(r.time, start + 5ull * 250000000);
	assert_int_equal(subbuf_next(&page, &r), 1);
	assert_int_equal(r.type, 301);
	assert_int_equal(r.time, start + (18ull + (2 << 27)) * 250000000);
	assert_int_equal(subbuf_next(&page, &r), 1);
	assert_int_equal(subbuf_next(&page, &r), 0);
	/* CPUs without samples, and those that the option does not name, have the host's clock. */
	assert_int_equal(times_convert(&times, 0, 4), 1000000005);
	assert_int_equal(times_convert(&times, 2, 4), 1000000005);
	free(out);
}

/* The offset of the second half of the page is smaller: its records must not come first. */
static void times_of_a_page_stay_in_order(void **state)
{
	struct times_sample samples[] = {
		{ .time = 0, .offset = 500, .scaling = 1 },
		{ .time = 1004, .offset = 0, .scaling = 1 },
		{ .time = 9000, .offset = 0, .scaling = 1 },
	};
	struct times_cpu cpu = { .nr = 3, .samples = samples };
	const struct dat_times times = { .nr_cpus = 1, .cpus = &cpu };
	const struct foreign f = { .word = 8, .times = &times, .events = no_events };
	static const uint64_t wanted[] = { 1502, 1502, 1502, 1503 };
	static const uint32_t deltas[] = { 2, 2, 498, 1 };
	struct bytes in = { 0 };
	uint8_t *out = malloc(3 * PAGE);
	struct subbuf_record r = { 0 };
	struct subbuf page = { 0 };
	uint64_t lost;

	(void)state;
	put_page_head(&in, 8, 4 * 12);
	for (int i = 0; i < 4; i++) {
		put_event(&in, 2, deltas[i]);
		put_record(&in, 300, i);
	}
	assert_int_equal(foreign_page(&f, 0, in.data, PAGE, out), 0);
	assert_int_equal(subbuf_start(&page, out, foreign_room(&f, PAGE), &lost), 0);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(subbuf_next(&page, &r), 1);
		assert_int_equal(r.time, wanted[i]);
	}
	free(out);
}

/* Of two samples the first one counts, also before it; with interpolation the line between them. */
static void samples_are_chosen_by_time(void **state)
{
	struct times_sample samples[] = {
		{ .time = 100, .offset = 10, .scaling = 1 },
		{ .time = 200, .offset = -30, .scaling = 3, .fraction = 1 },
		{ .time = 300, .offset = 50, .scaling = 1 },
	};
	struct times_cpu cpu = { .nr = 3, .samples = samples };
	struct dat_times t = { .nr_cpus = 1, .cpus = &cpu };

	(void)state;
	assert_int_equal(times_convert(&t, 0, 50), 60);
	assert_int_equal(times_convert(&t, 0, 199), 209);
	assert_int_equal(times_convert(&t, 0, 200), 270);
	assert_int_equal(times_convert(&t, 0, 400), 570);
	t.interpolates = true;
	assert_int_equal(times_convert(&t, 0, 150), 150 + 10 - 19);
	assert_int_equal(times_convert(&t, 0, 400), 600 + 130);
	/* A product of more than 64 bits. */
	samples[1].scaling = 1ull << 48;
	samples[1].fraction = 48;
	t.interpolates = false;
	assert_int_equal(times_convert(&t, 0, 1ull << 60), (1ull << 60) - 30);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arguments_lie_as_the_format_says),
		cmocka_unit_test(pages_of_each_machine_are_the_same),
		cmocka_unit_test(a_damaged_record_stays_one),
		cmocka_unit_test(a_full_page_fits),
		cmocka_unit_test(times_become_those_of_the_host),
		cmocka_unit_test(times_of_a_page_stay_in_order),
		cmocka_unit_test(samples_are_chosen_by_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
