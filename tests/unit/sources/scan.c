/* SPDX-License-Identifier: MIT */
/*
 * scan.c - files without a compiler's sites are read in processes of their own. This process plays
 * the program, and reports a library that it never loads.
 */
#include <elf.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <cmocka.h>

#include "../session/temp_place.h"
#include "agent/providers/table.h"
#include "layout/attach_wire.h"
#include "plane/plane.h"
#include "sources/program/programs.h"
#include "tracefs/tree.h"
#include "disk.h"
#include "cat.h"
#include "fixture.h"

enum { NUMBER = 2, FUNCTIONS = 3, PATH_ROOM = 1024 };

#define LINES										\
	"sites_static [libplain.so]\nsites_first [libplain.so]\nsites_second [libplain.so]\n"

static const char *library, *sited;
static int set_up(void **state)
{
	conn = -1;
	disk_begin();
	return fixture_make("scan", NULL);
}

/* ---- as a user ---- */

static bool doctor_says(const char *what)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	bool says;

	programs_print(programs, out);
	fclose(out);
	says = strstr(text, what);
	free(text);
	return says;
}

/* ---- as a program ---- */

static uint64_t span_of(const char *path)
{
	uint64_t size = 0;
	Elf64_Ehdr h;
	Elf64_Phdr p;
	int fd = open(path, O_RDONLY);

	assert_int_equal(read(fd, &h, sizeof(h)), sizeof(h));
	for (unsigned int i = 0; i < h.e_phnum; i++) {
		assert_int_equal(pread(fd, &p, sizeof(p), (off_t)(h.e_phoff + i * sizeof(p))),
				 sizeof(p));
		if (p.p_type == PT_LOAD && p.p_vaddr + p.p_memsz > size)
			size = p.p_vaddr + p.p_memsz;
	}
	close(fd);
	return size;
}

/* Enters the library. It has no build-id, so its size identifies it. */
static void enter(uint32_t nr, uint32_t moved)
{
	struct program_tables *t = tables();
	struct dso_entry *e = &t->dsos[nr];

	e->size = span_of(library);
	e->pid = (uint32_t)getpid();
	e->id_len = 8;
	atomic_store(&e->moved, moved);
	/* Another path, since a file replaces an older one of its path. */
	e->path = nr * PATH_ROOM;
	snprintf(t->paths + e->path, PATH_ROOM, "%.*s%s", (int)(nr - NUMBER), "//////////",
		 library);
	/* The entries before it are of a process that died. */
	for (uint32_t i = 0; i < nr; i++)
		if (atomic_load(&t->dsos[i].state) == DSO_FREE)
			atomic_store(&t->dsos[i].state, DSO_WRITING);
	atomic_store(&e->state, DSO_READY);
}

static bool answered(struct attach_reply *out)
{
	return recv(conn, out, sizeof(*out), MSG_DONTWAIT) >= (ssize_t)sizeof(*out);
}

static void request(enum attach_kind kind, uint32_t value, uint32_t number)
{
	const struct attach_request q = {
		.version = SESSION_VERSION, .kind = kind, .value = value, .number = number,
		.table = provider_table_version(), .program = own_program(),
	};

	dial();
	assert_int_equal(send(conn, &q, sizeof(q), 0), sizeof(q));
	serve();
}

static void join(void)
{
	struct attach_reply r;

	request(ATTACH_HELLO, 0, 1);
	assert_true(answered(&r));
}

/* Goes on as the server's loop does, until an answer is there. */
static struct attach_reply await(void)
{
	struct attach_reply r = { 0 };

	while (!answered(&r)) {
		struct pollfd p = { .fd = programs_fd(programs), .events = POLLIN };

		poll(&p, 1, programs_tick(programs));
		attach_serve(session);
	}
	return r;
}

/* The server's loop has done something, and the process that reads has asked the disk. */
static void await_question(void)
{
	while (!atomic_load(&shared->asked))
		programs_tick(programs);
	programs_tick(programs);
}

