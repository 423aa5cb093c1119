/* SPDX-License-Identifier: MIT */
/* Where pieces of a region are: always at the first place that has room, whatever came and went. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <cmocka.h>

#include "session/heap.h"

enum { UNIT = 64, PAGE = 4096, SIZE = 1 << 20, UNITS = SIZE / UNIT, PIECES = 3000, STEPS = 12000 };

static bool used[UNITS];

static struct {
	uint64_t	off;
	size_t		size;
} pieces[PIECES];
static unsigned int nr;

static size_t units_of(size_t size)
{
	const size_t to = size >= PAGE ? PAGE : UNIT;

	return (size + to - 1) / to * to / UNIT;
}

/* 0: there is none. */
static uint64_t first_place(size_t size)
{
	const size_t step = size >= PAGE ? PAGE / UNIT : 1, n = units_of(size);

	for (size_t at = PAGE / UNIT; at + n <= UNITS; at += step) {
		size_t i = 0;

		while (i < n && !used[at + i])
			i++;
		if (i == n)
			return at * UNIT;
	}
	return 0;
}

static void mark(uint64_t off, size_t size, bool is)
{
	memset(&used[off / UNIT], is, units_of(size));
}

static size_t some_size(void)
{
	switch (rand() % 8) {
	case 0:
		return PAGE + (size_t)rand() % (4 * PAGE);
	case 1:
		return 1 + (size_t)rand() % PAGE;
	default:
		return 1 + (size_t)rand() % 400;
	}
}

static void give_back(struct heap *h, unsigned int i)
{
	heap_free(h, pieces[i].off, pieces[i].size);
	mark(pieces[i].off, pieces[i].size, false);
	pieces[i] = pieces[--nr];
}

static void a_piece_is_at_the_first_place_with_room(void **state)
{
	struct region r;
	struct heap h;

	(void)state;
	assert_int_equal(region_create(&r, memfd_create("heap", MFD_CLOEXEC), SIZE, false), 0);
	assert_int_equal(heap_init(&h, &r, PAGE, SIZE, 0), 0);
	srand(1);
	for (int step = 0; step < STEPS; step++) {
		/* It fills up, is nearly emptied, and so on. */
		const bool fills = step / 1500 % 2 == 0;
		const size_t size = some_size();
		const uint64_t place = first_place(size);

		if (nr && (nr == PIECES || rand() % 10 < (fills ? 2 : 7))) {
			give_back(&h, (unsigned int)rand() % nr);
			continue;
		}
		assert_int_equal(heap_alloc(&h, size), place);
		if (!place)
			continue;
		mark(place, size, true);
		pieces[nr].off = place;
		pieces[nr++].size = size;
	}
	while (nr)
		give_back(&h, 0);
	assert_int_equal(heap_alloc(&h, SIZE - PAGE), PAGE);
	heap_destroy(&h);
	region_close(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_piece_is_at_the_first_place_with_room),
	};

	return cmocka_run_group_tests_name("heap", tests, NULL, NULL);
}
