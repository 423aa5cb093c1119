/* SPDX-License-Identifier: MIT */
/*
 * restore.c - R4: the server of a session dies, the next one brings everything back
 *
 * "Dies" means model_destroy(), which removes nothing from the session, and session_close() of
 * a named session. A new server then finds the same as after a kill.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fixture.h"
#include "model/event/set.h"
#include "model/instance/options.h"
#include "model/instance/pids.h"
#include "model/symbols.h"
#include "model/dynamic/place.h"
#include "model/dynamic/synth.h"
#include "model/text.h"
#include "model/trigger/trigger.h"
#include "plane/plane.h"
#include "plane/ring/ring.h"
#include "session/ring/access.h"

struct server_fixture {
	char		name[64];
	struct session	*session;
	struct model	*model;
};

static const char first_format[] = "name: first\nID: 100\nformat:\n\n"
	"\tfield:int pid;\toffset:8;\tsize:4;\tsigned:1;\n\nprint fmt: \"\"\n";
static const char second_format[] = "name: second\nID: 101\nformat:\n\n"
	"\tfield:int pid;\toffset:8;\tsize:4;\tsigned:1;\n\nprint fmt: \"\"\n";

/* Writes a saved text to its file, for the files that these tests use. */
static int write_file(void *arg, const char *path, const char *text)
{
	struct server_fixture *w = arg;
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
	struct server_fixture *w = calloc(1, sizeof(*w));

	snprintf(w->name, sizeof(w->name), "restore-test-%d", (int)getpid());
	session_remove_stale(w->name);
	assert_int_equal(session_create(w->name, &params, &w->session), 0);
	assert_int_equal(model_create(w->session, &w->model), 0);
	assert_int_equal(model_add_event(w->model, "s", first_format, strlen(first_format), NULL),
			 0);
	assert_int_equal(model_add_event(w->model, "s", second_format, strlen(second_format), NULL),
			 0);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct server_fixture *w = *state;

	model_destroy(w->model);
	session_destroy(w->session);
	free(w);
	return 0;
}

static void new_server(struct server_fixture *w)
{
	model_destroy(w->model);
	session_close(w->session);
	assert_int_equal(session_open(w->name, &w->session), 0);
	assert_int_equal(model_create(w->session, &w->model), 0);
	assert_int_equal(model_restore(w->model, write_file, w), 0);
}

static struct event_file *file_of(struct server_fixture *w, const char *name)
{
	return event_file_get(w->model->top, model_find_event(w->model, "s", name));
}

static struct event_file *file_in(struct server_fixture *w, const char *system, const char *name)
{
	return event_file_get(w->model->top, model_find_event(w->model, system, name));
}

static void events_come_back(void **state)
{
	struct server_fixture *w = *state;

	new_server(w);
	assert_prints(event_available_print(w->model->top, out), "s:first\ns:second\n");
	assert_string_equal(model_find_event(w->model, "s", "first")->format, first_format);
	new_server(w);
	assert_prints(event_available_print(w->model->top, out), "s:first\ns:second\n");
}

static void enable_and_filter_come_back(void **state)
{
	struct server_fixture *w = *state;

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
	struct server_fixture *w = *state;
	struct trigger *t;

	assert_int_equal(event_file_trigger_write(file_of(w, "first"), "traceoff:5 if pid == 1"),
			 0);
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
	struct server_fixture *w = *state;

	assert_int_equal(event_file_trigger_write(file_of(w, "first"), "enable_event:s:second"), 0);
	atomic_store(&file_of(w, "second")->state->soft_disabled, 0);	/* it fired */
	assert_prints(event_file_print_enable(file_of(w, "second"), out), "1*");
	new_server(w);
	assert_prints(event_file_print_enable(file_of(w, "second"), out), "1*");
	assert_prints(event_file_print_enable(file_of(w, "first"), out), "0*");
}

