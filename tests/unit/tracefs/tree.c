/* SPDX-License-Identifier: MIT */
/*
 * tree.c - paths, directories, open files, commands in several writes
 */
#include <stdio.h>
#include <sys/stat.h>

#include "tree_fixture.h"

static mode_t mode_of(struct fixture *w, const char *path)
{
	struct tree_stat st;

	assert_int_equal(tree_stat(w->tree, path, &st), 0);
	return st.mode;
}

static void modes_are_the_kernel_s(void **state)
{
	assert_int_equal(mode_of(*state, ""), S_IFDIR | 0700);
	assert_int_equal(mode_of(*state, "options"), S_IFDIR | 0750);
	assert_int_equal(mode_of(*state, "events/test/first"), S_IFDIR | 0755);
	assert_int_equal(mode_of(*state, "trace"), S_IFREG | 0640);
	assert_int_equal(mode_of(*state, "trace_pipe"), S_IFREG | 0440);
	assert_int_equal(mode_of(*state, "trace_marker"), S_IFREG | 0220);
	assert_int_equal(mode_of(*state, "free_buffer"), S_IFREG | 0200);
	assert_int_equal(mode_of(*state, "per_cpu/cpu1/stats"), S_IFREG | 0440);
	assert_int_equal(mode_of(*state, "events/test/first/format"), S_IFREG | 0440);
}

static unsigned int links_of(struct fixture *w, const char *path)
{
	struct tree_stat st;

	assert_int_equal(tree_stat(w->tree, path, &st), 0);
	return st.nlink;
}

/* As the kernel, which counts the directories inside, but none below events/. */
static void links_count_directories(void **state)
{
	struct fixture *w = *state;

	assert_int_equal(links_of(w, "per_cpu"), 2 + 2);
	assert_int_equal(links_of(w, "per_cpu/cpu0"), 2);
	assert_int_equal(links_of(w, "events"), 1);
	assert_int_equal(links_of(w, "events/test/first"), 1);
	assert_int_equal(links_of(w, "trace"), 1);
	assert_int_equal(links_of(w, "instances"), 2);
	assert_int_equal(tree_mkdir(w->tree, "instances/a"), 0);
	assert_int_equal(links_of(w, "instances"), 3);
	assert_int_equal(links_of(w, "instances/a"), 2 + 3);
}

static ssize_t read_at(struct tree_file *f, size_t size, off_t off)
{
	char buf[64];

	assert_true(size <= sizeof(buf));
	return tree_read(f, buf, size, off);
}

/* Nothing of these files is behind the first read. */
static void what_is_read_once(void **state)
{
	static const char *const names[] = { "events/header_page", "events/header_event",
					     "events/test/filter", "events/test/first/filter" };
	struct fixture *w = *state;
	struct tree_file *f;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		assert_int_equal(tree_open(w->tree, names[i], O_RDONLY, &f), 0);
		assert_int_equal(read_at(f, 1, 0), 1);
		assert_int_equal(read_at(f, 64, 1), 0);
		assert_true(read_at(f, 64, 0) > 1);
		tree_release(f);
	}
	assert_int_equal(tree_open(w->tree, "events/test/first/id", O_RDONLY, &f), 0);
	assert_int_equal(read_at(f, 1, 0), 1);
	assert_int_equal(read_at(f, 64, 1), 3);
	tree_release(f);
}

static void a_read_without_room_for_the_cpumask(void **state)
{
	struct fixture *w = *state;
	struct tree_file *f;

	assert_int_equal(tree_open(w->tree, "tracing_cpumask", O_RDONLY, &f), 0);
	assert_int_equal(read_at(f, 1, 0), -EINVAL);
	assert_int_equal(read_at(f, 2, 0), -EINVAL);
	assert_int_equal(read_at(f, 3, 0), 2);
	assert_int_equal(read_at(f, 3, 2), 0);
	assert_int_equal(read_at(f, 2, 2), -EINVAL);
	tree_release(f);
}

