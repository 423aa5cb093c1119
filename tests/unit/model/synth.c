/* SPDX-License-Identifier: MIT */
/* synth.c - synthetic_events and dynamic_events: definitions, their events, removal */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "model/errlog.h"
#include "model/event/set.h"
#include "model/dynamic/synth.h"
#include "tracefs/tree.h"

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

static void a_definition_reads_back_in_both_files(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(synth_command(f->model, " lat  u64  d ; char comm[16]; char text[]"), 0);
	assert_int_equal(
		dynamic_command(f->model, "s:synthetic/stk unsigned long s[] unsigned int i"), 0);
	assert_int_equal(dynamic_command(f->model, "s:third gfp_t g;"), 0);
	assert_prints(synth_print(f->model, out), "lat\tu64 d; char[16] comm; char[] text\n"
		      "stk\tunsigned long[] s; unsigned int i\nthird\tgfp_t g\n");
	assert_prints(
		dynamic_print(f->model, out),
		"s:synthetic/lat\tu64 d; char[16] comm; char[] text\n"
		"s:synthetic/stk\tunsigned long[] s; unsigned int i\ns:synthetic/third\tgfp_t g\n");
}

static void fields_have_the_kernels_places(void **state)
{
	static const struct synth_field want[] = {
		{ (char *)"u8", (char *)"a", 1, 8, false, false, false, false },
		{ (char *)"char[4]", (char *)"b", 4, 16, true, true, false, false },
		{ (char *)"char[]", (char *)"c", 0, 272, true, true, true, false },
		{ (char *)"unsigned long[]", (char *)"d", 0, 280, true, false, true, true },
		{ (char *)"bool", (char *)"e", 1, 288, true, false, false, false },
	};
	struct fixture *f = *state;
	struct synth_event *s;

	assert_int_equal(
		synth_command(f->model, "x u8 a; char b[4]; char c[]; unsigned long d[]; bool e"),
		0);
	s = synth_find(f->model, "x");
	assert_non_null(s);
	assert_int_equal(s->nr_fields, 5);
	assert_int_equal(s->record_size, 296);
	for (unsigned int i = 0; i < 5; i++) {
		assert_string_equal(s->fields[i].type, want[i].type);
		assert_string_equal(s->fields[i].name, want[i].name);
		assert_int_equal(s->fields[i].size, want[i].size);
		assert_int_equal(s->fields[i].offset, want[i].offset);
		assert_int_equal(s->fields[i].is_signed, want[i].is_signed);
		assert_int_equal(s->fields[i].is_string, want[i].is_string);
		assert_int_equal(s->fields[i].is_dynamic, want[i].is_dynamic);
		assert_int_equal(s->fields[i].is_stack, want[i].is_stack);
	}
	assert_string_equal(event_find_field(s->event, "b")->type, "char[4]");
	assert_int_equal(event_find_field(s->event, "b")->kind, FIELD_STATIC_STRING);
	assert_int_equal(event_find_field(s->event, "c")->kind, FIELD_DYN_STRING);
	assert_int_equal(event_find_field(s->event, "d")->kind, FIELD_STACKTRACE);
}

static void the_format_is_the_kernels(void **state)
{
	static const char want[] =
		"name: x\nID: 16384\nformat:\n"
		"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
		"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
		"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
		"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
		"\tfield:s64 a;\toffset:8;\tsize:8;\tsigned:1;\n"
		"\tfield:char b[];\toffset:16;\tsize:4;\tsigned:1;\n"
		"\tfield:__data_loc char[] c;\toffset:272;\tsize:8;\tsigned:1;\n"
		"\tfield:__data_loc unsigned long[] d;\toffset:280;\tsize:8;\tsigned:1;\n\n"
		"print fmt: \"a=%lld, b=%s, c=%s, d=%s\", REC->a, REC->b, __get_str(c), "
		"__get_stacktrace(d)\n";
	struct fixture *f = *state;

	assert_int_equal(synth_command(f->model, "x s64 a; char b[4]; char c[]; unsigned long d[]"),
			 0);
	assert_string_equal(synth_find(f->model, "x")->event->format, want);
}

#define FORM "Command must be of the form: <name> field[;field] ..."

