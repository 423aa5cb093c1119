/* SPDX-License-Identifier: MIT */
/* lookup.c - the hash table: compares it with an array that is searched */
#include <stdlib.h>

#include "fixture.h"
#include "model/lookup.h"

enum { NODES = 5000, HASHES = 700 };

struct thing {
	struct lookup_node node;
	bool		is_in;
};

static struct thing things[NODES];

/* Several things have the same hash. */
static uint64_t hash_of(const struct thing *t)
{
	const unsigned int value = (unsigned int)(t - things) % HASHES;

	return lookup_hash(7, &value, sizeof(value));
}

/* Those that are in have to be found in the order in which they were added: that of the array. */
static void assert_found(const struct lookup *l, unsigned int value)
{
	struct thing *found, *want = &things[value];

	lookup_each(found, l, hash_of(want), struct thing, node) {
		while (want < things + NODES && !want->is_in)
			want += HASHES;
		assert_ptr_equal(found, want);
		want += HASHES;
	}
	for (; want < things + NODES; want += HASHES)
		assert_false(want->is_in);
}

static void assert_all_found(const struct lookup *l)
{
	for (unsigned int value = 0; value < HASHES; value++)
		assert_found(l, value);
}

static void thing_set(struct lookup *l, struct thing *t, bool is_in)
{
	if (is_in)
		lookup_add(l, &t->node, hash_of(t));
	else
		lookup_remove(l, &t->node);
	t->is_in = is_in;
}

static void what_is_added_is_found_in_order_until_it_is_removed(void **state)
{
	struct lookup l;

	lookup_init(&l);
	assert_all_found(&l);
	for (unsigned int i = 0; i < NODES; i++) {
		thing_set(&l, &things[i], true);
		if (i < 200)
			assert_all_found(&l);
	}
	assert_all_found(&l);
	for (unsigned int i = 0; i < NODES; i += 3)
		thing_set(&l, &things[i], false);
	assert_all_found(&l);
	for (unsigned int i = 0; i < NODES; i++)
		if (things[i].is_in)
			thing_set(&l, &things[i], false);
	assert_all_found(&l);
	lookup_free(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_added_is_found_in_order_until_it_is_removed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
