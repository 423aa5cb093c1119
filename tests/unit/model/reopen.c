/* SPDX-License-Identifier: MIT */
/*
 * reopen.c - R4: the server of a session dies, the next one brings everything back
 *
 * "Dies" is model_destroy() with nothing taken back and session_close() of a
 * named session: what a new server finds is the same as after a kill.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fixture.h"
#include "model/event_set.h"
#include "model/pids.h"
#include "model/symbols.h"
#include "model/synth.h"
#include "model/text.h"
#include "model/trigger.h"
#include "plane/plane.h"
#include "plane/ring.h"

struct world {
	char		name[64];
	struct session	*session;
	struct model	*model;
};

static const char first_format[] = "name: first\nID: 100\nformat:\n\n"
	"\tfield:int pid;\toffset:8;\tsize:4;\tsigned:1;\n\nprint fmt: \"\"\n";
static const char second_format[] = "name: second\nID: 101\nformat:\n\n"
	"\tfield:int pid;\toffset:8;\tsize:4;\tsigned:1;\n\nprint fmt: \"\"\n";

/* The files that the objects of these tests are written to. */
static int write_file(void *arg, const char *path, const char *text)
{
	struct world *w = arg;
	struct instance *inst = w->model->top;
	char system[32], event[32], file[32], name[32];
	struct event_file *f;
	int n = 0;

	if (sscanf(path, "instances/%31[^/]%n", name, &n) == 1) {
		if (!path[n])
			return instance_create(w->model, name, &inst);
		inst = instance_find(w->model, name);
		path += n + 1;
	}
	if (!strcmp(path, "set_event_pid"))
		return pids_write(inst, PIDS_TRACE, text, strlen(text)) < 0 ? -EINVAL : 0;
	assert_int_equal(sscanf(path, "events/%31[^/]/%31[^/]/%31s", system, event, file), 3);
	f = event_file_get(inst, model_find_event(w->model, system, event));
	if (!strcmp(file, "enable"))
		return event_file_enable(f, *text == '1');
	if (!strcmp(file, "filter"))
		return event_file_set_filter(f, text);
	assert_string_equal(file, "trigger");
	return event_file_trigger_write(f, text);
}

static int setup(void **state)
{
	struct session_params params = { .nr_cpus = 2, .nr_slots = 8, .memory = 256 << 20 };
	struct world *w = calloc(1, sizeof(*w));

	snprintf(w->name, sizeof(w->name), "reopen-test-%d", (int)getpid());
	session_remove_stale(w->name);
	assert_int_equal(session_create(w->name, &params, &w->session), 0);
	assert_int_equal(model_create(w->session, &w->model), 0);
	assert_int_equal(model_add_event(w->model, "s", first_format, strlen(first_format), NULL), 0);
	assert_int_equal(model_add_event(w->model, "s", second_format, strlen(second_format), NULL), 0);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	model_destroy(w->model);
	session_destroy(w->session);
	free(w);
	return 0;
}

static void new_server(struct world *w)
{
	model_destroy(w->model);
	session_close(w->session);
	assert_int_equal(session_open(w->name, &w->session), 0);
	assert_int_equal(model_create(w->session, &w->model), 0);
	assert_int_equal(model_reopen(w->model, write_file, w), 0);
}

static struct event_file *file_of(struct world *w, const char *name)
{
	return event_file_get(w->model->top, model_find_event(w->model, "s", name));
}

static void events_come_back(void **state)
{
	struct world *w = *state;

	new_server(w);
	assert_prints(event_available_print(w->model->top, out), "s:first\ns:second\n");
	assert_string_equal(model_find_event(w->model, "s", "first")->format, first_format);
	new_server(w);
	assert_prints(event_available_print(w->model->top, out), "s:first\ns:second\n");
}

static void enable_and_filter_come_back(void **state)
{
	struct world *w = *state;

	assert_int_equal(event_file_enable(file_of(w, "first"), true), 0);
	assert_int_equal(event_file_enable(file_of(w, "second"), true), 0);
	assert_int_equal(event_file_enable(file_of(w, "second"), false), 0);
	assert_int_equal(event_file_set_filter(file_of(w, "first"), "pid == 1"), 0);
	assert_int_equal(event_file_set_filter(file_of(w, "first"), "pid == 2"), 0);
	new_server(w);
	assert_prints(event_set_print(w->model->top, out), "s:first\n");
	assert_prints(event_file_print_filter(file_of(w, "first"), out), "pid == 2\n");
	assert_prints(event_file_print_filter(file_of(w, "second"), out), "none\n");
}

