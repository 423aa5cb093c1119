/* SPDX-License-Identifier: MIT */
/*
 * probes.c - probes at instructions of this process, planted by the agent's task as a table in the
 * session says, which this process makes itself
 *
 * The functions of site_fixture.c have arguments and results of all kinds, so what a probe would
 * change changes their sum.
 */
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "agent/state.h"
#include "elf/probe.h"
#include "plane/fetch.h"
#include "session/attach/attach.h"
#include "session/session.h"
#include "own_server.h"

enum {
	EVENT = 100, MOST = 4096, FIRINGS = 1 << 30, WAIT_MS = 20000, SWITCHES = 300, THREADS = 3,
};

long site_run(long seed);

static struct site_control *control;
static struct program_tables *tables;
static struct trigger_state *count;
static long expected;

/* This program's file. */
static struct image image;
static struct code_file code;
static uint64_t code_low, code_high;
static uintptr_t bias;

static struct probe_point points[MOST];
static uint32_t nr_points;

/* ---- The session ---- */

/* A plan whose trigger is counted at each hit. */
static void event_make(void)
{
	const size_t size = sizeof(struct plan) + sizeof(struct arm) + sizeof(struct trigger_arm);
	const config_ref ref = session_config_alloc(session, size);
	const data_ref state = session_data_alloc(session, sizeof(struct trigger_state));
	struct plan *plan = session_config(session, ref, size);
	struct arm *arm = (struct arm *)(plan + 1);

	*plan = (struct plan){ .event_id = EVENT, .nr_arms = 1, .nr_triggers = 1,
			      .size = (uint32_t)size };
	*arm = (struct arm){ .nr_triggers = 1 };
	arm->state = session_data_alloc(session, sizeof(struct event_state));
	*(struct trigger_arm *)(arm + 1) = (struct trigger_arm){
		.kind = TRIGGER_SNAPSHOT, .flags = TRIGGER_COUNTED, .state = state };
	session_publish(session,
			(_Atomic uint64_t *)&plane_event(session_plane(session), EVENT)->plan, ref);
	count = session_data(session, state, sizeof(struct trigger_state));
	atomic_store(&count->count, FIRINGS);
}

static unsigned int hits(void)
{
	return (unsigned int)(FIRINGS - atomic_exchange(&count->count, FIRINGS));
}

static config_ref code_make(void)
{
	const size_t size = sizeof(struct fetch_code) + sizeof(struct fetch_op);
	const config_ref ref = session_config_alloc(session, size);
	struct fetch_code *c = session_config(session, ref, size);

	*c = (struct fetch_code){ .bytes = (uint32_t)size, .nr_ops = 1, .head = 16, .size = 16 };
	c->ops[0] = (struct fetch_op){ .kind = FETCH_END };
	return ref;
}

/* Of the file's points those from `first` on with that step. */
static config_ref table_make(uint32_t first, uint32_t step)
{
	const size_t most = sizeof(struct probe_file) + nr_points * sizeof(points[0]);
	const config_ref ref = session_config_alloc(session, most),
			 table_ref = session_config_alloc(session, 64);
	struct probe_file *f = session_config(session, ref, most);
	struct probe_table *table = session_config(session, table_ref, 64);
	struct dso_image self;

	assert_true(dso_image((const void *)site_run, 0, "", &self));
	bias = self.bias;
	*f = (struct probe_file){ .size = self.end - self.start, .id_len = self.id_len };
	memcpy(f->id, self.id, sizeof(f->id));
	for (uint32_t i = first; i < nr_points; i += step)
		f->points[f->nr++] = points[i];
	table->nr = 1;
	table->files[0] = ref;
	return table_ref;
}

static const struct site_answer *answer_of(uint32_t nr)
{
	for (int ms = 0; ms < WAIT_MS; ms++) {
		for (int i = 0; i < LAYOUT_MAX_PROCESSES; i++)
			if (atomic_load(&tables->sites[i].command) == nr &&
			    tables->sites[i].pid == (uint32_t)getpid())
				return &tables->sites[i];
		usleep(200);
	}
	return NULL;
}

static const struct site_answer *command(config_ref table)
{
	uint32_t nr;

	atomic_store(&control->probes, table);
	nr = atomic_fetch_add(&control->command, 1) + 1;
	syscall(SYS_futex, &control->command, FUTEX_WAKE, 1000, NULL, NULL, 0);
	return answer_of(nr);
}

/* ---- The file ---- */

static void file_open(void)
{
	int fd = open("/proc/self/exe", O_RDONLY);
	struct stat st;
	void *bytes, *memory;

	assert_int_equal(fstat(fd, &st), 0);
	bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	assert_true(image_open(&image, bytes, (size_t)st.st_size));
	memory = calloc(1, code_room(&image));
	assert_true(code_open(&code, &image, memory, code_room(&image)));
}

static void point_add(uint64_t at)
{
	struct probe_point *p = &points[nr_points];

	*p = (struct probe_point){ .at = at, .event = EVENT };
	nr_points += nr_points < MOST && probe_plan_make(&code, NULL, 0, at, false, &p->plan);
}

