/* SPDX-License-Identifier: MIT */
/* place.c - kprobes and uprobes: commands, their events, their errors */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fixture.h"
#include "model/dynamic/place.h"
#include "model/errlog.h"
#include "model/event/set.h"
#include "model/symbols.h"
#include "plane/plane.h"

#define TEST(name) cmocka_unit_test_setup_teardown(name, place_setup, fixture_teardown)

static char file[] = "/tmp/place-XXXXXX";
static char self[512];

/* A function that the tests name in this program's own file. */
int place_target(int x);
int place_target(int x)
{
	return x + 1;
}

static int place_setup(void **state)
{
	int err = fixture_setup(state);
	struct fixture *f = *state;

	if (err)
		return err;
	symbols_add(f->model->symbols, 0x1100, 't', "second", NULL);
	symbols_add(f->model->symbols, 0x1200, 't', "twice", NULL);
	symbols_add(f->model->symbols, 0x1300, 't', "twice", "mod");
	symbols_add(f->model->symbols, 0x1400, 't', "last", NULL);
	return 0;
}

/* Replaces "FILE" and "SELF" by the paths. */
static char *with_paths(const char *text)
{
	char *out;
	size_t size;
	FILE *to = open_memstream(&out, &size);

	while (*text) {
		if (!strncmp(text, "FILE", 4) || !strncmp(text, "SELF", 4)) {
			fputs(*text == 'F' ? file : self, to);
			text += 4;
		} else {
			fputc(*text++, to);
		}
	}
	fclose(to);
	return out;
}

static int command(struct fixture *f, const char *text)
{
	char *line = with_paths(text);
	int err = dynamic_command(f->model, line);

	free(line);
	return err;
}

static void add(struct fixture *f, const char *text)
{
	int err = command(f, text);

	if (err)
		fail_msg("%s: %d", text, err);
}

static void assert_lists(struct fixture *f, const char *want)
{
	char *text = with_paths(want);

	assert_prints(dynamic_print(f->model, out), text);
	free(text);
}

static void commands_and_how_they_read_back(void **state)
{
	static const char *const cases[][2] = {
		{ "p first_function", "p:kprobes/p_first_function_0 first_function\n" },
		{ "p:g/n second+0x10", "p:g/n second+16\n" },
		{ "p:g/ second", "p:g/p_second_0 second\n" },
		{ "p:g.n second", "p:g/n second\n" },
		{ "r:n second", "r10:kprobes/n second\n" },
		{ "r12:n second $retval", "r12:kprobes/n second arg1=$retval\n" },
		{ "p:n second%return", "r10:kprobes/n second\n" },
		{ "r second", "r10:kprobes/r_second_0 second\n" },
		{ "p mod:twice", "p:kprobes/p_mod_twice_0 mod:twice\n" },
		{ "p later:any", "p:kprobes/p_later_any_0 later:any\n" },
		{ "r later:any", "r:kprobes/r_later_any_0 later:any\n" },
		{ "p:n 0x1004", "p:kprobes/n 0x0000000000001004\n" },
		{ "p:n second a=$arg2:s32 b=%ax $stack $stack3 $comm",
		  "p:kprobes/n second a=$arg2:s32 b=%ax arg3=$stack arg4=$stack3 arg5=$comm\n" },
		{ "p:n second a=+8(%si):x16[3] b=\\\"t\" c=@first_function+4:symstr",
		  "p:kprobes/n second a=+8(%si):x16[3] b=\\\"t\" c=@first_function+4:symstr\n" },
		{ "r:n second a=$arg1", "r10:kprobes/n second a=$arg1\n" },
		{ "p FILE:0x10", "p:uprobes/p_place_0x10 FILE:0x0000000000000010\n" },
		{ "r FILE:16", "r:uprobes/p_place_0x10 FILE:0x0000000000000010\n" },
		{ "p:u FILE:16%return", "r:uprobes/u FILE:0x0000000000000010\n" },
		{ "p:g/u FILE:16(32) a=@+8 b=@16:string",
		  "p:g/u FILE:0x0000000000000010(0x20) a=@+8 b=@16:string\n" },
		{ "p7:u FILE:1 a=\\-1:s8", NULL },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fixture *f;

		place_setup((void **)&f);
		if (cases[i][1]) {
			add(f, cases[i][0]);
			assert_lists(f, cases[i][1]);
		} else {
			assert_int_equal(command(f, cases[i][0]), -EINVAL);
		}
		fixture_teardown((void **)&f);
	}
}

