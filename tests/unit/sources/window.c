/* SPDX-License-Identifier: MIT */
/*
 * window.c - all versions and compressions of a recording give the same records, in order
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "make.h"
#include "sources/recording/file/window.h"

struct seen {
	unsigned int	total;
	unsigned int	next[3][MADE_CPUS];
	uint64_t	time;
	uint32_t	cpu;
};

static void see(struct seen *seen, const struct stream *s)
{
	const struct subbuf_record *r = &s->record;
	struct writer_waking w;
	unsigned int b, n;

	assert_int_equal(r->type, WRITER_WAKING_ID);
	assert_int_equal(r->size, sizeof(w));
	memcpy(&w, r->data, sizeof(w));
	assert_int_equal(w.target_cpu, s->cpu);
	b = w.pid / 100000;
	n = seen->next[b][s->cpu]++;
	assert_int_equal(w.pid, MADE_PID(b, s->cpu, n));
	assert_int_equal(r->time, made_time(b, s->cpu, n));
	/* Records come in the order of their times, those with equal times in the order of CPUs. */
	assert_true(r->time > seen->time || (r->time == seen->time && s->cpu >= seen->cpu));
	seen->time = r->time;
	seen->cpu = s->cpu;
	seen->total++;
}

static void read_all(struct window *w, struct seen *seen)
{
	struct stream *s;
	int ret;

	memset(seen, 0, sizeof(*seen));
	assert_int_equal(window_rewind(w), 0);
	while ((s = window_first(w))) {
		see(seen, s);
		ret = window_pull(w);
		assert_true(ret >= 0);
		if (ret)
			window_settle(w);
		else
			window_drop(w);
	}
}

static void check(unsigned int version, const char *algorithm, unsigned int nr_buffers)
{
	struct made made = { .version = version, .algorithm = algorithm, .nr_buffers = nr_buffers,
			     .nr_records = 700 };
	char *path = made_file(&made);
	const char *file = path;
	struct source_params params = { .files = &file, .nr_files = 1 };
	struct source_error err;
	struct window w;
	struct seen seen;

	assert_int_equal(window_open(&w, &params, &err), 0);
	assert_int_equal(w.files[0]->version, version);
	assert_int_equal(w.files[0]->nr_cpus, MADE_CPUS);
	read_all(&w, &seen);
	assert_int_equal(seen.total, 700 * 3 * nr_buffers);
	/* The second reading begins at the start, too. */
	read_all(&w, &seen);
	assert_int_equal(seen.total, 700 * 3 * nr_buffers);
	window_close(&w);
	made_remove(path);
}

static void version_6(void **state)
{
	check(6, NULL, 1);
}

static void version_7(void **state)
{
	check(7, NULL, 1);
}

static void version_7_zstd(void **state)
{
	check(7, "zstd", 1);
}

static void version_7_zlib(void **state)
{
	check(7, "zlib", 1);
}

static void instances_version_6(void **state)
{
	check(6, NULL, 3);
}

static void instances_version_7(void **state)
{
	check(7, NULL, 3);
}

static void instances_zstd(void **state)
{
	check(7, "zstd", 3);
}

static void one_buffer_of_three(void **state)
{
	struct made made = { .version = 7, .nr_buffers = 3, .nr_records = 100 };
	char *path = made_file(&made);
	const char *file = path, *buffer = "bar";
	struct source_params params = {
		.files = &file, .nr_files = 1, .buffers = &buffer, .nr_buffers = 1 };
	struct source_error err;
	struct window w;
	struct seen seen;

	assert_int_equal(window_open(&w, &params, &err), 0);
	read_all(&w, &seen);
	assert_int_equal(seen.total, 300);
	assert_int_equal(seen.next[2][0], 100);
	window_close(&w);
	buffer = "nonesuch";
	assert_int_equal(window_open(&w, &params, &err), -ENOENT);
	assert_non_null(strstr(err.text, "nonesuch"));
	made_remove(path);
}

/* Makes records of up to four CPUs. Many of them have the same time. */
static char *random_file(unsigned int seed)
{
	struct writer_waking bytes = { .type = WRITER_WAKING_ID, .pid = 1 };
	struct made_record records[200];
	unsigned int i, nr = 1 + seed % 200;
	uint64_t time = 1000;

	srand(seed);
	for (i = 0; i < nr; i++) {
		time += (unsigned int)rand() % 3;
		records[i] = (struct made_record){
			.cpu = (uint32_t)rand() % (1 + seed % 4), .time = time,
			.bytes = &bytes, .size = sizeof(bytes),
		};
	}
	return made_records(records, nr, seed % 2 ? "zstd" : NULL);
}

