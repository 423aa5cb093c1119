/* SPDX-License-Identifier: MIT */
/*
 * merge.c - R28: which triggers run merged, and what their hits do until then
 *
 * The test is the kernel and the programs: events with ids of the kernel's are test:k1 and test:k2,
 * those of programs test:p1 and test:p2.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../format_text.h"
#include "hist_fixture.h"
#include "model/dynamic/events.h"
#include "model/dynamic/synth.h"
#include "model/hist/merge.h"
#include "plane/ring/ring.h"
#include "sources/live/state.h"

struct merging {
	struct fixture	f;
	struct live	live;
	char		name[64];
	struct event	*k1, *k2, *p1, *p2;
};

struct id_record {
	struct record_common common;
	int32_t	id, value;
};

static struct event *add(struct model *m, const char *name, unsigned int id)
{
	char text[1024];
	struct event *e;

	snprintf(text, sizeof(text), "name: %s\nID: %u\n" COMMON FIELD("int id", 8, 4, 1)
		 FIELD("int value", 12, 4, 1) "\nprint fmt: \"\"\n", name, id);
	assert_int_equal(model_add_event(m, "test", text, strlen(text), &e), 0);
	return e;
}

static int set_up(void **state)
{
	struct session_params params = { .nr_cpus = 2, .nr_slots = 8, .memory = 512 << 20 };
	struct merging *s = calloc(1, sizeof(*s));

	snprintf(s->name, sizeof(s->name), "merge-hist-%d", (int)getpid());
	session_remove_stale(s->name);
	assert_int_equal(session_create(s->name, &params, &s->f.session), 0);
	assert_int_equal(model_create(s->f.session, &s->f.model), 0);
	s->f.top = s->f.model->top;
	s->f.model->has_kernel = true;
	s->live.model = s->f.model;
	assert_int_equal(live_book_begin(&s->live), 0);
	s->k1 = add(s->f.model, "k1", 100);
	s->k2 = add(s->f.model, "k2", 101);
	s->p1 = add(s->f.model, "p1", LAYOUT_OWN_IDS);
	s->p2 = add(s->f.model, "p2", LAYOUT_OWN_IDS + 1);
	*state = s;
	return 0;
}

static int tear_down(void **state)
{
	struct merging *s = *state;

	live_merge_end(&s->live);
	model_destroy(s->f.model);
	session_destroy(s->f.session);
	free(s);
	return 0;
}

/* How many of the event's triggers run merged, of how many. */
static int merged(struct event *e)
{
	struct event_file *f = top_file(e);
	struct trigger *t;
	int nr = 0;

	list_each(t, &f->triggers, node)
		nr += t->merged;
	return nr;
}

static void hit_id(struct merging *s, struct event *e, int32_t id, int32_t value, uint64_t time)
{
	struct id_record r = { .common = { .type = e->id, .pid = 1 }, .id = id, .value = value };

	hit_record(&s->f, &r, sizeof(r), time, "tester");
}

/* Runs the staged hits up to a time, as the server does. How many. */
static unsigned int run_staged_until(struct merging *s, uint64_t time)
{
	struct live *l = &s->live;
	const uint64_t before = l->book->merged;

	l->model = s->f.model;
	l->plane = session_plane(s->f.session);
	l->clock.scale = &session_header(s->f.session)->tsc;
	l->slot = session_slot_get(s->f.session);
	assert_non_null(l->slot);
	live_merge_until(l, time);
	session_slot_put(s->f.session, l->slot);
	return (unsigned int)(l->book->merged - before);
}

static unsigned int run_staged(struct merging *s)
{
	return run_staged_until(s, live_clock_session(&(struct live_clock){
		.scale = &session_header(s->f.session)->tsc }));
}

/* The kernel's hit, as its source gives it. */
static void hit_kernel(struct merging *s, struct event *e, int32_t id, int32_t value, uint64_t time)
{
	struct id_record r = { .common = { .type = e->id, .pid = 1 }, .id = id, .value = value };
	static const char name[LAYOUT_COMM_LEN] = "kernel";
	struct hit h = { .record = &r, .size = sizeof(r), .time = time, .comm = name,
			 .writer = 1 };
	struct slot *slot = session_slot_get(s->f.session);

	assert_non_null(slot);
	hit(session_plane(s->f.session), slot, &h);
	hit_stage_source(session_plane(s->f.session), slot, &h, s->f.model->staging, time);
	session_slot_put(s->f.session, slot);
}

