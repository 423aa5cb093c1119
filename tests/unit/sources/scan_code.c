/* SPDX-License-Identifier: MIT */
/*
 * scan_code.c - the code of files with probes is read in processes of its own, and the write that
 * asks for it waits. This process plays the program; nothing is planted.
 */
#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <cmocka.h>

#include "../session/temp_place.h"
#include "agent/providers/table.h"
#include "layout/attach_wire.h"
#include "sources/program/programs.h"
#include "tracefs/tree.h"
#include "disk.h"
#include "fixture.h"
#include "writing.h"

enum { COPIES = 9 };

static const char *library;
static char copies[COPIES][4096];

static int set_up(void **state)
{
	conn = -1;
	disk_begin();
	return fixture_make("code", NULL);
}

/* ---- as a user ---- */

static void define(unsigned int nr, const char *file, const char *function)
{
	char line[PATH_MAX + 64];

	snprintf(line, sizeof(line), "p:p%u %s:%s", nr, file, function);
	assert_int_equal(put("uprobe_events", line), strlen(line));
}

/* Enables the first probe, whose file is not read. */
static void begin_first(struct writing *w, enum disk disk)
{
	define(0, library, "sites_first");
	disk_set(disk);
	assert_int_equal(write_begin(w, "events/uprobes/p0/enable", "1"), -EINPROGRESS);
}

static void await_question(void)
{
	while (!atomic_load(&shared->asked))
		programs_tick(programs);
}

/* ---- as a program ---- */

static const struct probe_table *the_table(void)
{
	struct site_control *c =
		session_config(session, session_header(session)->sites, sizeof(*c));
	config_ref ref = atomic_load(&c->probes);
	const struct probe_table *t = ref ? session_config(session, ref, sizeof(*t)) : NULL;

	return t ? session_config(session, ref, sizeof(*t) + t->nr * sizeof(t->files[0])) : NULL;
}

