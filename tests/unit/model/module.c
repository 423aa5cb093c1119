/* SPDX-License-Identifier: MIT */
/* module.c - set_event with the name of the object that brings an event: ":mod:libfoo.so" */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fixture.h"
#include "model/event/set.h"
#include "model/symbols.h"
#include "model/text_memory.h"

struct module_fixture {
	char		name[64];
	struct session	*session;
	struct model	*model;
};

static struct event *add(struct module_fixture *w, const char *name, unsigned int id)
{
	char text[256];
	struct event *e;
	int len = snprintf(text, sizeof(text), "name: %s\nID: %u\nformat:\n\n"
			   "\tfield:int pid;\toffset:8;\tsize:4;\tsigned:1;\n\nprint fmt: \"\"\n",
			   name, id);

	assert_int_equal(model_add_event(w->model, "s", text, (size_t)len, &e), 0);
	return e;
}

static int set_up(void **state)
{
	struct session_params params = { .nr_cpus = 2, .nr_slots = 8, .memory = 256 << 20 };
	struct module_fixture *w = calloc(1, sizeof(*w));

	snprintf(w->name, sizeof(w->name), "module-test-%d", (int)getpid());
	session_remove_stale(w->name);
	assert_int_equal(session_create(w->name, &params, &w->session), 0);
	assert_int_equal(model_create(w->session, &w->model), 0);
	add(w, "first", 100);
	add(w, "second", 101);
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct module_fixture *w = *state;

	model_destroy(w->model);
	session_destroy(w->session);
	free(w);
	return 0;
}

static int write_file(void *arg, const char *path, const char *text)
{
	struct module_fixture *w = arg;
	struct instance *inst;
	char event[64];

	if (!strncmp(path, "instances/", 10))
		return instance_create(w->model, path + 10, &inst);
	if (sscanf(path, "events/s/%63[^/]/enable", event) != 1)
		return -ENOENT;
	return event_file_enable(event_file_get(w->model->top,
						model_find_event(w->model, "s", event)), true);
}

static void next_server(struct module_fixture *w)
{
	model_destroy(w->model);
	session_close(w->session);
	assert_int_equal(session_open(w->name, &w->session), 0);
	assert_int_equal(model_create(w->session, &w->model), 0);
	assert_int_equal(model_restore(w->model, write_file, w), 0);
}

static void bring(struct module_fixture *w, const char *name, const char *module)
{
	assert_int_equal(event_module_add(model_find_event(w->model, "s", name), module), 0);
}

static int choose(struct module_fixture *w, const char *word)
{
	return event_set_word(w->model->top, word, NULL);
}

static void assert_set(struct instance *inst, const char *expected)
{
	char *text = NULL;
	size_t size;
	FILE *out = text_memory_open(&text, &size);

	event_set_print(inst, out);
	fclose(out);
	assert_string_equal(text, expected);
	free(text);
}

#define assert_top(w, expected) assert_set((w)->model->top, expected)

static void known_events_are_enabled_at_once(void **state)
{
	struct module_fixture *w = *state;

	bring(w, "first", "libfoo-1.so");
	bring(w, "second", "libbar.so");
	bring(w, "second", "libfoo-1.so");
	assert_int_equal(choose(w, ":mod:libbar.so"), 0);
	assert_top(w, "s:second\n");
	assert_int_equal(choose(w, "!:mod:libbar.so"), 0);
	assert_top(w, "");
	assert_int_equal(choose(w, "s:*:mod:libfoo_1.so"), 0);
	assert_top(w, "s:first\ns:second\n");
	assert_int_equal(choose(w, "!s:first:mod:libfoo-1.so"), 0);
	assert_top(w, "s:second\n");
	assert_int_equal(choose(w, "!*:mod:libfoo-1.so"), 0);
	assert_int_equal(choose(w, "first:mod:libfoo-1.so"), 0);
	assert_top(w, "s:first\n");
}

static void a_known_module_without_the_event_is_an_error(void **state)
{
	struct module_fixture *w = *state;

	bring(w, "first", "libfoo.so");
	assert_int_equal(choose(w, "s:second:mod:libfoo.so"), -EINVAL);
	assert_int_equal(choose(w, "none:mod:libfoo.so"), -EINVAL);
	assert_int_equal(choose(w, "!none:mod:libfoo.so"), -EINVAL);
	assert_int_equal(choose(w, "!:mod:libother.so"), -EINVAL);
	assert_int_equal(choose(w, "s:mod"), -EINVAL);
	assert_top(w, "");
}

