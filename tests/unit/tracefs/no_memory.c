/* SPDX-License-Identifier: MIT */
/*
 * no_memory.c - each allocation fails once, for each command and for each reading of a file
 *
 * The allocations of one operation fail one after the other. The operation still works, or it
 * returns ENOMEM and the session's files are as before. A right command never gets another error,
 * and a text is never incomplete.
 */
#include "model/ftrace/ftrace.h"
#include "model/symbols.h"
#include "model/text_memory.h"
#include "tree_fixture.h"

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t nr, size_t size);
void *__libc_realloc(void *old, size_t size);

/* Call number fail_at fails; 0: no call fails. */
static unsigned int calls, fail_at;

static bool fails(void)
{
	if (++calls != fail_at)
		return false;

	errno = ENOMEM;
	return true;
}

void *malloc(size_t size)
{
	return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t nr, size_t size)
{
	return fails() ? NULL : __libc_calloc(nr, size);
}

void *realloc(void *old, size_t size)
{
	return fails() ? NULL : __libc_realloc(old, size);
}

enum { MANY = 100000 };

static char what[512];
static unsigned int faults;

#define complain(...) do {						\
	print_message("# %s: ", what);					\
	print_message(__VA_ARGS__);					\
	print_message("\n");						\
	faults++;							\
} while (0)

/* Only the allocations of this write may fail. The test's own do not. */
static ssize_t append_failing(struct fixture *w, const char *path, const char *text,
			      unsigned int nth)
{
	ssize_t ret;

	calls = 0;
	fail_at = nth;
	ret = fixture_append(w, path, text);
	fail_at = 0;
	return ret;
}

/* `undo` is written to the same file if the command has worked. */
struct command {
	const char	*path, *text, *undo;
	const char	*file;		/* the file that shows it */
};

#define FIRST	"events/test/first/"
#define SECOND	"events/test/second/"
#define INSTANCE "instances/other/"

