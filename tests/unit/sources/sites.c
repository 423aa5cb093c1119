/* SPDX-License-Identifier: MIT */
/*
 * sites.c - functions of running programs on the server's side. This process plays the program, and
 * reports a library that it never loads.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <cmocka.h>

#include "../session/temp_place.h"
#include "agent/providers/table.h"
#include "model/ftrace/ftrace.h"
#include "plane/plane.h"
#include "layout/attach_wire.h"
#include "elf/file.h"
#include "elf/sites.h"
#include "sources/program/programs.h"
#include "tracefs/tree.h"
#include "cat.h"
#include "fixture.h"

enum { NUMBER = 2, FUNCTIONS = 3 };

#define LINES										\
	"sites_static [libfixture.so]\nsites_first [libfixture.so]\nsites_second "	\
	"[libfixture.so]\n"

static const char *library;

static int set_up(void **state)
{
	conn = -1;
	return fixture_make("sites", NULL);
}

/* ---- as a user ---- */

static void put(const char *path, const char *text)
{
	struct tree_file *f;
	ssize_t n;

	assert_int_equal(tree_open(tree, path, O_WRONLY | O_TRUNC, &f), 0);
	for (; *text; text += n) {	/* each write takes a word */
		n = tree_write(f, text, strlen(text));
		assert_true(n > 0);
	}
	assert_int_equal(tree_release(f), 0);
}

/* ---- as a program ---- */

static struct site_control *control(void)
{
	return session_config(session, session_header(session)->sites, sizeof(struct site_control));
}

/* Enters the library as DSO NUMBER. It has no build-id, so its size identifies it. */
static void enter(const char *path)
{
	struct program_tables *t = tables();
	struct dso_entry *e = &t->dsos[NUMBER];
	Elf64_Ehdr h;
	int fd = open(library, O_RDONLY);

	assert_int_equal(read(fd, &h, sizeof(h)), sizeof(h));
	for (int i = 0; i < h.e_phnum; i++) {
		Elf64_Phdr p;

		assert_int_equal(
			pread(fd, &p, sizeof(p), (off_t)(h.e_phoff + (unsigned int)i * sizeof(p))),
			sizeof(p));
		if (p.p_type == PT_LOAD && p.p_vaddr + p.p_memsz > e->size)
			e->size = p.p_vaddr + p.p_memsz;
	}
	close(fd);
	e->pid = (uint32_t)getpid();
	e->id_len = 8;
	snprintf(t->paths, LAYOUT_PATH, "%s", path);
	/* The entries before it are of a process that died. */
	for (int i = 0; i < NUMBER; i++)
		atomic_store(&t->dsos[i].state, DSO_WRITING);
	atomic_store(&e->state, DSO_READY);
}

static struct attach_reply receive(void)
{
	struct attach_reply reply = { 0 };

	assert_true(recv(conn, &reply, sizeof(reply), MSG_DONTWAIT) >= (ssize_t)sizeof(reply));
	return reply;
}

/* Goes on as the server's loop does, until an answer is there. */
static struct attach_reply await(void)
{
	struct pollfd p[] = { { .fd = programs_fd(programs), .events = POLLIN },
			      { .fd = conn, .events = POLLIN } };

	while (!p[1].revents)
		poll(p, 2, programs_tick(programs));
	return receive();
}

static struct attach_reply ask(enum attach_kind kind, uint32_t value)
{
	const struct attach_request q = {
		.version = SESSION_VERSION,
		.kind = kind,
		.value = value,
		.table = provider_table_version(),
		.program = own_program(),
	};

	dial();
	assert_int_equal(send(conn, &q, sizeof(q), 0), sizeof(q));
	serve();
	return receive();
}

/* Tells of the DSO, and waits as a program does. */
static void tell(void)
{
	const struct attach_reply r = ask(ATTACH_DSO, NUMBER);

	assert_int_equal(r.err, 0);
	if (r.barrier)
		assert_int_equal(await().barrier, 0);
}

/* Until the functions of the library are known. */
static void learn(void)
{
	struct pollfd p = { .fd = programs_fd(programs), .events = POLLIN };

	while (!strstr(cat("available_filter_functions"), "sites_first"))
		poll(&p, 1, programs_tick(programs));
}

static struct site_answer *own_answer(void)
{
	return &tables()->sites[ask(ATTACH_HELLO, 0).process - 1];
}

