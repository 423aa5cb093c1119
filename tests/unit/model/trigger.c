/* SPDX-License-Identifier: MIT */
/* trigger.c - the file `trigger`: valid commands, what is read back, what a removal leaves */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "model/errlog.h"
#include "model/trigger/trigger.h"

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

static const char none[] =
	"# Available triggers:\n# traceon traceoff snapshot stacktrace enable_event "
	"disable_event enable_hist disable_hist hist\n";

static const struct {
	const char *text;
	int err;
	const char *reads;	/* NULL: no trigger */
} commands[] = {
	{ "traceoff", 0, "traceoff:unlimited\n" },
	{ " traceon \n", 0, "traceon:unlimited\n" },
	{ "traceoff:3", 0, "traceoff:count=3\n" },
	{ "traceoff:0x10", 0, "traceoff:count=16\n" },
	{ "traceoff 3", 0, "traceoff:count=3\n" },
	{ "traceoff:", 0, "traceoff:unlimited\n" },
	{ "traceoff: 3", 0, "traceoff:count=3\n" },
	{ "traceoff:1:2", 0, "traceoff:count=1\n" },
	{ "traceoff:0", 0, "traceoff:count=0\n" },
	{ "traceoff:18446744073709551615", 0, "traceoff:unlimited\n" },
	{ "traceoff:99999999999999999999", -ERANGE, NULL },
	{ "traceoff:-1", -EINVAL, NULL },
	{ "traceoff:3x", -EINVAL, NULL },
	{ "traceoff if", -EINVAL, NULL },
	{ "traceoff if s32 == 1", 0, "traceoff:unlimited if s32 == 1\n" },
	{ "traceoff:2 if s32 == 1", 0, "traceoff:count=2 if s32 == 1\n" },
	{ "traceoff   if   s32  ==  1", 0, "traceoff:unlimited if   s32  ==  1\n" },
	{ "traceoff if nonesuch == 1", -EINVAL, NULL },
	{ "traceoff iff s32 == 1", -EINVAL, NULL },
	{ "stacktrace:5 if s32 == 1", 0, "stacktrace:count=5 if s32 == 1\n" },
	{ "snapshot", 0, "snapshot:unlimited\n" },
	{ "enable_event:more:third", 0, "enable_event:more:third:unlimited\n" },
	{ "disable_event:more:third:2", 0, "disable_event:more:third:count=2\n" },
	{ "enable_event:more:third if s32 == 1", 0,
	 "enable_event:more:third:unlimited if s32 == 1\n" },
	{ "enable_event:more:third:1 if s32 == 1", 0,
	 "enable_event:more:third:count=1 if s32 == 1\n" },
	{ "enable_hist:more:third", 0, "enable_hist:more:third:unlimited\n" },
	{ "disable_hist:test:all:7", 0, "disable_hist:test:all:count=7\n" },
	{ "enable_event:test:all", 0, "enable_event:test:all:unlimited\n" },
	{ "enable_event", -EINVAL, NULL },
	{ "enable_event:", -EINVAL, NULL },
	{ "enable_event:more", -EINVAL, NULL },
	{ "enable_event:more:", -EINVAL, NULL },
	{ "enable_event:more:nonesuch", -EINVAL, NULL },
	{ "enable_event:more:third:", -EINVAL, NULL },
	{ "enable_event:more:third:unlimited", -EINVAL, NULL },
	{ "enable_event:ftrace:print", -EINVAL, NULL },
	{ "foo", -EINVAL, NULL },
	{ "", -EINVAL, NULL },
	{ "!", -EINVAL, NULL },
	{ "Traceoff", -EINVAL, NULL },
	{ "!foo", -EINVAL, NULL },
	{ "!traceoff", 0, NULL },
	{ "!enable_event:more:third", 0, NULL },
	{ "!enable_event:more:nonesuch", -EINVAL, NULL },
	{ "! traceoff", -EINVAL, NULL },
};

static void commands_and_how_they_read_back(void **state)
{
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		struct fixture *f;
		struct event_file *file;
		int err;

		fixture_setup((void **)&f);
		file = event_file_get(f->top, f->all);
		err = event_file_trigger_write(file, commands[i].text);
		if (err != commands[i].err)
			fail_msg("%s: %d", commands[i].text, err);
		assert_prints(event_file_trigger_print(file, out),
			      commands[i].reads ? commands[i].reads : none);
		assert_prints(event_file_print_enable(file, out), commands[i].reads ? "0*" : "0");
		fixture_teardown((void **)&f);
	}
}

