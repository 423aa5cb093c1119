/* SPDX-License-Identifier: MIT */
/*
 * packed_code.c - the code of a file as bytes: what comes back plans as the file does, and false
 * bytes are refused or harm nobody. The file is that of this program.
 */
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
#include "sources/program/scan/packed_code.h"
#include "elf/probe.h"

enum { ROUNDS = 300, BYTES_EACH = 8 };

static struct elf_file file;
static struct code_file code;
static void *memory;
static const struct site one_site = { .at = 0x123, .len = 5 };
static char *bytes;
static size_t size;

static int set_up(void **state)
{
	FILE *out;
	size_t room;

	if (elf_file_open("/proc/self/exe", NULL, &file))
		return -1;
	image_functions(&file.image);
	room = code_room(&file.image);
	memory = calloc(1, room);
	if (!code_open(&code, &file.image, memory, room))
		return -1;
	out = open_memstream(&bytes, &size);
	return packed_code_write(&code, &one_site, 1, out) || fclose(out) ? -1 : 0;
}

static int tear_down(void **state)
{
	elf_file_close(&file);
	free(memory);
	free(bytes);
	return 0;
}

/* A copy of `n` bytes: a sanitizer sees what is read or written outside of them. */
static int take(size_t n, void **copy, struct code_file *f, struct site **sites, size_t *nr)
{
	*copy = malloc(n ? n : 1);
	memcpy(*copy, bytes, n);
	return packed_code_read(*copy, n, f, sites, nr);
}

static int taken(size_t n)
{
	struct code_file f;
	struct site *sites;
	void *copy;
	size_t nr;
	const int err = take(n, &copy, &f, &sites, &nr);

	free(sites);
	free(copy);
	return err;
}

/* A plan at each function, and at some places in it. */
static void plan_all(struct code_file *f, const struct site *sites, size_t nr)
{
	struct probe_plan plan;

	for (size_t i = 0; i < f->nr_functions; i++)
		for (uint32_t k = 0; k <= f->functions[i].size && k < 32; k += 3)
			probe_plan_make(f, sites, nr, f->functions[i].start + k, false, &plan);
}

static void what_comes_back_plans_as_the_file(void **state)
{
	struct code_file f;
	struct site *sites;
	void *copy;
	size_t nr;

	assert_int_equal(take(size, &copy, &f, &sites, &nr), 0);
	assert_int_equal(nr, 1);
	assert_true(sites->at == one_site.at && sites->len == one_site.len);
	assert_int_equal(f.nr_functions, code.nr_functions);
	assert_true(f.nr_functions > 10);
	for (size_t i = 0; i < f.nr_functions; i++) {
		struct probe_plan a, b;
		const uint64_t at = code.functions[i].start;

		assert_int_equal(probe_plan_make(&code, NULL, 0, at, false, &a),
				 probe_plan_make(&f, NULL, 0, at, false, &b));
		assert_memory_equal(&a, &b, sizeof(a));
	}
	free(sites);
	free(copy);
}

static void nothing_comes_back_from_nothing(void **state)
{
	const struct code_file none = { .nr_segments = 0 };
	struct code_file f;
	struct site *sites;
	char *text;
	size_t n, nr;
	FILE *out = open_memstream(&text, &n);

	assert_int_equal(packed_code_write(&none, NULL, 0, out), 0);
	fclose(out);
	assert_int_equal(packed_code_read(text, n, &f, &sites, &nr), 0);
	assert_true(!f.nr_segments && !f.nr_functions && !sites && !nr);
	free(text);
}

static void fewer_or_more_bytes_are_refused(void **state)
{
	for (size_t n = 0; n < size; n += 1 + n / 16)
		assert_int_equal(taken(n), -EPROTO);
	assert_int_equal(taken(size - 1), -EPROTO);
	bytes = realloc(bytes, size + 1);
	bytes[size] = 0;
	assert_int_equal(taken(size + 1), -EPROTO);
}

static void false_counts_are_refused(void **state)
{
	static const uint64_t counts[] = { 0, 5, 1ull << 32, 1ull << 60, UINT64_MAX / 16 + 2,
					   UINT64_MAX };

	/* The head begins with three of them. */
	for (size_t at = 0; at < 24; at += 8)
		for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
			uint64_t old;

			memcpy(&old, bytes + at, 8);
			memcpy(bytes + at, &counts[i], 8);
			assert_int_equal(taken(size), -EPROTO);
			memcpy(bytes + at, &old, 8);
		}
	assert_int_equal(taken(size), 0);
}

/* A function that ends behind its segment, and functions that overlap. */
static void false_functions_are_refused(void **state)
{
	const size_t first = size - sizeof(one_site) - code.nr_functions * sizeof(*code.functions);
	struct code_function fn, *at;
	size_t marks = 0;

	for (unsigned int i = 0; i < code.nr_segments; i++)
		marks += 2 * (code.segments[i].high - code.segments[i].low);
	at = (struct code_function *)(bytes + first - marks);
	fn = *at;
	assert_int_equal(fn.start, code.functions[0].start);
	at->size = UINT32_MAX;
	assert_int_equal(taken(size), -EPROTO);
	*at = fn;
	at->start = code.functions[1].start;
	assert_int_equal(taken(size), -EPROTO);
	*at = fn;
	at->why = CODE_NR_WHYS;
	assert_int_equal(taken(size), -EPROTO);
	*at = fn;
	at->returns = CODE_NR_RETURNS;
	assert_int_equal(taken(size), -EPROTO);
	*at = fn;
	assert_int_equal(taken(size), 0);
}

static void false_bytes_harm_nobody(void **state)
{
	struct code_file f;
	struct site *sites;
	unsigned int good = 0;
	void *copy;
	size_t nr;

	srand(18);
	for (unsigned int round = 0; round < ROUNDS; round++) {
		char *whole = malloc(size);

		memcpy(whole, bytes, size);
		for (unsigned int i = 0; i < BYTES_EACH; i++)
			bytes[(size_t)rand() * 4099 % size] = (char)rand();
		if (!take(size, &copy, &f, &sites, &nr)) {
			plan_all(&f, sites, nr);
			good++;
		}
		free(sites);
		free(copy);
		memcpy(bytes, whole, size);
		free(whole);
	}
	/* Most of the bytes are code and marks, of which nothing is checked. */
	assert_true(good > ROUNDS / 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define PACKED_TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
		PACKED_TEST(what_comes_back_plans_as_the_file),
		PACKED_TEST(nothing_comes_back_from_nothing),
		PACKED_TEST(fewer_or_more_bytes_are_refused),
		PACKED_TEST(false_counts_are_refused),
		PACKED_TEST(false_functions_are_refused),
		PACKED_TEST(false_bytes_harm_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