static void a_module_to_come_is_listed_until_it_comes(void **state)
{
	struct module_fixture *w = *state;

	assert_int_equal(choose(w, ":mod:libfoo.so"), 0);
	assert_int_equal(choose(w, ":mod:libfoo.so"), 0);
	assert_int_equal(choose(w, "s:second:mod:libbar.so"), 0);
	assert_int_equal(choose(w, "s:mod:libfoo.so"), 0);
	assert_top(w, "s:mod:libfoo.so\ns:second:mod:libbar.so\n*:*:mod:libfoo.so\n");
	assert_int_equal(choose(w, "!s:mod:libfoo.so"), 0);
	bring(w, "first", "libbar.so");
	assert_top(w, "s:second:mod:libbar.so\n*:*:mod:libfoo.so\n");
	bring(w, "first", "libfoo.so");
	assert_top(w, "s:first\ns:second:mod:libbar.so\n");
	bring(w, "second", "libbar.so");
	assert_top(w, "s:first\ns:second\n");
}

static void what_the_module_brings_later_is_enabled_too(void **state)
{
	struct module_fixture *w = *state;
	struct instance *inst;

	bring(w, "first", "libfoo.so");
	assert_int_equal(instance_create(w->model, "i", &inst), 0);
	assert_int_equal(event_set_word(inst, ":mod:libfoo.so", NULL), 0);
	bring(w, "second", "libfoo.so");
	assert_set(inst, "s:first\ns:second\n");
	assert_top(w, "");
	event_set_clear(inst);
	add(w, "third", 102);
	bring(w, "third", "libfoo.so");
	assert_set(inst, "");
}

static void a_disabled_event_stays_so_when_it_comes_again(void **state)
{
	struct module_fixture *w = *state;

	assert_int_equal(choose(w, ":mod:libfoo.so"), 0);
	bring(w, "first", "libfoo.so");
	assert_int_equal(choose(w, "!first"), 0);
	bring(w, "first", "libfoo.so");
	assert_top(w, "");
	next_server(w);
	bring(w, "first", "libfoo.so");
	assert_top(w, "");
}

static void the_next_server_knows_both(void **state)
{
	struct module_fixture *w = *state;
	struct instance *inst;

	assert_int_equal(instance_create(w->model, "i", &inst), 0);
	bring(w, "first", "libfoo.so");
	assert_int_equal(choose(w, ":mod:libbar.so"), 0);
	assert_int_equal(event_set_word(inst, "s:second:mod:libbar.so", NULL), 0);
	next_server(w);
	next_server(w);
	inst = instance_find(w->model, "i");
	assert_top(w, "*:*:mod:libbar.so\n");
	assert_set(inst, "s:second:mod:libbar.so\n");
	assert_int_equal(choose(w, ":mod:libfoo.so"), 0);
	assert_top(w, "s:first\n*:*:mod:libbar.so\n");
	bring(w, "second", "libbar.so");
	assert_top(w, "s:first\ns:second\n");
	assert_set(inst, "s:second\n");
}

static void a_kernels_module_is_that_of_the_tracepoint(void **state)
{
	struct module_fixture *w = *state;
	struct symbols *s = w->model->symbols;

	w->model->imported = true;
	assert_int_equal(symbols_add(s, 0xffffffff81000000, 'T', "__traceiter_first", NULL), 0);
	assert_int_equal(symbols_add(s, 0xffffffffc0000000, 't', "__traceiter_second", "xfs"), 0);
	assert_int_equal(choose(w, ":mod:xfs"), 0);
	assert_top(w, "s:second\n");
	assert_int_equal(choose(w, "first:mod:xfs"), -EINVAL);
	assert_int_equal(choose(w, ":mod:ext4"), 0);
	assert_top(w, "s:second\n*:*:mod:ext4\n");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(known_events_are_enabled_at_once),
		TEST(a_known_module_without_the_event_is_an_error),
		TEST(a_module_to_come_is_listed_until_it_comes),
		TEST(what_the_module_brings_later_is_enabled_too),
		TEST(a_disabled_event_stays_so_when_it_comes_again),
		TEST(the_next_server_knows_both),
		TEST(a_kernels_module_is_that_of_the_tracepoint),
	};

	return cmocka_run_group_tests_name("module", tests, NULL, NULL);
}