/* Each instruction of the fixture that is not another one's neighbour. */
static void points_make(void)
{
	const struct code_segment *s = code_segment_at(&code, code_low);

	assert_non_null(s);
	probe_plan_sites(&code, NULL, 0);
	for (uint64_t at = code_low; at < code_high; at++)
		if (s->marks[at - s->low] & CODE_START)
			point_add(at);
	for (uint32_t i = 0; i < nr_points; i++)
		points[i].code = code_make();
}

void fixture_begin(void);
void fixture_end(void);

/* The guard's actions. cmocka sets its own for each test. */
static struct sigaction guards, guards_of_bus;

static int guard_again(void **state)
{
	return sigaction(SIGBUS, &guards_of_bus, NULL) || sigaction(SIGSEGV, &guards, NULL);
}

static int set_up(void **state)
{
	static const struct session_params params = {
		.nr_cpus = 2, .nr_slots = 64, .memory = 64 << 20 };
	struct dso_image self;

	expected = site_run(5);
	if (serve_start(NULL, &params))
		return -1;
	control = session_config(session, session_header(session)->sites, sizeof(*control));
	tables = plane_data(session_plane(session), session_header(session)->programs);
	plane_instance(session_plane(session), 0)->tracing_on = 1;
	session_probes_defined(session);
	event_make();
	if (attach_start(session_dir(session), NULL) ||
	    !dso_image((const void *)site_run, 0, "", &self))
		return -1;
	sigaction(SIGSEGV, NULL, &guards);
	sigaction(SIGBUS, NULL, &guards_of_bus);
	bias = self.bias;
	code_low = (uintptr_t)fixture_begin - bias;
	code_high = (uintptr_t)fixture_end - bias;
	file_open();
	points_make();
	return 0;
}

/* ---- Tests ---- */

static void all_are_hit(void **state)
{
	const struct site_answer *a;
	unsigned int once;

	guard_again(state);
	a = command(table_make(0, 1));

	assert_non_null(a);
	printf("# %u points\n", nr_points);
	for (unsigned int i = 0; i < a->nr_probes_refused && i < PROBE_REFUSALS; i++)
		printf("# %#lx: %s\n", (unsigned long)a->probe_refused[i].at,
		       code_why_text((enum code_why)a->probe_refused[i].why));
	assert_int_equal(a->nr_probes_refused, 0);
	assert_int_equal(a->nr_probes, nr_points);
	hits();
	assert_int_equal(site_run(5), expected);
	once = hits();
	assert_true(once >= 20);
	assert_int_equal(site_run(5), expected);
	assert_int_equal(hits(), once);
	a = command(0);
	assert_int_equal(a->nr_probes, 0);
	assert_int_equal(site_run(5), expected);
	assert_int_equal(hits(), 0);
}

static void bytes_come_back(void **state)
{
	const struct code_segment *s = code_segment_at(&code, code_low);
	const uint8_t *bytes = s->bytes + (code_low - s->low);

	guard_again(state);
	assert_non_null(command(table_make(0, 1)));
	assert_int_not_equal(memcmp((const void *)fixture_begin, bytes, code_high - code_low), 0);
	assert_non_null(command(0));
	assert_memory_equal((const void *)fixture_begin, bytes, code_high - code_low);
}

static _Atomic bool done;
static _Atomic unsigned long wrong, runs;

static void *calls(void *arg)
{
	while (!atomic_load(&done)) {
		if (site_run(5) != expected)
			atomic_fetch_add(&wrong, 1);
		atomic_fetch_add(&runs, 1);
	}
	return NULL;
}

/* A child has no task that would go on with what its parent's had begun. */
static void *forks(void *arg)
{
	while (!atomic_load(&done)) {
		int status = 1;
		pid_t pid = fork();

		if (!pid)
			_exit(site_run(5) != expected);
		if (waitpid(pid, &status, 0) != pid || status)
			atomic_fetch_add(&wrong, 1);
		usleep(500);
	}
	return NULL;
}

static void switched_beside_threads(void **state)
{
	config_ref all[3] = { table_make(0, 1), table_make(0, 2), table_make(1, 3) };
	pthread_t threads[THREADS];

	guard_again(state);
	for (unsigned int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, i ? calls : forks, NULL), 0);
	for (unsigned int i = 0; i < SWITCHES; i++) {
		const struct site_answer *a = command(i % 4 == 3 ? 0 : all[i % 3]);

		assert_non_null(a);
		assert_int_equal(a->nr_probes_refused, 0);
	}
	atomic_store(&done, true);
	for (unsigned int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(wrong, 0);
	assert_true(runs > 0);
	assert_non_null(command(0));
	assert_int_equal(site_run(5), expected);
}

static void children_have_them(void **state)
{
	int status = 1;
	pid_t pid;

	guard_again(state);
	assert_non_null(command(table_make(0, 1)));
	hits();
	pid = fork();
	if (!pid)
		_exit(site_run(5) != expected);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_true(hits() > 0);
	assert_non_null(command(0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_are_hit),
		cmocka_unit_test(bytes_come_back),
		cmocka_unit_test(children_have_them),
		/* The last: its children take all slots. */
		cmocka_unit_test(switched_beside_threads),
	};

	return cmocka_run_group_tests(tests, set_up, server_stop);
}