static void the_format_is_the_kernels(void **state)
{
	static const char *const want[] = {
		"\tfield:unsigned long __probe_ip;\toffset:8;\tsize:8;\tsigned:0;\n"
		"\tfield:s32 a;\toffset:16;\tsize:4;\tsigned:1;\n"
		"\tfield:__data_loc char[] b;\toffset:20;\tsize:4;\tsigned:1;\n"
		"\tfield:u8 c[];\toffset:24;\tsize:2;\tsigned:0;\n\n"
		"print fmt: \"(%lx) a=%d b=\\\"%s\\\" c={%u,%u}\", REC->__probe_ip, REC->a, "
		"__get_str(b), REC->c[0], REC->c[1]\n",
		"\tfield:unsigned long __probe_func;\toffset:8;\tsize:8;\tsigned:0;\n"
		"\tfield:unsigned long __probe_ret_ip;\toffset:16;\tsize:8;\tsigned:0;\n"
		"\tfield:u64 ret;\toffset:24;\tsize:8;\tsigned:0;\n\n"
		"print fmt: \"(%lx <- %lx) ret=0x%Lx\", REC->__probe_func, REC->__probe_ret_ip, "
		"REC->ret\n",
	};
	struct fixture *f = *state;
	const char *text;

	add(f, "p:n FILE:16 a=%di:s32 b=+0(%si):string c=+0(%dx):u8[2]");
	text = model_find_event(f->model, "uprobes", "n")->format;
	assert_string_equal(strstr(text, "\tfield:unsigned long"), want[0]);
	add(f, "r:n second ret=$retval");
	text = model_find_event(f->model, "kprobes", "n")->format;
	assert_string_equal(strstr(text, "\tfield:unsigned long"), want[1]);
}

struct wrong {
	const char	*command;
	int		err;
	const char	*error;		/* NULL: nothing is logged */
	int		caret;
};

static void assert_wrong(struct fixture *f, const struct wrong *w)
{
	char *want = NULL, *got = NULL, *text;
	size_t size;
	int err;
	FILE *out = open_memstream(&got, &size);

	errlog_clear(f->top->errlog);
	err = command(f, w->command);
	errlog_print(f->top->errlog, out);
	fclose(out);
	if (w->error) {
		char *line = with_paths(w->command);

		assert_true(asprintf(&want, ": error: %s\n  Command: %s\n%*s^\n", w->error, line,
				     11 + w->caret, "") > 0);
		free(line);
	}
	text = strstr(got, ": error: ");
	if (err != w->err || !text != !want || (want && strcmp(text, want)))
		fail_msg("%s: %d, %s", w->command, err, got);
	free(got);
	free(want);
}

