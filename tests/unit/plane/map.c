/* SPDX-License-Identifier: MIT */
/*
 * map.c - the tracing map: keys, cap, sums, variables, what killed writers leave, untrusted memory
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <cmocka.h>
#include "plane/map/layout.h"

enum { SLOTS = 8 };

static struct slot slots[SLOTS];

static struct map_view made(const struct map_shape *shape)
{
	static struct map_layout layout;
	struct map_view m = { &layout, aligned_alloc(64, (map_size(shape) + 63) / 64 * 64) };

	memset(m.data, 0, map_size(shape));
	map_lay_out(&layout, shape);
	for (uint32_t i = 0; i < SLOTS; i++)
		slots[i] = (struct slot){ .index = i, .depth = 1 };
	return m;
}

static struct map_shape shaped(uint32_t max_elts, uint32_t key_size, bool single)
{
	return (struct map_shape){ .max_elts = max_elts,
				  .key_size = key_size,
				  .nr_sums = 2,
				  .nr_vars = 3,
				  .nr_cpus = 4,
				  .nr_slots = SLOTS,
				  .single_writer = single };
}

static void keys_of_all_sizes_are_found_again(void **state)
{
	for (uint32_t size = 8; size <= 1024; size *= 2) {
		struct map_shape shape = shaped(128, size, false);
		struct map_view m = made(&shape);
		uint64_t key[128] = { 0 };
		uint32_t elt[100];

		for (int i = 0; i < 100; i++) {
			key[size / 8 - 1] = (uint64_t)i;
			assert_int_equal(map_find(m, key), 0);
			elt[i] = map_insert(m, &slots[i % SLOTS], key);
			assert_int_not_equal(elt[i], 0);
		}
		for (int i = 0; i < 100; i++) {
			key[size / 8 - 1] = (uint64_t)i;
			assert_int_equal(map_find(m, key), elt[i]);
			assert_int_equal(map_insert(m, &slots[3], key), elt[i]);
		}
		free(m.data);
	}
}

static void fill(struct map_view m, uint64_t from, uint64_t to)
{
	for (uint64_t k = from; k < to; k++)
		map_insert(m, &slots[k % SLOTS], &k);
}

static void a_full_map_counts_drops(void **state)
{
	for (int single = 0; single < 2; single++) {
		struct map_shape shape = shaped(128, 8, single);
		struct map_view m = made(&shape);
		uint64_t key = 128;

		fill(m, 0, 127);
		assert_int_equal(map_drops(m.data), 0);
		fill(m, 127, 128);
		assert_int_equal(map_drops(m.data), 0);
		assert_int_equal(map_insert(m, &slots[0], &key), 0);
		assert_int_equal(map_insert(m, &slots[5], &key), 0);
		assert_int_equal(map_drops(m.data), 2);
		key = 127;
		assert_int_not_equal(map_insert(m, &slots[0], &key), 0);
		assert_int_equal(map_drops(m.data), 2);
		free(m.data);
	}
}

struct seen {
	unsigned int	nr;
	uint64_t	sum[2];
};

static int see(void *arg, uint32_t elt, const void *key, const uint64_t *sums)
{
	struct seen *s = arg;

	s->nr++;
	s->sum[0] += sums[0];
	s->sum[1] += sums[1];
	return s->nr == 1000;
}

static void sums_come_together_from_all_columns(void **state)
{
	for (int single = 0; single < 2; single++) {
		struct map_shape shape = shaped(128, 8, single);
		struct map_view m = made(&shape);
		struct seen seen = { 0 };
		uint64_t key = 9;
		uint32_t elt = map_insert(m, &slots[0], &key);

		map_add(m, elt, 0, 1, 0);
		map_add(m, elt, 0, 1, 1);
		map_add(m, elt, 1, 100, 0);
		map_add(m, elt, 1, (uint64_t)-1, 2);
		assert_int_equal(map_each(m.data, map_size(&shape), &shape, see, &seen), 0);
		assert_int_equal(seen.nr, 1);
		assert_int_equal(seen.sum[0], 2);
		assert_int_equal(seen.sum[1], 99);
		assert_int_equal(map_hits(m.data, &shape), 2);
		free(m.data);
	}
}

static void large_maps_have_one_column(void **state)
{
	struct map_shape shape = shaped(1 << 17, 8, false);
	struct map_view m;

	shape.nr_cpus = 128;
	m = made(&shape);
	assert_int_equal(m.layout->nr_columns, 1);
	shape.max_elts = 2048;
	free(m.data);
	m = made(&shape);
	assert_int_equal(m.layout->nr_columns, 129);
	assert_true(m.layout->nr_columns * m.layout->column_size <= 16 << 20);
	free(m.data);
}

static void variables_are_read_once(void **state)
{
	struct map_shape shape = shaped(128, 8, false);
	struct map_view m = made(&shape);
	uint64_t key = 1, v = 0;
	uint32_t elt = map_insert(m, &slots[0], &key);

	assert_false(map_var_read(m, elt, 2, &v));
	assert_false(map_var_read_once(m, elt, 2, &v));
	map_var_set(m, elt, 2, 77);
	assert_true(map_var_read(m, elt, 2, &v));
	assert_true(map_var_read(m, elt, 2, &v));
	assert_int_equal(v, 77);
	assert_true(map_var_read_once(m, elt, 2, &v));
	assert_false(map_var_read_once(m, elt, 2, &v));
	assert_false(map_var_read(m, elt, 1, &v));
	assert_int_equal(map_find(m, &key), elt);
	free(m.data);
}

/* The steps of insert_owned() after which a writer may be killed. */
enum killed {
	BEFORE_CLAIM,
	AFTER_CLAIM,
	AFTER_PUBLISH,
	BEFORE_UNCLAIM,
	BEFORE_REPLACE,
	AFTER_REPLACE,
	STEPS
};

