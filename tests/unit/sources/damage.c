/* SPDX-License-Identifier: MIT */
/*
 * damage.c - cut, corrupt and foreign recordings are refused, with the place of the damage
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "make.h"
#include "sources/recording/file/window.h"

/* Returns the number of records that can be read; *ret: the result of the last read. */
static unsigned int read_all(const char *file, bool partial, int *ret, struct source_error *err)
{
	struct source_params params = { .files = &file, .nr_files = 1, .partial = partial };
	unsigned int total = 0;
	struct window w;

	*ret = window_open(&w, &params, err);
	if (*ret)
		return 0;
	*ret = window_rewind(&w);
	while (*ret >= 0 && window_first(&w)) {
		total++;
		*ret = window_pull(&w);
		if (*ret > 0)
			window_settle(&w);
		else if (!*ret)
			window_drop(&w);
	}
	if (w.damaged)
		*err = w.damage;
	window_close(&w);
	return total;
}

static uint8_t *make(unsigned int version, const char *algorithm, unsigned int records,
		     size_t *size)
{
	struct made made = { .version = version, .algorithm = algorithm, .nr_buffers = 1,
			     .nr_records = records };
	char *path = made_file(&made);
	uint8_t *bytes = made_read(path, size);

	made_remove(path);
	return bytes;
}

static unsigned int read_bytes(const void *bytes, size_t size, bool partial, int *ret,
			       struct source_error *err)
{
	char *path = made_bytes(bytes, size);
	unsigned int total = read_all(path, partial, ret, err);

	made_remove(path);
	return total;
}

static void cut_at_every_kilobyte(unsigned int version, const char *algorithm)
{
	struct source_error err;
	unsigned int total, whole, before = 0;
	size_t size, cut;
	uint8_t *bytes = make(version, algorithm, 300, &size);
	int ret;

	whole = read_bytes(bytes, size, false, &ret, &err);
	assert_int_equal(ret, 0);
	assert_int_equal(whole, 900);
	for (cut = 0; cut < size; cut += 1024) {
		memset(&err, 0, sizeof(err));
		read_bytes(bytes, cut, false, &ret, &err);
		assert_true(ret < 0);
		assert_true(err.text[0]);
		assert_true(!err.located || err.offset <= cut);
		total = read_bytes(bytes, cut, true, &ret, &err);
		/* A longer piece of the file never has fewer records. */
		assert_true(total >= before && total < whole);
		before = total;
	}
	/* In version 6 the places of the records come first, so a cut file has some records. */
	assert_true(version == 7 || before > 0);
	free(bytes);
}

static void cut_version_6(void **state)
{
	cut_at_every_kilobyte(6, NULL);
}

static void cut_version_7(void **state)
{
	cut_at_every_kilobyte(7, NULL);
}

static void cut_zstd(void **state)
{
	cut_at_every_kilobyte(7, "zstd");
}

static void cut_zlib(void **state)
{
	cut_at_every_kilobyte(7, "zlib");
}

/* Another recording to the same file would cut it, too. */
static void cut_while_it_is_read(void **state)
{
	struct source_params params = { .nr_files = 1 };
	size_t size;
	uint8_t *bytes = make(6, NULL, 300, &size);
	char *path = made_bytes(bytes, size);
	struct source_error err;
	unsigned int total = 0;
	struct window w;
	int ret;

	params.files = (const char *const *)&path;
	assert_int_equal(window_open(&w, &params, &err), 0);
	ret = window_rewind(&w);
	assert_int_equal(ret, 0);
	assert_int_equal(truncate(path, 4096), 0);
	while (ret >= 0 && window_first(&w)) {
		total++;
		ret = window_pull(&w);
		if (ret > 0)
			window_settle(&w);
		else if (!ret)
			window_drop(&w);
	}
	assert_int_equal(ret, -EPROTO);
	assert_true(total < 900);
	assert_true(w.damaged);
	assert_string_equal(w.damage.text, "cut off while it was read");
	window_close(&w);
	made_remove(path);
	free(bytes);
}

