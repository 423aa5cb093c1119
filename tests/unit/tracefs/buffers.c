/* SPDX-License-Identifier: MIT */
/*
 * buffers.c - sizes, snapshots, pipes, markers
 */
#include <poll.h>
#include <stdio.h>

#include "model/ftrace/ftrace.h"
#include "plane/ring/ring.h"
#include "session/session.h"
#include "tree_fixture.h"

static void mark(struct fixture *w, const char *text)
{
	assert_int_equal(fixture_append(w, "trace_marker", text), (ssize_t)strlen(text));
}

static bool shows(struct fixture *w, const char *path, const char *text)
{
	char *got = fixture_read(w, path);
	bool found;

	assert_non_null(got);
	found = strstr(got, text) != NULL;
	free(got);
	return found;
}

static void rings_are_small_until_an_event_is_enabled(void **state)
{
	struct fixture *w = *state;

	assert_file(w, "buffer_size_kb", "7 (expanded: 1408)\n");
	assert_file(w, "buffer_total_size_kb", "14 (expanded: 2816)\n");
	assert_file(w, "per_cpu/cpu0/buffer_size_kb", "7\n");
	mark(w, "before");
	assert_taken(w, "events/test/first/enable", "1\n");
	assert_file(w, "buffer_size_kb", "1410\n");
	assert_file(w, "buffer_total_size_kb", "2820\n");
	assert_true(shows(w, "trace", "before"));
}

static void sizes_are_whole_pages(void **state)
{
	struct fixture *w = *state;

	assert_becomes(w, "buffer_size_kb", "1\n", "7\n");
	assert_becomes(w, "buffer_size_kb", "100\n", "103\n");
	assert_taken(w, "per_cpu/cpu1/buffer_size_kb", "10\n");
	assert_file(w, "buffer_size_kb", "X\n");
	assert_file(w, "per_cpu/cpu0/buffer_size_kb", "103\n");
	assert_file(w, "per_cpu/cpu1/buffer_size_kb", "11\n");
	assert_file(w, "buffer_total_size_kb", "114\n");
	assert_int_equal(fixture_write(w, "buffer_size_kb", "0"), -EINVAL);
	assert_int_equal(fixture_write(w, "buffer_size_kb", "99999999999"), -ENOMEM);
	assert_file(w, "buffer_total_size_kb", "114\n");
}

/* Writes as a client of the server does. Returns how often it was put aside. */
static unsigned int put_aside(struct fixture *w, const char *path, const char *text)
{
	struct tree_wrote wrote = { 0 };
	unsigned int times = 0;
	struct tree_file *f;
	ssize_t n;

	assert_int_equal(tree_open(w->tree, path, O_WRONLY, &f), 0);
	for (; (n = tree_write_by(f, 0, text, strlen(text), &wrote)) == -EINPROGRESS; times++)
		assert_file(w, "tracing_on", "1\n");
	assert_int_equal(n, strlen(text));
	tree_release(f);
	return times;
}

static void large_rings_are_made_in_steps(void **state)
{
	struct fixture *w = *state;

	assert_int_equal(put_aside(w, "buffer_size_kb", "2000"), 0);
	assert_int_not_equal(put_aside(w, "buffer_size_kb", "16000"), 0);
	assert_file(w, "buffer_total_size_kb", "32002\n");
	assert_int_equal(put_aside(w, "buffer_size_kb", "16000"), 0);
	assert_int_not_equal(put_aside(w, "snapshot", "1"), 0);
	assert_int_equal(put_aside(w, "snapshot", "1"), 0);
	assert_taken(w, "snapshot", "0");
	/* Who cannot wait gets it at once. */
	assert_int_equal(fixture_write(w, "buffer_size_kb", "8000"), 4);
}

static void snapshot_goes(struct fixture *w)
{
	assert_taken(w, "snapshot", "0");
	while (session_reclaim(w->session))
		;
}

static void commands_that_take_snapshots_make_the_buffer_in_steps(void **state)
{
	static const char function[] = "1000 alpha\n";
	static const struct { const char *path, *on, *off; } commands[] = {
		{ "events/test/first/trigger", "snapshot:3 if pid == 1", "!snapshot:3" },
		{ "events/test/first/trigger", " hist:keys=pid:p=pid:onmax($p).snapshot()",
		  "!hist:keys=pid:p=pid:onmax($p).snapshot()" },
		{ "set_ftrace_filter", "alpha:snapshot\n", "!alpha:snapshot\n" },
	};
	struct fixture *w = *state;

	assert_int_equal(ftrace_sites_load(w->model, function, strlen(function)), 0);
	put_aside(w, "buffer_size_kb", "16000");
	for (int i = 0; i < 3; i++) {
		assert_int_not_equal(put_aside(w, commands[i].path, commands[i].on), 0);
		/* The hist has it to itself. */
		if (i != 1)
			snapshot_goes(w);
		assert_int_equal(put_aside(w, commands[i].path, commands[i].off), 0);
		snapshot_goes(w);
	}
}