static uint64_t word(uint64_t places, uint64_t next, uint64_t owner, uint64_t seq)
{
	return places | next << 18 | owner << 36 | seq << 48;
}

static void killed_at(struct map_view m, enum killed step)
{
	struct map_owner *o = map_owner(m, 0);
	uint32_t elt = 1 + m.layout->max_elts, hash;
	const uint64_t key[128] = { 1000 };

	memcpy(map_elt(m, elt), key, 8);
	hash = map_hash(m, key);
	o->holder = 1;
	o->state = 1 << 8 | MAP_CLAIM;
	if (step == BEFORE_CLAIM)
		return;
	m.data->pool = word(1, 0, 0, 1);
	if (step == BEFORE_UNCLAIM)
		o->state = 2 << 8 | MAP_UNCLAIM;
	if (step == AFTER_CLAIM || step == BEFORE_UNCLAIM)
		return;
	*map_entry(m, hash >> m.layout->hash_shift) = (uint64_t)hash << 32 | elt;
	if (step == AFTER_PUBLISH)
		return;
	o->state = 2 << 8 | MAP_REPLACE;
	if (step == AFTER_REPLACE)
		m.data->pool = word(1, 1, 0, 2);
}

/* The next writers can use each place, once. */
static void check_whole(struct map_view m, const struct map_shape *shape, enum killed step)
{
	struct seen seen = { 0 };

	fill(m, 0, 2000);
	map_each(m.data, map_size(shape), shape, see, &seen);
	if (seen.nr != 128 || (m.data->pool & 0x3ffff) != 128)
		fail_msg("step %d: %u elts, %u places", step, seen.nr,
			 (unsigned int)(m.data->pool & 0x3ffff));
}

static void no_elt_leaks_wherever_a_writer_is_killed(void **state)
{
	struct map_shape shape = shaped(128, 8, false);

	for (int step = 0; step < STEPS; step++) {
		for (int others = 0; others < 2; others++) {
			struct map_view m = made(&shape);

			killed_at(m, step);
			/*
			 * Inserts of another slot make the pool forget who was the last owner.
			 */
			for (uint64_t k = 5000; others && k < 5003; k++)
				map_insert(m, &slots[3], &k);
			if (step % 2)
				map_recover(m, 0);
			check_whole(m, &shape, step);
			free(m.data);
		}
	}
}

static void a_nested_insert_uses_an_elt_of_its_own(void **state)
{
	struct map_shape shape = shaped(128, 8, false);
	struct map_view m = made(&shape);
	uint64_t key = 1;
	uint32_t elt;

	killed_at(m, AFTER_CLAIM);	/* the state of the interrupted insert */
	slots[0].depth = 2;
	elt = map_insert(m, &slots[0], &key);
	assert_true(elt > 128 + SLOTS);
	assert_int_equal(map_find(m, &key), elt);
	assert_int_equal(map_owner(m, 0)->state, 1 << 8 | MAP_CLAIM);
	slots[0].depth = 1;
	check_whole(m, &shape, 0);
	free(m.data);
}

/* A session may have thousands of slots. The size of a map does not depend on that. */
static void slots_beyond_the_owners_borrow_one(void **state)
{
	struct map_shape shape = shaped(128, 8, false), most = shape;
	struct slot far = { .index = MAP_OWNERS + 3000, .depth = 1 };
	struct map_owner *o;
	uint64_t key = 1;
	struct map_view m;

	shape.nr_slots = MAP_OWNERS;
	most.nr_slots = LAYOUT_MAX_SLOTS;
	assert_int_equal(map_size(&most), map_size(&shape));
	m = made(&most);
	for (; key <= 128; key++)
		assert_int_not_equal(map_insert(m, key % 2 ? &far : &slots[1], &key), 0);
	assert_int_equal(map_insert(m, &far, &key), 0);
	assert_int_equal(map_drops(m.data), 1);
	/* The thread is killed in the middle of an insert. */
	o = map_owner(m, MAP_OWNERS + 7);
	o->state = ((o->state >> 8) + 1) << 8 | MAP_CLAIM;
	o->holder = 1 + far.index * LAYOUT_HIT_LEVELS;
	map_recover(m, far.index);
	assert_int_equal(o->holder, 0);
	assert_int_equal(o->state & 0xff, MAP_IDLE);
	free(m.data);
}