static void flip_bits(unsigned int version, const char *algorithm)
{
	struct source_error err;
	size_t size, at;
	uint8_t *bytes = make(version, algorithm, 60, &size);
	uint32_t random = 1;
	unsigned int i;
	int ret;

	for (i = 0; i < 1500; i++) {
		random = random * 1664525 + 1013904223;
		at = random % size;
		bytes[at] ^= 1 << (random >> 29);
		assert_true(read_bytes(bytes, size, i & 1, &ret, &err) < 100000);
		bytes[at] ^= 1 << (random >> 29);
	}
	free(bytes);
}

static void flipped_version_6(void **state)
{
	flip_bits(6, NULL);
}

static void flipped_version_7(void **state)
{
	flip_bits(7, NULL);
}

static void flipped_zstd(void **state)
{
	flip_bits(7, "zstd");
}

static void flipped_zlib(void **state)
{
	flip_bits(7, "zlib");
}

/* The offset of the first page of records. It is aligned, and begins with the first time. */
static size_t first_page(const uint8_t *bytes, size_t size)
{
	uint64_t time = made_time(0, 0, 0);
	size_t at;

	for (at = 0; at + 8 <= size; at += WRITER_PAGE)
		if (!memcmp(bytes + at, &time, 8))
			return at;
	fail();
	return 0;
}

static void damaged_page_is_located(void **state)
{
	struct source_error err;
	uint64_t commit = 5000;
	unsigned int total;
	size_t size, page;
	uint8_t *bytes = make(6, NULL, 300, &size);
	int ret;

	page = first_page(bytes, size) + WRITER_PAGE;
	memcpy(bytes + page + 8, &commit, 8);
	total = read_bytes(bytes, size, false, &ret, &err);
	assert_int_equal(ret, -EPROTO);
	assert_true(err.located);
	assert_int_equal(err.offset, page);
	assert_true(total > 0 && total < 900);
	/* The records of the other CPUs are read to the end. */
	total = read_bytes(bytes, size, true, &ret, &err);
	assert_true(ret >= 0);
	assert_int_equal(err.offset, page);
	assert_true(total > 600 && total < 900);
	free(bytes);
}

static void damaged_record_is_located(void **state)
{
	struct source_error err;
	uint32_t head = 0, length = 0x10000;
	size_t size, page;
	uint8_t *bytes = make(6, NULL, 300, &size);
	int ret;

	page = first_page(bytes, size);
	memcpy(bytes + page + 16, &head, 4);
	memcpy(bytes + page + 20, &length, 4);
	read_bytes(bytes, size, false, &ret, &err);
	assert_int_equal(ret, -EPROTO);
	assert_int_equal(err.offset, page + 16);
	free(bytes);
}

static void refused(const void *bytes, size_t size, int error, const char *text)
{
	struct source_error err;
	int ret;

	read_bytes(bytes, size, false, &ret, &err);
	assert_int_equal(ret, error);
	if (!strstr(err.text, text))
		fail_msg("\"%s\" does not say \"%s\"", err.text, text);
}

