/* SPDX-License-Identifier: MIT */
/*
 * map_block.c - blocks: a write replaces all, others finish it after a kill, nothing is trusted
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "plane/map/layout.h"

enum { SLOTS = 4, WORDS = 5, ELT = 3 };

static struct slot slots[SLOTS];
static struct map_shape shape;

static struct map_view made(bool single)
{
	static struct map_layout layout;
	struct map_view m;

	shape = (struct map_shape){ .max_elts = 128,
				   .key_size = 8,
				   .nr_sums = 1,
				   .nr_vars = 1,
				   .nr_cpus = 2,
				   .nr_slots = SLOTS,
				   .single_writer = single,
				   .nr_blocks = 2,
				   .block_size = { WORDS * 8, 16 } };
	map_lay_out(&layout, &shape);
	m = (struct map_view){ &layout, aligned_alloc(64, (map_size(&shape) + 63) / 64 * 64) };
	memset(m.data, 0, map_size(&shape));
	for (uint32_t i = 0; i < SLOTS; i++)
		slots[i] = (struct slot){ .index = i, .depth = 1 };
	return m;
}

static void fill(struct map_block *b, uint64_t v)
{
	for (uint32_t i = 0; i < WORDS; i++)
		map_block_put(b, 8 * i, v + i);
}

static bool write_block(struct map_view m, uint32_t slot, uint32_t elt, uint64_t v)
{
	struct map_block b;

	if (!map_block_begin(m, &slots[slot], elt, 0, &b))
		return false;
	fill(&b, v);
	do
		map_block_look(&b);
	while (!map_block_publish(&b));
	map_block_end(&b);
	return true;
}

static void assert_block(struct map_view m, uint32_t elt, uint64_t v)
{
	uint64_t got[WORDS], copy[WORDS];

	assert_true(map_block_read(m.data, map_size(&shape), &shape, elt, 0, got));
	assert_true(map_block_copy(m, elt, 0, copy, sizeof(copy)));
	for (uint32_t i = 0; i < WORDS; i++) {
		assert_int_equal(got[i], v + i);
		assert_int_equal(copy[i], v + i);
	}
	assert_int_equal(map_block_value(m, elt, 0), v);
}

/* Each record is published once, or it is the spare of one owner. No record is missing. */
static void assert_records_whole(struct map_view m)
{
	uint32_t nr = m.layout->nr_elts + m.layout->nr_spares, seen[512] = { 0 };

	assert_true(nr < 512);
	for (uint32_t i = 0; i < m.layout->nr_elts; i++) {
		uint32_t place = (uint32_t)*block_word(m, 0, i);

		seen[place ? place : 1 + i]++;
	}
	for (uint32_t i = 0; i < m.layout->nr_spares; i++) {
		uint32_t place = (uint32_t)*block_spare(m, 0, i);

		seen[place ? place : 1 + m.layout->nr_elts + i]++;
	}
	for (uint32_t i = 1; i <= nr; i++)
		if (seen[i] != 1)
			fail_msg("record %u is in %u places", i, seen[i]);
}

static void a_block_is_empty_until_it_is_written(void **state)
{
	for (int single = 0; single < 2; single++) {
		struct map_view m = made(single);
		uint64_t got[WORDS];

		assert_false(map_block_read(m.data, map_size(&shape), &shape, ELT, 0, got));
		assert_false(map_block_copy(m, ELT, 0, got, sizeof(got)));
		assert_int_equal(map_block_value(m, ELT, 0), 0);
		for (uint64_t i = 0; i < 10; i++) {
			assert_true(write_block(m, (uint32_t)i % SLOTS, ELT, 100 * i));
			assert_block(m, ELT, 100 * i);
			assert_true(write_block(m, 0, 0, i));
			assert_block(m, 0, i);
			assert_block(m, ELT, 100 * i);
		}
		assert_false(map_block_read(m.data, map_size(&shape), &shape, ELT, 1, got));
		assert_records_whole(m);
		free(m.data);
	}
}