static void one_source_runs_at_the_hit(void **state)
{
	struct merging *s = *state;

	assert_int_equal(command(s->p1, "hist:keys=id:a=value"), 0);
	assert_int_equal(command(s->p2, "hist:keys=id:b=value-$a"), 0);
	assert_int_equal(command(s->k1, "hist:keys=id:c=value"), 0);
	assert_int_equal(command(s->k2, "hist:keys=id:d=value-$c"), 0);
	assert_int_equal(command(s->k2, "hist:name=n:keys=id"), 0);
	assert_int_equal(command(s->p2, "hist:name=n:keys=id"), 0);
	assert_int_equal(merged(s->p1) + merged(s->p2) + merged(s->k1) + merged(s->k2), 0);
	assert_int_equal(s->f.model->staging, 0);
	assert_int_equal(s->f.model->nr_merged, 0);
}

static void a_reference_merges_all_that_hang_on_it(void **state)
{
	struct merging *s = *state;

	assert_int_equal(command(s->p1, "hist:keys=id:a=value"), 0);
	assert_int_equal(command(s->p1, "hist:keys=value"), 0);
	assert_int_equal(command(s->p2, "hist:keys=id:b=value-$a"), 0);
	assert_int_equal(merged(s->p1), 0);
	assert_int_equal(command(s->k1, "hist:keys=id:c=value-$b"), 0);
	assert_int_equal(merged(s->p1), 1);
	assert_int_equal(merged(s->p2), 1);
	assert_int_equal(merged(s->k1), 1);
	assert_true(s->f.model->staging != 0);
	assert_int_equal(command(s->k1, "!hist:keys=id:c=value-$b"), 0);
	assert_int_equal(merged(s->p1) + merged(s->p2), 0);
	assert_int_equal(s->f.model->nr_merged, 0);
}

static void a_named_hist_with_variables_of_both(void **state)
{
	struct merging *s = *state;

	assert_int_equal(command(s->p1, "hist:name=n:keys=id:a=value"), 0);
	assert_int_equal(merged(s->p1), 0);
	assert_int_equal(command(s->k1, "hist:name=n:keys=id:a=value"), 0);
	assert_int_equal(merged(s->p1), 1);
	assert_int_equal(merged(s->k1), 1);
}

static void what_is_made_runs_where_it_is_made(void **state)
{
	struct merging *s = *state;
	struct event *made;

	assert_int_equal(synth_command(s->f.model, "late int id; int lat"), 0);
	made = model_find_event(s->f.model, "synthetic", "late");
	assert_int_equal(command(made, "hist:keys=id"), 0);
	assert_int_equal(command(s->p1, "hist:keys=id:a=value"), 0);
	assert_int_equal(command(s->p2, "hist:keys=id:l=value-$a:onmatch(test.p1).late(id,$l)"), 0);
	assert_int_equal(merged(made), 0);
	/* A hist with variables on the event that is made draws in those that make it. */
	assert_int_equal(command(made, "hist:keys=id:last=lat"), 0);
	assert_int_equal(merged(made) + merged(s->p2), 0);
	assert_int_equal(command(s->k1, "hist:keys=id:k=value-$last"), 0);
	assert_int_equal(merged(s->p1), 1);
	assert_int_equal(merged(s->p2), 1);
	assert_int_equal(merged(s->k1), 1);
	assert_int_equal(merged(made), 2);
}