/* How many places are published; -1: nothing is. */
static int places(uint32_t nr)
{
	struct site_control *c =
		session_config(session, session_header(session)->sites, sizeof(*c));

	return atomic_load(&c->sets[nr].places) ? (int)atomic_load(&c->sets[nr].nr_places) : -1;
}

/* ---- tests ---- */

static void places_are_published_when_they_are_found(void **state)
{
	struct attach_reply r;

	join();
	enter(NUMBER, DSO_MOVED);
	request(ATTACH_PLACES, NUMBER, 7);
	r = await();
	assert_int_equal(r.number, 7);
	assert_int_equal(r.err, 0);
	assert_int_equal(places(NUMBER), FUNCTIONS);
	assert_string_equal(cat("available_filter_functions"), LINES);
	/* The next one need not wait. */
	request(ATTACH_PLACES, NUMBER, 8);
	assert_true(answered(&r));
	assert_int_equal(r.number, 8);
}

static void who_asks_for_something_else_is_answered_while_a_file_is_read(void **state)
{
	struct attach_reply r;

	join();
	enter(NUMBER, DSO_MOVED);
	disk_set(DISK_HANGS);
	request(ATTACH_PLACES, NUMBER, 7);
	await_question();
	assert_false(answered(&r));
	assert_string_equal(cat("tracing_on"), "1\n");
	assert_string_equal(cat("available_filter_functions"), "");
	/* It has given up, and asks again; nobody reads the file twice. */
	request(ATTACH_PLACES, NUMBER, 8);
	assert_false(answered(&r));
	request(ATTACH_MORE, 0, 9);
	assert_true(answered(&r));
	assert_int_equal(r.number, 9);
	assert_int_equal(atomic_load(&shared->asked), 1);
	disk_set(DISK_ANSWERS);
	assert_int_equal(await().number, 8);
	assert_int_equal(places(NUMBER), FUNCTIONS);
}

static void who_is_ready_does_not_wait_for_the_file_of_another(void **state)
{
	struct attach_reply r;

	join();
	/* Its files were looked at for probes of their authors. */
	request(ATTACH_READY, 0, 5);
	assert_true(answered(&r) && r.barrier);
	await();
	enter(NUMBER, DSO_MOVED);
	disk_set(DISK_HANGS);
	atomic_store(&shared->asked, 0);
	request(ATTACH_PLACES, NUMBER, 7);
	await_question();
	request(ATTACH_READY, 0, 8);
	assert_true(answered(&r));
	assert_int_equal(r.number, 8);
	assert_int_equal(r.barrier, 0);
	disk_set(DISK_ANSWERS);
}

static void who_loads_a_file_that_is_read_waits_for_its_words(void **state)
{
	struct attach_reply r;

	join();
	enter(NUMBER, DSO_MOVED);
	disk_set(DISK_HANGS);
	request(ATTACH_DSO, NUMBER, 7);
	assert_true(answered(&r));
	assert_int_equal(r.barrier, 1);
	await_question();
	assert_false(answered(&r));
	disk_set(DISK_ANSWERS);
	r = await();
	assert_int_equal(r.number, 7);
	assert_int_equal(r.barrier, 0);
	assert_string_equal(cat("available_filter_functions"), LINES);
}

static void a_program_that_runs_is_told_when_its_places_are_there(void **state)
{
	struct site_control *c =
		session_config(session, session_header(session)->sites, sizeof(*c));
	uint32_t command;

	enter(NUMBER, DSO_MOVED_LATE);
	disk_set(DISK_HANGS);
	await_question();
	command = atomic_load(&c->command);
	disk_set(DISK_ANSWERS);
	while (places(NUMBER) < 0)
		programs_tick(programs);
	assert_int_equal(places(NUMBER), FUNCTIONS);
	assert_int_not_equal(atomic_load(&c->command), command);
}

/* A list without functions: the program does not read the file that ended another process. */
static void refused(const char *why)
{
	char line[256];

	assert_int_equal(await().number, 7);
	assert_int_equal(places(NUMBER), 0);
	assert_string_equal(cat("available_filter_functions"), "");
	snprintf(line, sizeof(line), "sites-none libplain.so: %s\n", why);
	assert_true(doctor_says(line));
	assert_non_null(strstr(cat("error_log"), why));
	/* Once for a session. */
	assert_int_equal(atomic_load(&shared->asked), 1);
	programs_tick(programs);
	assert_int_equal(atomic_load(&shared->asked), 1);
}

