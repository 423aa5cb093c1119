/* SPDX-License-Identifier: MIT */
/* packed.c - sites and symbols as bytes: what comes back, and what is refused */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "elf/file.h"
#include "elf/packed.h"
#include "elf/sites.h"

enum { SITES = 3, SYMBOLS = 3, HEAD = 32, SITE = 16, SYMBOL = 24 };
enum { NR_SITES = 0, NR_SYMBOLS = 8, NAMES_LEN = 16 };	/* in the head */

static struct site sites[SITES] = {
	{ .at = 0x1000, .kind = SITE_MOVED, .len = 5 },
	{ .at = 0x1010, .kind = SITE_MOVED, .len = 9, .unreturned = 1, .number = 1 },
	{ .at = 0x2000, .kind = SITE_MOVED, .skip = SITE_ENTERED, .number = 2 },
};
static char names[] = "one\0two.resolver\0three";
static struct elf_symbol symbols[SYMBOLS] = {
	{ .value = 0x1000, .size = 16, .name = 0, .type = 'T' },
	{ .value = 0x1010, .size = 8, .name = 4, .type = 't', .old = true, .chooses = true },
	{ .value = 0x2000, .name = 17, .type = 'W', .untyped = true },
};
static const struct elf_sites whole = {
	.v = sites, .nr = SITES,
	.symbols = { .v = symbols, .nr = SYMBOLS, .names = names, .names_len = sizeof(names),
		     .is_program = true },
};

static char *bytes;
static size_t size;

static int set_up(void **state)
{
	FILE *out = open_memstream(&bytes, &size);

	assert_int_equal(packed_write(&whole, out), 0);
	return fclose(out);
}

static int tear_down(void **state)
{
	free(bytes);
	return 0;
}

static int taken(size_t n)
{
	/* Memory of just that size: a sanitizer sees what is read behind it. */
	void *copy = malloc(n ? n : 1);
	struct elf_sites out;
	int err;

	memcpy(copy, bytes, n);
	err = packed_read(copy, n, true, &out);
	free(copy);
	if (!err)
		elf_sites_free(&out);
	else
		assert_true(!out.v && !out.nr && !out.symbols.v && !out.symbols.names);
	return err;
}

/* Not by memory: there are bits that belong to no field. */
static void assert_site_equal(const struct site *a, const struct site *b)
{
	assert_int_equal(a->at, b->at);
	assert_int_equal(a->kind, b->kind);
	assert_int_equal(a->len, b->len);
	assert_int_equal(a->skip, b->skip);
	assert_int_equal(a->on | a->called | a->jumps | a->returns,
			 b->on | b->called | b->jumps | b->returns);
	assert_int_equal(a->unreturned, b->unreturned);
	assert_int_equal(a->number, b->number);
}

static void what_is_written_comes_back(void **state)
{
	struct elf_sites out;

	assert_int_equal(packed_read(bytes, size, true, &out), 0);
	assert_int_equal(out.nr, SITES);
	for (int i = 0; i < SITES; i++)
		assert_site_equal(&out.v[i], &sites[i]);
	assert_int_equal(out.symbols.nr, SYMBOLS);
	for (int i = 0; i < SYMBOLS; i++) {
		assert_int_equal(out.symbols.v[i].value, symbols[i].value);
		assert_int_equal(out.symbols.v[i].size, symbols[i].size);
		assert_int_equal(out.symbols.v[i].name, symbols[i].name);
		assert_int_equal(out.symbols.v[i].type, symbols[i].type);
		assert_int_equal(out.symbols.v[i].old, symbols[i].old);
		assert_int_equal(out.symbols.v[i].chooses, symbols[i].chooses);
		assert_int_equal(out.symbols.v[i].untyped, symbols[i].untyped);
	}
	assert_true(out.symbols.is_program);
	assert_int_equal(out.symbols.names_len, sizeof(names));
	assert_memory_equal(out.symbols.names, names, sizeof(names));
	elf_sites_free(&out);
}

