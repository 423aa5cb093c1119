/* SPDX-License-Identifier: MIT */
/* eprobe.c - event probes: commands, their events, and the records that they make of a hit */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "model/dynamic/eprobe.h"
#include "model/errlog.h"
#include "model/event/set.h"
#include "model/symbols.h"
#include "model/dynamic/synth.h"
#include "model/trigger/trigger.h"
#include "plane/plane.h"
#include "show/show.h"

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

static const char none[] =
	"# Available triggers:\n# traceon traceoff snapshot stacktrace enable_event "
	"disable_event enable_hist disable_hist hist\n";

static void add(struct fixture *f, const char *command)
{
	int err = dynamic_command(f->model, command);

	if (err)
		fail_msg("%s: %d", command, err);
}

static struct event_file *probe_file(struct fixture *f, struct instance *inst)
{
	return event_file_get(inst, model_find_event(f->model, "eprobes", "p"));
}

static void make_hit(struct fixture *f, int32_t s32)
{
	struct slot *slot = session_slot_get(f->session);
	struct all_record r;
	struct hit h = { .record = &r, .size = sizeof(r), .time = 1000, .comm = "somebody" };

	fixture_record(&r);
	r.s8 = -2;
	r.u32 = 0xdeadbeef;
	r.s32 = s32;
	r.ip = 0x1104;
	memcpy(r.fixed, "fixed text", 11);
	hit(session_plane(f->session), slot, &h);
	session_slot_put(f->session, slot);
}

/* The lines of the instance's trace, each from the event's name on. */
static char *lines(struct instance *inst)
{
	char *text = printed(show_buffer(inst, 0, -1, out)), *rest = text, *line;
	char *got = printed({
		while ((line = strsep(&rest, "\n")))
			if (*line && *line != '#')
				fprintf(out, "%s\n", strstr(line, ": ") + 2);
	});

	free(text);
	return got;
}

static void assert_lines(struct instance *inst, const char *want)
{
	char *got = lines(inst);

	assert_string_equal(got, want);
	free(got);
}

