/* SPDX-License-Identifier: MIT */
/* ftrace_glob.c - which names a pattern of functions matches */
#include <stdio.h>
#include <string.h>

#include "fixture.h"
#include "model/ftrace/glob.h"

static const struct {
	const char	*pattern;
	enum ftrace_glob_type type;
	const char	*yes, *no;	/* names, separated by blanks */
} cases[] = {
	{ "vfs_read", FTRACE_GLOB_FULL, "vfs_read", "vfs_readv vfs_rea xvfs_read" },
	{ "vfs_*", FTRACE_GLOB_FRONT, "vfs_ vfs_read", "vfs xvfs_" },
	{ "*_read", FTRACE_GLOB_END, "_read vfs_read", "vfs_readv read" },
	{ "*fs*", FTRACE_GLOB_MIDDLE, "fs vfs_read afs", "f_s" },
	{ "*", FTRACE_GLOB_END, "a vfs_read", "" },
	{ "**", FTRACE_GLOB_MIDDLE, "a vfs_read", "" },
	{ "***", FTRACE_GLOB_ANY, "a vfs_read", "" },
	{ "v*d", FTRACE_GLOB_ANY, "vd vfs_read vddd", "vfs_readv d v" },
	{ "*a*b", FTRACE_GLOB_ANY, "ab xaxbxb", "ba abx" },
	{ "vfs_rea?", FTRACE_GLOB_ANY, "vfs_read vfs_reax", "vfs_rea vfs_readv" },
	{ "vfs_[rw]*", FTRACE_GLOB_ANY, "vfs_read vfs_write vfs_r", "vfs_open vfs_" },
	{ "x[!a-c]y", FTRACE_GLOB_ANY, "xdy x!y", "xay xby xcy xy" },
	{ "x[a-]y", FTRACE_GLOB_ANY, "xay x-y", "xby" },
	{ "x[]]y", FTRACE_GLOB_ANY, "x]y", "xy x[y" },
	{ "x[a", FTRACE_GLOB_ANY, "x[a", "xa x" },
	{ "x[a-", FTRACE_GLOB_ANY, "x[a-", "xa" },
	{ "a\\*b", FTRACE_GLOB_ANY, "a*b", "axb ab" },
	{ "ab\\", FTRACE_GLOB_ANY, "ab", "ab\\ a" },
	{ "*?\\", FTRACE_GLOB_ANY, "a abc", "" },
	{ "12", FTRACE_GLOB_INDEX, "", "12 a" },
	{ "3*", FTRACE_GLOB_INDEX, "", "3 3a" },
};

static void match_words(const struct ftrace_glob *g, const char *names, bool expected,
			const char *pattern)
{
	char copy[256], *rest = copy, *name;

	snprintf(copy, sizeof(copy), "%s", names);
	while ((name = strsep(&rest, " ")))
		if (*name && ftrace_glob_match(g, name) != expected)
			fail_msg("%s %s %s", pattern, expected ? "does not match" : "matches",
				 name);
}

static void what_a_pattern_means(void **state)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ftrace_glob g;
		char text[64];

		snprintf(text, sizeof(text), "%s", cases[i].pattern);
		ftrace_glob_parse(&g, text);
		assert_false(g.not);
		assert_int_equal(g.type, cases[i].type);
		match_words(&g, cases[i].yes, true, cases[i].pattern);
		match_words(&g, cases[i].no, false, cases[i].pattern);
	}
}

static void a_mark_in_front_is_no_part_of_it(void **state)
{
	struct ftrace_glob g;
	char text[] = "!vfs_*", none[] = "", mark[] = "!";

	ftrace_glob_parse(&g, text);
	assert_true(g.not);
	assert_true(ftrace_glob_match(&g, "vfs_read"));
	ftrace_glob_parse(&g, none);
	assert_int_equal(g.len, 0);
	assert_false(ftrace_glob_match(&g, "vfs_read"));
	ftrace_glob_parse(&g, mark);
	assert_true(g.not);
	assert_int_equal(g.len, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_pattern_means),
		cmocka_unit_test(a_mark_in_front_is_no_part_of_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