static const struct command commands[] = {
	{ FIRST "trigger", "hist:keys=pid:size=128", "!hist:keys=pid:size=128", FIRST "trigger" },
	{ FIRST "trigger",
	  "hist:name=n:keys=pid.hex,common_pid.execname:vals=pid:sort=pid:size=128",
	  "!hist:name=n:keys=pid.hex,common_pid.execname:vals=pid:sort=pid:size=128",
	  FIRST "trigger" },
	{ FIRST "trigger", "hist:keys=common_stacktrace,pid.buckets=4:size=128",
	  "!hist:keys=common_stacktrace,pid.buckets=4:size=128", FIRST "trigger" },
	{ FIRST "trigger", "hist:keys=pid:ts=common_timestamp.usecs,d=pid*2+1:size=128",
	  "!hist:keys=pid:ts=common_timestamp.usecs,d=pid*2+1:size=128", FIRST "trigger" },
	{ FIRST "trigger", "hist:keys=pid:v=pid:onchange($v).snapshot():size=128",
	  "!hist:keys=pid:v=pid:onchange($v).snapshot():size=128", FIRST "trigger" },
	{ FIRST "trigger", "hist:keys=pid:v=pid:onmax($v).save(common_pid):size=128",
	  "!hist:keys=pid:v=pid:onmax($v).save(common_pid):size=128", FIRST "trigger" },
	{ FIRST "trigger", "hist:keys=pid:onmatch(test.first).trace(late,pid):size=128",
	  "!hist:keys=pid:onmatch(test.first).trace(late,pid):size=128", FIRST "trigger" },
	{ FIRST "trigger",
	  "hist:keys=pid:x=pid:onmatch(test.first).late($x) if pid > 3 && common_cpu == 0",
	  "!hist:keys=pid:x=pid:onmatch(test.first).late($x) if pid > 3 && common_cpu == 0",
	  FIRST "trigger" },
	{ SECOND "trigger", "hist:keys=pid:w=$base-pid:size=128",
	  "!hist:keys=pid:w=$base-pid:size=128", SECOND "trigger" },
	{ FIRST "trigger", "stacktrace:5 if pid == 1", "!stacktrace", FIRST "trigger" },
	{ FIRST "trigger", "snapshot:1", "!snapshot", FIRST "trigger" },
	{ FIRST "trigger", "traceoff:3 if pid != 2", "!traceoff", FIRST "trigger" },
	{ FIRST "trigger", "enable_event:test:second:2", "!enable_event:test:second",
	  FIRST "trigger" },
	{ FIRST "trigger", "enable_hist:test:second", "!enable_hist:test:second", FIRST "trigger" },
	{ FIRST "filter", "pid > 1 && (common_pid != 7 || comm ~ \"a*b\")", "0", FIRST "filter" },
	{ FIRST "enable", "1", "0", FIRST "enable" },
	/* As in the kernel, a part of the events may be enabled after an error. */
	{ "events/test/enable", "1", "0", NULL },
	{ "set_event", "test:first", "!test:first", "set_event" },
	{ "set_event", "test:*", "!test:*", NULL },
	{ "synthetic_events", "made int a; char b[16]; char c[]; unsigned long[] s", "!made",
	  "synthetic_events" },
	{ "dynamic_events", "s:other u64 a; pid_t p", "-:other", "dynamic_events" },
	{ "dynamic_events", "e:probed test.first p=$pid:s32 q=\\3:u8", "-:probed",
	  "dynamic_events" },
	{ "set_event_pid", "1 2 3", "", "set_event_pid" },
	{ "trace_options", "stacktrace", "nostacktrace", "trace_options" },
	{ "trace_options", "event-fork", "noevent-fork", "trace_options" },
	{ "trace_clock", "mono", "global", "trace_clock" },
	{ "tracing_on", "0", "1", "tracing_on" },
	{ "buffer_percent", "20", "50", "buffer_percent" },
	{ "saved_cmdlines_size", "20", "128", "saved_cmdlines_size" },
	{ "tracing_cpumask", "1", "3", "tracing_cpumask" },
	{ "current_tracer", "function", "nop", "current_tracer" },
	{ "buffer_size_kb", "64", "1408", "buffer_size_kb" },
	{ "snapshot", "1", "0", NULL },
	/* A variable of the other event's field needs a histogram there. */
	{ SECOND "trigger", "hist:keys=common_pid:onmatch(test.first).trace(late,test.first.pid)",
	  "!hist:keys=common_pid:onmatch(test.first).trace(late,test.first.pid)",
	  FIRST "trigger" },
	{ "kprobe_events", "p:group/probe beta a=%di", "-:group/probe beta a=%di",
	  "dynamic_events" },
	{ "set_event", ":mod:missing", "!:mod:missing", "set_event" },
	{ "set_ftrace_filter", "beta:traceoff:3\n", "!beta:traceoff:3\n", "set_ftrace_filter" },
	{ "set_ftrace_filter", "*:enable_event:test:first\n", "!*:enable_event:test:first\n",
	  "set_ftrace_filter" },
	{ "set_ftrace_filter", "alpha:stacktrace\n", NULL, "set_ftrace_filter" },
	{ "set_ftrace_filter", "beta:stacktrace\n", "!beta:stacktrace\n", "set_ftrace_filter" },
	{ "set_ftrace_filter", "a*:mod:missing\n", NULL, "set_ftrace_filter" },
	{ "set_event_notrace_pid", "4 5", NULL, NULL },
	{ "set_event_notrace_pid", "77", NULL, "set_event_notrace_pid" },
	{ INSTANCE "tracing_on", "0", "1", INSTANCE "tracing_on" },
	{ INSTANCE "buffer_percent", "20", "50", INSTANCE "buffer_percent" },
	{ INSTANCE "buffer_size_kb", "64", "32", INSTANCE "buffer_size_kb" },
	{ INSTANCE "per_cpu/cpu1/buffer_size_kb", "64", "32", INSTANCE "buffer_size_kb" },
	{ INSTANCE "buffer_subbuf_size_kb", "8", "4", INSTANCE "buffer_subbuf_size_kb" },
	{ INSTANCE "tracing_max_latency", "7", "0", INSTANCE "tracing_max_latency" },
	{ INSTANCE "current_tracer", "function", "nop", INSTANCE "current_tracer" },
	{ "trace_marker", "hello", NULL, NULL },
};

