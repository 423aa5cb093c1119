/* SPDX-License-Identifier: MIT */
/*
 * source.c - a recording as a source: import, stepping, stops, names, stacks, the control file
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "make.h"
#include "model/cmdlines.h"
#include "model/model.h"
#include "model/symbols.h"
#include "plane/ring/ring.h"
#include "sources/recording/source.h"
#include "tracefs/tree.h"

struct fixture {
	char		*path;
	struct source	*source;
	struct session	*session;
	struct model	*model;
	struct tree	*tree;
};

static struct fixture open_fixture(char *path)
{
	const char *file = path;
	struct source_params params = { .files = &file, .nr_files = 1 };
	struct session_params session = { 0 };
	struct fixture h = { .path = path };
	struct source_error err = { .text = "" };

	if (source_open(&params, &h.source, &err))
		fail_msg("%s", err.text);
	session.nr_cpus = source_nr_cpus(h.source);
	assert_int_equal(session_create(NULL, &session, &h.session), 0);
	assert_int_equal(model_create(h.session, &h.model), 0);
	if (source_import(h.source, h.model, &err))
		fail_msg("%s", err.text);
	h.tree = tree_create(h.model);
	assert_non_null(h.tree);
	return h;
}

static void close_fixture(struct fixture *h)
{
	source_serve_end(h->source);
	tree_destroy(h->tree);
	source_close(h->source);
	model_destroy(h->model);
	session_destroy(h->session);
	made_remove(h->path);
}

static struct fixture open_made(unsigned int nr_records)
{
	struct made made = { .version = 7, .algorithm = "zstd", .nr_buffers = 1,
			     .nr_records = nr_records };

	return open_fixture(made_file(&made));
}

static void put(struct fixture *h, const char *path, const char *text)
{
	struct tree_file *f;

	assert_int_equal(tree_open(h->tree, path, O_WRONLY | O_TRUNC, &f), 0);
	assert_int_equal(tree_write(f, text, strlen(text)), strlen(text));
	assert_int_equal(tree_release(f), 0);
}

static char *get(struct fixture *h, const char *path)
{
	char *text = calloc(1, 1 << 16);
	struct tree_file *f;
	size_t used = 0;
	ssize_t n;

	assert_int_equal(tree_open(h->tree, path, O_RDONLY, &f), 0);
	while ((n = tree_read(f, text + used, (1 << 16) - 1 - used, used)) > 0)
		used += n;
	assert_int_equal(n, 0);
	tree_release(f);
	return text;
}

static uint64_t run_to_end(struct fixture *h)
{
	struct source_position pos;

	assert_int_equal(source_step(h->source, UINT64_MAX), 0);
	source_position(h->source, &pos);
	assert_true(pos.end);
	return pos.records;
}

static struct ring_iter *iterate(struct fixture *h)
{
	struct instance_state *top = h->model->top->state;
	struct ring_iter *it;

	assert_int_equal(ring_iter_open(h->session, top->buffers[top->live & 1], -1, &it), 0);
	return it;
}

static unsigned int ring_count(struct fixture *h)
{
	struct ring_iter *it = iterate(h);
	struct ring_record r;
	unsigned int n = 0;

	while (ring_iter_next(it, &r) > 0)
		n++;
	ring_iter_close(it);
	return n;
}

static void import_brings_tables(void **state)
{
	struct fixture h = open_made(10);
	struct event *e = model_find_event(h.model, "sched", "sched_switch");
	uint64_t offset;

	assert_non_null(e);
	assert_int_equal(e->id, WRITER_SWITCH_ID);
	assert_ptr_equal(model_event_by_id(h.model, WRITER_WAKING_ID),
			 model_find_event(h.model, "sched", "sched_waking"));
	assert_true(model_find_event(h.model, "ftrace", "print")->internal);
	assert_string_equal(cmdlines_find(h.model->cmdlines, 43), "two words");
	assert_string_equal(symbols_find(h.model->symbols, 0xffffffff81000010, &offset, NULL, NULL),
			    "start_here");
	assert_int_equal(offset, 0x10);
	assert_string_equal(source_uname(h.source), "Linux bench 6.12.0 x86_64");
	close_fixture(&h);
}

static void steps_count_records(void **state)
{
	struct fixture h = open_made(100);
	struct source_position pos;

	assert_int_equal(source_step(h.source, 70), 1);
	source_position(h.source, &pos);
	assert_int_equal(pos.records, 70);
	assert_int_equal(pos.hits, 0);
	assert_false(pos.end);
	assert_int_equal(run_to_end(&h), 300);
	assert_int_equal(source_step(h.source, 1), 0);
	source_position(h.source, &pos);
	assert_int_equal(pos.bytes, pos.total_bytes);
	close_fixture(&h);
}

static void hits_reach_the_ring_as_they_were(void **state)
{
	struct fixture h = open_made(700);
	struct writer_waking w;
	unsigned int next[MADE_CPUS] = { 0 };
	struct ring_iter *it;
	struct ring_record r;

	put(&h, "events/sched/sched_waking/enable", "1");
	assert_int_equal(run_to_end(&h), 2100);
	it = iterate(&h);
	while (ring_iter_next(it, &r) > 0) {
		memcpy(&w, r.record, sizeof(w));
		assert_int_equal(w.pid, MADE_PID(0, r.cpu, next[r.cpu]));
		assert_int_equal(r.time, made_time(0, r.cpu, next[r.cpu]));
		assert_int_equal(r.lost, 0);
		next[r.cpu]++;
	}
	ring_iter_close(it);
	assert_int_equal(next[0], 700);
	assert_int_equal(next[1], 700);
	assert_int_equal(next[MADE_EMPTY_CPU], 0);
	assert_int_equal(next[3], 700);
	close_fixture(&h);
}

static void a_large_recording_fits_whole(void **state)
{
	struct fixture h = open_made(9000);
	uint64_t bytes = 0;
	uint32_t cpu;

	for (cpu = 0; cpu < MADE_CPUS; cpu++)
		bytes += source_ring_bytes(h.source, cpu);
	assert_true(bytes > 3 * 9000 * 40);
	put(&h, "events/sched/enable", "1");
	assert_int_equal(run_to_end(&h), 27000);
	assert_int_equal(ring_count(&h), 27000);
	assert_int_equal(source_print_losses(h.source, stderr), 0);
	close_fixture(&h);
}

static void stops_before_the_record(void **state)
{
	struct fixture h = open_made(100);
	struct source_position pos;
	struct source_error err;
	char text[128];

	put(&h, "events/sched/enable", "1");
	snprintf(text, sizeof(text), "sched:sched_waking if pid == %d", MADE_PID(0, 0, 60));
	assert_int_equal(source_stop_at(h.source, text, &err), 0);
	assert_int_equal(source_step(h.source, UINT64_MAX), 2);
	source_position(h.source, &pos);
	/* CPUs 0 and 1 have equal times, CPU 3 is 300 ns later. So 180 records come before it. */
	assert_int_equal(pos.records, 180);
	assert_int_equal(ring_count(&h), 180);
	/* The stop is used up, so the same record does not stop the source again. */
	assert_int_equal(source_step(h.source, 1), 1);
	assert_int_equal(source_stop_at(h.source, "sched:sched_waking", &err), 0);
	assert_int_equal(source_step(h.source, UINT64_MAX), 2);
	source_position(h.source, &pos);
	assert_int_equal(pos.records, 181);
	assert_int_equal(source_stop_at(h.source, NULL, NULL), 0);
	assert_int_equal(run_to_end(&h), 300);
	close_fixture(&h);
}

