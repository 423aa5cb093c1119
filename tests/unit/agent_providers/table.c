/* SPDX-License-Identifier: MIT */
/*
 * Unit test of agent/providers/table.c: the formats are those that the model reads, and are right
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "agent/providers/records.h"
#include "agent/providers/table.h"
#include "agent/providers/table_version.h"
#include "model/event/format.h"

static char *whole_format(unsigned int nr, bool texts)
{
	static char text[16384];
	struct provider_event e;
	int n;

	provider_event(nr, texts, &e);
	n = snprintf(text, sizeof(text), "name: %s\nID: %u\nformat:\n", e.name, 1000 + nr);
	assert_true(provider_body(nr, texts, text + n, sizeof(text) - n) < sizeof(text) - n);
	return text;
}

static void test_body_is_as_the_kernel_prints_it(void **state)
{
	char body[4096];
	unsigned int n = provider_body(provider_kernel() + KERNEL_SCHED_WAKING, false, body,
				       sizeof(body));

	assert_string_equal(
		body, "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
		      "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
		      "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
		      "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
		      "\n"
		      "\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
		      "\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n"
		      "\tfield:int prio;\toffset:28;\tsize:4;\tsigned:1;\n"
		      "\tfield:int target_cpu;\toffset:32;\tsize:4;\tsigned:1;\n"
		      "\n"
		      "print fmt: \"comm=%s pid=%d prio=%d target_cpu=%03d\", REC->comm, REC->pid, "
		      "REC->prio, REC->target_cpu\n");
	assert_int_equal(n, strlen(body));
}

static void test_body_says_how_much_room_it_needs(void **state)
{
	char body[4096], small[64];
	unsigned int n = provider_body(PROVIDER_MALLOC, false, body, sizeof(body));

	memset(small, 'x', sizeof(small));
	assert_int_equal(provider_body(PROVIDER_MALLOC, false, small, 32), n);
	assert_int_equal(strlen(small), 31);
	assert_memory_equal(small, body, 31);
	assert_int_equal(small[32], 'x');
	assert_int_equal(provider_body(PROVIDER_MALLOC, false, NULL, 0), n);
}

static void format_is_read(unsigned int nr, bool texts)
{
	const char *text = whole_format(nr, texts);
	struct format_header h;
	struct provider_event e;
	struct field *fields;
	unsigned int n, wanted = 4;

	provider_event(nr, texts, &e);
	assert_int_equal(format_header(text, &h), 0);
	assert_int_equal(h.id, 1000 + nr);
	assert_int_equal(format_fields(e.system, text, false, &fields, &n), 0);
	for (unsigned int i = 0; i < PROVIDER_FIELDS && e.fields[i].decl; i++)
		wanted++;
	assert_int_equal(n, wanted);
	fields_free(fields, n);
}

static void test_every_format_is_read_by_the_model(void **state)
{
	for (unsigned int nr = 0; nr < provider_count(); nr++) {
		format_is_read(nr, false);
		format_is_read(nr, true);
	}
}

static void fields_stand_apart(unsigned int nr, bool texts)
{
	struct provider_event e;
	unsigned int end = sizeof(struct record_common);

	provider_event(nr, texts, &e);
	for (unsigned int i = 0; i < PROVIDER_FIELDS && e.fields[i].decl; i++) {
		assert_true(e.fields[i].offset >= end);
		assert_true(e.fields[i].size > 0);
		end = e.fields[i].offset + e.fields[i].size;
	}
}

static void test_fields_do_not_overlap(void **state)
{
	for (unsigned int nr = 0; nr < provider_count(); nr++) {
		fields_stand_apart(nr, false);
		fields_stand_apart(nr, true);
	}
}

/* The fields without texts stay where they are: filters and triggers may be in use. */
static void test_texts_come_behind(void **state)
{
	unsigned int with_texts = 0;

	for (unsigned int nr = 0; nr < provider_count(); nr++) {
		struct provider_event e;
		struct provider_field before[PROVIDER_FIELDS];
		unsigned int i;

		provider_event(nr, false, &e);
		memcpy(before, e.fields, sizeof(before));
		provider_event(nr, true, &e);
		for (i = 0; i < PROVIDER_FIELDS && before[i].decl; i++) {
			assert_int_equal(e.fields[i].offset, before[i].offset);
			assert_int_equal(e.fields[i].size, before[i].size);
		}
		if (i < PROVIDER_FIELDS && e.fields[i].decl)
			with_texts++;
		for (; i < PROVIDER_FIELDS && e.fields[i].decl; i++)
			assert_memory_equal(e.fields[i].decl, "__data_loc char[] __", 20);
	}
	assert_true(with_texts > 80);
}

static bool named(const char *system)
{
	for (unsigned int i = 0; provider_names[i]; i++)
		if (!strcmp(provider_names[i], system))
			return true;
	return false;
}

/* The kernel's names come last, so that leaving them out changes no id. No name occurs twice. */
static void test_order_and_names(void **state)
{
	for (unsigned int nr = 0; nr < provider_count(); nr++) {
		struct provider_event e, other;
		char name[128];

		provider_event(nr, false, &e);
		assert_true(named(e.system));
		assert_int_equal(!strcmp(e.system, "kmem") || !strcmp(e.system, "sched"),
				 nr >= provider_kernel());
		snprintf(name, sizeof(name), "%s:%s", e.system, e.name);
		for (unsigned int i = 0; i < nr; i++) {
			char n[128];

			provider_event(i, false, &other);
			snprintf(n, sizeof(n), "%s:%s", other.system, other.name);
			assert_string_not_equal(n, name);
		}
	}
}

static void test_version_is_not_zero(void **state)
{
	assert_true(provider_table_version() != 0);
	assert_true(provider_table_version() == provider_table_version());
	assert_true(provider_table_version() == PROVIDER_TABLE_VERSION);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_body_is_as_the_kernel_prints_it),
		cmocka_unit_test(test_body_says_how_much_room_it_needs),
		cmocka_unit_test(test_every_format_is_read_by_the_model),
		cmocka_unit_test(test_fields_do_not_overlap),
		cmocka_unit_test(test_texts_come_behind),
		cmocka_unit_test(test_order_and_names),
		cmocka_unit_test(test_version_is_not_zero),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
