/* SPDX-License-Identifier: MIT */
/*
 * cgroup.c - the least limit of a control group and its ancestors, in both versions
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <cmocka.h>
#include "session/cgroup.h"

static char dir[] = "/tmp/tracefuse-cgroup-XXXXXX", file[64], top[64];

/* Writes the file NAME, and makes its directories. */
static void put(const char *name, const char *text)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", top, name);
	for (char *slash = path + strlen(top) + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
		*slash = 0;
		mkdir(path, 0700);
	}
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static uint64_t limit_of(const char *line)
{
	FILE *f = fopen(file, "w");

	assert_non_null(f);
	fputs(line, f);
	fclose(f);
	return cgroup_memory_of(file, top);
}

static void without_groups_there_is_no_limit(void **state)
{
	assert_true(limit_of("") == UINT64_MAX);
	assert_true(limit_of("0::/\n") == UINT64_MAX);
	assert_true(limit_of("nonsense\n1:\n:\n") == UINT64_MAX);
	assert_true(cgroup_memory_of("/nowhere", top) == UINT64_MAX);
}

static void the_least_of_all_above_counts(void **state)
{
	put("a/b/memory.max", "max\n");
	put("a/memory.max", "300000000\n");
	assert_int_equal(limit_of("0::/a/b\n"), 300000000);
	put("a/b/memory.max", "200000000\n");
	assert_int_equal(limit_of("3:cpu:/x\n0::/a/b\n"), 200000000);
	put("memory.max", "1000\n");
	assert_int_equal(limit_of("0::/a/b\n"), 1000);
	/* In a container, the path may be one of the host. */
	assert_int_equal(limit_of("0::/of/the/host\n"), 1000);
}

static void the_first_version_is_read(void **state)
{
	put("memory/c/memory.limit_in_bytes", "500\n");
	put("memory/memory.limit_in_bytes", "9223372036854771712\n");
	assert_int_equal(limit_of("5:memory:/c\n"), 500);
	assert_int_equal(limit_of("5:cpu:/\n4:memory:/c\n"), 500);
}

static int set_up(void **state)
{
	if (!mkdtemp(dir))
		return -1;
	snprintf(file, sizeof(file), "%s/cgroup", dir);
	snprintf(top, sizeof(top), "%s/fs", dir);
	return mkdir(top, 0700);
}

static int tear_down(void **state)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -r %s", dir);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_groups_there_is_no_limit),
		cmocka_unit_test(the_least_of_all_above_counts),
		cmocka_unit_test(the_first_version_is_read),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