static const struct wrong wrong_places[] = {
	{ "p", -EINVAL, NULL, 0 },
	{ "x second", -EINVAL, NULL, 0 },
	{ "p5 second", -EINVAL, "Maxactive is only for function exit", 1 },
	{ "r5x second", -EINVAL, "Invalid maxactive number", 1 },
	{ "r0 second", -EINVAL, "Invalid maxactive number", 1 },
	{ "r4097 second", -EINVAL, "Maxactive is too big", 1 },
	{ "p none", -EINVAL, "Invalid probed address or symbol", 2 },
	{ "p second-4", -EINVAL, "Invalid probed address or symbol", 2 },
	{ "p second+x", -EINVAL, "Invalid probed address or symbol", 2 },
	{ "p mod:none", -EINVAL, "Invalid probed address or symbol", 2 },
	{ "p twice", -EINVAL, "The symbol is not unique", 2 },
	{ "p second%now", -EINVAL, "Invalid probed address suffix", 8 },
	{ "r second+4", -EINVAL, "Retprobe address must be an function entry", 2 },
	{ "p:test/all second", -EEXIST,
	  "Given group/event name is already used by another event", 0 },
	{ "p second $retval", -EINVAL, "$retval is not available on probe", 9 },
	{ "p second a=$stack9999", -EINVAL, "Invalid stack number", 11 },
	{ "p second a=$arg0", -EINVAL, "Invalid argument number", 11 },
	{ "p second+4 a=$arg1", -EINVAL,
	  "$arg* can be used only on function entry or exit", 13 },
	{ "p second+4 $arg1", -EINVAL,
	  "$arg* can be used only on function entry or exit", 11 },
	{ "p second $arg*", -EOPNOTSUPP, "BTF is not available or not supported", 9 },
	{ "p second x", -EOPNOTSUPP, "BTF is not available or not supported", 9 },
	{ "p second+4 x", -EINVAL, "BTF is not available or not supported", 11 },
	{ "p second a=%eax", -EINVAL, "Invalid register name", 11 },
	{ "p second a=@+8", -EINVAL, "File offset is not available with kprobe", 11 },
	{ "p second a=@none", -ENOENT, "Invalid probed address or symbol", 2 },
	{ "p second a=%ax:string", -EINVAL, "String accepts only memory argument", 15 },
	{ "p second a=\\\"x\":symstr", -EINVAL,
	  "$comm and immediate-string only accepts string type", 16 },
	{ "p second a=$comm:u8", -EINVAL,
	  "$comm and immediate-string only accepts string type", 17 },
	{ "p second a=%ax:u8[2]", -EINVAL, "String accepts only memory argument", 15 },
	{ "p second __probe_ip=%ax", -EINVAL, "This argument name is already used", 9 },
	{ "p /none:1", -ENOENT, "Failed to find the given file", 2 },
	{ "p /tmp:1", -EINVAL, "Not a regular file", 2 },
	{ "p /none:sym", -EINVAL, NULL, 0 },
	{ "p FILE:sym", -EINVAL, NULL, 0 },
	{ "p FILE:1(2", -EINVAL, "Reference counter brace is not closed", 23 },
	{ "p FILE:1(2)3", -EINVAL, "Reference counter has wrong suffix", 24 },
	{ "p FILE:1(x)", -EINVAL, "Invalid reference counter offset", 22 },
	{ "p FILE:1%now", -EINVAL, "Invalid probed address suffix", 21 },
	{ "p FILE:1x", -EINVAL, "Invalid uprobe offset", 20 },
	{ "p FILE:1 a=$arg1", -EINVAL,
	  "$arg* can be used only on function entry or exit", 24 },
	{ "p FILE:1 a=@sym", -EINVAL, "Symbol is not available with uprobe", 24 },
	{ "p FILE:1 a=@+x", -EINVAL, "Invalid file offset value", 24 },
	{ "p FILE:1 a=%di:symbol", -EINVAL, "Unknown type is specified", 28 },
	{ "p FILE:1 a=%di:usymbols", -EINVAL, "Unknown type is specified", 28 },
};

static void what_is_wrong_is_told_with_its_place(void **state)
{
	for (size_t i = 0; i < sizeof(wrong_places) / sizeof(wrong_places[0]); i++)
		assert_wrong(*state, &wrong_places[i]);
	assert_lists(*state, "");
}

static void several_probes_have_one_event(void **state)
{
	static const struct wrong cases[] = {
		{ "p:n second a=%ax", -EEXIST, "There is already the exact same probe event", 0 },
		{ "r:n second a=%ax", -EEXIST, "Probe type is different from existing probe", 0 },
		{ "p:n last b=%ax", -EEXIST,
		  "Argument type or name is different from existing probe", 9 },
		{ "p:n last a=%ax:u8", -EEXIST,
		  "Argument type or name is different from existing probe", 9 },
		{ "p:n last", -EEXIST,
		  "Argument type or name is different from existing probe", 9 },
		{ "p:kprobes/n FILE:1 a=%ax", -EEXIST,
		  "Given group/event name is already used by another event", 0 },
		{ "p:m FILE:1(8)", -EINVAL, NULL, 0 },
	};
	struct fixture *f = *state;
	struct event *e;

	add(f, "p:n second a=%ax");
	add(f, "p:n last a=%bx");
	add(f, "p:n second a=%bx");
	add(f, "p:o FILE:1");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_wrong(f, &cases[i]);
	e = model_find_event(f->model, "kprobes", "n");
	assert_int_equal(event_file_enable(event_file_get(f->top, e), true), 0);
	/* Only the last one needs the event. */
	add(f, "-:n second");
	assert_lists(f, "p:kprobes/n last a=%bx\np:uprobes/o FILE:0x0000000000000001\n");
	assert_int_equal(command(f, "-:n"), -EBUSY);
	assert_int_equal(dynamic_remove_all(f->model, &kprobe_kind), -EBUSY);
	assert_int_equal(event_file_enable(event_file_get(f->top, e), false), 0);
	assert_int_equal(kprobe_command(f->model, "-:o"), -ENOENT);
	assert_int_equal(dynamic_remove_all(f->model, &kprobe_kind), 0);
	assert_lists(f, "p:uprobes/o FILE:0x0000000000000001\n");
	assert_null(model_find_event(f->model, "kprobes", "n"));
	assert_int_equal(uprobe_command(f->model, "-:uprobes/"), 0);
	assert_lists(f, "");
}