static void foreign_files(void **state)
{
	size_t size;
	uint8_t *bytes = make(6, NULL, 10, &size);
	char *at;

	refused("", 0, -EINVAL, "empty");
	refused("#!/bin/sh\n", 10, -EINVAL, "not a trace.dat");
	refused("PERFILE2", 8, -EINVAL, "perf record has written it");
	refused("# tracer: nop\n", 14, -EINVAL, "the text of the file trace");
	refused("# trace", 7, -EINVAL, "not a trace.dat");
	bytes[10] = '5';
	refused(bytes, size, -EINVAL, "version 5");
	bytes[10] = '6';
	bytes[12] = 1;
	/* Its numbers are then those of the other byte order. */
	refused(bytes, size, -EPROTO, "cut off in header_page");
	bytes[12] = 9;
	refused(bytes, size, -EPROTO, "byte order 9");
	bytes[12] = 0;
	bytes[13] = 3;
	refused(bytes, size, -EPROTO, "size of long 3");
	bytes[13] = 8;
	bytes[15] = 1;
	refused(bytes, size, -EPROTO, "page size");
	bytes[15] = 0x10;
	/* The commit word of a 32-bit kernel has four bytes. */
	at = memmem(bytes, size, "commit;\toffset:8;\tsize:8", 24);
	assert_non_null(at);
	at[23] = '4';
	at = memmem(bytes, size, "data;\toffset:16;", 16);
	assert_non_null(at);
	memcpy(at + 6, "offset:12;", 10);
	/* Its first record is then the other half of that word. */
	refused(bytes, size, -EPROTO, "a record");
	free(bytes);
}

static void unknown_compression(void **state)
{
	size_t size;
	uint8_t *bytes = make(7, "zstd", 10, &size);
	uint8_t *at = memmem(bytes, 64, "zstd", 4);

	assert_non_null(at);
	memcpy(at, "lz77", 4);
	refused(bytes, size, -ENOTSUP, "lz77");
	free(bytes);
}

static void not_a_file(void **state)
{
	struct source_error err;
	int ret;

	read_all("/", false, &ret, &err);
	assert_int_equal(ret, -EINVAL);
	read_all("/nonexistent/trace.dat", false, &ret, &err);
	assert_int_equal(ret, -ENOENT);
	assert_string_equal(err.file, "/nonexistent/trace.dat");
}

static void latency_text(void **state)
{
	size_t size;
	uint8_t *bytes = make(6, NULL, 10, &size);
	uint8_t *at = memmem(bytes, size, "flyrecord", 10);

	assert_non_null(at);
	memcpy(at, "latency  ", 10);
	refused(bytes, size, -EINVAL, "latency tracer");
	free(bytes);
}

/* If a CPU were in a buffer twice, its records would come twice. */
static void a_cpu_is_in_a_buffer_once(void **state)
{
	static const char before[] = "local\0\0\x10\0\0\4\0\0";
	const uint32_t zero = 0;
	size_t size;
	uint8_t *bytes = make(7, NULL, 10, &size);
	uint8_t *at = memmem(bytes, size, before, sizeof(before));

	assert_non_null(at);
	/* the CPU, then its offset and size */
	memcpy(at + sizeof(before) + 20, &zero, sizeof(zero));
	refused(bytes, size, -EPROTO, "CPU 0 twice");
	free(bytes);
}

/* With `partial`, the table of a buffer ends with its option, whatever its length says. */
static void a_table_ends_with_its_option(void **state)
{
	static const char before[] = "local\0\0\x10\0\0\4\0\0";
	struct source_error err;
	struct source_memory memory = { .limit = 64 << 20 };
	struct trace_dat *d;
	size_t size;
	uint8_t *bytes = make(7, NULL, 10, &size);
	uint8_t *at = memmem(bytes, size, before, sizeof(before));
	char *path;

	assert_non_null(at);
	memset(at + sizeof(before) - 4, 0xff, 4);
	path = made_bytes(bytes, size);
	assert_int_equal(trace_dat_open(path, true, &memory, &d, &err), 0);
	assert_true(d->damaged);
	trace_dat_close(d);
	made_remove(path);
	free(bytes);
}

/* With `partial`, a wrong number of CPUs must not be used. */
static void a_damaged_number_of_cpus_is_none(void **state)
{
	struct source_error err;
	struct source_memory memory = { .limit = 64 << 20 };
	struct trace_dat *d;
	size_t size;
	uint8_t *bytes = make(6, NULL, 10, &size), *at;
	char *path;

	at = memmem(bytes, size, "options  ", 10);
	if (!at)
		at = memmem(bytes, size, "flyrecord", 10);
	assert_non_null(at);
	memset(at - 4, 0xff, 4);
	refused(bytes, size, -EPROTO, "4294967295 CPUs");
	path = made_bytes(bytes, size);
	assert_int_equal(trace_dat_open(path, true, &memory, &d, &err), 0);
	assert_true(d->damaged);
	assert_int_equal(d->nr_cpus, 0);
	trace_dat_close(d);
	made_remove(path);
	free(bytes);
}