static void what_is_read_anew(void **state)
{
	struct fixture *w = *state;
	struct tree_file *f;
	char buf[64];

	assert_int_equal(tree_open(w->tree, "tracing_on", O_RDWR, &f), 0);
	assert_int_equal(tree_read(f, buf, sizeof(buf), 0), 2);
	assert_int_equal(buf[0], '1');
	assert_int_equal(tree_write(f, "0", 1), 1);
	tree_read_anew(f);
	assert_int_equal(tree_read(f, buf, sizeof(buf), 0), 2);
	assert_int_equal(buf[0], '0');
	tree_release(f);
}

static void what_has_no_offset(void **state)
{
	static const struct { const char *name; int flags; bool stream; } files[] = {
		{ "trace_marker", O_WRONLY, true }, { "trace_marker_raw", O_WRONLY, true },
		{ "trace_pipe", O_RDONLY, true }, { "per_cpu/cpu0/trace_pipe_raw", O_RDONLY, true },
		{ "per_cpu/cpu0/snapshot_raw", O_RDONLY, true }, { "trace", O_RDONLY, false },
		{ "tracing_on", O_RDWR, false },
	};
	struct fixture *w = *state;
	struct tree_file *f;

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		assert_int_equal(tree_open(w->tree, files[i].name, files[i].flags, &f), 0);
		assert_int_equal(tree_is_stream(f), files[i].stream);
		tree_release(f);
	}
}

static void what_is_not_there_is_refused(void **state)
{
	struct fixture *w = *state;
	struct tree_stat st;
	struct tree_file *f;

	assert_int_equal(tree_stat(w->tree, "nonesuch", &st), -ENOENT);
	assert_int_equal(tree_stat(w->tree, "per_cpu/cpu2", &st), -ENOENT);
	assert_int_equal(tree_stat(w->tree, "per_cpu/cpu01", &st), -ENOENT);
	assert_int_equal(tree_stat(w->tree, "events/test/nonesuch", &st), -ENOENT);
	assert_int_equal(tree_stat(w->tree, "trace/x", &st), -ENOTDIR);
	assert_int_equal(tree_open(w->tree, "events", O_RDONLY, &f), -EISDIR);
	assert_int_equal(tree_open(w->tree, "events/ftrace/print/id/x", O_RDONLY, &f), -ENOTDIR);
}

struct names {
	char text[4096];
};

static int add_name(void *arg, const char *name, bool is_dir)
{
	struct names *n = arg;
	size_t len = strlen(n->text);

	snprintf(n->text + len, sizeof(n->text) - len, " %s%s", name, is_dir ? "/" : "");
	return 0;
}

static bool lists(struct fixture *w, const char *dir, const char *name)
{
	struct names n = { " " };
	char wanted[64];

	assert_int_equal(tree_list(w->tree, dir, add_name, &n), 0);
	strcat(n.text, " ");
	snprintf(wanted, sizeof(wanted), " %s ", name);
	return strstr(n.text, wanted) != NULL;
}

static void an_instance_lacks_what_is_the_top_s(void **state)
{
	struct fixture *w = *state;

	assert_int_equal(tree_mkdir(w->tree, "instances/a"), 0);
	assert_true(lists(w, "", "README") && lists(w, "", "instances/") &&
		    lists(w, "options", "record-cmd"));
	assert_false(lists(w, "instances/a", "README"));
	assert_false(lists(w, "instances/a", "instances/"));
	assert_false(lists(w, "instances/a/options", "record-cmd"));
	assert_true(lists(w, "instances/a", "trace") &&
		    lists(w, "instances/a/events/test", "first/"));
}

static void system_ftrace_has_its_own_files(void **state)
{
	struct fixture *w = *state;

	assert_false(lists(w, "events/ftrace", "enable"));
	assert_false(lists(w, "events/ftrace/raw_data", "enable"));
	assert_false(lists(w, "events/ftrace/raw_data", "trigger"));
	assert_true(lists(w, "events/ftrace/print", "trigger"));
}