static void triggers_come_back_with_their_counts(void **state)
{
	struct world *w = *state;
	struct trigger *t;

	assert_int_equal(event_file_trigger_write(file_of(w, "first"), "traceoff:5 if pid == 1"), 0);
	assert_int_equal(event_file_trigger_write(file_of(w, "first"), "enable_event:s:second"), 0);
	assert_int_equal(event_file_trigger_write(file_of(w, "second"), "stacktrace"), 0);
	assert_int_equal(event_file_trigger_write(file_of(w, "second"), "!stacktrace"), 0);
	t = list_entry(file_of(w, "first")->triggers.prev, struct trigger, node);
	atomic_store(&t->state->count, 2);	/* it fired three times */
	new_server(w);
	assert_prints(event_file_trigger_print(file_of(w, "first"), out),
		      "enable_event:s:second:unlimited\ntraceoff:count=2 if pid == 1\n");
	assert_prints(event_file_print_enable(file_of(w, "first"), out), "0*");
	assert_prints(event_file_print_enable(file_of(w, "second"), out), "0*");
}

static void what_hits_have_switched_stays(void **state)
{
	struct world *w = *state;

	assert_int_equal(event_file_trigger_write(file_of(w, "first"), "enable_event:s:second"), 0);
	atomic_store(&file_of(w, "second")->state->soft_disabled, 0);	/* it fired */
	assert_prints(event_file_print_enable(file_of(w, "second"), out), "1*");
	new_server(w);
	assert_prints(event_file_print_enable(file_of(w, "second"), out), "1*");
	assert_prints(event_file_print_enable(file_of(w, "first"), out), "0*");
}

static void instances_and_pids_come_back(void **state)
{
	struct world *w = *state;
	struct instance *inst;
	struct pid_set *set;

	assert_int_equal(instance_create(w->model, "other", &inst), 0);
	assert_int_equal(event_file_enable(event_file_get(inst, model_find_event(w->model, "s", "first")), true), 0);
	assert_int_equal(pids_write(inst, PIDS_TRACE, "1 2\n", 4), 4);
	assert_int_equal(pids_write(inst, PIDS_TRACE, "5000000\n", 8), 8);
	set = session_data(w->session, atomic_load(&inst->state->pids), sizeof(*set));
	set->bits[0] = 1 << 2 | 1 << 3;		/* 1 ended, 2 forked 3 */
	new_server(w);
	inst = instance_find(w->model, "other");
	assert_non_null(inst);
	assert_prints(event_set_print(inst, out), "s:first\n");
	assert_prints(event_set_print(w->model->top, out), "");
	assert_prints(pids_print(inst, PIDS_TRACE, out), "2\n3\n5000000\n");
}

/* Synthetic events, event probes and what hangs on them, with the ids that records in the rings have. */
static void dynamic_events_come_back(void **state)
{
	struct world *w = *state;
	struct model *m = w->model;
	struct event *base;

	symbols_add(m->symbols, 0x1000, 't', "sym", NULL);	/* the next server has none */
	assert_int_equal(synth_command(m, "gone int y"), 0);
	assert_int_equal(synth_command(m, "kept u64 d; char t[]"), 0);
	assert_int_equal(dynamic_command(m, "e:g/probe s.first x=$pid:u8 y=@sym:u8 if pid > 3"), 0);
	assert_int_equal(synth_command(m, "!gone"), 0);
	assert_int_equal(event_file_trigger_write(event_file_get(m->top, model_find_event(m, "synthetic", "kept")),
						  "hist:keys=d"), 0);
	assert_int_equal(event_file_enable(event_file_get(m->top, model_find_event(m, "g", "probe")), true), 0);
	new_server(w);
	m = w->model;
	assert_prints(dynamic_print(m, out), "s:synthetic/kept\tu64 d; char[] t\ne:g/probe s.first x=$pid:u8 y=@sym:u8\n");
	assert_int_equal(model_find_event(m, "synthetic", "kept")->id, 103);
	assert_int_equal(model_find_event(m, "g", "probe")->id, 104);
	assert_prints(event_file_trigger_print(event_file_get(m->top, model_event_by_id(m, 103)), out),
		      "hist:keys=d:vals=hitcount:sort=hitcount:size=2048 [active]\n");
	base = model_find_event(m, "s", "first");
	assert_prints(event_file_print_enable(event_file_find(m->top, base), out), "0*");
	assert_int_equal(base->attached, 1);
	assert_int_equal(synth_command(m, "next int y"), 0);
	assert_int_equal(model_find_event(m, "synthetic", "next")->id, 102);
	/* What a dead server had forgotten does not come back with the next. */
	assert_int_equal(event_file_enable(event_file_get(m->top, model_event_by_id(m, 104)), false), 0);
	assert_int_equal(dynamic_command(m, "-:probe"), 0);
	new_server(w);
	assert_prints(dynamic_print(w->model, out), "s:synthetic/kept\tu64 d; char[] t\ns:synthetic/next\tint y\n");
}

