/* SPDX-License-Identifier: MIT */
/*
 * restore.c - R4: a new server takes over the maps of the old one, and counts go on
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../format_text.h"
#include "hist_fixture.h"

struct server {
	char		name[64];
	struct fixture	f;
};

static const char format[] = "name: one\nID: 100\n" COMMON
	FIELD("int pid", 8, 4, 1) "\nprint fmt: \"\"\n";

static int write_file(void *arg, const char *path, const char *text)
{
	struct server *s = arg;
	struct event *e = model_find_event(s->f.model, "s", "one");

	assert_string_equal(path, "events/s/one/trigger");
	return event_file_trigger_write(event_file_get(s->f.model->top, e), text);
}

static int setup(void **state)
{
	struct session_params params = { .nr_cpus = 2, .nr_slots = 8, .memory = 256 << 20 };
	struct server *s = calloc(1, sizeof(*s));

	snprintf(s->name, sizeof(s->name), "restore-hist-%d", (int)getpid());
	session_remove_stale(s->name);
	assert_int_equal(session_create(s->name, &params, &s->f.session), 0);
	assert_int_equal(model_create(s->f.session, &s->f.model), 0);
	assert_int_equal(model_add_event(s->f.model, "s", format, strlen(format), &s->f.all), 0);
	*state = s;
	return 0;
}

static int teardown(void **state)
{
	struct server *s = *state;

	model_destroy(s->f.model);
	session_destroy(s->f.session);
	free(s);
	return 0;
}

static void new_server(struct server *s)
{
	model_destroy(s->f.model);
	session_close(s->f.session);
	assert_int_equal(session_open(s->name, &s->f.session), 0);
	assert_int_equal(model_create(s->f.session, &s->f.model), 0);
	assert_int_equal(model_restore(s->f.model, write_file, s), 0);
	s->f.all = model_find_event(s->f.model, "s", "one");
}

static void hit_pid(struct server *s, int32_t pid)
{
	struct { struct record_common common; int32_t pid; } r = { { .type = 100, .pid = 1 }, pid };

	hit_record(&s->f, &r, sizeof(r), 1000, "tester");
}

static void counts_go_on(void **state)
{
	struct server *s = *state;

	assert_int_equal(command(s->f.all, "hist:keys=pid:size=256"), 0);
	hit_pid(s, 5);
	new_server(s);
	assert_triggers(s->f.all, "hist:keys=pid:vals=hitcount:sort=hitcount:size=256 [active]\n");
	assert_entries(s->f.all, "{ pid:          5 } hitcount:          1\n");
	hit_pid(s, 5);
	assert_entries(s->f.all, "{ pid:          5 } hitcount:          2\n");
}

static void a_paused_hist_comes_back_paused(void **state)
{
	struct server *s = *state;

	assert_int_equal(command(s->f.all, "hist:keys=pid"), 0);
	assert_int_equal(command(s->f.all, "hist:keys=pid:pause"), 0);
	new_server(s);
	assert_triggers(s->f.all, "hist:keys=pid:vals=hitcount:sort=hitcount:size=2048 [paused]\n");
	hit_pid(s, 5);
	assert_entries(s->f.all, "");
	assert_int_equal(command(s->f.all, "hist:keys=pid:cont"), 0);
	new_server(s);
	assert_triggers(s->f.all, "hist:keys=pid:vals=hitcount:sort=hitcount:size=2048 [active]\n");
}

static void what_was_cleared_or_removed_stays_so(void **state)
{
	struct server *s = *state;

	assert_int_equal(command(s->f.all, "hist:keys=pid"), 0);
	assert_int_equal(command(s->f.all, "hist:keys=common_pid"), 0);
	hit_pid(s, 5);
	assert_int_equal(command(s->f.all, "hist:keys=pid:clear"), 0);
	assert_int_equal(command(s->f.all, "!hist:keys=common_pid"), 0);
	new_server(s);
	assert_entries(s->f.all, "");
	hit_pid(s, 6);
	new_server(s);
	assert_entries(s->f.all, "{ pid:          6 } hitcount:          1\n");
}

static void named_hists_are_shared_again(void **state)
{
	struct server *s = *state;

	assert_int_equal(command(s->f.all, "hist:name=n:keys=pid"), 0);
	assert_int_equal(command(s->f.all, "hist:name=n:keys=pid if pid == 6"), 0);
	hit_pid(s, 6);
	new_server(s);
	hit_pid(s, 6);
	hit_pid(s, 5);
	assert_entries(s->f.all, "{ pid:          5 } hitcount:          1\n{ pid:          6 } "
				 "hitcount:          4\n"
				 "{ pid:          5 } hitcount:          1\n{ pid:          6 } "
				 "hitcount:          4\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(counts_go_on, setup, teardown),
		cmocka_unit_test_setup_teardown(a_paused_hist_comes_back_paused, setup, teardown),
		cmocka_unit_test_setup_teardown(what_was_cleared_or_removed_stays_so, setup,
						teardown),
		cmocka_unit_test_setup_teardown(named_hists_are_shared_again, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
