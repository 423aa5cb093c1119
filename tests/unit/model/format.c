/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <traceevent/event-parse.h>

#include "fixture.h"
#include "model/event/format.h"

static void header_is_read(void **state)
{
	struct format_header h;

	assert_int_equal(format_header("name: x_y\nID: 7\nformat:\n", &h), 0);
	assert_int_equal(h.id, 7);
	assert_int_equal(h.name_len, 3);
}

static void what_is_no_format_is_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"name: ",
		"name: \nID: 7\nformat:\n",
		"name: x\nID: \nformat:\n",
		"name: x\nID: 0\nformat:\n",
		"name: x\nID: 65536\nformat:\n",
		"name: x\nID: 7\n",
		"name: a/b\nID: 7\nformat:\n",
		"name: a b\nID: 7\nformat:\n",
		"name: a\x1b[2Jb\nID: 7\nformat:\n",
		"id: x",
	};
	struct fixture *f = *state;
	struct format_header h;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(format_header(bad[i], &h), -EINVAL);
		assert_int_equal(model_add_event(f->model, "s", bad[i], strlen(bad[i]), NULL),
				 -EINVAL);
	}
}

static void damaged_fields_give_none(void **state)
{
	static const char text[] =
		"name: odd\nID: 200\nformat:\n\tfield:int;\toffset:0;\tsize:4;\tsigned:1;\n\n\n";
	struct fixture *f = *state;
	struct event *e;
	unsigned int nr;

	assert_int_equal(model_add_event(f->model, "test", text, strlen(text), &e), 0);
	assert_null(event_fields(e, &nr));
	assert_int_equal(nr, 0);
	assert_null(event_find_field(e, "common_pid"));
}

static void types_are_put_together(void **state)
{
	static const struct {
		const char *name, *type;
		unsigned int offset, size, len;
		bool is_signed;
		enum field_kind kind;
	} cases[] = {
		{ "common_pid", "int", 4, 4, 0, true, FIELD_OTHER },
		{ "s8", "s8", 8, 1, 0, true, FIELD_OTHER },
		{ "u32", "unsigned int", 20, 4, 0, false, FIELD_OTHER },
		{ "fixed", "char[16]", 40, 16, 16, false, FIELD_STATIC_STRING },
		{ "dyn", "__data_loc char[]", 56, 4, 0, false, FIELD_DYN_STRING },
		{ "rel", "__rel_loc char[]", 60, 4, 0, false, FIELD_RDYN_STRING },
		{ "mask", "__data_loc cpumask_t", 64, 4, 0, false, FIELD_CPUMASK },
		{ "pointer", "const char *", 72, 8, 0, false, FIELD_PTR_STRING },
		{ "array", "unsigned long[2]", 88, 16, 2, false, FIELD_OTHER },
		{ "cpu", "int", 0, 0, 0, true, FIELD_CPU },
		{ "common_cpu", "int", 0, 0, 0, true, FIELD_CPU },
		{ "COMM", "char *", 0, 0, 0, false, FIELD_COMM },
		{ "stacktrace", "char *", 0, 0, 0, false, FIELD_STACKTRACE },
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct field *field = event_find_field(f->all, cases[i].name);

		assert_non_null(field);
		assert_string_equal(field->type, cases[i].type);
		assert_int_equal(field->offset, cases[i].offset);
		assert_int_equal(field->size, cases[i].size);
		assert_int_equal(field->len, cases[i].len);
		assert_int_equal(field->is_signed, cases[i].is_signed);
		assert_int_equal(field->kind, cases[i].kind);
	}
	assert_null(event_find_field(f->all, "nonesuch"));
}

static void fields_come_in_the_order_of_the_file(void **state)
{
	struct fixture *f = *state;
	unsigned int nr;
	const struct field *fields = event_fields(f->all, &nr);

	assert_int_equal(nr, 4 + 15);
	assert_string_equal(fields[0].name, "common_type");
	assert_true(fields[3].common);
	assert_false(fields[4].common);
	assert_string_equal(fields[nr - 1].name, "array");
}

static void an_own_field_hides_a_generic_one(void **state)
{
	static const char text[] = "name: own\nID: 201\nformat:\n\n"
		"\tfield:u16 cpu;\toffset:8;\tsize:2;\tsigned:0;\n\nprint fmt: \"\"\n";
	struct fixture *f = *state;
	struct event *e;

	assert_int_equal(model_add_event(f->model, "test", text, strlen(text), &e), 0);
	assert_int_equal(event_find_field(e, "cpu")->kind, FIELD_OTHER);
	assert_int_equal(event_find_field(e, "CPU")->kind, FIELD_CPU);
}

static void the_same_event_again_is_no_error(void **state)
{
	struct fixture *f = *state;
	struct event *e;
	char *changed = strdup(f->all->format);

	assert_int_equal(model_add_event(f->model, "test", changed, strlen(changed), &e), 0);
	assert_ptr_equal(e, f->all);
	strstr(changed, "s32=")[0] = 'z';
	assert_int_equal(model_add_event(f->model, "test", changed, strlen(changed), &e), -EEXIST);
	free(changed);
}

static void events_are_found_and_removed(void **state)
{
	struct fixture *f = *state;

	assert_ptr_equal(model_find_event(f->model, "more", "third"), f->third);
	assert_ptr_equal(model_event_by_id(f->model, 102), f->third);
	assert_null(model_event_by_id(f->model, 1u << 20));
	assert_int_equal(event_file_enable(event_file_get(f->top, f->third), true), 0);
	assert_int_equal(model_remove_event(f->model, f->third), -EBUSY);
	assert_int_equal(event_file_enable(event_file_get(f->top, f->third), false), 0);
	assert_int_equal(model_remove_event(f->model, f->third), 0);
	assert_null(model_find_system(f->model, "more"));
	assert_null(model_event_by_id(f->model, 102));
}

static void task_names_of_a_kernel_keep_their_type(void **state)
{
	static const char text[] = "name: own\nID: 201\nformat:\n\n"
		"\tfield:char next_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
		"\tfield:char other[16];\toffset:24;\tsize:16;\tsigned:0;\n\nprint fmt: \"\"\n";
	struct fixture *f = *state;
	struct event *e;

	f->model->imported = true;
	assert_int_equal(model_add_event(f->model, "test", text, strlen(text), &e), 0);
	assert_string_equal(event_find_field(e, "next_comm")->type, "char[TASK_COMM_LEN]");
	assert_int_equal(event_find_field(e, "next_comm")->kind, FIELD_STATIC_STRING);
	assert_int_equal(event_find_field(e, "next_comm")->len, 16);
	assert_string_equal(event_find_field(e, "other")->type, "char[16]");
}

static void libtraceevent_sees_the_event(void **state)
{
	struct fixture *f = *state;
	struct tep_handle *tep = tep_alloc();

	assert_non_null(tep);
	tep_set_long_size(tep, 8);
	assert_int_equal(
		tep_parse_event(tep, f->all->format, strlen(f->all->format), f->all->system->name),
		0);
	assert_non_null(tep_find_event(tep, f->all->id));
	tep_free(tep);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(header_is_read),
		TEST(what_is_no_format_is_refused),
		TEST(damaged_fields_give_none),
		TEST(types_are_put_together),
		TEST(fields_come_in_the_order_of_the_file),
		TEST(an_own_field_hides_a_generic_one),
		TEST(the_same_event_again_is_no_error),
		TEST(events_are_found_and_removed),
		TEST(task_names_of_a_kernel_keep_their_type),
		TEST(libtraceevent_sees_the_event),
	};

	return cmocka_run_group_tests_name("format", tests, NULL, NULL);
}