static void nothing_comes_back_from_nothing(void **state)
{
	const struct elf_sites none = { 0 };
	struct elf_sites out;
	char *text;
	size_t n;
	FILE *f = open_memstream(&text, &n);

	assert_int_equal(packed_write(&none, f), 0);
	fclose(f);
	assert_int_equal(packed_read(text, n, true, &out), 0);
	assert_int_equal(out.nr + out.symbols.nr, 0);
	elf_sites_free(&out);
	free(text);
}

static void fewer_or_more_bytes_are_refused(void **state)
{
	for (size_t n = 0; n < size; n++)
		assert_int_equal(taken(n), -EPROTO);
	bytes = realloc(bytes, size + 1);
	bytes[size] = 0;
	assert_int_equal(taken(size + 1), -EPROTO);
}

/* At `at` stands another number: refused. */
static void wrong(size_t at, uint64_t value, size_t len)
{
	char old[8];

	memcpy(old, bytes + at, len);
	memcpy(bytes + at, &value, len);
	assert_int_equal(taken(size), -EPROTO);
	memcpy(bytes + at, old, len);
	assert_int_equal(taken(size), 0);
}

static void false_counts_are_refused(void **state)
{
	static const uint64_t counts[] = { 0, 1, 4, 1ull << 32, 1ull << 60, 1ull << 61,
					   UINT64_MAX / 24, UINT64_MAX / 16 + 2, UINT64_MAX };

	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		wrong(NR_SITES, counts[i], 8);
		wrong(NR_SYMBOLS, counts[i], 8);
		wrong(NAMES_LEN, counts[i], 8);
	}
}

static void false_sites_are_refused(void **state)
{
	wrong(HEAD + SITE, 0x1000, 8);			/* not behind the one before */
	wrong(HEAD + 2 * SITE, 0, 8);
	wrong(HEAD + 8, SITE_CALL, 1);			/* another kind */
	wrong(HEAD + 10, SITE_NR_SKIPS, 1);
}

static void false_symbols_are_refused(void **state)
{
	const size_t first = HEAD + SITES * SITE, text = first + SYMBOLS * SYMBOL;

	wrong(first + SYMBOL, 0xfff, 8);		/* before the one before */
	wrong(first + 16, sizeof(names), 4);		/* a name behind the names */
	wrong(first + 16, UINT32_MAX, 4);
	wrong(first + 20, '\n', 1);			/* a type that breaks a line */
	wrong(text, '\n', 1);
	wrong(text + sizeof(names) - 1, 'x', 1);	/* a name without an end */
}

static void any_other_byte_does_no_harm(void **state)
{
	for (size_t at = 0; at < size; at++)
		for (unsigned int bit = 0; bit < 8; bit++) {
			bytes[at] ^= (char)(1u << bit);
			assert_true(taken(size) == 0 || taken(size) == -EPROTO);
			bytes[at] ^= (char)(1u << bit);
		}
}

/* A compiler's sites, or those of moved code, as the reader expects. */
static void sites_of_another_kind_are_refused(void **state)
{
	const uint8_t kind = SITE_CALL, return_kind = SITE_MOVED + 1;
	struct elf_sites out;

	assert_int_equal(packed_read(bytes, size, false, &out), -EPROTO);
	for (int i = 0; i < SITES; i++) {
		assert_int_equal(packed_read(bytes, size, false, &out), -EPROTO);
		memcpy(bytes + HEAD + i * SITE + 8, &kind, 1);
		assert_int_equal(packed_read(bytes, size, true, &out), -EPROTO);
	}
	assert_int_equal(packed_read(bytes, size, false, &out), 0);
	assert_int_equal(out.v[1].kind, SITE_CALL);
	elf_sites_free(&out);
	memcpy(bytes + HEAD + 8, &return_kind, 1);
	assert_int_equal(packed_read(bytes, size, false, &out), -EPROTO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define PACKED_TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
		PACKED_TEST(what_is_written_comes_back),
		PACKED_TEST(nothing_comes_back_from_nothing),
		PACKED_TEST(fewer_or_more_bytes_are_refused),
		PACKED_TEST(false_counts_are_refused),
		PACKED_TEST(false_sites_are_refused),
		PACKED_TEST(sites_of_another_kind_are_refused),
		PACKED_TEST(false_symbols_are_refused),
		PACKED_TEST(any_other_byte_does_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