static void commands_and_how_they_read_back(void **state)
{
	static const char *const cases[][2] = {
		{ "e:p test.all", "e:eprobes/p test.all" },
		{ "e:p test/all", "e:eprobes/p test.all" },
		{ "e test.all", "e:eprobes/all test.all" },
		{ "e7:p test.all", "e:eprobes/p test.all" },
		{ "e:g/p test.all", "e:g/p test.all" },
		{ "e:g-1/ test.all", "e:g-1/all test.all" },
		{ "e:p test.all $s32 x=$u32:x16", "e:eprobes/p test.all arg1=$s32 x=$u32:x16" },
		{ "e:p test.all a=+8($fixed):u8[3] if s32 == 1",
		 "e:eprobes/p test.all a=+8($fixed):u8[3]" },
		{ "  e:p test.all c=$comm:string  d=\\5  e=@first_function+4 ",
		 "e:eprobes/p test.all c=$comm:string d=\\5 e=@first_function+4" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fixture *f;
		char *want;

		fixture_setup((void **)&f);
		add(f, cases[i][0]);
		assert_true(asprintf(&want, "%s\n", cases[i][1]) > 0);
		assert_prints(dynamic_print(f->model, out), want);
		free(want);
		fixture_teardown((void **)&f);
	}
}

static void the_format_is_the_kernels(void **state)
{
	static const char want[] = "name: p\nID: 16384\nformat:\n"
		"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
		"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
		"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
		"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
		"\tfield:u64 a;\toffset:8;\tsize:8;\tsigned:0;\n"
		"\tfield:s8 b;\toffset:16;\tsize:1;\tsigned:1;\n"
		"\tfield:__data_loc char[] c;\toffset:17;\tsize:4;\tsigned:1;\n"
		"\tfield:u16 d[];\toffset:21;\tsize:4;\tsigned:0;\n"
		"\tfield:u64 e;\toffset:25;\tsize:8;\tsigned:0;\n\n"
		"print fmt: \" a=0x%Lx b=%d c=\\\"%s\\\" d={0x%x,0x%x} e=%pS\", "
		"REC->a, REC->b, __get_str(c), REC->d[0], REC->d[1], REC->e\n";
	struct fixture *f = *state;

	add(f, "e:p test.all a=$s32 b=$s8:s8 c=$fixed:string d=+0($fixed):x16[2] e=$ip:symbol");
	assert_string_equal(model_event_by_id(f->model, 16384)->format, want);
	assert_string_equal(event_find_field(model_event_by_id(f->model, 16384), "d")->type,
			    "u16[2]");
}

static const struct wrong {
	const char	*command;
	int		err;
	const char	*error;		/* the last one; NULL: nothing is logged */
	int		caret;
} wrong_probes[] = {
	{ "e", -EINVAL, NULL, 0 },
	{ "e: test.all", -EINVAL, "Event name is not specified", 2 },
	{ "e:/p test.all", -EINVAL, "Group name is not specified", 2 },
	{ "e:1/p test.all", -EINVAL,
	  "Group name must follow the same rules as C identifiers", 2 },
	{ "e:g/p.1 test.all", -EINVAL,
	  "Event name must follow the same rules as C identifiers", 4 },
	{ "e:p all", -EINVAL, "This requires both group and event name to attach", 4 },
	{ "e:p test.", -EINVAL, "This requires both group and event name to attach", 4 },
	{ "e:p test.none", -ENODEV, "Attached event does not exist", 4 },
	{ "e:p ftrace.print", -ENODEV, "Attached event does not exist", 4 },
	{ "e:test/all test.all", -EEXIST,
	  "Given group/event name is already used by another event", 0 },
	{ "e:p test.all if", -EINVAL, "No filter rule after 'if'", 16 },
	{ "e:p test.all a=$none", -EINVAL, "Invalid $-variable specified", 15 },
	{ "e:p test.all a=$common_pid", -EINVAL, "Invalid $-variable specified", 15 },
	{ "e:p test.all a=s32", -EINVAL, "BTF is not available or not supported", 15 },
	{ "e:p test.all a=7", -EINVAL, "Invalid fetch argument", 15 },
	{ "e:p test.all a=%ax", -EINVAL, "Invalid fetch argument", 15 },
	{ "e:p test.all a=$s32:u7", -EINVAL, "Unknown type is specified", 20 },
	{ "e:p test.all a=$s32:b9@0/8", -EINVAL, "Invalid bitfield", 20 },
	{ "e:p test.all a=$s32:u8[2]", -EINVAL, "String accepts only memory argument", 20 },
	{ "e:p test.all a=+0($s32):u8[2", -EINVAL, "Array is not closed", 28 },
	{ "e:p test.all a=+0($s32):u8[65]", -EINVAL, "Array number is too big", 27 },
	{ "e:p test.all a=+0($s32):u8[0]", -EINVAL, "Invalid array size", 27 },
	{ "e:p test.all a=+0($s32):u8[2]x", -EINVAL, "Array has wrong suffix", 29 },
	{ "e:p test.all a=+0($comm)", -EINVAL, "$comm can not be dereferenced", 18 },
	{ "e:p test.all a=+0($s32", -EINVAL, "Dereference brace is not closed", 22 },
	{ "e:p test.all a=+x($s32)", -EINVAL, "Invalid dereference offset", 15 },
	{ "e:p test.all a=+0", -EINVAL, "Dereference needs a brace", 15 },
	{ "e:p test.all a=\\x", -EINVAL, "Invalid immediate value", 16 },
	{ "e:p test.all a=\\\"x", -EINVAL, "String is not closed with '\"'", 18 },
	{ "e:p test.all a=@1x", -EINVAL, "Invalid memory address", 15 },
	{ "e:p test.all a=@+1", -EINVAL, "File offset is not available with kprobe", 15 },
	{ "e:p test.all a=@none", -ENOENT, NULL, 0 },
	{ "e:p test.all =$s32", -EINVAL, "Argument name is not specified", 13 },
	{ "e:p test.all a=", -EINVAL, "No argument expression", 15 },
	{ "e:p test.all 1=$s32", -EINVAL,
	  "Argument name must follow the same rules as C identifiers", 13 },
	{ "e:p test.all a=$s32 a=$u32", -EINVAL, "This argument name is already used", 20 },
	{ "e:p test.all common_pid=$s32", -EINVAL, "This argument name is already used",
	  13 },
	{ "e:p test.all a23456789012345678901234567890123=$s32", -EINVAL,
	  "Argument name is too long", 13 },
	{ "e:p test.all a=+0($s32)12345678901234567890123456789012345678901234567890123456",
	  -E2BIG, "Argument expression is too long", 15 },
};

static void what_is_wrong_is_told_with_its_place(void **state)
{
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(wrong_probes) / sizeof(wrong_probes[0]); i++) {
		const struct wrong *w = &wrong_probes[i];
		char *log, *want = NULL;
		int err;

		errlog_clear(f->top->errlog);
		err = dynamic_command(f->model, w->command);
		if (err != w->err)
			fail_msg("%s: %d", w->command, err);
		log = printed(errlog_print(f->top->errlog, out));
		if (w->error)
			assert_true(
				asprintf(&want,
					 "event_probe: error: %s\n  Command: %s\n           %*s^\n",
					 w->error, w->command, w->caret, "") > 0);
		if (want ? !strstr(log, want) : *log)
			fail_msg("%s: %s", w->command, log);
		free(log);
		free(want);
	}
	assert_prints(dynamic_print(f->model, out), "");
	assert_int_equal(f->all->attached, 0);
}