static void sub_buffers_of_another_size_are_made_in_steps(void **state)
{
	struct fixture *w = *state;

	put_aside(w, "buffer_size_kb", "16000");
	assert_int_not_equal(put_aside(w, "buffer_subbuf_size_kb", "64"), 0);
	assert_int_equal(put_aside(w, "buffer_subbuf_size_kb", "64"), 0);
	assert_file(w, "buffer_subbuf_size_kb", "64\n");
}

static void a_resize_keeps_records_and_new_sub_buffers_do_not(void **state)
{
	struct fixture *w = *state;

	mark(w, "kept");
	assert_taken(w, "buffer_size_kb", "500\n");
	assert_true(shows(w, "trace", "kept"));
	mark(w, "later");
	assert_taken(w, "buffer_size_kb", "50\n");
	assert_true(shows(w, "trace", "kept") && shows(w, "trace", "later"));
	assert_becomes(w, "buffer_subbuf_size_kb", "5\n", "8\n");
	assert_file(w, "buffer_size_kb", "51\n");
	assert_false(shows(w, "trace", "kept") || shows(w, "trace", "later"));
	assert_true(shows(w, "events/header_page", "size:8176;"));
}

static void rings_keep_their_size_while_somebody_reads(void **state)
{
	struct fixture *w = *state;
	struct tree_file *f;

	assert_int_equal(tree_open(w->tree, "trace", O_RDONLY, &f), 0);
	assert_int_equal(fixture_write(w, "buffer_size_kb", "100"), -EBUSY);
	assert_int_equal(fixture_write(w, "buffer_subbuf_size_kb", "8"), -EBUSY);
	tree_release(f);
	assert_taken(w, "buffer_size_kb", "100");
}

/* Of both CPUs, those of earlier sizes included. */
static uint64_t ring_bytes(struct fixture *w)
{
	const data_ref buffer = instance_buffer(w->model->top, 0);

	return buffer_ring_bytes(w->session, buffer, 0) + buffer_ring_bytes(w->session, buffer, 1);
}

/* What they have is cleared while a reader has the file open. */
static void older_rings_stay_while_somebody_reads(void **state)
{
	static const char *const files[] = { "trace", "per_cpu/cpu0/trace_raw" };
	struct fixture *w = *state;
	struct tree_file *f;
	uint64_t before;

	for (int i = 0; i < 2; i++) {
		mark(w, "kept");
		assert_taken(w, "buffer_size_kb", i ? "600" : "500");
		while (session_reclaim(w->session))
			;
		before = ring_bytes(w);
		assert_int_equal(tree_open(w->tree, files[i], O_RDONLY, &f), 0);
		buffer_clear(w->session, instance_buffer(w->model->top, 0), -1);
		instance_drop_kept(w->model->top);
		assert_int_equal(ring_bytes(w), before);
		tree_release(f);
		instance_drop_kept(w->model->top);
		assert_true(ring_bytes(w) < before);
		mark(w, "again");
		assert_true(shows(w, "trace", "again"));
	}
}

static void pause_on_trace_stops_the_rings_only(void **state)
{
	struct fixture *w = *state;
	struct tree_file *f, *g;

	assert_taken(w, "options/pause-on-trace", "1");
	assert_int_equal(tree_open(w->tree, "trace", O_RDONLY, &f), 0);
	assert_int_equal(tree_open(w->tree, "trace", O_RDONLY, &g), 0);
	assert_file(w, "tracing_on", "1\n");
	assert_int_equal(fixture_append(w, "trace_marker", "lost"), -EBADF);
	tree_release(f);
	assert_int_equal(fixture_append(w, "trace_marker", "lost"), -EBADF);
	tree_release(g);
	mark(w, "found");
}

static void truncation_of_trace_empties_it(void **state)
{
	struct fixture *w = *state;

	mark(w, "gone");
	assert_int_equal(fixture_append(w, "trace", "x"), 1);
	assert_true(shows(w, "trace", "gone"));
	assert_int_equal(fixture_write(w, "trace", ""), 0);
	assert_false(shows(w, "trace", "gone"));
}