static void what_does_not_fit_is_left_out(void **state)
{
	struct map_view m = made(false);
	struct map_block b;

	assert_false(map_block_begin(m, &slots[0], ELT, 2, &b));
	assert_false(map_block_begin(m, &slots[0], m.layout->nr_elts, 0, &b));
	assert_true(map_block_begin(m, &slots[0], ELT, 0, &b));
	fill(&b, 7);
	map_block_put(&b, WORDS * 8, 1);
	map_block_put(&b, 65535, 1);
	map_block_look(&b);
	assert_true(map_block_publish(&b));
	map_block_end(&b);
	assert_block(m, ELT, 7);
	assert_records_whole(m);
	free(m.data);
}

static void who_comes_second_looks_again(void **state)
{
	struct map_view m = made(false);
	struct map_block a, b;

	assert_true(map_block_begin(m, &slots[0], ELT, 0, &a));
	assert_true(map_block_begin(m, &slots[1], ELT, 0, &b));
	assert_int_equal(map_block_look(&a), 0);
	assert_int_equal(map_block_look(&b), 0);
	fill(&a, 10);
	fill(&b, 20);
	assert_true(map_block_publish(&b));
	assert_false(map_block_publish(&a));
	assert_block(m, ELT, 20);
	assert_int_equal(map_block_look(&a), 20);
	assert_true(map_block_publish(&a));
	assert_block(m, ELT, 10);
	assert_records_whole(m);
	free(m.data);
}

/* A handler hits while its thread fills the slot's spare, and another handler hits in that. */
static void nested_hits_have_records_of_their_own(void **state)
{
	struct map_view m = made(false);
	struct map_block b[3];

	for (uint32_t i = 0; i < 3; i++) {
		slots[0].depth = i + 1;
		assert_true(map_block_begin(m, &slots[0], ELT, 0, &b[i]));
		fill(&b[i], 100 * i);
	}
	for (uint32_t i = 3; i-- > 0;) {
		for (uint32_t k = 0; k < i; k++)
			assert_ptr_not_equal(b[i].data, b[k].data);
		map_block_look(&b[i]);
		assert_true(map_block_publish(&b[i]));
		map_block_end(&b[i]);
		assert_block(m, ELT, 100 * i);
	}
	assert_records_whole(m);
	free(m.data);
}

static void where_all_are_borrowed_a_drop_is_counted(void **state)
{
	struct map_view m = made(false);
	struct map_block b;

	slots[0].depth = 2;
	for (uint32_t i = 0; i < MAP_NESTED; i++)
		map_owner(m, SLOTS + i)->holder = 1000 + i;
	assert_false(map_block_begin(m, &slots[0], ELT, 0, &b));
	assert_int_equal(map_drops(m.data), 1);
	/* A killed thread of this slot and level has borrowed this owner. It is taken over. */
	map_owner(m, SLOTS + 9)->holder = 1 + 0 * LAYOUT_HIT_LEVELS + 1;
	assert_true(map_block_begin(m, &slots[0], ELT, 0, &b));
	assert_int_equal(b.writer, SLOTS + 9);
	free(m.data);
}

static void slots_beyond_the_owners_borrow_one(void **state)
{
	struct slot far = { .index = MAP_OWNERS + 3000, .depth = 1 };
	struct map_view m = made(false);
	struct map_block b;

	assert_true(map_block_begin(m, &far, ELT, 0, &b));
	assert_true(b.writer >= SLOTS);
	fill(&b, 300);
	map_block_look(&b);
	assert_true(map_block_publish(&b));
	map_block_end(&b);
	assert_block(m, ELT, 300);
	assert_int_equal(map_owner(m, b.writer)->holder, 0);
	/* The thread is killed while it has borrowed an owner. */
	assert_true(map_block_begin(m, &far, ELT, 0, &b));
	assert_int_not_equal(map_owner(m, b.writer)->holder, 0);
	map_recover(m, far.index);
	assert_int_equal(map_owner(m, b.writer)->holder, 0);
	assert_records_whole(m);
	free(m.data);
}