static void a_single_writer_goes_on_where_it_was_killed(void **state)
{
	struct map_shape shape = shaped(128, 8, true);
	struct map_view m = made(&shape);

	fill(m, 0, 10);
	m.data->pool = 9;		/* the last elt is published, but not counted yet */
	check_whole(m, &shape, 0);
	free(m.data);
}

static void a_map_that_is_too_large_is_not_read(void **state)
{
	struct map_shape shape = shaped(128, 8, false);
	struct map_view m = made(&shape);
	struct seen seen = { 0 };

	fill(m, 0, 10);
	assert_int_equal(map_each(m.data, map_size(&shape) - 1, &shape, see, &seen), -EPROTO);
	*map_entry(m, 3) = 0xffffffffffffffff;
	assert_int_equal(map_each(m.data, map_size(&shape), &shape, see, &seen), 0);
	assert_true(seen.nr <= 10);
	free(m.data);
}

/* ---- M4 ---- */

/* The map ends at the end of its pages. The pages on both sides cannot be accessed. */
static struct map_view made_between_walls(const struct map_shape *shape, size_t *room)
{
	struct map_view m = made(shape);
	size_t size = (map_size(shape) + 63) / 64 * 64;
	char *at;

	*room = (size + 4095) / 4096 * 4096 + 8192;
	at = mmap(NULL, *room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(at, MAP_FAILED);
	assert_int_equal(mprotect(at + 4096, *room - 8192, PROT_READ | PROT_WRITE), 0);
	free(m.data);
	m.data = (struct map *)(at + *room - 4096 - size);
	return m;
}

static uint64_t nonsense(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	*x ^= *x << 17;
	switch (*x >> 32 & 3) {
	case 0:
		return *x & 0xffff;
	case 1:
		return ~(*x & 0xff);
	case 2:
		return *x << 32 | (*x & 0x1ff);
	default:
		return *x;
	}
}

static void hit_it(struct map_view m, const struct map_shape *shape, uint64_t key)
{
	uint32_t elt = map_insert(m, &slots[key % SLOTS], &key);
	struct map_block b;
	uint64_t v;

	map_find(m, &key);
	map_recover(m, (uint32_t)key % SLOTS);
	if (!elt)
		return;
	map_add(m, elt, 1, key, key % 2);
	map_var_set(m, elt, 2, key);
	map_var_read_once(m, elt, 2, &v);
	if (!map_block_begin(m, &slots[key % SLOTS], elt, 0, &b))
		return;
	for (uint32_t i = 0; i <= shape->block_size[0]; i += 8)
		map_block_put(&b, i, key);
	map_block_look(&b);
	map_block_publish(&b);
	map_block_end(&b);
	map_block_copy(m, elt, 0, &v, sizeof(v));
}

static void nonsense_in_a_map_leads_nowhere_else(void **state)
{
	uint64_t x = 88172645463325252u;
	size_t room;

	for (int round = 0; round < 200; round++) {
		struct map_shape shape = shaped(128, 8, round % 8 == 0);
		struct map_view m;

		shape.nr_blocks = 1;
		shape.block_size[0] = 24;
		m = made_between_walls(&shape, &room);
		for (int i = 0; i < 100; i++) {
			/* All words first, then single words. */
			for (size_t k = 0; k < map_size(&shape) / 8 && i % 50 == 0; k++)
				((volatile uint64_t *)m.data)[k] = nonsense(&x);
			((volatile uint64_t *)m.data)[nonsense(&x) % (map_size(&shape) / 8)] =
				nonsense(&x);
			slots[x % SLOTS].depth = 1 + x / 16 % 3;
			hit_it(m, &shape, x >> 8 & 255);
			slots[x % SLOTS].depth = 1;
		}
		munmap((char *)m.data + (map_size(&shape) + 63) / 64 * 64 + 4096 - room, room);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_of_all_sizes_are_found_again),
		cmocka_unit_test(a_full_map_counts_drops),
		cmocka_unit_test(sums_come_together_from_all_columns),
		cmocka_unit_test(large_maps_have_one_column),
		cmocka_unit_test(variables_are_read_once),
		cmocka_unit_test(no_elt_leaks_wherever_a_writer_is_killed),
		cmocka_unit_test(a_nested_insert_uses_an_elt_of_its_own),
		cmocka_unit_test(slots_beyond_the_owners_borrow_one),
		cmocka_unit_test(a_single_writer_goes_on_where_it_was_killed),
		cmocka_unit_test(a_map_that_is_too_large_is_not_read),
		cmocka_unit_test(nonsense_in_a_map_leads_nowhere_else),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