/* Does what the program's task would do. */
static void obey(struct site_answer *a, bool has_it)
{
	a->pid = (uint32_t)getpid();
	atomic_store(&a->dsos[0], has_it ? 1ull << NUMBER : 0);
	atomic_store(&a->command, atomic_load(&control()->command));
}

static unsigned int nr_words_on(void)
{
	const struct site_set *set = &control()->sets[NUMBER];
	const uint32_t *words =
		session_config(session, atomic_load(&set->words), FUNCTIONS * sizeof(uint32_t));
	unsigned int nr = 0;

	if (!words || atomic_load(&set->nr) != FUNCTIONS)
		return 0;
	for (int i = 0; i < FUNCTIONS; i++)
		nr += (words[i] & SITE_GROUP) >= LAYOUT_GROUPS_AT;
	return nr;
}

/* ---- tests ---- */

static void the_files_are_there_without_a_function(void **state)
{
	assert_string_equal(cat("available_filter_functions"), "");
	assert_string_equal(cat("set_ftrace_filter"), "#### all functions enabled ####\n");
	put("current_tracer", "function");
	assert_int_equal(nr_words_on(), 0);
}

static void a_program_that_is_ready_waits_until_its_functions_are_known(void **state)
{
	assert_int_equal(ask(ATTACH_HELLO, 0).err, 0);
	enter(library);
	assert_int_equal(ask(ATTACH_READY, 0).barrier, 1);
	assert_int_equal(await().barrier, 0);
	assert_string_equal(cat("available_filter_functions"), LINES);
	assert_int_equal(ask(ATTACH_READY, 0).barrier, 0);
}

static void words_are_there_when_a_dso_has_been_told_of(void **state)
{
	put("current_tracer", "function");
	assert_int_equal(ask(ATTACH_HELLO, 0).err, 0);
	enter(library);
	tell();
	assert_int_equal(nr_words_on(), FUNCTIONS);
	assert_int_equal(ask(ATTACH_DSO, UINT32_MAX).err, 0);
}

static void words_follow_the_filter(void **state)
{
	uint32_t command;

	enter(library);
	learn();
	put("current_tracer", "function");
	assert_int_equal(nr_words_on(), FUNCTIONS);
	command = atomic_load(&control()->command);
	put("set_ftrace_filter", "sites_first\n");
	assert_int_equal(nr_words_on(), 1);
	assert_int_not_equal(atomic_load(&control()->command), command);
	put("set_ftrace_notrace", "sites_first\n");
	assert_int_equal(nr_words_on(), 0);
	put("set_ftrace_notrace", "\n");
	put("set_ftrace_filter", ":mod:libfixture*\n");
	assert_int_equal(nr_words_on(), FUNCTIONS);
	command = atomic_load(&control()->command);
	put("set_ftrace_filter", "sites_*\n");
	assert_int_equal(atomic_load(&control()->command), command);	/* the set is the same */
	put("current_tracer", "nop");
	assert_int_equal(nr_words_on(), 0);
}

static void who_does_not_answer_is_waited_for_once(void **state)
{
	struct site_answer *a = own_answer();
	struct attach_behind b;

	enter(library);
	learn();
	attach_behind(session, atomic_load(&control()->command), &b);
	assert_int_equal(b.fresh, 1);
	/* The program has prepared its sites, and waits for the answer to READY. */
	a->pid = (uint32_t)getpid();
	atomic_store(&a->dsos[0], 1ull << NUMBER);
	attach_behind(session, atomic_load(&control()->command), &b);
	assert_int_equal(b.fresh, 1);
	assert_int_equal(b.late, 0);
	obey(a, true);
	put("current_tracer", "function");
	attach_behind(session, atomic_load(&control()->command), &b);
	assert_int_equal(b.late, 0);
	assert_int_equal(b.slow, 1);
	obey(a, true);
	attach_behind(session, atomic_load(&control()->command), &b);
	assert_int_equal(b.late + b.slow + b.fresh, 0);
	put("current_tracer", "nop");
	attach_behind(session, atomic_load(&control()->command), &b);
	assert_int_equal(b.slow, 1);
	obey(a, false);
	atomic_store(&a->command, 0);	/* a program without sites has no answer to give */
	attach_behind(session, atomic_load(&control()->command), &b);
	assert_int_equal(b.late + b.slow + b.fresh, 0);
}

