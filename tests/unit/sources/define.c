/* SPDX-License-Identifier: MIT */
/*
 * define.c - commands for probes in files: a process of its own asks the files, and the write waits
 */
#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "../session/temp_place.h"
#include "disk.h"
#include "fixture.h"
#include "model/dynamic/place.h"
#include "model/dynamic/uprobe_file.h"
#include "writing.h"

static const char *library;

static int set_up(void **state)
{
	disk_begin();
	if (fixture_make("define", NULL))
		return -1;
	return tree_use_printers(tree) < 0 ? -1 : 0;
}

static const char *line_of(const char *begin, const char *where)
{
	static char line[PATH_MAX + 64];

	snprintf(line, sizeof(line), "%s %s:%s", begin, library, where);
	return line;
}

static void await_question(void)
{
	while (!atomic_load(&shared->asked))
		loop_once();
}

/* The disk answers no question about the file. */
static void begin_hung(struct writing *w, const char *path, const char *line)
{
	atomic_store(&shared->paths, true);
	disk_set(DISK_HANGS);
	assert_int_equal(write_begin(w, path, line), -EINPROGRESS);
	await_question();
}

static void others_go_on(struct writing *w)
{
	assert_int_equal(write_on(w), -EINPROGRESS);
	assert_int_equal(put("tracing_on", "0"), 1);
	assert_string_equal(cat("tracing_on"), "0\n");
	assert_string_equal(cat("uprobe_events"), "");
	assert_int_equal(own_hangs, 0);
}

static void is_defined(void)
{
	assert_non_null(strstr(cat("uprobe_events"), library));
	assert_non_null(strstr(cat("uprobe_events"), ":0x0000000000"));
	assert_string_equal(cat("error_log"), "");
}

/* ---- tests ---- */

static void a_place_by_its_offset(void **state)
{
	struct writing w;

	begin_hung(&w, "uprobe_events", line_of("p:a", "0x100"));
	others_go_on(&w);
	disk_set(DISK_ANSWERS);
	assert_int_equal(write_end(&w), strlen(w.text));
	is_defined();
}

static void a_place_by_its_name(void **state)
{
	struct writing w;

	begin_hung(&w, "uprobe_events", line_of("p:a", "sites_first"));
	others_go_on(&w);
	disk_set(DISK_ANSWERS);
	assert_int_equal(write_end(&w), strlen(w.text));
	is_defined();
}

static void a_place_in_dynamic_events(void **state)
{
	struct writing w;

	begin_hung(&w, "dynamic_events", line_of("r:a", "sites_first"));
	others_go_on(&w);
	disk_set(DISK_ANSWERS);
	assert_int_equal(write_end(&w), strlen(w.text));
	is_defined();
}

/* O_NONBLOCK means that it does not wait for programs. */
static void a_writer_that_does_not_wait(void **state)
{
	struct writing w = { .text = line_of("p:a", "0x100") };

	atomic_store(&shared->paths, true);
	disk_set(DISK_HANGS);
	assert_int_equal(tree_open(tree, "uprobe_events", O_WRONLY | O_NONBLOCK, &w.file), 0);
	assert_int_equal(write_on(&w), -EINPROGRESS);
	await_question();
	others_go_on(&w);
	disk_set(DISK_ANSWERS);
	assert_int_equal(write_end(&w), strlen(w.text));
	is_defined();
}

/* It ends when the file is closed. */
static void a_line_that_continues(void **state)
{
	char text[2 * PATH_MAX];
	struct writing w;

	snprintf(text, sizeof(text), "%s \\\n", line_of("p:a", "0x100"));
	begin_hung(&w, "uprobe_events", text);
	others_go_on(&w);
	disk_set(DISK_ANSWERS);
	while (write_on(&w) == -EINPROGRESS)
		loop_once();
	disk_set(DISK_HANGS);
	assert_int_equal(tree_release(w.file), 0);
	assert_int_equal(own_hangs, 0);
	disk_set(DISK_ANSWERS);
	is_defined();
}