static void an_event_that_comes_later_has_a_directory(void **state)
{
	static const char format[] = "name: third\nID: 102\nformat:\n"
		"\tfield:int pid;\toffset:8;\tsize:4;\tsigned:1;\n\nprint fmt: \"\"\n";
	struct fixture *w = *state;
	struct tree_stat st;

	assert_int_equal(tree_stat(w->tree, "events/late/third", &st), -ENOENT);
	assert_int_equal(model_add_event(w->model, "late", format, strlen(format), NULL), 0);
	assert_int_equal(tree_stat(w->tree, "events/late/third", &st), 0);
	assert_file(w, "events/late/third/id", "102\n");
}

static void directories_are_made_below_instances_only(void **state)
{
	struct fixture *w = *state;
	char name[300];

	assert_int_equal(tree_mkdir(w->tree, "instances/a"), 0);
	assert_int_equal(tree_mkdir(w->tree, "instances/a"), -EEXIST);
	assert_int_equal(tree_mkdir(w->tree, "instances/a/b"), -EPERM);
	assert_int_equal(tree_mkdir(w->tree, "instances/b/b"), -ENOENT);
	assert_int_equal(tree_mkdir(w->tree, "b"), -EPERM);
	assert_int_equal(tree_mkdir(w->tree, "trace/b"), -ENOTDIR);
	assert_int_equal(tree_mkdir(w->tree, "events"), -EEXIST);
	memset(name, 'x', sizeof(name));
	memcpy(name, "instances/", 10);
	name[10 + 255] = '\0';
	assert_int_equal(tree_mkdir(w->tree, name), 0);
	name[10 + 255] = 'x';
	name[10 + 256] = '\0';
	assert_int_equal(tree_mkdir(w->tree, name), -ENAMETOOLONG);
	assert_int_equal(tree_rmdir(w->tree, "events"), -EPERM);
	assert_int_equal(tree_rmdir(w->tree, "instances/b"), -ENOENT);
	assert_int_equal(tree_rmdir(w->tree, "instances/a"), 0);
	assert_int_equal(tree_rmdir(w->tree, "instances/a"), -ENOENT);
}

/* As Linux 6.12, which was tried. */
static void files_of_an_event_let_their_instance_go(void **state)
{
	static const struct { const char *name; int flags, rmdir, read; } files[] = {
		{ "id", O_RDONLY, 0, 0 }, { "format", O_RDONLY, 0, -ENODEV },
		{ "trigger", O_RDWR | O_APPEND, 0, -ENODEV }, { "enable", O_RDONLY, -EBUSY, 0 },
		{ "filter", O_RDONLY, -EBUSY, 0 }, { "hist", O_RDONLY, -EBUSY, 0 },
	};
	struct fixture *w = *state;
	struct tree_file *f;
	char path[80], text[8];
	ssize_t nr;

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		snprintf(path, sizeof(path), "instances/a/events/test/first/%s",
			 files[i].name);
		assert_int_equal(tree_mkdir(w->tree, "instances/a"), 0);
		assert_int_equal(tree_open(w->tree, path, files[i].flags, &f), 0);
		assert_int_equal(tree_rmdir(w->tree, "instances/a"), files[i].rmdir);
		/* One of the same name is another one. */
		if (!files[i].rmdir)
			assert_int_equal(tree_mkdir(w->tree, "instances/a"), 0);
		nr = tree_read(f, text, sizeof(text), 0);
		assert_int_equal(nr < 0 ? nr : 0, files[i].read);
		if (files[i].flags != O_RDONLY)
			assert_int_equal(tree_write(f, "traceoff", 8), -ENODEV);
		assert_int_equal(tree_release(f), 0);
		assert_int_equal(tree_rmdir(w->tree, "instances/a"), 0);
	}
}

static void an_instance_in_use_stays(void **state)
{
	struct fixture *w = *state;
	struct tree_file *f;

	assert_int_equal(tree_mkdir(w->tree, "instances/a"), 0);
	assert_int_equal(tree_open(w->tree, "instances/a/trace", O_RDONLY, &f), 0);
	assert_int_equal(tree_rmdir(w->tree, "instances/a"), -EBUSY);
	assert_int_equal(tree_release(f), 0);
	assert_int_equal(tree_rmdir(w->tree, "instances/a"), 0);
}

