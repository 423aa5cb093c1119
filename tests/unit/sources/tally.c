/* SPDX-License-Identifier: MIT */
/*
 * tally.c - when records are counted in any order, and that they are counted in order otherwise
 *
 * tests/property/replays.c compares the counts of both.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "make.h"
#include "model/model.h"
#include "sources/recording/tally.h"
#include "tracefs/tree.h"

#define TRIGGER	"events/sched/sched_waking/trigger"
#define HIST	"events/sched/sched_waking/hist"

enum { RECORDS = 3000, CPUS_USED = MADE_CPUS - 1 };

struct fixture {
	char		*path;
	struct source	*source;
	struct session	*session;
	struct model	*model;
	struct tree	*tree;
};

/* The fixture takes over `path`. */
static struct fixture open_path(char *path, unsigned int threads)
{
	const char *file = path;
	struct source_params params = { .files = &file, .nr_files = 1, .threads = threads };
	struct session_params session = { 0 };
	struct source_error err = { .text = "" };
	struct fixture f = { .path = path };

	if (source_open(&params, &f.source, &err))
		fail_msg("%s", err.text);
	session.nr_cpus = source_nr_cpus(f.source);
	assert_int_equal(session_create(NULL, &session, &f.session), 0);
	assert_int_equal(model_create(f.session, &f.model), 0);
	assert_int_equal(source_import(f.source, f.model, &err), 0);
	f.tree = tree_create(f.model);
	assert_non_null(f.tree);
	return f;
}

static struct fixture open_made(const char *algorithm, unsigned int threads)
{
	struct made made = {
		.version = 7, .algorithm = algorithm, .nr_buffers = 1, .nr_records = RECORDS,
	};

	return open_path(made_file(&made), threads);
}

static void close_fixture(struct fixture *f)
{
	tree_destroy(f->tree);
	source_close(f->source);
	model_destroy(f->model);
	session_destroy(f->session);
	made_remove(f->path);
}

static void put(struct fixture *f, const char *path, const char *text)
{
	struct tree_file *file;

	assert_int_equal(tree_open(f->tree, path, O_WRONLY | O_APPEND, &file), 0);
	assert_int_equal(tree_write(file, text, strlen(text)), strlen(text));
	assert_int_equal(tree_release(file), 0);
}

static bool has(struct fixture *f, const char *path, const char *part)
{
	static char text[1 << 20];
	struct tree_file *file;
	size_t used = 0;
	ssize_t n;

	assert_int_equal(tree_open(f->tree, path, O_RDONLY, &file), 0);
	while ((n = tree_read(file, text + used, sizeof(text) - 1 - used, (off_t)used)) > 0)
		used += (size_t)n;
	tree_release(file);
	text[used] = 0;
	return strstr(text, part);
}

static uint64_t records(struct fixture *f)
{
	struct source_position pos;

	source_position(f->source, &pos);
	return pos.records;
}

static void counts_in_any_order(void **state)
{
	static const char *const algorithms[] = { NULL, "zlib", "zstd" };
	static const unsigned int threads[] = { 1, 2, 4, 8 };

	for (unsigned int i = 0; i < 12; i++) {
		struct fixture f = open_made(algorithms[i % 3], threads[i / 3]);

		put(&f, TRIGGER, "hist:keys=prio");
		assert_int_equal(tally_run(f.source, threads[i / 3], NULL, NULL), 0);
		assert_true(has(&f, HIST, "Hits: 9000"));
		assert_true(has(&f, HIST, "Entries: 1\n"));
		assert_int_equal(records(&f), CPUS_USED * RECORDS);
		assert_int_equal(source_step(f.source, 1), 1);
		close_fixture(&f);
	}
}

/* This includes histograms that are one operation. */
static void keys_of_all_kinds_count_in_any_order(void **state)
{
	static const char *const keys[] = {
		"prio", "prio.log2", "comm", "prio,target_cpu", "prio.log2,target_cpu.log2",
		"prio:vals=target_cpu",
	};

	for (unsigned int i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		struct fixture f = open_made("zstd", 2);
		char command[64];

		snprintf(command, sizeof(command), "hist:keys=%s", keys[i]);
		put(&f, TRIGGER, command);
		assert_int_equal(tally_run(f.source, 2, NULL, NULL), 0);
		assert_true(has(&f, HIST, "Hits: 9000"));
		close_fixture(&f);
	}
}

/* A run that continues counts the other records. The records before are counted once. */
static void counts_on(void **state)
{
	struct fixture f = open_made("zstd", 2);

	put(&f, TRIGGER, "hist:keys=prio");
	assert_int_equal(source_run(f.source, NULL, NULL), 0);
	assert_int_equal(source_step(f.source, 1), 0);
	source_rewind(f.source);
	assert_int_equal(source_run(f.source, NULL, NULL), 0);
	assert_true(has(&f, HIST, "Hits: 18000"));
	close_fixture(&f);
}