static void a_clock_change_empties_live_and_snapshot(void **state)
{
	struct fixture *w = *state;

	mark(w, "in-snapshot");
	assert_taken(w, "snapshot", "1");
	mark(w, "in-live");
	assert_taken(w, "trace_clock", "mono\n");
	assert_false(shows(w, "trace", "in-live") || shows(w, "snapshot", "in-snapshot"));
	assert_file(w, "trace_clock",
		    "local global counter uptime perf [mono] mono_raw boot tai x86-tsc\n");
}

static void assert_cleared(const struct fixture *w, uint64_t entries, uint64_t read)
{
	const struct cleared_records *c = &session_header(w->session)->cleared;

	assert_int_equal(c->entries, entries);
	assert_int_equal(c->read, read);
}

/* Who adds up a session's records misses none of them. */
static void what_is_cleared_is_counted(void **state)
{
	struct fixture *w = *state;

	mark(w, "one");
	mark(w, "two");
	assert_taken(w, "trace_clock", "mono\n");
	assert_cleared(w, 2, 0);
	mark(w, "three");
	free(fixture_read(w, "trace_pipe"));
	mark(w, "four");
	assert_int_equal(fixture_write(w, "trace", ""), 0);
	assert_cleared(w, 3, 1);
	fixture_new_server(w);
	assert_cleared(w, 3, 1);
	/* What the snapshot has was in no count of the live buffer. */
	mark(w, "five");
	assert_taken(w, "snapshot", "1\n");
	assert_taken(w, "snapshot", "2\n");
	assert_cleared(w, 3, 1);
}

static void what_was_dropped_and_overwritten_before(void **state)
{
	struct fixture *w = *state;
	const struct cleared_records *c = &session_header(w->session)->cleared;
	enum { MARKS = 4000 };

	for (int i = 0; i < MARKS; i++)
		mark(w, "overwritten");
	assert_taken(w, "trace_clock", "mono\n");
	assert_true(c->overrun > 0 && c->dropped == 0);
	assert_int_equal(c->entries + c->overrun, MARKS);
	assert_taken(w, "options/overwrite", "0");
	for (int i = 0; i < MARKS; i++)
		fixture_append(w, "trace_marker", "dropped");
	assert_taken(w, "trace_clock", "local\n");
	assert_true(c->dropped > 0);
	assert_int_equal(c->entries + c->overrun + c->dropped, 2 * MARKS);
	assert_true(shows(w, "per_cpu/cpu0/stats", "dropped events: 0\n"));
}

static void snapshot_swaps_empties_and_frees(void **state)
{
	struct fixture *w = *state;

	mark(w, "first");
	assert_true(shows(w, "snapshot", "* Snapshot is freed *"));
	assert_taken(w, "snapshot", "1\n");
	assert_true(shows(w, "snapshot", "first"));
	assert_false(shows(w, "trace", "first"));
	assert_taken(w, "snapshot", "2\n");
	assert_true(shows(w, "snapshot", "* Snapshot is allocated *"));
	assert_taken(w, "snapshot", "0\n");
	assert_true(shows(w, "snapshot", "* Snapshot is freed *"));
	assert_int_equal(fixture_write(w, "snapshot", "x"), -EINVAL);
	assert_int_equal(fixture_write(w, "per_cpu/cpu0/snapshot", "0"), -EINVAL);
}

/* The marker is in the buffer of one of the two CPUs. */
static void a_snapshot_of_one_cpu_leaves_the_others(void **state)
{
	struct fixture *w = *state;
	int cpu;

	mark(w, "there");
	cpu = shows(w, "per_cpu/cpu0/trace", "there") ? 0 : 1;
	assert_taken(w, cpu ? "per_cpu/cpu0/snapshot" : "per_cpu/cpu1/snapshot", "1");
	assert_true(shows(w, "trace", "there"));
	assert_taken(w, cpu ? "per_cpu/cpu1/snapshot" : "per_cpu/cpu0/snapshot", "1");
	assert_false(shows(w, "trace", "there"));
	assert_true(shows(w, "snapshot", "there"));
}