static void several_lines(void **state)
{
	char text[4 * PATH_MAX];
	struct writing w;
	int n;

	n = snprintf(text, sizeof(text), "%s\n", line_of("p:a", "sites_first"));
	snprintf(text + n, sizeof(text) - (size_t)n, "# %s\n%s %%di\n", "no /file:0x10 here",
		 line_of("p:b", "sites_second+1"));
	begin_hung(&w, "uprobe_events", text);
	others_go_on(&w);
	disk_set(DISK_ANSWERS);
	assert_int_equal(write_end(&w), strlen(text));
	assert_non_null(strstr(cat("uprobe_events"), "p:uprobes/a "));
	assert_non_null(strstr(cat("uprobe_events"), "p:uprobes/b "));
}

/* The same as without a process: tests/unit/model/place.c has all errors. */
static void what_is_wrong_is_said(void **state)
{
	assert_int_equal(put("uprobe_events", "p:a /no/such/file:0x10"), -ENOENT);
	assert_non_null(strstr(cat("error_log"),
			       "trace_uprobe: error: Failed to find the given file\n"
			       "  Command: p:a /no/such/file:0x10\n"
			       "               ^\n"));
	assert_int_equal(put("uprobe_events", "p:a /no/such/file:name"), -ENOENT);
	assert_non_null(strstr(cat("error_log"), "Failed to find the given file\n"
						 "  Command: p:a /no/such/file:name\n"));
	assert_int_equal(put("uprobe_events", "p:a /tmp:0x10"), -EINVAL);
	assert_non_null(strstr(cat("error_log"), "error: Not a regular file\n"));
	assert_int_equal(put("uprobe_events", line_of("p:a", "no_such_name")), -EINVAL);
	assert_non_null(strstr(cat("error_log"), "The file has no function of that name\n"));
	assert_string_equal(cat("uprobe_events"), "");
}

static void a_file_that_never_answers_is_refused(void **state)
{
	char caret[2 * PATH_MAX];
	struct writing w;

	begin_hung(&w, "uprobe_events", line_of("p:a", "0x100"));
	later_ms = LATER_MS;
	assert_int_equal(write_end(&w), -ETIMEDOUT);
	later_ms = 0;
	snprintf(caret, sizeof(caret), "trace_uprobe: error: The file does not answer\n"
		 "  Command: p:a %s:0x100\n               ^\n", library);
	assert_non_null(strstr(cat("error_log"), caret));
	assert_string_equal(cat("uprobe_events"), "");
	assert_int_equal(own_hangs, 0);
}

/* What was found before stands. */
static void the_lines_before_it_are_carried_out(void **state)
{
	char text[4 * PATH_MAX];
	struct writing w;

	snprintf(text, sizeof(text), "p:first /bin/sh:0x10\n%s\n", line_of("p:a", "0x100"));
	begin_hung(&w, "uprobe_events", text);
	later_ms = LATER_MS;
	assert_int_equal(write_end(&w), -ETIMEDOUT);
	later_ms = 0;
	assert_non_null(strstr(cat("uprobe_events"), "p:uprobes/first /bin/sh:0x"));
	assert_null(strstr(cat("uprobe_events"), library));
}

static void a_file_that_ends_its_reader_is_refused(void **state)
{
	struct writing w;

	disk_set(DISK_KILLS);
	write_begin(&w, "uprobe_events", line_of("p:a", "sites_first"));
	assert_int_equal(write_end(&w), -EIO);
	assert_non_null(strstr(cat("error_log"), "error: The process that read the file died\n"));
}

static void who_goes_away_waits_no_longer(void **state)
{
	struct writing w;

	begin_hung(&w, "uprobe_events", line_of("p:a", "0x100"));
	tree_release(w.file);
	disk_set(DISK_ANSWERS);
	assert_string_equal(cat("uprobe_events"), "");
}

static void another_text_is_looked_at_again(void **state)
{
	struct writing w;

	begin_hung(&w, "uprobe_events", line_of("p:a", "0x100"));
	w.text = "p:other /bin/sh:0x10";
	disk_set(DISK_STUCK);
	assert_int_equal(write_end(&w), strlen(w.text));
	assert_non_null(strstr(cat("uprobe_events"), "p:uprobes/other /bin/sh:0x"));
}