static void order_is_seen(void **state)
{
	static const char *const commands[][2] = {
		{ "events/sched/sched_waking/enable", "1" },
		{ TRIGGER, "hist:keys=pid:ts0=common_timestamp" },
		{ TRIGGER, "hist:keys=common_pid.execname" },
		{ TRIGGER, "hist:keys=common_stacktrace" },
		{ TRIGGER, "hist:keys=pid if COMM ~ \"a*\"" },
		{ TRIGGER, "hist:keys=pid:onmax($x).save(prio):x=prio" },
		{ TRIGGER, "traceoff" },
		{ TRIGGER, "snapshot:1" },
	};

	for (unsigned int i = 0; i < sizeof(commands) / sizeof(*commands); i++) {
		struct fixture f = open_made("zstd", 2);

		put(&f, TRIGGER, "hist:keys=prio");
		put(&f, commands[i][0], commands[i][1]);
		assert_int_equal(tally_run(f.source, 2, NULL, NULL), 1);
		assert_int_equal(source_run(f.source, NULL, NULL), 0);
		assert_true(has(&f, HIST, "Hits: 9000"));
		assert_int_equal(records(&f), CPUS_USED * RECORDS);
		close_fixture(&f);
	}
}

static void a_full_map_is_filled_in_order(void **state)
{
	struct fixture f = open_made("zstd", 2);

	put(&f, TRIGGER, "hist:keys=pid:size=128");
	assert_int_equal(tally_run(f.source, 2, NULL, NULL), 1);
	assert_false(has(&f, HIST, "pid: "));
	assert_int_equal(source_run(f.source, NULL, NULL), 0);
	assert_true(has(&f, HIST, "Entries: 128\n"));
	assert_true(has(&f, HIST, "Dropped: 8872\n"));
	close_fixture(&f);
}

/* The keys of each worker fit into a map. All together do not. */
static void a_map_that_all_fill_is_filled_in_order(void **state)
{
	struct made made = { .version = 7, .algorithm = "zstd", .nr_buffers = 1, .nr_records = 50 };
	struct fixture f = open_path(made_file(&made), 8);

	put(&f, TRIGGER, "hist:keys=pid:size=128");
	assert_int_equal(tally_run(f.source, 8, NULL, NULL), 1);
	assert_int_equal(source_run(f.source, NULL, NULL), 0);
	assert_true(has(&f, HIST, "Dropped: 22\n"));
	close_fixture(&f);
}

/*
 * The header of a page claims too much data. Both ways find the same damage, at the same record.
 */
static void damage_is_met_in_order(void **state)
{
	struct made made = { .version = 6, .nr_buffers = 1, .nr_records = RECORDS };
	char *path = made_file(&made);
	struct fixture f[2];
	uint8_t *bytes;
	size_t size;

	bytes = made_read(path, &size);
	made_remove(path);
	memset(bytes + size - 3 * 4096 + 8, 0x3f, 4);
	for (unsigned int i = 0; i < 2; i++) {
		f[i] = open_path(made_bytes(bytes, size), 4);
		put(&f[i], TRIGGER, "hist:keys=prio");
	}
	assert_int_equal(source_step(f[0].source, UINT64_MAX), -EPROTO);
	assert_int_equal(tally_run(f[1].source, 4, NULL, NULL), 1);
	assert_null(source_damage(f[1].source));
	assert_int_equal(source_run(f[1].source, NULL, NULL), -EPROTO);
	assert_string_equal(source_damage(f[0].source)->text, source_damage(f[1].source)->text);
	assert_int_equal(source_damage(f[0].source)->offset, source_damage(f[1].source)->offset);
	assert_int_equal(records(&f[0]), records(&f[1]));
	free(bytes);
	close_fixture(&f[0]);
	close_fixture(&f[1]);
}

/* For a child: from now on clone() fails, as if the limit of processes were reached. */
static int no_threads_from_now_on(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAGAIN),
	};
	struct sock_fprog filter = { .len = sizeof(code) / sizeof(*code), .filter = code };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

static int counts_without_threads(struct fixture *f)
{
	if (no_threads_from_now_on())
		return 2;
	return tally_run(f->source, 8, NULL, NULL) || !has(f, HIST, "Hits: 9000");
}

static void threads_cannot_be_made(void **state)
{
	struct fixture f = open_made("zstd", 8);
	int status = 0;
	pid_t pid;

	put(&f, TRIGGER, "hist:keys=prio");
	pid = fork();
	if (!pid)
		_exit(counts_without_threads(&f));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	close_fixture(&f);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 2)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* A worker's maps count as memory of the recording. If that is too little, there are none. */
static void memory_is_too_little(void **state)
{
	struct made made = { .version = 7, .algorithm = "zstd", .nr_buffers = 1, .nr_records = 50 };
	struct fixture f = open_path(made_file(&made), 2);
	struct source_memory *memory = &f.source->window.memory;
	uint64_t used;

	put(&f, TRIGGER, "hist:keys=comm,pid,prio:size=131072");
	assert_int_equal(source_seek(f.source, 0), 0);
	used = memory->used;
	memory->limit = used + (3 << 20);
	assert_int_equal(tally_run(f.source, 2, NULL, NULL), 1);
	assert_int_equal(memory->used, used);
	assert_int_equal(source_run(f.source, NULL, NULL), 0);
	assert_true(has(&f, HIST, "Hits: 150"));
	close_fixture(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_in_any_order),
		cmocka_unit_test(keys_of_all_kinds_count_in_any_order),
		cmocka_unit_test(counts_on),
		cmocka_unit_test(order_is_seen),
		cmocka_unit_test(a_full_map_is_filled_in_order),
		cmocka_unit_test(a_map_that_all_fill_is_filled_in_order),
		cmocka_unit_test(damage_is_met_in_order),
		cmocka_unit_test(threads_cannot_be_made),
		cmocka_unit_test(memory_is_too_little),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