static void bad_stops(void **state)
{
	struct fixture h = open_made(10);
	struct source_error err;

	assert_int_equal(source_stop_at(h.source, "sched:nonesuch", &err), -ENOENT);
	assert_non_null(strstr(err.text, "nonesuch"));
	assert_int_equal(source_stop_at(h.source, "sched_waking", &err), -EINVAL);
	assert_int_equal(source_stop_at(h.source, "sched:sched_waking when pid == 1", &err),
			 -EINVAL);
	assert_int_equal(source_stop_at(h.source, "sched:sched_waking if nofield == 1", &err),
			 -EINVAL);
	assert_int_equal(run_to_end(&h), 30);
	close_fixture(&h);
}

static void seek_makes_no_hits(void **state)
{
	struct fixture h = open_made(100);
	struct source_position pos;

	put(&h, "events/sched/enable", "1");
	assert_int_equal(source_seek(h.source, 290), 0);
	source_position(h.source, &pos);
	assert_int_equal(pos.records, 290);
	assert_int_equal(run_to_end(&h), 300);
	assert_int_equal(ring_count(&h), 10);
	assert_int_equal(source_seek(h.source, 295), 0);
	assert_int_equal(run_to_end(&h), 300);
	assert_int_equal(ring_count(&h), 15);
	source_rewind(h.source);
	assert_int_equal(run_to_end(&h), 300);
	assert_int_equal(ring_count(&h), 315);
	assert_int_equal(source_seek(h.source, 1000), 0);
	source_position(h.source, &pos);
	assert_true(pos.end);
	assert_int_equal(pos.records, 300);
	close_fixture(&h);
}