static void trace_pipe_has_one_reader_and_takes(void **state)
{
	struct fixture *w = *state;
	struct tree_file *f, *g;
	char buf[4096];
	ssize_t n;

	assert_int_equal(tree_open(w->tree, "trace_pipe", O_RDONLY, &f), 0);
	assert_true(tree_is_pipe(f));
	assert_int_equal(tree_read(f, buf, sizeof(buf), 0), -EAGAIN);
	assert_int_equal(tree_open(w->tree, "trace_pipe", O_RDONLY, &g), -EBUSY);
	assert_int_equal(tree_open(w->tree, "per_cpu/cpu0/trace_pipe", O_RDONLY, &g), -EBUSY);
	mark(w, "taken");
	n = tree_read(f, buf, sizeof(buf) - 1, 0);
	assert_true(n > 0);
	buf[n] = '\0';
	assert_non_null(strstr(buf, "tracing_mark_write: taken\n"));
	assert_false(shows(w, "trace", "taken"));
	tree_release(f);
	assert_int_equal(tree_open(w->tree, "per_cpu/cpu0/trace_pipe", O_RDONLY, &f), 0);
	assert_int_equal(tree_open(w->tree, "trace_pipe", O_RDONLY, &g), -EBUSY);
	assert_int_equal(tree_open(w->tree, "per_cpu/cpu1/trace_pipe", O_RDONLY, &g), 0);
	tree_release(g);
	tree_release(f);
}

static void trace_pipe_ends_when_tracing_is_off(void **state)
{
	struct fixture *w = *state;
	struct tree_file *f;
	char buf[4096];

	mark(w, "something");
	assert_taken(w, "tracing_on", "0");
	assert_int_equal(tree_open(w->tree, "trace_pipe", O_RDONLY, &f), 0);
	assert_true(tree_read(f, buf, sizeof(buf), 0) > 0);
	assert_int_equal(tree_read(f, buf, sizeof(buf), 0), 0);
	tree_set_nonblock(f, true);
	assert_int_equal(tree_read(f, buf, sizeof(buf), 0), -EAGAIN);
	tree_set_nonblock(f, false);
	assert_int_equal(tree_read(f, buf, sizeof(buf), 0), 0);
	tree_release(f);
	assert_int_equal(tree_open(w->tree, "trace_pipe", O_RDONLY, &f), 0);
	assert_int_equal(tree_read(f, buf, sizeof(buf), 0), -EAGAIN);
	tree_release(f);
}

static void an_empty_raw_snapshot_has_no_end(void **state)
{
	struct fixture *w = *state;
	struct tree_file *f;
	char buf[4096];

	assert_int_equal(tree_open(w->tree, "per_cpu/cpu0/snapshot_raw", O_RDONLY, &f), 0);
	assert_int_equal(tree_read(f, buf, sizeof(buf), 0), -EAGAIN);
	assert_int_equal(tree_read(f, buf, 100, 0), -EAGAIN);
	tree_release(f);
}

static void a_raw_pipe_gives_whole_pages(void **state)
{
	struct fixture *w = *state;
	struct tree_file *f;
	char page[4096];
	bool found = false;

	mark(w, "raw");
	for (int cpu = 0; cpu < 2; cpu++) {
		char path[64];
		ssize_t n;

		snprintf(path, sizeof(path), "per_cpu/cpu%d/trace_pipe_raw", cpu);
		assert_int_equal(tree_open(w->tree, path, O_RDONLY, &f), 0);
		n = tree_read(f, page, sizeof(page), 0);
		assert_true(n == -EAGAIN || n == (ssize_t)sizeof(page));
		found |= n > 0 && memmem(page, sizeof(page), "raw\n", 4);
		tree_release(f);
	}
	assert_true(found);
}

/* Reads all pages of a CPU. A pipe ends with -EAGAIN. */
static size_t read_pages(struct fixture *w, const char *name, int cpu, char *out, size_t size)
{
	struct tree_file *f;
	char path[64];
	size_t len = 0;
	ssize_t n;

	snprintf(path, sizeof(path), "per_cpu/cpu%d/%s", cpu, name);
	assert_int_equal(tree_open(w->tree, path, O_RDONLY, &f), 0);
	while (len < size && (n = tree_read(f, out + len, 1000, (off_t)len)) > 0)
		len += (size_t)n;
	tree_release(f);
	return len;
}

/*
 * The CPU that the test runs on gets more than a page. A second reading of trace_raw is the same,
 * but trace_pipe_raw consumes the records.
 */
