/* SPDX-License-Identifier: MIT */
/*
 * texts.c - the records that TF_EVENT() makes of texts: their bytes are right, and no others are
 * accessed
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <cmocka.h>
#include "tracefuse/tracefuse.h"

enum { PAGE = 4096, SPARE = 8, MOST = 1000 };

TF_EVENT(texts, two, (const char *, a), (int, n), (const char *, b));

/* Both end at an inaccessible page. */
static char *source, *large;
static char record[PAGE];
static uint32_t record_size;

static void emit(const struct tf_event *event, void *from, uint32_t size, const void *frame)
{
	record_size = size;
	memcpy(record, from, size);
}

static void *reserve(uint32_t size)
{
	memset(large, 0x5a, PAGE);
	return large + PAGE - SPARE - size;
}

static const struct tf_ops ops = {
	.size = sizeof(ops), .emit = emit, .reserve = reserve, .emit_large = emit};

static char *page_before_nothing(void)
{
	char *at = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(at, MAP_FAILED);
	assert_int_equal(mprotect(at + PAGE, PAGE, PROT_NONE), 0);
	return at;
}

/* Makes a text of that length at the end of the page. */
static const char *text_of(uint32_t len)
{
	char *at = source + PAGE - len - 1;

	for (uint32_t i = 0; i < len; i++)
		at[i] = (char)(1 + (i + len) % 255);
	at[len] = 0;
	return at;
}

static void check(uint32_t place, uint32_t at, const char *text, uint32_t len)
{
	assert_int_equal(place, (len + 1) << 16 | at);
	assert_memory_equal(record + at, text, len);
	assert_int_equal(record[at + len], 0);
}

static void record_is(const char *a, uint32_t a_len, const char *b, uint32_t b_len)
{
	const struct tf_raw_texts__two *r = (const void *)record;
	uint32_t size = sizeof(*r) + a_len + 1 + b_len + 1;

	assert_int_equal(record_size, (size + 3) & ~3u);
	assert_int_equal(r->n, 77);
	check(r->a, sizeof(*r), a, a_len);
	check(r->b, sizeof(*r) + a_len + 1, b, b_len);
	for (; size < record_size; size++)
		assert_int_equal(record[size], 0);
}

static void texts_of_all_lengths_are_in_the_record(void **state)
{
	static const char *const others[] = {"", "b", "seven77", "eight888", "nine99999"};

	for (uint32_t len = 0; len <= MOST; len++)
		for (uint32_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
			const char *text = text_of(len);
			uint32_t other = (uint32_t)strlen(others[i]);

			tf_emit_texts__two(text, 77, others[i]);
			record_is(text, len, others[i], other);
			tf_emit_texts__two(others[i], 77, text);
			record_is(others[i], other, text, len);
		}
}

static void a_text_that_is_too_long_is_cut(void **state)
{
	const char *text = text_of(MOST + 5);

	tf_emit_texts__two(text, 77, NULL);
	record_is(text, MOST, "(null)", 6);
}

static int set_up(void **state)
{
	source = page_before_nothing();
	large = page_before_nothing();
	tf_dso_.ops = &ops;
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_of_all_lengths_are_in_the_record),
		cmocka_unit_test(a_text_that_is_too_long_is_cut),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