static const struct wrong {
	const char	*file, *command;
	int		err;
	const char	*error;		/* NULL: nothing is logged */
	int		caret;
} wrong_events[] = {
	{ "synth", "x", -EINVAL, FORM, 0 },
	{ "synth", "x int", -EINVAL, FORM, 0 },
	{ "synth", "x ;int y", -EINVAL, FORM, 0 },
	{ "synth", "1x int y", -EINVAL, "Illegal name", 0 },
	{ "synth", "x int y-z", -EINVAL, "Illegal name", 6 },
	{ "synth", "x int y; foo z", -EINVAL, "Invalid type", 9 },
	{ "synth", "x int y; short z", -EINVAL, "Invalid type", 9 },
	{ "synth", "x int y; unsigned z", -EINVAL, "Incomplete type", 9 },
	{ "synth", "x int y; u8", -EINVAL, "Invalid field", 9 },
	{ "synth", "x char y[257]", -EINVAL, "Invalid array specification", 7 },
	{ "synth", "x char y[1000]", -EINVAL, "Invalid array specification", 7 },
	{ "synth", "there int y", -EEXIST, "Event already exists", 0 },
	{ "synth", "!nonesuch", -ENOENT, NULL, 0 },
	{ "synth", "   ", 0, NULL, 0 },
	{ "dynamic", "s:x", -EINVAL, FORM, 0 },
	{ "dynamic", "s:other/x int y", -EINVAL,
	  "Command must be of the form: s or -:[synthetic/]<name> field[;field] ...", 0 },
	{ "dynamic", "s:synthetic/there int y", -EEXIST, "Event already exists", 12 },
	{ "dynamic", "y:x function", -EINVAL, NULL, 0 },
	{ "dynamic", "-:nonesuch", -ENOENT, NULL, 0 },
	{ "dynamic", "-nonesuch", -EINVAL, NULL, 0 },
	{ "dynamic", "!", -EINVAL, NULL, 0 },
};

static void what_is_wrong_is_told_with_its_place(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(synth_command(f->model, "there int y"), 0);
	for (size_t i = 0; i < sizeof(wrong_events) / sizeof(wrong_events[0]); i++) {
		const struct wrong *w = &wrong_events[i];
		char *log, *want = NULL;
		int err;

		errlog_clear(f->top->errlog);
		err = (*w->file == 's' ? synth_command : dynamic_command)(f->model, w->command);
		if (err != w->err)
			fail_msg("%s: %d", w->command, err);
		log = printed(errlog_print(f->top->errlog, out));
		if (w->error)
			assert_true(asprintf(&want,
					     "synthetic_events: error: %s\n  Command: %s\n         "
					     "  %*s^\n", w->error, w->command, w->caret, "") > 0);
		if (want ? !strstr(log, want) : *log)
			fail_msg("%s: %s", w->command, log);
		free(log);
		free(want);
	}
	assert_prints(synth_print(f->model, out), "there\tint y\n");
}

static char *fields(unsigned int nr)
{
	return printed({
		fputs("x", out);
		for (unsigned int i = 0; i < nr; i++)
			fprintf(out, " u8 f%u;", i);
	});
}

static void there_may_be_64_fields(void **state)
{
	struct fixture *f = *state;
	char *text = fields(SYNTH_FIELDS_MAX + 1);

	assert_int_equal(synth_command(f->model, text), -EINVAL);
	free(text);
	text = fields(SYNTH_FIELDS_MAX);
	assert_int_equal(synth_command(f->model, text), 0);
	free(text);
	assert_int_equal(synth_find(f->model, "x")->nr_fields, SYNTH_FIELDS_MAX);
}

static struct event_file *file_of(struct fixture *f, struct instance *inst, const char *name)
{
	return event_file_get(inst, model_find_event(f->model, "synthetic", name));
}