static void what_excludes_what(void **state)
{
	static const struct {
		const char *first, *second;
		int err;
	} cases[] = {
		{ "traceoff", "traceoff", -EEXIST },
		{ "traceoff", "traceon:5", -EEXIST },
		{ "traceoff if s32 == 1", "traceoff if s32 == 2", -EEXIST },
		{ "snapshot", "snapshot:1", -EEXIST },
		{ "stacktrace", "stacktrace:2", -EEXIST },
		{ "traceoff", "stacktrace", 0 },
		{ "snapshot", "traceon", 0 },
		{ "enable_event:more:third", "disable_event:more:third", -EEXIST },
		{ "enable_event:more:third", "enable_event:test:other", 0 },
		{ "enable_hist:more:third", "disable_hist:more:third:1", -EEXIST },
		{ "enable_hist:more:third", "enable_event:more:third", 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fixture *f;
		struct event_file *file;

		fixture_setup((void **)&f);
		file = event_file_get(f->top, f->all);
		assert_int_equal(event_file_trigger_write(file, cases[i].first), 0);
		assert_int_equal(event_file_trigger_write(file, cases[i].second), cases[i].err);
		fixture_teardown((void **)&f);
	}
}

static void the_newest_stands_first(void **state)
{
	struct fixture *f = *state;
	struct event_file *file = event_file_get(f->top, f->all);

	event_file_trigger_write(file, "traceoff");
	event_file_trigger_write(file, "stacktrace");
	event_file_trigger_write(file, "enable_event:more:third");
	assert_prints(
		event_file_trigger_print(file, out),
		"enable_event:more:third:unlimited\nstacktrace:unlimited\ntraceoff:unlimited\n");
}

static void removal_looks_only_at_the_kind(void **state)
{
	struct fixture *f = *state;
	struct event_file *file = event_file_get(f->top, f->all);

	event_file_trigger_write(file, "traceoff:3 if s32 == 1");
	event_file_trigger_write(file, "enable_event:more:third:2");
	assert_int_equal(event_file_trigger_write(file, "!traceon:9 if whatever"), 0);
	assert_prints(event_file_trigger_print(file, out), "enable_event:more:third:count=2\n");
	assert_int_equal(event_file_trigger_write(file, "!disable_event:more:third:unlimited"), 0);
	assert_prints(event_file_trigger_print(file, out), none);
	assert_prints(event_file_print_enable(event_file_find(f->top, f->third), out), "0");
	assert_prints(event_file_print_enable(file, out), "0");
}

/* O_TRUNC removes only hists, and triggers that enable or disable hists. */
static void truncation_leaves_most_triggers(void **state)
{
	struct fixture *f = *state;
	struct event_file *file = event_file_get(f->top, f->all);

	event_file_trigger_write(file, "traceoff");
	event_file_trigger_write(file, "enable_hist:more:third");
	event_file_trigger_write(file, "enable_event:more:third");
	event_file_trigger_truncate(file);
	assert_prints(event_file_trigger_print(file, out),
		      "enable_event:more:third:unlimited\ntraceoff:unlimited\n");
}

static void the_count_that_is_left_is_printed(void **state)
{
	struct fixture *f = *state;
	struct event_file *file = event_file_get(f->top, f->all);
	struct trigger *t;

	event_file_trigger_write(file, "traceoff:3");
	t = list_entry(file->triggers.next, struct trigger, node);
	atomic_store(&t->state->count, 1);
	assert_prints(event_file_trigger_print(file, out), "traceoff:count=1\n");
}

static void a_wrong_condition_is_logged(void **state)
{
	struct fixture *f = *state;
	struct event_file *file = event_file_get(f->top, f->all);
	char *log;

	assert_int_equal(event_file_trigger_write(file, "traceoff:2 if  nonesuch == 1"), -EINVAL);
	log = printed(errlog_print(f->top->errlog, out));
	assert_string_equal(strchr(log, ']'), "] event filter parse error: error: Field not found\n"
			    "  Command:  nonesuch == 1\n                     ^\n");
	free(log);
}

static void an_event_that_was_enabled_stays_enabled(void **state)
{
	struct fixture *f = *state;
	struct event_file *file = event_file_get(f->top, f->all);

	event_file_enable(file, true);
	event_file_trigger_write(file, "traceoff");
	assert_prints(event_file_print_enable(file, out), "1*");
	event_file_trigger_write(file, "!traceoff");
	assert_prints(event_file_print_enable(file, out), "1");
}

static void triggers_of_the_print_event(void **state)
{
	struct fixture *f = *state;
	struct event_file *file = event_file_get(f->top, f->print);

	assert_int_equal(event_file_trigger_write(file, "traceoff if buf == ''"), 0);
	assert_prints(event_file_trigger_print(file, out), "traceoff:unlimited if buf == ''\n");
}

static void a_page_is_too_long(void **state)
{
	struct fixture *f = *state;
	char text[4097];

	memset(text, ' ', sizeof(text));
	memcpy(text, "traceoff", 8);
	text[4096] = '\0';
	assert_int_equal(event_file_trigger_write(event_file_get(f->top, f->all), text), -EINVAL);
	text[4095] = '\0';
	assert_int_equal(event_file_trigger_write(event_file_get(f->top, f->all), text), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(commands_and_how_they_read_back),
		cmocka_unit_test(what_excludes_what),
		TEST(the_newest_stands_first),
		TEST(removal_looks_only_at_the_kind),
		TEST(truncation_leaves_most_triggers),
		TEST(the_count_that_is_left_is_printed),
		TEST(a_wrong_condition_is_logged),
		TEST(an_event_that_was_enabled_stays_enabled),
		TEST(triggers_of_the_print_event),
		TEST(a_page_is_too_long),
	};

	return cmocka_run_group_tests_name("trigger", tests, NULL, NULL);
}