static void a_dso_that_is_closed_is_forgotten_until_it_comes_again(void **state)
{
	struct site_answer *a = own_answer();

	enter(library);
	put("current_tracer", "function");
	obey(a, true);
	learn();
	assert_string_equal(cat("available_filter_functions"), LINES);
	assert_int_equal(nr_words_on(), FUNCTIONS);
	obey(a, false);
	programs_tick(programs);
	assert_string_equal(cat("available_filter_functions"), "");
	assert_int_equal(nr_words_on(), 0);
	programs_tick(programs);
	assert_string_equal(cat("available_filter_functions"), "");
	tell();
	assert_string_equal(cat("available_filter_functions"), LINES);
	assert_int_equal(nr_words_on(), FUNCTIONS);
}

static void a_dso_stays_when_its_process_ends(void **state)
{
	obey(own_answer(), true);
	enter(library);
	learn();
	close(conn);
	conn = -1;
	serve();
	programs_tick(programs);
	assert_string_equal(cat("available_filter_functions"), LINES);
}

static int write_again(void *arg, const char *path, const char *text)
{
	int err = programs_restore(&programs, model, tree, path, text);

	if (err <= 0)
		return err;
	put(path, text);
	return 0;
}

static void a_new_server_finds_the_words(void **state)
{
	config_ref words;
	uint32_t command;

	enter(library);
	learn();
	put("set_ftrace_filter", "sites_first sites_static\n");
	put("current_tracer", "function");
	assert_int_equal(nr_words_on(), 2);
	words = atomic_load(&control()->sets[NUMBER].words);
	command = atomic_load(&control()->command);
	fixture_close(false);
	assert_int_equal(session_open("sites", &session), 0);
	assert_int_equal(nr_words_on(), 2);
	assert_int_equal(model_create(session, &model), 0);
	tree = tree_create(model);
	assert_int_equal(model_restore(model, write_again, NULL), 0);
	programs_restored(programs);
	assert_int_equal(atomic_load(&control()->sets[NUMBER].words), words);
	assert_int_not_equal(atomic_load(&control()->command), command);
	assert_int_equal(nr_words_on(), 2);
	assert_string_equal(cat("set_ftrace_filter"),
			    "sites_static [libfixture.so]\nsites_first [libfixture.so]\n");
	assert_string_equal(cat("available_filter_functions"), LINES);
	put("set_ftrace_filter", "\n");
	assert_int_equal(nr_words_on(), FUNCTIONS);
}

/* ---- processes that have ended ---- */

static const char *doctor_line(const char *key)
{
	static char line[256];
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	const char *at;

	programs_print(programs, out);
	fclose(out);
	at = strstr(text, key);
	snprintf(line, sizeof(line), "%.*s", at ? (int)strcspn(at, "\n") : 0, at ? at : "");
	free(text);
	return line;
}

/* A process answers that it could not switch so many functions, and ends. */
static void end_with(uint32_t nr, enum site_skip why)
{
	struct site_answer *a = own_answer();
	const struct attach_request bye = { .version = SESSION_VERSION, .kind = ATTACH_BYE };

	memset(a->skipped, 0, sizeof(a->skipped));
	a->pid = (uint32_t)getpid();
	a->skipped[why] = nr;
	assert_int_equal(send(conn, &bye, sizeof(bye), 0), sizeof(bye));
	close(conn);
	conn = -1;
	serve();
}

static void what_was_refused_is_known_when_a_process_has_ended(void **state)
{
	char want[128];

	end_with(0, SITE_CHANGED);
	assert_string_equal(doctor_line("ended-"), "");
	/* What the file says alone is said of the file. */
	end_with(3, SITE_ENTERED);
	assert_string_equal(doctor_line("ended-"), "");
	end_with(3, SITE_CHANGED);
	snprintf(want, sizeof(want), "ended-functions 1 %d <...>\t3 changed since it was loaded",
		 (int)getpid());
	assert_string_equal(doctor_line("ended-"), want);
	end_with(3, SITE_CHANGED);
	snprintf(want, sizeof(want), "ended-functions 2 %d <...>\t3 changed since it was loaded",
		 (int)getpid());
	assert_string_equal(doctor_line("ended-"), want);
}