static void while_it_is_armed_its_base_is(void **state)
{
	struct fixture *f = *state;
	struct event_file *base = event_file_get(f->top, f->all);

	add(f, "e:p test.all a=$s32");
	assert_int_equal(event_file_enable(probe_file(f, f->top), true), 0);
	assert_prints(event_file_print_enable(base, out), "0*");
	assert_prints(event_file_trigger_print(base, out), none);
	event_file_trigger_truncate(base);
	assert_prints(event_file_print_enable(base, out), "0*");
	assert_int_equal(dynamic_command(f->model, "-:p"), -EBUSY);
	assert_int_equal(dynamic_remove_all(f->model, NULL), -EBUSY);
	assert_int_equal(event_file_enable(probe_file(f, f->top), false), 0);
	assert_prints(event_file_print_enable(base, out), "0");
	/* A trigger on the probe arms its event, too. */
	assert_int_equal(event_file_trigger_write(probe_file(f, f->top), "hist:keys=a"), 0);
	assert_prints(event_file_print_enable(base, out), "0*");
	assert_int_equal(event_file_trigger_write(probe_file(f, f->top), "!hist:keys=a"), 0);
	assert_prints(event_file_print_enable(base, out), "0");
	add(f, "-:p test.all a=$s32");
	assert_int_equal(f->all->attached, 0);
}

static void a_hit_becomes_a_record(void **state)
{
	struct fixture *f = *state;

	add(f, "e:p test.all a=$s32:s32 b=$s8:s64 c=$fixed:string d=$dyn:string e=$rel:string "
	       "f=+6($fixed):string "
	       "g=+0($dyn):u8[3] h=$u32:b8@8/32 i=$u32:b12@4/32 j=$comm:string "
	       "k=\\\"const\":string l=\\-3:s16");
	assert_int_equal(instance_expand(f->top), 0);
	assert_int_equal(event_file_enable(probe_file(f, f->top), true), 0);
	make_hit(f, -7);
	assert_lines(
		f->top,
		"p: (test.all) a=-7 b=-2 c=\"fixed text\" d=\"dynamic\" e=\"relative\" f=\"text\" "
		"g={100,121,110} h=190 i=3054 j=\"somebody\" k=\"const\" l=-3\n");
}

static void what_is_not_in_the_record_cannot_be_had(void **state)
{
	struct fixture *f = *state;

	add(f, "e:p test.all a=+0($ip) b=+0($ip):string c=+0(+0($fixed)):u8 d=@first_function:u32 "
	       "e=$fixed:ustring "
	       "f=+0($pointer):ustring g=+5000($fixed):u64 h=-5000($fixed):string "
	       "i=+0($fixed):string[2]");
	assert_int_equal(instance_expand(f->top), 0);
	assert_int_equal(event_file_enable(probe_file(f, f->top), true), 0);
	make_hit(f, 0);
	assert_lines(f->top,
		     "p: (test.all) a=0x0 b=(fault) c=0 d=0 e=(fault) f=(fault) g=0 h=(fault) "
		     "i={(fault),(fault)}\n");
}

static void symbols_have_names(void **state)
{
	struct fixture *f = *state;

	add(f, "e:p test.all a=$ip:symbol b=$ip:symstr c=$s32:symbol d=$s32:symstr e=$s8:char");
	assert_int_equal(instance_expand(f->top), 0);
	assert_int_equal(event_file_enable(probe_file(f, f->top), true), 0);
	make_hit(f, 5);
	assert_lines(
		f->top,
		"p: (test.all) a=second_function+0x4/0x100 b=\"second_function+0x4/0x100\" c=0x5 "
		"d=\"0x5\" e='\xfe'\n");
}

static void only_what_the_condition_takes(void **state)
{
	struct fixture *f = *state;

	add(f, "e:p test.all a=$s32:s32 if s32 > 1 && fixed == \"fixed text\"");
	assert_int_equal(instance_expand(f->top), 0);
	assert_int_equal(event_file_enable(probe_file(f, f->top), true), 0);
	assert_int_equal(event_file_set_filter(probe_file(f, f->top), "a != 3"), 0);
	for (int i = 0; i < 5; i++)
		make_hit(f, i);
	assert_lines(f->top, "p: (test.all) a=2\np: (test.all) a=4\n");
}

