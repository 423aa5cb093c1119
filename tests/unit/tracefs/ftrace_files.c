/* SPDX-License-Identifier: MIT */
/*
 * ftrace_files.c - the files of function tracing: where and when they exist, how they are opened,
 * and what is read back
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>

#include "model/ftrace/ftrace.h"
#include "model/symbols.h"
#include "model/text_memory.h"
#include "tree_fixture.h"

#define NONE "#### all functions enabled ####\n"

static const struct {
	const char	*name;
	mode_t		mode;
	bool		everywhere;	/* also in instances */
} files[] = {
	{ "available_filter_functions", 0440, false },
	{ "available_filter_functions_addrs", 0440, false },
	{ "dyn_ftrace_total_info", 0440, false },
	{ "enabled_functions", 0440, false },
	{ "function_profile_enabled", 0640, false },
	{ "set_ftrace_filter", 0640, true },
	{ "set_ftrace_notrace", 0640, true },
	{ "set_ftrace_notrace_pid", 0640, true },
	{ "set_ftrace_pid", 0640, true },
	{ "set_graph_function", 0640, false },
	{ "set_graph_notrace", 0640, false },
	{ "stack_max_size", 0640, false },
	{ "stack_trace", 0440, false },
	{ "stack_trace_filter", 0640, false },
	{ "touched_functions", 0440, false },
};

enum { NR_FILES = sizeof(files) / sizeof(files[0]) };

static void functions_come(struct fixture *w)
{
	static const char text[] = "1000 alpha\n1010 beta\n2000 load [libone]\n";

	assert_int_equal(ftrace_sites_load(w->model, text, strlen(text)), 0);
}

static int count_file(void *arg, const char *name, bool is_dir)
{
	unsigned int *n = arg;

	for (size_t i = 0; i < NR_FILES; i++)
		*n += !is_dir && !strcmp(files[i].name, name);
	return 0;
}

static void without_functions_there_are_none(void **state)
{
	struct fixture *w = *state;
	struct tree_stat st;
	unsigned int n = 0;

	for (size_t i = 0; i < NR_FILES; i++)
		assert_int_equal(tree_stat(w->tree, files[i].name, &st), -ENOENT);
	assert_int_equal(tree_list(w->tree, "", count_file, &n), 0);
	assert_int_equal(n, 0);
}

static void with_functions_they_are_where_the_kernel_has_them(void **state)
{
	struct fixture *w = *state;
	unsigned int n = 0, of_instance = 0;
	struct tree_stat st;
	char path[128];

	functions_come(w);
	assert_int_equal(tree_mkdir(w->tree, "instances/foo"), 0);
	for (size_t i = 0; i < NR_FILES; i++) {
		assert_int_equal(tree_stat(w->tree, files[i].name, &st), 0);
		assert_int_equal(st.mode & 0777, files[i].mode);
		snprintf(path, sizeof(path), "instances/foo/%s", files[i].name);
		assert_int_equal(tree_stat(w->tree, path, &st), files[i].everywhere ? 0 : -ENOENT);
	}
	tree_list(w->tree, "", count_file, &n);
	tree_list(w->tree, "instances/foo", count_file, &of_instance);
	assert_int_equal(n, NR_FILES);
	assert_int_equal(of_instance, 4);
}

static void lists_are_read_only(void **state)
{
	struct fixture *w = *state;

	functions_come(w);
	assert_file(w, "available_filter_functions", "alpha\nbeta\nload [libone]\n");
	assert_file(w, "available_filter_functions_addrs",
		    "1000 alpha\n1010 beta\n2000 load [libone]\n");
	assert_file(w, "enabled_functions", "");
	assert_file(w, "dyn_ftrace_total_info", "3 pages:2 groups: 2\n");
	assert_int_equal(fixture_append(w, "enabled_functions", "alpha"), -EINVAL);
}

static void a_write_takes_a_word_and_the_close_puts_it_in_place(void **state)
{
	struct fixture *w = *state;
	struct tree_file *f;

	functions_come(w);
	assert_int_equal(fixture_write(w, "set_ftrace_filter", "alpha beta\n"), 6);
	assert_file(w, "set_ftrace_filter", "alpha\n");
	assert_int_equal(tree_open(w->tree, "set_ftrace_filter", O_RDWR | O_TRUNC, &f), 0);
	assert_int_equal(tree_write(f, "be", 2), 2);
	assert_file(w, "set_ftrace_filter", "alpha\n");
	assert_int_equal(tree_write(f, "ta", 2), 2);
	assert_int_equal(tree_release(f), 0);
	assert_file(w, "set_ftrace_filter", "beta\n");
	assert_int_equal(fixture_append(w, "set_ftrace_filter", "nothing\n"), -EINVAL);
	assert_file(w, "set_ftrace_filter", "beta\n");
	assert_int_equal(fixture_write(w, "set_ftrace_filter", "nothing\n"), -EINVAL);
	assert_file(w, "set_ftrace_filter", NONE);
}

