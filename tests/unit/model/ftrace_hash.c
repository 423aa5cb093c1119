/* SPDX-License-Identifier: MIT */
/* ftrace_hash.c - compares sets of functions with a simple hash table that has real chains */
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "model/ftrace/hash.h"

enum { RANGE = 900, CHAINS = 1 << FTRACE_HASH_MAX_BITS };

/* Each chain has the newest first. A copy adds the old table's addresses one by one. */
struct chains {
	uint64_t	*of[CHAINS];
	uint32_t	nr[CHAINS];
	uint32_t	bits;
	uint32_t	count;
};

static uint64_t address(uint32_t i)
{
	return 0x500000000000ull + (uint64_t)i * 0x35;
}

static uint32_t chain_of(const struct chains *c, uint64_t ip)
{
	return c->bits ? (uint32_t)((ip * 0x61c8864680b583ebull) >> (64 - c->bits)) : 0;
}

static void chains_add(struct chains *c, uint64_t ip)
{
	const uint32_t at = chain_of(c, ip);

	c->of[at] = realloc(c->of[at], (c->nr[at] + 1) * sizeof(ip));
	memmove(c->of[at] + 1, c->of[at], c->nr[at]++ * sizeof(ip));
	c->of[at][0] = ip;
	c->count++;
}

static bool chains_remove(struct chains *c, uint64_t ip)
{
	const uint32_t at = chain_of(c, ip);

	for (uint32_t i = 0; i < c->nr[at]; i++)
		if (c->of[at][i] == ip) {
			memmove(c->of[at] + i, c->of[at] + i + 1, (--c->nr[at] - i) * sizeof(ip));
			c->count--;
			return true;
		}
	return false;
}

static bool chains_have(const struct chains *c, uint64_t ip)
{
	const uint32_t at = chain_of(c, ip);

	for (uint32_t i = 0; i < c->nr[at]; i++)
		if (c->of[at][i] == ip)
			return true;
	return false;
}

static struct chains *chains_again(struct chains *old, uint32_t bits)
{
	struct chains *c = calloc(1, sizeof(*c));

	c->bits = bits;
	for (uint32_t at = 0; at < CHAINS; at++) {
		for (uint32_t i = 0; i < old->nr[at]; i++)
			chains_add(c, old->of[at][i]);
		free(old->of[at]);
	}
	free(old);
	return c;
}

static void assert_sorted(const struct ftrace_hash *h, const struct chains *c)
{
	uint64_t *ips = ftrace_hash_addresses(h);

	for (uint32_t i = 0; i < c->count; i++) {
		assert_true(!i || ips[i - 1] < ips[i]);
		assert_true(chains_have(c, ips[i]));
	}
	free(ips);
}

static void assert_same(const struct ftrace_hash *h, const struct chains *c)
{
	uint64_t *ips = ftrace_hash_list(h);
	uint32_t n = 0;

	assert_int_equal(h->count, c->count);
	for (uint32_t at = 0; at < CHAINS; at++)
		for (uint32_t i = 0; i < c->nr[at]; i++)
			assert_int_equal(ips[n++], c->of[at][i]);
	for (uint32_t i = 0; i < RANGE; i++)
		assert_int_equal(ftrace_hash_has(h, address(i)), chains_have(c, address(i)));
	free(ips);
	assert_sorted(h, c);
}

static uint32_t bits_of(uint32_t count)
{
	uint32_t bits = 0;

	for (count /= 2; count; count /= 2)
		bits++;
	return bits < FTRACE_HASH_MAX_BITS ? bits : FTRACE_HASH_MAX_BITS;
}

/* The set is copied, changed and put in place many times. */
static void an_ordered_set_lists_as_chains_do(void **state)
{
	struct chains *c = calloc(1, sizeof(*c));
	struct ftrace_hash *h = ftrace_hash_create(true);

	c->bits = FTRACE_HASH_BITS;
	srandom(7);
	for (int round = 0; round < 60; round++) {
		struct ftrace_hash *copy = ftrace_hash_copy(h, true);

		ftrace_hash_destroy(h);
		h = copy;
		c = chains_again(c, FTRACE_HASH_BITS);
		for (int i = (int)(random() % 80); i > 0; i--) {
			const uint64_t ip = address((uint32_t)random() % RANGE);

			if (random() % 3 == 0) {
				assert_int_equal(ftrace_hash_remove(h, ip), chains_remove(c, ip));
			} else {
				if (!chains_have(c, ip))
					chains_add(c, ip);
				assert_int_equal(ftrace_hash_add(h, ip), 0);
			}
		}
		assert_same(h, c);
		assert_int_equal(ftrace_hash_settle(h), 0);
		c = chains_again(c, bits_of(c->count));
		assert_same(h, c);
	}
	c = chains_again(c, 0);
	free(c->of[0]);
	free(c);
	ftrace_hash_destroy(h);
}

/* A set that has lost nearly all, and one with the address 0. */
static void an_ordered_set_with_gaps(void **state)
{
	struct chains *c = calloc(1, sizeof(*c));
	struct ftrace_hash *h = ftrace_hash_create(true);

	c->bits = FTRACE_HASH_BITS;
	for (uint32_t i = 0; i < RANGE; i++) {
		ftrace_hash_add(h, address(i * 7 % RANGE));
		chains_add(c, address(i * 7 % RANGE));
	}
	for (uint32_t i = 0; i < RANGE; i++) {
		if (i % 100 == 3)
			continue;
		assert_true(ftrace_hash_remove(h, address(i)));
		assert_true(chains_remove(c, address(i)));
	}
	assert_same(h, c);
	ftrace_hash_add(h, 0);
	chains_add(c, 0);
	assert_same(h, c);
	c = chains_again(c, 0);
	free(c->of[0]);
	free(c);
	ftrace_hash_destroy(h);
}

static void others_list_by_address(void **state)
{
	struct ftrace_hash *h = ftrace_hash_create(false), *copy;
	uint64_t *ips;

	for (uint32_t i = 0; i < RANGE; i++)
		ftrace_hash_add(h, address((i * 7) % RANGE));
	copy = ftrace_hash_copy(h, false);
	ips = ftrace_hash_list(copy);
	for (uint32_t i = 0; i < RANGE; i++)
		assert_int_equal(ips[i], address(i));
	free(ips);
	ftrace_hash_destroy(h);
	ftrace_hash_destroy(copy);
}

static void what_is_empty(void **state)
{
	struct ftrace_hash *h = ftrace_hash_copy(NULL, false);

	assert_true(ftrace_hash_empty(NULL));
	assert_true(ftrace_hash_empty(h));
	assert_false(ftrace_hash_has(h, 1));
	assert_false(ftrace_hash_remove(h, 1));
	ftrace_hash_add(h, 1);
	assert_false(ftrace_hash_empty(h));
	assert_true(ftrace_hash_remove(h, 1));
	assert_true(ftrace_hash_empty(h));
	h->mods = true;
	assert_false(ftrace_hash_empty(h));
	ftrace_hash_destroy(h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_ordered_set_lists_as_chains_do),
		cmocka_unit_test(an_ordered_set_with_gaps),
		cmocka_unit_test(others_list_by_address),
		cmocka_unit_test(what_is_empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