static void the_plan_is_published_anew(void **state)
{
	struct world *w = *state;
	struct event_entry *entries;

	assert_int_equal(event_file_enable(file_of(w, "first"), true), 0);
	new_server(w);
	entries = session_config(w->session, session_header(w->session)->events, 101 * sizeof(*entries));
	assert_int_equal(atomic_load(&entries[100].plan), model_find_event(w->model, "s", "first")->plan);
	assert_int_not_equal(atomic_load(&entries[100].plan), 0);
}

/* Whether a record is taken. */
static bool takes(struct world *w, struct instance *inst)
{
	struct { struct record_common common; int32_t pid; } r = { { .type = 100, .pid = 1 }, 1 };
	struct slot *slot = session_slot_get(w->session);
	int err;

	assert_non_null(slot);
	err = ring_write(session_plane(w->session), slot, instance_buffer(inst, 0), 0, 0, 1000, &r, sizeof(r));
	session_slot_put(w->session, slot);
	return !err;
}

/* Nobody reads any more, with pause-on-trace, when the server is gone. */
static void who_stood_for_a_reader_goes_on(void **state)
{
	struct world *w = *state;
	struct instance *inst;

	assert_int_equal(instance_create(w->model, "other", &inst), 0);
	instance_stop(w->model->top);
	instance_stop(inst);
	assert_false(takes(w, w->model->top));
	assert_false(takes(w, inst));
	new_server(w);
	assert_true(takes(w, w->model->top));
	assert_true(takes(w, instance_find(w->model, "other")));
}

/* The server died before it had noted what it had just made, or behind what it had just taken back. */
static void what_was_half_made_is_forgotten(void **state)
{
	enum { PLACE = 7 };
	struct world *w = *state;
	struct instance_state *st = plane_instance(session_plane(w->session), PLACE);

	atomic_store(&st->used, 1);
	atomic_store(&st->buffers[0], session_data_alloc(w->session, 4096));
	atomic_store(&st->no_pids, session_data_alloc(w->session, sizeof(struct pid_set)));
	atomic_store(&w->model->top->state->pids, session_data_alloc(w->session, sizeof(struct pid_set)));
	new_server(w);
	st = plane_instance(session_plane(w->session), PLACE);
	assert_int_equal(atomic_load(&st->used), 0);
	assert_int_equal(atomic_load(&st->buffers[0]), 0);
	assert_int_equal(atomic_load(&st->no_pids), 0);
	assert_int_equal(atomic_load(&w->model->top->state->pids), 0);
}

/* A hit that is on its way to the first one does not record in the second. */
static void a_place_is_not_used_again_at_once(void **state)
{
	struct world *w = *state;
	struct instance *inst;
	uint32_t place;

	assert_int_equal(instance_create(w->model, "first", &inst), 0);
	place = inst->index;
	assert_int_equal(instance_remove(inst), 0);
	assert_int_equal(instance_create(w->model, "second", &inst), 0);
	assert_int_not_equal(inst->index, place);
	for (int i = 0; i < 2 * LAYOUT_MAX_INSTANCES; i++) {
		assert_int_equal(instance_remove(inst), 0);
		session_reclaim(w->session);
		assert_int_equal(instance_create(w->model, "next", &inst), 0);
		assert_in_range(inst->index, 1, LAYOUT_MAX_INSTANCES - 1);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(events_come_back),
		TEST(enable_and_filter_come_back),
		TEST(triggers_come_back_with_their_counts),
		TEST(what_hits_have_switched_stays),
		TEST(instances_and_pids_come_back),
		TEST(dynamic_events_come_back),
		TEST(the_plan_is_published_anew),
		TEST(who_stood_for_a_reader_goes_on),
		TEST(what_was_half_made_is_forgotten),
		TEST(a_place_is_not_used_again_at_once),
	};

	return cmocka_run_group_tests_name("reopen", tests, NULL, NULL);
}