/* The unpacked size of a recording decides the size of rings. */
static void a_damaged_chunk_counts_as_nothing(void **state)
{
	const uint32_t huge = 0xfffff000;
	struct source_error err;
	struct source_params params = { .nr_files = 1, .partial = true };
	const char *file;
	struct window w;
	size_t size;
	uint8_t *bytes = make(7, "zstd", 300, &size);
	char *path = made_bytes(bytes, size);

	file = path;
	params.files = &file;
	assert_int_equal(window_open(&w, &params, &err), 0);
	/* the number of chunks, the packed size, the size */
	memcpy(bytes + w.streams[0].start + 8, &huge, sizeof(huge));
	window_close(&w);
	made_remove(path);
	file = path = made_bytes(bytes, size);
	assert_int_equal(window_open(&w, &params, &err), 0);
	assert_int_equal(stream_unpacked(&w.streams[0]), 0);
	assert_true(stream_unpacked(&w.streams[1]) > 0);
	window_close(&w);
	made_remove(path);
	free(bytes);
}

/*
 * A stream gives its memory back before it takes a larger chunk, and never exceeds the limit.
 */
static void chunks_take_what_there_is(void **state)
{
	struct source_params params = { .nr_files = 1, .partial = true, .memory = 64 << 20 };
	struct source_error err;
	struct window w;
	unsigned int n = 0;
	size_t size;
	uint8_t *bytes = make(7, "zstd", 300, &size);
	char *path = made_bytes(bytes, size);
	uint64_t before;

	params.files = (const char *const *)&path;
	assert_int_equal(window_open(&w, &params, &err), 0);
	assert_int_equal(w.memory.limit, 16 << 20);
	before = w.memory.used;
	/* There is room for the first chunks of two of the three CPUs. */
	w.memory.limit = before + 2 * 2 * WRITER_PAGE;
	assert_int_equal(window_rewind(&w), 0);
	assert_int_equal(w.nr_live, 2);
	assert_true(w.damaged);
	assert_non_null(strstr(w.damage.text, "see --memory"));
	assert_int_equal(w.memory.used, w.memory.limit);
	while (window_first(&w)) {
		n++;
		if (window_pull(&w) > 0)
			window_settle(&w);
		else
			window_drop(&w);
		assert_true(w.memory.used <= w.memory.limit);
	}
	assert_true(n > 0 && n < 900);
	window_close(&w);
	made_remove(path);
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cut_version_6),
		cmocka_unit_test(chunks_take_what_there_is),
		cmocka_unit_test(cut_version_7),
		cmocka_unit_test(cut_zstd),
		cmocka_unit_test(cut_while_it_is_read),
		cmocka_unit_test(cut_zlib),
		cmocka_unit_test(flipped_version_6),
		cmocka_unit_test(flipped_version_7),
		cmocka_unit_test(flipped_zstd),
		cmocka_unit_test(flipped_zlib),
		cmocka_unit_test(damaged_page_is_located),
		cmocka_unit_test(damaged_record_is_located),
		cmocka_unit_test(foreign_files),
		cmocka_unit_test(unknown_compression),
		cmocka_unit_test(not_a_file),
		cmocka_unit_test(latency_text),
		cmocka_unit_test(a_cpu_is_in_a_buffer_once),
		cmocka_unit_test(a_table_ends_with_its_option),
		cmocka_unit_test(a_damaged_number_of_cpus_is_none),
		cmocka_unit_test(a_damaged_chunk_counts_as_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
