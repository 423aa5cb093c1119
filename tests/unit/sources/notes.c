/* SPDX-License-Identifier: MIT */
/*
 * notes.c - a process of its own looks for probes of authors in the files of a program, and the
 * program waits. This process plays the program: nothing is planted.
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
#include "agent/providers/table.h"
#include "disk.h"
#include "fixture.h"
#include "writing.h"

static const char *library;

static int set_up(void **state)
{
	conn = -1;
	disk_begin();
	return fixture_make("notes", NULL);
}

static bool answered(struct attach_reply *out)
{
	return recv(conn, out, sizeof(*out), MSG_DONTWAIT) >= (ssize_t)sizeof(*out);
}

/* Joins, and is ready at once. */
static struct attach_reply join(void)
{
	const struct attach_request q = {
		.version = SESSION_VERSION, .kind = ATTACH_HELLO, .ready = 1, .number = 5,
		.table = provider_table_version(), .program = own_program(),
	};
	struct attach_reply r;

	dial();
	assert_int_equal(send(conn, &q, sizeof(q), 0), sizeof(q));
	serve();
	assert_true(answered(&r));
	return r;
}

static struct attach_reply await(void)
{
	struct attach_reply r;

	while (!answered(&r))
		loop_once();
	return r;
}

static bool is_there(const char *path)
{
	struct tree_stat st;

	return !tree_stat(tree, path, &st);
}

/* The disk answers no question about the file. */
static void begin_hung(void)
{
	atomic_store(&shared->paths, true);
	disk_set(DISK_HANGS);
	assert_int_equal(join().barrier, 1);
	while (!atomic_load(&shared->asked))
		loop_once();
	loop_once();
}

/* ---- tests ---- */

static void a_program_that_begins_waits_for_its_probes(void **state)
{
	struct attach_reply r = join();

	assert_int_equal(r.barrier, 1);
	r = await();
	assert_int_equal(r.number, 5);
	assert_int_equal(r.has_probes, 1);
	assert_true(is_there("events/fixture/noted"));
}

static void a_program_that_was_seen_waits_for_nothing(void **state)
{
	struct attach_reply r;

	join();
	await();
	disk_set(DISK_HANGS);
	atomic_store(&shared->paths, true);
	r = join();
	assert_int_equal(r.barrier, 0);
	assert_int_equal(r.has_probes, 1);
	assert_int_equal(own_hangs, 0);
}

static void others_go_on_while_it_waits(void **state)
{
	struct attach_reply r;

	begin_hung();
	assert_false(answered(&r));
	assert_int_equal(put("tracing_on", "0"), 1);
	assert_string_equal(cat("tracing_on"), "0\n");
	assert_false(is_there("events/fixture"));
	assert_int_equal(own_hangs, 0);
	disk_set(DISK_ANSWERS);
	r = await();
	assert_int_equal(r.has_probes, 1);
	assert_true(is_there("events/fixture/noted"));
}

static void a_file_that_never_answers_is_left_out(void **state)
{
	char line[PATH_MAX + 64];
	struct attach_reply r;

	begin_hung();
	later_ms = LATER_MS;
	r = await();
	later_ms = 0;
	assert_int_equal(r.number, 5);
	assert_false(is_there("events/fixture"));
	assert_non_null(strstr(cat("error_log"), "usdt: error: The probes of this file are not "
						 "known: it does not answer\n"));
	snprintf(line, sizeof(line), "  Command: %s\n", library);
	assert_non_null(strstr(cat("error_log"), line));
	assert_int_equal(own_hangs, 0);
}

static void without_a_process_the_server_looks(void **state)
{
	struct attach_reply r;

	forks_fail = true;
	r = join();
	assert_int_equal(r.barrier, 0);
	assert_int_equal(r.has_probes, 1);
	assert_true(is_there("events/fixture/noted"));
}

/* Its code is read when the first probe in it is armed. */
static void the_code_is_looked_for_where_the_program_has_it(void **state)
{
	struct writing w;

	join();
	await();
	atomic_store(&shared->paths, true);
	atomic_store(&shared->asked, 0);
	disk_set(DISK_HANGS);
	assert_int_equal(write_begin(&w, "events/fixture/noted/enable", "1"), -EINPROGRESS);
	while (!atomic_load(&shared->asked))
		loop_once();
	assert_int_equal(put("tracing_on", "0"), 1);
	disk_set(DISK_ANSWERS);
	assert_int_equal(write_end(&w), 1);
	assert_string_equal(cat("error_log"), "");
	assert_int_equal(own_hangs, 0);
}

static int write_again(void *arg, const char *path, const char *text)
{
	const int ret = programs_restore(&programs, model, tree, path, text);

	return ret > 0 ? (put(path, text) < 0 ? -EINVAL : 0) : ret;
}

static void a_new_server_looks_at_all_programs(void **state)
{
	join();
	await();
	assert_int_equal(put("events/fixture/noted/enable", "1"), 1);
	fixture_close(false);
	assert_int_equal(session_open("notes", &session), 0);
	assert_int_equal(model_create(session, &model), 0);
	tree = tree_create(model);
	assert_int_equal(model_restore(model, write_again, NULL), 0);
	programs_restored(programs);
	assert_true(is_there("events/fixture/noted"));
	assert_string_equal(cat("events/fixture/noted/enable"), "1\n");
	assert_string_equal(cat("error_log"), "");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
#define NOTES_TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
		NOTES_TEST(a_program_that_begins_waits_for_its_probes),
		NOTES_TEST(a_program_that_was_seen_waits_for_nothing),
		NOTES_TEST(others_go_on_while_it_waits),
		NOTES_TEST(a_file_that_never_answers_is_left_out),
		NOTES_TEST(without_a_process_the_server_looks),
		NOTES_TEST(the_code_is_looked_for_where_the_program_has_it),
		NOTES_TEST(a_new_server_looks_at_all_programs),
	};
	int failed;

	library = argc > 1 ? realpath(argv[1], NULL) : NULL;
	if (!library || !dlopen(library, RTLD_NOW) || !disk_make())
		return 2;
	on_disk = library;
	setenv("XDG_CACHE_HOME", "/dev/null", 1);
	if (!temp_place())
		return temp_place_skip();
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	temp_place_remove();
	return failed;
}