/*
 * Owner 1 was killed after the compare-and-swap of the word: its spare is the published record.
 */
static void killed_after_publish(struct map_view m, uint64_t v)
{
	uint64_t spare;

	write_block(m, 1, ELT, v - 1);
	spare = *block_spare(m, 0, 1);
	write_block(m, 1, ELT, v);
	*block_spare(m, 0, 1) = spare;
}

enum finisher { NEXT_WRITER, NEXT_OWNER, SERVER, OTHER_ELT, FINISHERS };

static void a_killed_writer_is_finished_by_whoever_comes(void **state)
{
	for (int who = 0; who < FINISHERS; who++) {
		struct map_view m = made(false);

		killed_after_publish(m, 50);
		assert_block(m, ELT, 50);
		if (who == SERVER)
			map_recover(m, 1);
		else
			assert_true(write_block(m, who == NEXT_WRITER ? 2 : 1,
						who == OTHER_ELT ? 9 : ELT, 60));
		assert_records_whole(m);
		assert_block(m, ELT, who == SERVER || who == OTHER_ELT ? 50 : 60);
		map_recover(m, 1);
		assert_true(write_block(m, 1, ELT, 70));
		assert_block(m, ELT, 70);
		assert_records_whole(m);
		free(m.data);
	}
}

/* The writer was killed while it filled its spare and the header. Nothing of that is visible. */
static void a_half_filled_record_is_nobodys(void **state)
{
	struct map_view m = made(false);
	struct map_block b;
	struct block_header *h;

	write_block(m, 0, ELT, 5);
	write_block(m, 1, ELT, 10);
	assert_true(map_block_begin(m, &slots[1], ELT, 0, &b));
	fill(&b, 99);
	h = block_record(m, 0, (uint32_t)b.spare);
	h->elt = ELT;
	assert_block(m, ELT, 10);
	map_recover(m, 1);
	assert_block(m, ELT, 10);
	assert_records_whole(m);
	assert_true(write_block(m, 1, ELT, 11));
	assert_block(m, ELT, 11);
	assert_records_whole(m);
	free(m.data);
}

static void damage_is_noticed(void **state)
{
	struct map_view m = made(false);
	uint64_t got[WORDS];

	write_block(m, 0, ELT, 1);
	assert_false(map_block_read(m.data, map_size(&shape) - 1, &shape, ELT, 0, got));
	assert_false(map_block_read(m.data, map_size(&shape), &shape, m.layout->nr_elts, 0, got));
	assert_false(map_block_read(m.data, map_size(&shape), &shape, ELT, 2, got));
	*block_word(m, 0, ELT) = 0xffffffffffffffff;
	assert_false(map_block_read(m.data, map_size(&shape), &shape, ELT, 0, got));
	assert_true(write_block(m, 0, ELT, 3));
	assert_block(m, ELT, 3);
	for (uint32_t i = 1; i <= m.layout->nr_elts + m.layout->nr_spares; i++)
		memset(block_record(m, 0, i), 0xff, sizeof(struct block_header));
	for (uint32_t i = 0; i < m.layout->nr_spares; i++)
		*block_spare(m, 0, i) = 0xffffffff00000000 | (i + 1);
	for (uint32_t i = 0; i < SLOTS; i++) {
		map_recover(m, i);
		write_block(m, i, ELT, i);
	}
	free(m.data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_block_is_empty_until_it_is_written),
		cmocka_unit_test(what_does_not_fit_is_left_out),
		cmocka_unit_test(who_comes_second_looks_again),
		cmocka_unit_test(nested_hits_have_records_of_their_own),
		cmocka_unit_test(slots_beyond_the_owners_borrow_one),
		cmocka_unit_test(where_all_are_borrowed_a_drop_is_counted),
		cmocka_unit_test(a_killed_writer_is_finished_by_whoever_comes),
		cmocka_unit_test(a_half_filled_record_is_nobodys),
		cmocka_unit_test(damage_is_noticed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
