/* SPDX-License-Identifier: MIT */
/*
 * kernel.c - recordings of a real kernel have the number of records and the times that it printed
 *
 *     kernel SCENARIOS       (the golden scenarios: trace.dat, and trace.txt of the same buffer)
 */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "sources/recording/file/window.h"

static const char *scenarios;

/* The first number of "# entries-in-buffer/entries-written: 164/164   #P:2"; 0: no such line. */
static unsigned long entries_of(const char *path)
{
	FILE *in = fopen(path, "re");
	unsigned long n = 0;
	char line[4096];

	while (in && !n && fgets(line, sizeof(line), in))
		sscanf(line, "# entries-in-buffer/entries-written: %lu/", &n);
	if (in)
		fclose(in);
	return n;
}

/* The time of the first record that the text shows, in microseconds; 0: none. */
static uint64_t first_time(const char *path)
{
	FILE *in = fopen(path, "re");
	unsigned long long sec = 0, usec = 0;
	char line[4096], *at;
	bool found = false;

	while (in && !found && fgets(line, sizeof(line), in)) {
		at = line[0] == '#' ? NULL : strstr(line, "] ");
		found = at && sscanf(at + 2, "%*s %llu.%6llu:", &sec, &usec) == 2;
	}
	if (in)
		fclose(in);
	return found ? sec * 1000000 + usec : 0;
}

static unsigned long count(const char *path, uint64_t *first)
{
	struct source_params params = { .files = &path, .nr_files = 1 };
	struct source_error err = { .text = "" };
	unsigned long n = 0;
	struct window w;

	if (window_open(&w, &params, &err))
		fail_msg("%s: %s", path, err.text);
	assert_int_equal(window_rewind(&w), 0);
	*first = window_first(&w) ? window_first(&w)->record.time : 0;
	for (; window_first(&w); n++) {
		switch (window_pull(&w)) {
		case 1:
			window_settle(&w);
			break;
		case 0:
			window_drop(&w);
			break;
		default:
			fail_msg("%s: %s at %llu", path, w.damage.text,
				 (unsigned long long)w.damage.offset);
		}
	}
	window_close(&w);
	return n;
}

static void records_as_printed(void **state)
{
	DIR *dir = opendir(scenarios);
	struct dirent *e;
	char dat[4096], txt[4096];
	unsigned int checked = 0;
	unsigned long entries;
	uint64_t first, shown;

	assert_non_null(dir);
	while ((e = readdir(dir))) {
		snprintf(dat, sizeof(dat), "%s/%s/trace.dat", scenarios, e->d_name);
		snprintf(txt, sizeof(txt), "%s/%s/trace.txt", scenarios, e->d_name);
		entries = e->d_name[0] == '.' ? 0 : entries_of(txt);
		if (!entries)
			continue;
		assert_int_equal(count(dat, &first), entries);
		shown = first_time(txt);
		/* A clock that does not count nanoseconds has another format. */
		if (shown)
			assert_int_equal((first + 500) / 1000, shown);
		checked++;
	}
	closedir(dir);
	assert_true(checked >= 10);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_as_printed),
	};

	if (argc != 2)
		return 2;
	scenarios = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