static void an_event_probe_is_drawn_in(void **state)
{
	struct merging *s = *state;
	struct event *probe;

	assert_int_equal(dynamic_command(s->f.model, "e:g/probe test.p1 x=$id:s32"), 0);
	probe = model_find_event(s->f.model, "g", "probe");
	assert_int_equal(command(probe, "hist:keys=x:a=x"), 0);
	assert_int_equal(merged(s->p1), 0);
	assert_int_equal(command(s->k1, "hist:keys=id:k=value-$a"), 0);
	assert_int_equal(merged(s->p1), 1);
	hit_id(s, s->p1, 3, 0, 100);
	hit_kernel(s, s->k1, 3, 8, 200);
	assert_entries(probe, "");
	assert_int_equal(run_staged(s), 2);
	assert_entries(probe, "{ x:          3 } hitcount:          1\n");
	assert_entries(s->k1, "{ id:          3 } hitcount:          1\n");
}

static void hits_meet_in_the_order_of_their_times(void **state)
{
	struct merging *s = *state;
	struct event *made;

	assert_int_equal(synth_command(s->f.model, "late int id; u64 lat"), 0);
	made = model_find_event(s->f.model, "synthetic", "late");
	assert_int_equal(command(made, "hist:keys=id,lat:sort=id,lat"), 0);
	assert_int_equal(command(s->p1, "hist:keys=id:ts=common_timestamp"), 0);
	assert_int_equal(command(s->p1, "hist:keys=common_pid.execname"), 0);
	assert_int_equal(command(s->k1, "hist:keys=id:lat=common_timestamp-$ts:"
					"onmatch(test.p1).late(id,$lat)"), 0);
	/* The kernel's first hit comes when the program has made two already. */
	hit_id(s, s->p1, 1, 0, 1000);
	hit_id(s, s->p1, 1, 0, 3000);
	hit_kernel(s, s->k1, 1, 0, 1500);
	hit_kernel(s, s->k1, 1, 0, 3700);
	/* A trigger that looks at nothing else has run. */
	assert_entries(s->p1, "{ common_pid: tester          [         1] } "
			      "hitcount:          2\n");
	assert_entries(made, "");
	assert_int_equal(run_staged(s), 4);
	assert_entries(made, "{ id:          1, lat:        500 } hitcount:          1\n"
			     "{ id:          1, lat:        700 } hitcount:          1\n");
}

static void what_turns_merged_has_no_variables(void **state)
{
	struct merging *s = *state;
	char *text;

	assert_int_equal(command(s->p1, "hist:keys=id:a=value"), 0);
	hit_id(s, s->p1, 1, 5, 1000);
	assert_int_equal(command(s->k1, "hist:keys=id:c=value-$a"), 0);
	assert_int_equal(s->f.model->nr_turned, 1);
	hit_kernel(s, s->k1, 1, 9, 2000);
	assert_int_equal(run_staged(s), 1);
	assert_entries(s->k1, "");
	assert_entries(s->p1, "{ id:          1 } hitcount:          1\n");
	text = printed(assert_int_equal(hist_debug_print(top_file(s->p1), out), 0));
	assert_non_null(strstr(text, "\n  mode: merged by time with another source, at most 100 "
				     "ms later\n  variables: cleared when it turned merged\n"));
	free(text);
	text = printed(assert_int_equal(hist_debug_print(top_file(s->k1), out), 0));
	assert_non_null(strstr(text, "\n  mode: merged"));
	assert_null(strstr(text, "cleared"));
	free(text);
}

static void the_only_condition_says_what_is_staged(void **state)
{
	struct merging *s = *state;

	assert_int_equal(command(s->p1, "hist:keys=id:a=value if value > 3"), 0);
	assert_int_equal(command(s->k1, "hist:keys=id:c=value-$a"), 0);
	hit_id(s, s->p1, 1, 3, 1000);
	hit_id(s, s->p1, 1, 4, 2000);
	assert_int_equal(run_staged(s), 1);
	assert_int_equal(command(s->p1, "hist:keys=id:e=$c"), 0);
	hit_id(s, s->p1, 1, 3, 3000);
	hit_id(s, s->p1, 1, 4, 4000);
	assert_int_equal(run_staged(s), 2);
}