static void a_content_is_fixed_when_it_is_first_read(void **state)
{
	struct fixture *w = *state;
	struct tree_file *f;
	char c;

	assert_int_equal(tree_open(w->tree, "buffer_percent", O_RDONLY, &f), 0);
	assert_int_equal(tree_read(f, &c, 1, 0), 1);
	assert_taken(w, "buffer_percent", "77");
	assert_int_equal(c, '5');
	assert_int_equal(tree_read(f, &c, 1, 1), 1);
	assert_int_equal(c, '0');
	assert_int_equal(tree_read(f, &c, 1, 100), 0);
	tree_release(f);
	assert_file(w, "buffer_percent", "77\n");
}

static void access_modes_are_kept(void **state)
{
	struct fixture *w = *state;
	struct tree_file *f;
	char c;

	assert_int_equal(tree_open(w->tree, "tracing_on", O_WRONLY, &f), 0);
	assert_int_equal(tree_read(f, &c, 1, 0), -EBADF);
	tree_release(f);
	assert_int_equal(tree_open(w->tree, "tracing_on", O_RDONLY, &f), 0);
	assert_int_equal(tree_write(f, "1", 1), -EBADF);
	tree_release(f);
	assert_int_equal(fixture_write(w, "README", "x"), -EINVAL);
	assert_null(fixture_read(w, "trace_marker"));
}

/* As in the kernel, only histograms go. */
static void truncation_removes_histograms(void **state)
{
	struct fixture *w = *state;
	const char *trigger = "events/test/first/trigger";

	assert_int_equal(fixture_append(w, trigger, "traceoff\n"), 9);
	assert_int_equal(fixture_append(w, trigger, "hist:keys=pid\n"), 14);
	assert_file(w, trigger, "traceoff:unlimited\n"
		    "hist:keys=pid:vals=hitcount:sort=hitcount:size=2048 [active]\n");
	assert_taken(w, trigger, "stacktrace\n");
	assert_file(w, trigger, "stacktrace:unlimited\ntraceoff:unlimited\n");
}

static void a_line_that_ends_in_a_backslash_waits_for_the_next(void **state)
{
	struct fixture *w = *state;
	struct tree_file *f;

	assert_int_equal(tree_open(w->tree, "events/test/first/trigger", O_WRONLY, &f), 0);
	assert_int_equal(tree_write(f, "traceoff:\\\n", 11), 11);
	assert_file(w, "events/test/first/trigger",
		    "# Available triggers:\n# traceon traceoff snapshot stacktrace "
		    "enable_event disable_event enable_hist disable_hist hist\n");
	assert_int_equal(tree_write(f, "  3 \\\n", 6), 6);
	assert_int_equal(tree_write(f, "\tif pid == 1\n", 13), 13);
	assert_int_equal(tree_release(f), 0);
	assert_file(w, "events/test/first/trigger", "traceoff:count=3 if pid == 1\n");
}

static void joined_lines_keep_words_apart(void **state)
{
	struct fixture *w = *state;

	assert_becomes(w, "synthetic_events", "lat\\\nency \\\n\tu64 x; \\\n  pid_t pid\n",
		       "latency\tu64 x; pid_t pid\n");
}

enum { LINES = 4000 };

static char *many_lines(void)
{
	char *text = malloc(LINES * 32), *at = text;

	assert_non_null(text);
	for (int i = 0; i < LINES; i++)
		at += sprintf(at, "event_%04d int x\n", i);
	return text;
}

/* One that does not wait, as the setup of `run`, has all of it at once. */
static void a_long_write_is_whole(void **state)
{
	struct fixture *w = *state;
	char *text = many_lines(), *got;

	assert_int_equal(fixture_append(w, "synthetic_events", text), strlen(text));
	got = fixture_read(w, "synthetic_events");
	assert_int_equal(strlen(got), strlen(text));
	free(got);
	free(text);
}