static void events_are_listed_newest_first_also_if_an_old_one_gets_a_place(void **state)
{
	struct fixture *f = *state;
	struct event *e;

	add(f, "p:g/first FILE:1");
	add(f, "p:g/next FILE:2");
	add(f, "p:g/last FILE:3");
	add(f, "p:g/first FILE:4");
	assert_prints(event_available_print(f->top, out),
		      "g:last\ng:next\ng:first\ntest:all\ntest:other\nmore:third\n");
	assert_int_equal(event_set_enable(f->top, model_find_system(f->model, "g"), true, NULL), 0);
	assert_prints(event_set_print(f->top, out), "g:last\ng:next\ng:first\n");
	assert_int_equal(event_set_word(f->top, "!g:next", NULL), 0);
	assert_int_equal(event_set_word(f->top, "g:none", NULL), -EINVAL);
	assert_prints(event_set_print(f->top, out), "g:last\ng:first\n");
	e = model_find_event(f->model, "g", "next");
	assert_false(event_file_find(f->top, e)->enabled);
	event_set_clear(f->top);
	assert_int_equal(command(f, "-:first"), 0);
	assert_lists(f, "p:g/next FILE:0x0000000000000002\np:g/last FILE:0x0000000000000003\n");
	assert_int_equal(command(f, "-:first"), -ENOENT);
}

static void a_function_of_a_file_can_be_named(void **state)
{
	struct fixture *f = *state;
	char *text, *line;

	add(f, "p:u SELF:place_target a=$arg1:s32 b=+0($arg2):string $arg7");
	text = printed(dynamic_print(f->model, out));
	line = strstr(text, " a=");
	assert_non_null(line);
	assert_string_equal(line, " a=%di:s32 b=+0(%si):string arg3=$stack1\n");
	free(text);
}