static void without_a_process_the_server_asks_the_file(void **state)
{
	forks_fail = true;
	assert_int_equal(put("uprobe_events", line_of("p:a", "sites_first")),
			 strlen(line_of("p:a", "sites_first")));
	is_defined();
}

/* ---- what comes out of the process is not trusted ---- */

/* The answers to the command. */
static char *answers(const char *line, size_t *size)
{
	struct uprobe_files files = { 0 };
	char *bytes;

	files.out = open_memstream(&bytes, size);
	model->files = &files;
	assert_int_equal(uprobe_ask(model, line), 0);
	model->files = NULL;
	fclose(files.out);
	free((char *)files.asked);
	return bytes;
}

/* A copy of just that size: a sanitizer sees what is read behind it. */
static int define_with(const char *bytes, size_t size, const char *line)
{
	char *copy = malloc(size ? size : 1);
	struct uprobe_files files;
	int err;

	memcpy(copy, bytes, size);
	uprobe_files_take(&files, copy, size, 0);
	model->files = &files;
	err = uprobe_command(model, line);
	model->files = NULL;
	uprobe_files_free(&files);
	if (!err)
		assert_int_equal(uprobe_command(model, "-:a"), 0);
	return err;
}

static void any_other_byte_does_no_harm(void **state)
{
	char *line = strdup(line_of("p:a", "sites_first $arg1 $arg2:u8")), *bytes;
	size_t size;

	bytes = answers(line, &size);
	assert_string_equal(cat("uprobe_events"), "");
	disk_set(DISK_HANGS);
	assert_int_equal(define_with(bytes, size, line), 0);
	for (size_t i = 0; i < size; i++) {
		for (int value = 0; value < 256; value += 51) {
			const char was = bytes[i];

			bytes[i] = (char)value;
			define_with(bytes, size, line);
			bytes[i] = was;
		}
		assert_int_not_equal(define_with(bytes, i, line), 0);
	}
	assert_int_equal(own_hangs, 0);
	free(bytes);
	free(line);
}

static int write_again(void *arg, const char *path, const char *text)
{
	const int ret = programs_restore(&programs, model, tree, path, text);

	return ret > 0 ? (put(path, text) < 0 ? -EINVAL : 0) : ret;
}

static void a_new_server_does_not_ask_the_file(void **state)
{
	assert_int_equal(put("uprobe_events", line_of("p:a", "0x100")),
			 strlen(line_of("p:a", "0x100")));
	fixture_close(false);
	disk_set(DISK_HANGS);
	assert_int_equal(session_open("define", &session), 0);
	assert_int_equal(model_create(session, &model), 0);
	tree = tree_create(model);
	assert_int_equal(model_restore(model, write_again, NULL), 0);
	programs_restored(programs);
	assert_int_equal(own_hangs, 0);
	is_defined();
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
#define DEFINE_TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
		DEFINE_TEST(a_place_by_its_offset),
		DEFINE_TEST(a_place_by_its_name),
		DEFINE_TEST(a_place_in_dynamic_events),
		DEFINE_TEST(a_writer_that_does_not_wait),
		DEFINE_TEST(a_line_that_continues),
		DEFINE_TEST(several_lines),
		DEFINE_TEST(what_is_wrong_is_said),
		DEFINE_TEST(a_file_that_never_answers_is_refused),
		DEFINE_TEST(the_lines_before_it_are_carried_out),
		DEFINE_TEST(a_file_that_ends_its_reader_is_refused),
		DEFINE_TEST(who_goes_away_waits_no_longer),
		DEFINE_TEST(another_text_is_looked_at_again),
		DEFINE_TEST(without_a_process_the_server_asks_the_file),
		DEFINE_TEST(any_other_byte_does_no_harm),
		DEFINE_TEST(a_new_server_does_not_ask_the_file),
	};
	int failed;

	library = argc > 1 ? realpath(argv[1], NULL) : NULL;
	if (!library || !disk_make())
		return 2;
	on_disk = library;
	if (!temp_place())
		return temp_place_skip();
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	temp_place_remove();
	return failed;
}