/* Others have their turn between its pieces. A second write of the file waits for the first. */
static void a_long_write_lets_others_in(void **state)
{
	struct tree_wrote first = { .until = 0 }, second = { .until = 0 };
	struct fixture *w = *state;
	char *text = many_lines(), *got;
	struct tree_file *f;
	ssize_t n;

	assert_int_equal(tree_open(w->tree, "synthetic_events", O_WRONLY, &f), 0);
	n = tree_write_by(f, 0, text, strlen(text), &first);
	assert_int_equal(n, -EINPROGRESS);
	assert_taken(w, "events/synthetic/event_0000/enable", "1");
	assert_int_equal(tree_write_by(f, 0, "last int x", 10, &second), -EINPROGRESS);
	while (n == -EINPROGRESS)
		n = tree_write_by(f, 0, text, strlen(text), &first);
	assert_int_equal(n, strlen(text));
	assert_int_equal(tree_write_by(f, 0, "last int x", 10, &second), 10);
	tree_release(f);
	got = fixture_read(w, "synthetic_events");
	assert_int_equal(strlen(got), strlen(text) + 11);
	assert_string_equal(got + strlen(text), "last\tint x\n");
	free(got);
	free(text);
}

/* Its writer may end meanwhile. What follows is not carried out. */
static void a_long_write_may_be_given_up(void **state)
{
	struct fixture *w = *state;
	char *text = many_lines(), *got;

	for (int i = 0; i < 2; i++) {
		struct tree_wrote wrote = { .until = 0 };
		struct tree_file *f;

		assert_int_equal(tree_open(w->tree, "synthetic_events", O_WRONLY | O_TRUNC, &f), 0);
		assert_int_equal(tree_write_by(f, 0, text, strlen(text), &wrote), -EINPROGRESS);
		if (i)
			tree_write_end(f, &wrote);
		if (i)
			assert_int_equal(tree_write(f, "last int x", 10), 10);
		tree_release(f);
		got = fixture_read(w, "synthetic_events");
		assert_true(strlen(got) < strlen(text));
		assert_non_null(strstr(got, "event_0000\tint x\n"));
		assert_int_equal(strstr(got, "last\tint x\n") != NULL, i);
		free(got);
	}
	free(text);
}

static void a_hist_has_json_that_is_not_listed(void **state)
{
	struct fixture *w = *state;

	assert_file(w, "events/test/first/hist.json", "[]\n");
	assert_true(lists(w, "events/test/first", "hist"));
	assert_false(lists(w, "events/test/first", "hist.json"));
}

static void filters_and_triggers_of_all_events_are_in_one_file(void **state)
{
	struct fixture *w = *state;

	assert_file(w, "show_event_filters", "");
	assert_file(w, "show_event_triggers", "");
	assert_becomes(w, "events/test/first/filter", "common_pid > 3\n", "common_pid > 3\n");
	assert_becomes(w, "events/test/first/trigger", "traceoff:1\n", "traceoff:count=1\n");
	assert_file(w, "show_event_filters", "test:first\tcommon_pid > 3\n");
	assert_file(w, "show_event_triggers", "test:first\ttraceoff:count=1\n");
	assert_false(lists(w, "", "show_event_filters"));
}

static void a_promised_line_that_never_comes_is_given_at_the_end(void **state)
{
	struct fixture *w = *state;
	struct tree_file *f;

	assert_int_equal(tree_open(w->tree, "events/test/first/trigger", O_WRONLY, &f), 0);
	assert_int_equal(tree_write(f, "traceoff \\\n", 11), 11);
	assert_int_equal(tree_release(f), 0);
	assert_file(w, "events/test/first/trigger", "traceoff:unlimited\n");
	assert_int_equal(tree_open(w->tree, "events/test/first/trigger", O_WRONLY, &f), 0);
	assert_int_equal(tree_write(f, "nonesuch \\\n", 11), 11);
	assert_int_equal(tree_release(f), -EINVAL);
}