static void an_argument_beyond_the_entry_has_no_register(void **state)
{
	static const struct wrong cases[] = {
		{ "p:u SELF:place_target+1 a=$arg1", -EINVAL,
		  "$arg* can be used only on function entry or exit", 0 },
		{ "r:u SELF:place_target a=$arg1", -EINVAL,
		  "$arg* can be used only on function entry or exit", 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct wrong w = cases[i];
		char *line = with_paths(w.command);

		w.caret = (int)(strstr(line, "$arg1") - line);
		free(line);
		assert_wrong(*state, &w);
	}
}

/* A recording of a kernel has it, because the kernel keeps it. */
static void a_program_keeps_no_argument_for_the_return(void **state)
{
	static const struct wrong wrong = {
		"r:n second a=$arg1", -EINVAL,
		"At the return of a program's function $argN is gone: take it at the entry", 13,
	};
	struct fixture *f = *state;

	f->model->of_programs = true;
	assert_wrong(f, &wrong);
	add(f, "p:n second a=$arg1");
}

static void a_probe_that_is_never_hit_is_told(void **state)
{
	struct fixture *f = *state;

	add(f, "p:n second");
	assert_prints(place_print_idle(f->model, out), "");
	assert_int_equal(
		event_file_enable(event_file_get(f->top,
						 model_find_event(f->model, "kprobes", "n")),
				  true),
		0);
	assert_prints(place_print_idle(f->model, out), "probe kprobes:n\n");
}

/* A hit of an event without arguments, as a recording passes it. */
static void hit_place(struct fixture *f, const struct event *e)
{
	struct slot *slot = session_slot_get(f->session);
	struct {
		uint16_t	type;
		uint16_t	flags;
		int32_t		pid;
		uint64_t	ip;
	} r = { .type = e->id, .pid = 7, .ip = 0x1100 };
	struct hit h = { .record = &r, .size = sizeof(r), .time = 1000, .comm = "somebody" };

	hit(session_plane(f->session), slot, &h);
	session_slot_put(f->session, slot);
}

/* An event of a uprobe without arguments, as a recording has it. */
static void add_recorded(struct fixture *f, const char *system, const char *name, int id)
{
	char *text;
	int err;

	assert_true(asprintf(&text,
			     "name: %s\nID: %d\nformat:\n"
			     "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
			     "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;"
			     "\tsigned:0;\n"
			     "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;"
			     "\tsigned:0;\n"
			     "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
			     "\tfield:unsigned long __probe_ip;\toffset:8;\tsize:8;\tsigned:0;"
			     "\n\nprint fmt: \"(%%lx)\", REC->__probe_ip\n",
			     name, id) > 0);
	err = model_add_event(f->model, system, text, strlen(text), NULL);
	assert_int_equal(err, 0);
	free(text);
}

static void a_recorded_event_becomes_the_probes_own(void **state)
{
	static const struct wrong other = { "p:uprobes/there /none/wl:16 a=%di", -ENOENT,
					    "Failed to find the given file", 16 };
	static const struct wrong unnamed = { "p /none/wl:17", -ENOENT,
					      "Failed to find the given file", 2 };
	struct fixture *f = *state;
	struct event *e;

	assert_int_equal(model_set_imported(f->model), 0);
	add_recorded(f, "uprobes", "there", 200);
	add_recorded(f, "uprobes", "p_wl_0x10", 201);
	/* Its file was on another machine. */
	add(f, "p:there /none/wl:16");
	add(f, "p /none/wl:16");
	e = model_find_event(f->model, "uprobes", "there");
	assert_int_equal(e->id, 200);
	assert_true(e->dynamic);
	assert_int_equal(model_find_event(f->model, "uprobes", "p_wl_0x10")->id, 201);
	add_recorded(f, "group", "there", 203);
	add(f, "p:group/there /none/wl:16");
	assert_int_equal(model_find_event(f->model, "group", "there")->id, 203);
	assert_int_equal(event_file_enable(event_file_get(f->top, e), true), 0);
	assert_prints(place_print_idle(f->model, out), "");
	assert_prints(errlog_print(f->top->errlog, out), "");
	hit_place(f, e);
	assert_int_equal(place_hits(place_of_event(e)), 1);
	assert_int_equal(event_file_enable(event_file_get(f->top, e), false), 0);
	assert_int_equal(uprobe_command(f->model, "-:there"), 0);
	assert_null(model_find_event(f->model, "uprobes", "there"));
	/* A probe of the same name with another format is none of the recording's. */
	add_recorded(f, "uprobes", "there", 202);
	assert_wrong(f, &other);
	assert_wrong(f, &unnamed);
	assert_int_equal(model_find_event(f->model, "uprobes", "there")->id, 202);
}

static void the_profile_counts_hits_while_it_is_enabled(void **state)
{
	struct fixture *f = *state;
	struct event *e;

	add(f, "p:n second");
	add(f, "p:u FILE:1");
	e = model_find_event(f->model, "kprobes", "n");
	hit_place(f, e);
	assert_int_equal(event_file_enable(event_file_get(f->top, e), true), 0);
	hit_place(f, e);
	hit_place(f, e);
	assert_int_equal(event_file_enable(event_file_get(f->top, e), false), 0);
	hit_place(f, e);
	assert_prints(kprobe_print_profile(f->model, out),
		      "  n                                                          2"
		      "               0\n");
	e = model_find_event(f->model, "uprobes", "u");
	assert_int_equal(
		event_file_trigger_write(event_file_get(f->top, e), "hist:keys=__probe_ip"), 0);
	hit_place(f, e);
	assert_int_equal(place_hits(place_of_event(e)), 1);
	event_file_trigger_truncate(event_file_find(f->top, e));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(commands_and_how_they_read_back),
		TEST(the_format_is_the_kernels),
		TEST(what_is_wrong_is_told_with_its_place),
		TEST(several_probes_have_one_event),
		TEST(events_are_listed_newest_first_also_if_an_old_one_gets_a_place),
		TEST(a_function_of_a_file_can_be_named),
		TEST(an_argument_beyond_the_entry_has_no_register),
		TEST(a_program_keeps_no_argument_for_the_return),
		TEST(a_probe_that_is_never_hit_is_told),
		TEST(the_profile_counts_hits_while_it_is_enabled),
		TEST(a_recorded_event_becomes_the_probes_own),
	};
	int fd = mkstemp(file), rc;
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (fd < 0 || n < 0)
		return 1;
	close(fd);
	rc = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(file);
	return rc;
}