/* ---- names ---- */

static struct writer_waking waking_by(int pid)
{
	return (struct writer_waking){ .type = WRITER_WAKING_ID, .common_pid = pid, .pid = 1 };
}

static struct writer_rename rename_of(int pid, const char *old, const char *new)
{
	struct writer_rename r = { .type = WRITER_RENAME_ID, .common_pid = pid, .pid = pid };

	snprintf(r.oldcomm, sizeof(r.oldcomm), "%s", old);
	snprintf(r.newcomm, sizeof(r.newcomm), "%s", new);
	return r;
}

static unsigned int recorded_with(const char *path_of, const char *filter,
				  const struct made_record *list, unsigned int nr)
{
	struct fixture h = open_fixture(made_records(list, nr, NULL));
	char path[256];
	unsigned int n;

	snprintf(path, sizeof(path), "%s/filter", path_of);
	put(&h, path, filter);
	snprintf(path, sizeof(path), "%s/enable", path_of);
	put(&h, path, "1");
	run_to_end(&h);
	n = ring_count(&h);
	close_fixture(&h);
	return n;
}

/* The rename itself has the old name. The records after it have the new one. */
static void names_follow_renames(void **state)
{
	struct writer_waking w = waking_by(100), idle = waking_by(0), other = waking_by(77);
	struct writer_rename r = rename_of(100, "first", "second");
	struct writer_rename again = rename_of(100, "second", "last-name");
	const struct made_record list[] = {
		{ 0, 10, &w, sizeof(w) }, { 1, 15, &w, sizeof(w) },
		{ 0, 20, &r, sizeof(r) }, { 0, 30, &w, sizeof(w) },
		{ 0, 40, &again, sizeof(again) }, { 1, 50, &w, sizeof(w) },
		{ 1, 60, &idle, sizeof(idle) }, { 1, 70, &other, sizeof(other) },
	};
	static const char waking[] = "events/sched/sched_waking",
			  rename[] = "events/task/task_rename";

	assert_int_equal(recorded_with(waking, "COMM == \"first\"", list, 8), 2);
	assert_int_equal(recorded_with(waking, "COMM == \"second\"", list, 8), 1);
	assert_int_equal(recorded_with(waking, "COMM == \"last-name\"", list, 8), 1);
	assert_int_equal(recorded_with(waking, "COMM == \"swapper/1\"", list, 8), 1);
	assert_int_equal(recorded_with(waking, "COMM == \"<...>\"", list, 8), 1);
	assert_int_equal(recorded_with(rename, "COMM == \"first\"", list, 8), 1);
	assert_int_equal(recorded_with(rename, "COMM == \"second\"", list, 8), 1);
}

static void names_follow_switches(void **state)
{
	struct writer_switch s = { .type = WRITER_SWITCH_ID, .prev_comm = "swapper/0",
				   .next_comm = "from-switch", .next_pid = 50 };
	struct writer_waking w = waking_by(50);
	const struct made_record list[] = {
		{ 0, 10, &w, sizeof(w) }, { 0, 20, &s, sizeof(s) }, { 0, 30, &w, sizeof(w) },
	};

	assert_int_equal(
		recorded_with("events/sched/sched_waking", "COMM == \"from-switch\"", list, 3), 2);
}