static void who_writes_a_set_reads_what_it_has_written(void **state)
{
	struct fixture *w = *state;
	struct tree_file *f, *graph;
	char text[64];

	functions_come(w);
	assert_int_equal(fixture_write(w, "set_ftrace_filter", "alpha\n"), 6);
	assert_int_equal(tree_open(w->tree, "set_ftrace_filter", O_RDWR, &f), 0);
	assert_int_equal(tree_write(f, "beta\n", 5), 5);
	assert_int_equal(tree_read(f, text, sizeof(text), 0), 11);
	assert_memory_equal(text, "alpha\nbeta\n", 11);
	assert_file(w, "set_ftrace_filter", "alpha\n");
	assert_int_equal(tree_release(f), 0);
	assert_file(w, "set_ftrace_filter", "alpha\nbeta\n");
	assert_int_equal(tree_open(w->tree, "set_graph_function", O_RDWR, &graph), 0);
	assert_int_equal(tree_write(graph, "beta\n", 5), 5);
	assert_int_equal(tree_read(graph, text, sizeof(text), 0), sizeof(NONE) - 1);
	assert_int_equal(tree_release(graph), 0);
}

static void an_instance_has_its_own(void **state)
{
	struct fixture *w = *state;

	functions_come(w);
	assert_int_equal(tree_mkdir(w->tree, "instances/foo"), 0);
	assert_taken(w, "instances/foo/set_ftrace_filter", "load\n");
	assert_int_equal(fixture_append(w, "instances/foo/set_ftrace_filter", "beta:traceoff:2\n"),
			 16);
	assert_taken(w, "instances/foo/set_ftrace_pid", "7\n");
	assert_file(w, "instances/foo/set_ftrace_filter", "load [libone]\nbeta:traceoff:count=2\n");
	assert_file(w, "instances/foo/set_ftrace_pid", "7\n");
	assert_file(w, "set_ftrace_filter", NONE);
	assert_file(w, "set_ftrace_pid", "no pid\n");
	assert_file(w, "enabled_functions", "beta (1)           ->function_trace_probe_call\n");
	assert_int_equal(tree_rmdir(w->tree, "instances/foo"), 0);
	assert_file(w, "enabled_functions", "");
}

static void truncation_clears_sets_but_no_commands(void **state)
{
	struct fixture *w = *state;

	functions_come(w);
	assert_taken(w, "set_ftrace_filter", "alpha:traceon\n");
	assert_int_equal(fixture_append(w, "set_ftrace_filter", "beta\n"), 5);
	assert_int_equal(fixture_append(w, "set_ftrace_filter", ":mod:libtwo\n"), 12);
	/* The kernel leaves out as many commands as functions are listed; programs need all. */
	assert_file(w, "set_ftrace_filter", "beta\n:mod:libtwo\n");
	w->model->of_programs = true;
	assert_file(w, "set_ftrace_filter", "beta\n:mod:libtwo\nalpha:traceon:unlimited\n");
	assert_int_equal(fixture_write(w, "set_ftrace_filter", ""), 0);
	assert_file(w, "set_ftrace_filter", NONE "alpha:traceon:unlimited\n");
}

/* ---- Long lists ---- */

enum { MANY = 20000 };

static void many_functions_come(struct fixture *w)
{
	size_t len;
	char *text;
	FILE *out = text_memory_open(&text, &len);

	for (int i = 0; i < MANY; i++)
		fprintf(out, "%x function_number_%d\n", 0x1000 + 16 * i, i);
	fclose(out);
	assert_int_equal(ftrace_sites_load(w->model, text, len), 0);
	free(text);
}

static unsigned int forks;

static void count_fork(void)
{
	forks++;
}

static bool has_child(void)
{
	siginfo_t info;

	return !waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT);
}

static ssize_t await(struct fixture *w, int fd, struct tree_file *f, char *buf, size_t size,
		     off_t off)
{
	struct pollfd readable = { .fd = fd, .events = POLLIN };
	ssize_t n;

	while ((n = tree_read(f, buf, size, off)) == -EINPROGRESS) {
		assert_true(poll(&readable, 1, 60000) >= 0);
		tree_tend(w->tree);
	}
	return n;
}