static void a_command_as_long_as_a_page_is_refused(void **state)
{
	char text[4097];

	memset(text, 'x', 4096);
	text[4096] = '\0';
	assert_int_equal(fixture_write(*state, "events/test/first/filter", text), -EINVAL);
	assert_file(*state, "events/test/first/filter", "none\n");
}

/* As in Linux 6.12, the length of the write counts, not that of the text before a 0. */
static void what_is_behind_a_zero_counts(void **state)
{
	struct fixture *w = *state;
	char text[4096] = "traceoff";
	struct tree_file *f;

	assert_int_equal(tree_open(w->tree, "events/test/first/trigger", O_WRONLY, &f), 0);
	assert_int_equal(tree_write(f, text, sizeof(text)), -EINVAL);
	assert_int_equal(tree_write(f, text, sizeof(text) - 1), sizeof(text) - 1);
	assert_int_equal(tree_release(f), 0);
	assert_file(w, "events/test/first/trigger", "traceoff:unlimited\n");
}

static void a_command_of_endless_lines_is_forgotten(void **state)
{
	static char line[4096];
	struct fixture *w = *state;
	struct tree_file *f;

	memset(line, ' ', sizeof(line));
	memcpy(line + sizeof(line) - 2, "\\\n", 2);
	assert_int_equal(tree_open(w->tree, "events/test/first/trigger", O_WRONLY, &f), 0);
	for (int i = 0; i < 16; i++)
		assert_int_equal(tree_write(f, line, sizeof(line)), sizeof(line));
	assert_int_equal(tree_write(f, line, sizeof(line)), -E2BIG);
	assert_int_equal(tree_write(f, "traceoff\n", 9), 9);
	assert_int_equal(tree_release(f), 0);
	assert_file(w, "events/test/first/trigger", "traceoff:unlimited\n");
}

static int print_extra(void *arg, void *out)
{
	fprintf(out, "%s", (char *)arg);
	return 0;
}

static ssize_t write_extra(void *arg, const char *text, size_t len)
{
	snprintf(arg, 32, "%.*s", (int)len, text);
	return (ssize_t)len;
}

static void a_source_adds_a_file(void **state)
{
	char content[32] = "stopped\n";
	struct tree_extra extra = { "replay", 0640, print_extra, write_extra, content };
	struct fixture *w = *state;

	assert_int_equal(tree_add_extra(w->tree, &extra), 0);
	assert_true(lists(w, "", "replay"));
	assert_int_equal(mode_of(w, "replay"), S_IFREG | 0640);
	assert_file(w, "replay", "stopped\n");
	assert_becomes(w, "replay", "start\n", "start\n");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(modes_are_the_kernel_s),
		TEST(links_count_directories),
		TEST(what_is_read_once),
		TEST(a_read_without_room_for_the_cpumask),
		TEST(what_is_read_anew),
		TEST(what_has_no_offset),
		TEST(what_is_not_there_is_refused),
		TEST(an_instance_lacks_what_is_the_top_s),
		TEST(system_ftrace_has_its_own_files),
		TEST(an_event_that_comes_later_has_a_directory),
		TEST(directories_are_made_below_instances_only),
		TEST(an_instance_in_use_stays),
		TEST(files_of_an_event_let_their_instance_go),
		TEST(a_content_is_fixed_when_it_is_first_read),
		TEST(access_modes_are_kept),
		TEST(truncation_removes_histograms),
		TEST(a_line_that_ends_in_a_backslash_waits_for_the_next),
		TEST(a_command_of_endless_lines_is_forgotten),
		TEST(joined_lines_keep_words_apart),
		TEST(a_hist_has_json_that_is_not_listed),
		TEST(a_long_write_is_whole),
		TEST(a_long_write_lets_others_in),
		TEST(a_long_write_may_be_given_up),
		TEST(filters_and_triggers_of_all_events_are_in_one_file),
		TEST(a_promised_line_that_never_comes_is_given_at_the_end),
		TEST(a_command_as_long_as_a_page_is_refused),
		TEST(what_is_behind_a_zero_counts),
		TEST(a_source_adds_a_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
