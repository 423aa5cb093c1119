/* SPDX-License-Identifier: MIT */
/*
 * live_import.c - a tracing directory that lies: the events that are understood are there, the rest
 * is counted, and what others have changed in the instance is set again
 *
 * A folder in memory stands for the tracefs, and for the instance in it.
 */
#include <limits.h>

#include "live_fixture.h"
#include "model/event/file.h"

#define COMMON									\
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"	\
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"	\
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n" \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
#define FIELD "\tfield:int size;\toffset:8;\tsize:4;\tsigned:1;\n"
#define PRINT "\nprint fmt: \"size=%d\", REC->size\n"

static void put_event(const struct fixture *f, const char *name, unsigned int id, const char *rest)
{
	char path[256], text[1024];

	snprintf(path, sizeof(path), "events/lies/%s/format", name);
	snprintf(text, sizeof(text), "name: %s\nID: %u\nformat:\n%s", name, id, rest);
	put(f, path, text, strlen(text));
}

/* ---- formats ---- */

static void has_no_size(const struct fixture *f, const char *name)
{
	struct event *e = model_find_event(f->model, "lies", name);

	assert_non_null(e);
	assert_null(event_find_field(e, "size"));
}

static void formats_that_lie_are_counted(void **state)
{
	struct fixture *f = *state;
	char *garbage = malloc(70000);

	memset(garbage, 'x', 70000);
	memcpy(garbage, "name: g\nID: 9\nformat:\n", 22);
	put_event(f, "good", 500, COMMON FIELD PRINT);
	put_event(f, "same_id", 510, COMMON FIELD PRINT);
	put_event(f, "same_id_too", 510, COMMON FIELD PRINT);
	put_event(f, "no_fields", 501, "");
	put_event(f, "far", 502, COMMON "\tfield:int size;\toffset:99999999;\tsize:4;\tsigned:1;\n"
				 PRINT);
	put_event(f, "large", 503, COMMON "\tfield:int size;\toffset:8;\tsize:4294967295;"
				   "\tsigned:1;\n" PRINT);
	put_event(f, "id_of_ours", 4000000000u, COMMON FIELD PRINT);
	put(f, "events/lies/empty/format", "", 0);
	put(f, "events/lies/zeros/format", "\0\0\0\0", 4);
	put(f, "events/lies/garbage/format", garbage, 70000);
	put(f, "events/lies/without/enable", "0\n", 2);
	put(f, "events/header_page", "x", 1);
	free(garbage);
	assert_int_equal(live_import(f->live), 0);
	assert_non_null(model_find_event(f->model, "lies", "good"));
	assert_true(live_bit(f->live->known, 500));
	/* The first one that is read has the id. */
	assert_true(!model_find_event(f->model, "lies", "same_id") !=
		    !model_find_event(f->model, "lies", "same_id_too"));
	assert_null(model_find_event(f->model, "lies", "id_of_ours"));
	assert_null(model_find_event(f->model, "lies", "garbage"));
	/* Fields are read when they are asked for. */
	has_no_size(f, "no_fields");
	has_no_size(f, "far");
	has_no_size(f, "large");
	assert_true(f->live->nr_strange >= 3);
	/* Without the record's own format, that of Linux. */
	assert_int_equal(f->live->stack_type, 4);
	assert_int_equal(f->live->stack_at, 16);
}

static void without_events_it_is_refused(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(live_import(f->live), -ENOENT);
	put(f, "events", "a file", 6);
	assert_int_equal(live_import(f->live), -ENOTDIR);
}

/* ---- files ---- */

static void a_file_comes_whole(void **state)
{
	struct fixture *f = *state;
	char *text = malloc(300000), *read;
	size_t len;

	memset(text, 'a', 300000);
	put(f, "long", text, 300000);
	read = kernel_read(f->live->kernel.top, "long", &len);
	assert_int_equal(len, 300000);
	assert_memory_equal(read, text, len);
	free(read);
	free(text);
	assert_null(kernel_read(f->live->kernel.top, "none", &len));
	assert_int_equal(len, 0);
	assert_null(kernel_read(f->live->kernel.top, ".", &len));
	assert_int_equal(kernel_write(f->live->kernel.top, "none", "1"), -ENOENT);
	assert_int_equal(kernel_write(f->live->kernel.top, ".", "1"), -EISDIR);
}