/* ---- what follows a record ---- */

struct made_stack {
	uint16_t type; uint8_t flags, preempt; int32_t pid;
	int32_t size, pad;
	uint64_t caller[3];
};

/* The first is of `time`, each other of a ns later. */
static unsigned int stacks_in_ring(struct fixture *h, uint64_t time)
{
	struct ring_iter *it = iterate(h);
	struct made_stack s;
	struct ring_record r;
	unsigned int n = 0;

	while (ring_iter_next(it, &r) > 0) {
		memcpy(&s, r.record, 8);
		if (s.type != WRITER_STACK_ID)
			continue;
		assert_int_equal(r.size, sizeof(s));
		memcpy(&s, r.record, sizeof(s));
		assert_int_equal(s.caller[2], 3);
		assert_int_equal(r.time, time + n);
		n++;
	}
	ring_iter_close(it);
	return n;
}

/* The session gets the recorded stack, at its own time, only if it wants stacks. */
static void stacks_are_recorded_when_wanted(void **state)
{
	struct made_stack s = { .type = WRITER_STACK_ID, .size = 3, .caller = { 1, 2, 3 } };
	struct writer_waking w = waking_by(5);
	const struct made_record list[] = {
		{ 0, 10, &w, sizeof(w) }, { 0, 17, &s, sizeof(s) }, { 1, 12, &w, sizeof(w) },
	};
	struct fixture h = open_fixture(made_records(list, 3, "zstd"));

	put(&h, "events/sched/sched_waking/enable", "1");
	run_to_end(&h);
	assert_int_equal(ring_count(&h), 2);
	assert_int_equal(stacks_in_ring(&h, 17), 0);
	put(&h, "options/stacktrace", "1");
	source_rewind(h.source);
	run_to_end(&h);
	assert_int_equal(ring_count(&h), 5);
	assert_int_equal(stacks_in_ring(&h, 17), 1);
	close_fixture(&h);
}

/* The option has written the first of two stacks, a trigger the second. */
static void a_trigger_has_a_stack_of_its_own(void **state)
{
	struct made_stack s = { .type = WRITER_STACK_ID, .size = 3, .caller = { 1, 2, 3 } };
	struct writer_waking w = waking_by(5);
	const struct made_record list[] = {
		{ 0, 10, &w, sizeof(w) }, { 0, 17, &s, sizeof(s) }, { 0, 18, &s, sizeof(s) },
	};
	struct fixture h = open_fixture(made_records(list, 3, "zstd"));

	put(&h, "events/sched/sched_waking/enable", "1");
	put(&h, "events/sched/sched_waking/trigger", "stacktrace");
	run_to_end(&h);
	assert_int_equal(stacks_in_ring(&h, 18), 1);
	put(&h, "trace", "");
	put(&h, "options/stacktrace", "1");
	source_rewind(h.source);
	run_to_end(&h);
	assert_int_equal(stacks_in_ring(&h, 17), 2);
	close_fixture(&h);
}

/* The stack of a trigger where preemption is on: its flags and count are those less 1. */
static void a_stack_may_have_flags_that_are_less_by_1(void **state)
{
	struct made_stack s = { .type = WRITER_STACK_ID, .flags = 0xff, .preempt = 0xff,
				.size = 3, .caller = { 1, 2, 3 } };
	struct writer_waking w = waking_by(5);
	const struct made_record list[] = { { 0, 10, &w, sizeof(w) }, { 0, 17, &s, sizeof(s) } };
	struct fixture h = open_fixture(made_records(list, 2, "zstd"));

	put(&h, "events/sched/sched_waking/enable", "1");
	put(&h, "events/sched/sched_waking/trigger", "stacktrace");
	run_to_end(&h);
	assert_int_equal(stacks_in_ring(&h, 17), 1);
	close_fixture(&h);
}

struct print_record {
	uint16_t type; uint8_t flags, preempt; int32_t pid;
	uint64_t ip;
	char buf[16];
};