static void a_file_that_ends_its_reader_is_refused(void **state)
{
	join();
	enter(NUMBER, DSO_MOVED);
	disk_set(DISK_KILLS);
	request(ATTACH_PLACES, NUMBER, 7);
	refused("the process that read its code died");
}

static void a_file_on_a_disk_that_hangs_is_refused(void **state)
{
	join();
	enter(NUMBER, DSO_MOVED);
	disk_set(DISK_HANGS);
	request(ATTACH_PLACES, NUMBER, 7);
	await_question();
	later_ms = LATER_MS;
	refused("its code could not be read in time");
}

static void without_a_process_the_server_reads_the_file(void **state)
{
	struct attach_reply r;

	join();
	enter(NUMBER, DSO_MOVED);
	forks_fail = true;
	request(ATTACH_PLACES, NUMBER, 7);
	assert_true(answered(&r));
	assert_int_equal(r.number, 7);
	assert_int_equal(places(NUMBER), FUNCTIONS);
	assert_int_equal(atomic_load(&shared->asked), 0);
}

static void more_files_than_processes_wait_for_their_turn(void **state)
{
	enum { FILES = 9 };

	join();
	disk_set(DISK_HANGS);
	for (uint32_t i = 0; i < FILES; i++)
		enter(NUMBER + i, DSO_MOVED);
	request(ATTACH_PLACES, NUMBER + FILES - 1, 7);
	await_question();
	disk_set(DISK_ANSWERS);
	assert_int_equal(await().number, 7);
	for (uint32_t i = 0; i < FILES; i++)
		while (places(NUMBER + i) < 0)
			programs_tick(programs);
}

static void a_library_that_is_closed_leaves_the_list(void **state)
{
	struct attach_reply r;
	struct site_answer *a;
	int asked;

	request(ATTACH_HELLO, 0, 1);
	assert_true(answered(&r));
	a = &tables()->sites[r.process - 1];
	enter(NUMBER, DSO_MOVED);
	request(ATTACH_PLACES, NUMBER, 7);
	await();
	a->pid = (uint32_t)getpid();
	atomic_store(&a->dsos[0], 1ull << NUMBER);
	atomic_store(&a->command, 1);
	programs_tick(programs);
	assert_string_equal(cat("available_filter_functions"), LINES);
	atomic_store(&a->dsos[0], 0);
	programs_tick(programs);
	assert_string_equal(cat("available_filter_functions"), "");
	/* Nobody asks for it, so nobody reads it. */
	asked = atomic_load(&shared->asked);
	for (int i = 0; i < 3; i++)
		programs_tick(programs);
	assert_int_equal(atomic_load(&shared->asked), asked);
	assert_string_equal(cat("available_filter_functions"), "");
	/* It is loaded again. */
	request(ATTACH_DSO, NUMBER, 8);
	assert_true(answered(&r) && r.barrier);
	assert_int_equal(await().barrier, 0);
	assert_string_equal(cat("available_filter_functions"), LINES);
}

/* ---- a file with a compiler's sites ---- */

static void enter_sited(void)
{
	const char *plain = library;

	library = sited;
	enter(NUMBER, 0);
	library = plain;
}

static void who_is_ready_waits_for_its_own_functions(void **state)
{
	struct attach_reply r;

	join();
	enter_sited();
	disk_set(DISK_HANGS);
	request(ATTACH_READY, 0, 7);
	assert_true(answered(&r) && r.barrier);
	await_question();
	assert_false(answered(&r));
	assert_string_equal(cat("tracing_on"), "1\n");
	assert_string_equal(cat("available_filter_functions"), "");
	disk_set(DISK_ANSWERS);
	assert_int_equal(await().number, 7);
	assert_non_null(strstr(cat("available_filter_functions"), "sites_first [libfixture.so]\n"));
	assert_int_equal(places(NUMBER), -1);
}