/* ---- what another process has changed ---- */

static void changes_of_others_are_undone_and_counted(void **state)
{
	struct fixture *f = *state;
	struct event *e;

	put_event(f, "good", 500, COMMON FIELD PRINT);
	put(f, "events/lies/good/enable", "0", 1);
	put(f, "events/lies/good/filter", "none", 4);
	put(f, "tracing_on", "1", 1);
	put(f, "options/overwrite", "1", 1);
	put(f, "options/stacktrace", "0", 1);
	assert_int_equal(live_import(f->live), 0);
	e = model_find_event(f->model, "lies", "good");
	assert_int_equal(live_arm_need(f->live, e, true), 0);
	text_is(f, "events/lies/good/enable", "1");
	live_check(f->live);
	assert_int_equal(f->live->nr_changed, 0);
	put(f, "events/lies/good/enable", "0", 1);
	put(f, "tracing_on", "0", 1);
	live_check(f->live);
	assert_int_equal(f->live->nr_changed, 2);
	text_is(f, "events/lies/good/enable", "1");
	text_is(f, "tracing_on", "1");
	put(f, "options/overwrite", "0", 1);
	put(f, "options/stacktrace", "1", 1);
	live_check(f->live);
	assert_int_equal(f->live->nr_changed, 4);
	text_is(f, "options/overwrite", "1");
	text_is(f, "options/stacktrace", "0");
	assert_int_equal(live_arm_need(f->live, e, false), 0);
	text_is(f, "events/lies/good/enable", "0");
	live_check(f->live);
	assert_int_equal(f->live->nr_changed, 4);
}

static void set_clocks(const struct fixture *f, const char *text)
{
	put(f, "trace_clock", text, strlen(text));
}

static void another_clock_is_set_back_and_counted(void **state)
{
	struct fixture *f = *state;
	struct live_cpu_book *b = &f->live->book->cpus[1];

	/* Nothing is known of a file that is not there. */
	live_clock_watch(f->live, LIVE_EVENTS, f->live->kernel.dir);
	assert_true(live_clock_holds(f->live));
	set_clocks(f, "local [mono] mono_raw\n");
	live_clock_watch(f->live, LIVE_EVENTS, f->live->kernel.dir);
	assert_true(live_clock_holds(f->live));
	atomic_store(&b->passed[LIVE_EVENTS], 7);
	atomic_store(&b->passed[LIVE_CALLS], 8);
	set_clocks(f, "local mono [mono_raw]\n");
	assert_false(live_clock_holds(f->live));
	/* The kernel reads a name. In a file it is written over the first bytes. */
	text_is(f, "trace_clock", "monol mono [mono_raw]\n");
	assert_int_equal(f->live->clock.nr_changed, 1);
	/* The kernel counts from 0 again. */
	assert_int_equal(atomic_load(&b->passed[LIVE_EVENTS]), 0);
	assert_int_equal(atomic_load(&b->passed[LIVE_CALLS]), 8);
	set_clocks(f, "local [mono] mono_raw\n");
	assert_true(live_clock_holds(f->live));
	f->live->clock.counter = true;
	set_clocks(f, "local mono [x86-tsc]\n");
	assert_true(live_clock_holds(f->live));
	set_clocks(f, "[local] mono x86-tsc\n");
	assert_false(live_clock_holds(f->live));
	text_is(f, "trace_clock", "x86-tsc mono x86-tsc\n");
	assert_int_equal(f->live->clock.nr_changed, 2);
	live_clock_watch(f->live, LIVE_EVENTS, -1);
}

enum { MANY = 130, MANY_ID = 500 };

static const char *many_path(unsigned int i)
{
	static char path[64];

	snprintf(path, sizeof(path), "events/lies/e%u/enable", i);
	return path;
}

static void many_events(struct fixture *f)
{
	char name[16];

	for (unsigned int i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "e%u", i);
		put_event(f, name, MANY_ID + i, COMMON FIELD PRINT);
		put(f, many_path(i), "0", 1);
	}
	put(f, "tracing_on", "1", 1);
	assert_int_equal(live_import(f->live), 0);
}

/* Those before `first` are set again, the others are not. */
static void many_are_on_before(struct fixture *f, unsigned int first)
{
	for (unsigned int i = 0; i < MANY; i++)
		text_is(f, many_path(i), i < first ? "1" : "0");
}