/* How many points programs are told of. */
static uint32_t points(void)
{
	const struct probe_table *t = the_table();
	uint32_t nr = 0;

	for (uint32_t i = 0; t && i < t->nr; i++) {
		const struct probe_file *f = session_config(session, t->files[i], sizeof(*f));

		nr += f->nr;
	}
	return nr;
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

/* The file is mapped, as in a program that runs it. */
static void *map_library(size_t *size)
{
	const int fd = open(library, O_RDONLY);
	struct stat st;
	void *at;

	assert_int_equal(fstat(fd, &st), 0);
	*size = (size_t)st.st_size;
	at = mmap(NULL, *size, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_true(at != MAP_FAILED);
	close(fd);
	return at;
}

/* ---- tests ---- */

static void others_go_on_while_a_write_waits(void **state)
{
	struct writing w;

	begin_first(&w, DISK_HANGS);
	await_question();
	assert_int_equal(write_on(&w), -EINPROGRESS);
	assert_string_equal(cat("events/uprobes/p0/enable"), "1\n");
	assert_int_equal(put("tracing_on", "0"), 1);
	assert_string_equal(cat("tracing_on"), "0\n");
	/* Another command about probes waits for nothing either. */
	assert_int_equal(put("events/uprobes/p0/filter", "0"), 1);
	assert_int_equal(points(), 0);
	disk_set(DISK_ANSWERS);
	assert_int_equal(write_end(&w), 1);
	assert_int_equal(points(), 1);
}

/* Enables, disables and ends while the disk hangs, and again when it has the file's code. */
static void the_server_itself_does_not_touch_the_disk(void **state)
{
	struct writing w;

	begin_first(&w, DISK_HANGS);
	await_question();
	assert_int_equal(put("events/uprobes/p0/enable", "0"), 1);
	disk_set(DISK_ANSWERS);
	assert_int_equal(write_end(&w), 1);
	assert_int_equal(put("events/uprobes/p0/enable", "1"), 1);
	assert_int_equal(points(), 1);
	disk_set(DISK_HANGS);
	assert_int_equal(put("events/uprobes/p0/enable", "0"), 1);
	assert_int_equal(write_begin(&w, "events/uprobes/p0/enable", "1"), -EINPROGRESS);
	assert_int_equal(put("uprobe_events", "-:nosuch"), -ENOENT);
	assert_int_equal(write_end(&w), 1);
	assert_int_equal(points(), 1);
	assert_int_equal(put("events/uprobes/p0/enable", "0"), 1);
	assert_int_equal(put("uprobe_events", "-:p0"), 4);
	assert_int_equal(own_hangs, 0);
}

/* All is made again when a probe goes: programs keep the others. */
static void a_probe_that_stays_is_not_looked_for_again(void **state)
{
	define(0, library, "sites_first");
	define(1, copies[0], "sites_second");
	assert_int_equal(put("events/uprobes/enable", "1"), 1);
	assert_int_equal(points(), 2);
	define(2, copies[1], "sites_first");
	assert_int_equal(put("events/uprobes/p2/enable", "1"), 1);
	assert_int_equal(points(), 3);
	disk_set(DISK_HANGS);
	model->probes_stale = true;
	assert_int_equal(put("tracing_on", "1"), 1);
	assert_int_equal(points(), 3);
	assert_int_equal(own_hangs, 0);
}

static void a_file_is_read_once(void **state)
{
	struct writing w;
	int asked;

	begin_first(&w, DISK_ANSWERS);
	assert_int_equal(write_end(&w), 1);
	asked = atomic_load(&shared->asked);
	assert_true(asked);
	define(1, library, "sites_second");
	assert_int_equal(write_begin(&w, "events/uprobes/p1/enable", "1"), 1);
	tree_release(w.file);
	assert_int_equal(points(), 2);
	assert_int_equal(atomic_load(&shared->asked), asked);
}

static void two_writes_wait_for_one_file(void **state)
{
	struct writing first, second;

	define(1, library, "sites_second");
	begin_first(&first, DISK_HANGS);
	assert_int_equal(write_begin(&second, "events/uprobes/p1/enable", "1"), -EINPROGRESS);
	await_question();
	assert_int_equal(write_on(&first), -EINPROGRESS);
	assert_int_equal(write_on(&second), -EINPROGRESS);
	assert_int_equal(atomic_load(&shared->asked), 1);
	disk_set(DISK_ANSWERS);
	assert_int_equal(write_end(&second), 1);
	assert_int_equal(points(), 2);
	assert_int_equal(write_end(&first), 1);
}

/* Arms what is armed already: the probe is not planned before the file is read. */
static void again_waits(const char *path, const char *text)
{
	struct writing first, again;

	begin_first(&first, DISK_HANGS);
	await_question();
	assert_int_equal(write_begin(&again, path, text), -EINPROGRESS);
	assert_int_equal(write_on(&again), -EINPROGRESS);
	assert_int_equal(atomic_load(&shared->asked), 1);
	disk_set(DISK_ANSWERS);
	assert_int_equal(write_end(&again), strlen(text));
	assert_int_equal(points(), 1);
	assert_int_equal(write_end(&first), 1);
}

static void a_second_write_waits_too(void **state)
{
	again_waits("events/uprobes/p0/enable", "1");
}

static void a_second_write_to_set_event_waits_too(void **state)
{
	again_waits("set_event", "uprobes:p0");
}

static void a_trigger_waits_too(void **state)
{
	again_waits("events/uprobes/p0/trigger", "traceoff:1");
}

static void a_write_of_another_instance_waits_too(void **state)
{
	assert_int_equal(tree_mkdir(tree, "instances/other"), 0);
	again_waits("instances/other/events/uprobes/p0/enable", "1");
}

static void who_comes_after_one_that_went_waits_too(void **state)
{
	struct writing w;

	begin_first(&w, DISK_HANGS);
	await_question();
	tree_release(w.file);
	assert_int_equal(write_begin(&w, "events/uprobes/p0/enable", "1"), -EINPROGRESS);
	disk_set(DISK_ANSWERS);
	assert_int_equal(write_end(&w), 1);
	assert_int_equal(points(), 1);
}

static void a_write_does_not_wait_for_files_of_others(void **state)
{
	struct writing first;

	define(1, copies[0], "sites_first");
	begin_first(&first, DISK_HANGS);
	await_question();
	disk_set(DISK_STUCK);
	assert_int_equal(put("events/uprobes/p1/enable", "1"), 1);
	assert_int_equal(points(), 1);
	assert_int_equal(write_on(&first), -EINPROGRESS);
	disk_set(DISK_ANSWERS);
	assert_int_equal(write_end(&first), 1);
	assert_int_equal(points(), 2);
}

static void a_probe_that_is_off_again_is_not_planned(void **state)
{
	struct writing w;

	begin_first(&w, DISK_HANGS);
	await_question();
	assert_int_equal(put("events/uprobes/p0/enable", "0"), 1);
	disk_set(DISK_ANSWERS);
	assert_int_equal(write_end(&w), 1);
	assert_int_equal(points(), 0);
	assert_int_equal(put("events/uprobes/p0/enable", "1"), 1);
	assert_int_equal(points(), 1);
}

static void a_probe_that_is_removed_meanwhile_is_not_planned(void **state)
{
	struct writing w;

	begin_first(&w, DISK_HANGS);
	await_question();
	assert_int_equal(put("events/uprobes/p0/enable", "0"), 1);
	assert_int_equal(put("uprobe_events", "-:p0"), 4);
	disk_set(DISK_ANSWERS);
	assert_int_equal(write_end(&w), 1);
	assert_int_equal(points(), 0);
}

/* Once: the next probe has the file read again. */
static void refused(struct writing *w, const char *why)
{
	assert_int_equal(write_end(w), 1);
	assert_int_equal(points(), 0);
	assert_non_null(strstr(cat("error_log"), why));
	later_ms = 0;
	disk_set(DISK_ANSWERS);
	assert_int_equal(put("events/uprobes/p0/enable", "0"), 1);
	assert_int_equal(put("events/uprobes/p0/enable", "1"), 1);
	assert_int_equal(points(), 1);
}

static void a_file_that_ends_its_reader_is_refused(void **state)
{
	struct writing w;

	begin_first(&w, DISK_KILLS);
	refused(&w, "This place cannot be probed: the process that read its code died");
}

static void a_file_on_a_disk_that_hangs_is_refused(void **state)
{
	struct writing w;

	begin_first(&w, DISK_HANGS);
	await_question();
	later_ms = LATER_MS;
	refused(&w, "This place cannot be probed: its code could not be read in time");
}

/* The path may lead to another file by now. Only who asks waits for its disk. */
static void known_again(struct writing *w)
{
	begin_first(w, DISK_ANSWERS);
	assert_int_equal(write_end(w), 1);
	assert_int_equal(put("events/uprobes/p0/enable", "0"), 1);
	assert_int_equal(points(), 0);
	atomic_store(&shared->asked, 0);
	atomic_store(&shared->paths, true);
	disk_set(DISK_HANGS);
	assert_int_equal(write_begin(w, "events/uprobes/p0/enable", "1"), -EINPROGRESS);
	await_question();
	assert_int_equal(put("tracing_on", "1"), 1);
	assert_int_equal(write_on(w), -EINPROGRESS);
	assert_int_equal(points(), 0);
}

static void the_path_of_a_known_file_is_looked_at_beside_the_server(void **state)
{
	struct writing w;

	known_again(&w);
	disk_set(DISK_ANSWERS);
	assert_int_equal(write_end(&w), 1);
	assert_int_equal(points(), 1);
	/* Nobody has opened it. */
	assert_int_equal(atomic_load(&shared->asked), 1);
	assert_int_equal(own_hangs, 0);
}

static void a_path_on_a_disk_that_hangs_is_refused(void **state)
{
	struct writing w;

	known_again(&w);
	later_ms = LATER_MS;
	refused(&w, "This place cannot be probed: its code could not be read in time");
}

static void a_path_that_leads_to_another_file_is_read_again(void **state)
{
	const struct probe_file *f;
	struct stat st;

	define(0, copies[0], "sites_first");
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(stat(copies[i], &st), 0);
		assert_int_equal(rename(copies[i], copies[0]), 0);
		assert_int_equal(put("events/uprobes/p0/enable", "1"), 1);
		f = session_config(session, the_table()->files[0], sizeof(*f));
		assert_int_equal(f->inode, st.st_ino);
		assert_int_equal(put("events/uprobes/p0/enable", "0"), 1);
	}
	assert_int_equal(utimensat(AT_FDCWD, copies[0], NULL, 0), 0);
	assert_int_equal(put("events/uprobes/p0/enable", "1"), 1);
	assert_int_equal(points(), 0);
	assert_non_null(strstr(cat("error_log"), "its file has changed since"));
	assert_int_equal(put("events/uprobes/p0/enable", "0"), 1);
	assert_int_equal(unlink(copies[0]), 0);
	assert_int_equal(put("events/uprobes/p0/enable", "1"), 1);
	assert_int_equal(points(), 0);
	assert_non_null(strstr(cat("error_log"), "its file cannot be read"));
}

/* That is no property of its code. */
static void a_file_on_a_disk_that_fails_is_refused(void **state)
{
	struct writing w;

	begin_first(&w, DISK_FAILS);
	refused(&w, "This place cannot be probed: its file could not be read");
}

static void without_a_process_the_server_reads_the_file(void **state)
{
	define(0, library, "sites_first");
	forks_fail = true;
	assert_int_equal(put("events/uprobes/p0/enable", "1"), 1);
	assert_int_equal(points(), 1);
	assert_int_equal(atomic_load(&shared->asked), 0);
}

static void more_files_than_processes_wait_for_their_turn(void **state)
{
	struct writing w;

	for (unsigned int i = 0; i < COPIES; i++)
		define(i, copies[i], "sites_first");
	disk_set(DISK_HANGS);
	assert_int_equal(write_begin(&w, "events/uprobes/enable", "1"), -EINPROGRESS);
	await_question();
	assert_true(atomic_load(&shared->asked) < COPIES);
	/* One of those that have not been begun is not wanted any more. */
	assert_int_equal(put("events/uprobes/p8/enable", "0"), 1);
	disk_set(DISK_ANSWERS);
	assert_int_equal(write_end(&w), 1);
	assert_int_equal(points(), COPIES - 1);
}

/* What is opened is what is read. */
static void a_file_that_is_replaced_meanwhile_is_the_old_one(void **state)
{
	const struct probe_file *f;
	struct writing w;
	struct stat st;

	define(0, copies[0], "sites_first");
	assert_int_equal(stat(copies[0], &st), 0);
	disk_set(DISK_HANGS);
	assert_int_equal(write_begin(&w, "events/uprobes/p0/enable", "1"), -EINPROGRESS);
	await_question();
	assert_int_equal(rename(copies[1], copies[0]), 0);
	disk_set(DISK_ANSWERS);
	assert_int_equal(write_end(&w), 1);
	f = session_config(session, the_table()->files[0], sizeof(*f));
	assert_int_equal(f->inode, st.st_ino);
	assert_int_equal(points(), 1);
}

static void who_is_ready_waits_for_the_probes_in_its_files(void **state)
{
	struct attach_reply r;
	struct writing w;
	size_t size;
	void *at = map_library(&size);

	begin_first(&w, DISK_HANGS);
	await_question();
	r = join();
	assert_int_equal(r.barrier, 1);
	loop_once();
	assert_false(answered(&r));
	disk_set(DISK_ANSWERS);
	while (!answered(&r))
		loop_once();
	assert_int_equal(r.number, 5);
	assert_int_equal(points(), 1);
	write_end(&w);
	munmap(at, size);
}

static void who_is_ready_does_not_wait_for_files_of_others(void **state)
{
	struct attach_reply r = join();
	struct writing w;

	/* Its files were looked at for probes of their authors. */
	while (r.barrier && !answered(&r))
		loop_once();
	begin_first(&w, DISK_HANGS);
	await_question();
	assert_int_equal(join().barrier, 0);
	tree_release(w.file);
}

static int write_again(void *arg, const char *path, const char *text)
{
	const int ret = programs_restore(&programs, model, tree, path, text);

	return ret > 0 ? (put(path, text) < 0 ? -EINVAL : 0) : ret;
}

/* How often programs were told to look at their tables. */
static uint32_t commands(void)
{
	const struct site_control *c =
		session_config(session, session_header(session)->sites, sizeof(*c));

	return atomic_load(&c->command);
}

static void a_new_server_reads_the_file_before_it_answers(void **state)
{
	struct writing w;
	uint32_t told;

	begin_first(&w, DISK_HANGS);
	await_question();
	tree_release(w.file);
	told = commands();
	fixture_close(false);
	disk_set(DISK_ANSWERS);
	assert_int_equal(session_open("code", &session), 0);
	assert_int_equal(model_create(session, &model), 0);
	tree = tree_create(model);
	assert_int_equal(model_restore(model, write_again, NULL), 0);
	programs_restored(programs);
	assert_int_equal(points(), 1);
	assert_true(commands() > told);
}

static void a_session_that_ends_ends_who_reads(void **state)
{
	struct writing w;

	begin_first(&w, DISK_HANGS);
	await_question();
	tree_release(w.file);
	/* The end of the session, in tear_down(), would wait for it. */
}

/* ---- copies of the library: other files ---- */

static int copies_remove(void **state)
{
	for (unsigned int i = 0; i < COPIES; i++)
		unlink(copies[i]);
	return tear_down(state);
}

static bool copy_make(const char *path)
{
	static const struct timespec old[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };
	const int from = open(library, O_RDONLY), to = open(path, O_CREAT | O_WRONLY, 0755);
	bool good = from >= 0 && to >= 0;

	while (good && copy_file_range(from, NULL, to, NULL, 1 << 20, 0) > 0)
		;
	close(from);
	/* By its time a file is known from the one that was there before. */
	good &= !futimens(to, old);
	return !close(to) && good;
}

static int copies_make(void **state)
{
	for (unsigned int i = 0; i < COPIES; i++) {
		snprintf(copies[i], sizeof(copies[i]), "%s.copy%u", library, i);
		if (!copy_make(copies[i]))
			return -1;
	}
	return set_up(state);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
#define CODE_TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
#define COPIES_TEST(fn) cmocka_unit_test_setup_teardown(fn, copies_make, copies_remove)
		CODE_TEST(others_go_on_while_a_write_waits),
		CODE_TEST(the_server_itself_does_not_touch_the_disk),
		CODE_TEST(the_path_of_a_known_file_is_looked_at_beside_the_server),
		CODE_TEST(a_path_on_a_disk_that_hangs_is_refused),
		COPIES_TEST(a_path_that_leads_to_another_file_is_read_again),
		COPIES_TEST(a_probe_that_stays_is_not_looked_for_again),
		CODE_TEST(a_file_is_read_once),
		CODE_TEST(two_writes_wait_for_one_file),
		CODE_TEST(a_second_write_waits_too),
		CODE_TEST(a_second_write_to_set_event_waits_too),
		CODE_TEST(a_trigger_waits_too),
		CODE_TEST(a_write_of_another_instance_waits_too),
		CODE_TEST(who_comes_after_one_that_went_waits_too),
		COPIES_TEST(a_write_does_not_wait_for_files_of_others),
		CODE_TEST(a_probe_that_is_off_again_is_not_planned),
		CODE_TEST(a_probe_that_is_removed_meanwhile_is_not_planned),
		CODE_TEST(a_file_that_ends_its_reader_is_refused),
		CODE_TEST(a_file_on_a_disk_that_hangs_is_refused),
		CODE_TEST(a_file_on_a_disk_that_fails_is_refused),
		CODE_TEST(without_a_process_the_server_reads_the_file),
		COPIES_TEST(more_files_than_processes_wait_for_their_turn),
		COPIES_TEST(a_file_that_is_replaced_meanwhile_is_the_old_one),
		CODE_TEST(who_is_ready_waits_for_the_probes_in_its_files),
		CODE_TEST(who_is_ready_does_not_wait_for_files_of_others),
		CODE_TEST(a_new_server_reads_the_file_before_it_answers),
		CODE_TEST(a_session_that_ends_ends_who_reads),
	};
	int failed;

	library = argc > 1 ? realpath(argv[1], NULL) : NULL;
	if (!library || !disk_make())
		return 2;
	on_disk = library;
	setenv("XDG_CACHE_HOME", "/dev/null", 1);
	if (!temp_place())
		return temp_place_skip();
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	temp_place_remove();
	return failed;
}