static void who_loads_a_library_waits_for_its_functions(void **state)
{
	struct attach_reply r;

	join();
	enter_sited();
	disk_set(DISK_HANGS);
	request(ATTACH_DSO, NUMBER, 7);
	assert_true(answered(&r) && r.barrier);
	await_question();
	assert_false(answered(&r));
	disk_set(DISK_ANSWERS);
	assert_int_equal(await().number, 7);
	assert_non_null(strstr(cat("available_filter_functions"), "sites_first [libfixture.so]\n"));
}

static void a_library_that_never_answers_has_no_functions(void **state)
{
	join();
	enter_sited();
	disk_set(DISK_HANGS);
	request(ATTACH_DSO, NUMBER, 7);
	await_question();
	later_ms = LATER_MS;
	while (!strstr(cat("error_log"), "its code could not be read in time"))
		programs_tick(programs);
	later_ms = 0;
	assert_string_equal(cat("available_filter_functions"), "");
	assert_true(doctor_says("sites-none libfixture.so: its code could not be read in time\n"));
	assert_int_equal(places(NUMBER), -1);
}

/* ---- names ---- */

/* Nothing has a name meanwhile, and the server goes on. */
static void names_come_when_the_disk_answers(void **state)
{
	enter(NUMBER, DSO_MOVED);
	disk_set(DISK_HANGS);
	assert_null(strstr(cat("kallsyms"), "sites_first"));
	assert_string_equal(cat("tracing_on"), "1\n");
	disk_set(DISK_ANSWERS);
	while (!strstr(cat("kallsyms"), "sites_first"))
		programs_tick(programs);
	assert_string_equal(cat("error_log"), "");
}

static void a_file_that_never_answers_has_no_names(void **state)
{
	enter(NUMBER, DSO_MOVED);
	disk_set(DISK_HANGS);
	assert_null(strstr(cat("kallsyms"), "sites_first"));
	later_ms = LATER_MS;
	while (!strstr(cat("error_log"), "The names of this file's functions are not known: it "
					 "does not answer\n"))
		programs_tick(programs);
	later_ms = 0;
	assert_null(strstr(cat("kallsyms"), "sites_first"));
}

static void a_session_that_ends_ends_who_reads(void **state)
{
	enter(NUMBER, DSO_MOVED);
	disk_set(DISK_HANGS);
	await_question();
	/* The end of the session, in tear_down(), would wait for it. */
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
#define SCAN_TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
		SCAN_TEST(places_are_published_when_they_are_found),
		SCAN_TEST(who_asks_for_something_else_is_answered_while_a_file_is_read),
		SCAN_TEST(who_is_ready_does_not_wait_for_the_file_of_another),
		SCAN_TEST(who_loads_a_file_that_is_read_waits_for_its_words),
		SCAN_TEST(a_program_that_runs_is_told_when_its_places_are_there),
		SCAN_TEST(a_file_that_ends_its_reader_is_refused),
		SCAN_TEST(a_file_on_a_disk_that_hangs_is_refused),
		SCAN_TEST(without_a_process_the_server_reads_the_file),
		SCAN_TEST(more_files_than_processes_wait_for_their_turn),
		SCAN_TEST(a_library_that_is_closed_leaves_the_list),
		SCAN_TEST(who_is_ready_waits_for_its_own_functions),
		SCAN_TEST(who_loads_a_library_waits_for_its_functions),
		SCAN_TEST(a_library_that_never_answers_has_no_functions),
		SCAN_TEST(names_come_when_the_disk_answers),
		SCAN_TEST(a_file_that_never_answers_has_no_names),
		SCAN_TEST(a_session_that_ends_ends_who_reads),
	};
	int failed;

	library = argc > 1 ? realpath(argv[1], NULL) : NULL;
	sited = argc > 2 ? realpath(argv[2], NULL) : NULL;
	if (!library || !sited)
		return 2;
	/* What was found is not kept for the next test. */
	setenv("XDG_CACHE_HOME", "/dev/null", 1);
	if (!disk_make())
		return 2;
	if (!temp_place())
		return temp_place_skip();
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	temp_place_remove();
	return failed;
}