/* Definitions that commands refer to. */
static void prepare(struct fixture *w)
{
	static const char functions[] = "1000 alpha\n1010 beta\n";

	assert_int_equal(fixture_append(w, "synthetic_events", "late int p"), 10);
	assert_true(fixture_append(w, SECOND "trigger", "hist:keys=pid:base=pid:size=128") > 0);
	assert_true(fixture_append(w, FIRST "trigger", "hist:keys=common_pid:size=128") > 0);
	assert_int_equal(tree_mkdir(w->tree, "instances/other"), 0);
	assert_true(fixture_append(w, INSTANCE "buffer_size_kb", "32") > 0);
	assert_int_equal(ftrace_sites_load(w->model, functions, strlen(functions)), 0);
	assert_int_equal(symbols_add(w->model->symbols, 0x1010, 't', "beta", NULL), 0);
}

static void assert_as_before(struct fixture *w, const struct command *c, const char *before)
{
	char *now = c->file ? fixture_read(w, c->file) : NULL;

	if (c->file && (!now || strcmp(now, before)))
		complain("%s was:\n%sand is:\n%s", c->file, before, now ? now : "gone");
	free(now);
}

/* What is undone by a command may fail, too. Then all is as before that. */
static void try_undo(struct fixture *w, const struct command *c)
{
	unsigned int nth = 0;
	char *before;
	ssize_t ret;

	if (!c->undo || !*c->undo || !c->file)
		return;
	assert_true(fixture_append(w, c->path, c->text) >= 0);
	before = fixture_read(w, c->file);
	do {
		snprintf(what, sizeof(what), "%s < %s, allocation %u", c->path, c->undo, ++nth);
		ret = append_failing(w, c->path, c->undo, nth);
		if (ret < 0 && ret != -ENOMEM)
			complain("%s", strerror((int)-ret));
		if (ret < 0)
			assert_as_before(w, c, before);
	} while (ret < 0 && nth < MANY);
	free(before);
}

static void undo(struct fixture *w, const struct command *c)
{
	if (c->undo && *c->undo)
		assert_true(fixture_append(w, c->path, c->undo) >= 0);
	else if (c->undo)
		assert_true(fixture_write(w, c->path, "") >= 0);
}

static void try_command(struct fixture *w, const struct command *c)
{
	char *before = c->file ? fixture_read(w, c->file) : NULL;
	unsigned int nth = 0;
	ssize_t ret;

	do {
		snprintf(what, sizeof(what), "%s < %s, allocation %u", c->path, c->text, ++nth);
		ret = append_failing(w, c->path, c->text, nth);
		if (ret < 0 && ret != -ENOMEM)
			complain("%s", strerror((int)-ret));
		if (ret >= 0)
			undo(w, c);
		if (ret < 0 || c->undo)
			assert_as_before(w, c, before);
		/* What is not undone works once. */
	} while (calls >= nth && nth < MANY && (ret < 0 || c->undo || !c->file));
	assert_true(ret >= 0);
	try_undo(w, c);
	if (c->undo)
		assert_as_before(w, c, before);
	free(before);
}

static void a_right_command_is_not_called_wrong(void **state)
{
	struct fixture *w = *state;

	faults = 0;
	prepare(w);
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		try_command(w, &commands[i]);
	assert_int_equal(faults, 0);
}

/* An event needs memory when it is first used. So each try has a new session. */
static void an_event_that_is_used_first(void **state)
{
	static const struct command first[] = {
		{ FIRST "filter", "pid > 1", NULL, NULL },
		{ FIRST "trigger", "hist:keys=pid:size=128", NULL, NULL },
		{ FIRST "trigger", "stacktrace if pid > 3", NULL, NULL },
		{ FIRST "enable", "1", NULL, NULL },
		{ "set_event", "test:first", NULL, NULL },
		{ "dynamic_events", "e:probed test.first p=$pid:s32", NULL, NULL },
	};
	ssize_t ret;

	faults = 0;
	for (size_t i = 0; i < sizeof(first) / sizeof(first[0]); i++) {
		unsigned int nth = 0;

		do {
			void *fixture;

			assert_int_equal(fixture_setup(&fixture), 0);
			snprintf(what, sizeof(what), "%s < %s, first, allocation %u",
				 first[i].path, first[i].text, ++nth);
			ret = append_failing(fixture, first[i].path, first[i].text, nth);
			if (ret < 0 && ret != -ENOMEM)
				complain("%s", strerror((int)-ret));
			fixture_teardown(&fixture);
		} while (calls >= nth && nth < MANY);
	}
	assert_int_equal(faults, 0);
}