/* cat PATH, by the server or a printer */
static char *printed_text(struct fixture *w, int fd, const char *path)
{
	struct tree_file *f;
	char buf[4096], *text;
	size_t len;
	FILE *out = text_memory_open(&text, &len);
	ssize_t n;

	assert_int_equal(tree_open(w->tree, path, O_RDONLY, &f), 0);
	for (off_t off = 0; (n = await(w, fd, f, buf, sizeof(buf), off)) > 0; off += n)
		fwrite(buf, 1, (size_t)n, out);
	assert_int_equal(n, 0);
	tree_release(f);
	fclose(out);
	return text;
}

/* Reads what `want` is, from another process. */
static void assert_printed(struct fixture *w, int fd, const char *path, const char *want)
{
	struct tree_file *f;
	char buf[4096];
	off_t off = 0;
	ssize_t n;

	assert_int_equal(tree_open(w->tree, path, O_RDONLY, &f), 0);
	for (; (n = await(w, fd, f, buf, sizeof(buf), off)) > 0; off += n) {
		/* The text is longer than the pipe, so the process is there still. */
		if (!off)
			assert_true(has_child());
		assert_memory_equal(buf, want + off, n);
	}
	assert_int_equal(n, 0);
	assert_int_equal(off, strlen(want));
	tree_release(f);
}

/* The server's other clients would wait as long as the text takes. */
static void another_process_prints_long_lists(void **state)
{
	static const char *const lists[] = {
		"available_filter_functions", "available_filter_functions_addrs",
		"set_ftrace_filter", "enabled_functions", "kallsyms",
	};
	enum { NR = sizeof(lists) / sizeof(lists[0]) };
	struct fixture *w = *state;
	char *want[NR], name[32];
	int fd;

	many_functions_come(w);
	for (int i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "function_number_%d", i);
		assert_int_equal(symbols_add(w->model->symbols, 0x1000 + 16 * i, 't', name, NULL),
				 0);
	}
	assert_taken(w, "set_ftrace_filter", "*_number_*\n");
	assert_taken(w, "current_tracer", "function\n");
	for (int i = 0; i < NR; i++) {
		want[i] = fixture_read(w, lists[i]);
		assert_true(strlen(want[i]) > MANY * 15);
	}
	fd = tree_use_printers(w->tree);
	assert_true(fd >= 0);
	for (int i = 0; i < NR; i++) {
		assert_printed(w, fd, lists[i], want[i]);
		free(want[i]);
	}
	assert_taken(w, "current_tracer", "nop\n");
}

/* The map of so many functions is large, whatever it has. */
static void another_process_reads_a_large_function_profile(void **state)
{
	static const char *const files[] = { "trace_stat/function1", "trace_stat/functions" };
	struct fixture *w = *state;
	struct tree_file *f;
	char *want, buf[4096];
	int fd;

	many_functions_come(w);
	fd = tree_use_printers(w->tree);
	assert_true(fd >= 0);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		assert_taken(w, "function_profile_enabled", "2");
		want = printed_text(w, fd, files[i]);
		assert_int_equal(tree_open(w->tree, files[i], O_RDONLY, &f), 0);
		forks = 0;
		assert_int_equal(await(w, fd, f, buf, 8, 0), 8);
		assert_int_equal(forks, 1);
		/* It has read the map, or the map stays. */
		assert_taken(w, "function_profile_enabled", "0");
		assert_taken(w, "function_profile_enabled", "1");
		assert_int_equal(await(w, fd, f, buf + 8, sizeof(buf) - 8, 8), strlen(want) - 8);
		assert_memory_equal(buf, want, strlen(want));
		tree_release(f);
		free(want);
	}
}

static void a_small_function_profile_needs_no_process(void **state)
{
	struct fixture *w = *state;
	char *text;

	functions_come(w);
	assert_true(tree_use_printers(w->tree) >= 0);
	assert_taken(w, "function_profile_enabled", "1");
	forks = 0;
	text = fixture_read(w, "trace_stat/function0");
	assert_non_null(text);
	assert_int_equal(forks, 0);
	free(text);
}

static void a_short_list_needs_no_process(void **state)
{
	struct fixture *w = *state;

	functions_come(w);
	assert_true(tree_use_printers(w->tree) >= 0);
	assert_file(w, "available_filter_functions", "alpha\nbeta\nload [libone]\n");
	assert_false(has_child());
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(without_functions_there_are_none),
		TEST(with_functions_they_are_where_the_kernel_has_them),
		TEST(lists_are_read_only),
		TEST(a_write_takes_a_word_and_the_close_puts_it_in_place),
		TEST(who_writes_a_set_reads_what_it_has_written),
		TEST(an_instance_has_its_own),
		TEST(truncation_clears_sets_but_no_commands),
		TEST(another_process_prints_long_lists),
		TEST(another_process_reads_a_large_function_profile),
		TEST(a_small_function_profile_needs_no_process),
		TEST(a_short_list_needs_no_process),
	};

	pthread_atfork(NULL, count_fork, NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