static void what_is_in_use_stays(void **state)
{
	struct fixture *f = *state;
	struct instance *inst;
	struct synth_event *s;

	assert_int_equal(synth_command(f->model, "x int y"), 0);
	assert_int_equal(synth_command(f->model, "z int y"), 0);
	s = synth_find(f->model, "x");
	synth_get(s);
	assert_int_equal(synth_command(f->model, "!x"), -EBUSY);
	assert_int_equal(dynamic_remove_all(f->model, &synth_kind), -EBUSY);
	assert_non_null(synth_find(f->model, "z"));
	synth_put(s);
	assert_int_equal(instance_create(f->model, "i", &inst), 0);
	assert_int_equal(event_file_enable(file_of(f, inst, "x"), true), 0);
	assert_int_equal(dynamic_command(f->model, "-:x"), -EBUSY);
	assert_int_equal(event_file_enable(file_of(f, inst, "x"), false), 0);
	assert_int_equal(event_file_trigger_write(file_of(f, f->top, "x"), "hist:keys=y"), 0);
	assert_int_equal(synth_command(f->model, "!x"), -EBUSY);
	assert_int_equal(event_file_trigger_write(file_of(f, f->top, "x"), "!hist:keys=y"), 0);
	assert_int_equal(event_file_set_filter(file_of(f, f->top, "x"), "y > 1"), 0);
	assert_int_equal(synth_command(f->model, "!x"), 0);
	assert_int_equal(dynamic_remove_all(f->model, NULL), 0);
	assert_null(model_find_system(f->model, "synthetic"));
}

static void the_lowest_free_id_is_given_again(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(synth_command(f->model, "a int y"), 0);
	assert_int_equal(synth_command(f->model, "b int y"), 0);
	assert_int_equal(synth_find(f->model, "b")->event->id, 16385);
	assert_int_equal(synth_command(f->model, "!a"), 0);
	assert_int_equal(synth_command(f->model, "c int y"), 0);
	assert_int_equal(synth_find(f->model, "c")->event->id, 16384);
}

static void the_newest_are_listed_first(void **state)
{
	struct fixture *f = *state;
	struct instance *inst;

	assert_int_equal(synth_command(f->model, "a int y"), 0);
	assert_int_equal(synth_command(f->model, "b int y"), 0);
	assert_int_equal(synth_command(f->model, "!a"), 0);
	assert_int_equal(synth_command(f->model, "c int y"), 0);
	assert_prints(event_available_print(f->top, out),
		      "synthetic:c\nsynthetic:b\ntest:all\ntest:other\nmore:third\n");
	/*
	 * In an instance, older events come after the newer ones, in the order of their definition.
	 */
	assert_int_equal(instance_create(f->model, "i", &inst), 0);
	assert_int_equal(synth_command(f->model, "d int y"), 0);
	assert_prints(event_available_print(inst, out),
		      "synthetic:d\ntest:all\ntest:other\nmore:third\nsynthetic:b\nsynthetic:c\n");
}

static void lines_run_up_to_the_first_error(void **state)
{
	struct fixture *f = *state;
	char text[] = "a int x # with a remark\n# none\n\nb foo y\nc int z\n";
	char zero[] = "d int x\n\0e int y\n";

	assert_int_equal(dynamic_lines(f->model, text, sizeof(text) - 1, synth_command, NULL),
			 -EINVAL);
	assert_prints(synth_print(f->model, out), "a\tint x\n");
	assert_int_equal(dynamic_lines(f->model, zero, sizeof(zero) - 1, synth_command, NULL),
			 -EINVAL);
	assert_prints(synth_print(f->model, out), "a\tint x\nd\tint x\n");
}

/* Each piece has a fresh text, and time for one line. */
static void lines_are_carried_out_in_pieces(void **state)
{
	static const char lines[] = "a int x\nb int x # b\n# none\n!b\nc int y\nd foo z\ne int x\n";
	static const char *const seen[] = {
		"a\tint x\n", "a\tint x\nb\tint x\n", "a\tint x\nb\tint x\n",
		"a\tint x\n", "a\tint x\nc\tint y\n",
	};
	struct pieces pieces = { .until_ms = 0 };
	struct fixture *f = *state;
	char text[sizeof(lines)];

	for (size_t i = 0; i < sizeof(seen) / sizeof(seen[0]); i++) {
		memcpy(text, lines, sizeof(lines));
		assert_int_equal(dynamic_lines(f->model, text, sizeof(text) - 1, synth_command,
					       &pieces), -EINPROGRESS);
		assert_prints(synth_print(f->model, out), seen[i]);
	}
	memcpy(text, lines, sizeof(lines));
	assert_int_equal(dynamic_lines(f->model, text, sizeof(text) - 1, synth_command, &pieces),
			 -EINVAL);
	assert_prints(synth_print(f->model, out), "a\tint x\nc\tint y\n");
}