static void the_event_is_recorded_at_the_hit(void **state)
{
	struct merging *s = *state;
	struct ring_consumer *c;
	struct ring_record r;

	assert_int_equal(command(s->p1, "hist:keys=id:a=value"), 0);
	assert_int_equal(command(s->k1, "hist:keys=id:c=value-$a"), 0);
	assert_int_equal(event_file_enable(top_file(s->p1), true), 0);
	hit_id(s, s->p1, 1, 3, 1000);
	assert_int_equal(ring_consumer_open(s->f.session, -1, &c), 0);
	assert_int_equal(ring_consume(c, instance_buffer(s->f.top, 0), &r), 1);
	assert_int_equal(r.size, sizeof(struct id_record));
	assert_int_equal(ring_consume(c, instance_buffer(s->f.top, 0), &r), 0);
	ring_consumer_close(c);
	assert_int_equal(run_staged(s), 1);
}

static void a_plain_event_pays_nothing(void **state)
{
	struct merging *s = *state;
	const struct plan *plan;

	assert_int_equal(command(s->p1, "hist:keys=id:a=value"), 0);
	assert_int_equal(command(s->k1, "hist:keys=id:c=value-$a"), 0);
	assert_int_equal(command(s->p2, "hist:keys=id"), 0);
	plan = session_config(s->f.session, s->p2->plan, sizeof(*plan));
	assert_int_equal(plan->merged, 0);
	assert_int_equal(plan->nr_arms, 1);
	assert_int_equal(plan->kind, PLAN_COUNT_KEY1);
}

/* ---- what does not come in order, or not at all ---- */

static uint64_t staged_lost(const struct merging *s)
{
	const data_ref buffer = buffer_published(s->f.session, s->f.model->staging, 0);
	struct ring_stats stats;
	uint64_t lost = 0;

	for (uint32_t cpu = 0; cpu < s->f.model->nr_cpus; cpu++) {
		assert_int_equal(buffer_stats(s->f.session, buffer, cpu, &stats), 0);
		lost += stats.overrun;
	}
	return lost;
}

static void two_sources(struct merging *s)
{
	assert_int_equal(command(s->p1, "hist:keys=id:a=value"), 0);
	assert_int_equal(command(s->k1, "hist:keys=id:c=value-$a"), 0);
}

static void a_late_hit_runs_and_is_counted(void **state)
{
	struct merging *s = *state;

	two_sources(s);
	hit_id(s, s->p1, 1, 0, 1000);
	hit_id(s, s->p1, 1, 0, 2000);
	assert_int_equal(run_staged_until(s, 999), 0);
	assert_int_equal(run_staged_until(s, 1000), 1);
	assert_int_equal(run_staged_until(s, 2000), 1);
	assert_int_equal(s->live.book->late, 0);
	hit_kernel(s, s->k1, 1, 0, 1500);
	hit_kernel(s, s->k1, 1, 0, 2500);
	assert_int_equal(run_staged(s), 2);
	assert_int_equal(s->live.book->late, 1);
	assert_entries(s->k1, "{ id:          1 } hitcount:          1\n");
}

static void what_is_overwritten_is_counted(void **state)
{
	struct merging *s = *state;
	unsigned int nr;
	data_ref buffer;

	two_sources(s);
	buffer = buffer_published(s->f.session, s->f.model->staging, 0);
	nr = (unsigned int)(buffer_ring_bytes(s->f.session, buffer, UINT32_MAX) /
			    sizeof(struct id_record));
	for (unsigned int i = 1; i <= nr; i++)
		hit_id(s, s->p1, 1, 0, i);
	/* A ring that is half full does not wait. */
	assert_true(run_staged_until(s, 0) > 0);
	assert_true(staged_lost(s) > 0);
	assert_int_equal(s->live.book->merged + staged_lost(s), nr);
	assert_int_equal(s->live.book->late, 0);
}

static void stage_bytes(struct merging *s, const void *bytes, uint32_t size, uint64_t time)
{
	struct slot *slot = session_slot_get(s->f.session);

	assert_non_null(slot);
	assert_int_equal(ring_write(session_plane(s->f.session), slot,
				    buffer_published(s->f.session, s->f.model->staging, 0), 1, 0,
				    time, bytes, size), 0);
	session_slot_put(s->f.session, slot);
}