/* The files that show what was restored, one after the other. The caller frees the text. */
static char *restored_files(struct fixture *w)
{
	static const char *const files[] = {
		FIRST "trigger", SECOND "trigger", FIRST "filter", FIRST "enable", SECOND "enable",
		"set_event", "set_event_pid", "dynamic_events", "set_ftrace_filter", "trace_clock",
		"tracing_on", "buffer_size_kb", "per_cpu/cpu1/buffer_size_kb", "current_tracer",
		INSTANCE FIRST "trigger", INSTANCE "set_ftrace_filter", INSTANCE "current_tracer",
	};
	char *all = NULL, *text;
	size_t size;
	FILE *out = text_memory_open(&all, &size);

	assert_non_null(out);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		text = fixture_read(w, files[i]);
		fprintf(out, "%s:\n%s", files[i], text ? text : "none\n");
		free(text);
	}
	assert_int_equal(fclose(out), 0);
	return all;
}

static void make_much(struct fixture *w)
{
	static const struct {
		const char	*path, *text;
	} lines[] = {
		{ FIRST "trigger", "hist:name=n:keys=pid:size=128" },
		{ SECOND "trigger", "hist:name=n:keys=pid:size=128:pause" },
		{ SECOND "trigger",
		  "hist:keys=common_pid:onmatch(test.first).trace(late,test.first.pid)" },
		{ FIRST "trigger", "enable_event:test:second:5 if pid > 3" },
		{ FIRST "filter", "pid > 1" },
		{ FIRST "enable", "1" },
		{ "set_event", ":mod:missing" },
		{ "set_event_pid", "1 2 3" },
		{ "dynamic_events", "e:probed test.first p=$pid:s32" },
		{ "set_ftrace_filter", "beta:traceoff:3\n" },
		{ "set_ftrace_filter", "*:stacktrace\n" },
		{ "trace_clock", "mono" },
		{ "tracing_on", "0" },
		{ "per_cpu/cpu1/buffer_size_kb", "100" },
		{ "current_tracer", "function" },
		{ INSTANCE FIRST "trigger", "hist:name=n:keys=pid:size=128" },
		{ INSTANCE "current_tracer", "function" },
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		assert_true(fixture_append(w, lines[i].path, lines[i].text) > 0);
}

/* A new server gives up if it has no memory, or does without. The next one finds all. */
static void what_is_saved_is_not_lost(void **state)
{
	struct fixture *w = *state;
	char *before, *now;
	unsigned int nth = 0, nr;
	int err;

	faults = 0;
	prepare(w);
	make_much(w);
	fixture_new_server(w);
	before = restored_files(w);
	do {
		fixture_server_dies(w);
		calls = 0;
		fail_at = ++nth;
		err = fixture_restore(w);
		fail_at = 0;
		nr = calls;
		snprintf(what, sizeof(what), "a new server, allocation %u", nth);
		if (err && err != -ENOMEM)
			complain("%s", strerror(-err));
		if (err)
			fixture_new_server(w);
		now = restored_files(w);
		if (strcmp(now, before))
			complain("%s\ninstead of\n%s", now, before);
		free(now);
	} while (!faults && nr >= nth && nth < MANY);
	free(before);
	assert_int_equal(faults, 0);
}

/* As fixture_read(), but allocation number `nth` of the tree fails. NULL: *err says why. */
static char *read_failing(struct fixture *w, const char *path, unsigned int nth, int *err)
{
	static char text[1 << 20];
	struct tree_file *f;
	size_t len = 0;
	ssize_t n;

	calls = 0;
	fail_at = nth;
	*err = tree_open(w->tree, path, O_RDONLY | O_NONBLOCK, &f);
	if (!*err) {
		while (len < sizeof(text) - 1 &&
		       (n = tree_read(f, text + len, sizeof(text) - 1 - len, (off_t)len)) > 0)
			len += (size_t)n;
		tree_release(f);
		*err = (int)n;
	}
	fail_at = 0;
	text[len] = '\0';
	return *err ? NULL : text;
}

static size_t same(const char *a, const char *b)
{
	size_t n = 0;

	while (a[n] && a[n] == b[n])
		n++;
	return n;
}

static void try_file(struct fixture *w, const char *path)
{
	char *whole = fixture_read(w, path), *part;
	unsigned int nth = 0;
	int err;

	if (!whole)
		fail_msg("no file %s", path);
	do {
		snprintf(what, sizeof(what), "%s, allocation %u", path, ++nth);
		part = read_failing(w, path, nth, &err);
		if (!part && err != -ENOMEM)
			complain("%s", strerror(-err));
		if (part && strcmp(part, whole))
			complain("from byte %zu on: %.60s", same(part, whole),
				 part + same(part, whole));
	} while (calls >= nth && nth < MANY);
	assert_non_null(part);
	free(whole);
}

static const char *const texts[] = {
	FIRST "trigger",
	FIRST "hist",
	FIRST "hist.json",
	FIRST "format",
	FIRST "filter",
	FIRST "id",
	SECOND "hist",
	"events/ftrace/print/hist",
	"events/ftrace/print/hist.json",
	"events/header_page",
	"trace",
	"snapshot",
	"set_event",
	"available_events",
	"synthetic_events",
	"dynamic_events",
	"saved_cmdlines",
	"trace_options",
	"trace_clock",
	"printk_formats",
	"error_log",
	"per_cpu/cpu0/trace",
	"kallsyms",
	"set_event_pid",
	"README",
	"set_ftrace_filter",
	"set_graph_function",
};

/* Gives each of these files something to say. */
static void prepare_texts(struct fixture *w)
{
	prepare(w);
	assert_true(fixture_append(w, "dynamic_events", "e:probed test.first p=$pid:s32") > 0);
	assert_true(fixture_append(w, FIRST "trigger", "hist:keys=pid:vals=pid:ts=common_timestamp:"
				 "onmatch(test.first).late(pid):size=128") > 0);
	assert_true(fixture_append(w, FIRST "trigger", "hist:keys=pid:name=n:sort=pid:size=128") >
		    0);
	assert_true(fixture_append(w, FIRST "filter", "pid > 1") > 0);
	assert_true(fixture_append(w, "set_event_pid", "1 2 3") > 0);
	assert_true(fixture_append(w, "snapshot", "1") > 0);
	assert_true(fixture_append(w, "events/ftrace/print/trigger", "hist:keys=common_pid,ip.hex:"
				 "vals=hitcount,ip:size=128") > 0);
	assert_true(fixture_append(w, "events/ftrace/print/trigger", "hist:keys=common_stacktrace:"
				 "size=128") > 0);
	assert_true(fixture_append(w, "events/ftrace/print/trigger", "hist:keys=ip.sym,"
				 "ip.sym-offset:size=128") > 0);
	assert_true(fixture_append(w, "set_ftrace_filter", "beta:traceoff:3\n") > 0);
	assert_true(fixture_append(w, "set_graph_function", "beta\n") > 0);
	assert_true(fixture_append(w, "trace_marker", "a marker") > 0);
	assert_true(fixture_append(w, FIRST "filter", "nosuch > 1") < 0);
}

static void a_text_is_whole_or_not_there(void **state)
{
	struct fixture *w = *state;

	faults = 0;
	prepare_texts(w);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		try_file(w, texts[i]);
	assert_int_equal(faults, 0);
}

int main(void)
{
#define FIXTURE_TEST(fn) cmocka_unit_test_setup_teardown(fn, fixture_setup, fixture_teardown)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_event_that_is_used_first),
		FIXTURE_TEST(a_right_command_is_not_called_wrong),
		FIXTURE_TEST(what_is_saved_is_not_lost),
		FIXTURE_TEST(a_text_is_whole_or_not_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
