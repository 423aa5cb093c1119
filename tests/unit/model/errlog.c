/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "model/errlog.h"

static char *print_since(struct errlog *log, unsigned long since, unsigned long *last)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	*last = errlog_print_since(log, since, out);
	fclose(out);
	return text;
}

static char *print(struct errlog *log)
{
	unsigned long last;

	return print_since(log, 0, &last);
}

static void an_entry_has_command_and_caret(void **state)
{
	struct errlog *log = errlog_create();
	unsigned int sec, usec;
	char *text;

	errlog_add(log, "loc", "some command", "Some error", 5);
	text = print(log);
	assert_int_equal(sscanf(text, "[%5u.%06u] ", &sec, &usec), 2);
	assert_string_equal(
		strchr(text, ']'),
		"] loc: error: Some error\n  Command: some command\n                ^\n");
	free(text);
	errlog_destroy(log);
}

static void the_last_eight_stay(void **state)
{
	struct errlog *log = errlog_create();
	char cmd[16], *text;

	for (int i = 0; i < 10; i++) {
		snprintf(cmd, sizeof(cmd), "command %d", i);
		errlog_add(log, "loc", cmd, "Error", 0);
	}
	text = print(log);
	assert_null(strstr(text, "command 1\n"));
	assert_non_null(strstr(text, "command 2\n"));
	assert_non_null(strstr(text, "command 9\n"));
	assert_true(strstr(text, "command 2\n") < strstr(text, "command 9\n"));
	free(text);
	errlog_clear(log);
	text = print(log);
	assert_string_equal(text, "");
	free(text);
	errlog_destroy(log);
}

static void a_long_location_is_cut(void **state)
{
	struct errlog *log = errlog_create();
	char loc[200];
	char *text;

	memset(loc, 'l', sizeof(loc));
	loc[199] = '\0';
	errlog_add(log, loc, "c", "Error", 0);
	text = print(log);
	assert_int_equal(strspn(text + strcspn(text, "l"), "l"), 127);
	assert_non_null(strstr(text, "lllError\n"));
	free(text);
	errlog_destroy(log);
}

static void what_came_since(void **state)
{
	struct errlog *log = errlog_create();
	unsigned long last;
	char *text;

	errlog_add(log, "a", "one", "E", 0);
	free(print_since(log, 0, &last));
	errlog_add(log, "a", "two", "E", 0);
	text = print_since(log, last, &last);
	assert_null(strstr(text, "one"));
	assert_non_null(strstr(text, "two"));
	free(text);
	errlog_destroy(log);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_entry_has_command_and_caret),
		cmocka_unit_test(the_last_eight_stay),
		cmocka_unit_test(a_long_location_is_cut),
		cmocka_unit_test(what_came_since),
	};

	return cmocka_run_group_tests_name("errlog", tests, NULL, NULL);
}