static void a_raw_trace_is_the_same_and_takes_nothing(void **state)
{
	enum { ROOM = 1 << 18 };
	static char first[ROOM], second[ROOM], piped[ROOM];
	struct fixture *w = *state;
	size_t len, total = 0;

	assert_taken(w, "buffer_size_kb", "1000");
	for (int i = 0; i < 500; i++)
		mark(w, "a line of some length, so that it takes several pages");
	for (int cpu = 0; cpu < 2; cpu++) {
		len = read_pages(w, "trace_raw", cpu, first, ROOM);
		assert_int_equal(read_pages(w, "trace_raw", cpu, second, ROOM), len);
		assert_memory_equal(first, second, len);
		assert_int_equal(read_pages(w, "trace_pipe_raw", cpu, piped, ROOM), len);
		assert_memory_equal(first, piped, len);
		assert_int_equal(read_pages(w, "trace_raw", cpu, first, ROOM), 0);
		total += len;
	}
	assert_true(total > 8 * 4096);
}

static void a_raw_trace_ends_when_its_buffer_is_replaced(void **state)
{
	struct fixture *w = *state;
	struct tree_file *f;
	char page[4096];

	mark(w, "one");
	assert_int_equal(tree_open(w->tree, "per_cpu/cpu0/trace_raw", O_RDONLY, &f), 0);
	assert_taken(w, "buffer_size_kb", "2000");
	assert_int_equal(tree_read(f, page, sizeof(page), 0), -ESTALE);
	tree_release(f);
}

/* This asks both CPUs, because the marker is on one of them. */
static bool raw_pipe_ready(struct fixture *w)
{
	struct tree_file *f;
	bool ready = false;

	for (int cpu = 0; cpu < 2; cpu++) {
		char path[64];

		snprintf(path, sizeof(path), "per_cpu/cpu%d/trace_pipe_raw", cpu);
		assert_int_equal(tree_open(w->tree, path, O_RDONLY, &f), 0);
		ready |= tree_poll(f) == (POLLIN | POLLRDNORM);
		tree_release(f);
	}
	return ready;
}

static void a_pipe_is_ready_as_buffer_percent_says(void **state)
{
	struct fixture *w = *state;
	struct tree_file *f;

	assert_taken(w, "buffer_size_kb", "1000");
	assert_int_equal(tree_open(w->tree, "trace_pipe", O_RDONLY, &f), 0);
	assert_int_equal(tree_poll(f), 0);
	mark(w, "one");
	assert_int_equal(tree_poll(f), POLLIN | POLLRDNORM);
	assert_false(raw_pipe_ready(w));
	assert_taken(w, "buffer_percent", "0");
	assert_true(raw_pipe_ready(w));
	assert_taken(w, "trace", "");
	assert_int_equal(tree_poll(f), 0);
	assert_taken(w, "options/block", "1");
	assert_int_equal(tree_poll(f), POLLIN | POLLRDNORM);
	tree_release(f);
}

static void markers_are_split_refused_and_switched_off(void **state)
{
	static char text[5001];
	struct fixture *w = *state;

	memset(text, 'x', 5000);
	assert_int_equal(fixture_append(w, "trace_marker", text), 4054);
	assert_int_equal(fixture_append(w, "trace_marker_raw", "abc"), -EINVAL);
	assert_int_equal(fixture_append(w, "trace_marker_raw", "abcdEF"), 6);
	assert_true(shows(w, "trace",
			  "# 64636261 buf: 45 46 00 00 00 00 00 00 00 00 00 00 00 00 00 00\n"));
	text[4061] = '\0';
	assert_int_equal(fixture_append(w, "trace_marker_raw", text), -EINVAL);
	text[4060] = '\0';
	assert_int_equal(fixture_append(w, "trace_marker_raw", text), 4060);
	assert_taken(w, "tracing_on", "0");
	assert_int_equal(fixture_append(w, "trace_marker", "x"), -EBADF);
	assert_taken(w, "options/markers", "0");
	assert_int_equal(fixture_append(w, "trace_marker", "x"), -EINVAL);
}

static void assert_marked(struct fixture *w, const char *path, const char *text, bool has)
{
	char *trace = fixture_read(w, path);

	assert_int_equal(strstr(trace, text) != NULL, has);
	free(trace);
}