/* The order is by time, then by CPU, then by file. No record is left out. */
static void check_order(const char *const *paths, unsigned int nr, unsigned int records)
{
	struct source_params params = { .files = paths, .nr_files = nr };
	struct source_error err;
	struct stream *s;
	struct window w;
	uint64_t time = 0;
	uint32_t leaf = 0;

	assert_int_equal(window_open(&w, &params, &err), 0);
	assert_int_equal(window_rewind(&w), 0);
	for (; (s = window_first(&w)); records--) {
		assert_true(s->record.time > time || (s->record.time == time && s->leaf >= leaf));
		time = s->record.time;
		leaf = s->leaf;
		if (window_pull(&w) > 0)
			window_settle(&w);
		else
			window_drop(&w);
	}
	assert_int_equal(records, 0);
	window_close(&w);
}

static void any_number_of_streams_is_merged(void **state)
{
	char *paths[5];
	unsigned int seed, i, records;

	for (seed = 1; seed <= 60; seed++) {
		records = 0;
		for (i = 0; i < 1 + seed % 5; i++) {
			paths[i] = random_file(7 * seed + i);
			records += 1 + (7 * seed + i) % 200;
		}
		check_order((const char *const *)paths, i, records);
		while (i)
			made_remove(paths[--i]);
	}
}

static void two_files_are_merged(void **state)
{
	struct made first = { .version = 6, .nr_buffers = 1, .nr_records = 120 };
	struct made second = {
		.version = 7, .algorithm = "zstd", .nr_buffers = 1, .nr_records = 90
	};
	char *paths[2] = { made_file(&first), made_file(&second) };
	struct source_params params = { .files = (const char **)paths, .nr_files = 2 };
	struct source_error err;
	struct window w;
	struct stream *s;
	uint64_t time = 0;
	uint32_t leaf = 0, cpu = 0;
	unsigned int total = 0;

	assert_int_equal(window_open(&w, &params, &err), 0);
	assert_int_equal(window_rewind(&w), 0);
	while ((s = window_first(&w))) {
		assert_true(s->record.time >= time);
		if (s->record.time == time && s->cpu == cpu)
			assert_true(s->leaf > leaf);
		time = s->record.time;
		leaf = s->leaf;
		cpu = s->cpu;
		total++;
		if (window_pull(&w) > 0)
			window_settle(&w);
		else
			window_drop(&w);
	}
	assert_int_equal(total, 3 * (120 + 90));
	window_close(&w);
	made_remove(paths[0]);
	made_remove(paths[1]);
}

/* The last record can be read while the next one is read, even from another chunk. */
static void the_record_before_stays(void **state)
{
	struct made made = {
		.version = 7, .algorithm = "zstd", .nr_buffers = 1, .nr_records = 700
	};
	char *path = made_file(&made);
	const char *file = path;
	struct source_params params = { .files = &file, .nr_files = 1 };
	struct subbuf_record before;
	struct source_error err;
	struct writer_waking r;
	struct window w;
	struct stream *s;
	unsigned int n;

	assert_int_equal(window_open(&w, &params, &err), 0);
	s = &w.streams[0];
	assert_int_equal(stream_next(s, &err), 1);
	for (n = 0; n < 699; n++) {
		before = s->record;
		assert_int_equal(stream_next(s, &err), 1);
		memcpy(&r, before.data, sizeof(r));
		assert_int_equal(r.pid, MADE_PID(0, 0, n));
	}
	window_close(&w);
	made_remove(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(version_6),
		cmocka_unit_test(version_7),
		cmocka_unit_test(version_7_zstd),
		cmocka_unit_test(version_7_zlib),
		cmocka_unit_test(instances_version_6),
		cmocka_unit_test(instances_version_7),
		cmocka_unit_test(instances_zstd),
		cmocka_unit_test(one_buffer_of_three),
		cmocka_unit_test(two_files_are_merged),
		cmocka_unit_test(any_number_of_streams_is_merged),
		cmocka_unit_test(the_record_before_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