static void a_time_in_the_future_keeps_nothing_behind_it(void **state)
{
	struct merging *s = *state;

	two_sources(s);
	hit_kernel(s, s->k1, 1, 0, UINT64_MAX / 8);
	hit_kernel(s, s->k1, 1, 0, 3000);
	hit_kernel(s, s->k1, 1, 0, 4000);
	assert_int_equal(run_staged(s), 3);
	assert_int_equal(s->live.book->late, 1);
}

static void nonsense_is_counted(void **state)
{
	struct merging *s = *state;
	union {
		struct staged	staged;
		unsigned char	bytes[256];
	} r;
	const uint32_t edges[] = { 0, 7, 8, 9, 16, 208, 209, 1u << 28, 0x7fffffff, 0xfffffff9,
				   0xffffffff };
	const uint32_t nr_edges = sizeof(edges) / sizeof(*edges);
	unsigned int seed = 1, nr = 0;

	two_sources(s);
	assert_int_equal(command(s->p1, "hist:keys=id,common_pid.execname,common_stacktrace"), 0);
	assert_int_equal(command(s->p1, "hist:keys=id,common_stacktrace:z=$c"), 0);
	for (; nr < 20000; nr++) {
		const uint32_t size = 4 + (uint32_t)rand_r(&seed) % (sizeof(r) - 3);
		struct record_common common = { .type = nr % 4 ? s->p1->id : s->k1->id };

		for (unsigned int i = 0; i < sizeof(r); i++)
			r.bytes[i] = (unsigned char)rand_r(&seed);
		r.staged.size = edges[(uint32_t)rand_r(&seed) % nr_edges];
		r.staged.nr_stack = edges[(uint32_t)rand_r(&seed) % nr_edges];
		r.staged.only = edges[(uint32_t)rand_r(&seed) % nr_edges];
		memcpy(&r.staged + 1, &common, sizeof(common));
		stage_bytes(s, r.bytes, size, 1000 + nr);
	}
	run_staged(s);
	assert_true(s->live.book->merged > 0);
	assert_true(s->live.book->damaged > 0);
	assert_int_equal(s->live.book->merged + s->live.book->damaged + staged_lost(s), nr);
	hit_kernel(s, s->k1, 1, 0, 100000);
	assert_int_equal(run_staged(s), 1);
}

/* ---- a new server ---- */

static int write_again(void *arg, const char *path, const char *text)
{
	struct merging *s = arg;
	char system[32], event[32];

	if (!strcmp(path, "#live")) {
		live_book_restore(s->f.model, restored_ref(&s->f.model->restored, 0));
		return 0;
	}
	assert_int_equal(sscanf(path, "events/%31[^/]/%31[^/]/trigger", system, event), 2);
	return event_file_trigger_write(
		top_file(model_find_event(s->f.model, system, event)), text);
}

/* The server dies, and another one restores the session. */
static void restart(struct merging *s)
{
	uint64_t id;

	assert_int_equal(saved_add(s->f.model, s->f.model->top, "#live", "",
				   &s->f.model->live_book, 1, &id), 0);
	live_merge_end(&s->live);
	model_destroy(s->f.model);
	session_close(s->f.session);
	assert_int_equal(session_open(s->name, &s->f.session), 0);
	assert_int_equal(model_create(s->f.session, &s->f.model), 0);
	s->f.top = s->f.model->top;
	s->f.model->has_kernel = true;
	assert_int_equal(model_restore(s->f.model, write_again, s), 0);
	s->p1 = model_find_event(s->f.model, "test", "p1");
	s->k1 = model_find_event(s->f.model, "test", "k1");
	s->live.model = s->f.model;
	assert_int_equal(live_book_begin(&s->live), 0);
	live_book_staged(&s->live);
}

static void a_new_server_merges_what_was_merged(void **state)
{
	struct merging *s = *state;

	two_sources(s);
	hit_id(s, s->p1, 1, 5, 1000);
	assert_int_equal(run_staged(s), 1);
	restart(s);
	assert_int_equal(merged(s->p1), 1);
	assert_int_equal(merged(s->k1), 1);
	assert_int_equal(s->f.model->nr_turned, 0);
	/* The variable is there. */
	hit_kernel(s, s->k1, 1, 9, 2000);
	assert_entries(s->k1, "");
	assert_int_equal(run_staged(s), 1);
	assert_entries(s->k1, "{ id:          1 } hitcount:          1\n");
}