static void an_open_file_outlives_its_event(void **state)
{
	static const char *const names[] = {
		"enable", "filter", "format", "id", "trigger", "hist"
	};
	struct fixture *f = *state;
	struct tree *t = tree_create(f->model);
	struct tree_file *files[6];
	char path[64], buf[64];

	assert_non_null(t);
	assert_int_equal(synth_command(f->model, "a int y"), 0);
	for (int i = 0; i < 6; i++) {
		snprintf(path, sizeof(path), "events/synthetic/a/%s", names[i]);
		assert_int_equal(tree_open(t, path, i == 2 || i == 3 || i == 5 ? O_RDONLY : O_RDWR,
					   &files[i]),
				 0);
	}
	assert_true(tree_read(files[2], buf, sizeof(buf), 0) > 0);
	assert_int_equal(synth_command(f->model, "!a"), 0);
	assert_int_equal(synth_command(f->model, "b int y"), 0);	/* takes the same id */
	for (int i = 0; i < 6; i++)
		assert_int_equal(tree_read(files[i], buf, sizeof(buf), 0), i == 3 ? 6 : -ENODEV);
	assert_int_equal(tree_write(files[0], "1", 1), -ENODEV);
	assert_int_equal(tree_write(files[1], "y > 1", 5), -ENODEV);
	assert_int_equal(tree_write(files[4], "traceon", 7), -ENODEV);
	for (int i = 0; i < 6; i++)
		assert_int_equal(tree_release(files[i]), 0);
	tree_destroy(t);
}

static void an_open_file_outlives_its_system(void **state)
{
	struct fixture *f = *state;
	struct tree *t = tree_create(f->model);
	struct tree_file *enable, *filter;
	char buf[256];

	assert_non_null(t);
	assert_int_equal(synth_command(f->model, "a int y"), 0);
	assert_int_equal(tree_open(t, "events/synthetic/enable", O_RDWR, &enable), 0);
	assert_int_equal(tree_open(t, "events/synthetic/filter", O_RDWR, &filter), 0);
	assert_int_equal(synth_command(f->model, "!a"), 0);
	assert_int_equal(tree_read(enable, buf, sizeof(buf), 0), 2);
	assert_memory_equal(buf, "?\n", 2);
	assert_true(tree_read(filter, buf, sizeof(buf), 0) > 0);
	assert_int_equal(tree_write(enable, "1", 1), -EINVAL);
	assert_int_equal(tree_write(filter, "y > 1", 5), -ENODEV);
	assert_int_equal(tree_release(enable), 0);
	assert_int_equal(tree_release(filter), 0);
	tree_destroy(t);
}

static void a_recorded_event_gives_way(void **state)
{
	static const char recorded[] = "name: a\nID: 200\nformat:\n\n"
		"\tfield:int y;\toffset:8;\tsize:4;\tsigned:1;\n\nprint fmt: \"\"\n";
	struct fixture *f = *state;
	struct event *e;

	f->model->imported = true;
	assert_int_equal(model_add_event(f->model, "synthetic", recorded, strlen(recorded), &e), 0);
	assert_int_equal(event_file_enable(event_file_get(f->top, e), true), 0);
	assert_int_equal(synth_command(f->model, "a int y"), -EEXIST);
	assert_int_equal(event_file_enable(event_file_get(f->top, e), false), 0);
	assert_int_equal(synth_command(f->model, "a int y"), 0);
	assert_null(model_event_by_id(f->model, 200));
	assert_int_equal(synth_find(f->model, "a")->event->id, 16384);
	/* The same definition comes from a recording again. */
	assert_int_equal(model_add_event(f->model, "synthetic", recorded, strlen(recorded), &e), 0);
	assert_ptr_equal(e, synth_find(f->model, "a")->event);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_definition_reads_back_in_both_files),
		TEST(fields_have_the_kernels_places),
		TEST(the_format_is_the_kernels),
		TEST(what_is_wrong_is_told_with_its_place),
		TEST(there_may_be_64_fields),
		TEST(what_is_in_use_stays),
		TEST(the_lowest_free_id_is_given_again),
		TEST(the_newest_are_listed_first),
		TEST(lines_run_up_to_the_first_error),
		TEST(lines_are_carried_out_in_pieces),
		TEST(an_open_file_outlives_its_event),
		TEST(an_open_file_outlives_its_system),
		TEST(a_recorded_event_gives_way),
	};

	return cmocka_run_group_tests_name("synth", tests, NULL, NULL);
}