/* More events than are looked at in one second. */
static void changes_are_looked_for_once_a_second(void **state)
{
	struct fixture *f = *state;

	many_events(f);
	assert_int_equal(live_check_tick(f->live, 0), INT_MAX);
	for (unsigned int i = 0; i < MANY; i++)
		assert_int_equal(live_arm_need(f->live, f->model->by_id[MANY_ID + i], true), 0);
	many_are_on_before(f, MANY);
	for (unsigned int i = 0; i < MANY; i++)
		put(f, many_path(i), "0", 1);
	put(f, "tracing_on", "0", 1);
	assert_int_equal(live_check_tick(f->live, 5000), 1000);
	assert_int_equal(f->live->nr_changed, 1 + 64);
	text_is(f, "tracing_on", "1");
	many_are_on_before(f, 64);
	assert_int_equal(live_check_tick(f->live, 5900), 100);
	many_are_on_before(f, 64);
	assert_int_equal(live_check_tick(f->live, 6000), 1000);
	many_are_on_before(f, 128);
	live_check_tick(f->live, 7000);
	many_are_on_before(f, MANY);
	assert_int_equal(f->live->nr_changed, 1 + MANY);
	/* The first one again. */
	put(f, many_path(0), "0", 1);
	live_check_tick(f->live, 8000);
	many_are_on_before(f, MANY);
}

static void events_that_tell_names_are_set_again(void **state)
{
	struct fixture *f = *state;
	struct event *e;

	put_event(f, "good", 500, COMMON FIELD PRINT);
	put(f, "events/lies/good/enable", "0", 1);
	put_event(f, "name", 501, COMMON FIELD PRINT);
	put(f, "events/lies/name/enable", "0", 1);
	put(f, "tracing_on", "1", 1);
	assert_int_equal(live_import(f->live), 0);
	f->live->namers[0] = f->live->namers[1] = 501;
	e = model_find_event(f->model, "lies", "good");
	assert_int_equal(live_arm_need(f->live, e, true), 0);
	text_is(f, "events/lies/name/enable", "1");
	put(f, "events/lies/name/enable", "0", 1);
	live_check(f->live);
	text_is(f, "events/lies/name/enable", "1");
	assert_int_equal(f->live->nr_changed, 1);
}

/* A tracer and a plan are two reasons. */
static void an_event_is_on_while_somebody_needs_it(void **state)
{
	struct fixture *f = *state;
	struct event *e;

	put_event(f, "good", 500, COMMON FIELD PRINT);
	put(f, "events/lies/good/enable", "0", 1);
	assert_int_equal(live_import(f->live), 0);
	e = model_find_event(f->model, "lies", "good");
	live_arm_watch(f->live, e, true);
	assert_int_equal(live_arm_need(f->live, e, true), 0);
	live_arm_watch(f->live, e, true);
	assert_int_equal(live_arm_need(f->live, e, false), 0);
	live_arm_watch(f->live, e, false);
	text_is(f, "events/lies/good/enable", "1");
	live_arm_watch(f->live, e, false);
	text_is(f, "events/lies/good/enable", "0");
	assert_int_equal(f->live->nr_armed, 0);
}

/* ---- filters ---- */

static void add_trigger(struct event_file *file, const char *command)
{
	assert_int_equal(event_file_trigger_write(file, command), 0);
}

/* Sets the kernel's filter as at the end of a command, and looks at it. */
static void filter_becomes(struct fixture *f, const char *wanted)
{
	put(f, "events/lies/good/filter", "", 0);
	live_arm_settle(f->live);
	text_is(f, "events/lies/good/filter", wanted);
}

static struct event_file *one_event(struct fixture *f)
{
	put_event(f, "good", 500, COMMON FIELD PRINT);
	put(f, "events/lies/good/enable", "0", 1);
	put(f, "events/lies/good/filter", "none", 4);
	assert_int_equal(live_import(f->live), 0);
	f->live->hooks = (struct kernel_hooks){ .arg = f->live, .need = live_arm_need,
		.watch = live_arm_watch };
	f->model->kernel = &f->live->hooks;
	return event_file_get(f->model->top, model_find_event(f->model, "lies", "good"));
}