static void markers_of_the_top_are_copied(void **state)
{
	struct fixture *w = *state;

	assert_int_equal(tree_mkdir(w->tree, "instances/a"), 0);
	assert_file(w, "instances/a/options/copy_trace_marker", "0\n");
	assert_int_equal(fixture_append(w, "trace_marker", "one"), 3);
	assert_taken(w, "instances/a/options/copy_trace_marker", "1");
	assert_int_equal(fixture_append(w, "trace_marker", "two"), 3);
	assert_int_equal(fixture_append(w, "trace_marker_raw", "\7aaaXYZ"), 7);
	assert_int_equal(fixture_append(w, "instances/a/trace_marker", "own"), 3);
	assert_marked(w, "trace", ": one\n", true);
	assert_marked(w, "trace", ": two\n", true);
	assert_marked(w, "trace", ": own\n", false);
	assert_marked(w, "instances/a/trace", ": one\n", false);
	assert_marked(w, "instances/a/trace", ": two\n", true);
	assert_marked(w, "instances/a/trace", "# 61616107 buf: 58 59 5a", true);
	assert_marked(w, "instances/a/trace", ": own\n", true);
	assert_taken(w, "options/copy_trace_marker", "0");
	assert_int_equal(fixture_append(w, "trace_marker", "three"), 5);
	assert_marked(w, "trace", ": three\n", false);
	assert_marked(w, "instances/a/trace", ": three\n", true);
	assert_taken(w, "instances/a/tracing_on", "0");
	assert_int_equal(fixture_append(w, "trace_marker", "four"), -EBADF);
	assert_taken(w, "options/copy_trace_marker", "1");
	assert_int_equal(fixture_append(w, "trace_marker", "five"), -EBADF);
	assert_marked(w, "trace", ": five\n", true);
	assert_taken(w, "options/copy_trace_marker", "0");
	assert_int_equal(tree_rmdir(w->tree, "instances/a"), 0);
	assert_int_equal(fixture_append(w, "trace_marker", "six"), -ENODEV);
	assert_int_equal(fixture_append(w, "trace_marker_raw", "\7aaaXYZ"), -ENODEV);
}

static void a_trigger_on_markers_fires(void **state)
{
	struct fixture *w = *state;

	assert_taken(w, "events/ftrace/print/trigger", "traceoff if buf == \"stop\"\n");
	mark(w, "go\n");
	assert_file(w, "tracing_on", "1\n");
	mark(w, "stop");
	assert_file(w, "tracing_on", "0\n");
}

static void closing_free_buffer_gives_the_memory_back(void **state)
{
	struct fixture *w = *state;

	assert_taken(w, "buffer_size_kb", "500");
	assert_int_equal(fixture_write(w, "free_buffer", ""), 0);
	assert_file(w, "buffer_size_kb", "7\n");
	assert_file(w, "tracing_on", "1\n");
	assert_taken(w, "options/disable_on_free", "1");
	assert_taken(w, "free_buffer", "x");
	assert_file(w, "tracing_on", "0\n");
}

static void stats_count(void **state)
{
	struct fixture *w = *state;

	mark(w, "one");
	assert_true(shows(w, "per_cpu/cpu0/stats", "entries: 1\n") ^
		    shows(w, "per_cpu/cpu1/stats", "entries: 1\n"));
	assert_taken(w, "trace_clock", "counter");
	assert_true(shows(w, "per_cpu/cpu0/stats", "oldest event ts: 0\n"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(rings_are_small_until_an_event_is_enabled),
		TEST(sizes_are_whole_pages),
		TEST(large_rings_are_made_in_steps),
		TEST(commands_that_take_snapshots_make_the_buffer_in_steps),
		TEST(sub_buffers_of_another_size_are_made_in_steps),
		TEST(a_resize_keeps_records_and_new_sub_buffers_do_not),
		TEST(rings_keep_their_size_while_somebody_reads),
		TEST(older_rings_stay_while_somebody_reads),
		TEST(pause_on_trace_stops_the_rings_only),
		TEST(truncation_of_trace_empties_it),
		TEST(a_clock_change_empties_live_and_snapshot),
		TEST(what_is_cleared_is_counted),
		TEST(what_was_dropped_and_overwritten_before),
		TEST(snapshot_swaps_empties_and_frees),
		TEST(a_snapshot_of_one_cpu_leaves_the_others),
		TEST(trace_pipe_has_one_reader_and_takes),
		TEST(trace_pipe_ends_when_tracing_is_off),
		TEST(an_empty_raw_snapshot_has_no_end),
		TEST(a_raw_pipe_gives_whole_pages),
		TEST(a_raw_trace_is_the_same_and_takes_nothing),
		TEST(a_raw_trace_ends_when_its_buffer_is_replaced),
		TEST(a_pipe_is_ready_as_buffer_percent_says),
		TEST(markers_are_split_refused_and_switched_off),
		TEST(markers_of_the_top_are_copied),
		TEST(a_trigger_on_markers_fires),
		TEST(closing_free_buffer_gives_the_memory_back),
		TEST(stats_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