static void each_instance_has_its_own(void **state)
{
	struct fixture *f = *state;
	struct instance *inst;

	add(f, "e:p test.all a=$s32:s32");
	assert_int_equal(instance_create(f->model, "i", &inst), 0);
	assert_int_equal(instance_expand(f->top), 0);
	assert_int_equal(event_file_enable(probe_file(f, f->top), true), 0);
	assert_int_equal(event_file_enable(probe_file(f, inst), true), 0);
	make_hit(f, 1);
	assert_int_equal(event_file_enable(probe_file(f, f->top), false), 0);
	make_hit(f, 2);
	assert_lines(f->top, "p: (test.all) a=1\n");
	assert_lines(inst, "p: (test.all) a=1\np: (test.all) a=2\n");
	assert_int_equal(instance_remove(inst), 0);
	add(f, "-:eprobes/");
	assert_true(list_empty(&f->model->dynamic_events));
}

static void a_probed_event_stays(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(synth_command(f->model, "s int y"), 0);
	add(f, "e:p synthetic.s a=$y");
	assert_int_equal(synth_command(f->model, "!s"), -EBUSY);
	assert_int_equal(dynamic_command(f->model, "e:q eprobes.p"), -ENODEV);
	add(f, "-:p");
	assert_int_equal(synth_command(f->model, "!s"), 0);
}

static void removal_empties_what_may_have_records(void **state)
{
	struct fixture *f = *state;

	add(f, "e:p test.all a=$s32:s32");
	assert_int_equal(instance_expand(f->top), 0);
	assert_int_equal(event_file_enable(probe_file(f, f->top), true), 0);
	make_hit(f, 1);
	assert_int_equal(event_file_enable(probe_file(f, f->top), false), 0);
	add(f, "-:p");
	assert_lines(f->top, "");
}

static const char recorded_format[] = "name: p\nID: 200\nformat:\n"
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
	"\tfield:s32 a;\toffset:8;\tsize:4;\tsigned:1;\n\n"
	"print fmt: \" a=%d\", REC->a\n";

static void add_recorded(struct fixture *f, struct event **e)
{
	assert_int_equal(model_set_imported(f->model), 0);
	assert_int_equal(model_add_event(f->model, "g", recorded_format, strlen(recorded_format),
					 e), 0);
}

/* Its base makes no records then: the recording has them. */
static void a_recorded_event_becomes_the_probes_own(void **state)
{
	const struct {
		struct record_common	common;
		int32_t			a;
	} recorded = { .common = { .type = 200, .pid = 7 }, .a = 5 };
	struct hit h = { .record = &recorded, .size = sizeof(recorded), .time = 2000 };
	struct fixture *f = *state;
	struct event *e;
	struct slot *slot;

	add_recorded(f, &e);
	assert_int_equal(synth_command(f->model, "s int y"), 0);
	add(f, "e:g/p test.all a=$s32:s32 if s32 == 1");
	assert_ptr_equal(model_find_event(f->model, "g", "p"), e);
	assert_true(e->dynamic);
	/* It is the newest. */
	assert_true(e->order > model_find_event(f->model, "synthetic", "s")->order);
	assert_int_equal(instance_expand(f->top), 0);
	assert_int_equal(event_file_enable(event_file_get(f->top, e), true), 0);
	make_hit(f, 1);
	slot = session_slot_get(f->session);
	hit(session_plane(f->session), slot, &h);
	session_slot_put(f->session, slot);
	assert_lines(f->top, "p: (test.all) a=5\n");
}

static bool has_none(void *arg, uint32_t id)
{
	assert_int_equal(id, 200);
	return *(bool *)arg;
}

/* The probe was not enabled, but its triggers had hits. */
static void without_recorded_records_the_base_makes_them(void **state)
{
	struct fixture *f = *state;
	struct event *e;
	bool has = false;

	add_recorded(f, &e);
	f->model->has_records = has_none;
	f->model->recording = &has;
	add(f, "e:g/p test.all a=$s32:s32");
	e = model_find_event(f->model, "g", "p");
	assert_int_not_equal(e->id, 200);
	assert_int_equal(instance_expand(f->top), 0);
	assert_int_equal(event_file_enable(event_file_get(f->top, e), true), 0);
	make_hit(f, 1);
	assert_lines(f->top, "p: (test.all) a=1\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(commands_and_how_they_read_back),
		TEST(the_format_is_the_kernels),
		TEST(what_is_wrong_is_told_with_its_place),
		TEST(while_it_is_armed_its_base_is),
		TEST(a_hit_becomes_a_record),
		TEST(what_is_not_in_the_record_cannot_be_had),
		TEST(symbols_have_names),
		TEST(only_what_the_condition_takes),
		TEST(each_instance_has_its_own),
		TEST(a_probed_event_stays),
		TEST(removal_empties_what_may_have_records),
		TEST(a_recorded_event_becomes_the_probes_own),
		TEST(without_recorded_records_the_base_makes_them),
	};

	return cmocka_run_group_tests_name("eprobe", tests, NULL, NULL);
}