static void instances_and_pids_come_back(void **state)
{
	struct server_fixture *w = *state;
	struct instance *inst;
	struct pid_set *set;

	assert_int_equal(instance_create(w->model, "other", &inst), 0);
	assert_int_equal(
		event_file_enable(event_file_get(inst, model_find_event(w->model, "s", "first")),
				  true),
		0);
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

/*
 * Synthetic events and event probes come back with their triggers, and with the ids that records
 * in the rings have.
 */
static void dynamic_events_come_back(void **state)
{
	struct server_fixture *w = *state;
	struct model *m = w->model;
	struct event *base;

	symbols_add(m->symbols, 0x1000, 't', "sym", NULL);	/* the next server has no symbols */
	assert_int_equal(synth_command(m, "gone int y"), 0);
	assert_int_equal(synth_command(m, "kept u64 d; char t[]"), 0);
	assert_int_equal(dynamic_command(m, "e:g/probe s.first x=$pid:u8 y=@sym:u8 if pid > 3"), 0);
	assert_int_equal(synth_command(m, "!gone"), 0);
	assert_int_equal(event_file_trigger_write(
				 event_file_get(m->top, model_find_event(m, "synthetic", "kept")),
				 "hist:keys=d"),
			 0);
	assert_int_equal(
		event_file_enable(event_file_get(m->top, model_find_event(m, "g", "probe")), true),
		0);
	new_server(w);
	m = w->model;
	assert_prints(dynamic_print(m, out),
		      "s:synthetic/kept\tu64 d; char[] t\ne:g/probe s.first x=$pid:u8 y=@sym:u8\n");
	assert_int_equal(model_find_event(m, "synthetic", "kept")->id, 16385);
	assert_int_equal(model_find_event(m, "g", "probe")->id, 16386);
	assert_prints(
		event_file_trigger_print(event_file_get(m->top, model_event_by_id(m, 16385)), out),
		"hist:keys=d:vals=hitcount:sort=hitcount:size=2048 [active]\n");
	base = model_find_event(m, "s", "first");
	assert_prints(event_file_print_enable(event_file_find(m->top, base), out), "0*");
	assert_int_equal(base->attached, 1);
	assert_int_equal(synth_command(m, "next int y"), 0);
	assert_int_equal(model_find_event(m, "synthetic", "next")->id, 16384);
	/* Events that the old server has removed do not come back. */
	assert_int_equal(
		event_file_enable(event_file_get(m->top, model_event_by_id(m, 16386)), false), 0);
	assert_int_equal(dynamic_command(m, "-:probe"), 0);
	new_server(w);
	assert_prints(dynamic_print(w->model, out),
		      "s:synthetic/kept\tu64 d; char[] t\ns:synthetic/next\tint y\n");
}

/* The next server has no symbols, and a file may be gone. Two probes have one event. */
static void probes_of_places_come_back(void **state)
{
	static const char want[] =
		"p:kprobes/k sym+4 a=%ax\np:kprobes/k other a=%bx\n"
		"r10:kprobes/back sym arg1=$retval\n"
		"r10:kprobes/entry 0x0000000000001100\n"
		"p:uprobes/u /tmp/restored:0x0000000000000010(0x8) x=@8\n";
	struct server_fixture *w = *state;
	struct model *m = w->model;
	FILE *out = fopen("/tmp/restored", "w");

	assert_non_null(out);
	fclose(out);
	symbols_add(m->symbols, 0x1000, 't', "sym", NULL);
	symbols_add(m->symbols, 0x1100, 't', "other", NULL);
	assert_int_equal(kprobe_command(m, "p:k sym+4 a=%ax"), 0);
	assert_int_equal(kprobe_command(m, "p:k other a=%bx"), 0);
	assert_int_equal(kprobe_command(m, "r:back sym $retval"), 0);
	assert_int_equal(kprobe_command(m, "r:entry 0x1100"), 0);
	assert_int_equal(uprobe_command(m, "p:u /tmp/restored:16(8) x=@8"), 0);
	unlink("/tmp/restored");
	assert_int_equal(
		event_file_enable(event_file_get(m->top, model_find_event(m, "kprobes", "k")),
				  true),
		0);
	for (int i = 0; i < 2; i++) {
		new_server(w);
		m = w->model;
		assert_prints(dynamic_print(m, out), want);
		assert_int_equal(model_find_event(m, "kprobes", "k")->id, 16384);
		assert_int_equal(model_find_event(m, "uprobes", "u")->id, 16387);
		assert_true(event_file_find(m->top, model_find_event(m, "kprobes", "k"))->enabled);
	}
	/* What is left of an event comes back without the probe that was removed. */
	assert_int_equal(dynamic_command(m, "-:k sym+4"), 0);
	new_server(w);
	assert_prints(dynamic_print_of(w->model, &kprobe_kind, out),
		      "p:kprobes/k other a=%bx\nr10:kprobes/back sym arg1=$retval\n"
		      "r10:kprobes/entry 0x0000000000001100\n");
	assert_true(file_in(w, "kprobes", "k")->enabled);
}

/* What was defined, enabled and filtered before the place that is left. */
static void what_a_removed_place_had_comes_back(void **state)
{
	struct server_fixture *w = *state;
	const unsigned int id = 16384;

	symbols_add(w->model->symbols, 0x1000, 't', "sym", NULL);
	assert_int_equal(kprobe_command(w->model, "p:g/k sym"), 0);
	assert_int_equal(kprobe_command(w->model, "p:other sym"), 0);
	assert_int_equal(dynamic_command(w->model, "e:of g/k"), 0);
	assert_int_equal(event_file_enable(file_in(w, "g", "k"), true), 0);
	assert_int_equal(event_file_set_filter(file_in(w, "g", "k"), "__probe_ip > 1"), 0);
	for (int i = 1; i < 4; i++) {
		char line[64];

		snprintf(line, sizeof(line), "p:g/k sym+%d", i);
		assert_int_equal(kprobe_command(w->model, line), 0);
		snprintf(line, sizeof(line), i > 1 ? "-:g/k sym+%d" : "-:g/k sym", i - 1);
		assert_int_equal(dynamic_command(w->model, line), 0);
		if (i == 2)
			continue;
		new_server(w);
		symbols_add(w->model->symbols, 0x1000, 't', "sym", NULL);
		assert_non_null(model_find_event(w->model, "g", "k"));
		assert_int_equal(model_find_event(w->model, "g", "k")->id, id);
		assert_non_null(model_find_event(w->model, "eprobes", "of"));
		assert_true(file_in(w, "g", "k")->enabled);
		assert_prints(event_file_print_filter(file_in(w, "g", "k"), out),
			      "__probe_ip > 1\n");
	}
	assert_int_equal(event_file_enable(file_in(w, "g", "k"), false), 0);
	assert_int_equal(event_file_set_filter(file_in(w, "g", "k"), "0"), 0);
	assert_int_equal(dynamic_command(w->model, "-:of"), 0);
	assert_int_equal(dynamic_command(w->model, "-:g/k"), 0);
	new_server(w);
	assert_prints(dynamic_print(w->model, out), "p:kprobes/other sym\n");
}

static void the_plan_is_published_anew(void **state)
{
	struct server_fixture *w = *state;
	struct event_entry *entries;

	assert_int_equal(event_file_enable(file_of(w, "first"), true), 0);
	new_server(w);
	entries = session_config(w->session, session_header(w->session)->events,
				 101 * sizeof(*entries));
	assert_int_equal(atomic_load(&entries[100].plan),
			 model_find_event(w->model, "s", "first")->plan);
	assert_int_not_equal(atomic_load(&entries[100].plan), 0);
}

/* Whether the instance takes a record. */
static bool takes(struct server_fixture *w, struct instance *inst)
{
	struct { struct record_common common; int32_t pid; } r = { { .type = 100, .pid = 1 }, 1 };
	struct slot *slot = session_slot_get(w->session);
	int err;

	assert_non_null(slot);
	err = ring_write(session_plane(w->session), slot, instance_buffer(inst, 0), 0, 0, 1000, &r,
			 sizeof(r));
	session_slot_put(w->session, slot);
	return !err;
}

/* pause-on-trace stops an instance for its reader. The reader is gone with the server. */
static void who_stood_for_a_reader_goes_on(void **state)
{
	struct server_fixture *w = *state;
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

/*
 * The server died before it had saved what it had made, or after it had removed what was saved.
 */
static void what_was_half_made_is_forgotten(void **state)
{
	enum { PLACE = 7 };
	struct server_fixture *w = *state;
	struct instance_state *st = plane_instance(session_plane(w->session), PLACE);

	atomic_store(&st->used, 1);
	atomic_store(&st->buffers[0], session_data_alloc(w->session, 4096));
	atomic_store(&st->no_pids, session_data_alloc(w->session, sizeof(struct pid_set)));
	atomic_store(&w->model->top->state->pids,
		     session_data_alloc(w->session, sizeof(struct pid_set)));
	new_server(w);
	st = plane_instance(session_plane(w->session), PLACE);
	assert_int_equal(atomic_load(&st->used), 0);
	assert_int_equal(atomic_load(&st->buffers[0]), 0);
	assert_int_equal(atomic_load(&st->no_pids), 0);
	assert_int_equal(atomic_load(&w->model->top->state->pids), 0);
}

/* A hit that still sees the first instance does not record in the second. */
static void a_place_is_not_used_again_at_once(void **state)
{
	struct server_fixture *w = *state;
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
		/* All tracers work in an instance with such an index. */
		assert_in_range(inst->index, 1, LAYOUT_GRAPH_INSTANCES - 1);
	}
}

/*
 * The next server drops a text that it cannot restore. Its place is free once, not twice.
 */
static void what_goes_while_restoring_is_free_once(void **state)
{
	struct server_fixture *w = *state;
	struct event_entry *entries;
	struct event_file *f;
	uint64_t id;
	char text[400];

	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = 0;
	assert_int_equal(session_saved_add(w->session, "set_event_pid", text, NULL, 0, &id), 0);
	assert_int_equal(event_file_enable(file_of(w, "first"), true), 0);
	assert_int_equal(event_file_set_filter(file_of(w, "first"), "pid == 1"), 0);
	new_server(w);
	f = file_of(w, "first");
	entries = session_config(w->session, session_header(w->session)->events,
				 101 * sizeof(*entries));
	assert_int_not_equal(atomic_load(&entries[100].plan), 0);
	for (int i = 0; i < 8; i++) {
		assert_int_equal(session_reclaim(w->session), 0);
		for (int k = 0; k < 16; k++) {
			config_ref ref = session_config_alloc(w->session, 64);

			assert_int_not_equal(ref, f->filter_code);
			assert_int_not_equal(ref, f->event->plan);
		}
	}
}

static int count_object(struct session *s, uint64_t id, const struct saved *o, const char *path,
			const char *text, void *arg)
{
	++*(unsigned int *)arg;
	return 0;
}

/*
 * The server died after it had saved a new text of a file, before it removed the old one. The
 * newer text counts and stays.
 */
static void of_two_texts_the_newer_counts(void **state)
{
	struct server_fixture *w = *state;
	unsigned int before = 0, after = 0;
	uint64_t id;

	assert_int_equal(event_file_set_filter(file_of(w, "first"), "pid == 1"), 0);
	session_saved_each(w->session, count_object, &before);
	assert_int_equal(
		session_saved_add(w->session, "events/s/first/filter", "pid == 2", NULL, 0, &id),
		0);
	new_server(w);
	assert_prints(event_file_print_filter(file_of(w, "first"), out), "pid == 2\n");
	session_saved_each(w->session, count_object, &after);
	assert_int_equal(after, before);
}

static unsigned int entries_in(struct server_fixture *w, data_ref buffer)
{
	struct ring_stats st;
	unsigned int nr = 0;

	for (uint32_t cpu = 0; cpu < 2; cpu++) {
		assert_int_equal(buffer_stats(w->session, buffer, cpu, &st), 0);
		nr += (unsigned int)st.entries;
	}
	return nr;
}

/*
 * The server died in a resize, after the new buffer was decided on. Records that an earlier
 * resize has kept are still there.
 */
static void a_resize_half_done_is_done(void **state)
{
	static const uint64_t bytes[2] = { 1 << 16, 1 << 16 };

	for (int when = 0; when < 2; when++) {
		struct server_fixture *w = *state;
		struct instance *top = w->model->top;
		struct instance_book *ib;
		unsigned int before;
		data_ref new;

		assert_true(takes(w, top));
		assert_int_equal(instance_resize(top, -1, (1 << 17) + (uint64_t)when * 4096), 0);
		assert_true(takes(w, top));
		before = entries_in(w, instance_buffer(top, 0));
		assert_true(before >= 2);
		assert_int_equal(buffer_create(w->session, 0, 2, 4096, bytes, 1, true, &new), 0);
		ib = instance_book(w->session, 0);
		ib->next[top->state->live & 1] = buffer_book_ref(w->session, new);
		if (when)
			assert_int_equal(buffer_keep(w->session, instance_buffer(top, 0), new), 0);
		new_server(w);
		top = w->model->top;
		assert_int_equal(instance_buffer(top, 0), new);
		assert_int_equal(atomic_load(&top->state->buffers[top->state->live & 1]), new);
		assert_int_equal(entries_in(w, new), before);
		assert_true(takes(w, top));
		assert_int_equal(entries_in(w, new), before + 1);
	}
}

/* The server died while a ring of an earlier size went: before its buffer lost it, and after. */
static void a_ring_half_gone_is_gone(void **state)
{
	for (int when = 0; when < 2; when++) {
		struct server_fixture *w = *state;
		struct instance *top = w->model->top;
		struct buffer_book *b;
		struct ring_stats st;
		unsigned int before;
		uint32_t cpu;

		assert_true(takes(w, top));
		assert_int_equal(instance_resize(top, -1, (1 << 17) + (uint64_t)when * 4096), 0);
		b = buffer_book(w->session, instance_buffer(top, 0));
		/* That of the record. */
		cpu = ring_ref_at(w->session, b, RING_SET_KEPT, 0) ? 0 : 1;
		assert_true(ring_ref_at(w->session, b, RING_SET_KEPT, cpu));
		before = entries_in(w, instance_buffer(top, 0));
		b->leaving = (struct left_out){ .overrun = 70, .read = 7 };
		b->leaving_cpu = cpu;
		b->leaving_set = RING_SET_KEPT;
		if (when)
			ring_note(w->session, b, RING_SET_KEPT, cpu, 0);
		new_server(w);
		top = w->model->top;
		b = buffer_book(w->session, instance_buffer(top, 0));
		assert_int_equal(b->leaving_set, 0);
		assert_int_equal(ring_ref_at(w->session, b, RING_SET_KEPT, cpu), 0);
		assert_int_equal(b->left_out[cpu].overrun, 70);
		assert_int_equal(buffer_stats(w->session, instance_buffer(top, 0), cpu, &st), 0);
		assert_int_equal(st.read, 7);
		assert_true(takes(w, top));
		assert_true(entries_in(w, instance_buffer(top, 0)) <= before + 1);
	}
}

/*
 * The server died while it took a snapshot of one CPU: one ring is in both buffers, another is in
 * neither.
 */
static void a_half_swapped_ring_is_in_one_buffer(void **state)
{
	struct server_fixture *w = *state;
	struct instance *inst;
	struct buffer *a, *b;

	assert_int_equal(instance_create(w->model, "other", &inst), 0);
	assert_int_equal(instance_snapshot_alloc(inst), 0);
	assert_int_equal(instance_snapshot_alloc(w->model->top), 0);
	for (int i = 0; i < 2; i++) {
		struct instance *at = i ? inst : w->model->top;
		struct buffer_book *from = buffer_book(w->session, instance_buffer(at, 1));
		struct buffer_book *to = buffer_book(w->session, instance_buffer(at, 0));

		ring_note(w->session, to, 0, 1, ring_ref_at(w->session, from, 0, 1));
		ring_tell(w->session, to, 0, 1);
	}
	new_server(w);
	inst = instance_find(w->model, "other");
	assert_non_null(inst);
	for (int i = 0; i < 2; i++) {
		struct instance *at = i ? inst : w->model->top;

		a = session_data(w->session, instance_buffer(at, 0), sizeof(*a) + 16);
		b = session_data(w->session, instance_buffer(at, 1), sizeof(*b) + 16);
		assert_non_null(a);
		assert_non_null(b);
		assert_int_not_equal(atomic_load(&a->rings[1]), atomic_load(&b->rings[1]));
		assert_int_not_equal(atomic_load(&b->rings[1]), 0);
		assert_int_equal(buffer_ring_bytes(w->session, instance_buffer(at, 0), 1),
				 buffer_ring_bytes(w->session, instance_buffer(at, 1), 1));
	}
}

/* The next server repairs rings that a program has overwritten, and no record is lost. */
static void spoiled_rings_are_right_again(void **state)
{
	struct server_fixture *w = *state;
	struct instance *top = w->model->top;
	unsigned int before;
	struct buffer *b;

	assert_true(takes(w, top));
	assert_int_equal(instance_snapshot_alloc(top), 0);
	before = entries_in(w, instance_buffer(top, 0));
	for (int i = 0; i < 2; i++) {
		b = session_data(w->session, instance_buffer_at(top, (uint32_t)i), sizeof(*b) + 16);
		for (int k = 0; k < 2; k++) {
			struct ring *r =
				session_data(w->session, atomic_load(&b->rings[k]), sizeof(*r));

			memset(r, 0x55, offsetof(struct ring, head));
			memset((char *)r + offsetof(struct ring, floor), 0x55,
			       sizeof(*r) - offsetof(struct ring, floor));
		}
		memset(b, 0xaa, sizeof(*b) + 16);
		atomic_store(&top->state->buffers[i], 64 + (uint64_t)i);
	}
	atomic_store(&top->state->used, 0);
	new_server(w);
	assert_int_equal(entries_in(w, instance_buffer(w->model->top, 0)), before);
	assert_true(takes(w, w->model->top));
}

/* The server died in rmdir, after the rings were gone. */
static void a_half_removed_instance_goes(void **state)
{
	struct server_fixture *w = *state;
	struct instance *inst;
	unsigned int before = 0, after = 0;
	uint32_t place;

	session_saved_each(w->session, count_object, &before);
	assert_int_equal(instance_create(w->model, "other", &inst), 0);
	place = inst->index;
	instance_book(w->session, place)->buffers[0] = 0;
	new_server(w);
	assert_null(instance_find(w->model, "other"));
	assert_int_equal(atomic_load(&plane_instance(session_plane(w->session), place)->used), 0);
	session_saved_each(w->session, count_object, &after);
	assert_int_equal(after, before);
	assert_int_equal(instance_create(w->model, "other", &inst), 0);
	assert_true(takes(w, inst));
}

/* The server died after it had set a flag for hits, before it saved it: the files count. */
static void an_option_half_set_is_as_the_file_says(void **state)
{
	struct server_fixture *w = *state;

	atomic_fetch_or(&w->model->top->state->flags, INSTANCE_STACKTRACE);
	new_server(w);
	assert_int_equal(atomic_load(&w->model->top->state->flags) & INSTANCE_STACKTRACE, 0);
}

/* The server died in rmdir, after it had forgotten the tracer. */
static void nobody_watches_for_who_is_gone(void **state)
{
	struct server_fixture *w = *state;
	struct section_control *c = &session_header(w->session)->sections;

	atomic_store(&c->watch[SECTION_WATCH_CRITICAL].instance, 3);
	atomic_store(&c->kinds, SECTION_IRQS | SECTION_THREADS);
	new_server(w);
	assert_int_equal(atomic_load(&session_header(w->session)->sections.kinds), SECTION_THREADS);
}

/* Fills the config region. */
static void fill(struct server_fixture *w)
{
	for (size_t size = 1 << 20; size >= 64; size /= 4)
		while (session_config_alloc(w->session, size))
			;
}

/* The next server always has room to restore all. */
static void a_full_session_is_restored(void **state)
{
	struct server_fixture *w = *state;

	assert_int_equal(event_file_enable(file_of(w, "first"), true), 0);
	assert_int_equal(event_file_set_filter(file_of(w, "first"), "pid == 1"), 0);
	for (int i = 0; i < 3; i++) {
		fill(w);
		assert_int_equal(event_file_set_filter(file_of(w, "first"), "pid == 2"), -ENOMEM);
		new_server(w);
		assert_prints(event_set_print(w->model->top, out), "s:first\n");
		assert_prints(event_file_print_filter(file_of(w, "first"), out), "pid == 1\n");
		session_reclaim(w->session);
	}
}

/* There is no memory for another plan. Still, no hit calls what has been removed. */
static void what_goes_without_memory_is_not_called(void **state)
{
	struct server_fixture *w = *state;
	struct event_entry *entries;

	assert_int_equal(event_file_enable(file_of(w, "first"), true), 0);
	assert_int_equal(event_file_trigger_write(file_of(w, "first"), "traceoff:5 if pid == 1"),
			 0);
	fill(w);
	assert_int_equal(event_file_trigger_write(file_of(w, "first"), "!traceoff"), 0);
	entries = session_config(w->session, session_header(w->session)->events,
				 101 * sizeof(*entries));
	assert_int_equal(atomic_load(&entries[100].plan), 0);
}

static void what_cannot_be_kept_is_not_set(void **state)
{
	struct server_fixture *w = *state;
	char text[512];
	config_ref room;

	snprintf(text, sizeof(text), "pid == 1%400s|| pid == 3", "");
	assert_int_equal(event_file_enable(file_of(w, "first"), true), 0);
	assert_int_equal(event_file_set_filter(file_of(w, "first"), "pid == 2"), 0);
	room = session_config_alloc(w->session, 512);
	fill(w);
	assert_int_equal(option_set(w->model->top, OPTION_STACKTRACE, true), -ENOMEM);
	assert_false(options_test(w->model->top->options, OPTION_STACKTRACE));
	assert_int_equal(atomic_load(&w->model->top->state->flags) & INSTANCE_STACKTRACE, 0);
	session_config_free(w->session, room, 512);	/* room for the code, not for the text */
	assert_int_equal(event_file_set_filter(file_of(w, "first"), text), -ENOMEM);
	assert_prints(event_file_print_filter(file_of(w, "first"), out), "pid == 2\n");
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
		TEST(probes_of_places_come_back),
		TEST(what_a_removed_place_had_comes_back),
		TEST(the_plan_is_published_anew),
		TEST(who_stood_for_a_reader_goes_on),
		TEST(what_was_half_made_is_forgotten),
		TEST(a_place_is_not_used_again_at_once),
		TEST(what_goes_while_restoring_is_free_once),
		TEST(of_two_texts_the_newer_counts),
		TEST(a_resize_half_done_is_done),
		TEST(a_ring_half_gone_is_gone),
		TEST(spoiled_rings_are_right_again),
		TEST(a_half_swapped_ring_is_in_one_buffer),
		TEST(a_half_removed_instance_goes),
		TEST(an_option_half_set_is_as_the_file_says),
		TEST(nobody_watches_for_who_is_gone),
		TEST(a_full_session_is_restored),
		TEST(what_goes_without_memory_is_not_called),
		TEST(what_cannot_be_kept_is_not_set),
	};

	return cmocka_run_group_tests_name("restore", tests, NULL, NULL);
}