/* Triggers of `print` see the text without the newline. The record keeps the newline. */
static void print_is_seen_without_newline(void **state)
{
	struct print_record p = { .type = WRITER_PRINT_ID, .buf = "phase 1\n" };
	const struct made_record list[] = { { 0, 10, &p, 28 }, { 0, 20, &p, 28 } };
	struct fixture h = open_fixture(made_records(list, 2, NULL));
	struct ring_iter *it;
	struct ring_record r;
	char *text;

	put(&h, "events/ftrace/print/trigger", "traceoff if buf == \"phase 1\"");
	run_to_end(&h);
	text = get(&h, "tracing_on");
	assert_string_equal(text, "0\n");
	free(text);
	it = iterate(&h);
	assert_int_equal(ring_iter_next(it, &r), 1);
	assert_string_equal((const char *)r.record + 16, "phase 1\n");
	assert_int_equal(ring_iter_next(it, &r), 0);
	ring_iter_close(it);
	close_fixture(&h);
}

/* ---- the control file ---- */

static void wait_for(struct fixture *h, const char *what)
{
	char *text = NULL;

	do {
		free(text);
		usleep(1000);
		text = get(h, "replay");
	} while (!strstr(text, what));
	free(text);
}

static void refused(struct fixture *h, const char *text)
{
	struct tree_file *f;

	assert_int_equal(tree_open(h->tree, "replay", O_WRONLY, &f), 0);
	assert_int_equal(tree_write(f, text, strlen(text)), -EINVAL);
	tree_release(f);
}

static void control_file(void **state)
{
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	struct fixture h = open_made(100);
	char *text;

	put(&h, "events/sched/enable", "1");
	assert_int_equal(source_serve(h.source, h.tree, &lock), 0);
	text = get(&h, "replay");
	assert_string_equal(text, "state: stopped\nposition: 0\ntime: 0.000000000\nend: no\n");
	free(text);
	put(&h, "replay", "position 290\n");
	wait_for(&h, "position: 290\n");
	wait_for(&h, "state: stopped\n");
	assert_int_equal(ring_count(&h), 0);
	put(&h, "replay", "start\n");
	wait_for(&h, "end: yes\n");
	wait_for(&h, "state: stopped\n");
	assert_int_equal(ring_count(&h), 10);
	put(&h, "replay", "rewind\n");
	wait_for(&h, "position: 0\n");
	put(&h, "replay", "start");
	wait_for(&h, "position: 300\n");
	assert_int_equal(ring_count(&h), 310);
	refused(&h, "jump");
	refused(&h, "position -1");
	refused(&h, "position 1x");
	close_fixture(&h);
	pthread_mutex_destroy(&lock);
}

/* Event probes ask for it. The records that pass do not move. */
static void says_whose_records_there_are(void **state)
{
	static const char *const algorithms[] = { NULL, "zstd" };

	for (unsigned int i = 0; i < 2; i++) {
		struct made made = { .version = 7, .algorithm = algorithms[i], .nr_buffers = 2,
				     .nr_records = 5000 };
		struct fixture h = open_fixture(made_file(&made));
		const struct model *m = h.model;

		assert_int_equal(source_step(h.source, 7), 1);
		assert_true(m->has_records(m->recording, WRITER_WAKING_ID));
		assert_false(m->has_records(m->recording, WRITER_SWITCH_ID));
		assert_false(m->has_records(m->recording, 0xffff));
		assert_int_equal(run_to_end(&h), 5000 * 2 * (MADE_CPUS - 1));
		close_fixture(&h);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(import_brings_tables),
		cmocka_unit_test(steps_count_records),
		cmocka_unit_test(says_whose_records_there_are),
		cmocka_unit_test(hits_reach_the_ring_as_they_were),
		cmocka_unit_test(a_large_recording_fits_whole),
		cmocka_unit_test(stops_before_the_record),
		cmocka_unit_test(bad_stops),
		cmocka_unit_test(seek_makes_no_hits),
		cmocka_unit_test(names_follow_renames),
		cmocka_unit_test(names_follow_switches),
		cmocka_unit_test(stacks_are_recorded_when_wanted),
		cmocka_unit_test(a_trigger_has_a_stack_of_its_own),
		cmocka_unit_test(a_stack_may_have_flags_that_are_less_by_1),
		cmocka_unit_test(print_is_seen_without_newline),
		cmocka_unit_test(control_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