static void conditions_of_all_users_reach_the_kernel(void **state)
{
	struct fixture *f = *state;
	struct event_file *file = one_event(f);

	add_trigger(file, "hist:keys=size if size > 5");
	text_is(f, "events/lies/good/enable", "1");
	filter_becomes(f, "size > 5");
	add_trigger(file, "traceon if size > 5");
	/* What is there already is not written again. */
	filter_becomes(f, "");
	add_trigger(file, "hist:keys=common_pid if size < 2 || size == 3");
	filter_becomes(f, "(size > 5)||(size < 2 || size == 3)");
	/* The event is recorded, too: all, then those of its own filter. */
	assert_int_equal(event_file_enable(file, true), 0);
	filter_becomes(f, "0");
	assert_int_equal(event_file_set_filter(file, "size == 7"), 0);
	filter_becomes(f, "(size == 7)||(size > 5)||(size < 2 || size == 3)");
	assert_int_equal(event_file_enable(file, false), 0);
	filter_becomes(f, "(size > 5)||(size < 2 || size == 3)");
	add_trigger(file, "stacktrace");
	filter_becomes(f, "0");
	add_trigger(file, "!stacktrace");
	add_trigger(file, "!hist:keys=common_pid if size < 2 || size == 3");
	filter_becomes(f, "size > 5");
	f->model->kernel = NULL;
}

/* A hit of another event may switch the recording on. */
static void an_event_that_a_trigger_enables_has_no_filter(void **state)
{
	struct fixture *f = *state;
	struct event_file *file = one_event(f);

	add_trigger(file, "hist:keys=size if size > 5");
	filter_becomes(f, "size > 5");
	assert_int_equal(event_file_soft(file, 1), 0);
	filter_becomes(f, "0");
	assert_int_equal(event_file_soft(file, -1), 0);
	filter_becomes(f, "size > 5");
	f->model->kernel = NULL;
}

static void too_many_conditions_are_none(void **state)
{
	struct fixture *f = *state;
	struct event_file *file = one_event(f);
	char command[64];

	for (int i = 0; i < 9; i++) {
		snprintf(command, sizeof(command), "hist:keys=size,common_pid if size > %d", i);
		add_trigger(file, command);
		live_arm_settle(f->live);
	}
	filter_becomes(f, "");
	assert_null(f->live->filters[500]);
	f->model->kernel = NULL;
}

/* It is not taken for a change of another process. */
static void a_condition_that_is_refused_is_forgotten(void **state)
{
	struct fixture *f = *state;
	struct event_file *file = one_event(f);
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", f->dir, "events/lies/good/filter");
	assert_int_equal(unlink(path), 0);
	add_trigger(file, "hist:keys=size if size > 5");
	live_arm_settle(f->live);
	assert_null(f->live->filters[500]);
	f->model->kernel = NULL;
}

static void an_event_that_cannot_be_enabled_is_counted(void **state)
{
	struct fixture *f = *state;

	put_event(f, "good", 500, COMMON FIELD PRINT);
	assert_int_equal(live_import(f->live), 0);
	assert_int_equal(live_arm_need(f->live, model_find_event(f->model, "lies", "good"), true),
			 -ENOENT);
	assert_int_equal(f->live->nr_refused, 1);
	assert_int_equal(f->live->nr_armed, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(formats_that_lie_are_counted),
		TEST(without_events_it_is_refused),
		TEST(a_file_comes_whole),
		TEST(changes_of_others_are_undone_and_counted),
		TEST(another_clock_is_set_back_and_counted),
		TEST(changes_are_looked_for_once_a_second),
		TEST(events_that_tell_names_are_set_again),
		TEST(an_event_is_on_while_somebody_needs_it),
		TEST(conditions_of_all_users_reach_the_kernel),
		TEST(an_event_that_a_trigger_enables_has_no_filter),
		TEST(too_many_conditions_are_none),
		TEST(a_condition_that_is_refused_is_forgotten),
		TEST(an_event_that_cannot_be_enabled_is_counted),
	};
	int ret;

	if (!temp_place()) {
		puts("1..0 # SKIP no tmpfs at /dev/shm");
		return 0;
	}
	ret = cmocka_run_group_tests(tests, NULL, NULL);
	temp_place_remove();
	return ret;
}