static void a_new_server_runs_what_was_staged(void **state)
{
	struct merging *s = *state;

	two_sources(s);
	hit_id(s, s->p1, 1, 5, 1000);
	hit_id(s, s->p1, 2, 5, 1001);
	assert_int_equal(run_staged_until(s, 1000), 1);
	hit_kernel(s, s->k1, 1, 9, 2000);
	restart(s);
	/* While there was no server. */
	hit_kernel(s, s->k1, 2, 9, 2001);
	assert_int_equal(run_staged(s), 3);
	assert_entries(s->p1, "{ id:          1 } hitcount:          1\n"
		       "{ id:          2 } hitcount:          1\n");
	assert_entries(s->k1, "{ id:          1 } hitcount:          1\n"
		       "{ id:          2 } hitcount:          1\n");
	assert_int_equal(s->live.book->merged, 4);
	assert_int_equal(s->live.book->cut + s->live.book->late + staged_lost(s), 0);
	restart(s);
	assert_int_equal(run_staged(s), 0);
}

/* As if the server had been killed at these places of take_staged() and ring_take(). */
static void a_hit_that_was_cut_off_is_counted(void **state)
{
	struct merging *s = *state;

	two_sources(s);
	for (uint64_t i = 0; i < 4; i++)
		hit_id(s, s->p1, 1, 0, 1000 + i);
	assert_int_equal(run_staged_until(s, 1001), 2);
	s->live.book->done--;
	restart(s);
	assert_int_equal(s->live.book->cut, 1);
	restart(s);
	assert_int_equal(s->live.book->cut, 1);
	assert_int_equal(run_staged(s), 2);
	assert_entries(s->p1, "{ id:          1 } hitcount:          4\n");
	assert_int_equal(staged_lost(s), 0);
}

static void what_no_server_can_run_is_counted(void **state)
{
	struct merging *s = *state;

	two_sources(s);
	for (uint64_t i = 0; i < 3; i++)
		hit_id(s, s->p1, 1, 0, 1000 + i);
	assert_int_equal(run_staged_until(s, 1000), 1);
	restart(s);
	s->f.model->has_kernel = false;
	assert_int_equal(merge_find(s->f.model, NULL), 0);
	assert_int_equal(merge_publish(s->f.model), 0);
	live_book_drop(s->f.model);
	assert_int_equal(s->live.book->dropped, 2);
	assert_int_equal(s->f.model->staging, 0);
	/* The trigger runs at the hit now. */
	hit_id(s, s->p1, 1, 0, 2000);
	assert_entries(s->p1, "{ id:          1 } hitcount:          2\n");
}

#define MERGE_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		MERGE_TEST(one_source_runs_at_the_hit),
		MERGE_TEST(a_reference_merges_all_that_hang_on_it),
		MERGE_TEST(a_named_hist_with_variables_of_both),
		MERGE_TEST(what_is_made_runs_where_it_is_made),
		MERGE_TEST(an_event_probe_is_drawn_in),
		MERGE_TEST(hits_meet_in_the_order_of_their_times),
		MERGE_TEST(what_turns_merged_has_no_variables),
		MERGE_TEST(the_only_condition_says_what_is_staged),
		MERGE_TEST(the_event_is_recorded_at_the_hit),
		MERGE_TEST(a_plain_event_pays_nothing),
		MERGE_TEST(a_late_hit_runs_and_is_counted),
		MERGE_TEST(what_is_overwritten_is_counted),
		MERGE_TEST(a_time_in_the_future_keeps_nothing_behind_it),
		MERGE_TEST(nonsense_is_counted),
		MERGE_TEST(a_new_server_merges_what_was_merged),
		MERGE_TEST(a_new_server_runs_what_was_staged),
		MERGE_TEST(a_hit_that_was_cut_off_is_counted),
		MERGE_TEST(what_no_server_can_run_is_counted),
	};

	return cmocka_run_group_tests_name("hist merge", tests, NULL, NULL);
}