static void what_finds_no_room_is_counted(void **state)
{
	for (uint32_t i = 1; i <= 64; i++)
		end_with(i, SITE_BUSY);
	assert_string_equal(doctor_line("ended-more"), "");
	for (uint32_t i = 1; i <= 67; i++)
		end_with(i, SITE_BUSY);
	assert_string_equal(doctor_line("ended-more"), "ended-more 3");
}

/* ---- damaged files ---- */

static char *damaged_name(void)
{
	static char name[512];

	snprintf(name, sizeof(name), "%s/damaged", session_dir(session));
	return name;
}

/* Writes the library, of `size` bytes, with another byte at `at`. */
static void damage(const char *bytes, size_t size, size_t at, char byte)
{
	int fd = open(damaged_name(), O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_int_equal(write(fd, bytes, size), size);
	if (at < size)
		assert_int_equal(pwrite(fd, &byte, 1, (off_t)at), 1);
	close(fd);
}

static void look_at(const struct elf_want *want)
{
	struct elf_sites sites;

	/* The result does not matter. A sanitizer would find wrong accesses. */
	if (!elf_sites_read(damaged_name(), want, &sites))
		elf_sites_free(&sites);
}

static void files_that_are_damaged_harm_nobody(void **state)
{
	static char bytes[1 << 17];
	static const uint8_t id[8];
	int fd = open(library, O_RDONLY);
	ssize_t size = read(fd, bytes, sizeof(bytes));
	struct elf_want want = { .id = id, .id_len = 8 };
	const Elf64_Ehdr *h = (const Elf64_Ehdr *)bytes;
	size_t sections = h->e_shoff;

	close(fd);
	assert_in_range(size, 4096, sizeof(bytes) - 1);
	enter(library);
	want.size = tables()->dsos[NUMBER].size;
	for (size_t cut = 0; cut < (size_t)size; cut += 509) {
		damage(bytes, cut, SIZE_MAX, 0);
		look_at(&want);
	}
	for (size_t at = 0; at < (size_t)size; at += at < 1024 || at >= sections ? 1 : 37) {
		damage(bytes, (size_t)size, at, (char)~bytes[at]);
		look_at(&want);
	}
	unlink(damaged_name());
}

static void a_table_that_is_full_is_told_of(void **state)
{
	char *text = NULL;
	size_t size;
	FILE *out;

	for (int i = 0; i < 2; i++) {
		out = open_memstream(&text, &size);
		programs_print(programs, out);
		fclose(out);
		assert_true(!strstr(text, "full 512\n") == !i);
		free(text);
		for (int k = 0; k < LAYOUT_MAX_DSOS; k++)
			atomic_store(&tables()->dsos[k].state, DSO_WRITING);
	}
}

static void paths_that_are_full_are_told_of(void **state)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	enter("/nowhere");
	atomic_store(&tables()->paths_used, LAYOUT_PATHS - LAYOUT_PATH + 1);
	programs_print(programs, out);
	fclose(out);
	assert_non_null(strstr(text, "full 3\n"));
	free(text);
}

static void what_is_no_file_has_no_functions(void **state)
{
	enter("/dev/zero");
	programs_tick(programs);
	assert_string_equal(cat("available_filter_functions"), "");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
#define SITES_TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
		SITES_TEST(the_files_are_there_without_a_function),
		SITES_TEST(a_program_that_is_ready_waits_until_its_functions_are_known),
		SITES_TEST(words_are_there_when_a_dso_has_been_told_of),
		SITES_TEST(words_follow_the_filter),
		SITES_TEST(who_does_not_answer_is_waited_for_once),
		SITES_TEST(a_dso_that_is_closed_is_forgotten_until_it_comes_again),
		SITES_TEST(a_dso_stays_when_its_process_ends),
		SITES_TEST(a_new_server_finds_the_words),
		SITES_TEST(what_was_refused_is_known_when_a_process_has_ended),
		SITES_TEST(what_finds_no_room_is_counted),
		SITES_TEST(files_that_are_damaged_harm_nobody),
		SITES_TEST(what_is_no_file_has_no_functions),
		SITES_TEST(a_table_that_is_full_is_told_of),
		SITES_TEST(paths_that_are_full_are_told_of),
	};
	int failed;

	library = argc > 1 ? realpath(argv[1], NULL) : NULL;
	if (!library)
		return 2;
	if (!temp_place())
		return temp_place_skip();
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	temp_place_remove();
	return failed;
}
